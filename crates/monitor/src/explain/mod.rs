//! Why is this link slow? The counters of both its ends, joined into a verdict with its reasons.
//!
//! No counter alone says it. A gap in the sequence of a queue pair may come of corruption, of a full buffer, or of two paths of
//! different length. What tells them apart is what else grew, and at which end: broken frames where they arrive, discards
//! and marks where there was no room, answers to requests that had already been answered where packets merely overtook each other.

mod growth;

use std::fmt;

use serde::Serialize;

pub use growth::Growth;

use crate::counter::Counter;
use crate::detector::{Estimate, Thresholds};
use crate::window::Sample;

/// What is wrong with a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Frames break on the way: dirt, bends, ageing.
    Corruption,
    /// The ends do not agree, or software did not do its part.
    Configuration,
    /// There is more traffic than room.
    Congestion,
    /// Packets overtake each other.
    Reordering,
    /// Nothing.
    Healthy,
}

impl fmt::Display for Cause {
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
pub enum End {
    /// The first named.
    A,
    /// The other.
    B,
}

/// Something that was seen, and what it says.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reason {
    /// What it speaks for.
    pub cause: Cause,
    /// Where it was seen.
    pub end: End,
    /// In words, with the numbers.
    pub text: String,
}

/// What can be said of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// The verdict: the first cause in the order of [`Cause`] that anything speaks for.
    pub cause: Cause,
    /// All that was seen, that for the verdict first.
    pub reasons: Vec<Reason>,
    /// Loss of frames from A to B, where B counts it.
    pub loss_to_b: Option<Estimate>,
    /// Loss of frames from B to A.
    pub loss_to_a: Option<Estimate>,
}

/// Joins what both ends counted over the same time.
pub fn explain(a: &Growth, b: &Growth, thresholds: &Thresholds) -> Explanation {
    let mut reasons = Vec::new();
    for (end, here, there) in [(End::A, a, b), (End::B, b, a)] {
        let mut ask = Ask { end, here, there, thresholds, reasons: &mut reasons };
        ask.corruption();
        ask.configuration();
        ask.congestion();
        ask.reordering();
    }
    if reasons.is_empty() {
        reasons.extend([(End::A, a), (End::B, b)].into_iter().filter_map(|(end, here)| elsewhere(end, here)));
    }
    reasons.sort_by_key(|reason| reason.cause);
    let cause = reasons.first().map_or(Cause::Healthy, |reason| reason.cause);
    Explanation { cause, reasons, loss_to_b: loss(b), loss_to_a: loss(a) }
}

/// Queue pairs miss packets and this link has lost none: whoever looks here has to look further along the path.
fn elsewhere(end: End, here: &Growth) -> Option<Reason> {
    let (gaps, late) = (here.of(Counter::OutOfSequence), here.of(Counter::AckTimeouts));
    (gaps > 0 || late > 0).then(|| Reason {
        cause: Cause::Healthy,
        end,
        text: format!("{gaps} gaps and {late} timeouts of queue pairs, and nothing was lost on this link: look at those beyond"),
    })
}

fn loss(growth: &Growth) -> Option<Estimate> {
    let counts = growth.get(Counter::RxCrc).is_some() || growth.get(Counter::RxAll).is_some();
    let frames = growth.frames();
    (counts && frames > 0).then(|| Estimate::of(Sample { frames, errors: growth.bad_frames().min(frames) }))
}

/// The questions asked of one end.
struct Ask<'a> {
    end: End,
    here: &'a Growth,
    there: &'a Growth,
    thresholds: &'a Thresholds,
    reasons: &'a mut Vec<Reason>,
}

impl Ask<'_> {
    fn corruption(&mut self) {
        if let Some(loss) = loss(self.here)
            && loss.errors >= crate::detector::Detector::ERRORS_MIN
            && loss.low > self.thresholds.loss
        {
            let Estimate { errors, frames, loss, low, .. } = loss;
            self.because(
                Cause::Corruption,
                format!("{errors} of {frames} frames arrived broken: {loss:.1e}, hardly less than {low:.1e}"),
            );
        }
        let lost = self.here.of(Counter::FecUncorrectable);
        if lost > 0 && self.here.flaps == 0 {
            self.because(Cause::Corruption, format!("{lost} codewords were beyond what FEC corrects"));
        }
        let inside = self.here.of(Counter::RxIcrc);
        if inside > 0 {
            self.because(
                Cause::Corruption,
                format!("{inside} packets were broken inside whole frames: in a device on the path, not on a cable"),
            );
        }
    }

    fn configuration(&mut self) {
        let lengths = self.here.of(Counter::RxLength);
        if lengths > 0 {
            self.because(
                Cause::Configuration,
                format!(
                    "{lengths} frames had a length that this end does not take: compare the MTU of both ends"
                ),
            );
        }
        let (told, heard) = (self.here.of(Counter::TxPauses), self.there.get(Counter::RxPauses));
        if told > 0 && heard == Some(0) && self.there.of(Counter::RxGood) > 0 {
            self.because(
                Cause::Configuration,
                format!(
                    "{told} pause frames left and the other end heard none: compare flow control of both ends"
                ),
            );
        }
        let unposted = self.here.of(Counter::OutOfBuffer).max(self.there.of(Counter::RnrNaks));
        if unposted > 0 {
            self.because(
                Cause::Configuration,
                format!(
                    "{unposted} requests found no receive posted: software here is late or posts too few"
                ),
            );
        }
    }

    fn congestion(&mut self) {
        for (counter, what) in [
            (Counter::TxDiscards, "frames found no room before they left"),
            (Counter::RxDiscards, "whole frames found no room on arrival"),
            (Counter::EcnMarked, "packets arrived with a congestion mark"),
            (Counter::RxPauses, "pause frames stopped this end"),
        ] {
            let grown = self.here.of(counter);
            if grown > 0 {
                self.because(Cause::Congestion, format!("{grown} {what}"));
            }
        }
    }

    /// A packet that was overtaken is asked for again and then comes twice. One that was lost comes once.
    fn reordering(&mut self) {
        let gaps = self.here.of(Counter::OutOfSequence);
        let twice = self.here.of(Counter::Duplicates);
        if gaps > 0
            && twice.saturating_mul(2) >= gaps
            && self.there.of(Counter::AckTimeouts).saturating_mul(2) <= gaps
        {
            self.because(
                Cause::Reordering,
                format!("{gaps} gaps, and {twice} requests came that had been answered: nothing was lost, packets overtook each other"),
            );
        }
    }

    fn because(&mut self, cause: Cause, text: String) {
        self.reasons.push(Reason { cause, end: self.end, text });
    }
}
