//! Counters of real ports: they wrap, restart, are updated late, and the port goes down.

use wiremend_monitor::{
    FecCounts, FrameCounts, LinkVerdict, MaxFrameRate, PortMonitor, PortReading, Thresholds, UnusedReadings,
};
use wiremend_units::Time;

#[test]
fn a_corrupting_port_is_detected() {
    let mut readings = Readings::new();
    assert_eq!(readings.counts(0, 0), None);
    assert_eq!(readings.counts(1_000_000, 0), None);
    assert!(matches!(readings.counts(1_000_000, 1_000), Some(LinkVerdict::Raised(_))));
}

/// The first reading contains everything that the port has counted before.
#[test]
fn counts_before_the_first_reading_are_ignored() {
    let mut readings = Readings::new();
    assert_eq!(readings.counts(1_000_000_000, 1_000_000), None);
    assert_eq!(readings.counts(1_000_000, 0), None);
    assert_eq!(readings.port.estimate().errors, 0);
}

#[test]
fn restarted_counters_are_ignored() {
    let mut readings = Readings::new();
    readings.counts(50_000_000, 40);
    readings.counts(1_000_000, 0);
    readings.good = 900;
    readings.bad = 0;
    assert_eq!(readings.counts(0, 0), None);
    assert_eq!(readings.port.unused_readings(), UnusedReadings { reset: 1, ..UnusedReadings::default() });
    assert_eq!(readings.counts(1_000_000, 0), None);
    assert_eq!(readings.port.estimate().frames, 2_000_000);
}

#[test]
fn unchanged_counters_change_nothing() {
    let mut readings = Readings::new();
    readings.counts(0, 0);
    readings.counts(0, 0);
    assert_eq!(readings.port.unused_readings().unchanged, 1);
    assert!(
        matches!(readings.counts(2_000, 20), Some(LinkVerdict::Raised(estimate)) if estimate.frames == 2_020)
    );
}

/// A receiver counts noise while its link trains.
#[test]
fn errors_around_a_flap_are_ignored() {
    let mut readings = Readings::new();
    readings.counts(1_000_000, 0);
    readings.up = false;
    assert_eq!(readings.counts(100, 50), None);
    readings.up = true;
    assert_eq!(readings.counts(100, 50), None);
    readings.flaps += 2;
    assert_eq!(readings.counts(100, 50), None, "a flap between two readings");
    assert_eq!(readings.counts(1_000_000, 0), None);
    assert_eq!(
        readings.port.unused_readings(),
        UnusedReadings { down: 1, flapped: 2, ..UnusedReadings::default() }
    );
    assert_eq!(readings.port.estimate().errors, 0);
}

/// `all` is read before `ok`. Frames that arrive in between must neither hide errors nor look like errors.
#[test]
fn frames_between_two_reads_are_not_errors() {
    let mut port = port();
    let ok_of_all = |second: u64, ok, all| PortReading {
        at: Time::from_ns(second * 1_000_000_000),
        up: true,
        carrier_changes: None,
        fec: FecCounts::default(),
        counted: FrameCounts::OkAndAll { ok, all },
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
fn readings_that_are_not_newer_are_ignored() {
    let mut readings = Readings::new();
    readings.counts(0, 0);
    readings.second = 0;
    assert_eq!(readings.counts(100, 50), None);
    assert_eq!(readings.port.estimate().frames, 0);
}

fn port() -> PortMonitor {
    PortMonitor::new(Thresholds::default(), MaxFrameRate::for_speed(100_000))
}

/// A port that is read every second.
struct Readings {
    port: PortMonitor,
    second: u64,
    up: bool,
    flaps: u64,
    good: u64,
    bad: u64,
}

impl Readings {
    fn new() -> Self {
        Self { port: port(), second: 0, up: true, flaps: 1, good: 0, bad: 0 }
    }

    fn counts(&mut self, good: u64, bad: u64) -> Option<LinkVerdict> {
        self.second += 1;
        self.good += good;
        self.bad += bad;
        self.port.on_reading(PortReading {
            at: Time::from_ns(self.second * 1_000_000_000),
            up: self.up,
            carrier_changes: Some(self.flaps),
            fec: FecCounts::default(),
            counted: FrameCounts::GoodAndBad { good: self.good, bad: self.bad },
        })
    }
}
