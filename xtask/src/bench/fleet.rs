//! `cargo xtask bench fleet`: a year of the published fabric and of smaller ones, and a plan.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::usage::{self, Usage};
use crate::shell::{self, call};

/// Numbers of pods up to the published size. The cost of an event must not grow with them.
const PODS: [u32; 4] = [33, 65, 130, 261];
const CONSTRAINTS: [&str; 2] = ["0.5", "0.75"];
/// Limits of a year: CPU seconds and bytes.
const CPU_S_MAX: f64 = 2.0;
const BYTES_MAX: u64 = 200_000_000;
/// Corrupting links of the plan, of 100 224.
const CORRUPTING: u32 = 300;
const LINKS: u32 = 100_224;

/// Measures and prints; fails if a limit is exceeded at the published size.
pub(super) fn run(program: &Path, repeat: u32) -> Result<()> {
    println!("a year                   events    CPU s   wall s  events/CPU s  peak MB");
    let mut missed = Vec::new();
    for constraint in CONSTRAINTS {
        for pods in PODS {
            let command = format!("fleet run --pods {pods} --constraint {constraint} --threads 1 --json");
            let (stdout, usage) = best(program, &command, repeat)?;
            let summary: Value = serde_json::from_str(&stdout).context("the summary of a year")?;
            let counted = &summary["policies"]["corropt"];
            let count = |key: &str| counted[key].as_u64().with_context(|| format!("a year without {key}"));
            let events = count("events")? + count("recoveries")?;
            println!("{}", row(&format!("{pods} pods, {constraint}"), events, usage));
            if pods == PODS[PODS.len() - 1] && (usage.cpu_s > CPU_S_MAX || usage.peak_bytes > BYTES_MAX) {
                missed.push(format!(
                    "a year at {constraint}: {:.2} s, {} bytes",
                    usage.cpu_s, usage.peak_bytes
                ));
            }
        }
    }
    let state = shell::target_dir()?.join("bench-state.csv");
    fs::write(&state, corrupting()).context("a state to plan from")?;
    let command = format!("fleet plan {} --now 0 --json", state.display());
    let (stdout, usage) = best(program, &command, repeat)?;
    let plan: Value = serde_json::from_str(&stdout).context("a plan")?;
    let (drain, keep) =
        (plan["drain"].as_array().map_or(0, Vec::len), plan["keep"].as_array().map_or(0, Vec::len));
    ensure!(drain + keep == CORRUPTING as usize, "a plan forgets links: {drain} and {keep}");
    println!(
        "a plan on {LINKS} links, {CORRUPTING} corrupting ({drain} go, {keep} stay): {:.0} ms of CPU, {:.0} ms in all, {:.0} MB",
        usage.cpu_s * 1e3,
        usage.wall_s * 1e3,
        usage.peak_bytes as f64 / 1e6
    );
    ensure!(missed.is_empty(), "limits exceeded: {}", missed.join("; "));
    Ok(())
}

/// Shortest time and largest memory of several runs.
fn best(program: &Path, command: &str, repeat: u32) -> Result<(String, Usage)> {
    let mut best: Option<(String, Usage)> = None;
    for _ in 0..repeat {
        let (stdout, usage) = usage::run_measured(&call(program, command))?;
        best = Some(match best {
            None => (stdout, usage),
            Some((before, least)) => {
                ensure!(before == stdout, "`{command}` printed different output when repeated");
                let usage = Usage {
                    cpu_s: least.cpu_s.min(usage.cpu_s),
                    wall_s: least.wall_s.min(usage.wall_s),
                    peak_bytes: least.peak_bytes.max(usage.peak_bytes),
                };
                (stdout, usage)
            }
        });
    }
    best.context("nothing was run")
}

fn row(what: &str, events: u64, usage: Usage) -> String {
    format!(
        "{what:<20} {events:>10} {:>8.2} {:>8.2} {:>13.0} {:>8.1}",
        usage.cpu_s,
        usage.wall_s,
        events as f64 / usage.cpu_s,
        usage.peak_bytes as f64 / 1e6
    )
}

/// A fabric state with corrupting links, some of them in the same pod.
fn corrupting() -> String {
    let mut text = "time,0\n".to_owned();
    for number in 0..CORRUPTING {
        let link = (number / 3 * 1_009 + number % 3 * 5) % LINKS;
        writeln!(text, "corrupt,{link},{}e-6", number % 97 + 1).expect("text grows");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_has_as_many_links_as_it_should() {
        let text = corrupting();
        let mut links: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
        links.sort_unstable();
        links.dedup();
        assert_eq!(links.len(), CORRUPTING as usize);
    }

    #[test]
    fn rows_line_up() {
        let usage = Usage { cpu_s: 0.5, wall_s: 0.6, peak_bytes: 52_000_000 };
        assert_eq!(
            row("261 pods, 0.75", 175_000, usage),
            "261 pods, 0.75           175000     0.50     0.60        350000     52.0"
        );
    }
}
