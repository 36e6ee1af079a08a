//! What counters of real ports do: run over, begin anew, lag behind, go down.

use wiremend_monitor::{Counted, Fec, Pace, Port, Reading, Thresholds, Untold, Verdict};
use wiremend_units::Time;

#[test]
fn a_port_that_corrupts_is_found() {
    let mut story = Story::new();
    assert_eq!(story.counts(0, 0), None);
    assert_eq!(story.counts(1_000_000, 0), None);
    assert!(matches!(story.counts(1_000_000, 1_000), Some(Verdict::Raised(_))));
}

/// A daemon that starts late sees all that the port has counted since it was made.
#[test]
fn what_was_counted_before_does_not_count() {
    let mut story = Story::new();
    assert_eq!(story.counts(1_000_000_000, 1_000_000), None);
    assert_eq!(story.counts(1_000_000, 0), None);
    assert_eq!(story.port.estimate().errors, 0);
}

#[test]
fn counters_that_begin_anew_are_left_out() {
    let mut story = Story::new();
    story.counts(50_000_000, 40);
    story.counts(1_000_000, 0);
    story.good = 900;
    story.bad = 0;
    assert_eq!(story.counts(0, 0), None);
    assert_eq!(story.port.untold(), Untold { reset: 1, ..Untold::default() });
    assert_eq!(story.counts(1_000_000, 0), None);
    assert_eq!(story.port.estimate().frames, 2_000_000);
}

#[test]
fn a_driver_that_keeps_old_values_changes_nothing() {
    let mut story = Story::new();
    story.counts(0, 0);
    story.counts(0, 0);
    assert_eq!(story.port.untold().unchanged, 1);
    assert!(matches!(story.counts(2_000, 20), Some(Verdict::Raised(estimate)) if estimate.frames == 2_020));
}

/// While a link trains, its receiver sees noise.
#[test]
fn errors_around_a_flap_are_no_corruption() {
    let mut story = Story::new();
    story.counts(1_000_000, 0);
    story.up = false;
    assert_eq!(story.counts(100, 50), None);
    story.up = true;
    assert_eq!(story.counts(100, 50), None);
    story.flaps += 2;
    assert_eq!(story.counts(100, 50), None, "down and up again between two readings");
    assert_eq!(story.counts(1_000_000, 0), None);
    assert_eq!(story.port.untold(), Untold { down: 1, flapped: 2, ..Untold::default() });
    assert_eq!(story.port.estimate().errors, 0);
}

/// `all` is read before `ok`: what arrives in between makes `ok` run ahead, and must neither hide errors nor make any.
#[test]
fn frames_between_two_reads_are_no_errors() {
    let mut port = port();
    let ok_of_all = |second: u64, ok, all| Reading {
        at: Time::from_ns(second * 1_000_000_000),
        up: true,
        carrier_changes: None,
        fec: Fec::default(),
        counted: Counted::OkOfAll { ok, all },
    };
    port.on_reading(ok_of_all(1, 0, 0));
    port.on_reading(ok_of_all(2, 1_010, 1_000));
    port.on_reading(ok_of_all(3, 2_000, 2_000));
    assert_eq!(port.estimate().errors, 0);
    assert_eq!(port.estimate().frames, 2_000);
    assert!(port.on_reading(ok_of_all(4, 2_993, 3_000)).is_some());
    assert_eq!(port.estimate().errors, 7);
}

#[test]
fn a_clock_that_stands_still_or_runs_back_is_ignored() {
    let mut story = Story::new();
    story.counts(0, 0);
    story.second = 0;
    assert_eq!(story.counts(100, 50), None);
    assert_eq!(story.port.estimate().frames, 0);
}

fn port() -> Port {
    Port::new(Thresholds::default(), Pace::of_megabits(100_000))
}

/// A port that is read every second.
struct Story {
    port: Port,
    second: u64,
    up: bool,
    flaps: u64,
    good: u64,
    bad: u64,
}

impl Story {
    fn new() -> Self {
        Self { port: port(), second: 0, up: true, flaps: 1, good: 0, bad: 0 }
    }

    fn counts(&mut self, good: u64, bad: u64) -> Option<Verdict> {
        self.second += 1;
        self.good += good;
        self.bad += bad;
        self.port.on_reading(Reading {
            at: Time::from_ns(self.second * 1_000_000_000),
            up: self.up,
            carrier_changes: Some(self.flaps),
            fec: Fec::default(),
            counted: Counted::GoodAndBad { good: self.good, bad: self.bad },
        })
    }
}
