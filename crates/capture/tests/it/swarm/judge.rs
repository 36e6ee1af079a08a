//! Compares an explanation with the causes that the simulator recorded.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use wiremend_capture::{Analysis, Certainty, Event, EventKind, Explanation, TapPosition};
use wiremend_measure::TimeoutCause;
use wiremend_sim::FoundCause;
use wiremend_units::Time;

use super::run::Run;

/// Taps whose captures are explained together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    taps: &'static [usize],
    position: TapPosition,
}

pub(crate) const SETTINGS: [Setting; 6] = [
    Setting { name: "requester, not told", taps: &[0], position: TapPosition::Unknown },
    Setting { name: "requester", taps: &[0], position: TapPosition::Requester },
    Setting { name: "middle", taps: &[1], position: TapPosition::Unknown },
    Setting { name: "responder, not told", taps: &[2], position: TapPosition::Unknown },
    Setting { name: "responder", taps: &[2], position: TapPosition::Responder },
    Setting { name: "two taps", taps: &[0, 2], position: TapPosition::Unknown },
];

/// How a verdict compares with the truth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    /// The cause is right.
    Right,
    /// The cause is among the alternatives.
    Contained,
    /// Neither.
    Wrong,
    /// No timer fired.
    NoTimeout,
    /// An event for the same timer was reported before.
    Twice,
}

impl Outcome {
    pub(crate) const COUNT: usize = 5;
}

/// One event and its truth.
pub(crate) struct Compared {
    pub(crate) event: Event,
    pub(crate) truth: Option<TimeoutCause>,
    pub(crate) outcome: Outcome,
}

/// The events of a run at one setting, and how many timeouts no event shows.
pub(crate) struct Judged {
    pub(crate) events: Vec<Compared>,
    pub(crate) truths: usize,
    pub(crate) unseen: usize,
}

/// Longest time from an expiry to the frame at a tap.
const UNDER_WAY: u64 = 200_000;

impl Setting {
    pub(crate) fn explain(&self, run: &Run) -> Explanation {
        let mut analysis = Analysis::new(self.position);
        analysis.skip_remedies();
        for tap in self.taps {
            analysis.read(&format!("tap{tap}"), run.taps[*tap].as_slice(), || true).expect("our own capture");
        }
        analysis.finish()
    }

    /// Whether what the setting claims about its position is true.
    pub(crate) fn suits(&self, run: &Run) -> bool {
        self.position == TapPosition::Unknown || run.is_clean_at_hosts
    }
}

pub(crate) fn judge(run: &Run, explanation: &Explanation) -> Judged {
    let mut truths: BTreeMap<(IpAddr, u32), Vec<(&FoundCause, bool)>> = BTreeMap::new();
    for found in run.causes.iter().filter(|found| !found.expiry.dummy && !found.expiry.fatal) {
        let source = IpAddr::V4(Ipv4Addr::from_bits(0x0A00_0001 + found.requester.0));
        truths.entry((source, found.qp.get())).or_default().push((found, false));
    }
    let count = truths.values().map(Vec::len).sum();
    let mut events = Vec::new();
    for event in explanation.events.iter().filter(|event| event.kind == EventKind::Timeout) {
        let of_flow = truths.entry((event.source, event.destination_qp)).or_default();
        events.push(compare(event, of_flow, run.operation == "read"));
    }
    let unseen = truths.values().flatten().filter(|(_, seen)| !seen).count();
    Judged { events, truths: count, unseen }
}

fn compare(event: &Event, truths: &mut [(&FoundCause, bool)], is_read: bool) -> Compared {
    // Captures have whole nanoseconds.
    let at = Time::from_ns(event.time_ns as u64 + 1);
    let is_near = |found: &FoundCause| found.time <= at && at.since(found.time).as_ns() < UNDER_WAY;
    let place = truths.iter().rposition(|(found, seen)| !seen && is_near(found));
    let Some(place) = place else {
        let is_twice = truths.iter().any(|(found, _)| is_near(found));
        let outcome = if is_twice { Outcome::Twice } else { Outcome::NoTimeout };
        return Compared { event: event.clone(), truth: None, outcome };
    };
    let found = truths[place].0;
    for (_, seen) in truths[place..].iter_mut().take(event.timeouts as usize) {
        *seen = true;
    }
    let verdict = event.verdict.as_ref().expect("timeouts have verdicts");
    let fits = |cause: TimeoutCause| verdict.fits(cause, found.cause, is_read);
    let outcome = if fits(verdict.cause) {
        Outcome::Right
    } else if verdict.alternatives.iter().any(|cause| fits(*cause))
        && verdict.certainty == Certainty::Ambiguous
    {
        Outcome::Contained
    } else {
        Outcome::Wrong
    };
    Compared { event: event.clone(), truth: Some(found.cause), outcome }
}
