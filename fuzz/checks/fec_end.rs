//! The other end of a link with error correction may be anybody: whatever it says, this end neither panics nor grows, and gives back what
//! it was given.

use std::collections::BTreeSet;

use wiremend_proto::fec::{Code, Config, Disposal, Endpoint, Order, Signal, Transmit};
use wiremend_proto::link::Waiting;
use wiremend_units::{Bytes, Span, Time};

use super::draw::Draw;

pub(crate) fn check(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    World::new(&mut draw).run(&mut draw);
}

struct World {
    end: Endpoint<u32>,
    now: Time,
    /// Handles that the end has: frames that came or were restored, and copies of frames that left.
    held: BTreeSet<u32>,
    kept: BTreeSet<u32>,
    handles: u32,
    /// Where the other end would go on.
    block: u16,
    index: u8,
    data: u8,
    parities: u8,
    /// A block whose frames this end wants restored, and which of them.
    asked: Vec<(u16, u8)>,
}

const WAITING: Waiting = Waiting { len: Bytes::new(1000), ordered: true };
/// No block is longer.
const BLOCK_MAX: usize = 255;

impl World {
    fn new(draw: &mut Draw<'_>) -> Self {
        let (data, parities) = draw.pick(&[(25, 1), (5, 1), (1, 1), (4, 3), (1, 254), (254, 1), (200, 55)]);
        let code = Code::new(data, parities).expect("a block that fits");
        let order = draw.pick(&[Order::Kept, Order::AsTheyCome]);
        let config = Config::new(code, Span::from_us(10)).expect("a flush").with_order(order);
        Self {
            end: Endpoint::new(config),
            now: Time::from_ns(100),
            held: BTreeSet::new(),
            kept: BTreeSet::new(),
            handles: 0,
            block: 0,
            index: 0,
            data: data as u8,
            parities: parities as u8,
            asked: Vec::new(),
        }
    }

    fn run(mut self, draw: &mut Draw<'_>) {
        while !draw.is_over() {
            self.step(draw);
            self.dispose();
            assert!(self.held.len() < BLOCK_MAX && self.kept.len() < BLOCK_MAX);
        }
        self.end.deactivate();
        self.comes_to_rest();
        let counters = *self.end.counters();
        assert!(self.held.is_empty() && self.kept.is_empty(), "kept {:?}, held {:?}", self.kept, self.held);
        assert_eq!(counters.held, 0);
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        match draw.byte() % 16 {
            0..=5 => self.hear_data(draw),
            6..=8 => self.hear_parity(draw),
            9 => self.restore(draw),
            10 => {
                let wait = draw.pick(&[100, 1_000, 1_000_000]);
                self.now += Span::from_ns(u64::from(draw.byte()) * wait);
            }
            11 => {
                let frame = self.arrive();
                self.end.on_plain(frame);
            }
            12 => {
                if draw.is(4) {
                    self.end.deactivate();
                } else {
                    self.end.activate(draw.word() as u16);
                }
            }
            _ => self.leave(draw),
        }
        if self.end.next_timeout().is_some_and(|at| at <= self.now) {
            self.end.on_timeout(self.now);
            let again = self.end.next_timeout();
            assert!(again.is_none_or(|at| at > self.now), "a time that has come is asked for again");
        }
    }

    fn arrive(&mut self) -> u32 {
        self.handles += 1;
        self.held.insert(self.handles);
        self.handles
    }

    /// A place that comes next, or any.
    fn place(&mut self, draw: &mut Draw<'_>) -> (u16, u8, u8) {
        let block = if draw.is(16) { draw.near(self.block.into()) as u16 } else { self.block };
        let index = if draw.is(4) { draw.near(self.index.into()) as u8 } else { self.index };
        let parities = if draw.is(16) { draw.byte() } else { self.parities };
        (block, index, parities)
    }

    fn hear_data(&mut self, draw: &mut Draw<'_>) {
        let (block, index, parities) = self.place(draw);
        // Some are lost.
        self.index = index.wrapping_add(draw.pick(&[1, 1, 2, 5]));
        (self.block, self.data) = (block, self.data.max(self.index));
        let frame = (!draw.is(64)).then(|| self.arrive());
        self.end.on_signal(self.now, Signal::Data { block, index, parities }, frame);
    }

    fn hear_parity(&mut self, draw: &mut Draw<'_>) {
        let (block, index, parities) = self.place(draw);
        let data_count = if draw.is(8) { draw.byte() } else { self.data };
        let index = index.max(if draw.is(8) { 0 } else { data_count });
        let frame = draw.is(64).then(|| self.arrive());
        self.end.on_signal(self.now, Signal::Parity { block, index, data_count, parities }, frame);
        self.index = index.wrapping_add(1);
        if draw.is(2) {
            (self.block, self.index) = (block.wrapping_add(data_count.into()), 0);
            self.data = draw.pick(&[5, 25, 1, 200]);
        }
    }

    /// A host restores what it was asked for, soon or too late, once or twice; or never.
    fn restore(&mut self, draw: &mut Draw<'_>) {
        let count = usize::from(draw.byte()).min(self.asked.len());
        let keep = draw.is(8);
        for at in 0..count {
            let (block, index) = self.asked[at];
            let frame = self.arrive();
            self.end.on_recovered(self.now, block, index, frame);
        }
        if !keep {
            self.asked.drain(..count);
        }
    }

    fn leave(&mut self, draw: &mut Draw<'_>) {
        let waiting = (!draw.is(4)).then_some(WAITING);
        match self.end.poll_transmit(self.now, waiting) {
            Some(Transmit::Fresh(_)) => {
                self.handles += 1;
                self.kept.insert(self.handles);
                self.end.on_sent(self.now, self.handles);
            }
            Some(Transmit::Parity { .. }) => {
                let kept = self.end.kept();
                assert!(!kept.is_empty() && kept.iter().all(|handle| self.kept.contains(handle)));
            }
            Some(Transmit::Plain) | None => {}
        }
    }

    fn dispose(&mut self) {
        while let Some(disposal) = self.end.poll() {
            let (handle, had) = match disposal {
                Disposal::Deliver(handle) | Disposal::Discard(handle) => (handle, self.held.remove(&handle)),
                Disposal::Release(handle) => (handle, self.kept.remove(&handle)),
                Disposal::Recover { block, missing } => {
                    assert!(!missing.is_empty());
                    self.asked = missing.iter().map(|index| (block, index)).collect();
                    continue;
                }
                Disposal::Settled { .. } => continue,
            };
            assert!(had, "{handle} is disposed of twice: {disposal:?}");
        }
    }

    /// Nobody answers any more.
    fn comes_to_rest(&mut self) {
        for _ in 0..1_000 {
            if self.end.poll_transmit(self.now, None).is_none() {
                let Some(at) = self.end.next_timeout() else { return self.dispose() };
                self.now = self.now.max(at);
                self.end.on_timeout(self.now);
            }
            self.dispose();
        }
        panic!("it never comes to rest");
    }
}
