//! `cargo xtask bench fleet`: a year of the published fabric and of smaller ones, and a plan.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::usage::{self, Usage};
use crate::shell::{self, call};

/// Numbers of pods up to ten times the published size. The cost of an event must not grow with them.
const PODS: [u32; 5] = [33, 65, 130, PUBLISHED, 10 * PUBLISHED];
const PUBLISHED: u32 = 261;
const CONSTRAINTS: [&str; 2] = ["0.5", "0.75"];
/// Limits of a year of the published size: CPU seconds and bytes.
const CPU_S_MAX: f64 = 2.0;
const BYTES_MAX: u64 = 200_000_000;
/// Limit of a plan: CPU seconds.
const PLAN_CPU_S_MAX: f64 = 1.0;
const LINKS_PER_POD: u32 = 384;

/// A state to plan from: pods of the fabric, corrupting links, and the pods that have them.
struct Plan {
    pods: u32,
    corrupting: u32,
    corrupting_pods: u32,
}

/// The last one has 150 of 384 links corrupting in each of a few pods.
const PLANS: [Plan; 3] = [
    Plan { pods: PUBLISHED, corrupting: 300, corrupting_pods: PUBLISHED },
    Plan { pods: 10 * PUBLISHED, corrupting: 3_000, corrupting_pods: 10 * PUBLISHED },
    Plan { pods: 10 * PUBLISHED, corrupting: 3_000, corrupting_pods: 20 },
];

/// Measures and prints; fails if a limit is exceeded at the published size.
pub(super) fn run(program: &Path, repeat: u32) -> Result<()> {
    println!("a year                   events    CPU s   wall s  events/CPU s  peak MB");
    let mut missed = Vec::new();
    for constraint in CONSTRAINTS {
        for pods in PODS {
            let (stdout, usage) = best(program, &year(pods, constraint), repeat)?;
            let summary: Value = serde_json::from_str(&stdout).context("the summary of a year")?;
            let counted = &summary["policies"]["corropt"];
            let count = |key: &str| counted[key].as_u64().with_context(|| format!("a year without {key}"));
            let events = count("events")? + count("recoveries")?;
            println!("{}", row(&format!("{pods} pods, {constraint}"), events, usage));
            if pods == PUBLISHED && (usage.cpu_s > CPU_S_MAX || usage.peak_bytes > BYTES_MAX) {
                missed.push(format!(
                    "a year at {constraint}: {:.2} s, {} bytes",
                    usage.cpu_s, usage.peak_bytes
                ));
            }
        }
        println!(
            "ten times the links, {constraint}: {:.1} times the CPU time",
            growth(program, constraint, repeat)?
        );
    }
    for plan in PLANS {
        for count in ["bandwidth", "paths"] {
            missed.extend(measure_plan(program, &plan, count, repeat)?);
        }
    }
    ensure!(missed.is_empty(), "limits exceeded: {}", missed.join("; "));
    Ok(())
}

/// Returns how many times the CPU time a year of ten times the links takes: medians of runs that alternate, because
/// other programs use the caches too.
fn growth(program: &Path, constraint: &str, repeat: u32) -> Result<f64> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..repeat {
        for (times, pods) in times.iter_mut().zip([PUBLISHED, 10 * PUBLISHED]) {
            let (_, usage) = usage::run_measured(&call(program, &year(pods, constraint)))?;
            times.push(usage.cpu_s);
        }
    }
    let [one, ten] = times.map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    });
    Ok(ten / one)
}

fn year(pods: u32, constraint: &str) -> String {
    format!("fleet run --pods {pods} --constraint {constraint} --threads 1 --json")
}

/// Measures a plan and prints it; returns an exceeded limit.
fn measure_plan(program: &Path, plan: &Plan, count: &str, repeat: u32) -> Result<Option<String>> {
    let Plan { pods, corrupting, corrupting_pods } = *plan;
    let links = pods * LINKS_PER_POD;
    let state = shell::target_dir()?.join("bench-state.csv");
    fs::write(&state, plan.state()).context("a state to plan from")?;
    let command = format!("fleet plan {} --pods {pods} --count {count} --now 0 --json", state.display());
    let (stdout, usage) = best(program, &command, repeat)?;
    let advice: Value = serde_json::from_str(&stdout).context("a plan")?;
    let length = |key: &str| advice[key].as_array().map_or(0, Vec::len);
    let (drain, keep) = (length("drain"), length("keep"));
    ensure!(drain + keep == corrupting as usize, "a plan forgets links: {drain} and {keep}");
    let what =
        format!("a plan by {count} on {links} links, {corrupting} corrupting in {corrupting_pods} pods");
    println!(
        "{what} ({drain} go, {keep} stay): {:.0} ms of CPU, {:.0} ms in all, {:.0} MB",
        usage.cpu_s * 1e3,
        usage.wall_s * 1e3,
        usage.peak_bytes as f64 / 1e6
    );
    Ok((usage.cpu_s > PLAN_CPU_S_MAX).then(|| format!("{what}: {:.2} s", usage.cpu_s)))
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

impl Plan {
    /// Returns a state whose corrupting links are spread over its pods, over both tiers.
    fn state(&self) -> String {
        let Self { pods, corrupting, corrupting_pods } = *self;
        let (per_pod, tor_links) = (LINKS_PER_POD, LINKS_PER_POD / 2);
        let mut text = "time,0\n".to_owned();
        for number in 0..corrupting {
            let pod = number % corrupting_pods;
            // 101 has no common factor with the number of links of a pod.
            let place = (number / corrupting_pods * 101 + pod * 7) % per_pod;
            let link = match place.checked_sub(tor_links) {
                None => pod * tor_links + place,
                Some(spine) => pods * tor_links + spine * pods + pod,
            };
            writeln!(text, "corrupt,{link},{}e-6", number % 97 + 1).expect("text grows");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_as_many_links_as_they_should() {
        for plan in PLANS {
            let text = plan.state();
            let mut links: Vec<&str> =
                text.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
            links.sort_unstable();
            links.dedup();
            assert_eq!(links.len(), plan.corrupting as usize);
            assert!(links.iter().all(|link| link.parse::<u32>().unwrap() < plan.pods * LINKS_PER_POD));
        }
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
