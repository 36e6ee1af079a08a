//! `wiremend tune`: the cheapest mechanisms that reach a target, or the best possible ones.

use serde_json::Value;

use crate::program::{assert_has, rows, wiremend, words};

fn number(json: &Value, path: &str) -> f64 {
    json.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {json}"))
}

const WEBSEARCH: [&str; 7] =
    ["tune", "--beta", "1e-3", "--workload", "websearch", "--target-timeout", "1e-6"];

#[test]
fn parameters_are_named_with_their_price() {
    let text = wiremend(&WEBSEARCH).ok();
    assert_has(
        &text,
        "Use      1 dummy, 1 NAK copy, 2 retransmission copies | Costs    0.2 | nothing | added bytes",
    );
    let json = wiremend(&[&WEBSEARCH[..], &["--json"]].concat()).json();
    assert_eq!(json["reached"], true);
    assert!(number(&json, "/chosen/timeout_probability") <= 1e-6);
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(5), "from nothing, four packets");
    let frontier = json["frontier"].as_array().expect("a list");
    let costs: Vec<f64> = frontier.iter().map(|choice| number(choice, "/bytes")).collect();
    let missed: Vec<f64> = frontier.iter().map(|choice| number(choice, "/missed")).collect();
    assert!(costs.is_sorted() && missed.iter().rev().is_sorted(), "{frontier:?}");
}

/// `tune` and `model` compute the same for the same parameters.
#[test]
fn tune_and_model_agree() {
    let tuned = wiremend(&[&WEBSEARCH[..], &["--json"]].concat()).json();
    let chosen = |key: &str| format!("{}", tuned["chosen"][key].as_u64().expect("a count"));
    let (dummies, naks, copies) = (chosen("dummies"), chosen("nak_copies"), chosen("retransmission_copies"));
    let arguments = ["model", "--beta", "1e-3", "--nak-reaction", "unknown", "--json", "--dummies", &dummies];
    let more = ["--nak-copies", &naks, "--retransmission-copies", &copies];
    let model = wiremend(&[&arguments[..], &more].concat()).json();
    let ratio = number(&tuned, "/chosen/timeout_probability")
        / number(&model, "/per_flow/mended/timeout_probability");
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    let ratio = number(&tuned, "/chosen/bytes") / number(&model, "/bytes_all/forward");
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// With gaps on a shared queue pair, delayed dummies are cheaper, if the target allows them.
#[test]
fn dummies_wait_if_the_target_allows() {
    let ask = ["tune", "--beta", "1e-2", "--bytes", "4KiB", "--gap", "1ms", "--hold-max", "200us", "--json"];
    let slow = wiremend(&[&ask[..], &["--target-p9999", "250us"]].concat()).json();
    let fast = wiremend(&[&ask[..], &["--target-p9999", "60us"]].concat()).json();
    assert!((number(&slow, "/chosen/hold_s") - 2e-4).abs() < 1e-9);
    assert!(number(&fast, "/chosen/hold_s") < 6e-5);
    assert!(number(&slow, "/chosen/work_requests") < number(&fast, "/chosen/work_requests"));
}

/// Switches cannot copy packets before the link of the sending host, so two losses there cause a timeout.
#[test]
fn an_impossible_target_is_answered_with_the_best_result() {
    let ask =
        ["tune", "--beta", "1e-2", "--access-links", "1", "--bytes", "4KiB", "--target-timeout", "1e-12"];
    let ended = wiremend(&ask);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("impossible with up to 6 of each"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Nearest  "), "{}", ended.stdout);
    let json: Value = serde_json::from_str(&wiremend(&[&ask[..], &["--json"]].concat()).stdout).unwrap();
    assert!(json["chosen"].is_null() && number(&json, "/best/missed") > 1e-4);
}

/// One timeout in twenty million flows is too rare to count: the simulation raises the loss, and the scenario repeats it.
#[test]
fn a_rare_timeout_is_confirmed_at_raised_rates() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = folder.path().join("promise.toml");
    let scenario = scenario.to_str().expect("a name");
    let more = ["--verify", "--verify-for", "500ms", "--verify-scenario", scenario, "--json"];
    let json = wiremend(&[&WEBSEARCH[..], &more].concat()).json();
    let verified = &json["verified"];
    assert_eq!(verified["verdict"], "confirmed", "{verified}");
    let promised = number(&json, "/chosen/timeout_probability");
    assert!(number(verified, "/interval/0") <= promised && promised <= number(verified, "/interval/1"));
    assert!(number(verified, "/direct/interval/1") > 1e-4, "counting alone says nothing");
    let trials = verified["trials"].as_array().expect("a list");
    assert!(trials.len() >= 3 && trials[0]["requested"] == true);
    let name = trials[1]["name"].as_str().expect("a name");
    let run = wiremend(&["run", scenario, "--variant", name, "--seeds", "4", "--json"]).json();
    assert_eq!(run["variants"][0]["timeouts"]["total"], trials[1]["all"]);
    assert_eq!(run["variants"][0]["flows"], trials[1]["flows"]);
}

#[test]
fn a_verification_is_told_in_a_table_and_a_sentence() {
    let ask = ["tune", "--beta", "1e-2", "--bytes", "2KiB", "--target-timeout", "1e-3"];
    let text = wiremend(&[&ask[..], &["--verify", "--verify-for", "500ms"]].concat()).ok();
    assert_has(
        &text,
        "Use      1 dummy | counted (expected) | β = 0.01, 2.048kB | yes | Confirmed:  | timeouts",
    );
}

/// A completion time is measured at the given loss. On a shared queue pair flows wait for one that waits for its timer; the
/// model ignores that, and the simulation does not.
#[test]
fn a_completion_time_is_counted() {
    let ask = ["tune", "--bytes", "10KiB", "--verify", "--verify-for", "500ms", "--target-p999", "60us"];
    let alone = wiremend(&[&ask[..], &["--beta", "1e-3"]].concat()).ok();
    assert!(alone.contains("Confirmed: p99.9 of "), "{alone}");
    let shared = wiremend(&[&ask[..], &["--beta", "1e-2", "--gap", "1ms", "--json"]].concat());
    assert_eq!(shared.code, Some(1), "{}", shared.stderr);
    let json: Value = serde_json::from_str(&shared.stdout).unwrap();
    assert_eq!((&json["reached"], &json["verified"]["verdict"]), (&true.into(), &"not confirmed".into()));
    assert!(number(&json, "/verified/quantile_s") > 60e-6);
}

#[test]
fn impossible_targets_are_refused() {
    for [arguments, remedy] in rows(
        "
        tune --beta 1e-3 | --target-timeout
        tune --target-timeout 1e-6 | give --beta 1e-3
        tune --beta 1e-3 --target-timeout 0 | give a small one
        tune --beta 1e-3 --target-timeout 2 | between 0 and 1
        tune --beta 1e-3 --workload websearch --target-p999 100us | 100 µs is below the time of websearch on a clean link: p99.9 is 2.
        tune --beta 1e-3 --target-timeout 1e-6 --target-p999 1s | cannot be used with
        tune --beta 1e-3 --omega 7 --target-timeout 1e-6 | between 0 and 1
        tune --beta 1e-3 --target-timeout 1e-6 --verify-seed 2 | --verify
        tune --beta 1e-3 --target-timeout 1e-6 --verify --verify-for 0s | from 100ms to 86400s
        tune --beta 1e-3 --target-timeout 1e-6 --verify --omega 0.5 | --omega 1
        tune --beta 1e-3 --target-timeout 1e-6 --verify --next at-once | give it as --bytes
        tune --beta 1e-3 --target-timeout 1e-6 --verify --gap 10us | of the link; at most 95 %
        tune --beta 1e-3 --target-timeout 1e-6 --verify --rtt 30ns | --rtt: 3 links at this rate have a round trip of
    ",
    ) {
        wiremend(&words(&arguments)).refused_for(2, &remedy);
    }
}
