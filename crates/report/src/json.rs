//! `summary.json`.

use std::io::{self, Write};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use wiremend_measure::{Origin, Percentile, Quantiles, Summary, VariantSummary};

use crate::atomic_file::write_atomic;

/// The summary as JSON: one field per line, arrays of numbers on one line. Equal summaries give equal bytes.
pub fn to_json(summary: &Summary) -> String {
    use serde::Serialize as _;
    let mut bytes = Vec::new();
    let layout = Layout(PrettyFormatter::new());
    let mut summary = summary.clone();
    summary.variants.iter_mut().for_each(hide_percentiles);
    summary
        .serialize(&mut Serializer::with_formatter(&mut bytes, layout))
        .expect("a summary is plain values");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// Makes percentiles null that the sample does not carry: JSON has no number for NaN.
fn hide_percentiles(variant: &mut VariantSummary) {
    let flows = [&mut variant.fct_ns, &mut variant.slowdown].into_iter().map(|of| (variant.finished, of));
    let jobs = variant.jobs.iter_mut().map(|jobs| (jobs.finished, &mut jobs.jct_ns));
    let whole = flows.chain(jobs).filter_map(|(count, of)| Some((count, of.as_mut()?)));
    let by_size = variant.slowdown_by_size.iter_mut().map(|bin| (bin.flows, &mut bin.slowdown));
    for (count, quantiles) in whole.chain(by_size) {
        let hidden = |percentile| quantiles.carried(percentile, count).unwrap_or(f64::NAN);
        let [p50, p99, p999] = [Percentile::P50, Percentile::P99, Percentile::P999].map(hidden);
        *quantiles = Quantiles { p50, p99, p999, ..*quantiles };
    }
}

/// The origin of a run in one line of JSON, for the metadata of other files.
pub(crate) fn origin_json(summary: &Summary) -> String {
    let Summary { scenario, seed, seeds, version, origin, .. } = summary;
    serde_json::json!({
        "scenario": scenario, "seed": seed, "seeds": seeds, "version": version, "origin": origin,
    })
    .to_string()
}

/// What `summary.json` says about its run: enough to repeat and to compare it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct RunRecord {
    /// Version of the layout.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Number of seeds of each variant.
    pub seeds: u64,
    /// Version of the program.
    pub version: String,
    /// How the results were made.
    pub origin: Origin,
    variants: Vec<RecordedVariant>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
struct RecordedVariant {
    name: String,
    digest: String,
}

impl RunRecord {
    /// Returns the digest of a variant.
    pub fn digest(&self, variant: &str) -> Option<&str> {
        self.variants.iter().find(|found| found.name == variant).map(|found| found.digest.as_str())
    }
}

/// Reads the text of a `summary.json` in parts: what its run needs to be repeated, or all of it as a [`Summary`]. An
/// error is a fragment: what is missing.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Layout {
        schema: u32,
    }
    let layout: Layout =
        serde_json::from_str(text).map_err(|error| format!("not a summary of a run: {error}"))?;
    if layout.schema != Summary::SCHEMA {
        let (found, known) = (layout.schema, Summary::SCHEMA);
        return Err(format!("its layout is {found}, and this version reads layout {known}"));
    }
    serde_json::from_str(text).map_err(|error| format!("not a summary of a run: {error}"))
}

/// Writes `summary.json` atomically.
pub fn write_json(path: &Path, summary: &Summary) -> io::Result<()> {
    write_atomic(path, &to_json(summary))
}

/// Puts each object field on its own line; arrays stay on one line.
struct Layout(PrettyFormatter<'static>);

impl Formatter for Layout {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use wiremend_measure::{Collector, Counters};

    use super::*;
    use crate::sample;

    #[test]
    fn documented_fields_exist() {
        let text = to_json(&sample::summary());
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["schema"], 2);
        let variant = &value["variants"][0];
        for field in ["p50", "p99", "p999", "max", "mean"] {
            assert!(variant["fct_ns"][field].is_number(), "{field}");
            assert!(variant["slowdown"][field].is_number(), "{field}");
        }
        for cause in ["tail_packet", "tail_ack", "nak", "retransmission", "other", "dummy", "total"] {
            assert!(variant["timeouts"][cause].is_u64(), "{cause}");
        }
        for reason in ["buffer", "ttl", "no_connection"] {
            assert!(variant["dropped_frames"][reason].is_u64(), "{reason}");
        }
        for count in [
            "flows",
            "finished",
            "packets_sent",
            "packet_hops",
            "events",
            "whole_run_goodput_bps",
            "simulated_ns",
        ] {
            assert!(variant[count].is_u64(), "{count}");
        }
        assert_eq!(variant["digest"].as_str().unwrap().len(), 32);
        let points = variant["fct_cdf"].as_array().unwrap();
        assert_eq!(points.last().unwrap()[1], 1.0);
        assert_eq!(
            text.lines().filter(|line| line.contains("fct_cdf")).count(),
            value["variants"].as_array().unwrap().len()
        );
    }

    /// The numbers, the intervals and the tables come back; percentiles that the flows do not carry do not.
    #[test]
    fn a_summary_is_read_back() {
        let mut summary = sample::summary();
        summary.variants.push(sample::variant("few", 1, 0));
        summary.variants.last_mut().unwrap().finished = 600;
        let read: Summary = read_json(&to_json(&summary)).unwrap();
        assert_eq!(to_json(&read), to_json(&summary));
        assert_eq!(read.variants[0].fct_cdf, summary.variants[0].fct_cdf);
        assert!(read.variants.last().unwrap().fct_ns.unwrap().p999.is_nan());
        let other = to_json(&summary).replacen("\"schema\": 2", "\"schema\": 9", 1);
        assert!(read_json::<Summary>(&other).unwrap_err().contains("its layout is 9"));
        assert!(read_json::<Summary>("{\"schema\": 2}").unwrap_err().contains("missing field"));
    }

    /// 20 000 flows carry a 99.9th percentile; 600 carry a median and a 99th percentile only.
    #[test]
    fn a_percentile_that_flows_do_not_carry_is_null() {
        let mut summary = sample::summary();
        summary.variants = vec![sample::variant("many", 1, 0), sample::variant("few", 1, 0)];
        summary.variants[1].finished = 600;
        let value: Value = serde_json::from_str(&to_json(&summary)).unwrap();
        let [many, few] = [0, 1].map(|number| &value["variants"][number]["fct_ns"]);
        assert!(many["p999"].is_number() && few["p999"].is_null(), "{few}");
        assert!(few["p99"].is_number() && few["p50"].is_number() && few["max"].is_number(), "{few}");
    }

    #[test]
    fn completion_time_is_null_without_finished_flows() {
        let mut summary = sample::summary();
        summary.variants = vec![Collector::new().summary("none", &Counters::default())];
        let value: Value = serde_json::from_str(&to_json(&summary)).unwrap();
        assert!(value["variants"][0]["fct_ns"].is_null());
    }
}
