//! Protection that starts by measured loss: at the threshold, for the lossy direction, and at the same time
//! on any number of threads.

use crate::common::run_with;
use wiremend_measure::{FlowOutcome, FlowRow};
use wiremend_sim::{LinkEndCounters, Options, Results};
use wiremend_units::Span;

/// All protection schemes of links.
const SCHEMES: [&str; 5] = [
    "by = \"linkguardian\"\n",
    "by = \"linkguardian-nb\"\n",
    "by = \"linkguardian\"\nprofile = \"prototype\"\nrx_buffer = \"400kB\"\n",
    "by = \"linkguardian\"\nprofile = \"prototype\"\nswitch = \"ideal\"\nrx_buffer = \"400kB\"\n",
    "by = \"fec(5,2)\"\n",
];

#[test]
fn a_link_below_the_threshold_stays_unprotected() {
    let (bare, bare_rows) = run(&writes(1e-3, ""), 1);
    for scheme in SCHEMES {
        let (results, rows) = run(&writes(1e-3, &protect(scheme, "start_at_loss = 1e-2\n")), 1);
        let (tx, rx) = ends(&results);
        assert_eq!((tx.started, rx.started), (None, None), "{scheme}");
        assert_eq!(
            (tx.sum.header_bytes, tx.sum.control.frames, rx.sum.control.frames),
            (0, 0, 0),
            "{scheme}"
        );
        assert_eq!(rows, bare_rows, "a dormant link costs nothing: {scheme}");
        assert_eq!(results.lanes, bare.lanes, "{scheme}");
    }
}

#[test]
fn a_link_above_the_threshold_is_protected() {
    let (_, bare) = run(&writes(4e-3, ""), 1);
    for scheme in SCHEMES {
        let (results, rows) =
            run(&writes(4e-3, &protect(scheme, "start_at_loss = 1e-3\nsample_frames = 2000\n")), 1);
        let (tx, rx) = ends(&results);
        let started = tx.started.expect("two of two thousand are lost soon");
        assert_eq!(rx.started, None, "the reverse direction has no loss: {scheme}");
        println!("{scheme}: starts at {started}, {} missed, {} recovered", rx.sum.missed, rx.sum.recovered);
        assert!(tx.sum.protected > 1_000 && rx.sum.recovered > 20, "{scheme}");
        let (with, without) = (resent(&rows), resent(&bare));
        if !scheme.contains("-nb") {
            assert!(with * 5 < without, "{with} retransmissions, {without} without protection: {scheme}");
        }
        assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished));
    }
}

#[test]
fn a_direction_starts_by_its_own_losses() {
    let text = writes(0.0, &protect(SCHEMES[0], "start_at_loss = 1e-3\n"))
        + "[[impair]]\nlinks = \"s0-s1\"\ndirection = \"backward\"\nkind = \"frames\"\nrate = 5e-3\n";
    let (results, _) = run(&text, 1);
    let (there, back) = ends(&results);
    assert!(there.started.is_none() && back.started.is_some());
    assert!(back.sum.protected > 0 && there.sum.protected == 0);
}

#[test]
fn the_start_includes_the_control_plane_delay() {
    let started = |more: &str| {
        let more = format!("start_at_loss = 1e-3\n{more}");
        ends(&run(&writes(4e-3, &protect(SCHEMES[0], &more)), 1).0).0.started.expect("it starts")
    };
    let at_once = started("");
    assert_eq!(started("start_delay = \"300us\"\n"), at_once + Span::from_us(300));
    assert!(started("start = \"1ms\"\n") > at_once, "earlier losses do not count");
    let late = protect(SCHEMES[0], "start_at_loss = 1e-3\nstart_delay = \"100us\"\nstop = \"50us\"\n");
    let (tx, _) = ends(&run(&writes(4e-3, &late), 1).0);
    assert_eq!((tx.started, tx.sum.protected), (None, 0), "a stop before the start prevents it");
}

#[test]
fn threads_agree_on_the_start_time() {
    for scheme in SCHEMES {
        for more in ["", "start_delay = \"20us\"\n", "stop = \"2ms\"\n"] {
            let more = format!("start_at_loss = 1e-3\nsample_frames = 3000\n{more}");
            let text = writes(4e-3, &protect(scheme, &more));
            let (one, rows) = run(&text, 1);
            let (two, other_rows) = run(&text, 2);
            assert!(ends(&one).0.started.is_some(), "{text}");
            assert_eq!(one.link_ends, two.link_ends, "{text}");
            assert_eq!(rows, other_rows, "{text}");
            assert_eq!(one.collector.digest(), two.collector.digest(), "{text}");
        }
    }
}

fn run(text: &str, threads: usize) -> (Results, Vec<FlowRow>) {
    run_with(text, &Options { threads, ..Options::new(3) })
}

/// Returns the sending and the receiving end of the middle link.
fn ends(results: &Results) -> (LinkEndCounters, LinkEndCounters) {
    let [tx, rx] = results.link_ends[..] else { panic!("one link is protected") };
    (tx, rx)
}

fn resent(rows: &[FlowRow]) -> u32 {
    rows.iter().map(|row| row.retransmitted_packets).sum()
}

fn protect(scheme: &str, more: &str) -> String {
    format!("[[protect]]\nlinks = \"s0-s1\"\n{scheme}{more}")
}

/// WRITEs of 1 MB over two switches, with loss in the forward direction.
fn writes(loss: f64, protect: &str) -> String {
    let impair = if loss > 0.0 {
        format!("[[impair]]\nlinks = \"s0-s1\"\ndirection = \"forward\"\nkind = \"frames\"\nrate = {loss}\n")
    } else {
        String::new()
    };
    format!(
        "title = \"start\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 1\nrate = \"100Gbps\"\ndelay = \"500ns\"\n\
         [transport]\nmtu = 1024\nwindow = 200\n[[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\ncount = 15\n{impair}{protect}"
    )
}
