//! The ends of a TCP connection over a wire that reorders, duplicates, loses or forges segments.

use wiremend_proto::engine::{Op, RequestOutcome, Requester as _, Responder as _, Status, Work};
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Ack, AckHead, Block, Config, Data, Ecn, Receiver, Reordering, Segment, Sender};
use wiremend_units::{QpNum, Span, Time};

use super::draw::Draw;

/// Without forged segments every message arrives once and in order. With them, ends neither panic nor grow,
/// and never revoke an acknowledgement.
pub(crate) fn check(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let hostile = draw.is(2);
    let mut world = World::new(config(&mut draw));
    while !draw.is_over() {
        world.step(&mut draw, hostile);
        world.assert_invariants();
    }
    world.run_until_idle(hostile);
}

fn config(draw: &mut Draw<'_>) -> Config {
    use Reordering::{Adaptive, Fixed, Segments, Time};
    let config = Config {
        mss: draw.pick(&[1_000, 64, 1_448]),
        first_window: draw.pick(&[10, 1, 3, 1_000]),
        receive_window: draw.pick(&[100_000, 2_900, Config::WINDOW_MAX]),
        sack: !draw.is(4),
        reordering: draw.pick(&[Adaptive, Fixed, Time, Segments]),
        ecn: draw.pick(&[Ecn::Off, Ecn::Classic, Ecn::Dctcp]),
        rto_min: Span::from_ms(5),
        rto_first: Span::from_ms(20),
        rto_max: Span::from_ms(2_000),
        delayed_ack: Span::from_us(draw.pick(&[0, 500, 40_000])),
        ack_every: draw.pick(&[2, 1, 44]),
        quick_acks: draw.pick(&[0, 16]),
        tail_probe: !draw.is(4),
        tick: Span::from_us(draw.pick(&[0, 1_000])),
        pacing: draw.is(2),
        handshake: draw.is(4),
        first_rtt: draw.is(2).then_some(Span::from_us(21)),
        ..Config::new(draw.pick(&Algorithm::ALL))
    };
    config.check().expect("a valid configuration");
    config
}

struct World {
    config: Config,
    now: Time,
    sender: Sender,
    receiver: Receiver,
    /// Segments in flight to the receiver, and to the sender.
    data: Vec<Segment>,
    acks: Vec<Segment>,
    posted: Vec<u32>,
    messages: Vec<u32>,
    ended: u64,
    failed: bool,
    acknowledged: u64,
    received: u64,
}

/// Most packets on the wire; more are lost.
const WIRE_MAX: usize = 64;
const LOCAL: QpNum = QpNum::new(1);
const REMOTE: QpNum = QpNum::new(2);

impl World {
    fn new(config: Config) -> Self {
        Self {
            sender: Sender::new(&config, REMOTE, 5),
            receiver: Receiver::new(&config, LOCAL),
            config,
            now: Time::from_ns(100),
            data: Vec::new(),
            acks: Vec::new(),
            posted: Vec::new(),
            messages: Vec::new(),
            ended: 0,
            failed: false,
            acknowledged: 0,
            received: 0,
        }
    }

    fn step(&mut self, draw: &mut Draw<'_>, hostile: bool) {
        match draw.byte() % 16 {
            0 => {
                let len = draw.pick(&[3_000, 0, 1, 64, 1_000, 60_000]);
                self.post(len);
            }
            1..=3 => self.transmit(1 + draw.byte() % 16),
            4 => self.wait(Span::from_us(draw.byte().into())),
            5 => self.wait(Span::from_ms(draw.byte().into())),
            6 => _ = self.elapse(),
            7 => _ = taken(&mut self.data, draw),
            8 => _ = taken(&mut self.acks, draw),
            9 => self.data.extend(self.data.first().copied()),
            10 if hostile => {
                let segment = self.any_data(draw);
                self.receive_data(&segment);
            }
            11 if hostile => {
                let segment = self.any_ack(draw);
                self.sender.on_packet(&self.config, self.now, &segment);
            }
            10 | 12 | 13 => {
                if let Some(packet) = taken(&mut self.data, draw) {
                    self.receive_data(&if draw.is(8) { packet.marked() } else { packet });
                }
            }
            _ => {
                if let Some(packet) = taken(&mut self.acks, draw) {
                    self.sender.on_packet(&self.config, self.now, &packet);
                }
            }
        }
    }

    fn post(&mut self, len: u32) {
        self.posted.push(len);
        let id = self.posted.len() as u64;
        self.sender.post(&self.config, self.now, Work { id, op: Op::Send, len, addr: 0, rkey: 0, imm: None });
    }

    fn transmit(&mut self, count: u8) {
        for _ in 0..count {
            let Some(transmit) = self.sender.poll_transmit(&self.config, self.now) else { break };
            self.data.push(transmit.packet);
        }
        self.data.truncate(WIRE_MAX);
    }

    fn wait(&mut self, span: Span) {
        self.now += span;
        self.expire();
    }

    /// Advances to the next timeout; false if there is none.
    fn elapse(&mut self) -> bool {
        let next = [self.sender.next_timeout(), self.receiver.next_timeout()].into_iter().flatten().min();
        let Some(next) = next else { return false };
        self.now = self.now.max(next);
        self.expire();
        true
    }

    fn expire(&mut self) {
        if self.sender.next_timeout().is_some_and(|due| due <= self.now) {
            self.sender.on_timeout(&self.config, self.now);
        }
        self.receiver.on_timeout(self.now);
        self.collect();
    }

    fn any_data(&self, draw: &mut Draw<'_>) -> Segment {
        Segment::Data(Data {
            seq: draw.near(self.receiver.received() as u32),
            len: draw.pick(&[64, 0, 1, 1_000, u16::MAX]),
            syn: draw.is(16),
            push: draw.is(2),
            empty: draw.is(8),
            cwr: draw.is(8),
            marked: draw.is(4),
            ..Data::default()
        })
    }

    fn any_ack(&self, draw: &mut Draw<'_>) -> Segment {
        let una = self.sender.acknowledged() as u32;
        let mss = u32::from(self.config.mss);
        let ack =
            if draw.is(4) { draw.near(una) } else { una.wrapping_add(u32::from(draw.byte() % 8) * mss) };
        let edge = |draw: &mut Draw<'_>| {
            if draw.is(4) { draw.near(ack) } else { ack.wrapping_add(u32::from(draw.byte() % 32) * mss) }
        };
        let blocks = std::array::from_fn(|_| Block { start: edge(draw), end: edge(draw) });
        Segment::Ack(Ack { head: AckHead::new(LOCAL, draw.is(8), draw.is(4)), ack, blocks })
    }

    fn receive_data(&mut self, packet: &Segment) {
        let before = self.receiver.received();
        let outcome = self.receiver.on_packet(&self.config, self.now, packet);
        if let RequestOutcome::Accepted { completed: Some(message), .. } = outcome {
            self.messages.push(message.len);
        }
        while let Some(message) = self.receiver.poll_message() {
            self.messages.push(message.len);
        }
        let Segment::Data(data) = packet else { unreachable!("only data segments") };
        // Only a segment that covers the first missing byte advances the receiver.
        let start = i64::from(data.seq.wrapping_sub(before as u32).cast_signed());
        let covers = start <= 0 && start + i64::from(data.len) > 0 && before as i64 + start >= 0;
        assert!(
            covers || self.receiver.received() == before,
            "{data:?} moves {before} to {}",
            self.receiver.received()
        );
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(packet) = self.receiver.poll_transmit(&self.config) {
            self.acks.push(packet);
        }
        self.acks.truncate(WIRE_MAX);
    }

    fn assert_invariants(&mut self) {
        let (acknowledged, received) = (self.sender.acknowledged(), self.receiver.received());
        let all: u64 = self.posted.iter().map(|len| u64::from(*len).max(1)).sum();
        assert!(self.acknowledged <= acknowledged && acknowledged <= all, "{acknowledged} of {all}");
        assert!(self.received <= received, "{received} after {}", self.received);
        (self.acknowledged, self.received) = (acknowledged, received);
        assert!(self.receiver.held_run_count() as u64 <= u64::from(self.config.receive_window) / 2 + 1);
        while let Some(completion) = self.sender.poll_completion() {
            self.ended += 1;
            assert_eq!(completion.id, self.ended, "messages complete in order");
            self.failed |= completion.status != Status::Success;
        }
    }

    /// From here on everything arrives immediately.
    fn run_until_idle(&mut self, hostile: bool) {
        for _ in 0..1_000_000 {
            self.transmit(1);
            for packet in std::mem::take(&mut self.data) {
                self.receive_data(&packet);
            }
            self.collect();
            for packet in std::mem::take(&mut self.acks) {
                self.sender.on_packet(&self.config, self.now, &packet);
            }
            self.assert_invariants();
            if self.sender.ready(&self.config, self.now) {
                self.now += Span::from_ns(500);
            } else if self.data.is_empty() && !self.elapse() {
                return self.is_complete(hostile);
            }
        }
        panic!("not idle after the last step");
    }

    fn is_complete(&self, hostile: bool) {
        assert!(self.sender.is_idle(), "no timeout, but unsent data");
        assert_eq!(self.ended, self.posted.len() as u64, "every message completes");
        if !hostile && !self.failed {
            assert_eq!(self.messages, self.posted, "every message arrives once and in order");
        }
    }
}

fn taken(wire: &mut Vec<Segment>, draw: &mut Draw<'_>) -> Option<Segment> {
    let place = usize::from(draw.byte());
    (!wire.is_empty()).then(|| wire.remove(place % wire.len()))
}
