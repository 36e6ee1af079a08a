//! What operators see: metrics, alert rules and a dashboard, judged by Prometheus' own tool.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wiremend_monitor::control::Overview;
use wiremend_monitor::service::{AdvisedReadout, PlannerReadout, PortReadout, Readout};
use wiremend_monitor::{Sample, Tally, Untold};

#[test]
fn metrics_are_what_prometheus_wants() {
    for page in pages() {
        let Some((good, said)) = promtool(&["check", "metrics"], &page) else { return };
        assert!(good && said.is_empty(), "{said}\n{page}");
    }
}

#[test]
fn rules_are_what_prometheus_wants() {
    let rules = deploy().join("prometheus/wiremend.rules.yml");
    let Some((good, said)) = promtool(&["check", "rules", rules.to_str().unwrap()], "") else { return };
    assert!(good, "{said}");
}

/// A query for a metric that nobody has shows nothing, and an alert on it never fires.
#[test]
fn alerts_and_dashboard_ask_for_metrics_that_exist() {
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
    let unknown: Vec<&String> = asked.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?} is not among {known:?}");
    assert!(asked.len() > 15 && panels.len() > 10, "{asked:?}");
}

/// Files that are given to operators are read by what they are for.
#[test]
fn samples_of_files_are_understood() {
    let text = fs::read_to_string(deploy().join("monitor.toml")).unwrap();
    let config = wiremend_monitor::Config::parse(&text).unwrap();
    assert_eq!(config.conduct.mode, wiremend_monitor::Mode::Observe);
    let sonic = text
        .replace("# [[link]]", "[[link]]")
        .replace("# port", "port")
        .replace("# peer", "peer")
        .replace("# source", "source");
    assert_eq!(wiremend_monitor::Config::parse(&sonic).unwrap().links.len(), 2);
    let text = fs::read_to_string(deploy().join("planner.toml")).unwrap();
    let config = wiremend_monitor::control::ControlConfig::parse(&text).unwrap();
    assert!(!config.limits.binding);
}

/// With all that can be in them.
fn pages() -> [String; 2] {
    let port = PortReadout {
        total: Sample { frames: 1_000_000, errors: 3 },
        loss: 3e-6,
        loss_low: 1e-7,
        corrupting: true,
        down: false,
        copies: 2,
        untold: Untold::default(),
        expected: Some(1e-9),
        foreseen: false,
        bit_errors: Some(1e-5),
    };
    let daemon = Readout {
        ports: vec![port.clone(), PortReadout::default()],
        tally: Tally { acts: 1, failures: 0, senseless: 2 },
        speaks: true,
        polls: 9,
        poll_seconds: 0.25,
        connected: true,
        disconnects: 1,
    };
    let advised = AdvisedReadout {
        node: "leaf-1".to_owned(),
        device: "eth0".to_owned(),
        peer: "spine-3:eth7".to_owned(),
        action: "drain",
        loss: 1e-3,
    };
    let planner = PlannerReadout {
        leads: true,
        links: 100,
        overview: Overview { corrupting: 1, drain: 1, ..Overview::default() },
        advised: vec![advised],
        ..PlannerReadout::default()
    };
    let devices = ["eth0", "eth\"1"].map(str::to_owned);
    [daemon.page("0.1.0", &devices), planner.page("0.1.0")]
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

/// Whether it is content, and what it says. `None` where it is not installed, and need not be.
fn promtool(arguments: &[&str], stdin: &str) -> Option<(bool, String)> {
    let started = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if crate::redis::may_lack() => {
            eprintln!("skipped: promtool: {error}");
            return None;
        }
        Err(error) => panic!("promtool: {error}"),
    };
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.success(), said))
}
