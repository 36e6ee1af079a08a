//! A corrupted packet leaves no header: its cost, and the benefit of loss hints.

use wiremend_proto::dcp::{Config, LossHints, Parameters, RetransFetch, Tracking};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Pair, RandomFaults};
use wiremend_units::Span;

use super::{config, data, trim, trim_ppm};

const HINTS: LossHints = LossHints { reorder_allowance: 8, probe_after: Some(Span::from_us(6)) };

fn with(tracking: Tracking, hints: Option<LossHints>) -> Config {
    config(Parameters { tracking, hints, ..Parameters::DCP })
}

fn lose(config: Config, lost: &'static [u64]) -> Pair<Config> {
    let mut pair = Pair::new(config)
        .fate(Forward, move |sent| if lost.contains(&sent.nth) { Fate::Lost } else { Fate::Arrives });
    pair.write(A, 256 * 20);
    pair.write(A, 256 * 20);
    pair.run_until_delivered();
    pair
}

/// As published: one timeout, and the whole message again.
#[test]
fn without_hints_a_lost_packet_waits_for_the_timer() {
    for lost in [&[3][..], &[20], &[40]] {
        let pair = lose(with(Tracking::Sums, None), lost);
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (1, 20), "{lost:?}");
    }
}

#[test]
fn bits_report_overtaken_packets_and_a_probe_finds_the_tail() {
    for tracking in [Tracking::Bitmap { packets: 128 }, Tracking::Chunks { packets: 128 }] {
        let pair = lose(with(tracking, Some(HINTS)), &[3, 4, 9, 17, 31]);
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, 5));
        assert_eq!(pair.sender().dcp_counters().probes, 0);
        let pair = lose(with(tracking, Some(HINTS)), &[3, 36, 40]);
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, 3));
        assert!(pair.sender().dcp_counters().probes >= 1);
    }
}

/// Without a bit per packet, two missing packets of a unit are still identified.
#[test]
fn sums_identify_two_packets_of_a_unit() {
    for (lost, again) in
        [(&[3][..], 1), (&[3, 17], 2), (&[20], 1), (&[3, 20], 2), (&[40], 1), (&[3, 17, 31, 40], 4)]
    {
        let pair = lose(with(Tracking::Sums, Some(HINTS)), lost);
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, again), "{lost:?}");
    }
    let pair = lose(with(Tracking::Sums, Some(HINTS)), &[3, 9, 17]);
    assert_eq!(
        (pair.expired().len(), pair.requester(A).retransmitted_packets),
        (0, 20),
        "three cause a new round"
    );
}

/// A counter shows that packets are missing, but not which.
#[test]
fn a_counter_repeats_the_unit_without_a_timeout() {
    let pair = lose(with(Tracking::Counter, Some(HINTS)), &[3]);
    assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, 20));
}

/// Entries of other units are queued before those of the oldest one, which is quiet meanwhile. A probe at
/// that time would report packets that are sent before its response arrives.
#[test]
fn packets_queued_for_retransmission_are_not_probed() {
    let fetch = RetransFetch { pcie_round_trip: Span::from_ns(500), batch: 1, per_header: false };
    for twice in [2..=3, 2..=5] {
        let mut config = with(Tracking::Sums, Some(LossHints { reorder_allowance: 0, ..HINTS }));
        config.parameters.fetch = fetch;
        let mut copies = [0; 40];
        let mut pair = Pair::new(config).fate(Forward, move |sent| {
            let psn = data(sent).psn.get() as usize;
            copies[psn] += 1;
            let is_trimmed =
                twice.contains(&psn) && copies[psn] <= 2 || (20..=27).contains(&psn) && copies[psn] == 1;
            if is_trimmed { trim(sent) } else { Fate::Arrives }
        });
        pair.write(A, 256 * 16);
        pair.write(A, 256 * 20);
        pair.run_until_delivered();
        assert_eq!((pair.sender().dcp_counters().probes, pair.sender().dcp_counters().recounts), (0, 0));
        assert_eq!(pair.requester(A).retransmitted_packets, pair.receiver().dcp_counters().trimmed);
    }
}

#[test]
fn lost_probes_and_responses_are_repeated() {
    let mut pair = Pair::new(with(Tracking::Sums, Some(HINTS)))
        .fate(Forward, |sent| if (20..=22).contains(&sent.nth) { Fate::Lost } else { Fate::Arrives });
    pair.write(A, 256 * 20);
    pair.run_until_delivered();
    assert_eq!((pair.expired().len(), pair.sender().dcp_counters().probes), (0, 3));
}

/// A packet whose header was returned is not reported as well: nothing is retransmitted twice.
#[test]
fn trimmed_packets_are_not_reported_as_missing() {
    for tracking in [Tracking::Sums, Tracking::Bitmap { packets: 128 }] {
        let mut pair = trim_ppm(Pair::new(with(tracking, Some(HINTS))), 200_000, 4);
        (0..5).for_each(|_| pair.write(A, 256 * 50));
        pair.run_until_delivered();
        assert_eq!(
            pair.requester(A).retransmitted_packets,
            pair.receiver().dcp_counters().trimmed,
            "{tracking:?}"
        );
        assert_eq!(pair.receiver().dcp_counters().duplicates, 0);
    }
}

/// A round that begins before the whole message is sent does not hide later losses.
#[test]
fn a_loss_after_a_restarted_round_is_reported() {
    let in_outage = |nth| (30..=100).contains(&nth);
    let config = with(Tracking::Bitmap { packets: 128 }, Some(HINTS));
    let mut pair = Pair::new(config).fate(Forward, move |sent| {
        if in_outage(sent.nth) || sent.nth == 700 { Fate::Lost } else { Fate::Arrives }
    });
    pair.write(A, 256 * 1000);
    pair.run_until_delivered();
    let named = pair.sender().dcp_counters().reported_missing;
    assert_eq!((pair.expired().len(), named), (1, 1), "one timeout for the outage, none for the last loss");
}

/// Rounds of a long message never succeed if each round loses a packet; units and bits avoid that.
#[test]
fn corruption_livelocks_whole_messages_but_not_units() {
    let outcome = |tracking, hints, unit_packets| {
        let dcp = Parameters { tracking, hints, unit_packets, ..Parameters::DCP };
        let faults = RandomFaults { loss_ppm: 5_000, ..RandomFaults::default() };
        let mut pair = Pair::new(config(dcp)).impair(faults, 9);
        pair.write(A, 256 * 3000);
        pair.run_until_idle();
        let done = pair.completions(A)[0].status == wiremend_proto::engine::Status::Success;
        done.then(|| pair.now().since(wiremend_units::Time::ZERO).as_ps() / 1_000_000)
    };
    let whole = Parameters::WHOLE_MESSAGES;
    assert_eq!(outcome(Tracking::Counter, None, whole), None, "retries are exhausted");
    let units = outcome(Tracking::Counter, None, 64).expect("units get through");
    let sums = outcome(Tracking::Sums, Some(HINTS), 64).expect("sums get through");
    let bits = outcome(Tracking::Bitmap { packets: 128 }, Some(HINTS), whole).expect("bits get through");
    assert!(bits <= sums && sums * 2 < units, "{bits} {sums} {units} µs; 300 without loss");
}
