//! Measurement of one scenario on one number of threads.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::usage::Usage;

/// Counts of a run (equal for all repetitions), its shortest time and largest memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) scenario: String,
    pub(super) threads: u32,
    pub(super) packet_hops: u64,
    pub(super) events: u64,
    pub(super) digest: String,
    pub(super) usage: Usage,
}

impl Sample {
    /// Reads `summary.json` of a run; variants are added.
    pub(super) fn new(scenario: &str, threads: u32, summary: &Value, usage: Usage) -> Result<Self> {
        let variants = summary["variants"].as_array().context("a summary without variants")?;
        let sum = |key: &str| -> Result<u64> {
            let counts = variants.iter().map(|variant| variant[key].as_u64());
            counts.sum::<Option<u64>>().with_context(|| format!("a variant without {key}"))
        };
        let digests = variants.iter().map(|variant| variant["digest"].as_str());
        let digests = digests.collect::<Option<Vec<_>>>().context("a variant without digest")?;
        for variant in variants {
            let unfinished = variant["flows"].as_u64() != variant["finished"].as_u64();
            ensure!(
                !unfinished,
                "{scenario}: {} of {} flows finished",
                variant["finished"],
                variant["flows"]
            );
        }
        let sample = Self {
            scenario: scenario.to_owned(),
            threads,
            packet_hops: sum("packet_hops")?,
            events: sum("events")?,
            digest: digests.join(" "),
            usage,
        };
        ensure!(sample.packet_hops > 0, "{scenario} moved no packet");
        Ok(sample)
    }

    /// Adds a repetition: shortest time, largest memory. Its digest must be equal.
    pub(super) fn repeated(&mut self, again: &Self) -> Result<()> {
        ensure!(self.digest == again.digest, "{} differs from run to run", self.scenario);
        let (one, two) = (self.usage, again.usage);
        self.usage = Usage {
            cpu_s: one.cpu_s.min(two.cpu_s),
            wall_s: one.wall_s.min(two.wall_s),
            peak_bytes: one.peak_bytes.max(two.peak_bytes),
        };
        Ok(())
    }

    pub(super) fn hops_per_cpu_s(&self) -> f64 {
        self.packet_hops as f64 / self.usage.cpu_s
    }

    pub(super) fn events_per_hop(&self) -> f64 {
        self.events as f64 / self.packet_hops as f64
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "scenario": self.scenario,
            "threads": self.threads,
            "packet_hops": self.packet_hops,
            "events": self.events,
            "digest": self.digest,
            "cpu_s": self.usage.cpu_s,
            "wall_s": self.usage.wall_s,
            "peak_rss_bytes": self.usage.peak_bytes,
            "hops_per_cpu_s": self.hops_per_cpu_s(),
            "events_per_hop": self.events_per_hop(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_added() {
        let sample = Sample::new("x", 1, &json!({"variants": [variant(3), variant(4)]}), usage(2.0)).unwrap();
        assert_eq!((sample.packet_hops, sample.events, sample.digest.as_str()), (7, 14, "d3 d4"));
        assert!((sample.hops_per_cpu_s() - 3.5).abs() < 1e-9);
        assert!((sample.events_per_hop() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn an_incomplete_summary_is_refused() {
        let summaries =
            [json!({}), json!({"variants": []}), json!({"variants": [{"digest": "d", "events": 1}]})];
        for summary in summaries {
            assert!(Sample::new("x", 1, &summary, usage(1.0)).is_err(), "{summary}");
        }
        let mut unfinished = variant(3);
        unfinished["finished"] = json!(1);
        let error = Sample::new("x", 1, &json!({"variants": [unfinished]}), usage(1.0)).unwrap_err();
        assert_eq!(error.to_string(), "x: 1 of 2 flows finished");
    }

    #[test]
    fn the_best_of_several_runs_is_kept() {
        let run =
            |hops, cpu_s| Sample::new("x", 1, &json!({"variants": [variant(hops)]}), usage(cpu_s)).unwrap();
        let mut best = run(3, 2.0);
        best.repeated(&run(3, 1.0)).unwrap();
        assert_eq!(best.usage, Usage { cpu_s: 1.0, wall_s: 2.0, peak_bytes: 2_000_000 });
        assert!(run(3, 2.0).repeated(&run(4, 1.0)).is_err(), "another digest");
    }

    fn variant(hops: u64) -> Value {
        let digest = format!("d{hops}");
        json!({"packet_hops": hops, "events": 2 * hops, "digest": digest, "flows": 2, "finished": 2})
    }

    fn usage(cpu_s: f64) -> Usage {
        Usage { cpu_s, wall_s: 2.0 * cpu_s, peak_bytes: (cpu_s * 1e6) as u64 }
    }
}
