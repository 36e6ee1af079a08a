//! Whatever comes over a link and whatever its ports do: a relay neither panics nor grows, hands on only what came, and sends only what
//! it was given, once.

use std::collections::{BTreeMap, VecDeque};

use wiremend_proto::link::{Ack, CopyCount, Hello, HelloKind, Hole, LossRate, Missing, Signal};
use wiremend_units::{Span, Time};
use wiremend_wire::link::Dialect;
use wiremend_wire::{MacAddr, Trailer};

use super::draw::Draw;
use super::relay::{Shaped, Side, Sizes, classes};

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
    /// Frames on their way, and how many of each: from the LAN, and from the link.
    outbound: BTreeMap<Vec<u8>, u32>,
    inbound: BTreeMap<Vec<u8>, u32>,
    /// Frames that left: they may be sent again.
    left: BTreeMap<Vec<u8>, u32>,
    /// The last ones on the link, for one who replays them.
    heard: VecDeque<Vec<u8>>,
    /// What the relay said of itself last, and the number that it has used.
    hello: Option<Hello>,
    sent: u32,
    /// The epoch and number that the other end would use next.
    epoch: u32,
    next: u32,
}

const DIALECT: Dialect = Dialect { ethertype: Dialect::LOCAL_EXPERIMENTAL };
const OURS: u8 = 1;
const THEIRS: u8 = 2;
/// Too short, short, and too long for a slot.
const LENS: [usize; 8] = [60, 18, 1514, 13, 14, 300, 1536, 3000];
const HEARD_MAX: usize = 16;
const TURNS: u32 = 256;

impl World {
    fn new(sizes: Sizes) -> Self {
        Self {
            side: Side::new(sizes, OURS),
            sizes,
            now: Time::from_ns(100),
            number: 0,
            outbound: BTreeMap::new(),
            inbound: BTreeMap::new(),
            left: BTreeMap::new(),
            heard: VecDeque::new(),
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
        self.comes_to_rest();
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        match draw.byte() % 16 {
            0..=2 => self.hear_data(draw),
            3 => self.hear_own(draw, Self::dummy),
            4 => self.hear_own(draw, |world, draw| Signal::Ack(world.ack(draw))),
            5 => self.hear_own(draw, Self::missing),
            6 | 7 => self.hear_own(draw, Self::hello),
            8 => self.hear_noise(draw),
            9 => {
                let frame = Shaped::draw(draw, self.fresh(), &LENS);
                self.hear(draw, frame);
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
            let mut frame = Shaped::draw(draw, self.fresh(), &LENS);
            if draw.is(16) {
                frame = self.forged(draw);
            }
            frame.put(&self.side.lan);
            let is_forged = frame.tag.is_none() && DIALECT.recognises(&frame.bytes);
            if let Some(bytes) = frame.on_wire().filter(|_| !is_forged) {
                *self.outbound.entry(bytes).or_default() += 1;
            }
        }
    }

    /// A frame of the link's own, on the LAN.
    fn forged(&mut self, draw: &mut Draw<'_>) -> Shaped {
        let signal = self.hello(draw);
        Shaped { bytes: own(&signal, THEIRS), tag: None, kind: 0 }
    }

    fn hear_data(&mut self, draw: &mut Draw<'_>) {
        let epoch = if draw.is(16) { draw.byte() } else { self.epoch as u8 } & 15;
        let seq = if draw.is(4) { draw.near(self.next) } else { self.next } & 0xF_FFFF;
        self.next = seq.wrapping_add(1);
        let ack = draw.is(2).then(|| self.ack(draw));
        let signal = if draw.is(8) {
            Signal::Loose { epoch, next: seq, ack }
        } else {
            Signal::Data { epoch, seq, ordered: !draw.is(4), again: draw.is(4), ack }
        };
        let frame = Shaped::draw(draw, self.fresh(), &LENS);
        let Some(carried) = frame.on_wire() else { return };
        let added = signal.added_len() as usize;
        let mut bytes = [vec![0; added], carried].concat();
        let start = DIALECT.encapsulate(&signal, &mut bytes, added).expect("it has addresses");
        bytes.drain(..start);
        self.hear(draw, Shaped { bytes, tag: None, kind: 0 });
    }

    fn hear_own(&mut self, draw: &mut Draw<'_>, signal: impl Fn(&mut Self, &mut Draw<'_>) -> Signal) {
        let signal = signal(self, draw);
        let source = if draw.is(16) { OURS } else { THEIRS };
        self.hear(draw, Shaped { bytes: own(&signal, source), tag: None, kind: 0 });
    }

    /// Any bytes behind the link's `EtherType`, or what the relay itself has sent.
    fn hear_noise(&mut self, draw: &mut Draw<'_>) {
        let at = usize::from(draw.byte());
        let bytes = self.heard.get(at).cloned().unwrap_or_else(|| {
            let mut bytes = [&MacAddr::NEAREST_BRIDGE.0[..], &[2; 6]].concat();
            bytes.extend(DIALECT.ethertype.to_be_bytes());
            bytes.extend((0..draw.byte() % 64).map(|_| draw.byte()));
            bytes
        });
        self.hear(draw, Shaped { bytes, tag: None, kind: 0 });
    }

    /// A frame comes over the link, as it is or mangled.
    fn hear(&mut self, draw: &mut Draw<'_>, mut frame: Shaped) {
        match draw.byte() {
            224..240 if !frame.bytes.is_empty() => {
                let at = usize::from(draw.byte()) % frame.bytes.len();
                frame.bytes[at] ^= draw.byte();
            }
            240..248 => frame.bytes.truncate(draw.byte().into()),
            248..252 => frame.tag = Some([0x81, 0x00, draw.byte(), draw.byte()]),
            252.. => return self.side.link.put_cut(&frame.bytes),
            _ => {}
        }
        frame.put(&self.side.link);
        if let Some(bytes) = handed_on(&frame) {
            *self.inbound.entry(bytes).or_default() += 1;
        }
    }

    fn ack(&mut self, draw: &mut Draw<'_>) -> Ack {
        let epoch = self.hello.map_or(0, |hello| hello.epoch as u8) & 15;
        let next = if draw.is(2) { draw.near(self.sent.wrapping_sub(4)) } else { self.sent };
        Ack { epoch, next: next & 0xF_FFFF, pause: draw.is(4) }
    }

    fn dummy(&mut self, draw: &mut Draw<'_>) -> Signal {
        let ack = draw.is(2).then(|| self.ack(draw));
        Signal::Dummy { epoch: self.epoch as u8 & 15, next: draw.near(self.next) & 0xF_FFFF, ack }
    }

    fn missing(&mut self, draw: &mut Draw<'_>) -> Signal {
        let ack = self.ack(draw);
        let hole = |draw: &mut Draw<'_>| Hole {
            first: draw.near(ack.next) & 0xF_FFFF,
            len: draw.pick(&[1, 2, 0, 7, 300, u16::MAX]),
        };
        let holes = std::array::from_fn(|_| hole(draw));
        let upto = draw.near(self.sent) & 0xF_FFFF;
        Signal::Missing(Missing { ack, upto, holes, hole_count: draw.byte() % 7 })
    }

    fn hello(&mut self, draw: &mut Draw<'_>) -> Signal {
        use HelloKind::{Accept, Close, Closed, Open, Unknown};
        let kind = draw.pick(&[Accept, Open, Close, Closed, Unknown]);
        let said = self.hello.unwrap_or(Hello { kind, epoch: 0, stamp_ns: 0, rtt_ns: 0 });
        if kind != Open && kind != Close {
            let epoch = if draw.is(8) { draw.word() } else { said.epoch };
            return Signal::Hello(Hello { kind, epoch, ..said });
        }
        if kind == Open && draw.is(2) {
            (self.epoch, self.next) = (draw.byte().into(), 0);
        }
        let rtt_ns = draw.pick(&[2_000, 0, 1, 1_000_000_000, u32::MAX]);
        Signal::Hello(Hello { kind, epoch: self.epoch, stamp_ns: draw.near(self.next), rtt_ns })
    }

    fn command(&mut self, draw: &mut Draw<'_>) {
        let end = self.side.bump.end_mut();
        match draw.byte() % 6 {
            0 | 1 => end.activate(self.now, draw.word()),
            2 => end.deactivate(self.now),
            3 => {
                let target = LossRate::parts_per_trillion(draw.word().into());
                // One that cannot work is refused.
                let _ = end.aim(target, CopyCount::Fixed(draw.byte() % 6));
            }
            4 => end.on_traffic(self.now),
            _ => self.side.bump.set_classes(classes(draw)),
        }
    }

    fn turn(&mut self) {
        let mut turns = 0;
        while self.side.bump.turn(self.now).expect("no error is for good") && turns < TURNS {
            turns += 1;
        }
        if turns < TURNS {
            let due = self.side.bump.next_due(self.now);
            assert!(due.is_none_or(|due| due > self.now), "a time that has come is asked for again");
        }
        self.side.is_bounded(self.sizes);
        while let Some(sent) = self.side.link.next_sent() {
            self.judge_sent(&sent);
            self.heard.push_front(sent);
            self.heard.truncate(HEARD_MAX);
        }
        while let Some(frame) = self.side.lan.next_sent() {
            assert!(take(&mut self.inbound, &frame), "nobody has sent {frame:02x?}");
        }
    }

    /// A frame left over the link: it is the link's own, or from the LAN.
    fn judge_sent(&mut self, sent: &[u8]) {
        if !DIALECT.recognises(sent) {
            assert!(take(&mut self.outbound, sent), "nobody has sent {sent:02x?}");
            return;
        }
        let received = DIALECT.parse(sent).expect("a relay says what can be read");
        let carried = [&received.addresses[..], received.carried].concat();
        match received.signal {
            Signal::Data { again: true, .. } => {
                assert!(self.left.contains_key(&carried), "a copy of what never left: {carried:02x?}");
            }
            Signal::Data { seq, .. } => {
                self.sent = seq.wrapping_add(1);
                assert!(take(&mut self.outbound, &carried), "nobody has sent {carried:02x?}");
                *self.left.entry(carried).or_default() += 1;
            }
            Signal::Loose { .. } => {
                assert!(take(&mut self.outbound, &carried), "nobody has sent {carried:02x?}");
            }
            Signal::Hello(hello) if matches!(hello.kind, HelloKind::Open | HelloKind::Close) => {
                self.hello = Some(hello);
            }
            _ => assert_eq!(received.addresses[6..], [2, 0, 0, 0, 0, OURS]),
        }
    }

    /// Nobody answers any more, and ports take all: memory is free again.
    fn comes_to_rest(&mut self) {
        self.side.open_ports();
        self.side.bump.end_mut().deactivate(self.now);
        for _ in 0..100_000 {
            self.turn();
            let Some(due) = self.side.bump.next_due(self.now) else {
                assert!(self.side.bump.is_empty());
                assert_eq!(self.side.bump.pool_used(), 0, "{:?}", self.side.bump.end().counters());
                return;
            };
            self.now = self.now.max(due);
        }
        panic!("it never comes to rest");
    }
}

/// What a relay makes of a frame from the link, if it hands it on.
fn handed_on(frame: &Shaped) -> Option<Vec<u8>> {
    let bytes = frame.on_wire()?;
    if frame.tag.is_some() || !DIALECT.recognises(&bytes) {
        return Some(bytes);
    }
    let received = DIALECT.parse(&bytes).ok().filter(|received| received.signal.is_data())?;
    Some([&received.addresses[..], received.carried].concat())
}

fn own(signal: &Signal, source: u8) -> Vec<u8> {
    let mut bytes = vec![0; DIALECT.own_len(Trailer::None)];
    DIALECT.emit_own(signal, MacAddr([2, 0, 0, 0, 0, source]), Trailer::None, &mut bytes);
    bytes
}

fn take(from: &mut BTreeMap<Vec<u8>, u32>, frame: &[u8]) -> bool {
    let Some(count) = from.get_mut(frame).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}
