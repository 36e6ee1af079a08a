//! Random connections: in spite of loss, duplication, reordering and outages every byte arrives once and in
//! order, and every message completes in order, with success or a failure status.

use proptest::prelude::*;
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Config, Ecn, Reordering, Segment};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::RandomFaults;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Pair, Protocol, RunEnd, SentPacket};
use wiremend_units::{Span, Time};

use super::connect;
use crate::common;

#[derive(Clone, Debug)]
struct TestCase {
    config: Config,
    faults: RandomFaults,
    /// First lost data segment and number of lost segments.
    cut: Option<(u64, u64)>,
    /// Segments per marked one.
    marks: Option<u64>,
    seed: u64,
    messages: Vec<(u32, u64)>,
}

prop_compose! {
    pub(super) fn configs()(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        ecn in prop::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Dctcp]),
        delayed_ack in prop::sample::select(vec![0, 500, 40_000]).prop_map(Span::from_us),
        receive_window in prop::sample::select(vec![2_000, 9_000, 100_000, 6_000_000]),
        tick in prop::sample::select(vec![0, 1_000]).prop_map(Span::from_us),
        (sack, tail_probe, pacing, handshake) in any::<(bool, bool, bool, bool)>(),
        (mss, first_window, quick_acks, ack_every) in
            (64_u16..=1_000, 1_u32..=30, 0_u32..20, prop::sample::select(vec![1, 2, 2, 44])),
    ) -> Config {
        use Reordering::{Adaptive, Fixed, Segments, Time};
        let reordering = [Adaptive, Fixed, Time, Segments][quick_acks as usize % 4];
        let base = Config { rto_first: Span::from_ms(20), rto_max: Span::from_ms(2_000), ..super::config(algorithm) };
        let base = Config { ecn, delayed_ack, receive_window, tick, sack, tail_probe, pacing, handshake, ..base };
        Config { mss, first_window, quick_acks, ack_every, reordering, ..base }
    }
}

prop_compose! {
    fn test_cases()(
        config in configs(),
        faults in common::random_faults(200_000),
        cut in prop_oneof![2 => Just(None), 1 => (1_u64..60, 1_u64..40).prop_map(Some)],
        marks in prop_oneof![Just(None), (1_u64..20).prop_map(Some)],
        seed in 0..u64::MAX / 2,
        messages in messages(),
    ) -> TestCase {
        TestCase { config, faults, cut, marks, seed, messages }
    }
}

/// Lengths of messages, and the pause after each in microseconds.
pub(super) fn messages() -> impl Strategy<Value = Vec<(u32, u64)>> {
    let len = prop_oneof![Just(0), 1_u32..600, prop::sample::select(vec![1_000, 2_000]), 1_u32..60_000];
    let pause_us = prop_oneof![4 => Just(0_u64), 1 => 0_u64..40_000];
    prop::collection::vec((len, pause_us), 1..8)
}

fn run(case: &TestCase) -> (Pair<Config>, RunEnd) {
    let (cut, marks) = (case.cut.unwrap_or((0, 0)), case.marks);
    let rule = move |sent: &SentPacket<Segment>| {
        if (cut.0..cut.0 + cut.1).contains(&sent.nth) {
            Fate::Lost
        } else if marks.is_some_and(|every| sent.nth.is_multiple_of(every)) {
            Fate::Altered(sent.packet.marked())
        } else {
            Fate::Arrives
        }
    };
    let mut pair = connect(case.config.clone()).impair(case.faults, case.seed).fate(Forward, rule);
    let ending = transfer(&mut pair, &case.messages);
    (pair, ending)
}

/// Posts messages with pauses, and runs until both hosts are idle.
pub(super) fn transfer<P: Protocol>(pair: &mut Pair<P>, messages: &[(u32, u64)]) -> RunEnd {
    for (len, pause_us) in messages {
        pair.send(A, *len);
        pair.run_for(Span::from_us(*pause_us));
    }
    pair.run_until_idle()
}

/// Checks the messages of a run: each completes in order and arrives once, in order and whole, unless the
/// connection failed. Returns whether it failed.
pub(super) fn check_messages<P: Protocol>(
    pair: &Pair<P>,
    ending: RunEnd,
    messages: &[(u32, u64)],
    received: u64,
) -> Result<bool, String> {
    let failed = common::check_completions(pair, ending, A, messages.len())?;
    if !failed && received != messages.iter().map(|(len, _)| u64::from(*len).max(1)).sum() {
        return Err(format!("{received} bytes received"));
    }
    Ok(failed)
}

fn check(case: &TestCase, pair: &Pair<Config>, ending: RunEnd) -> Result<(), String> {
    let failed = check_messages(pair, ending, &case.messages, pair.receiver().received())?;
    let quiet = case.faults.loss_ppm + case.faults.reorder_ppm == 0 && case.cut.is_none();
    if failed && quiet {
        return Err("the connection failed without a loss".to_owned());
    }
    let counters = pair.requester(A);
    // A delayed ACK may take longer than the timer.
    let prompt = case.config.delayed_ack <= Span::from_us(500);
    if quiet && prompt && case.faults.duplicate_ppm == 0 && counters.timeouts > 0 {
        return Err("a timeout without a loss".to_owned());
    }
    if pair.now() > Time::ZERO + Span::from_ms(600_000) {
        return Err(format!("took until {}", pair.now()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::proptest_config(2500, 4791))]

    #[test]
    fn bytes_arrive_once_and_in_order_or_the_connection_fails(case in test_cases()) {
        let (pair, ending) = run(&case);
        prop_assert_eq!(check(&case, &pair, ending), Ok(()));
    }
}
