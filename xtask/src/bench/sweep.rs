//! `cargo xtask bench sweep`: what a sweep costs beside its runs.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::usage::{self, Usage};
use crate::shell::{self, call};

/// Cells, each as short as the scenario `tail-ack`: points times seeds.
const POINTS: u32 = 100;
const SEEDS: u32 = 100;
/// Limits: CPU time of a sweep beyond that of its runs, and seconds of `collect`.
const OVERHEAD_MAX: f64 = 0.15;
const COLLECT_S_MAX: f64 = 5.0;

/// Measures and prints; fails if a limit is exceeded. The best of several repetitions counts.
pub(super) fn run(program: &Path, repeat: u32) -> Result<()> {
    let directory = shell::target_dir()?.join("bench-sweep");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).with_context(|| format!("cannot create `{}`", directory.display()))?;
    let study = directory.join("study.toml");
    let text = format!(
        "name = \"bench\"\nscenario = \"tail-ack\"\nseeds = {SEEDS}\n[[axis]]\nname = \"delay\"\n\
         path = \"topology.delay\"\nfrom = 1000\nto = {}\nstep = 1\nunit = \"ns\"\n",
        1000 + POINTS - 1
    );
    fs::write(&study, text).with_context(|| format!("cannot write `{}`", study.display()))?;
    let cells = POINTS * SEEDS;
    let (mut bare, mut swept, mut collected) = (None, None, None);
    for round in 0..repeat {
        let out = directory.join(round.to_string());
        let lines = [
            (&mut bare, format!("run tail-ack --seeds {cells} --threads 1 --json")),
            (&mut swept, format!("sweep {} --out {} --threads 1", study.display(), out.display())),
            (&mut collected, format!("sweep collect {}", out.display())),
        ];
        for (best, line) in lines {
            let (_, usage) = usage::run_measured(&call(program, &line))?;
            let is_better = best.is_none_or(|best: Usage| usage.cpu_s < best.cpu_s);
            *best = Some(if is_better { usage } else { best.expect("it is not better than nothing") });
        }
    }
    fs::remove_dir_all(&directory).with_context(|| format!("cannot remove `{}`", directory.display()))?;
    let [bare, swept, collected] =
        [bare, swept, collected].map(|usage| usage.expect("there is a repetition"));
    let overhead = swept.cpu_s / bare.cpu_s - 1.0;
    println!(
        "{cells} cells: runs alone {:.2} s of CPU, as a sweep {:.2} s ({:+.1} %), collect {:.2} s, {:.0} MB",
        bare.cpu_s,
        swept.cpu_s,
        overhead * 100.0,
        collected.wall_s,
        swept.peak_bytes as f64 / 1e6
    );
    ensure!(overhead < OVERHEAD_MAX, "a sweep costs {:.1} % more than its runs", overhead * 100.0);
    ensure!(collected.wall_s < COLLECT_S_MAX, "collect takes {:.1} s", collected.wall_s);
    Ok(())
}
