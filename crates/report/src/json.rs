//! `summary.json`.

use std::io::{self, Write};
use std::path::Path;

use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use wiremend_measure::Summary;

use crate::atomic_file::write_atomic;

/// The summary as JSON: one field per line, arrays of numbers on one line. Equal summaries give equal bytes.
pub fn to_json(summary: &Summary) -> String {
    use serde::Serialize as _;
    let mut bytes = Vec::new();
    let layout = Layout(PrettyFormatter::new());
    summary
        .serialize(&mut Serializer::with_formatter(&mut bytes, layout))
        .expect("a summary is plain values");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
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
        assert_eq!(value["schema"], 1);
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
        for count in
            ["flows", "finished", "packets_sent", "packet_hops", "events", "goodput_bps", "simulated_ns"]
        {
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

    #[test]
    fn completion_time_is_null_without_finished_flows() {
        let mut summary = sample::summary();
        summary.variants = vec![Collector::new().summary("none", &Counters::default())];
        let value: Value = serde_json::from_str(&to_json(&summary)).unwrap();
        assert!(value["variants"][0]["fct_ns"].is_null());
    }
}
