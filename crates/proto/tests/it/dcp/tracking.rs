//! Packets that come twice, and how each tracking takes them.

use wiremend_proto::dcp::{Config, Parameters, Tracking};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Luck, Pair};
use wiremend_units::{Psn, Span};

use super::config;

fn with(tracking: Tracking) -> Parameters {
    Parameters { tracking, ..Parameters::DCP }
}

const SAFE: [Tracking; 3] =
    [Tracking::Sums, Tracking::Bitmap { packets: 64 }, Tracking::Chunks { packets: 64 }];

/// Packet 3 comes twice while packet 7 is late.
fn doubled(tracking: Tracking) -> Pair<Config> {
    let mut pair = Pair::new(config(with(tracking))).fate(Forward, |of| match of.nth {
        3 => Fate::Twice,
        7 => Fate::Late(Span::from_us(20)),
        _ => Fate::Arrives,
    });
    pair.write(A, 2560);
    pair
}

/// What the published counter relies on, and what happens where it is not so.
#[test]
fn a_bare_counter_takes_a_double_for_what_is_missing() {
    let mut pair = doubled(Tracking::Counter);
    pair.run_for(Span::from_us(15));
    assert_eq!(pair.completions(A).len(), 1, "it reports success");
    assert!(pair.check().is_err(), "and a packet is missing");
}

#[test]
fn every_other_tracking_waits_for_the_packet() {
    for tracking in SAFE {
        let mut pair = doubled(tracking);
        pair.run_for(Span::from_us(15));
        assert_eq!(pair.completions(A).len(), 0, "{tracking:?}");
        pair.run_until_delivered();
        assert_eq!((pair.receiver().seen().doubles, pair.expired().len()), (1, 0), "{tracking:?}");
    }
}

/// More doubles than sums can name: the unit is counted anew at once, not after the timeout.
#[test]
fn too_many_doubles_make_a_new_round() {
    let mut pair = Pair::new(config(with(Tracking::Sums))).fate(Forward, |of| match of.nth {
        2..=6 => Fate::Twice,
        10 => Fate::Late(Span::from_us(20)),
        _ => Fate::Arrives,
    });
    pair.write(A, 2560);
    pair.run_until_delivered();
    assert_eq!(
        (pair.receiver().seen().recounts, pair.sender().seen().recounts, pair.expired().len()),
        (1, 1, 0)
    );
    assert_eq!(pair.requester(A).retransmitted_packets, 10);
}

/// The timer repeats a whole unit, and what was merely late joins in.
#[test]
fn an_old_round_that_comes_late_counts_for_nothing() {
    for tracking in [Tracking::Counter, Tracking::Sums] {
        let mut pair = Pair::new(config(with(tracking))).fate(Forward, |of| match of.nth {
            2 => Fate::Lost,
            4 => Fate::Late(super::TIMEOUT + Span::from_us(1)),
            12 => Fate::Late(Span::from_us(10)),
            _ => Fate::Arrives,
        });
        pair.write(A, 2560);
        pair.run_until_delivered();
        assert_eq!((pair.receiver().seen().stale, pair.expired().len()), (1, 1), "{tracking:?}");
    }
}

#[test]
fn what_the_receiver_has_no_room_for_is_kept_back() {
    let mut pair =
        Pair::new(config(with(Tracking::Bitmap { packets: 16 }))).fate(Forward, |of| match of.nth {
            1 => Fate::Late(Span::from_us(30)),
            _ => Fate::Arrives,
        });
    pair.write(A, 256 * 100);
    pair.run_for(Span::from_us(25));
    assert_eq!(pair.carried(Forward), 16, "the sender knows how many bits there are");
    pair.run_until_delivered();
    assert_eq!(pair.receiver().seen().beyond, 0);
}

/// D8: one step for each packet, but for linked chunks.
#[test]
fn only_a_list_takes_longer_with_disorder() {
    let steps = |tracking| {
        let luck = Luck { reorder_ppm: 300_000, ..Luck::default() };
        let mut pair = Pair::new(config(with(tracking))).starting_at(Psn::new(0xFF_FF00)).impair(luck, 2);
        pair.write(A, 256 * 2000);
        pair.run_until_delivered();
        (pair.receiver().seen().steps_max, pair.receiver().seen().steps as f64 / 2000.0)
    };
    for tracking in [Tracking::Counter, Tracking::Sums, Tracking::Bitmap { packets: 256 }] {
        assert_eq!(steps(tracking), (1, 1.0), "{tracking:?}");
    }
    let (most, mean) = steps(Tracking::Chunks { packets: 256 });
    assert!(most > 1 && mean > 1.0, "{most} {mean}");
}
