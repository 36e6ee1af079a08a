//! `wiremend fleet table`: what protection leaves, measured by the simulator.

use std::fmt::Write as _;

use wiremend_proto::link::{CopyCount, LossRate};

use crate::args::VERSION;
use crate::args::fleet::{By, FleetTable};
use crate::claims::linkguardian::stress::{HARDENED, LG, Stress, frames, heaviest, speed_bps};
use crate::failure::{Answer, Failure};
use crate::ledger::number::LEVEL;
use crate::ledger::{Effort, Results, Run, Schedule};
use crate::{machine, signals, terminal};

/// From less than is worth protecting to what Table 1 ends with.
const LOSSES: [f64; 7] = [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2];
/// What operators ask for.
const TARGET: f64 = 1e-8;

pub(super) fn run(asked: &FleetTable) -> Result<Answer, Failure> {
    signals::catch()?;
    let bps = asked.rate.bits_per_s();
    let gbps = u32::try_from(bps / 1_000_000_000).unwrap_or(u32::MAX);
    if !bps.is_multiple_of(1_000_000_000) || !(1..=1600).contains(&gbps) {
        return Err(Failure::Input(format!("--rate {}: whole Gb/s, from 1Gbps to 1600Gbps", asked.rate)));
    }
    let effort = if asked.quick { Effort::Quick } else { Effort::Full };
    let variant = if asked.by == By::Hardened { HARDENED } else { LG };
    let stresses = LOSSES.map(|loss| Stress::new(gbps, loss, variant));
    let runs = stresses.iter().flat_map(|stress| [counted(stress, effort), tilted(stress, effort)]).collect();
    let schedule = Schedule::of_runs(runs, effort, &[])?;
    let results = schedule.run(asked.threads.map_or_else(machine::cores, usize::from), None)?;
    let mut text = format!(
        "# What protection leaves of a link's loss and speed, measured: {}, {gbps} Gb/s, frames of 1518 B at line rate, target 1e-8.\n\
         # Made by `wiremend fleet table --rate {} --by {}{}`, wiremend {VERSION}.\n\
         # Speed: frames handed on as a part of the rate, of 99.2 % offered. Left: at most this much, the upper end of the 99.99 % interval\n\
         # from episodes of losses that begin on purpose, weighed.\n\
         loss,left,speed\n",
        match asked.by {
            By::Hardened => "the hardened protocol in order",
            By::Prototype => "the published prototype in order",
        },
        asked.rate,
        if asked.by == By::Hardened { "hardened" } else { "prototype" },
        if asked.quick { " --quick" } else { "" },
    );
    for stress in &stresses {
        let (left, speed) = row(stress, effort, &results)?;
        let _ = writeln!(text, "{:e},{left:.3e},{speed:.4}", stress.loss);
    }
    terminal::print(&text)?;
    Ok(Answer::Yes)
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

fn row(stress: &Stress, effort: Effort, results: &Results<'_>) -> Result<(f64, f64), Failure> {
    let speed = speed_bps(results.of(&counted(stress, effort))) / (f64::from(stress.gbps) * 1e9);
    let outcome = results.of(&tilted(stress, effort));
    let unseen = heaviest(stress.loss, copies(stress.loss));
    let estimate = outcome.episodes.per_frame_begun(stress.loss, unseen, LEVEL);
    let estimate = estimate.ok_or_else(|| {
        Failure::Environment(format!("no episodes at a loss of {:e}: the scenario was changed", stress.loss))
    })?;
    // What was never seen is not nothing: the upper end is what is known.
    Ok((estimate.interval.high.clamp(1e-30, stress.loss), speed.min(1.0)))
}
