//! With any input from the link and any state of its ports, a relay neither panics nor grows, delivers only
//! received frames, and sends each frame of the LAN once.

use std::collections::{BTreeMap, VecDeque};

use wiremend_proto::link::{Ack, CopyCount, Hello, HelloKind, Hole, LinkHeader, LossRate, Missing};
use wiremend_units::{Span, Time};
use wiremend_wire::link::LinkCodec;
use wiremend_wire::{MacAddr, Trailer};

use super::draw::Draw;
use super::relay::{PortFrame, Side, Sizes, classes};

pub(crate) fn check(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let sizes = Sizes::draw(&mut draw);
    World::new(sizes).run(&mut draw);
}

struct World {
    side: Side,
    sizes: Sizes,
    now: Time,
    number: u32,
    /// Frames in flight with their number: from the LAN, and from the link.
    outbound: BTreeMap<Vec<u8>, u32>,
    inbound: BTreeMap<Vec<u8>, u32>,
    /// Frames that left and may be retransmitted.
    left: BTreeMap<Vec<u8>, u32>,
    /// The last frames on the link, for replay.
    sent_frames: VecDeque<Vec<u8>>,
    /// The last hello of the relay, and its last number.
    hello: Option<Hello>,
    sent: u32,
    /// Next epoch and number of the other end.
    epoch: u32,
    next: u32,
}

const CODEC: LinkCodec = LinkCodec { ethertype: LinkCodec::LOCAL_EXPERIMENTAL };
const OWN: u8 = 1;
const PEER: u8 = 2;
/// Too short, short, and too long for a slot.
const LENS: [usize; 8] = [60, 18, 1514, 13, 14, 300, 1536, 3000];
const SENT_MAX: usize = 16;
const TURNS: u32 = 256;

impl World {
    fn new(sizes: Sizes) -> Self {
        Self {
            side: Side::new(sizes, OWN),
            sizes,
            now: Time::from_ns(100),
            number: 0,
            outbound: BTreeMap::new(),
            inbound: BTreeMap::new(),
            left: BTreeMap::new(),
            sent_frames: VecDeque::new(),
            hello: None,
            sent: 0,
            epoch: 1,
            next: 0,
        }
    }

    fn run(mut self, draw: &mut Draw<'_>) {
        while !draw.is_over() {
            self.step(draw);
            if !draw.is(4) {
                self.turn();
            }
        }
        self.run_until_idle();
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        match draw.byte() % 16 {
            0..=2 => self.receive_data(draw),
            3 => self.receive_own(draw, Self::dummy),
            4 => self.receive_own(draw, |world, draw| LinkHeader::Ack(world.ack(draw))),
            5 => self.receive_own(draw, Self::missing),
            6 | 7 => self.receive_own(draw, Self::hello),
            8 => self.receive_noise(draw),
            9 => {
                let frame = PortFrame::draw(draw, self.fresh(), &LENS);
                self.receive(draw, frame);
            }
            10 => {
                let wait = draw.pick(&[1, 20, 300, 1_000_000]);
                self.now += Span::from_us(u64::from(draw.byte()) * wait);
            }
            11 => self.command(draw),
            12 => self.side.disturb_port(draw),
            _ => self.put_on_lan(draw),
        }
    }

    fn fresh(&mut self) -> u32 {
        self.number += 1;
        self.number
    }

    fn put_on_lan(&mut self, draw: &mut Draw<'_>) {
        for _ in 0..draw.pick(&[1, 3, 40]) {
            let mut frame = PortFrame::draw(draw, self.fresh(), &LENS);
            if draw.is(16) {
                frame = self.forged(draw);
            }
            frame.put(&self.side.lan);
            let is_forged = frame.tag.is_none() && CODEC.recognises(&frame.bytes);
            if let Some(bytes) = frame.on_wire().filter(|_| !is_forged) {
                *self.outbound.entry(bytes).or_default() += 1;
            }
        }
    }

    /// A link control frame on the LAN.
    fn forged(&mut self, draw: &mut Draw<'_>) -> PortFrame {
        let signal = self.hello(draw);
        PortFrame { bytes: own(&signal, PEER), tag: None, kind: 0 }
    }

    fn receive_data(&mut self, draw: &mut Draw<'_>) {
        let epoch = if draw.is(16) { draw.byte() } else { self.epoch as u8 } & 15;
        let seq = if draw.is(4) { draw.near(self.next) } else { self.next } & 0xF_FFFF;
        self.next = seq.wrapping_add(1);
        let ack = draw.is(2).then(|| self.ack(draw));
        let signal = if draw.is(8) {
            LinkHeader::Unprotected { epoch, next: seq, ack }
        } else {
            LinkHeader::Data { epoch, seq, ordered: !draw.is(4), retransmitted: draw.is(4), ack }
        };
        let frame = PortFrame::draw(draw, self.fresh(), &LENS);
        let Some(carried) = frame.on_wire() else { return };
        let added = signal.added_len() as usize;
        let mut bytes = [vec![0; added], carried].concat();
        let start = CODEC.encapsulate(&signal, &mut bytes, added).expect("it has addresses");
        bytes.drain(..start);
        self.receive(draw, PortFrame { bytes, tag: None, kind: 0 });
    }

    fn receive_own(&mut self, draw: &mut Draw<'_>, signal: impl Fn(&mut Self, &mut Draw<'_>) -> LinkHeader) {
        let signal = signal(self, draw);
        let source = if draw.is(16) { OWN } else { PEER };
        self.receive(draw, PortFrame { bytes: own(&signal, source), tag: None, kind: 0 });
    }

    /// Random bytes after the link's `EtherType`, or a frame of the relay itself.
    fn receive_noise(&mut self, draw: &mut Draw<'_>) {
        let at = usize::from(draw.byte());
        let bytes = self.sent_frames.get(at).cloned().unwrap_or_else(|| {
            let mut bytes = [&MacAddr::NEAREST_BRIDGE.0[..], &[2; 6]].concat();
            bytes.extend(CODEC.ethertype.to_be_bytes());
            bytes.extend((0..draw.byte() % 64).map(|_| draw.byte()));
            bytes
        });
        self.receive(draw, PortFrame { bytes, tag: None, kind: 0 });
    }

    /// A frame arrives over the link, intact or changed.
    fn receive(&mut self, draw: &mut Draw<'_>, mut frame: PortFrame) {
        match draw.byte() {
            224..240 if !frame.bytes.is_empty() => {
                let at = usize::from(draw.byte()) % frame.bytes.len();
                frame.bytes[at] ^= draw.byte();
            }
            240..248 => frame.bytes.truncate(draw.byte().into()),
            248..252 => frame.tag = Some([0x81, 0x00, draw.byte(), draw.byte()]),
            252.. => return self.side.link.put_truncated(&frame.bytes),
            _ => {}
        }
        frame.put(&self.side.link);
        if let Some(bytes) = delivered_frame(&frame) {
            *self.inbound.entry(bytes).or_default() += 1;
        }
    }

    fn ack(&mut self, draw: &mut Draw<'_>) -> Ack {
        let epoch = self.hello.map_or(0, |hello| hello.epoch as u8) & 15;
        let next = if draw.is(2) { draw.near(self.sent.wrapping_sub(4)) } else { self.sent };
        Ack { epoch, next: next & 0xF_FFFF, pause: draw.is(4) }
    }

    fn dummy(&mut self, draw: &mut Draw<'_>) -> LinkHeader {
        let ack = draw.is(2).then(|| self.ack(draw));
        LinkHeader::Dummy { epoch: self.epoch as u8 & 15, next: draw.near(self.next) & 0xF_FFFF, ack }
    }

    fn missing(&mut self, draw: &mut Draw<'_>) -> LinkHeader {
        let ack = self.ack(draw);
        let hole = |draw: &mut Draw<'_>| Hole {
            first: draw.near(ack.next) & 0xF_FFFF,
            len: draw.pick(&[1, 2, 0, 7, 300, u16::MAX]),
        };
        let holes = std::array::from_fn(|_| hole(draw));
        let upto = draw.near(self.sent) & 0xF_FFFF;
        LinkHeader::Missing(Missing { ack, upto, holes, hole_count: draw.byte() % 7 })
    }

    fn hello(&mut self, draw: &mut Draw<'_>) -> LinkHeader {
        use HelloKind::{Accept, Close, Closed, Open, Unknown};
        let kind = draw.pick(&[Accept, Open, Close, Closed, Unknown]);
        let last = self.hello.unwrap_or(Hello { kind, epoch: 0, stamp_ns: 0, rtt_ns: 0 });
        if kind != Open && kind != Close {
            let epoch = if draw.is(8) { draw.word() } else { last.epoch };
            return LinkHeader::Hello(Hello { kind, epoch, ..last });
        }
        if kind == Open && draw.is(2) {
            (self.epoch, self.next) = (draw.byte().into(), 0);
        }
        let rtt_ns = draw.pick(&[2_000, 0, 1, 1_000_000_000, u32::MAX]);
        LinkHeader::Hello(Hello { kind, epoch: self.epoch, stamp_ns: draw.near(self.next), rtt_ns })
    }

    fn command(&mut self, draw: &mut Draw<'_>) {
        let end = self.side.datapath.endpoint_mut();
        match draw.byte() % 6 {
            0 | 1 => end.activate(self.now, draw.word()),
            2 => end.deactivate(self.now),
            3 => {
                let target = LossRate::from_parts_per_trillion(draw.word().into());
                // An invalid target is refused.
                let _ = end.set_target(target, CopyCount::Fixed(draw.byte() % 6));
            }
            4 => end.on_traffic(self.now),
            _ => self.side.datapath.set_classes(classes(draw)),
        }
    }

    fn turn(&mut self) {
        let mut turns = 0;
        while self.side.datapath.run_once(self.now).expect("no permanent error") && turns < TURNS {
            turns += 1;
        }
        if turns < TURNS {
            let due = self.side.datapath.next_due(self.now);
            assert!(due.is_none_or(|due| due > self.now), "a timeout that is already due");
        }
        self.side.assert_bounds(self.sizes);
        while let Some(sent) = self.side.link.next_sent() {
            self.check_sent(&sent);
            self.sent_frames.push_front(sent);
            self.sent_frames.truncate(SENT_MAX);
        }
        while let Some(frame) = self.side.lan.next_sent() {
            assert!(take(&mut self.inbound, &frame), "not sent: {frame:02x?}");
        }
    }

    /// Checks a frame on the link: a control frame, or a frame of the LAN.
    fn check_sent(&mut self, sent: &[u8]) {
        if !CODEC.recognises(sent) {
            assert!(take(&mut self.outbound, sent), "not sent: {sent:02x?}");
            return;
        }
        let received = CODEC.parse(sent).expect("a valid frame");
        let carried = [&received.addresses[..], received.carried].concat();
        match received.header {
            LinkHeader::Data { retransmitted: true, .. } => {
                assert!(
                    self.left.contains_key(&carried),
                    "a copy of a frame that was not sent: {carried:02x?}"
                );
            }
            LinkHeader::Data { seq, .. } => {
                self.sent = seq.wrapping_add(1);
                assert!(take(&mut self.outbound, &carried), "not sent: {carried:02x?}");
                *self.left.entry(carried).or_default() += 1;
            }
            LinkHeader::Unprotected { .. } => {
                assert!(take(&mut self.outbound, &carried), "not sent: {carried:02x?}");
            }
            LinkHeader::Hello(hello) if matches!(hello.kind, HelloKind::Open | HelloKind::Close) => {
                self.hello = Some(hello);
            }
            _ => assert_eq!(received.addresses[6..], [2, 0, 0, 0, 0, OWN]),
        }
    }

    /// No more answers arrive, and ports accept all frames: memory is free again.
    fn run_until_idle(&mut self) {
        self.side.open_ports();
        self.side.datapath.endpoint_mut().deactivate(self.now);
        for _ in 0..100_000 {
            self.turn();
            let Some(due) = self.side.datapath.next_due(self.now) else {
                assert!(self.side.datapath.is_empty());
                assert_eq!(
                    self.side.datapath.pool_used(),
                    0,
                    "{:?}",
                    self.side.datapath.endpoint().counters()
                );
                return;
            };
            self.now = self.now.max(due);
        }
        panic!("not idle after the last step");
    }
}

/// The frame that a relay delivers for a frame from the link.
fn delivered_frame(frame: &PortFrame) -> Option<Vec<u8>> {
    let bytes = frame.on_wire()?;
    if frame.tag.is_some() || !CODEC.recognises(&bytes) {
        return Some(bytes);
    }
    let received = CODEC.parse(&bytes).ok().filter(|received| received.header.is_data())?;
    Some([&received.addresses[..], received.carried].concat())
}

fn own(signal: &LinkHeader, source: u8) -> Vec<u8> {
    let mut bytes = vec![0; CODEC.control_len(Trailer::None)];
    CODEC.emit_control(signal, MacAddr([2, 0, 0, 0, 0, source]), Trailer::None, &mut bytes);
    bytes
}

fn take(from: &mut BTreeMap<Vec<u8>, u32>, frame: &[u8]) -> bool {
    let Some(count) = from.get_mut(frame).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}
