//! Two relays with a lossy wire: frames of one LAN arrive on the other once and in order, and missing ones
//! are accounted for. In a quarter of all runs the wire also changes bytes, and only memory is checked.

use std::collections::VecDeque;

use wiremend_dataplane::relay::{Classifier, ProtectionMode};
use wiremend_units::{Span, Time};
use wiremend_wire::link::{LinkCodec, LinkHeader};

use super::draw::Draw;
use super::relay::{PortFrame, Side, Sizes, classes};

/// Reads commands for both relays, and then the fate of each frame.
pub(crate) fn check(bytes: &[u8]) {
    let (orders, fates) = bytes.split_at(bytes.len() / 2);
    let (mut orders, fates) = (Draw::new(orders), Draw::new(fates));
    World::new(&mut orders, fates).run(&mut orders);
}

struct World<'a> {
    sides: [Side; 2],
    sizes: Sizes,
    now: Time,
    /// Frames on the wire to each side, with their arrival times.
    wires: [VecDeque<(Time, Vec<u8>)>; 2],
    fates: Draw<'a>,
    /// Whether the wire changes bytes.
    corrupts: bool,
    /// Whether a port was down or full.
    disturbed: bool,
    epoch: u32,
    /// Classes of each side, and the number of changes.
    classes: [(Classifier, u32); 2],
    frames: Vec<Frame>,
    /// Frames that each LAN received, by number.
    arrived: [Vec<usize>; 2],
}

struct Frame {
    from: usize,
    bytes: Vec<u8>,
    kind: u8,
    for_neighbour: bool,
    protection: ProtectionMode,
    /// Number of class changes before it was sent.
    generation: u32,
    /// It was sent without protection and lost.
    unprotected_lost: bool,
}

const CODEC: LinkCodec = LinkCodec { ethertype: LinkCodec::LOCAL_EXPERIMENTAL };
const DELAY: Span = Span::from_us(5);
/// Long enough for a number.
const LENS: [usize; 5] = [60, 1514, 26, 300, 1000];
const TURNS: u32 = 10_000;

impl<'a> World<'a> {
    fn new(draw: &mut Draw<'_>, fates: Draw<'a>) -> Self {
        let sizes = Sizes::draw(draw);
        Self {
            sides: [Side::new(sizes, 1), Side::new(sizes, 2)],
            sizes,
            now: Time::from_ns(100),
            wires: Default::default(),
            fates,
            corrupts: draw.is(4),
            disturbed: false,
            epoch: 0,
            classes: Default::default(),
            frames: Vec::new(),
            arrived: Default::default(),
        }
    }

    fn run(mut self, draw: &mut Draw<'_>) {
        while !draw.is_over() {
            let at = usize::from(draw.is(2));
            self.order(at, draw);
            // A full port is polled every few microseconds.
            let wait = draw.pick(if self.disturbed { &[0, 1, 10, 1] } else { &[0, 1, 10, 1_000] });
            self.pass(Span::from_us(u64::from(draw.byte()) * wait));
        }
        for side in &mut self.sides {
            side.open_ports();
            side.datapath.endpoint_mut().deactivate(self.now);
        }
        self.run_until_idle();
        if !self.corrupts {
            self.assert_in_order();
            self.assert_accounted_for();
        }
    }

    fn order(&mut self, at: usize, draw: &mut Draw<'_>) {
        match draw.byte() % 16 {
            0..=3 => {
                self.epoch += 1;
                self.sides[at].datapath.endpoint_mut().activate(self.now, self.epoch);
            }
            4 => self.sides[at].datapath.endpoint_mut().deactivate(self.now),
            5 => self.sides[at].datapath.endpoint_mut().on_traffic(self.now),
            6 => {
                let classes = classes(draw);
                self.sides[at].datapath.set_classes(classes.clone());
                let (before, generation) = &self.classes[at];
                self.classes[at] = (classes.clone(), generation + u32::from(*before != classes));
            }
            7 => {
                self.disturbed = true;
                self.sides[at].disturb_port(draw);
            }
            _ => {
                for _ in 0..draw.pick(&[1, 4, 30]) {
                    self.put(at, draw);
                }
            }
        }
    }

    fn put(&mut self, from: usize, draw: &mut Draw<'_>) {
        let shaped = PortFrame::draw(draw, self.frames.len() as u32, &LENS);
        shaped.put(&self.sides[from].lan);
        let bytes = shaped.on_wire().expect("it is long enough");
        let for_neighbour = bytes.starts_with(&[0x01, 0x80, 0xC2, 0, 0, 0x0E]);
        let (classes, generation) = &self.classes[from];
        let protection = classes.protection(classes.classify(&shaped.bytes, shaped.tag));
        let kind = shaped.kind;
        let unprotected_lost = false;
        let generation = *generation;
        self.frames.push(Frame {
            from,
            bytes,
            kind,
            for_neighbour,
            protection,
            generation,
            unprotected_lost,
        });
    }

    /// Advances time and processes all events.
    fn pass(&mut self, span: Span) {
        let until = self.now + span;
        loop {
            self.run_both();
            match self.next_event() {
                Some(at) if at <= until => self.now = at,
                _ => break,
            }
        }
        self.now = until;
    }

    fn next_event(&self) -> Option<Time> {
        let due = self.sides.iter().filter_map(|side| side.datapath.next_due(self.now));
        due.chain(self.wires.iter().filter_map(|wire| wire.front().map(|(at, _)| *at))).min()
    }

    fn run_both(&mut self) {
        for at in 0..2 {
            while let Some((_, frame)) = self.wires[at].pop_front_if(|(due, _)| *due <= self.now) {
                self.sides[at].link.put(&frame);
            }
            let mut turns = 0;
            while self.sides[at].datapath.run_once(self.now).expect("no permanent error") {
                turns += 1;
                assert!(turns < TURNS, "never idle");
            }
            let due = self.sides[at].datapath.next_due(self.now);
            assert!(due.is_none_or(|due| due > self.now), "a timeout that is already due");
            self.sides[at].assert_bounds(self.sizes);
            while let Some(sent) = self.sides[at].link.next_sent() {
                self.cross(at, sent);
            }
            while let Some(frame) = self.sides[at].lan.next_sent() {
                self.arrive(at, &frame);
            }
        }
    }

    /// At the end of the input everything arrives.
    fn cross(&mut self, from: usize, mut sent: Vec<u8>) {
        match self.fates.byte() {
            192.. => return self.lose(from, &sent),
            184..192 if self.corrupts => {
                let at = usize::from(self.fates.byte()) % sent.len();
                sent[at] ^= self.fates.byte();
            }
            176..184 if self.corrupts => sent.truncate(usize::from(self.fates.byte())),
            _ => {}
        }
        self.wires[1 - from].push_back((self.now + DELAY, sent));
    }

    fn lose(&mut self, from: usize, sent: &[u8]) {
        let carried = if CODEC.recognises(sent) {
            let received = CODEC.parse(sent).expect("a valid frame");
            if !matches!(received.header, LinkHeader::Unprotected { .. }) {
                return;
            }
            [&received.addresses[..], received.carried].concat()
        } else {
            sent.to_vec()
        };
        let number = self.number(from, &carried).expect("a frame of the LAN");
        self.frames[number].unprotected_lost = true;
    }

    fn number(&self, from: usize, bytes: &[u8]) -> Option<usize> {
        self.frames.iter().position(|frame| frame.from == from && frame.bytes == bytes)
    }

    fn arrive(&mut self, at: usize, bytes: &[u8]) {
        if self.corrupts {
            return;
        }
        let number = self.number(1 - at, bytes).unwrap_or_else(|| panic!("not sent: {bytes:02x?}"));
        assert!(!self.arrived[at].contains(&number), "frame {number} arrives twice");
        self.arrived[at].push(number);
    }

    fn run_until_idle(&mut self) {
        for _ in 0..100_000 {
            self.run_both();
            let Some(at) = self.next_event() else {
                for side in &self.sides {
                    assert!(side.datapath.is_empty());
                    assert_eq!(side.datapath.pool_used(), 0, "{:?}", side.datapath.endpoint().counters());
                }
                return;
            };
            self.now = at;
        }
        panic!("not idle after the last step");
    }

    /// Frames of a kind keep their order unless both were `non-blocking`. An end that stops to keep the order
    /// counts it.
    fn assert_in_order(&self) {
        for at in 0..2 {
            if self.sides[1 - at].datapath.endpoint().counters().fallbacks > 0 {
                continue;
            }
            for (place, late) in self.arrived[at].iter().enumerate() {
                let (a, before) = (&self.frames[*late], &self.arrived[at][..place]);
                let overtook = |no: &&usize| *no > late && !self.frames[**no].may_overtake(a);
                assert_eq!(before.iter().find(overtook), None, "frame {late} was overtaken");
            }
        }
    }

    /// Missing frames were counted, or were not protected.
    fn assert_accounted_for(&self) {
        for from in 0..2 {
            let [sender, receiver] = [&self.sides[from].datapath, &self.sides[1 - from].datapath];
            let (here, there) = (sender.endpoint().counters(), receiver.endpoint().counters());
            if self.disturbed || here.reopened > 0 {
                continue;
            }
            let sent = self.frames.iter().filter(|frame| frame.from == from);
            let missing = sent.filter(|frame| !frame.unprotected_lost).count() - self.arrived[1 - from].len();
            let dropped = sender.counts().queue_dropped + sender.counts().pool_empty;
            let excused = dropped + receiver.counts().pool_empty + there.lost + here.abandoned;
            assert!(missing as u64 <= excused, "{missing} of {excused}: {here:?} {there:?}");
        }
    }
}

impl Frame {
    /// Whether it may arrive before `other`, which was sent before it.
    fn may_overtake(&self, other: &Self) -> bool {
        let is_loose = |frame: &Self| frame.protection == ProtectionMode::NonBlocking;
        // Link-local frames go first, and no frame waits for them.
        self.for_neighbour
            || other.for_neighbour
            || self.kind != other.kind
            || is_loose(self) && is_loose(other) && self.generation == other.generation
    }
}
