//! A corrupted packet leaves no header. What that costs, and what hints buy.

use wiremend_proto::dcp::{Config, Fetch, Hints, Parameters, Tracking};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Luck, Pair};
use wiremend_units::Span;

use super::{config, cut, cut_ppm, data};

const HINTS: Hints = Hints { allowance: 8, probe_after: Some(Span::from_us(6)) };

fn with(tracking: Tracking, hints: Option<Hints>) -> Config {
    config(Parameters { tracking, hints, ..Parameters::DCP })
}

fn lose(config: Config, lost: &'static [u64]) -> Pair<Config> {
    let mut pair = Pair::new(config)
        .fate(Forward, move |of| if lost.contains(&of.nth) { Fate::Lost } else { Fate::Arrives });
    pair.write(A, 256 * 20);
    pair.write(A, 256 * 20);
    pair.run_until_delivered();
    pair
}

/// As published: one timeout, and the whole message again.
#[test]
fn without_hints_a_vanished_packet_waits_for_the_timer() {
    for lost in [&[3][..], &[20], &[40]] {
        let pair = lose(with(Tracking::Sums, None), lost);
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (1, 20), "{lost:?}");
    }
}

#[test]
fn bits_name_whatever_is_passed_and_a_question_finds_the_tail() {
    for tracking in [Tracking::Bitmap { packets: 128 }, Tracking::Chunks { packets: 128 }] {
        let pair = lose(with(tracking, Some(HINTS)), &[3, 4, 9, 17, 31]);
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, 5));
        assert_eq!(pair.sender().seen().probes, 0);
        let pair = lose(with(tracking, Some(HINTS)), &[3, 36, 40]);
        assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, 3));
        assert!(pair.sender().seen().probes >= 1);
    }
}

/// No bit is kept, and still two packets of a unit are found.
#[test]
fn sums_name_two_packets_of_a_unit() {
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
        "three are a new round"
    );
}

/// A counter knows that something is missing, not what.
#[test]
fn a_counter_has_to_repeat_the_unit_but_at_once() {
    let pair = lose(with(Tracking::Counter, Some(HINTS)), &[3]);
    assert_eq!((pair.expired().len(), pair.requester(A).retransmitted_packets), (0, 20));
}

/// Entries of other units lie before those of the oldest, which is quiet meanwhile. Whoever asks then is told of packets that
/// have left when the answer comes.
#[test]
fn what_waits_to_be_sent_again_is_not_asked_for() {
    let fetch = Fetch { round_trip: Span::from_ns(500), batch: 1 };
    for twice in [2..=3, 2..=5] {
        let mut config = with(Tracking::Sums, Some(Hints { allowance: 0, ..HINTS }));
        config.parameters.fetch = fetch;
        let mut copies = [0; 40];
        let mut pair = Pair::new(config).fate(Forward, move |of| {
            let psn = data(of).psn.get() as usize;
            copies[psn] += 1;
            let is_cut =
                twice.contains(&psn) && copies[psn] <= 2 || (20..=27).contains(&psn) && copies[psn] == 1;
            if is_cut { cut(of) } else { Fate::Arrives }
        });
        pair.write(A, 256 * 16);
        pair.write(A, 256 * 20);
        pair.run_until_delivered();
        assert_eq!((pair.sender().seen().probes, pair.sender().seen().recounts), (0, 0));
        assert_eq!(pair.requester(A).retransmitted_packets, pair.receiver().seen().cut);
    }
}

#[test]
fn lost_questions_and_answers_are_asked_again() {
    let mut pair = Pair::new(with(Tracking::Sums, Some(HINTS)))
        .fate(Forward, |of| if (20..=22).contains(&of.nth) { Fate::Lost } else { Fate::Arrives });
    pair.write(A, 256 * 20);
    pair.run_until_delivered();
    assert_eq!((pair.expired().len(), pair.sender().seen().probes), (0, 3));
}

/// A header that went back is not named as well: nothing is sent twice.
#[test]
fn what_was_cut_is_not_named_too() {
    for tracking in [Tracking::Sums, Tracking::Bitmap { packets: 128 }] {
        let mut pair = cut_ppm(Pair::new(with(tracking, Some(HINTS))), 200_000, 4);
        (0..5).for_each(|_| pair.write(A, 256 * 50));
        pair.run_until_delivered();
        assert_eq!(pair.requester(A).retransmitted_packets, pair.receiver().seen().cut, "{tracking:?}");
        assert_eq!(pair.receiver().seen().doubles, 0);
    }
}

/// A round that began before all of the message was sent does not make what follows it unknown.
#[test]
fn what_is_lost_behind_a_round_is_named_too() {
    let dark = |nth| (30..=100).contains(&nth);
    let config = with(Tracking::Bitmap { packets: 128 }, Some(HINTS));
    let mut pair = Pair::new(config)
        .fate(Forward, move |of| if dark(of.nth) || of.nth == 700 { Fate::Lost } else { Fate::Arrives });
    pair.write(A, 256 * 1000);
    pair.run_until_delivered();
    let named = pair.sender().seen().named;
    assert_eq!((pair.expired().len(), named), (1, 1), "a timer for the dark, and none for the last");
}

/// Rounds of a long message never succeed where each is sure to lose something; units and bits do not care.
#[test]
fn corruption_makes_a_livelock_of_whole_messages_that_units_break() {
    let outcome = |tracking, hints, unit_packets| {
        let dcp = Parameters { tracking, hints, unit_packets, ..Parameters::DCP };
        let luck = Luck { loss_ppm: 5_000, ..Luck::default() };
        let mut pair = Pair::new(config(dcp)).impair(luck, 9);
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
