//! Invalid TCP parameters, refused with place and remedy, and the protocol of workloads.

use wiremend_scenario::{Protocol, load};

use crate::refusal::assert_refused;

/// A test adds lines from line 8 on.
const GOOD: &str = "title = \"t\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"flows\"\nbytes = \"1MB\"\npattern = \"permutation\"\n";

#[test]
fn parameters_that_cannot_be_are_refused_with_the_remedy() {
    let tcp =
        |[fields]: [&str; 1]| format!("{GOOD}[transport]\nprotocol = \"tcp\"\n[transport.tcp]\n{fields}\n");
    assert_refused(
        tcp,
        r#"
        congestion = "cubik" | s.toml:11:14: unknown value `cubik`; did you mean `cubic`? allowed: cubic, dctcp, bbr, reno, lia, swift, timely
        delay_target = "60us" | s.toml:10:1: only Swift has a `delay_target`; set congestion = "swift", or remove it
        mss = 1449 | s.toml:10:1: an `mss` of 1449 does not fit the `mtu` of 1500 with its headers of 52; at most 1448
        subflows = 2\nmss = 1448 | s.toml:10:1: an `mss` of 1448 does not fit the `mtu` of 1500 with its headers of 72; at most 1428
        subflows = 0 | s.toml:11:12: 0 is out of range; expected a whole number from 1 to 8
        subflows = 9 | s.toml:11:12: 9 is out of range; expected a whole number from 1 to 8
        congestion = "lia" | s.toml:10:1: LIA couples the windows of subflows, and connections have one; set `subflows`, or use "reno"
        rto_min = "200ms"\n[stop]\nafter = "100ms" | s.toml:10:1: a `rto_min` of 200ms is above the 100ms of `stop.after`, so no timeout ever expires; decrease `rto_min`, or increase `stop.after`
        congestion = "dctcp" | s.toml:10:1: DCTCP needs ECN marks; add [switch.ecn]
        receive_window = "1kB" | s.toml:10:1: a `receive_window` of 1kB is out of range; 2.896kB to 8388607B
        delayed_ack = "1s" | s.toml:10:1: a `delayed_ack` of 1s is too long; at most 500ms
        rto_min = "0s" | s.toml:11:11: must be above zero; expected a time such as "1us"
    "#,
    );
    assert_refused(
        |[more]| format!("{GOOD}{more}\n"),
        r#"
        subflows = 2 | s.toml:8:12: `subflows` needs TCP connections; set protocol = "tcp", or remove `subflows`
        [transport.tcp]\nmss = 1000 | s.toml:8:1: no workload uses TCP; set transport.protocol = "tcp", or `protocol` of a workload
        [transport]\nprotocol = "tcp"\ncongestion = "swift" | s.toml:10:14: `transport.congestion` applies to queue pairs, and all workloads use TCP; use `transport.tcp.congestion`
    "#,
    );
}

#[test]
fn workloads_choose_their_protocol() {
    let second =
        "[[workload]]\nkind = \"flows\"\nbytes = \"1MB\"\npattern = \"permutation\"\nprotocol = \"rdma\"\n";
    let file = load("s.toml", &format!("{GOOD}{second}[transport]\nprotocol = \"tcp\"\n"), &[]).unwrap();
    let scenario = &file.variants[0].scenario;
    let spoken: Vec<_> =
        scenario.workloads.iter().map(|workload| workload.protocol_in(&scenario.transport)).collect();
    assert_eq!(spoken, [Protocol::Tcp, Protocol::Rdma]);
    assert!(scenario.uses_protocol(Protocol::Tcp) && scenario.uses_protocol(Protocol::Rdma));
    assert_eq!(scenario.transport.tcp().mss(), 1448);
}

#[test]
fn workloads_choose_how_many_subflows_they_have() {
    let more = "[[workload]]\nkind = \"flows\"\nbytes = \"1MB\"\npattern = \"permutation\"\n";
    let transport = "[transport]\nprotocol = \"tcp\"\n[transport.tcp]\nsubflows = 4\ncongestion = \"lia\"\n";
    let text = format!("{GOOD}{more}subflows = 1\n{more}protocol = \"rdma\"\n{transport}");
    let file = load("s.toml", &text, &[]).unwrap();
    let scenario = &file.variants[0].scenario;
    let subflows: Vec<_> =
        scenario.workloads.iter().map(|workload| workload.subflows_in(&scenario.transport)).collect();
    assert_eq!((subflows.as_slice(), scenario.subflows_max()), (&[4, 1, 1][..], 4));
    let tcp = scenario.transport.tcp();
    assert_eq!((tcp.mss_of(1), tcp.mss_of(4)), (1448, 1428));
}
