//! Measures loss and speed of a protected link, at loss rates from 1e-6 to the highest of LinkGuardian's
//! Table 1. Fleet simulations use this table.

use wiremend_runner::Runner;
use wiremend_units::{CopyCount, LossRate};

use crate::error::Error;
use crate::ledger::number::LEVEL;
use crate::ledger::{Effort, Results, Run, Schedule};
use crate::stress::{HARDENED, LG, Stress, frames, speed_bps, weight_max};

const LOSSES: [f64; 7] = [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2];
/// Loss rate that protection has to reach.
const TARGET: f64 = 1e-8;

/// The link protocol. Both deliver in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkProtocol {
    /// The hardened protocol of this program.
    Hardened,
    /// The published LinkGuardian prototype.
    Prototype,
}

/// Result for one loss rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProtectionRow {
    /// Loss rate of the link.
    pub loss: f64,
    /// Upper confidence bound of the loss rate that remains with protection.
    pub left: f64,
    /// Rate of delivered frames as a fraction of the link rate.
    pub speed: f64,
}

/// Measures a link of `gbps` Gb/s.
pub fn measure(
    runner: &Runner<'_>,
    gbps: u32,
    by: LinkProtocol,
    effort: Effort,
) -> Result<Vec<ProtectionRow>, Error> {
    let variant = if by == LinkProtocol::Hardened { HARDENED } else { LG };
    let stresses = LOSSES.map(|loss| Stress::new(gbps, loss, variant));
    let runs = stresses.iter().flat_map(|stress| [counted(stress, effort), tilted(stress, effort)]).collect();
    let results = Schedule::from_runs(runs, effort, &[])?.run(runner, None)?;
    stresses.iter().map(|stress| row(stress, &results)).collect()
}

fn counted(stress: &Stress, effort: Effort) -> Run {
    stress.run(frames(effort, stress.loss))
}

fn tilted(stress: &Stress, effort: Effort) -> Run {
    stress.tilted(effort).set("protect.0.copies", copies(stress.loss))
}

/// LG Eq. 2.
fn copies(loss: f64) -> u32 {
    let rate = |share: f64| LossRate::from_parts_per_trillion((share * 1e12).round() as u64);
    rate(loss).copies_for(rate(TARGET), CopyCount::MAX).unwrap_or(CopyCount::MAX).into()
}

fn row(stress: &Stress, results: &Results<'_>) -> Result<ProtectionRow, Error> {
    let (loss, effort) = (stress.loss, results.effort());
    let speed = speed_bps(results.outcome(&counted(stress, effort))) / (f64::from(stress.gbps) * 1e9);
    let outcome = results.outcome(&tilted(stress, effort));
    let estimate = outcome.episodes.loss_per_frame_forced(loss, weight_max(loss, copies(loss)), LEVEL);
    let estimate = estimate.ok_or(Error::NoEpisodes { loss })?;
    // Without a single loss the estimate is 0; the upper bound is what is known.
    Ok(ProtectionRow { loss, left: estimate.interval.high.clamp(1e-30, loss), speed: speed.min(1.0) })
}
