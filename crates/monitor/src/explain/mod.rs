//! Explains why a link is slow, from the counters of both ends.
//!
//! No single counter is sufficient. A sequence gap of a queue pair may come from corruption, a full buffer,
//! or two paths of different length. Other counters distinguish these: corrupted frames at the receiving
//! end, discards and ECN marks where a buffer is full, duplicate requests where packets only overtook each
//! other.

mod counter_growth;

use std::fmt;

use serde::Serialize;

pub use counter_growth::CounterGrowth;

use crate::counter::Counter;
use crate::detector::{LossEstimate, Thresholds};
use crate::frame_window::FrameSample;

/// Cause of a slow link, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowLinkCause {
    /// Frames are corrupted on the cable or in a device.
    Corruption,
    /// The settings of the ends differ, or software posts too few receives.
    Configuration,
    /// More traffic than the link or its buffers can carry.
    Congestion,
    /// Packets overtake each other.
    Reordering,
    /// No cause found on this link.
    Healthy,
}

impl fmt::Display for SlowLinkCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Corruption => "corruption",
            Self::Configuration => "configuration",
            Self::Congestion => "congestion",
            Self::Reordering => "reordering",
            Self::Healthy => "healthy",
        })
    }
}

/// One of the two ends of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkSide {
    /// First end.
    A,
    /// Second end.
    B,
}

/// Evidence for a cause.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reason {
    /// The cause.
    pub cause: SlowLinkCause,
    /// The end with the evidence.
    pub end: LinkSide,
    /// Description with numbers.
    pub text: String,
}

/// Result for a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// The verdict: the first cause in the order of [`SlowLinkCause`] with evidence.
    pub cause: SlowLinkCause,
    /// All evidence; that for the verdict comes first.
    pub reasons: Vec<Reason>,
    /// Frame loss from A to B, if B counts it.
    pub loss_to_b: Option<LossEstimate>,
    /// Frame loss from B to A, if A counts it.
    pub loss_to_a: Option<LossEstimate>,
}

/// Compares the counters of both ends over the same time.
pub fn explain(a: &CounterGrowth, b: &CounterGrowth, thresholds: &Thresholds) -> Explanation {
    let mut reasons = Vec::new();
    for (end, here, there) in [(LinkSide::A, a, b), (LinkSide::B, b, a)] {
        let mut check = EndCheck { end, here, there, thresholds, reasons: &mut reasons };
        check.corruption();
        check.configuration();
        check.congestion();
        check.reordering();
    }
    if reasons.is_empty() {
        reasons.extend(
            [(LinkSide::A, a), (LinkSide::B, b)]
                .into_iter()
                .filter_map(|(end, here)| loss_elsewhere(end, here)),
        );
    }
    reasons.sort_by_key(|reason| reason.cause);
    let cause = reasons.first().map_or(SlowLinkCause::Healthy, |reason| reason.cause);
    Explanation { cause, reasons, loss_to_b: loss(b), loss_to_a: loss(a) }
}

/// Reports sequence gaps and timeouts although this link lost nothing: another link of the path did.
fn loss_elsewhere(end: LinkSide, here: &CounterGrowth) -> Option<Reason> {
    let (gaps, late) = (here.get_or_zero(Counter::OutOfSequence), here.get_or_zero(Counter::AckTimeouts));
    (gaps > 0 || late > 0).then(|| Reason {
        cause: SlowLinkCause::Healthy,
        end,
        text: format!("{gaps} sequence gaps and {late} timeouts, but no loss on this link: check other links of the path"),
    })
}

fn loss(growth: &CounterGrowth) -> Option<LossEstimate> {
    let counts =
        [Counter::RxCrc, Counter::RxAll, Counter::RxErrors].map(|counter| growth.get(counter).is_some());
    let counts = counts.contains(&true);
    let frames = growth.frames();
    (counts && frames > 0)
        .then(|| LossEstimate::from_sample(FrameSample { frames, errors: growth.bad_frames().min(frames) }))
}

/// Checks of one end.
struct EndCheck<'a> {
    end: LinkSide,
    here: &'a CounterGrowth,
    there: &'a CounterGrowth,
    thresholds: &'a Thresholds,
    reasons: &'a mut Vec<Reason>,
}

impl EndCheck<'_> {
    fn corruption(&mut self) {
        if let Some(loss) = loss(self.here)
            && loss.errors >= crate::detector::Detector::ERRORS_MIN
            && loss.low > self.thresholds.loss
        {
            let LossEstimate { errors, frames, loss, low, .. } = loss;
            self.add_reason(
                SlowLinkCause::Corruption,
                format!("{errors} of {frames} frames corrupted: loss {loss:.1e}, at least {low:.1e} with 99 % confidence"),
            );
        }
        let lost = self.here.get_or_zero(Counter::FecUncorrectable);
        if lost > 0 && self.here.flaps == 0 {
            self.add_reason(SlowLinkCause::Corruption, format!("FEC could not correct {lost} codewords"));
        }
        self.corruption_repaired_by_link();
        let inside = self.here.get_or_zero(Counter::RxIcrc);
        if inside > 0 {
            self.add_reason(
                SlowLinkCause::Corruption,
                format!("{inside} packets with a wrong ICRC in intact frames: a device on the path corrupts them, not a cable"),
            );
        }
    }

    /// Link-level retry hides the loss, but each repetition costs a round trip.
    fn corruption_repaired_by_link(&mut self) {
        let errors = self.here.get_or_zero(Counter::LlrCorrupted);
        let frames = self.here.frames().saturating_add(errors);
        let LossEstimate { loss, low, .. } = LossEstimate::from_sample(FrameSample { frames, errors });
        if errors >= crate::detector::Detector::ERRORS_MIN && low > self.thresholds.loss {
            let replays = self.there.get_or_zero(Counter::LlrReplays);
            self.add_reason(
                SlowLinkCause::Corruption,
                format!("{errors} of {frames} frames corrupted on the link: loss {loss:.1e} before link-level retry, {replays} repetitions by the other end"),
            );
        }
    }

    fn configuration(&mut self) {
        let lengths = self.here.get_or_zero(Counter::RxLength);
        if lengths > 0 {
            self.add_reason(
                SlowLinkCause::Configuration,
                format!("{lengths} frames of an illegal length: compare the MTU of both ends"),
            );
        }
        let (pauses_sent, pauses_received) =
            (self.here.get_or_zero(Counter::TxPauses), self.there.get(Counter::RxPauses));
        if pauses_sent > 0 && pauses_received == Some(0) && self.there.get_or_zero(Counter::RxGood) > 0 {
            self.add_reason(
                SlowLinkCause::Configuration,
                format!(
                    "{pauses_sent} pause frames sent, none received by the other end: compare flow control of both ends"
                ),
            );
        }
        let unposted =
            self.here.get_or_zero(Counter::OutOfBuffer).max(self.there.get_or_zero(Counter::RnrNaks));
        if unposted > 0 {
            self.add_reason(
                SlowLinkCause::Configuration,
                format!(
                    "{unposted} requests without a posted receive: the application posts too few or too late"
                ),
            );
        }
    }

    fn congestion(&mut self) {
        for (counter, what) in [
            (Counter::TxDiscards, "frames discarded before transmission for lack of buffer"),
            (Counter::RxDiscards, "intact frames discarded on receive for lack of buffer"),
            (Counter::EcnMarked, "packets received with an ECN mark"),
            (Counter::RxPauses, "pause frames received"),
        ] {
            let grown = self.here.get_or_zero(counter);
            if grown > 0 {
                self.add_reason(SlowLinkCause::Congestion, format!("{grown} {what}"));
            }
        }
    }

    /// An overtaken packet is requested again and then arrives twice. A lost packet arrives once.
    fn reordering(&mut self) {
        let gaps = self.here.get_or_zero(Counter::OutOfSequence);
        let twice = self.here.get_or_zero(Counter::Duplicates);
        if gaps > 0
            && twice.saturating_mul(2) >= gaps
            && self.there.get_or_zero(Counter::AckTimeouts).saturating_mul(2) <= gaps
        {
            self.add_reason(
                SlowLinkCause::Reordering,
                format!("{gaps} sequence gaps and {twice} duplicate requests: packets overtook each other, none was lost"),
            );
        }
    }

    fn add_reason(&mut self, cause: SlowLinkCause, text: String) {
        self.reasons.push(Reason { cause, end: self.end, text });
    }
}
