//! The other end of a link with error correction may send anything: this end neither panics nor grows, and
//! returns every frame handle.

use std::collections::BTreeSet;

use wiremend_proto::fec::{Code, Config, DeliveryOrder, Disposal, Endpoint, FecHeader, Transmit};
use wiremend_proto::link::QueueHead;
use wiremend_units::{Bytes, Span, Time};

use super::draw::Draw;

pub(crate) fn check(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    World::new(&mut draw).run(&mut draw);
}

struct World {
    end: Endpoint<u32>,
    now: Time,
    /// Frame handles of the end: received or restored frames, and copies of sent frames.
    held: BTreeSet<u32>,
    kept: BTreeSet<u32>,
    handles: u32,
    /// Next position of the other end.
    block: u16,
    index: u8,
    data: u8,
    parities: u8,
    /// Frames that this end asked to restore.
    asked: Vec<(u16, u8)>,
}

const WAITING: QueueHead = QueueHead { len: Bytes::new(1000), ordered: true };
/// Longest block.
const BLOCK_MAX: usize = 255;

impl World {
    fn new(draw: &mut Draw<'_>) -> Self {
        let (data, parities) = draw.pick(&[(25, 1), (5, 1), (1, 1), (4, 3), (1, 254), (254, 1), (200, 55)]);
        let code = Code::new(data, parities).expect("a valid code");
        let order = draw.pick(&[DeliveryOrder::InOrder, DeliveryOrder::OnArrival]);
        let config = Config::new(code, Span::from_us(10)).expect("a valid configuration").with_order(order);
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
        self.run_until_idle();
        let counters = *self.end.counters();
        assert!(self.held.is_empty() && self.kept.is_empty(), "kept {:?}, held {:?}", self.kept, self.held);
        assert_eq!(counters.held, 0);
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        match draw.byte() % 16 {
            0..=5 => self.receive_data(draw),
            6..=8 => self.receive_parity(draw),
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
            assert!(again.is_none_or(|at| at > self.now), "a timeout that is already due");
        }
    }

    fn arrive(&mut self) -> u32 {
        self.handles += 1;
        self.held.insert(self.handles);
        self.handles
    }

    /// The next position, or any.
    fn place(&mut self, draw: &mut Draw<'_>) -> (u16, u8, u8) {
        let block = if draw.is(16) { draw.near(self.block.into()) as u16 } else { self.block };
        let index = if draw.is(4) { draw.near(self.index.into()) as u8 } else { self.index };
        let parities = if draw.is(16) { draw.byte() } else { self.parities };
        (block, index, parities)
    }

    fn receive_data(&mut self, draw: &mut Draw<'_>) {
        let (block, index, parities) = self.place(draw);
        // Some frames are lost.
        self.index = index.wrapping_add(draw.pick(&[1, 1, 2, 5]));
        (self.block, self.data) = (block, self.data.max(self.index));
        let frame = (!draw.is(64)).then(|| self.arrive());
        self.end.on_signal(self.now, FecHeader::Data { block, index, parities }, frame);
    }

    fn receive_parity(&mut self, draw: &mut Draw<'_>) {
        let (block, index, parities) = self.place(draw);
        let data_count = if draw.is(8) { draw.byte() } else { self.data };
        let index = index.max(if draw.is(8) { 0 } else { data_count });
        let frame = draw.is(64).then(|| self.arrive());
        self.end.on_signal(self.now, FecHeader::Parity { block, index, data_count, parities }, frame);
        self.index = index.wrapping_add(1);
        if draw.is(2) {
            (self.block, self.index) = (block.wrapping_add(data_count.into()), 0);
            self.data = draw.pick(&[5, 25, 1, 200]);
        }
    }

    /// Restores requested frames, in time or too late, once, twice or never.
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
            Some(Transmit::New(_)) => {
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
                Disposal::BlockDone { .. } => continue,
            };
            assert!(had, "{handle} is returned twice: {disposal:?}");
        }
    }

    /// No more answers arrive.
    fn run_until_idle(&mut self) {
        for _ in 0..1_000 {
            if self.end.poll_transmit(self.now, None).is_none() {
                let Some(at) = self.end.next_timeout() else { return self.dispose() };
                self.now = self.now.max(at);
                self.end.on_timeout(self.now);
            }
            self.dispose();
        }
        panic!("not idle after the last step");
    }
}
