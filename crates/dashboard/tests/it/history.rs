//! What audit streams tell about a link.

use wiremend_dashboard::{Change, History, LinkRow};
use wiremend_monitor::Name;
use wiremend_monitor::planner::{LinkEnd, NamedFabric};
use wiremend_monitor::redis::AuditEntry;
use wiremend_units::LinkId;

use crate::attacks::fabric;

const LINK: LinkId = LinkId(0);
const LOWER: LinkEnd = LinkEnd { link: LINK, upper: false };

fn entry(at_ms: u64, port: &str, kind: &str, body: &str, by: Option<&str>) -> AuditEntry {
    AuditEntry {
        id: format!("{at_ms}-0"),
        at_ms,
        port: port.parse().unwrap(),
        kind: kind.to_owned(),
        body: body.to_owned(),
        by: by.map(str::to_owned),
    }
}

fn node(text: &str) -> Name {
    text.parse().unwrap()
}

fn history(fabric: &NamedFabric) -> History {
    let corrupting = r#"{"corrupting":{"frames":1000,"errors":10,"loss":0.01,"low":0.005,"high":0.02}}"#;
    let mut history = History::default();
    // As a stream is read: the newest first.
    let of_leaf = vec![
        entry(300, "leaf-1:eth0", "observation", corrupting, None),
        entry(200, "leaf-1:eth0", "observation", corrupting, None),
        entry(150, "leaf-1:eth0", "observation", "{\"corrupting\":7}", None),
        entry(100, "leaf-1:eth0", "observation", "{\"corrupting\":null}", None),
        entry(900_000_000, "leaf-1:eth0", "observation", "{\"corrupting\":null}", None),
    ];
    history.add(fabric, Some(&node("leaf-1")), of_leaf, 1_000);
    let of_planner = vec![
        entry(
            400,
            "leaf-1:eth0",
            "hold",
            r#"{"until_ms":5000,"why":"optics","maintenance":false}"#,
            Some("alice"),
        ),
        entry(
            350,
            "other:eth0",
            "hold",
            r#"{"until_ms":5000,"why":"optics","maintenance":false}"#,
            Some("eve"),
        ),
    ];
    history.add(fabric, None, of_planner, 1_000);
    history
}

#[test]
fn a_link_corrupts_since_its_first_observation_after_a_clean_one() {
    let (fabric, history) = (fabric(), history(&fabric()));
    assert_eq!(history.corrupts_since(LOWER, 1_000), Some((200, true)));
    assert_eq!(history.corrupts_since(LOWER, 150), None);
    assert_eq!(history.newest(Some(&node("leaf-1"))), Some("300-0"));
    let mut short = History::default();
    let body = r#"{"corrupting":{"frames":1000,"errors":10,"loss":0.01,"low":0.005,"high":0.02}}"#;
    short.add(
        &fabric,
        Some(&node("leaf-1")),
        vec![entry(7, "leaf-1:eth0", "observation", body, None)],
        1_000,
    );
    assert_eq!(short.corrupts_since(LOWER, 1_000), Some((7, false)), "the stream begins later");
}

#[test]
fn the_state_of_an_earlier_time_follows_from_what_was_written_until_then() {
    let (fabric, history) = (fabric(), history(&fabric()));
    let row = |at_ms| LinkRow::new(&fabric, LINK, &history.records_at(LINK, at_ms), &history, at_ms);
    assert!(row(199).loss().is_none() && row(200).loss().is_some());
    assert!(row(399).hold.is_none());
    let held = row(400);
    assert_eq!(held.hold.unwrap().why, "optics");
    let act = held.act.unwrap();
    assert_eq!((act.at_ms, act.by.as_str(), act.text.as_str()), (400, "alice", "held: optics"));
    assert!(row(5_000).hold.is_none(), "it has ended");
    let events: Vec<&Change> = history.of_link(LINK).iter().map(|event| &event.change).collect();
    assert_eq!(events.len(), 4, "what no daemon wrote is left out: {events:?}");
}
