//! Measurement of one scenario on one number of threads.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::usage::Usage;

/// Counts of a case (equal for all repetitions), and the usage of each repetition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) case: String,
    pub(super) threads: u32,
    pub(super) packet_hops: u64,
    pub(super) events: u64,
    pub(super) digest: String,
    pub(super) usages: Vec<Usage>,
}

impl Sample {
    /// Reads `summary.json` of a run; variants are added.
    pub(super) fn new(case: &str, threads: u32, summary: &Value, usage: Usage) -> Result<Self> {
        let variants = summary["variants"].as_array().context("a summary without variants")?;
        let sum = |key: &str| -> Result<u64> {
            let counts = variants.iter().map(|variant| variant[key].as_u64());
            counts.sum::<Option<u64>>().with_context(|| format!("a variant without {key}"))
        };
        let digests = variants.iter().map(|variant| variant["digest"].as_str());
        let digests = digests.collect::<Option<Vec<_>>>().context("a variant without digest")?;
        for variant in variants {
            // A scenario with a time limit cuts its last flows.
            let cut = variant["failed"]["time_limit"].as_u64().unwrap_or(0);
            let ended = variant["finished"].as_u64().map(|finished| finished + cut);
            ensure!(
                variant["flows"].as_u64() == ended,
                "{case}: {} of {} flows finished",
                variant["finished"],
                variant["flows"]
            );
        }
        let sample = Self {
            case: case.to_owned(),
            threads,
            packet_hops: sum("packet_hops")?,
            events: sum("events")?,
            digest: digests.join(" "),
            usages: vec![usage],
        };
        ensure!(sample.packet_hops > 0, "{case} moved no packet");
        Ok(sample)
    }

    /// Adds a repetition. Its digest must be equal.
    pub(super) fn repeated(&mut self, again: &Self) -> Result<()> {
        ensure!(self.digest == again.digest, "{} differs from run to run", self.case);
        self.usages.extend(&again.usages);
        Ok(())
    }

    /// Returns the median, least and greatest value over the repetitions.
    pub(super) fn spread(&self, value: impl Fn(&Usage) -> f64) -> Spread {
        let mut values: Vec<f64> = self.usages.iter().map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        Spread { median: values[values.len() / 2], least: values[0], greatest: values[values.len() - 1] }
    }

    pub(super) fn hops_per_cpu_s(&self) -> Spread {
        self.spread(|usage| self.packet_hops as f64 / usage.cpu_s)
    }

    pub(super) fn peak_bytes(&self) -> u64 {
        self.usages.iter().map(|usage| usage.peak_bytes).max().unwrap_or(0)
    }

    pub(super) fn events_per_hop(&self) -> f64 {
        self.events as f64 / self.packet_hops as f64
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "case": self.case,
            "threads": self.threads,
            "packet_hops": self.packet_hops,
            "events": self.events,
            "digest": self.digest,
            "cpu_s": self.spread(|usage| usage.cpu_s).to_json(),
            "wall_s": self.spread(|usage| usage.wall_s).to_json(),
            "peak_rss_bytes": self.peak_bytes(),
            "hops_per_cpu_s": self.hops_per_cpu_s().to_json(),
            "events_per_hop": self.events_per_hop(),
        })
    }
}

/// The median of several values, and their range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) greatest: f64,
}

impl Spread {
    fn to_json(self) -> Value {
        json!({ "median": self.median, "min": self.least, "max": self.greatest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_added() {
        let sample = Sample::new("x", 1, &json!({"variants": [variant(3), variant(4)]}), usage(2.0)).unwrap();
        assert_eq!((sample.packet_hops, sample.events, sample.digest.as_str()), (7, 14, "d3 d4"));
        assert!((sample.hops_per_cpu_s().median - 3.5).abs() < 1e-9);
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
        let mut cut = variant(3);
        (cut["finished"], cut["failed"]) = (json!(1), json!({"time_limit": 1}));
        assert!(Sample::new("x", 1, &json!({"variants": [cut]}), usage(1.0)).is_ok());
    }

    #[test]
    fn repetitions_give_a_median_and_a_range() {
        let run =
            |hops, cpu_s| Sample::new("x", 1, &json!({"variants": [variant(hops)]}), usage(cpu_s)).unwrap();
        let mut sample = run(3, 2.0);
        sample.repeated(&run(3, 1.0)).unwrap();
        sample.repeated(&run(3, 4.0)).unwrap();
        let spread = Spread { median: 2.0, least: 1.0, greatest: 4.0 };
        assert_eq!((sample.spread(|usage| usage.cpu_s), sample.peak_bytes()), (spread, 4_000_000));
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
