//! The Prometheus metrics of a relay.

use std::io::{Read, Write};
use std::net::TcpStream;

use wiremend_dataplane::net;

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
        for (request, code) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("HELO there\r\n\r\n", "400"),
        ] {
            assert!(get(request).0.starts_with(&format!("HTTP/1.1 {code}")), "{request}");
        }
        let endless = format!("GET /metrics HTTP/1.1\r\nX: {}", "y".repeat(10_000));
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

/// A name, its labels and a value.
type Sample = (String, String, String);

fn get(request: &str) -> (String, String) {
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
