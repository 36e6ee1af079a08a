//! What protection leaves of a link's loss and speed, from less than is worth protecting to what Table 1 of LinkGuardian's paper ends
//! with: the table that whole fabrics are judged by.

use wiremend_runner::Runner;
use wiremend_units::{CopyCount, LossRate};

use crate::error::Error;
use crate::ledger::number::LEVEL;
use crate::ledger::{Effort, Results, Run, Schedule};
use crate::stress::{HARDENED, LG, Stress, frames, heaviest, speed_bps};

const LOSSES: [f64; 7] = [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2];
/// What operators ask for.
const TARGET: f64 = 1e-8;

/// Who protects, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// The protocol of this program.
    Hardened,
    /// The published prototype.
    Prototype,
}

/// What is left at one loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// Frames that the link loses, as a share.
    pub loss: f64,
    /// The share that is lost in spite of protection: at most this much, the upper end of its interval.
    pub left: f64,
    /// Frames handed on, as a part of the rate.
    pub speed: f64,
}

/// Measures it for a link of so many Gb/s.
pub fn measure(runner: &Runner<'_>, gbps: u32, by: By, effort: Effort) -> Result<Vec<Row>, Error> {
    let variant = if by == By::Hardened { HARDENED } else { LG };
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
    let rate = |share: f64| LossRate::parts_per_trillion((share * 1e12).round() as u64);
    rate(loss).copies_for(rate(TARGET), CopyCount::MAX).unwrap_or(CopyCount::MAX).into()
}

fn row(stress: &Stress, results: &Results<'_>) -> Result<Row, Error> {
    let (loss, effort) = (stress.loss, results.effort());
    let speed = speed_bps(results.of(&counted(stress, effort))) / (f64::from(stress.gbps) * 1e9);
    let outcome = results.of(&tilted(stress, effort));
    let estimate = outcome.episodes.per_frame_begun(loss, heaviest(loss, copies(loss)), LEVEL);
    let estimate = estimate.ok_or(Error::NoEpisodes { loss })?;
    // What was never seen is not nothing: the upper end is what is known.
    Ok(Row { loss, left: estimate.interval.high.clamp(1e-30, loss), speed: speed.min(1.0) })
}
