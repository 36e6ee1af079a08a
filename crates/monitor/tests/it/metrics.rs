//! Metrics, alert rules and the dashboard, checked with promtool.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wiremend_monitor::planner::FabricSummary;
use wiremend_monitor::service::{AdvisedLinkMetrics, DaemonMetrics, PlannerMetrics, PortMetrics};
use wiremend_monitor::{ActionCounts, FrameSample, UnusedReadings};

#[test]
fn metrics_pass_promtool() {
    for page in pages() {
        let Some((good, messages)) = promtool(&["check", "metrics"], &page) else { return };
        assert!(good && messages.is_empty(), "{messages}\n{page}");
    }
}

#[test]
fn alert_rules_pass_promtool() {
    let rules = deploy().join("prometheus/wiremend.rules.yml");
    let Some((good, messages)) = promtool(&["check", "rules", rules.to_str().unwrap()], "") else { return };
    assert!(good, "{messages}");
}

/// Every alert fires when it should, also when its series are gone, and not before.
#[test]
fn alerts_fire_when_they_should() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/alerts.yml");
    let text = fs::read_to_string(&tests).unwrap();
    for alert in alerts() {
        assert!(
            text.matches(&format!("{{alertname=\"{alert}\",")).count() >= 2,
            "{alert} fires and does not"
        );
    }
    let Some((good, messages)) = promtool(&["test", "rules", tests.to_str().unwrap()], "") else { return };
    assert!(good, "{messages}");
}

/// Every alert links to its section of the runbook, and every section belongs to an alert.
#[test]
fn alerts_have_a_section_in_the_runbook() {
    let rules = fs::read_to_string(deploy().join("prometheus/wiremend.rules.yml")).unwrap();
    let runbook = fs::read_to_string(deploy().join("../docs/operate/alerts.md")).unwrap();
    let sections: Vec<&str> = runbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, alerts());
    for alert in alerts() {
        let anchor = format!("/docs/operate/alerts.md#{}\"", alert.to_lowercase());
        assert!(rules.contains(&anchor), "{anchor}");
        let section = runbook.split(&format!("## {alert}\n")).nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        for part in ["**Meaning**", "**Look at**", "**Do**"] {
            assert!(section.contains(part), "{part} of {alert}");
        }
    }
}

/// A query for a missing metric returns nothing, and its alert never fires.
#[test]
fn alerts_and_dashboard_use_existing_metrics() {
    let known: BTreeSet<String> = pages().iter().flat_map(|page| families(page)).collect();
    let mut asked = BTreeSet::new();
    let rules = fs::read_to_string(deploy().join("prometheus/wiremend.rules.yml")).unwrap();
    for line in rules.lines() {
        if let Some((_, query)) = line.split_once("expr: ") {
            asked.extend(names(query));
        }
    }
    let dashboard = fs::read_to_string(deploy().join("grafana/wiremend-links.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            asked.extend(names(target["expr"].as_str().unwrap()));
        }
    }
    // A test of the program compares those of relays with a running one.
    let unknown: Vec<&String> =
        asked.difference(&known).filter(|name| !name.starts_with("wiremend_relay_")).collect();
    assert!(unknown.is_empty(), "{unknown:?} is not among {known:?}");
    assert!(asked.len() > 15 && panels.len() > 10, "{asked:?}");
}

/// The sample configurations in `deploy` parse.
#[test]
fn sample_configurations_are_valid() {
    let text = fs::read_to_string(deploy().join("monitor.toml")).unwrap();
    let config = wiremend_monitor::DaemonConfig::parse(&text).unwrap();
    assert_eq!(config.act.mode, wiremend_monitor::DaemonMode::Observe);
    let all = text
        .replace("# [[link]]", "[[link]]")
        .replace("# port", "port")
        .replace("# peer", "peer")
        .replace("# source", "source");
    assert_eq!(wiremend_monitor::DaemonConfig::parse(&all).unwrap().links.len(), 4);
    let text = fs::read_to_string(deploy().join("planner.toml")).unwrap();
    let config = wiremend_monitor::planner::PlannerConfig::parse(&text).unwrap();
    assert!(!config.limits.binding);
}

/// Pages with every metric.
fn pages() -> [String; 2] {
    let port = PortMetrics {
        total: FrameSample { frames: 1_000_000, errors: 3 },
        loss: 3e-6,
        loss_low: 1e-7,
        corrupting: true,
        down: false,
        unread: false,
        held: true,
        peer_silent: false,
        copies: 2,
        unused_readings: UnusedReadings::default(),
        expected_loss: Some(1e-9),
        corruption_expected: false,
        bit_error_ratio: Some(1e-5),
    };
    let daemon = DaemonMetrics {
        ports: vec![port.clone(), PortMetrics::default()],
        counts: ActionCounts { actions: 1, failures: 0, invalid_records: 2 },
        holds_lease: true,
        polls: 9,
        poll_seconds: 0.25,
        connected: true,
        disconnects: 1,
    };
    let advised = AdvisedLinkMetrics {
        node: "leaf-1".to_owned(),
        device: "eth0".to_owned(),
        peer: "spine-3:eth7".to_owned(),
        action: "drain",
        loss: 1e-3,
    };
    let planner = PlannerMetrics {
        leading: true,
        links: 100,
        summary: FabricSummary { corrupting: 1, drain: 1, ..FabricSummary::default() },
        advised: vec![advised],
        silent_nodes: vec!["leaf-9".to_owned()],
        ..PlannerMetrics::default()
    };
    let devices = ["eth0", "eth\"1"].map(str::to_owned);
    [daemon.page("0.1.0", &devices), planner.page("0.1.0")]
}

fn alerts() -> Vec<String> {
    let rules = fs::read_to_string(deploy().join("prometheus/wiremend.rules.yml")).unwrap();
    rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).map(str::to_owned).collect()
}

fn families(page: &str) -> Vec<String> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn names(query: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = query.split(|c| !is_part(c));
    words.filter(|word| word.starts_with("wiremend_")).map(str::to_owned).collect()
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// Runs promtool. Returns success and stderr; `None` if it is not installed and not required.
fn promtool(arguments: &[&str], stdin: &str) -> Option<(bool, String)> {
    let started = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if crate::test_redis::may_lack() => {
            eprintln!("skipped: promtool: {error}");
            return None;
        }
        Err(error) => panic!("promtool: {error}"),
    };
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.success(), messages))
}
