//! `wiremend tune`: the cheapest mechanisms that reach a target, or what can be reached.

use serde_json::Value;

use crate::program::wiremend;

fn number(json: &Value, path: &str) -> f64 {
    json.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {json}"))
}

const WEBSEARCH: [&str; 7] =
    ["tune", "--beta", "1e-3", "--workload", "websearch", "--target-timeout", "1e-6"];

#[test]
fn parameters_are_named_with_their_price() {
    let text = wiremend(&WEBSEARCH).ok();
    for part in
        ["Take     1 dummy, 1 NAK copy, 2 retransmission copies", "Costs    0.2", "nothing", "bytes added"]
    {
        assert!(text.contains(part), "`{part}` in {text}");
    }
    let json = wiremend(&[&WEBSEARCH[..], &["--json"]].concat()).json();
    assert_eq!(json["reached"], true);
    assert!(number(&json, "/chosen/timeout_probability") <= 1e-6);
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(5), "from nothing, four packets");
    let frontier = json["frontier"].as_array().expect("a list");
    let costs: Vec<f64> = frontier.iter().map(|choice| number(choice, "/bytes")).collect();
    let missed: Vec<f64> = frontier.iter().map(|choice| number(choice, "/missed")).collect();
    assert!(costs.is_sorted() && missed.iter().rev().is_sorted(), "{frontier:?}");
}

/// What `tune` promises is what `model` reckons for the same parameters.
#[test]
fn tune_and_model_agree() {
    let tuned = wiremend(&[&WEBSEARCH[..], &["--json"]].concat()).json();
    let of = |key: &str| format!("{}", tuned["chosen"][key].as_u64().expect("a count"));
    let (dummies, naks, copies) = (of("dummies"), of("nak_copies"), of("retransmission_copies"));
    let arguments = ["model", "--beta", "1e-3", "--rewind", "unknown", "--json", "--dummies", &dummies];
    let more = ["--nak-copies", &naks, "--retransmission-copies", &copies];
    let model = wiremend(&[&arguments[..], &more].concat()).json();
    let ratio = number(&tuned, "/chosen/timeout_probability")
        / number(&model, "/per_flow/mended/timeout_probability");
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    let ratio = number(&tuned, "/chosen/bytes") / number(&model, "/bytes_all/forward");
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// With gaps on a shared queue pair, dummies that wait are cheaper, as long as the target allows.
#[test]
fn dummies_wait_if_the_target_allows() {
    let ask = ["tune", "--beta", "1e-2", "--bytes", "4KiB", "--gap", "1ms", "--hold-max", "200us", "--json"];
    let slow = wiremend(&[&ask[..], &["--target-p9999", "250us"]].concat()).json();
    let fast = wiremend(&[&ask[..], &["--target-p9999", "60us"]].concat()).json();
    assert!((number(&slow, "/chosen/hold_s") - 2e-4).abs() < 1e-9);
    assert!(number(&fast, "/chosen/hold_s") < 6e-5);
    assert!(number(&slow, "/chosen/work_requests") < number(&fast, "/chosen/work_requests"));
}

/// On the link between a host and its own switch no copy helps: what is lost there twice stays lost.
#[test]
fn what_cannot_be_reached_is_answered_with_what_can() {
    let ask =
        ["tune", "--beta", "1e-2", "--access-links", "1", "--bytes", "4KiB", "--target-timeout", "1e-12"];
    let ended = wiremend(&ask);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("not possible with up to 6 of each"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Nearest  "), "{}", ended.stdout);
    let json: Value = serde_json::from_str(&wiremend(&[&ask[..], &["--json"]].concat()).stdout).unwrap();
    assert!(json["chosen"].is_null() && number(&json, "/best/missed") > 1e-4);
}

#[test]
fn what_physics_forbids_is_refused() {
    let cases: &[(&[&str], &str)] = &[
        (&["tune", "--beta", "1e-3"], "--target-timeout"),
        (&["tune", "--target-timeout", "1e-6"], "give --beta 1e-3"),
        (&["tune", "--beta", "1e-3", "--target-timeout", "0"], "ask for a small probability"),
        (&["tune", "--beta", "1e-3", "--target-timeout", "2"], "between 0 and 1"),
        (
            &["tune", "--beta", "1e-3", "--workload", "websearch", "--target-p999", "100us"],
            "100 µs is below what websearch need on a perfect link: p99.9 is 2.",
        ),
        (
            &["tune", "--beta", "1e-3", "--target-timeout", "1e-6", "--target-p999", "1s"],
            "cannot be used with",
        ),
        (&["tune", "--beta", "1e-3", "--omega", "7", "--target-timeout", "1e-6"], "between 0 and 1"),
    ];
    for (arguments, remedy) in cases {
        let line = wiremend(arguments).refused(2);
        assert!(line.contains(remedy), "{arguments:?}: {line}");
    }
}
