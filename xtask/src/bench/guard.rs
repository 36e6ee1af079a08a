//! `cargo xtask bench --check`: instructions and cache misses per packet-hop against committed figures.
//!
//! Cachegrind counts both for a fixed model of the caches, so the load of the machine does not matter. They do
//! depend on the compiler: figures of another version of rustc are not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::plan::{Case, guarded};
use crate::shell::{self, command};

/// Counts per packet-hop.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    instructions: f64,
    /// Reads and writes of data that miss both caches of the model.
    misses: f64,
}

/// Largest change of the instructions per packet-hop.
const INSTRUCTIONS_TOLERANCE: f64 = 0.03;
/// Largest increase of the misses per packet-hop: relative, and absolute.
const MISSES_TOLERANCE: (f64, f64) = (0.10, 0.05);
/// A first-level cache of 32 kB and a second-level cache of 1 MB: size, ways, line size.
const CACHES: &str = "--D1=32768,8,64 --LL=1048576,16,64";

/// Compares all cases with the committed figures, or writes these anew.
pub(crate) fn check(accept: bool) -> Result<()> {
    let path = shell::root().join("xtask/figures.json");
    let rustc = shell::output(&mut command("rustc --version"))?.trim().to_owned();
    let committed = read(&path)?;
    let of_rustc = committed["rustc"].as_str().unwrap_or("no compiler");
    if !accept && of_rustc != rustc {
        println!("not compared: the figures are those of {of_rustc}, and this is {rustc}");
        return Ok(());
    }
    let program = build()?;
    let (mut cases, mut complaints) = (BTreeMap::new(), Vec::new());
    println!(
        "{:<16} {:>13} {:>9} {:>7} {:>9}",
        "per packet-hop", "instructions", "committed", "misses", "committed"
    );
    for case in guarded() {
        let counts = count(&program, &case)?;
        let known = Counts::from_json(&committed["cases"][&case.name]);
        let column =
            |value: fn(&Counts) -> f64| known.map_or("-".to_owned(), |known| format!("{:.2}", value(&known)));
        println!(
            "{:<16} {:>13.2} {:>9} {:>7.2} {:>9}",
            case.name,
            counts.instructions,
            column(|known| known.instructions),
            counts.misses,
            column(|known| known.misses)
        );
        complaints.extend(complaint(&case.name, counts, known));
        cases.insert(case.name, counts.to_json());
    }
    if accept {
        let text = format!("{:#}\n", json!({ "rustc": rustc, "cases": cases }));
        return fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()));
    }
    if !complaints.is_empty() {
        bail!("{}\nif that is intended: cargo xtask bench --accept", complaints.join("\n"));
    }
    Ok(())
}

impl Counts {
    fn from_json(value: &Value) -> Option<Self> {
        Some(Self { instructions: value["instructions"].as_f64()?, misses: value["misses"].as_f64()? })
    }

    fn to_json(self) -> Value {
        json!({ "instructions": self.instructions, "misses": self.misses })
    }
}

fn read(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("`{}`", path.display()))
}

/// Builds a program that only runs scenarios; returns its path.
fn build() -> Result<PathBuf> {
    shell::run(&mut command("cargo build --quiet --release -p wiremend-runner --example digests"))?;
    Ok(shell::target_dir()?.join("release/examples/digests"))
}

fn count(program: &Path, case: &Case) -> Result<Counts> {
    let log = shell::target_dir()?.join("cachegrind.log");
    let mut valgrind = command(&format!(
        "valgrind --tool=cachegrind --cache-sim=yes {CACHES} --cachegrind-out-file=/dev/null"
    ));
    valgrind.arg(format!("--log-file={}", log.display())).arg(program).arg(&case.scenario).args(&case.set);
    // Variables of the environment lie on the stack and move what lies below.
    valgrind.env_clear();
    let hops = hops_in(&shell::output(&mut valgrind)?).context("a run without packet-hops")?;
    let log = fs::read_to_string(&log).with_context(|| format!("cannot read `{}`", log.display()))?;
    let read = |label| counted(&log, label).with_context(|| format!("valgrind printed no `{label}`"));
    ensure!(hops > 0, "{} moved no packet", case.name);
    let per_hop = |count: u64| (count as f64 / hops as f64 * 100.0).round() / 100.0;
    Ok(Counts { instructions: per_hop(read("I   refs:")?), misses: per_hop(read("LLd misses:")?) })
}

/// Says what is wrong with the counts of a case.
fn complaint(name: &str, counts: Counts, known: Option<Counts>) -> Option<String> {
    let Some(known) = known else { return Some(format!("{name}: no committed figures")) };
    let mut faults = Vec::new();
    let change = counts.instructions / known.instructions - 1.0;
    if change.abs() > INSTRUCTIONS_TOLERANCE {
        faults.push(format!("{:+.1} % instructions", change * 100.0));
    }
    let (relative, absolute) = MISSES_TOLERANCE;
    let more = counts.misses - known.misses;
    if more > known.misses * relative + absolute {
        faults.push(format!("{more:+.2} cache misses"));
    }
    (!faults.is_empty()).then(|| format!("{name}: {} per packet-hop", faults.join(", ")))
}

/// Reads the packet-hops in lines like `0298977d 150000 clean`.
fn hops_in(output: &str) -> Option<u64> {
    output.lines().map(|line| line.split(' ').nth(1)?.parse::<u64>().ok()).sum()
}

/// Reads the first count in a line like `==123== LLd misses:  1,234  ( 1,000 rd + 234 wr)`.
fn counted(log: &str, label: &str) -> Option<u64> {
    let line = log.lines().find_map(|line| line.split_once(label))?.1;
    line.split_whitespace().next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_valgrind_are_read() {
        let log = "==12== I   refs:      1,234,567\n==12== LLd misses:     5,678  (  5,000 rd   +  678 wr)\n";
        assert_eq!(counted(log, "I   refs:"), Some(1_234_567));
        assert_eq!(counted(log, "LLd misses:"), Some(5_678));
        assert_eq!(counted("==12== killed\n", "I   refs:"), None);
        assert_eq!(hops_in("ab 20 clean\ncd 22 two words\n"), Some(42));
    }

    #[test]
    fn five_percent_of_instructions_or_a_miss_per_hop_are_too_much() {
        let known = Counts { instructions: 400.0, misses: 1.5 };
        let verdict = |instructions, misses| complaint("plain", Counts { instructions, misses }, Some(known));
        assert_eq!(verdict(411.0, 1.6), None);
        assert_eq!(verdict(420.0, 1.5).unwrap(), "plain: +5.0 % instructions per packet-hop");
        assert_eq!(verdict(380.0, 1.5).unwrap(), "plain: -5.0 % instructions per packet-hop");
        assert_eq!(verdict(404.0, 2.5).unwrap(), "plain: +1.00 cache misses per packet-hop");
        let both = "plain: +5.0 % instructions, +1.00 cache misses per packet-hop";
        assert_eq!(verdict(420.0, 2.5).unwrap(), both);
        assert_eq!(verdict(404.0, 0.5), None);
        assert_eq!(complaint("new", known, None).unwrap(), "new: no committed figures");
    }
}
