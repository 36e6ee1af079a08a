//! The stress test: frames at line rate over a protected link.

use wiremend_measure::Protection;
use wiremend_measure::rare::Estimate;

use crate::ledger::number::LEVEL;
use crate::ledger::{Effort, Outcome, Results, Run};

/// The published prototype, ordered and non-blocking.
pub(crate) const LG: &str = "LG";
pub(crate) const LG_NB: &str = "LG_NB";
/// The hardened protocol of this program.
pub(crate) const HARDENED: &str = "hardened";

/// Link rates of the paper in Gb/s.
pub(crate) const RATES: [u32; 2] = [25, 100];
/// Loss rates, and the copies of a retransmission at each of them.
pub(crate) const LOSSES: [(f64, u32); 3] = [(1e-5, 1), (1e-4, 1), (1e-3, 2)];
/// Bytes of a full frame with preamble and inter-frame gap.
pub(crate) const FULL_BYTES: f64 = 1538.0;
/// The lane that loses frames, and its reverse.
pub(crate) const FORWARD: &str = "s0>s1";
pub(crate) const BACKWARD: &str = "s1>s0";

/// A stress test: link rate, loss rate and protocol.
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

    /// All rates and loss rates of the paper, with these protocols.
    pub(crate) fn all(variants: &[&'static str]) -> Vec<Self> {
        let at = |gbps| {
            let at = move |(loss, _)| variants.iter().map(move |variant| Self::new(gbps, loss, variant));
            LOSSES.into_iter().flat_map(at)
        };
        RATES.into_iter().flat_map(at).collect()
    }

    /// A run with `frames` frames. The paper's generator sends one every 124 ns at 100 Gb/s, slightly below
    /// line rate.
    pub(crate) fn run(&self, frames: u32) -> Run {
        let interval_ns = 12_400.0 / f64::from(self.gbps);
        let rate_bps = (FULL_BYTES * 8.0 / interval_ns * 1e9).round();
        Run::new("claims/linkguardian")
            .variant(self.variant)
            .set("topology.rate", format!("{}Gbps", self.gbps))
            .set("workload.0.rate", format!("{rate_bps}bps"))
            .set("impair.0.rate", format!("{:e}", self.loss))
            .set("protect.0.loss", format!("{:e}", self.loss))
            .set("stop.after", format!("{}us", (f64::from(frames) * interval_ns / 1e3).round()))
            .seconds(f64::from(frames) * 2e-6)
    }

    /// A run with importance sampling: it forces loss episodes and raises the loss of copies.
    pub(crate) fn tilted(&self, effort: Effort) -> Run {
        /// Frames from one episode to the next.
        const FRAMES: u32 = 400;
        let run = self.run(effort.choose(400, 4_000) * FRAMES).set("impair.0.kind", "tilted");
        // The hardened protocol chooses copies by its measured loss rate, which importance sampling distorts.
        if self.variant == LG || self.variant == LG_NB {
            run
        } else {
            run.set("protect.0.copies", self.copies())
        }
    }

    /// Copies of a retransmission by Eq. 2.
    pub(crate) fn copies(&self) -> u32 {
        LOSSES.iter().find(|(loss, _)| *loss >= self.loss).map_or(2, |(_, copies)| *copies)
    }

    /// Probability that a frame and all its copies are lost, if losses are independent.
    pub(crate) fn all_lost(&self) -> f64 {
        self.loss.powi(self.copies() as i32 + 1)
    }

    /// Estimate of the remaining loss from a run with importance sampling. `None` without episodes.
    pub(crate) fn estimate(&self, results: &Results<'_>) -> Option<Estimate> {
        let outcome = results.outcome(&self.tilted(results.effort()));
        outcome.episodes.loss_per_frame_forced(self.loss, weight_max(self.loss, self.copies()), LEVEL)
    }

    pub(crate) fn name(&self) -> String {
        format!("{}, {}G, {:e}", self.variant, self.gbps, self.loss)
    }
}

/// Largest possible weight of an episode that did not occur: the frame and all copies are lost. A tenth of
/// the episodes draw these losses with the true probability, the others with 70 %.
pub(crate) fn weight_max(loss: f64, copies: u32) -> f64 {
    let ratio = (loss / 0.7).powi(copies as i32);
    ratio / (0.1 * ratio + 0.9)
}

/// The loss rates at which the paper prints the speed: 1.43e-5, 9.16e-5 and 1.16e-3.
pub(crate) const MEASURED: [f64; 3] = [1.43e-5, 9.16e-5, 1.16e-3];

/// Frames of a run without importance sampling.
pub(crate) fn frames(effort: Effort, loss: f64) -> u32 {
    let rare = loss < 5e-4;
    effort.choose(if rare { 250_000 } else { 120_000 }, if rare { 2_000_000 } else { 600_000 })
}

/// Outcome and protection counters of a run without importance sampling.
pub(crate) fn counted<'a>(results: &'a Results<'_>, stress: Stress) -> (&'a Outcome, Protection) {
    let outcome = results.outcome(&stress.run(frames(results.effort(), stress.loss)));
    (outcome, outcome.summary.protection)
}

/// Rate of delivered frames in bits per second, with preamble and gap.
pub(crate) fn speed_bps(outcome: &Outcome) -> f64 {
    let delivered = outcome.summary.protection.delivered as f64;
    delivered * FULL_BYTES * 8.0 / (outcome.summary.simulated_ns as f64 * 1e-9)
}

/// A ratio, or 0 if the denominator is 0.
pub(crate) fn per(value: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { value as f64 / of as f64 }
}
