//! Explanations from the counters of both ends.

use wiremend_monitor::{
    Counter, CounterGrowth, Counters, Explanation, LinkSide, PortSnapshot, SlowLinkCause, Thresholds, explain,
};
use wiremend_units::Time;

const FRAMES: u64 = 10_000_000;

#[test]
fn a_link_without_errors_is_healthy() {
    let explanation = explained(&[], &[]);
    assert_eq!(explanation.cause, SlowLinkCause::Healthy);
    assert!(explanation.reasons.is_empty());
    assert_eq!(explanation.loss_to_a.unwrap().errors, 0);
}

#[test]
fn corrupted_frames_mean_corruption_towards_the_counting_end() {
    let explanation =
        explained(&[(Counter::SequenceNaks, 900)], &[(Counter::RxCrc, 1_000), (Counter::OutOfSequence, 900)]);
    assert_eq!(explanation.cause, SlowLinkCause::Corruption);
    assert_eq!(explanation.reasons[0].end, LinkSide::B);
    assert!((explanation.loss_to_b.unwrap().loss - 1e-4).abs() < 1e-6);
    assert_eq!(explanation.loss_to_a.unwrap().errors, 0);
}

/// Link-level retry repairs the loss, so no frame is missing, but the cable is bad.
#[test]
fn frames_repaired_by_the_link_mean_corruption() {
    let explanation = explained(&[(Counter::LlrReplays, 990)], &[(Counter::LlrCorrupted, 1_000)]);
    assert_eq!(explanation.cause, SlowLinkCause::Corruption);
    let text = &explanation.reasons[0].text;
    assert!(text.starts_with("1000 of ") && text.ends_with("990 repetitions by the other end"), "{text}");
    assert_eq!(explained(&[], &[(Counter::LlrCorrupted, 2)]).cause, SlowLinkCause::Healthy);
}

/// Two corrupted frames in ten million are not significant.
#[test]
fn two_corrupted_frames_are_not_corruption() {
    assert_eq!(explained(&[(Counter::RxCrc, 2)], &[]).cause, SlowLinkCause::Healthy);
}

/// With evidence for both, corruption comes first: congestion may follow from it.
#[test]
fn corruption_has_precedence_over_congestion() {
    let explanation = explained(&[(Counter::TxDiscards, 5)], &[(Counter::RxCrc, 500)]);
    assert_eq!(explanation.cause, SlowLinkCause::Corruption);
    assert_eq!(explanation.reasons.last().unwrap().cause, SlowLinkCause::Congestion);
}

#[test]
fn discards_marks_and_pauses_mean_congestion() {
    for counter in [Counter::TxDiscards, Counter::RxDiscards, Counter::EcnMarked] {
        assert_eq!(explained(&[(counter, 20)], &[]).cause, SlowLinkCause::Congestion, "{counter}");
    }
    let paused = explained(&[(Counter::TxPauses, 9)], &[(Counter::RxPauses, 9)]);
    assert_eq!(paused.cause, SlowLinkCause::Congestion);
}

#[test]
fn pause_frames_that_are_not_received_mean_configuration() {
    let explanation = explained(&[(Counter::TxPauses, 9)], &[(Counter::RxPauses, 0)]);
    assert_eq!(explanation.cause, SlowLinkCause::Configuration);
    assert!(explanation.reasons[0].text.contains("flow control"), "{explanation:?}");
}

#[test]
fn illegal_lengths_and_missing_receives_mean_configuration() {
    assert_eq!(explained(&[(Counter::RxLength, 1)], &[]).cause, SlowLinkCause::Configuration);
    assert_eq!(explained(&[(Counter::OutOfBuffer, 1)], &[]).cause, SlowLinkCause::Configuration);
}

#[test]
fn gaps_with_duplicates_mean_reordering() {
    let reordered = [(Counter::OutOfSequence, 100), (Counter::Duplicates, 140)];
    assert_eq!(explained(&[(Counter::SequenceNaks, 100)], &reordered).cause, SlowLinkCause::Reordering);
}

#[test]
fn gaps_without_loss_point_to_other_links() {
    let explanation = explained(&[(Counter::AckTimeouts, 3)], &[(Counter::OutOfSequence, 100)]);
    assert_eq!(explanation.cause, SlowLinkCause::Healthy);
    assert!(explanation.reasons[0].text.contains("other links"), "{explanation:?}");
}

/// Two readings, a minute apart.
fn explained(a: &[(Counter, u64)], b: &[(Counter, u64)]) -> Explanation {
    explain(&growth(a), &growth(b), &Thresholds::default())
}

fn growth(grown: &[(Counter, u64)]) -> CounterGrowth {
    let snapshot = |times: u64| {
        let mut counters = Counters::default();
        counters.set(Counter::RxGood, 5_000 + times * FRAMES);
        counters.set(Counter::RxCrc, 70);
        for &(counter, grown) in grown {
            counters.set(counter, 70 + times * grown);
        }
        PortSnapshot { up: true, carrier_changes: Some(1), megabits_per_s: Some(100_000), counters }
    };
    let (first, last) = (snapshot(0), snapshot(1));
    CounterGrowth::over([(Time::ZERO, &first), (Time::from_ns(60_000_000_000), &last)])
}
