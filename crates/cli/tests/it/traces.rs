//! The four causes of a timeout (JCST §3.1, Figs. 2–5), counted and drawn.

use tempfile::tempdir;

use crate::program::{wiremend, wiremend_with};

/// Scenario, name of the cause in summaries, and in ladder diagrams.
const CAUSES: [(&str, &str, &str); 4] = [
    ("tail-packet", "tail_packet", "tail packet lost"),
    ("tail-ack", "tail_ack", "tail ACK lost"),
    ("nak", "nak", "NAK lost"),
    ("twice", "retransmission", "retransmission lost"),
];

#[test]
fn each_cause_is_counted_exactly_once() {
    for (scenario, key, _) in CAUSES {
        let summary = wiremend(&["run", scenario, "--json"]).json();
        let timeouts = summary["variants"][0]["timeouts"].as_object().unwrap();
        let fired: Vec<_> =
            timeouts.iter().filter(|(name, count)| *name != "total" && **count != 0).collect();
        assert_eq!(fired.len(), 1, "{scenario}: {timeouts:?}");
        assert_eq!(timeouts[key], 1, "{scenario}");
        assert_eq!(timeouts["total"], 1, "{scenario}");
        assert_eq!(summary["variants"][0]["finished"], 1, "{scenario}");
    }
}

#[test]
fn each_cause_is_drawn() {
    let directory = tempdir().unwrap();
    for (scenario, key, words) in CAUSES {
        let text = wiremend(&["trace", scenario]).ok();
        assert!(text.contains("timer fires at ") && text.contains(words), "{text}");
        assert!(text.contains('✗') && text.contains("completes"), "{text}");

        let path = directory.path().join(format!("{scenario}.svg"));
        let told = wiremend(&["trace", scenario, "--svg", path.to_str().unwrap()]).ok();
        assert!(told.trim_start().starts_with("Where the "), "{told}");
        let svg = std::fs::read_to_string(path).unwrap();
        assert_well_formed(&svg);
        assert!(svg.contains(words), "{scenario}");

        let trace = wiremend(&["trace", scenario, "--json"]).json();
        let steps = trace["steps"].as_array().unwrap();
        let parts: Vec<u64> =
            trace["breakdown_ps"].as_object().unwrap().values().map(|part| part.as_u64().unwrap()).collect();
        let [first, last] =
            [&steps[0], &steps[steps.len() - 1]].map(|step| step["time_ps"].as_u64().unwrap());
        assert_eq!(parts.iter().sum::<u64>(), last - first, "{scenario}");
        assert!(trace["breakdown_ps"]["timers"].as_u64() > Some((last - first) / 10 * 9), "{trace}");
        let timers: Vec<_> = steps.iter().filter(|step| step["what"] == "timer").collect();
        assert_eq!(timers.len(), 1, "{scenario}");
        assert_eq!(timers[0]["cause"], key);
        assert!(steps.iter().any(|step| step["corrupted"] == true), "{scenario}");
    }
}

#[test]
fn the_slowest_flow_of_many_can_be_asked_for() {
    let arguments =
        ["trace", "tour", "--variant", "go-back-n", "--flow", "slowest", "--set", "workload.0.flows=400"];
    let text = wiremend(&arguments).ok();
    assert!(text.contains("go-back-n: corruption and its remedies"), "{text}");
    assert!(text.contains("completes") || text.contains("fails"), "{text}");
    let again = wiremend(&arguments).ok();
    assert_eq!(text, again);
}

/// Other messages use the same connection, and other flows queue before the same link.
#[test]
fn a_trace_ends_with_its_flow_and_is_in_order() {
    let stream = "title = \"t\"\n[topology]\nkind = \"pair\"\n[transport]\nqp = \"per-pair\"\n\
                  [[workload]]\nkind = \"stream\"\nmessage = \"4KiB\"\ndepth = 1\ncount = 20\n";
    let one = wiremend_with(stream, &["trace", "-", "--flow", "3", "--json"]).json();
    let incast = wiremend(&["trace", "incast", "--json"]).json();
    for trace in [&one, &incast] {
        let steps = trace["steps"].as_array().unwrap();
        assert_eq!(
            (&steps[0]["what"], &steps[steps.len() - 1]["what"]),
            (&"posted".into(), &"completed".into())
        );
        assert!(steps.iter().map(|step| step["time_ps"].as_u64()).is_sorted());
    }
    // Four packets and their acknowledgements over two links, four arrivals, and the two ends.
    assert_eq!(one["steps"].as_array().unwrap().len(), 16 + 4 + 2);
}

#[test]
fn a_long_trace_says_what_is_left_out() {
    let arguments = ["trace", "tail-ack", "--set", "workload.0.bytes=250MB", "--json"];
    let ended = wiremend(&arguments);
    let trace = ended.json();
    assert!(trace["steps_left_out"].as_u64().unwrap() > 0 && trace["breakdown_ps"].is_null());
    let last = trace["steps"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["what"], "completed");
}

#[test]
fn a_flow_that_a_deadlock_stopped_says_so() {
    let arguments = ["trace", "deadlock", "--flow", "slowest"];
    let text = wiremend(&arguments).ok();
    assert!(text.contains("fails: deadlock") && text.contains("A deadlock stopped this flow. "), "{text}");
    assert!(text.contains("wait for each other (class "), "{text}");
    let trace = wiremend(&[&arguments[..], &["--json"]].concat()).json();
    assert!(trace["breakdown_ps"]["deadlock"].as_u64() > Some(0) && trace["deadlock"].is_object());
}

#[test]
fn a_trace_is_drawn_or_written_not_both() {
    wiremend(&["trace", "nak", "--json", "--svg", "x.svg"]).refused_for(2, "cannot be used with");
}

/// Checks that every element is closed in order and quotes are balanced.
fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        if tag.starts_with(['?', '!']) || tag.ends_with('/') {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            open.push(name);
        }
    }
    assert!(open.is_empty() && xml.contains("<svg"), "{open:?}");
}
