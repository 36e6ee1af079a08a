//! What the counters of both ends say about a link.

use wiremend_monitor::{Cause, Counter, Counters, End, Explanation, Growth, Snapshot, Thresholds, explain};
use wiremend_units::Time;

const FRAMES: u64 = 10_000_000;

#[test]
fn a_quiet_link_is_healthy() {
    let said = explained(&[], &[]);
    assert_eq!(said.cause, Cause::Healthy);
    assert!(said.reasons.is_empty());
    assert_eq!(said.loss_to_a.unwrap().errors, 0);
}

#[test]
fn broken_frames_are_corruption_towards_the_end_that_counts_them() {
    let said =
        explained(&[(Counter::SequenceNaks, 900)], &[(Counter::RxCrc, 1_000), (Counter::OutOfSequence, 900)]);
    assert_eq!(said.cause, Cause::Corruption);
    assert_eq!(said.reasons[0].end, End::B);
    assert!((said.loss_to_b.unwrap().loss - 1e-4).abs() < 1e-6);
    assert_eq!(said.loss_to_a.unwrap().errors, 0);
}

/// Two broken frames in ten million say little.
#[test]
fn a_few_broken_frames_are_not_yet_corruption() {
    assert_eq!(explained(&[(Counter::RxCrc, 2)], &[]).cause, Cause::Healthy);
}

/// Where both happen corruption comes first: it is the one that a cable cures, and the marks may follow from it.
#[test]
fn corruption_comes_before_congestion() {
    let said = explained(&[(Counter::TxDiscards, 5)], &[(Counter::RxCrc, 500)]);
    assert_eq!(said.cause, Cause::Corruption);
    assert_eq!(said.reasons.last().unwrap().cause, Cause::Congestion);
}

#[test]
fn discards_and_marks_are_congestion() {
    for counter in [Counter::TxDiscards, Counter::RxDiscards, Counter::EcnMarked] {
        assert_eq!(explained(&[(counter, 20)], &[]).cause, Cause::Congestion, "{counter}");
    }
    let paused = explained(&[(Counter::TxPauses, 9)], &[(Counter::RxPauses, 9)]);
    assert_eq!(paused.cause, Cause::Congestion);
}

#[test]
fn pauses_that_nobody_hears_are_a_matter_of_configuration() {
    let said = explained(&[(Counter::TxPauses, 9)], &[(Counter::RxPauses, 0)]);
    assert_eq!(said.cause, Cause::Configuration);
    assert!(said.reasons[0].text.contains("flow control"), "{said:?}");
}

#[test]
fn lengths_and_missing_receives_are_a_matter_of_configuration() {
    assert_eq!(explained(&[(Counter::RxLength, 1)], &[]).cause, Cause::Configuration);
    assert_eq!(explained(&[(Counter::OutOfBuffer, 1)], &[]).cause, Cause::Configuration);
}

#[test]
fn packets_that_overtake_each_other_come_twice() {
    let reordered = [(Counter::OutOfSequence, 100), (Counter::Duplicates, 140)];
    assert_eq!(explained(&[(Counter::SequenceNaks, 100)], &reordered).cause, Cause::Reordering);
}

#[test]
fn gaps_of_which_the_link_knows_nothing_happened_elsewhere() {
    let said = explained(&[(Counter::AckTimeouts, 3)], &[(Counter::OutOfSequence, 100)]);
    assert_eq!(said.cause, Cause::Healthy);
    assert!(said.reasons[0].text.contains("beyond"), "{said:?}");
}

/// Two readings, a minute apart.
fn explained(a: &[(Counter, u64)], b: &[(Counter, u64)]) -> Explanation {
    explain(&growth(a), &growth(b), &Thresholds::default())
}

fn growth(grown: &[(Counter, u64)]) -> Growth {
    let snapshot = |times: u64| {
        let mut counters = Counters::default();
        counters.set(Counter::RxGood, 5_000 + times * FRAMES);
        counters.set(Counter::RxCrc, 70);
        for &(counter, grown) in grown {
            counters.set(counter, 70 + times * grown);
        }
        Snapshot { up: true, carrier_changes: Some(1), megabits_per_s: Some(100_000), counters }
    };
    let (first, last) = (snapshot(0), snapshot(1));
    Growth::over([(Time::ZERO, &first), (Time::from_ns(60_000_000_000), &last)])
}
