//! The other end of a protected link may be anybody: whatever it says, this end neither panics nor grows, and gives back what it was given.

use std::collections::BTreeSet;

use wiremend_proto::link::{
    Ack, Aside, Config, CopyCount, Disposal, Endpoint, Hello, HelloKind, Hole, LossRate, Missing, Signal,
    Transmit, Waiting,
};
use wiremend_units::{Bytes, Rate, Span, Time};

use super::draw::Draw;

/// What an end is told, one thing after another, with numbers of few bits or of as many as the wire has.
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
    /// Handles that the end has: frames that came, and copies of frames that left.
    held: BTreeSet<u32>,
    kept: BTreeSet<u32>,
    handles: u32,
    /// What it said of itself last, and what it was told the other's epoch is.
    hello: Option<Hello>,
    epoch: u32,
    /// The number that the other end would use next, and the one that this end has used.
    next: u32,
    sent: u32,
}

const WAITING: Waiting = Waiting { len: Bytes::new(1000), ordered: true };
const LONGEST: u64 = 1518;

impl<const BITS: u32> World<BITS> {
    fn new(draw: &mut Draw<'_>) -> Self {
        let rtt = Span::from_us(2);
        let mut config = Config::for_link(Rate::gbps(draw.pick(&[100, 10, 400])), Bytes::new(LONGEST), rtt);
        config.rtt = draw.is(2).then_some(rtt);
        config.backpressure = !draw.is(4);
        config.rtt_at_first = rtt * draw.pick(&[0, 4, 20]);
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
            self.is_bounded();
        }
        self.end.deactivate(self.now);
        self.comes_to_rest();
        self.end.on_plain(self.now, 0);
        self.held.insert(0);
        self.dispose();
        assert!(self.held.is_empty() && self.kept.is_empty(), "kept {:?}, held {:?}", self.kept, self.held);
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        match draw.byte() % 16 {
            0..=3 => self.hear_data(draw),
            4 => self.hear(draw, |world, draw| {
                let ack = world.maybe_ack(draw);
                Signal::Dummy { epoch: world.epoch as u8 & 15, next: draw.near(world.next), ack }
            }),
            5 => self.hear(draw, |world, draw| Signal::Ack(world.ack(draw))),
            6 | 7 => self.hear(draw, Self::missing),
            8 => self.hear(draw, Self::hello),
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
            assert!(again.is_none_or(|at| at > self.now), "a time that has come is asked for again");
        }
    }

    fn arrive(&mut self) -> u32 {
        self.handles += 1;
        self.held.insert(self.handles);
        self.handles
    }

    fn hear_data(&mut self, draw: &mut Draw<'_>) {
        let frame = (self.arrive(), Bytes::new(u64::from(draw.byte()) * 6));
        let epoch = if draw.is(16) { draw.byte() } else { self.epoch as u8 } & 15;
        let seq = if draw.is(4) { draw.near(self.next) } else { self.next };
        self.next = seq.wrapping_add(1);
        let ack = self.maybe_ack(draw);
        let signal = if draw.is(8) {
            Signal::Loose { epoch, next: seq, ack }
        } else {
            Signal::Data { epoch, seq, ordered: !draw.is(4), again: draw.is(4), ack }
        };
        self.end.on_signal(self.now, &signal, Some(frame));
    }

    fn hear(&mut self, draw: &mut Draw<'_>, signal: impl Fn(&mut Self, &mut Draw<'_>) -> Signal) {
        let signal = signal(self, draw);
        // Nothing follows such a signal; somebody may send it so.
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

    fn missing(&mut self, draw: &mut Draw<'_>) -> Signal {
        let ack = self.ack(draw);
        let hole = |draw: &mut Draw<'_>| Hole {
            first: draw.near(ack.next),
            len: draw.pick(&[1, 2, 0, 7, 300, u16::MAX]),
        };
        let holes = std::array::from_fn(|_| hole(draw));
        Signal::Missing(Missing { ack, upto: draw.near(self.sent), holes, hole_count: draw.byte() % 9 })
    }

    fn hello(&mut self, draw: &mut Draw<'_>) -> Signal {
        use HelloKind::{Accept, Close, Closed, Open, Unknown};
        let kind = draw.pick(&[Open, Accept, Close, Closed, Unknown]);
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
        match draw.byte() % 4 {
            0 | 1 => self.end.activate(self.now, draw.word()),
            2 => self.end.deactivate(self.now),
            _ => {
                let target = LossRate::parts_per_trillion(draw.word().into());
                // One that cannot work is refused.
                let _ = self.end.aim(target, CopyCount::Fixed(draw.byte() % 6));
            }
        }
    }

    fn leave(&mut self, draw: &mut Draw<'_>) {
        let waiting = (!draw.is(4)).then_some(WAITING);
        match self.end.poll_transmit(self.now, waiting) {
            Some(Transmit::Fresh(signal)) => {
                if let Signal::Data { seq, .. } = signal {
                    self.sent = seq.wrapping_add(1);
                }
                self.handles += 1;
                self.kept.insert(self.handles);
                self.end.on_sent(self.now, self.handles);
            }
            Some(Transmit::Again(_, handle)) => assert!(self.kept.contains(&handle), "{handle} was released"),
            Some(Transmit::Own(Signal::Hello(hello))) => self.hello = Some(hello),
            Some(Transmit::Own(_) | Transmit::Plain) | None => {}
        }
    }

    fn leave_aside(&mut self) {
        if let Some(Aside::Before(Transmit::Own(Signal::Hello(hello)))) = self.end.poll_aside(self.now) {
            self.hello = Some(hello);
        }
    }

    fn dispose(&mut self) {
        while let Some(disposal) = self.end.poll() {
            let (handle, had) = match disposal {
                Disposal::Deliver(handle) | Disposal::Discard(handle) => (handle, self.held.remove(&handle)),
                Disposal::Release(handle) => (handle, self.kept.remove(&handle)),
            };
            assert!(had, "{handle} is disposed of twice: {disposal:?}");
        }
    }

    fn is_bounded(&self) {
        let (counters, config) = (self.end.counters(), self.end.config());
        assert!(counters.rx_bytes <= config.rx_bytes_max.get(), "{counters:?}");
        assert!(counters.tx_bytes <= config.tx_bytes_max.get(), "{counters:?}");
        let open = counters.missed - counters.recovered - counters.lost;
        assert!(open <= 1 << (BITS - 1), "{open} places are missing of {} that can be", 1 << (BITS - 1));
    }

    /// Nobody answers any more.
    fn comes_to_rest(&mut self) {
        for _ in 0..100_000 {
            match self.end.poll_transmit(self.now, None) {
                Some(Transmit::Fresh(_) | Transmit::Plain) => panic!("nothing waits"),
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
        panic!("it never comes to rest");
    }
}
