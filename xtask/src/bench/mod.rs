//! `cargo xtask bench`: speed and memory of the simulator, and the speed-up of a second thread.
//!
//! Each run is a separate process. Counts and digests must be equal for all repetitions and numbers of
//! threads. The result is the median time with its range, and the largest memory.

mod capture;
mod curve;
mod fleet;
mod guard;
mod monitor;
mod page;
mod peers;
mod plan;
mod sample;
mod sweep;
mod usage;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use crate::TaskError;
use crate::shell::{self, call, command};
pub(crate) use guard::check as check_counts;
pub(crate) use plan::Plan;
use plan::{Case, Other};
use sample::{Sample, Spread};
pub(crate) use usage::measure;

/// A case on one thread and on two.
struct Pair {
    one: Sample,
    two: Sample,
}

/// Runs the plan, prints the table, writes the JSON.
pub(crate) fn run(plan: &Plan) -> Result<(), TaskError> {
    if plan.check && !shell::succeeds(&mut command("valgrind --version")) {
        return Err(TaskError::MissingProgram(
            "valgrind is missing, which counts instructions: apt-get install valgrind".into(),
        ));
    }
    if plan.other == Some(Other::Relay) {
        return relay();
    }
    if plan.other == Some(Other::Causes) {
        return causes();
    }
    if plan.check {
        return Ok(guard::check(plan.accept)?);
    }
    let program = shell::build("release")?;
    match plan.other {
        Some(Other::Capture) => return Ok(capture::run(&program, plan.repeat)?),
        Some(Other::Fleet) => return Ok(fleet::run(&program, plan.repeat)?),
        Some(Other::Monitor) => return Ok(monitor::run(&program)?),
        Some(Other::Page) => return Ok(page::run(&program)?),
        Some(Other::Sweep) => return Ok(sweep::run(&program, plan.repeat)?),
        Some(Other::Relay | Other::Causes) | None => {}
    }
    let pairs = sample(&program, plan)?;
    println!("{HEADINGS}");
    let base = pairs[0].one.hops_per_cpu_s().median;
    for Pair { one, two } in &pairs {
        println!("{}\n{}", row(one, base, None), row(two, base, Some(one)));
    }
    if let Some(file) = &plan.peers {
        print!("{}", peers::table(file, &pairs)?);
    }
    if let Some(file) = &plan.json {
        let text = format!("{:#}\n", report(&pairs, plan.repeat));
        fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    if let Some(file) = &plan.plot {
        let drawing =
            curve::draw(&pairs).context("--plot needs two networks, for instance `scale perm-k4`")?;
        fs::write(file, drawing).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    let differing: Vec<_> = pairs.iter().filter(|pair| !pair.agrees()).map(|pair| &*pair.one.case).collect();
    if !differing.is_empty() {
        return Err(TaskError::Failed(anyhow!(
            "digests differ between one and two threads: {}",
            differing.join(", ")
        )));
    }
    Ok(())
}

/// Measures the cost per frame of a link end, and of a relay on real ports.
fn relay() -> Result<(), TaskError> {
    for (package, bench) in [("wiremend-proto", "link_speed"), ("wiremend-dataplane", "relay_speed")] {
        shell::run(&mut command(&format!("cargo bench --quiet -p {package} --bench {bench}")))?;
    }
    Ok(())
}

/// Compares the causes of timeouts in captures of the simulator with those that it recorded; writes the page of the
/// reference.
fn causes() -> Result<(), TaskError> {
    let mut cargo = command(
        "cargo test --quiet --profile test-release -p wiremend-capture --test it causes_are_those_of_the_simulator",
    );
    let page = shell::root().join("docs/reference/causes.md");
    shell::run(cargo.env("WIREMEND_SWARM", "0..34000").env("WIREMEND_SWARM_PAGE", page))?;
    Ok(())
}

impl Pair {
    fn speed_up(&self) -> f64 {
        let wall_s = |sample: &Sample| sample.spread(|usage| usage.wall_s).median;
        wall_s(&self.one) / wall_s(&self.two)
    }

    fn agrees(&self) -> bool {
        self.one.digest == self.two.digest
    }
}

/// Runs all cases once, then all again, so that compared runs see the same load of the machine.
fn sample(program: &Path, plan: &Plan) -> Result<Vec<Pair>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for round in 0..plan.repeat {
        for (index, case) in plan.cases.iter().enumerate() {
            eprintln!("{}, {} of {}", case.name, round + 1, plan.repeat);
            let [one, two] = [run_once(program, case, 1)?, run_once(program, case, 2)?];
            match pairs.get_mut(index) {
                Some(pair) => {
                    pair.one.repeated(&one)?;
                    pair.two.repeated(&two)?;
                }
                None => pairs.push(Pair { one, two }),
            }
        }
    }
    Ok(pairs)
}

fn run_once(program: &Path, case: &Case, threads: u32) -> Result<Sample> {
    let mut run = call(program, &format!("run {} --threads {threads} --json", case.scenario));
    for value in &case.set {
        run.arg("--set").arg(value);
    }
    if !case.fast_forward {
        run.args(["--fast-forward", "off"]);
    }
    let (stdout, usage) = usage::run_measured(&run)?;
    let summary = serde_json::from_str(&stdout).with_context(|| format!("summary of {}", case.name))?;
    Sample::new(&case.name, threads, &summary, usage)
}

const HEADINGS: &str = "\
case                     threads  packet-hops  Mhops/CPU s (min to max)  of first  events/hop  peak MB  speed-up  digest";

/// A line of the table: speed, also relative to that of the first case; for two threads the speed-up.
fn row(sample: &Sample, base: f64, one: Option<&Sample>) -> String {
    let Sample { case, threads, packet_hops, .. } = sample;
    let Spread { median, least, greatest } = sample.hops_per_cpu_s();
    let (ratio, per_hop, peak_mb) =
        (median / base, sample.events_per_hop(), sample.peak_bytes() as f64 / 1e6);
    let range = format!("({:.1} to {:.1})", least / 1e6, greatest / 1e6);
    let mut row = format!(
        "{case:<24} {threads:>7} {packet_hops:>12} {:>11.2} {range:<14} {ratio:>8.2} {per_hop:>11.3} {peak_mb:>8.1}",
        median / 1e6
    );
    if let Some(one) = one {
        let verdict = if one.digest == sample.digest { "same" } else { "DIFFERS" };
        let wall_s = |sample: &Sample| sample.spread(|usage| usage.wall_s).median;
        write!(row, " {:>8.2}x  {verdict}", wall_s(one) / wall_s(sample)).expect("text grows");
    }
    row
}

fn report(pairs: &[Pair], repeat: u32) -> Value {
    let cases = pairs.iter().map(|pair| {
        json!({
            "case": pair.one.case,
            "runs": [pair.one.to_json(), pair.two.to_json()],
            "speed_up": pair.speed_up(),
            "same_digest": pair.agrees(),
        })
    });
    let commit = shell::output(&mut command("git rev-parse HEAD")).unwrap_or_default();
    json!({
        "schema": 2,
        "commit": commit.trim(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "repeat": repeat,
        "cases": cases.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_aligned_and_the_report_shows_differences() {
        let usage = usage::Usage { cpu_s: 2.0, wall_s: 2.0, peak_bytes: 50_000_000 };
        let one = Sample {
            case: "perm-k16".to_owned(),
            threads: 1,
            packet_hops: 20_000_000,
            events: 30_000_000,
            digest: "ab".to_owned(),
            usages: vec![usage],
        };
        let usages = vec![usage::Usage { cpu_s: 2.5, wall_s: 1.25, ..usage }];
        let two = Sample { threads: 2, usages, digest: "cd".to_owned(), ..one.clone() };
        assert_eq!(
            row(&one, 2e7, None),
            "perm-k16                       1     20000000       10.00 (10.0 to 10.0)     0.50       1.500     50.0"
        );
        let second = row(&two, 2e7, Some(&one));
        assert!(second.ends_with("    50.0     1.60x  DIFFERS"), "{second}");
        assert_eq!(HEADINGS.find("  speed-up"), second.find("     1.60x"), "{second}");

        let report = report(&[Pair { one, two }], 3);
        assert_eq!(report["cases"][0]["same_digest"], false);
        assert_eq!(report["cases"][0]["runs"][1]["hops_per_cpu_s"]["median"], 8e6);
    }
}
