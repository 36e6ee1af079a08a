//! Compares an explanation with the causes that comments of the simulator name.

use std::collections::BTreeMap;

use serde::Serialize;
use wiremend_measure::TimeoutCause;

use crate::event::{Event, Verdict};
use crate::record::HostIndex;

/// How often stalls have the cause that the simulator recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Truth {
    /// Timers that fired.
    pub timers: u64,
    /// Stalls with the right cause.
    pub right: u64,
    /// Ambiguous stalls with the right cause among their alternatives.
    pub contained: u64,
    /// Stalls with a wrong cause.
    pub wrong: u64,
    /// Stalls for which no timer fired.
    pub without_timer: u64,
    /// Timers that no stall shows.
    pub not_shown: u64,
}

/// A direction of a queue pair in a file.
type Place = (u32, HostIndex, HostIndex, u32);

/// The causes in comments, by file and queue pair in order of their frames.
#[derive(Default)]
pub(crate) struct Truths {
    causes: BTreeMap<Place, Vec<(u64, TimeoutCause)>>,
    count: usize,
}

/// Most causes that are kept.
const CAUSES_MAX: usize = 200_000;

impl Truths {
    /// Notes the causes in the comments of a request.
    pub(crate) fn note(&mut self, place: Place, frame: u64, comments: &str) {
        for cause in TimeoutCause::in_comments(comments) {
            if self.count < CAUSES_MAX {
                self.count += 1;
                self.causes.entry(place).or_default().push((frame, cause));
            }
        }
    }

    /// Compares the stalls, each with its place, in order of time. Several files are taps of the same timers.
    pub(crate) fn compare<'a>(&self, stalls: impl Iterator<Item = (Place, &'a mut Event)>) -> Truth {
        let mut truth = Truth::default();
        let mut next: BTreeMap<Place, usize> = BTreeMap::new();
        let mut shown: BTreeMap<_, u64> = BTreeMap::new();
        for (place, event) in stalls {
            let Some(verdict) = &event.verdict else { continue };
            let causes = self.causes.get(&place).map_or(&[][..], Vec::as_slice);
            let from = next.entry(place).or_default();
            // The newest one: those before it belong to stalls that this tap does not show.
            let passed = causes.partition_point(|(frame, _)| *frame <= event.frame);
            if passed <= *from {
                truth.without_timer += 1;
                continue;
            }
            let cause = causes[passed - 1].1;
            let end = causes.len().min(passed - 1 + event.timeouts as usize);
            *shown.entry((place.1, place.2, place.3)).or_default() += (end + 1 - passed) as u64;
            *from = end;
            event.truth = Some(cause);
            let is_read = event.operation.starts_with("READ");
            if verdict.fits(verdict.cause, cause, is_read) {
                truth.right += 1;
            } else if verdict.alternatives.iter().any(|other| verdict.fits(*other, cause, is_read)) {
                truth.contained += 1;
            } else {
                truth.wrong += 1;
            }
        }
        let mut timers: BTreeMap<_, u64> = BTreeMap::new();
        for ((_, from, to, qpn), causes) in &self.causes {
            let most = timers.entry((*from, *to, *qpn)).or_default();
            *most = (*most).max(causes.len() as u64);
        }
        truth.timers = timers.values().sum();
        let shown_of = |queue_pair| shown.get(queue_pair).copied().unwrap_or(0);
        truth.not_shown = timers.iter().map(|(place, all)| all.saturating_sub(shown_of(place))).sum();
        truth
    }
}

impl Verdict {
    /// Whether a cause of this verdict is the one that the simulator recorded. The simulator looks at what both ends
    /// have: a lost READ request, a timer that fired early and an ignored NAK have the cause that the same state has
    /// otherwise, and are *other* here.
    pub fn fits(&self, named: TimeoutCause, recorded: TimeoutCause, is_read: bool) -> bool {
        use TimeoutCause::{Other, Retransmission, TailAck, TailPacket};
        let told_apart = match self.sub_cause {
            Some(sub) if sub.starts_with("the answer came late") => Some(TailAck),
            Some("a NAK arrived and was ignored") => Some(Retransmission),
            _ => None,
        };
        let is_other = is_read && recorded == TailPacket || told_apart == Some(recorded);
        named == recorded || is_other && named == Other
    }
}
