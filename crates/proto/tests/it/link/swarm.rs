//! Beyond what can be explored completely: many links, loads, losses, bursts and restarts, by chance.

use wiremend_proto::link::{Config, CopyCount, LossRate};
use wiremend_testkit::{Course, Dice, Ending, LinkPair, Order, Passing, Side};
use wiremend_units::{Bytes, Rate, Span};

#[test]
fn links_of_all_kinds_keep_their_promises() {
    let mut tally = Tally::default();
    for seed in 0..3000 {
        match seed % 3 {
            0 => one_link::<4>(seed, &mut tally),
            1 => one_link::<7>(seed, &mut tally),
            _ => one_link::<20>(seed, &mut tally),
        }
    }
    println!("{tally:?}");
    assert!(tally.recovered > 10_000 && tally.lost > 0 && tally.pauses > 0 && tally.wraps > 0);
}

/// What the runs have met: a swarm that meets nothing shows nothing.
#[derive(Default, Debug)]
struct Tally {
    frames: u64,
    passed: u64,
    recovered: u64,
    lost: u64,
    pauses: u64,
    overflowed: u64,
    reopened: u64,
    wraps: u64,
}

fn one_link<const BITS: u32>(seed: u64, tally: &mut Tally) {
    let mut dice = Dice::new(seed);
    let rtt = dice.pick(&[Span::from_us(2), Span::from_us(5), Span::from_us(40), Span::from_us(500)]);
    let config = config(&mut dice, rtt);
    let mut pair = LinkPair::<BITS>::new(config, rtt / 2);
    let mut calm = true;
    let horizon = rtt * (1 + dice.below(20)) + Span::from_us(300);
    for side in [Side::A, Side::B] {
        calm &= give_orders(&mut pair, &mut dice, side, horizon);
    }
    let mut weather = Weather::new(&mut dice, seed);
    let ending = pair.run(|passing| weather.loses(passing));
    let counters = [pair.counters(Side::A), pair.counters(Side::B)];
    let reopened: u64 = counters.iter().map(|counters| counters.reopened).sum();
    let course = if calm { Course::Steady } else { Course::Broken };
    if let Some(what) = pair.violation(ending, course) {
        panic!("seed {seed}, {BITS} bits, {course:?}: {what}");
    }
    tally.frames += pair.frames().len() as u64;
    tally.passed += pair.passed().0;
    tally.reopened += reopened;
    for counters in counters {
        tally.recovered += counters.recovered;
        tally.lost += counters.lost;
        tally.pauses += counters.pauses;
        tally.overflowed += counters.overflowed;
        tally.wraps += counters.protected >> BITS;
    }
}

fn config(dice: &mut Dice, rtt: Span) -> Config {
    let rate = Rate::gbps(dice.pick(&[10, 25, 100]));
    let mut config = Config::for_link(rate, Bytes::new(1518), rtt);
    config.copies = match dice.below(3) {
        0 => CopyCount::Measured(LossRate::parts_per_trillion(1_000_000_000)),
        count => CopyCount::Fixed(count as u8),
    };
    config.dummies = 1 + dice.below(4) as u8;
    config.control_copies = 1 + dice.below(3) as u8;
    config.backpressure = dice.below(8) > 0;
    config.rtt = (dice.below(4) == 0).then_some(rtt);
    if dice.below(4) == 0 {
        config.tx_bytes_max = Bytes::new(2000 + dice.below(20_000));
        config.rx_bytes_max = Bytes::new(2000 + dice.below(20_000));
    }
    config.rtt_at_first = rtt * dice.pick(&[0, 0, 1, 4, 20]);
    config
}

/// Traffic in bursts, starts and ends, restarts. False: an end may lose what it holds.
fn give_orders<const BITS: u32>(
    pair: &mut LinkPair<BITS>,
    dice: &mut Dice,
    side: Side,
    horizon: Span,
) -> bool {
    let when = |dice: &mut Dice| Span::from_ps(dice.below(horizon.as_ps()));
    let kinds = dice.below(3);
    for _ in 0..dice.below(12) {
        let at = when(dice);
        for _ in 0..=dice.below(30) {
            let ordered = if kinds == 2 { dice.below(2) == 0 } else { kinds == 0 };
            let len = 64 + dice.below(1455) as u32;
            pair.order_after(at, side, Order::Send { len, ordered });
        }
    }
    if dice.below(8) > 0 {
        pair.order(side, Order::Activate);
    }
    for _ in 0..dice.below(6).saturating_sub(3) {
        let order = if dice.below(2) == 0 { Order::Activate } else { Order::Deactivate };
        let at = when(dice);
        pair.order_after(at, side, order);
    }
    let restarts = dice.below(8).saturating_sub(5);
    for _ in 0..restarts {
        let at = when(dice);
        pair.order_after(at, side, Order::Restart);
    }
    restarts == 0
}

/// Losses: some by chance, some in bursts. It clears up in the end, or nothing could be said of what is left.
struct Weather {
    dice: Dice,
    loss_ppm: [u32; 2],
    burst_ppm: u32,
    burst_left: u64,
    bad: u64,
}

impl Weather {
    fn new(dice: &mut Dice, seed: u64) -> Self {
        let loss = |dice: &mut Dice| dice.pick(&[0, 1000, 10_000, 50_000, 200_000]);
        Self {
            loss_ppm: [loss(dice), loss(dice)],
            burst_ppm: dice.pick(&[0, 0, 5000, 20_000]),
            burst_left: 0,
            bad: dice.below(3000),
            dice: Dice::new(seed ^ 0x5eed),
        }
    }

    fn loses(&mut self, passing: &Passing) -> bool {
        if passing.nth > self.bad {
            return false;
        }
        if self.burst_left == 0 && self.dice.chance_ppm(self.burst_ppm) {
            self.burst_left = 1 + self.dice.below(20);
        }
        let in_burst = self.burst_left > 0;
        self.burst_left = self.burst_left.saturating_sub(1);
        in_burst || self.dice.chance_ppm(self.loss_ppm[passing.from as usize])
    }
}

/// The worst weather for ever: nothing gets through, and still all comes to rest.
#[test]
fn a_dead_wire_brings_both_ends_to_rest() {
    for dead in [[true, false], [false, true], [true, true]] {
        let config = Config::for_link(Rate::gbps(100), Bytes::new(1518), Span::from_us(2));
        let mut pair = LinkPair::<20>::new(config, Span::from_us(1));
        pair.order(Side::A, Order::Activate);
        pair.order(Side::B, Order::Activate);
        assert_eq!(pair.run(|_| false), Ending::Idle);
        pair.send(Side::A, 50, 1000, true);
        pair.send(Side::B, 50, 1000, true);
        assert_eq!(pair.run(|passing| dead[passing.from as usize]), Ending::Idle);
        assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
    }
}
