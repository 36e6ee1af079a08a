//! All states that two ends and their wire can reach with a bounded number of faults at any time.
//!
//! From each state, any of the frames now sent may be lost, in both directions: data, copies, notifications,
//! ACKs, dummies, pauses, hellos. Either end may restart. States already seen are not followed again, so
//! every run is explored to its idle end. Sequence numbers have four bits, so that they wrap within a run.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use wiremend_proto::link::Config;
use wiremend_testkit::{LinkCommand, LinkPair, RunEnd, RunHistory, Side};
use wiremend_units::Span;

use super::patterns::{LEN, Pair, close_config, small_buffer_config, with_traffic};

#[test]
fn five_losses_of_ordered_frames() {
    let coverage = explore("ordered", Faults::losses(5), with_traffic(close_config(), 9, 0, |_| true));
    assert!(coverage.lost > 0, "five losses may hit a frame and all its copies");
}

#[test]
fn four_losses_of_unordered_frames() {
    let coverage = explore("non-blocking", Faults::losses(4), with_traffic(close_config(), 12, 0, |_| false));
    assert_eq!(coverage.lost, 0, "a loss needs the original, both copies, and both of a second round");
}

#[test]
fn three_losses_with_adaptive_times() {
    let config = Config { rtt_initial: super::patterns::DELAY * 20, ..close_config() };
    explore("adaptive", Faults::losses(3), with_traffic(config, 9, 0, |_| true));
}

#[test]
fn three_losses_with_mixed_order_in_both_directions() {
    explore("mixed, both ways", Faults::losses(3), with_traffic(close_config(), 9, 9, |no| no % 3 != 0));
}

#[test]
fn four_losses_with_small_buffers() {
    let coverage =
        explore("small buffers", Faults::losses(4), with_traffic(small_buffer_config(), 8, 1, |_| true));
    assert!(coverage.pauses > 0 && coverage.overflowed > 0 && coverage.unbuffered > 0);
}

#[test]
fn three_losses_around_a_start() {
    let mut pair = Pair::new(close_config(), super::patterns::DELAY);
    for no in 0..12 {
        pair.apply_after(Span::from_ns(300 * no), Side::A, LinkCommand::Send { len: LEN, ordered: true });
    }
    pair.apply_after(Span::from_ns(300), Side::A, LinkCommand::Activate);
    explore("start", Faults::losses(3), pair);
}

#[test]
fn four_losses_around_an_end_and_another_start() {
    let mut pair = with_traffic(close_config(), 8, 1, |_| true);
    pair.apply_after(Span::from_ns(500), Side::A, LinkCommand::Deactivate);
    for no in 0..4 {
        pair.apply_after(
            Span::from_ns(400 + 300 * no),
            Side::A,
            LinkCommand::Send { len: LEN, ordered: true },
        );
    }
    pair.apply_after(Span::from_ns(2500), Side::A, LinkCommand::Activate);
    explore("end", Faults::losses(4), pair);
}

#[test]
fn restart_at_any_time_and_two_losses() {
    let faults = Faults { losses: 2, restarts: 1 };
    explore("restart", faults, with_traffic(close_config(), 6, 1, |_| true));
}

#[derive(Clone, Copy, Hash)]
struct Faults {
    losses: u32,
    restarts: u32,
}

impl Faults {
    const fn losses(losses: u32) -> Self {
        Self { losses, restarts: 0 }
    }
}

/// Limit of states, far above any exploration here.
const STATES_MAX: usize = 3_000_000;

/// Maximum of each counter over all states. Final states would show less, because an end state is visited
/// once whatever led to it.
#[derive(Default, Debug)]
struct Coverage {
    ends: u64,
    recovered: u64,
    lost: u64,
    pauses: u64,
    overflowed: u64,
    unbuffered: u64,
}

impl Coverage {
    fn add(&mut self, pair: &Pair) {
        for counters in [pair.counters(Side::A), pair.counters(Side::B)] {
            self.recovered = self.recovered.max(counters.recovered);
            self.lost = self.lost.max(counters.lost);
            self.pauses = self.pauses.max(counters.pauses);
            self.overflowed = self.overflowed.max(counters.overflowed);
            self.unbuffered = self.unbuffered.max(counters.unbuffered);
        }
    }
}

fn explore(name: &str, faults: Faults, start: Pair) -> Coverage {
    let history = if faults.restarts > 0 { RunHistory::Restarted } else { RunHistory::Steady };
    let mut seen = HashSet::with_hasher(BuildHasherDefault::<DefaultHasher>::default());
    let mut coverage = Coverage::default();
    let mut ahead = vec![(start, faults)];
    while let Some((pair, faults)) = ahead.pop() {
        if !seen.insert(fingerprint(&pair, faults)) {
            continue;
        }
        assert!(seen.len() < STATES_MAX, "{name}: too many states");
        coverage.add(&pair);
        for side in [Side::A, Side::B] {
            assert_eq!(pair.delivery_violation(side), None, "{name}");
            if faults.restarts > 0 {
                let mut restarted = pair.clone();
                restarted.apply(side, LinkCommand::Restart);
                ahead.push((restarted, Faults { restarts: faults.restarts - 1, ..faults }));
            }
        }
        if let Some((end, ending)) = step(pair, faults, &mut ahead) {
            assert_eq!(end.violation(ending, history), None, "{name}");
            coverage.ends += 1;
        }
    }
    println!("{name}: {} states, {coverage:?}", seen.len());
    assert!(coverage.ends > 0 && coverage.recovered > 0);
    coverage
}

/// Follows all successors of a state. Returns the final state, if it is one.
fn step(mut pair: Pair, faults: Faults, ahead: &mut Vec<(Pair, Faults)>) -> Option<(Pair, RunEnd)> {
    let before = (faults.losses > 0).then(|| pair.clone());
    let mut frames = 0;
    let ending = pair.step(|_| {
        frames += 1;
        false
    });
    for lost in 1_u32..1 << frames {
        let Some((before, losses)) = before.as_ref().zip(faults.losses.checked_sub(lost.count_ones())) else {
            continue;
        };
        let mut hit = before.clone();
        let mut nth = 0;
        // This may become the final step; the next call reports it.
        let _ = hit.step(|_| {
            nth += 1;
            lost >> (nth - 1) & 1 == 1
        });
        ahead.push((hit, Faults { losses, ..faults }));
    }
    if let Some(ending) = ending {
        return Some((pair, ending));
    }
    ahead.push((pair, faults));
    None
}

fn fingerprint<const BITS: u32>(pair: &LinkPair<BITS>, faults: Faults) -> u64 {
    let mut hasher = DefaultHasher::new();
    pair.fingerprint(&mut hasher);
    faults.hash(&mut hasher);
    hasher.finish()
}
