//! The other end of a protected link may send anything: this end neither panics nor grows, and returns every
//! frame handle.

use std::collections::BTreeSet;

use wiremend_proto::link::{
    Ack, Config, CopyCount, Disposal, Endpoint, Hello, HelloKind, Hole, LinkHeader, LossRate, Missing,
    QueueHead, Transmit, UnprotectedTransmit,
};
use wiremend_units::{Bytes, Rate, Span, Time};

use super::draw::Draw;

/// Random inputs, with short numbers or numbers of the wire's width.
pub(crate) fn check(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    if draw.is(2) {
        World::<20>::new(&mut draw).run(&mut draw);
    } else {
        World::<6>::new(&mut draw).run(&mut draw);
    }
}

struct World<const BITS: u32> {
    end: Endpoint<u32, BITS>,
    now: Time,
    /// Frame handles of the end: received frames, and copies of sent frames.
    held: BTreeSet<u32>,
    kept: BTreeSet<u32>,
    handles: u32,
    /// The last hello of this end, and the other end's epoch.
    hello: Option<Hello>,
    epoch: u32,
    /// The next number of the other end, and the last number of this end.
    next: u32,
    sent: u32,
}

const WAITING: QueueHead = QueueHead { len: Bytes::new(1000), ordered: true };
const LONGEST: u64 = 1518;

impl<const BITS: u32> World<BITS> {
    fn new(draw: &mut Draw<'_>) -> Self {
        let rtt = Span::from_us(2);
        let mut config = Config::for_link(Rate::gbps(draw.pick(&[100, 10, 400])), Bytes::new(LONGEST), rtt);
        config.rtt = draw.is(2).then_some(rtt);
        config.backpressure = !draw.is(4);
        config.rtt_initial = rtt * draw.pick(&[0, 4, 20]);
        if draw.is(2) {
            config.copies = CopyCount::Fixed(draw.pick(&[1, 2, 4]));
        }
        if draw.is(4) {
            config.rx_bytes_max = Bytes::new(4000);
            config.tx_bytes_max = Bytes::new(4000);
        }
        Self {
            end: Endpoint::new(config),
            now: Time::from_ns(100),
            held: BTreeSet::new(),
            kept: BTreeSet::new(),
            handles: 0,
            hello: None,
            epoch: 1,
            next: 0,
            sent: 0,
        }
    }

    fn run(mut self, draw: &mut Draw<'_>) {
        while !draw.is_over() {
            self.step(draw);
            self.dispose();
            self.assert_bounds();
        }
        self.end.deactivate(self.now);
        self.run_until_idle();
        self.end.on_plain(self.now, 0);
        self.held.insert(0);
        self.dispose();
        assert!(self.held.is_empty() && self.kept.is_empty(), "kept {:?}, held {:?}", self.kept, self.held);
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        match draw.byte() % 16 {
            0..=3 => self.receive_data(draw),
            4 => self.receive(draw, |world, draw| {
                let ack = world.maybe_ack(draw);
                LinkHeader::Dummy { epoch: world.epoch as u8 & 15, next: draw.near(world.next), ack }
            }),
            5 => self.receive(draw, |world, draw| LinkHeader::Ack(world.ack(draw))),
            6 | 7 => self.receive(draw, Self::missing),
            8 => self.receive(draw, Self::hello),
            9 => {
                let wait = draw.pick(&[100, 2_000, 20_000, 300_000, 1_000_000_000]);
                self.now += Span::from_ns(u64::from(draw.byte()) * wait);
            }
            10 => {
                let handle = self.arrive();
                self.end.on_plain(self.now, handle);
            }
            11 => self.command(draw),
            12 => self.leave_aside(),
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

    fn receive_data(&mut self, draw: &mut Draw<'_>) {
        let frame = (self.arrive(), Bytes::new(u64::from(draw.byte()) * 6));
        let epoch = if draw.is(16) { draw.byte() } else { self.epoch as u8 } & 15;
        let seq = if draw.is(4) { draw.near(self.next) } else { self.next };
        self.next = seq.wrapping_add(1);
        let ack = self.maybe_ack(draw);
        let signal = if draw.is(8) {
            LinkHeader::Unprotected { epoch, next: seq, ack }
        } else {
            LinkHeader::Data { epoch, seq, ordered: !draw.is(4), retransmitted: draw.is(4), ack }
        };
        self.end.on_signal(self.now, &signal, Some(frame));
    }

    fn receive(&mut self, draw: &mut Draw<'_>, signal: impl Fn(&mut Self, &mut Draw<'_>) -> LinkHeader) {
        let signal = signal(self, draw);
        // Such a header has no frame; an attacker may add one.
        let frame = draw.is(32).then(|| (self.arrive(), Bytes::new(64)));
        self.end.on_signal(self.now, &signal, frame);
    }

    fn ack(&mut self, draw: &mut Draw<'_>) -> Ack {
        let epoch = self.hello.map_or(0, |hello| hello.epoch as u8) & 15;
        Ack { epoch, next: draw.near(self.sent.wrapping_sub(4)), pause: draw.is(4) }
    }

    fn maybe_ack(&mut self, draw: &mut Draw<'_>) -> Option<Ack> {
        draw.is(2).then(|| self.ack(draw))
    }

    fn missing(&mut self, draw: &mut Draw<'_>) -> LinkHeader {
        let ack = self.ack(draw);
        let hole = |draw: &mut Draw<'_>| Hole {
            first: draw.near(ack.next),
            len: draw.pick(&[1, 2, 0, 7, 300, u16::MAX]),
        };
        let holes = std::array::from_fn(|_| hole(draw));
        LinkHeader::Missing(Missing { ack, upto: draw.near(self.sent), holes, hole_count: draw.byte() % 9 })
    }

    fn hello(&mut self, draw: &mut Draw<'_>) -> LinkHeader {
        use HelloKind::{Accept, Close, Closed, Open, Unknown};
        let kind = draw.pick(&[Open, Accept, Close, Closed, Unknown]);
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
        match draw.byte() % 4 {
            0 | 1 => self.end.activate(self.now, draw.word()),
            2 => self.end.deactivate(self.now),
            _ => {
                let target = LossRate::from_parts_per_trillion(draw.word().into());
                // An invalid target is refused.
                let _ = self.end.set_target(target, CopyCount::Fixed(draw.byte() % 6));
            }
        }
    }

    fn leave(&mut self, draw: &mut Draw<'_>) {
        let waiting = (!draw.is(4)).then_some(WAITING);
        match self.end.poll_transmit(self.now, waiting) {
            Some(Transmit::New(signal)) => {
                if let LinkHeader::Data { seq, .. } = signal {
                    self.sent = seq.wrapping_add(1);
                }
                self.handles += 1;
                self.kept.insert(self.handles);
                self.end.on_sent(self.now, self.handles);
            }
            Some(Transmit::Retransmission(_, handle)) => {
                assert!(self.kept.contains(&handle), "{handle} was released");
            }
            Some(Transmit::Control(LinkHeader::Hello(hello))) => self.hello = Some(hello),
            Some(Transmit::Control(_) | Transmit::Plain) | None => {}
        }
    }

    fn leave_aside(&mut self) {
        if let Some(UnprotectedTransmit::First(Transmit::Control(LinkHeader::Hello(hello)))) =
            self.end.poll_unprotected(self.now)
        {
            self.hello = Some(hello);
        }
    }

    fn dispose(&mut self) {
        while let Some(disposal) = self.end.poll() {
            let (handle, had) = match disposal {
                Disposal::Deliver(handle) | Disposal::Discard(handle) => (handle, self.held.remove(&handle)),
                Disposal::Release(handle) => (handle, self.kept.remove(&handle)),
            };
            assert!(had, "{handle} is returned twice: {disposal:?}");
        }
    }

    fn assert_bounds(&self) {
        let (counters, config) = (self.end.counters(), self.end.config());
        assert!(counters.rx_bytes <= config.rx_bytes_max.get(), "{counters:?}");
        assert!(counters.tx_bytes <= config.tx_bytes_max.get(), "{counters:?}");
        let open = counters.missed - counters.recovered - counters.lost;
        assert!(open <= 1 << (BITS - 1), "{open} places are missing of {} that can be", 1 << (BITS - 1));
    }

    /// No more answers arrive.
    fn run_until_idle(&mut self) {
        for _ in 0..100_000 {
            match self.end.poll_transmit(self.now, None) {
                Some(Transmit::New(_) | Transmit::Plain) => panic!("nothing waits"),
                Some(_) => {}
                None => match self.end.next_timeout() {
                    Some(at) => {
                        self.now = self.now.max(at);
                        self.end.on_timeout(self.now);
                    }
                    None => return self.dispose(),
                },
            }
            self.dispose();
        }
        panic!("not idle after the last step");
    }
}
