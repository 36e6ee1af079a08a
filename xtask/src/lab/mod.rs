//! `cargo xtask lab`: performance of TCP and RoCE over protected links on real interfaces.
//!
//! Tests check results that do not depend on the machine. These measurements do, so they need an idle machine and
//! are not part of `cargo xtask test`.

mod outage;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::ledger;
use crate::shell::{self, call};

pub(crate) use outage::{receive, send};

/// The parts; all are measured by default.
pub(crate) const PARTS: [&str; 6] = ["tcp", "auto", "outage", "roce", "peer", "claims"];

/// Measures the given parts, or all, and prints each measurement with its criterion.
pub(crate) fn run(parts: &[String]) -> Result<()> {
    let program = shell::build("release")?;
    let mut missed = 0;
    for part in PARTS.iter().filter(|part| parts.is_empty() || parts.iter().any(|asked| asked == *part)) {
        let measurements = match *part {
            "tcp" => tcp(&program)?,
            "auto" => auto(&program)?,
            "outage" => outage::measurements(&program)?,
            "roce" => roce(&program)?,
            "peer" => peer(&program)?,
            _ => {
                ledger::compare(&program, |id| ledger::REAL_TIME.contains(&id))?;
                Vec::new()
            }
        };
        for measurement in &measurements {
            println!("{}", measurement.line());
        }
        missed += measurements.iter().filter(|measurement| !measurement.is_met()).count();
    }
    ensure!(missed == 0, "{missed} criteria are missed; check that the machine is idle");
    Ok(())
}

struct Measurement {
    what: String,
    value: f64,
    unit: &'static str,
    bound: Bound,
}

enum Bound {
    Least(f64),
    Most(f64),
}

use Bound::{Least, Most};

impl Measurement {
    fn new(what: impl Into<String>, value: f64, unit: &'static str, bound: Bound) -> Self {
        Self { what: what.into(), value, unit, bound }
    }

    fn is_met(&self) -> bool {
        match self.bound {
            Least(least) => self.value >= least,
            Most(most) => self.value <= most,
        }
    }

    fn line(&self) -> String {
        let Self { what, value, unit, bound } = self;
        let (word, bound) = match bound {
            Least(least) => ("at least", least),
            Most(most) => ("at most", most),
        };
        let verdict = if self.is_met() { "met" } else { "MISSED" };
        format!("{what}: {value:.3}{unit} ({word} {bound:.3}{unit}): {verdict}")
    }
}

/// CUBIC over a corrupting link: goodput relative to the clean link, and the 99.9th percentile of requests.
fn tcp(program: &Path) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for (loss, protected, corrupting) in [("1e-3", 0.95, 0.75), ("1e-2", 0.90, 0.30)] {
        let all = shell::json(&mut call(program, &format!("lab tcp --loss {loss} --cc cubic --json")))?;
        let bps = |state: usize| number(&all["goodputs"][0]["states"][state]["median_bps"]);
        let p999 = |state: usize| number(&all["latencies"][state]["times"]["p999_ns"]);
        let name = |what: &str| format!("TCP at {loss}: {what}");
        measurements.extend([
            Measurement::new(name("goodput protected, of clean"), bps(2)? / bps(0)?, "", Least(protected)),
            Measurement::new(name("goodput corrupting, of clean"), bps(1)? / bps(0)?, "", Most(corrupting)),
            Measurement::new(
                name("p99.9 of requests corrupting, of protected"),
                p999(1)? / p999(2)?,
                "",
                Least(2.0),
            ),
            Measurement::new(
                name("rate of the link, of what the machine carries"),
                number(&all["rate_bps"])? / number(&all["capacity_bps"])?,
                "",
                Most(0.5005),
            ),
        ]);
    }
    Ok(measurements)
}

fn auto(program: &Path) -> Result<Vec<Measurement>> {
    let all = shell::json(&mut call(program, "lab auto --json"))?;
    let took = number(&all["protected_s"])? - number(&all["corrupts_s"])?;
    Ok(vec![Measurement::new("daemons: from the first corrupted frame to protection", took, " s", Most(3.0))])
}

/// RoCE of an unmodified kernel has timeouts without protection and none with it.
fn roce(program: &Path) -> Result<Vec<Measurement>> {
    let all = shell::json(&mut call(
        program,
        "lab roce --fetch --rounds 2 --messages 150 --bulk-messages 40 --json",
    ))?;
    let numbers = |state: usize, key: &str| -> Result<Vec<f64>> {
        let list = all["states"][state][key].as_array().with_context(|| format!("the lab has no {key}"))?;
        list.iter().map(number).collect()
    };
    let sum = |state: usize, key: &str| Ok::<f64, anyhow::Error>(numbers(state, key)?.iter().sum());
    let seen = number(&all["timeout_seen_ns"])?;
    // As `RoceState` numbers them.
    let [clean, corrupting, protected] = [1, 2, 3];
    let longest = numbers(protected, "max_ns")?.into_iter().fold(0.0, f64::max);
    let rounds = numbers(corrupting, "max_ns")?.len() as f64;
    Ok(vec![
        Measurement::new(
            "RoCE: longest wait corrupting, of its timeout",
            sum(corrupting, "max_ns")? / rounds / seen,
            "",
            Least(0.8),
        ),
        Measurement::new("RoCE: longest wait protected, of its timeout", longest / seen, "", Most(0.5)),
        Measurement::new(
            "RoCE: retries protected",
            sum(protected, "retries")?,
            "",
            Most(sum(clean, "retries")? + 3.0),
        ),
        Measurement::new(
            "RoCE: bandwidth protected, of clean",
            sum(protected, "mib_per_s")? / sum(clean, "mib_per_s")?,
            "",
            Least(0.7),
        ),
    ])
}

/// `wiremend peer` beside soft-RoCE between the same guests.
fn peer(program: &Path) -> Result<Vec<Measurement>> {
    let all = shell::json(&mut call(program, "lab peer --fetch --json"))?;
    let name = |what: &str| format!("peer: {what}, of the kernel's");
    Ok(vec![
        Measurement::new(name("bandwidth"), number(&all["bandwidth_ratio"])?, "", Least(0.6)),
        Measurement::new(name("half round trip"), number(&all["latency_ratio"])?, "", Most(2.0)),
    ])
}

fn number(value: &Value) -> Result<f64> {
    value.as_f64().with_context(|| format!("the lab printed {value} instead of a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_printed_with_its_criterion() {
        let measurement = Measurement::new("goodput", 0.97, "", Least(0.95));
        assert_eq!(measurement.line(), "goodput: 0.970 (at least 0.950): met");
        let measurement = Measurement::new("outage", 2.5, " s", Most(1.0));
        assert_eq!(measurement.line(), "outage: 2.500 s (at most 1.000 s): MISSED");
        assert!(!measurement.is_met());
    }
}
