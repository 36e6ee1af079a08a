//! `cargo xtask bench`: speed and memory of the simulator, and the speed-up of a second thread.
//!
//! Each run is a separate process. Counts and digests must be equal for all repetitions and numbers of
//! threads. The result is the shortest time and the largest memory.

mod fleet;
mod monitor;
mod plan;
mod sample;
mod usage;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::TaskError;
use crate::shell::{self, call, command};
use plan::Other;
pub(crate) use plan::Plan;
use sample::Sample;
pub(crate) use usage::measure;

/// A scenario on one thread and on two.
struct Pair {
    one: Sample,
    two: Sample,
}

/// Runs the plan, prints the table, writes the JSON.
pub(crate) fn run(plan: &Plan) -> Result<(), TaskError> {
    if plan.instructions && !shell::succeeds(&mut command("valgrind --version")) {
        return Err(TaskError::MissingProgram(
            "valgrind is missing, which counts instructions: apt-get install valgrind".into(),
        ));
    }
    if plan.other == Some(Other::Relay) {
        return relay();
    }
    let program = shell::build("release")?;
    match plan.other {
        Some(Other::Fleet) => return Ok(fleet::run(&program, plan.repeat)?),
        Some(Other::Monitor) => return Ok(monitor::run(&program)?),
        Some(Other::Relay) | None => {}
    }
    let pairs = sample(&program, plan)?;
    println!("{HEADINGS}");
    for Pair { one, two } in &pairs {
        println!("{}\n{}", row(one, None), row(two, Some(one)));
    }
    for line in costs(&pairs) {
        println!("{line}");
    }
    let instructions_per_hop = plan.instructions.then(|| count_instructions(&program)).transpose()?;
    if let Some(count) = instructions_per_hop {
        println!("{count:.1} instructions per packet-hop ({SHORT_RUN})");
    }
    if let Some(file) = &plan.json {
        let text = format!("{:#}\n", report(&pairs, plan.repeat, instructions_per_hop));
        fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    let differing: Vec<_> =
        pairs.iter().filter(|pair| !pair.agrees()).map(|pair| &*pair.one.scenario).collect();
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

impl Pair {
    fn speed_up(&self) -> f64 {
        self.one.usage.wall_s / self.two.usage.wall_s
    }

    fn agrees(&self) -> bool {
        self.one.digest == self.two.digest
    }
}

/// Runs all scenarios once, then all again, so that compared runs see the same load of the machine.
fn sample(program: &Path, plan: &Plan) -> Result<Vec<Pair>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for round in 0..plan.repeat {
        for (index, scenario) in plan.scenarios.iter().enumerate() {
            eprintln!("{scenario}, {} of {}", round + 1, plan.repeat);
            let [one, two] = [run_once(program, scenario, 1)?, run_once(program, scenario, 2)?];
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

fn run_once(program: &Path, scenario: &str, threads: u32) -> Result<Sample> {
    let (stdout, usage) =
        usage::run_measured(&call(program, &format!("run {scenario} --threads {threads} --json")))?;
    let summary = serde_json::from_str(&stdout).with_context(|| format!("summary of {scenario}"))?;
    Sample::new(scenario, threads, &summary, usage)
}

const HEADINGS: &str = "\
scenario              threads  packet-hops    CPU s   wall s  Mhops/CPU s  events/hop  peak MB  speed-up  digest";

/// A line of the table; for two threads with the speed-up.
fn row(sample: &Sample, one: Option<&Sample>) -> String {
    let Sample { scenario, threads, packet_hops, usage, .. } = sample;
    let (mega_hops, per_hop) = (sample.hops_per_cpu_s() / 1e6, sample.events_per_hop());
    let peak_mb = usage.peak_bytes as f64 / 1e6;
    let mut row = format!(
        "{scenario:<21} {threads:>7} {packet_hops:>12} {:>8.2} {:>8.2} {mega_hops:>12.2} {per_hop:>11.3} {peak_mb:>8.1}",
        usage.cpu_s, usage.wall_s,
    );
    if let Some(one) = one {
        let verdict = if one.digest == sample.digest { "same" } else { "DIFFERS" };
        let speed_up = one.usage.wall_s / usage.wall_s;
        write!(row, " {speed_up:>8.2}x  {verdict}").expect("text grows");
    }
    row
}

/// Cost of lossless switches and congestion control: packet-hops per CPU second relative to the same workload
/// without them.
fn costs(pairs: &[Pair]) -> Vec<String> {
    let find = |name: String| pairs.iter().find(|pair| pair.one.scenario == name);
    let cost = |with: &Pair| {
        let size = with.one.scenario.strip_prefix("bench/dcqcn-")?;
        let share = with.one.hops_per_cpu_s() / find(format!("bench/perm-{size}"))?.one.hops_per_cpu_s();
        Some(format!("PFC and DCQCN on, {size}: {share:.2} of the packet-hops per CPU second without"))
    };
    pairs.iter().filter_map(cost).collect()
}

fn report(pairs: &[Pair], repeat: u32, instructions_per_hop: Option<f64>) -> Value {
    let scenarios = pairs.iter().map(|pair| {
        json!({
            "scenario": pair.one.scenario,
            "runs": [pair.one.to_json(), pair.two.to_json()],
            "speed_up": pair.speed_up(),
            "same_digest": pair.agrees(),
        })
    });
    let commit = shell::output(&mut command("git rev-parse HEAD")).unwrap_or_default();
    json!({
        "schema": 1,
        "commit": commit.trim(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "repeat": repeat,
        "instructions_per_hop": instructions_per_hop,
        "scenarios": scenarios.collect::<Vec<_>>(),
    })
}

/// A short run, because valgrind is about fifty times slower and does not support large pages, which longer
/// runs use.
const SHORT_RUN: &str = "run bench/perm-k4 --set workload.0.bytes=1MB --threads 1 --json";

/// Instructions per packet-hop. Unlike time they do not depend on the load of the machine, so that a
/// regression of 1 % shows.
fn count_instructions(program: &Path) -> Result<f64> {
    let log = shell::target_dir()?.join("instructions.log");
    let mut valgrind = command("valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null");
    valgrind.arg(format!("--log-file={}", log.display())).arg(program).args(SHORT_RUN.split_whitespace());
    let summary = shell::json(&mut valgrind)?;
    let hops = summary["variants"][0]["packet_hops"].as_u64().context("a summary without packet_hops")?;
    let log = fs::read_to_string(&log).with_context(|| format!("cannot read `{}`", log.display()))?;
    let instructions = instructions_in(&log).context("valgrind printed no instruction count")?;
    ensure!(hops > 0, "the run moved no packet");
    Ok(instructions as f64 / hops as f64)
}

/// Reads the count in a line like `==123== I refs:  1,234,567`.
fn instructions_in(log: &str) -> Option<u64> {
    let line = log.lines().find(|line| line.contains("I ") && line.contains("refs:"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instruction_count_of_valgrind_is_read() {
        let log =
            "==12== Cachegrind, a profiler\n==12== Command: x\n==12== \n==12== I   refs:      1,234,567\n";
        assert_eq!(instructions_in(log), Some(1_234_567));
        assert_eq!(instructions_in("==12== killed\n"), None);
    }

    #[test]
    fn the_table_is_aligned_and_the_report_shows_differences() {
        let usage = usage::Usage { cpu_s: 2.0, wall_s: 2.0, peak_bytes: 50_000_000 };
        let one = Sample {
            scenario: "bench/perm-k16".to_owned(),
            threads: 1,
            packet_hops: 20_000_000,
            events: 30_000_000,
            digest: "ab".to_owned(),
            usage,
        };
        let usage = usage::Usage { cpu_s: 2.5, wall_s: 1.25, ..usage };
        let two = Sample { threads: 2, usage, digest: "cd".to_owned(), ..one.clone() };
        assert_eq!(
            row(&one, None),
            "bench/perm-k16              1     20000000     2.00     2.00        10.00       1.500     50.0"
        );
        let second = row(&two, Some(&one));
        assert!(second.ends_with("    50.0     1.60x  DIFFERS"), "{second}");
        assert_eq!(HEADINGS.find("  speed-up"), second.find("     1.60x"), "{second}");

        let faster = Sample { scenario: "bench/dcqcn-k16".to_owned(), ..two.clone() };
        let pairs = [Pair { one: one.clone(), two: two.clone() }, Pair { one: faster.clone(), two: faster }];
        let line = "PFC and DCQCN on, k16: 0.80 of the packet-hops per CPU second without";
        assert_eq!(costs(&pairs), [line]);
        assert!(costs(&pairs[1..]).is_empty(), "there is nothing to compare with");

        let report = report(&[Pair { one, two }], 3, None);
        assert_eq!(report["scenarios"][0]["same_digest"], false);
        assert_eq!(report["scenarios"][0]["runs"][1]["hops_per_cpu_s"], 8e6);
    }
}
