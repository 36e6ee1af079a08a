//! Duplicate packets with each kind of tracking.

use wiremend_proto::dcp::{Config, Parameters, Tracking};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Pair, RandomFaults};
use wiremend_units::{Psn, Span};

use super::config;

fn with(tracking: Tracking) -> Parameters {
    Parameters { tracking, ..Parameters::DCP }
}

const EXACT: [Tracking; 3] =
    [Tracking::Sums, Tracking::Bitmap { packets: 64 }, Tracking::Chunks { packets: 64 }];

/// Packet 3 is duplicated while packet 7 is delayed.
fn with_duplicate(tracking: Tracking) -> Pair<Config> {
    let mut pair = Pair::new(config(with(tracking))).fate(Forward, |sent| match sent.nth {
        3 => Fate::Duplicated,
        7 => Fate::Delayed(Span::from_us(20)),
        _ => Fate::Arrives,
    });
    pair.write(A, 2560);
    pair
}

/// The published counter assumes that the network never duplicates packets. This shows the result if it does.
#[test]
fn a_counter_mistakes_a_duplicate_for_a_missing_packet() {
    let mut pair = with_duplicate(Tracking::Counter);
    pair.run_for(Span::from_us(15));
    assert_eq!(pair.completions(A).len(), 1, "it reports success");
    assert!(pair.check().is_err(), "but a packet is missing");
}

#[test]
fn every_other_tracking_waits_for_the_packet() {
    for tracking in EXACT {
        let mut pair = with_duplicate(tracking);
        pair.run_for(Span::from_us(15));
        assert_eq!(pair.completions(A).len(), 0, "{tracking:?}");
        pair.run_until_delivered();
        assert_eq!((pair.receiver().dcp_counters().duplicates, pair.expired().len()), (1, 0), "{tracking:?}");
    }
}

/// More duplicates than the sums can identify: the unit is resent at once, not after the timeout.
#[test]
fn too_many_duplicates_cause_a_new_round() {
    let mut pair = Pair::new(config(with(Tracking::Sums))).fate(Forward, |sent| match sent.nth {
        2..=6 => Fate::Duplicated,
        10 => Fate::Delayed(Span::from_us(20)),
        _ => Fate::Arrives,
    });
    pair.write(A, 2560);
    pair.run_until_delivered();
    assert_eq!(
        (
            pair.receiver().dcp_counters().recounts,
            pair.sender().dcp_counters().recounts,
            pair.expired().len()
        ),
        (1, 1, 0)
    );
    assert_eq!(pair.requester(A).retransmitted_packets, 10);
}

/// The timer repeats a whole unit, and a delayed packet of the old round arrives in between.
#[test]
fn a_late_packet_of_an_old_round_is_not_counted() {
    for tracking in [Tracking::Counter, Tracking::Sums] {
        let mut pair = Pair::new(config(with(tracking))).fate(Forward, |sent| match sent.nth {
            2 => Fate::Lost,
            4 => Fate::Delayed(super::TIMEOUT + Span::from_us(1)),
            12 => Fate::Delayed(Span::from_us(10)),
            _ => Fate::Arrives,
        });
        pair.write(A, 2560);
        pair.run_until_delivered();
        assert_eq!((pair.receiver().dcp_counters().stale, pair.expired().len()), (1, 1), "{tracking:?}");
    }
}

#[test]
fn packets_beyond_the_tracked_range_are_not_sent() {
    let mut pair =
        Pair::new(config(with(Tracking::Bitmap { packets: 16 }))).fate(Forward, |sent| match sent.nth {
            1 => Fate::Delayed(Span::from_us(30)),
            _ => Fate::Arrives,
        });
    pair.write(A, 256 * 100);
    pair.run_for(Span::from_us(25));
    assert_eq!(pair.carried(Forward), 16, "the sender respects the number of bits");
    pair.run_until_delivered();
    assert_eq!(pair.receiver().dcp_counters().out_of_range, 0);
}

/// D8: one step for each packet, except with linked chunks.
#[test]
fn only_linked_chunks_take_more_steps_with_reordering() {
    let steps = |tracking| {
        let faults = RandomFaults { reorder_ppm: 300_000, ..RandomFaults::default() };
        let mut pair = Pair::new(config(with(tracking))).starting_at(Psn::new(0xFF_FF00)).impair(faults, 2);
        pair.write(A, 256 * 2000);
        pair.run_until_delivered();
        (pair.receiver().dcp_counters().steps_max, pair.receiver().dcp_counters().steps as f64 / 2000.0)
    };
    for tracking in [Tracking::Counter, Tracking::Sums, Tracking::Bitmap { packets: 256 }] {
        assert_eq!(steps(tracking), (1, 1.0), "{tracking:?}");
    }
    let (most, mean) = steps(Tracking::Chunks { packets: 256 });
    assert!(most > 1 && mean > 1.0, "{most} {mean}");
}
