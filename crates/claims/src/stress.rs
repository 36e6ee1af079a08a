//! The stress test: frames at line rate over a protected link.

use wiremend_measure::Protection;
use wiremend_measure::rare::Estimate;

use crate::ledger::number::LEVEL;
use crate::ledger::{Effort, Outcome, Results, Run};

/// The prototype, in order and without.
pub(crate) const LG: &str = "LG";
pub(crate) const LG_NB: &str = "LG_NB";
/// Ours.
pub(crate) const HARDENED: &str = "hardened";

/// Rates of the paper's links in Gb/s.
pub(crate) const RATES: [u32; 2] = [25, 100];
/// Losses, and copies of what was lost.
pub(crate) const LOSSES: [(f64, u32); 3] = [(1e-5, 1), (1e-4, 1), (1e-3, 2)];
/// A full frame on the wire, with preamble and gap.
pub(crate) const FULL_BYTES: f64 = 1538.0;
/// The link's direction that loses frames.
pub(crate) const FORWARD: &str = "s0>s1";
pub(crate) const BACKWARD: &str = "s1>s0";

/// Frames at line rate over a link of this rate, protected in this way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Stress {
    pub(crate) gbps: u32,
    pub(crate) loss: f64,
    pub(crate) variant: &'static str,
}

impl Stress {
    pub(crate) fn new(gbps: u32, loss: f64, variant: &'static str) -> Self {
        Self { gbps, loss, variant }
    }

    /// So many frames. The paper's generator sends one every 124 ns at 100 Gb/s, which leaves the link a little room.
    pub(crate) fn run(&self, frames: u32) -> Run {
        let interval_ns = 12_400.0 / f64::from(self.gbps);
        let rate_bps = (FULL_BYTES * 8.0 / interval_ns * 1e9).round();
        Run::of("claims/linkguardian")
            .variant(self.variant)
            .set("topology.rate", format!("{}Gbps", self.gbps))
            .set("workload.0.rate", format!("{rate_bps}bps"))
            .set("impair.0.rate", format!("{:e}", self.loss))
            .set("protect.0.loss", format!("{:e}", self.loss))
            .set("stop.after", format!("{}us", (f64::from(frames) * interval_ns / 1e3).round()))
            .seconds(f64::from(frames) * 2e-6)
    }

    /// The same, where losses begin on purpose and copies are lost more often than they should be: so many episodes.
    pub(crate) fn tilted(&self, effort: Effort) -> Run {
        /// Frames from the begin of an episode to that of the next.
        const FRAMES: u32 = 400;
        let run = self.run(effort.choose(400, 4_000) * FRAMES).set("impair.0.kind", "tilted");
        // Ours goes by the loss that it measures, which is not the true one here.
        if self.variant == LG || self.variant == LG_NB {
            run
        } else {
            run.set("protect.0.copies", self.copies())
        }
    }

    /// Copies of what is lost at this rate, by Eq. 2.
    pub(crate) fn copies(&self) -> u32 {
        LOSSES.iter().find(|(loss, _)| *loss >= self.loss).map_or(2, |(_, copies)| *copies)
    }

    /// The loss that is left, of a tilted run; nothing if there were no episodes.
    pub(crate) fn estimate(&self, results: &Results<'_>) -> Option<Estimate> {
        let outcome = results.of(&self.tilted(results.effort()));
        outcome.episodes.per_frame_begun(self.loss, heaviest(self.loss, self.copies()), LEVEL)
    }

    pub(crate) fn name(&self) -> String {
        format!("{}, {}G, {:e}", self.variant, self.gbps, self.loss)
    }
}

/// What an episode that was not seen could count at most, if frames are lost with all their copies and not otherwise: in a tenth of the episodes
/// these are lost as in truth, in the others with 70 %.
pub(crate) fn heaviest(loss: f64, copies: u32) -> f64 {
    let ratio = (loss / 0.7).powi(copies as i32);
    ratio / (0.1 * ratio + 0.9)
}

/// The three rates at which the speed is printed, rounded: 1.43e-5, 9.16e-5 and 1.16e-3.
pub(crate) const MEASURED: [f64; 3] = [1.43e-5, 9.16e-5, 1.16e-3];

/// Frames of a run that only counts.
pub(crate) fn frames(effort: Effort, loss: f64) -> u32 {
    let rare = loss < 5e-4;
    effort.choose(if rare { 250_000 } else { 120_000 }, if rare { 2_000_000 } else { 600_000 })
}

/// What protection did in a run that only counts.
pub(crate) fn counted<'a>(results: &'a Results<'_>, stress: Stress) -> (&'a Outcome, Protection) {
    let outcome = results.of(&stress.run(frames(results.effort(), stress.loss)));
    (outcome, outcome.summary.protection)
}

/// Frames handed on, as bits on the wire per second.
pub(crate) fn speed_bps(outcome: &Outcome) -> f64 {
    let handed_on = outcome.summary.protection.handed_on as f64;
    handed_on * FULL_BYTES * 8.0 / (outcome.summary.simulated_ns as f64 * 1e-9)
}

/// A part of something that may be nothing.
pub(crate) fn per(value: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { value as f64 / of as f64 }
}
