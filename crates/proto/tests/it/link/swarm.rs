//! Random links, loads, losses, bursts and restarts, beyond what can be explored completely.

use wiremend_proto::link::{Config, CopyCount, LossRate};
use wiremend_testkit::{LinkCommand, LinkPair, Random, RunEnd, RunHistory, Side, WireFrame};
use wiremend_units::{Bytes, Rate, Span};

#[test]
fn random_links_keep_all_invariants() {
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

/// Events over all runs: proves that the runs cover losses, pauses and wraps.
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
    let mut random = Random::new(seed);
    let rtt = random.pick(&[Span::from_us(2), Span::from_us(5), Span::from_us(40), Span::from_us(500)]);
    let config = config(&mut random, rtt);
    let mut pair = LinkPair::<BITS>::new(config, rtt / 2);
    let mut steady = true;
    let horizon = rtt * (1 + random.below(20)) + Span::from_us(300);
    for side in [Side::A, Side::B] {
        steady &= schedule_commands(&mut pair, &mut random, side, horizon);
    }
    let mut losses = RandomLosses::new(&mut random, seed);
    let ending = pair.run(|sent| losses.loses(sent));
    let counters = [pair.counters(Side::A), pair.counters(Side::B)];
    let reopened: u64 = counters.iter().map(|counters| counters.reopened).sum();
    let history = if steady { RunHistory::Steady } else { RunHistory::Restarted };
    if let Some(what) = pair.violation(ending, history) {
        panic!("seed {seed}, {BITS} bits, {history:?}: {what}");
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

fn config(random: &mut Random, rtt: Span) -> Config {
    let rate = Rate::gbps(random.pick(&[10, 25, 100]));
    let mut config = Config::for_link(rate, Bytes::new(1518), rtt);
    config.copies = match random.below(3) {
        0 => CopyCount::Measured(LossRate::from_parts_per_trillion(1_000_000_000)),
        count => CopyCount::Fixed(count as u8),
    };
    config.dummies = 1 + random.below(4) as u8;
    config.control_copies = 1 + random.below(3) as u8;
    config.backpressure = random.below(8) > 0;
    config.rtt = (random.below(4) == 0).then_some(rtt);
    if random.below(4) == 0 {
        config.tx_bytes_max = Bytes::new(2000 + random.below(20_000));
        config.rx_bytes_max = Bytes::new(2000 + random.below(20_000));
    }
    config.rtt_initial = rtt * random.pick(&[0, 0, 1, 4, 20]);
    config
}

/// Random traffic, starts, ends and restarts. Returns false if an end may lose its frames.
fn schedule_commands<const BITS: u32>(
    pair: &mut LinkPair<BITS>,
    random: &mut Random,
    side: Side,
    horizon: Span,
) -> bool {
    let when = |random: &mut Random| Span::from_ps(random.below(horizon.as_ps()));
    let kinds = random.below(3);
    for _ in 0..random.below(12) {
        let at = when(random);
        for _ in 0..=random.below(30) {
            let ordered = if kinds == 2 { random.below(2) == 0 } else { kinds == 0 };
            let len = 64 + random.below(1455) as u32;
            pair.apply_after(at, side, LinkCommand::Send { len, ordered });
        }
    }
    if random.below(8) > 0 {
        pair.apply(side, LinkCommand::Activate);
    }
    for _ in 0..random.below(6).saturating_sub(3) {
        let command = if random.below(2) == 0 { LinkCommand::Activate } else { LinkCommand::Deactivate };
        let at = when(random);
        pair.apply_after(at, side, command);
    }
    let restarts = random.below(8).saturating_sub(5);
    for _ in 0..restarts {
        let at = when(random);
        pair.apply_after(at, side, LinkCommand::Restart);
    }
    restarts == 0
}

/// Random and burst losses. They end after a while, so that the final state can be checked.
struct RandomLosses {
    random: Random,
    loss_ppm: [u32; 2],
    burst_ppm: u32,
    burst_left: u64,
    lossy_frames: u64,
}

impl RandomLosses {
    fn new(random: &mut Random, seed: u64) -> Self {
        let loss = |random: &mut Random| random.pick(&[0, 1000, 10_000, 50_000, 200_000]);
        Self {
            loss_ppm: [loss(random), loss(random)],
            burst_ppm: random.pick(&[0, 0, 5000, 20_000]),
            burst_left: 0,
            lossy_frames: random.below(3000),
            random: Random::new(seed ^ 0x5eed),
        }
    }

    fn loses(&mut self, sent: &WireFrame) -> bool {
        if sent.nth > self.lossy_frames {
            return false;
        }
        if self.burst_left == 0 && self.random.chance_ppm(self.burst_ppm) {
            self.burst_left = 1 + self.random.below(20);
        }
        let in_burst = self.burst_left > 0;
        self.burst_left = self.burst_left.saturating_sub(1);
        in_burst || self.random.chance_ppm(self.loss_ppm[sent.from as usize])
    }
}

/// Both ends become idle although no frame arrives.
#[test]
fn dead_wire_leaves_both_ends_idle() {
    for dead in [[true, false], [false, true], [true, true]] {
        let config = Config::for_link(Rate::gbps(100), Bytes::new(1518), Span::from_us(2));
        let mut pair = LinkPair::<20>::new(config, Span::from_us(1));
        pair.apply(Side::A, LinkCommand::Activate);
        pair.apply(Side::B, LinkCommand::Activate);
        assert_eq!(pair.run(|_| false), RunEnd::Idle);
        pair.send(Side::A, 50, 1000, true);
        pair.send(Side::B, 50, 1000, true);
        assert_eq!(pair.run(|sent| dead[sent.from as usize]), RunEnd::Idle);
        assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
    }
}
