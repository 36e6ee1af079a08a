//! The link between two relay cores, on real interfaces.
//!
//! Their clock stands still while frames are in flight in the kernel, and then advances to the next deadline.

use std::fmt::Write as _;
use std::io::IoSlice;
use std::ops::Range;
use std::thread;

use wiremend_dataplane::net::{self, Interface, VethEnd};
use wiremend_dataplane::relay::{Classifier, DataPath, DataPathConfig, Trust};
use wiremend_dataplane::sys::packet::{CaptureFilter, PacketSocket};
use wiremend_dataplane::wire::{
    Direction, FaultInjector, FaultList, FaultRecorder, ImpairmentSettings, LaneConfig, Wire,
};
use wiremend_proto::link::{Config, CopyCount};
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::MacAddr;
use wiremend_wire::link::LinkCodec;

use super::{DELAY_MS, GAP_MS, GIVE_UP_MS, Outcome, Passage, RECEIVER, RTT_MIN_MS, SENDER, steps};
use crate::wire::PATIENCE;
use crate::wire::line::Side;

/// Sends the frames of all steps over a wire with these faults. Returns the outcome and the faults that the wire recorded.
pub(super) fn play(faults: &str) -> (Outcome, String) {
    let mut line = SteppedLine::new(&faults.parse().unwrap());
    line.protect();
    let mut next = [0; 2];
    for counts in steps() {
        for side in Side::BOTH {
            let count = counts[side as usize];
            line.send(side, next[side as usize]..next[side as usize] + count);
            next[side as usize] += count;
        }
        line.run(Span::from_ms(GAP_MS));
    }
    line.end()
}

/// Host, relay, wire, relay, host: five components on eight interfaces.
struct SteppedLine {
    hosts: [PacketSocket; 2],
    relays: [DataPath<PacketSocket>; 2],
    wire: Wire<PacketSocket>,
    /// Captures the frames of relays before the wire drops any.
    taps: [PacketSocket; 2],
    now: Time,
    /// Frames that hosts sent, that hosts received, and that taps captured.
    sent: [u64; 2],
    arrived: [u64; 2],
    tapped: [u64; 2],
    outcome: Outcome,
}

const ETHERTYPE: [u8; 2] = [0x88, 0xB6];
const FRAME_BYTES_MAX: u32 = 1600;
const BUFFER: Bytes = Bytes::new(4_000_000);

impl SteppedLine {
    fn new(faults: &FaultList) -> Self {
        for (a, b) in [("host-a", "lan-a"), ("link-a", "wire-a"), ("wire-b", "link-b"), ("lan-b", "host-b")] {
            net::new_veth(VethEnd::here(a), VethEnd::here(b)).unwrap();
            for name in [a, b] {
                net::set_mtu(name, FRAME_BYTES_MAX).unwrap();
                net::disable_link_local(name).unwrap();
                net::set_up(name, true).unwrap();
            }
        }
        let lane = |direction| LaneConfig {
            rate: None,
            delay: Span::from_ms(DELAY_MS),
            queue_bytes_max: BUFFER.get(),
            impairments: ImpairmentSettings::default().build(1).unwrap(),
            faults: Some(FaultInjector {
                codec: LinkCodec::default(),
                direction,
                replay: faults.replay(direction),
                record: Some(FaultRecorder::default()),
            }),
        };
        let wires = ["wire-a", "wire-b"];
        Self {
            hosts: ["host-a", "host-b"].map(socket),
            relays: [relay("lan-a", "link-a", 1), relay("lan-b", "link-b", 2)],
            wire: Wire::new(
                wires.map(socket),
                [lane(Direction::Forward), lane(Direction::Backward)],
                4096,
                FRAME_BYTES_MAX,
            ),
            taps: wires.map(socket),
            now: Time::ZERO,
            sent: [0; 2],
            arrived: [0; 2],
            tapped: [0; 2],
            outcome: Outcome::default(),
        }
    }

    /// Protects both directions.
    fn protect(&mut self) {
        for (relay, epoch) in self.relays.iter_mut().zip(1..) {
            relay.endpoint_mut().activate(self.now, epoch);
        }
        self.run(Span::from_ms(1000));
        assert!(
            self.relays.iter().all(|relay| relay.endpoint().is_active() && relay.endpoint().is_receiving())
        );
        self.outcome = Outcome::default();
    }

    fn send(&mut self, side: Side, numbers: Range<u64>) {
        let frames: Vec<_> = numbers.map(frame).collect();
        let pieces: Vec<_> = frames.iter().map(|frame| [&frame[..], &[], &[]].map(IoSlice::new)).collect();
        if !pieces.is_empty() {
            assert_eq!(self.hosts[side as usize].send(&pieces).unwrap(), frames.len());
        }
        self.sent[side as usize] += frames.len() as u64;
    }

    /// Advances the clock.
    fn run(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            self.settle();
            let relays = self.relays.iter().filter_map(|relay| relay.next_due(self.now));
            match relays.chain(self.wire.next_due(self.now)).min() {
                Some(due) if due <= end => self.now = self.now.max(due),
                _ => break,
            }
        }
        self.now = end;
    }

    /// Runs all components until no frame is in flight in the kernel.
    fn settle(&mut self) {
        loop {
            let mut more = self.wire.run_once(self.now);
            for relay in &mut self.relays {
                more |= relay.run_once(self.now).unwrap();
            }
            self.look();
            if !more && self.is_settled() {
                return;
            }
            thread::yield_now();
        }
    }

    /// Returns whether each component has received all frames of the previous one.
    fn is_settled(&self) -> bool {
        [[0, 1], [1, 0]].into_iter().all(|[from, to]| {
            let (near, far) = (self.relays[from].counts(), self.relays[to].counts());
            let lane = self.wire.lanes()[from].counts;
            near.lan_in == self.sent[from]
                && [lane.carried, self.tapped[from]] == [near.link_out; 2]
                && far.link_in == lane.delivered
                && self.arrived[to] == far.lan_out
        })
    }

    fn look(&mut self) {
        for (side, tap) in Side::BOTH.into_iter().zip(&mut self.taps) {
            while let Some(arrival) = tap.take() {
                let received =
                    LinkCodec::default().parse(tap.bytes(&arrival)).expect("the link's own header");
                Passage::on_signal(&mut self.outcome.ways, side, &received.header);
                self.tapped[side as usize] += 1;
                tap.release();
            }
        }
        // What B receives is what came forth.
        let ways = self.outcome.ways.iter_mut().rev();
        for ((way, host), arrived) in ways.zip(&mut self.hosts).zip(&mut self.arrived) {
            while let Some(arrival) = host.take() {
                let bytes = host.bytes(&arrival);
                let number = u64::from_be_bytes(bytes[14..22].try_into().unwrap());
                assert_eq!(bytes, frame(number), "a frame arrives as it was sent");
                way.delivered.push(number);
                *arrived += 1;
                host.release();
            }
        }
    }

    /// Returns the outcome and the list of dropped frames.
    fn end(mut self) -> (Outcome, String) {
        let mut outcome = self.outcome;
        let counts = self.relays.each_ref().map(|relay| relay.endpoint().counters().named());
        let count = |end: usize, name: &'static str| {
            let found = counts[end].iter().find(|(key, _)| key.strip_prefix("link.") == Some(name));
            (name, found.unwrap_or_else(|| panic!("no count {name}")).1)
        };
        for (way, [sender, receiver]) in outcome.ways.iter_mut().zip([[0, 1], [1, 0]]) {
            way.counts.extend(SENDER.map(|name| count(sender, name)));
            way.counts.extend(RECEIVER.map(|name| count(receiver, name)));
        }
        let hit: u64 = self.wire.lanes().iter().map(|lane| lane.counts.crc_errors).sum();
        let mut recorded = String::new();
        for lane in self.wire.lanes_mut() {
            let record = lane.faults.as_mut().and_then(|faults| faults.record.as_mut()).unwrap();
            record.take().for_each(|fault| writeln!(recorded, "{fault}").unwrap());
        }
        outcome.met = recorded.lines().map(str::to_owned).collect();
        outcome.met.sort();
        assert_eq!(outcome.met.len() as u64, hit, "all that is hit is written down");
        (outcome, recorded)
    }
}

/// The same configuration as the simulated ends.
fn relay(lan: &str, link: &str, number: u8) -> DataPath<PacketSocket> {
    let config = Config {
        copies: CopyCount::Fixed(2),
        dummies: 3,
        control_copies: 2,
        rtt_min: Span::from_ms(RTT_MIN_MS),
        give_up: Some(Span::from_ms(GIVE_UP_MS)),
        tx_bytes_max: BUFFER,
        rx_bytes_max: BUFFER,
        ..Config::for_link(Rate::from_bits_per_s(100_000_000), Bytes::new(1518), Span::from_ms(RTT_MIN_MS))
    };
    let config = DataPathConfig {
        link: config,
        codec: LinkCodec::default(),
        source: MacAddr([2, 0, 0, 0, 1, number]),
        trust: Trust::PeerAddress,
        classes: Classifier::default(),
        queue_bytes_max: BUFFER.get(),
        slots: 8192,
        device_frames: 64,
    };
    DataPath::new(socket(lan), socket(link), config)
}

fn frame(number: u64) -> [u8; 996] {
    let mut frame = [number as u8; 996];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHERTYPE);
    frame[14..22].copy_from_slice(&number.to_be_bytes());
    frame
}

fn socket(name: &str) -> PacketSocket {
    let index = Interface::await_running(name, PATIENCE).unwrap().index;
    let socket = PacketSocket::open(index, 1024, FRAME_BYTES_MAX).unwrap();
    socket.set_filter(CaptureFilter::All).unwrap();
    socket.bind(index).unwrap();
    socket
}
