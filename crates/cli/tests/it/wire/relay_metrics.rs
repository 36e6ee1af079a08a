//! The Prometheus metrics of a relay.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;
use wiremend_dataplane::net;
use wiremend_dataplane::relay::{self, Status};

use super::relay_net::{Chain, in_own_network, signal};
use super::{PATIENCE, eventually};

#[test]
fn metrics_are_what_prometheus_reads() {
    in_own_network(|| {
        net::loopback_up().unwrap();
        let chain = Chain::new();
        let _relays =
            [chain.start(0, &["--active", "--metrics-listen", "9469"]), chain.start(1, &["--active"])];
        chain.await_protection();
        assert!(chain.crosses());
        let (head, body) = get("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"),
            "{head}"
        );
        let samples = parsed(&body);
        let value = |name: &str, labels: &str| {
            let found = samples.iter().find(|sample| sample.0 == name && sample.1 == labels);
            found.unwrap_or_else(|| panic!("{name}{{{labels}}} in {body}")).2.clone()
        };
        assert!(samples.iter().any(|(name, labels, one)| name == "wiremend_build_info"
            && labels.starts_with("version=")
            && one == "1"));
        assert_eq!(value("wiremend_relay_up", "device=\"w1\""), "1");
        assert_eq!(value("wiremend_relay_sending_protected", "device=\"w1\""), "1");
        assert!(value("wiremend_relay_protected_frames_total", "device=\"w1\"") != "0");
        assert!(value("wiremend_relay_receive_frames_total", "device=\"l1\"") != "0");
        assert_eq!(value("wiremend_relay_carrier", "device=\"l1\""), "1");
        assert_eq!(value("wiremend_relay_recovery_delay_seconds_bucket", "device=\"w1\",le=\"+Inf\""), "0");
        // A link that loses nothing has no loss ratio.
        let mut status: Status = serde_json::from_value(chain.await_status(0, |_| true)).unwrap();
        status.loss = Some(1e-3);
        let missing = missing_in(&parsed(&relay::metrics::text("1", "w1", 0, Some(&status))));
        assert!(
            missing.is_empty(),
            "alerts and dashboard ask for {missing:?}, which the relay does not export"
        );
        for (request, code) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("HELO there\r\n\r\n", "400"),
        ] {
            assert!(get(request).0.starts_with(&format!("HTTP/1.1 {code}")), "{request}");
        }
        let endless = format!("GET /metrics HTTP/1.1\r\nX: {}", "y".repeat(20_000));
        assert!(get(&endless).0.starts_with("HTTP/1.1 431"));
        signal("KILL", chain.carrier(0));
        assert!(eventually(|| {
            let restarts = ("wiremend_relay_restarts_total", "device=\"w1\"", "1");
            parsed(&get("GET /metrics HTTP/1.1\r\n\r\n").1)
                .iter()
                .any(|(name, labels, value)| (name.as_str(), labels.as_str(), value.as_str()) == restarts)
        }));
    });
}

/// Metrics that alerts and the dashboard of relays ask for and these samples lack. Checks labels of legends, too.
fn missing_in(samples: &[Sample]) -> Vec<String> {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let read = |file: &str| fs::read_to_string(deploy.join(file)).unwrap();
    let rules = read("prometheus/wiremend.rules.yml");
    let mut queries: Vec<String> = rules
        .lines()
        .filter_map(|line| line.split_once("expr: "))
        .map(|(_, query)| query.to_owned())
        .collect();
    let dashboard: Value = serde_json::from_str(&read("grafana/wiremend-relays.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    for target in targets {
        let query = target["expr"].as_str().unwrap();
        assert!(query.contains("wiremend_relay_"), "{query}");
        queries.push(query.to_owned());
        // A legend shows a label of the samples, or the machine, which Prometheus adds.
        for label in target["legendFormat"].as_str().unwrap().split("{{").skip(1) {
            let (label, _) = label.split_once("}}").unwrap();
            let known = |labels: &str| labels.split(',').any(|one| one.starts_with(&format!("{label}=\"")));
            let name = names(query).remove(0);
            assert!(
                label == "instance" || samples.iter().any(|sample| sample.0 == name && known(&sample.1)),
                "{name} has no label {label}"
            );
        }
    }
    assert!(panels.len() > 12);
    let asked = queries.iter().flat_map(|query| names(query));
    asked.filter(|name| samples.iter().all(|sample| sample.0 != *name)).collect()
}

/// Names of metrics of relays in a query.
fn names(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("wiremend_relay_")).map(str::to_owned).collect()
}

/// A name, its labels and a value.
type Sample = (String, String, String);

pub(super) fn get(request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", 9469)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    // The unread rest of an oversized request resets the connection after the response.
    let _ = stream.read_to_string(&mut answer);
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    (head.to_owned(), body.to_owned())
}

/// Parses the exposition format strictly: names, types before samples, no duplicate sample, and histograms that
/// are cumulative.
fn parsed(text: &str) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    let (mut family, mut kind) = (String::new(), String::new());
    let mut seen = Vec::new();
    let named = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            help.split_once(' ').expect("help says something").0.clone_into(&mut family);
            assert!(named(&family) && !seen.contains(&family), "{line}");
            seen.push(family.clone());
            continue;
        }
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, its) = typed.split_once(' ').unwrap();
            assert!(name == family && ["counter", "gauge", "histogram"].contains(&its), "{line}");
            its.clone_into(&mut kind);
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap();
        let labels = labels.strip_suffix('}').unwrap();
        let base = match kind.as_str() {
            "histogram" => {
                ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap()
            }
            _ => name,
        };
        assert_eq!(base, family, "{line}");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        assert!(labels.split(',').all(|label| {
            label.split_once('=').is_some_and(|(key, value)| {
                named(key) && value.len() >= 2 && value.starts_with('"') && value.ends_with('"')
            })
        }));
        assert!(
            samples.iter().all(|(other, its, _)| (other.as_str(), its.as_str()) != (name, labels)),
            "twice: {line}"
        );
        let number: f64 = value.parse().unwrap();
        if name.ends_with("_bucket")
            && let Some((before, _, last)) = samples.last()
            && before == name
        {
            assert!(last.parse::<f64>().unwrap() <= number, "{line}");
        }
        samples.push((name.to_owned(), labels.to_owned(), value.to_owned()));
    }
    samples
}
