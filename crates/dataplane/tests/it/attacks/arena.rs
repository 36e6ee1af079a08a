//! Two data paths on a lossy link, with a stream of numbered frames each way and an intruder.

use wiremend_dataplane::memory_port::MemoryPort;
use wiremend_dataplane::relay::{Classifier, DataPath, DataPathConfig, LinkKey, Trust};
use wiremend_proto::link::Config;
use wiremend_testkit::Random;
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::MacAddr;
use wiremend_wire::link::LinkCodec;

use super::intruder::Intruder;

/// Addresses of the link ports.
pub(super) const PORTS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];

/// Frames per second each way.
const PER_SECOND: u64 = 2000;
const STEP: Span = Span::from_us(10);
pub(super) const ATTACKED: Span = Span::from_ms(2000);
/// Time for recoveries, and for starts of protection.
const QUIET: Span = Span::from_ms(300);
/// Loss rate of the link, in a million.
const LOSS_PPM: u32 = 10_000;
const FRAME_BYTES: usize = 200;
/// More than the link loses of both streams.
pub(super) const LOST_BY_THE_LINK_MAX: usize = 160;

pub(super) struct Arena {
    ends: [(DataPath<MemoryPort>, MemoryPort, MemoryPort); 2],
    now: Time,
    random: Random,
    sent: [u32; 2],
    received: [Vec<u32>; 2],
    next_at: Time,
}

/// What the ends do against intruders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Defence {
    None,
    /// What a relay does without a key.
    NoKey,
    Key,
}

impl Defence {
    fn trust(self, end: u64) -> Trust {
        match self {
            Self::None => Trust::Anyone,
            Self::NoKey => Trust::PeerAddress,
            Self::Key => Trust::Key { key: LinkKey::new(&[7; 32]), start: (end + 1) << 60 },
        }
    }
}

/// What became of the streams.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Damage {
    pub(super) sent: usize,
    /// Frames that did not arrive.
    pub(super) lost: usize,
    /// Frames that arrived twice, or behind a later one.
    pub(super) disordered: usize,
    /// Whether both directions were protected at the end.
    pub(super) protected: bool,
}

impl Damage {
    pub(super) fn loss_percent(&self) -> f64 {
        self.lost as f64 * 100.0 / self.sent as f64
    }
}

impl Arena {
    fn new(defence: Defence) -> Self {
        let end = |number: usize| {
            let (lan, link) = (MemoryPort::default(), MemoryPort::default());
            let give_up = Span::from_ms(20);
            let config = DataPathConfig {
                link: Config {
                    give_up: Some(give_up),
                    silence_max: Some(Span::from_ms(80)),
                    unconfirmed_jump_max: (defence != Defence::None).then_some(32),
                    ..Config::for_link(Rate::gbps(1), Bytes::new(1526), give_up)
                },
                codec: LinkCodec::default(),
                source: PORTS[number],
                trust: defence.trust(number as u64),
                classes: Classifier::default(),
                queue_bytes_max: 1 << 20,
                slots: 4096,
                device_frames: 64,
            };
            (DataPath::new(lan.clone(), link.clone(), config), lan, link)
        };
        Self {
            ends: [end(0), end(1)],
            now: Time::ZERO,
            random: Random::new(7),
            sent: [0; 2],
            received: [const { Vec::new() }; 2],
            next_at: Time::ZERO,
        }
    }

    /// Protects both directions, lets the intruder attack the streams, and counts what arrived.
    pub(super) fn damage(defence: Defence, intruder: &mut Intruder) -> Damage {
        let mut arena = Self::new(defence);
        for (end, epoch) in arena.ends.iter_mut().zip([0x1234_5671, 0x1234_5672]) {
            end.0.endpoint_mut().activate(Time::ZERO, epoch);
        }
        arena.run(QUIET, &mut Intruder::watching());
        assert!(arena.is_protected(), "protection begins without an attack");
        arena.run(ATTACKED, intruder);
        // Protection that an attack has ended begins again with the next traffic.
        arena.run(QUIET, &mut Intruder::watching());
        let protected = arena.is_protected();
        arena.next_at = Time::MAX;
        arena.run(QUIET, &mut Intruder::watching());
        arena.count(protected)
    }

    fn is_protected(&self) -> bool {
        self.ends.iter().all(|(datapath, ..)| datapath.endpoint().is_active() && datapath.is_receiving())
    }

    fn run(&mut self, span: Span, intruder: &mut Intruder) {
        let until = self.now + span;
        let mut on_traffic_at = self.now;
        while self.now < until {
            if self.next_at <= self.now {
                self.next_at = self.now + Span::from_ns(1_000_000_000 / PER_SECOND);
                for (end, number) in self.ends.iter().zip(&mut self.sent) {
                    end.1.put(&numbered(*number));
                    *number += 1;
                }
            }
            if on_traffic_at <= self.now {
                // As the service does for traffic that the kernel forwards.
                on_traffic_at = self.now + Span::from_ms(100);
                for end in &mut self.ends {
                    end.0.endpoint_mut().on_traffic(self.now);
                }
            }
            self.step(intruder);
            self.now += STEP;
        }
    }

    fn step(&mut self, intruder: &mut Intruder) {
        for end in &mut self.ends {
            while end.0.run_once(self.now).unwrap() {}
        }
        for from in 0..2 {
            while let Some(frame) = self.ends[from].2.next_sent() {
                intruder.on_frame(from, &frame);
                if !self.random.chance_ppm(LOSS_PPM) {
                    self.ends[1 - from].2.put(&frame);
                }
            }
        }
        while let Some(forged) = intruder.next_frame(self.now) {
            let (_, lan, link) = &self.ends[forged.end];
            if forged.from_lan { lan } else { link }.put(&forged.bytes);
        }
        for (end, received) in self.ends.iter().zip(&mut self.received) {
            received.extend(std::iter::from_fn(|| end.1.next_sent()).filter_map(|frame| number(&frame)));
        }
    }

    fn count(&self, protected: bool) -> Damage {
        let (mut lost, mut disordered) = (0, 0);
        for (sent, received) in self.sent.iter().zip(self.received.iter().rev()) {
            let mut seen = vec![false; *sent as usize];
            for pair in received.windows(2) {
                disordered += usize::from(pair[1] <= pair[0]);
            }
            for number in received {
                seen[*number as usize] = true;
            }
            lost += seen.iter().filter(|seen| !**seen).count();
        }
        Damage { sent: self.sent.iter().sum::<u32>() as usize, lost, disordered, protected }
    }
}

fn numbered(number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 1, 0x08, 0x00];
    frame.extend(number.to_be_bytes());
    frame.resize(FRAME_BYTES, 7);
    frame
}

fn number(frame: &[u8]) -> Option<u32> {
    let is_ours = frame.len() == FRAME_BYTES && frame[..14] == numbered(0)[..14];
    is_ours.then(|| u32::from_be_bytes(*frame[14..].first_chunk().unwrap()))
}
