//! Every state that two ends and their wire can come to, with a bounded number of mishaps at any moments.
//!
//! From each state, each of the frames that now go on the wire may be lost, in both directions: data, copies, notifications,
//! ACKs, dummies, pauses, hellos. Either end may restart. States that have been seen are not followed again, so a
//! run is explored to its quiet end wherever the mishaps fall. Numbers have four bits: they wrap within a run.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use wiremend_proto::link::Config;
use wiremend_testkit::{Course, Ending, LinkPair, Order, Side};
use wiremend_units::Span;

use super::patterns::{LEN, Pair, close_config, cramped_config, with_traffic};

#[test]
fn five_losses_of_ordered_frames() {
    let met = explore("ordered", Mishaps::losses(5), with_traffic(close_config(), 9, 0, |_| true));
    assert!(met.lost > 0, "five may hit a frame and all its copies");
}

#[test]
fn four_losses_of_frames_that_need_no_order() {
    let met = explore("non-blocking", Mishaps::losses(4), with_traffic(close_config(), 12, 0, |_| false));
    assert_eq!(met.lost, 0, "it takes the original, both copies, and both of a second round");
}

#[test]
fn three_losses_while_patience_follows_what_is_measured() {
    let config = Config { rtt_at_first: super::patterns::DELAY * 20, ..close_config() };
    explore("adaptive", Mishaps::losses(3), with_traffic(config, 9, 0, |_| true));
}

#[test]
fn three_losses_with_both_kinds_and_both_directions() {
    explore("mixed, both ways", Mishaps::losses(3), with_traffic(close_config(), 9, 9, |no| no % 3 != 0));
}

#[test]
fn four_losses_with_little_room() {
    let met = explore("little room", Mishaps::losses(4), with_traffic(cramped_config(), 8, 1, |_| true));
    assert!(met.pauses > 0 && met.overflowed > 0 && met.unkept > 0);
}

#[test]
fn three_losses_around_a_start() {
    let mut pair = Pair::new(close_config(), super::patterns::DELAY);
    for no in 0..12 {
        pair.order_after(Span::from_ns(300 * no), Side::A, Order::Send { len: LEN, ordered: true });
    }
    pair.order_after(Span::from_ns(300), Side::A, Order::Activate);
    explore("start", Mishaps::losses(3), pair);
}

#[test]
fn four_losses_around_an_end_and_another_start() {
    let mut pair = with_traffic(close_config(), 8, 1, |_| true);
    pair.order_after(Span::from_ns(500), Side::A, Order::Deactivate);
    for no in 0..4 {
        pair.order_after(Span::from_ns(400 + 300 * no), Side::A, Order::Send { len: LEN, ordered: true });
    }
    pair.order_after(Span::from_ns(2500), Side::A, Order::Activate);
    explore("end", Mishaps::losses(4), pair);
}

#[test]
fn a_restart_at_any_moment_and_two_losses() {
    let mishaps = Mishaps { losses: 2, restarts: 1 };
    explore("restart", mishaps, with_traffic(close_config(), 6, 1, |_| true));
}

/// What may still go wrong.
#[derive(Clone, Copy, Hash)]
struct Mishaps {
    losses: u32,
    restarts: u32,
}

impl Mishaps {
    const fn losses(losses: u32) -> Self {
        Self { losses, restarts: 0 }
    }
}

/// Far more than any exploration here comes to: a bound for one that does not end.
const STATES_MAX: usize = 3_000_000;

/// What the states of an exploration had behind them: the most of each. What an end has behind it says less, since it is
/// the same end whatever led there, and is met once.
#[derive(Default, Debug)]
struct Met {
    ends: u64,
    recovered: u64,
    lost: u64,
    pauses: u64,
    overflowed: u64,
    unkept: u64,
}

impl Met {
    fn see(&mut self, pair: &Pair) {
        for counters in [pair.counters(Side::A), pair.counters(Side::B)] {
            self.recovered = self.recovered.max(counters.recovered);
            self.lost = self.lost.max(counters.lost);
            self.pauses = self.pauses.max(counters.pauses);
            self.overflowed = self.overflowed.max(counters.overflowed);
            self.unkept = self.unkept.max(counters.unkept);
        }
    }
}

fn explore(name: &str, mishaps: Mishaps, start: Pair) -> Met {
    let course = if mishaps.restarts > 0 { Course::Broken } else { Course::Steady };
    let mut seen = HashSet::with_hasher(BuildHasherDefault::<DefaultHasher>::default());
    let mut met = Met::default();
    let mut ahead = vec![(start, mishaps)];
    while let Some((pair, mishaps)) = ahead.pop() {
        if !seen.insert(fingerprint(&pair, mishaps)) {
            continue;
        }
        assert!(seen.len() < STATES_MAX, "{name}: more states than were thought of");
        met.see(&pair);
        for side in [Side::A, Side::B] {
            assert_eq!(pair.delivered_badly(side), None, "{name}");
            if mishaps.restarts > 0 {
                let mut restarted = pair.clone();
                restarted.order(side, Order::Restart);
                ahead.push((restarted, Mishaps { restarts: mishaps.restarts - 1, ..mishaps }));
            }
        }
        if let Some((end, ending)) = step(pair, mishaps, &mut ahead) {
            assert_eq!(end.violation(ending, course), None, "{name}");
            met.ends += 1;
        }
    }
    println!("{name}: {} states, {met:?}", seen.len());
    assert!(met.ends > 0 && met.recovered > 0);
    met
}

/// Goes on from a state in every way there is. Gives the end, if it is one.
fn step(mut pair: Pair, mishaps: Mishaps, ahead: &mut Vec<(Pair, Mishaps)>) -> Option<(Pair, Ending)> {
    let before = (mishaps.losses > 0).then(|| pair.clone());
    let mut passing = 0;
    let ending = pair.step(|_| {
        passing += 1;
        false
    });
    for lost in 1_u32..1 << passing {
        let Some((before, losses)) = before.as_ref().zip(mishaps.losses.checked_sub(lost.count_ones()))
        else {
            continue;
        };
        let mut hit = before.clone();
        let mut nth = 0;
        // Without what is lost, this may be the last step; the next one will say so.
        let _ = hit.step(|_| {
            nth += 1;
            lost >> (nth - 1) & 1 == 1
        });
        ahead.push((hit, Mishaps { losses, ..mishaps }));
    }
    if let Some(ending) = ending {
        return Some((pair, ending));
    }
    ahead.push((pair, mishaps));
    None
}

fn fingerprint<const BITS: u32>(pair: &LinkPair<BITS>, mishaps: Mishaps) -> u64 {
    let mut hasher = DefaultHasher::new();
    pair.fingerprint(&mut hasher);
    mishaps.hash(&mut hasher);
    hasher.finish()
}
