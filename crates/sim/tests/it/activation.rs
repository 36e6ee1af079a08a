//! Protection that begins when a link loses too much: not before, for the right direction, and on any number of threads at the same instant.

use crate::common::run_with;
use wiremend_measure::{FlowRow, Outcome};
use wiremend_sim::{EndCounters, Options, Results};
use wiremend_units::Span;

/// All that can protect a link.
const WAYS: [&str; 5] = [
    "by = \"linkguardian\"\n",
    "by = \"linkguardian-nb\"\n",
    "by = \"linkguardian\"\nprofile = \"paper\"\nrx_buffer = \"400kB\"\n",
    "by = \"linkguardian\"\nprofile = \"paper\"\nswitch = \"ideal\"\nrx_buffer = \"400kB\"\n",
    "by = \"fec(5,2)\"\n",
];

#[test]
fn a_link_below_the_threshold_stays_as_it_is() {
    let (bare, bare_rows) = run(&writes(1e-3, ""), 1);
    for way in WAYS {
        let (results, rows) = run(&writes(1e-3, &protect(way, "start_at_loss = 1e-2\n")), 1);
        let (tx, rx) = ends(&results);
        assert_eq!((tx.started, rx.started), (None, None), "{way}");
        assert_eq!((tx.sum.header_bytes, tx.sum.own.frames, rx.sum.own.frames), (0, 0, 0), "{way}");
        assert_eq!(rows, bare_rows, "a dormant link costs nothing: {way}");
        assert_eq!(results.lanes, bare.lanes, "{way}");
    }
}

#[test]
fn a_link_above_the_threshold_is_mended() {
    let (_, bare) = run(&writes(4e-3, ""), 1);
    for way in WAYS {
        let (results, rows) = run(&writes(4e-3, &protect(way, "start_at_loss = 1e-3\nover = 2000\n")), 1);
        let (tx, rx) = ends(&results);
        let started = tx.started.expect("two of two thousand are lost soon");
        assert_eq!(rx.started, None, "nothing is lost on the way back: {way}");
        println!("{way}: starts at {started}, {} missed, {} recovered", rx.sum.missed, rx.sum.recovered);
        assert!(tx.sum.protected > 1_000 && rx.sum.recovered > 20, "{way}");
        let (with, without) = (resent(&rows), resent(&bare));
        if !way.contains("-nb") {
            assert!(with * 5 < without, "{with} packets sent again, {without} without: {way}");
        }
        assert!(rows.iter().all(|row| row.outcome == Outcome::Finished));
    }
}

/// What is lost in each direction counts for that direction alone.
#[test]
fn a_direction_starts_by_its_own_losses() {
    let text = writes(0.0, &protect(WAYS[0], "start_at_loss = 1e-3\n"))
        + "[[impair]]\nlinks = \"s0-s1\"\ndirection = \"backward\"\nkind = \"frames\"\nrate = 5e-3\n";
    let (results, _) = run(&text, 1);
    let (there, back) = ends(&results);
    assert!(there.started.is_none() && back.started.is_some());
    assert!(back.sum.protected > 0 && there.sum.protected == 0);
}

#[test]
fn the_control_plane_takes_its_time() {
    let started = |more: &str| {
        let more = format!("start_at_loss = 1e-3\n{more}");
        ends(&run(&writes(4e-3, &protect(WAYS[0], &more)), 1).0).0.started.expect("it starts")
    };
    let at_once = started("");
    assert_eq!(started("delay = \"300us\"\n"), at_once + Span::from_us(300));
    assert!(started("start = \"1ms\"\n") > at_once, "what is lost before does not count");
    let late = protect(WAYS[0], "start_at_loss = 1e-3\ndelay = \"100us\"\nstop = \"50us\"\n");
    let (tx, _) = ends(&run(&writes(4e-3, &late), 1).0);
    assert_eq!((tx.started, tx.sum.protected), (None, 0), "what ends before it starts never does");
}

#[test]
fn threads_agree_on_the_moment() {
    for way in WAYS {
        for more in ["", "delay = \"20us\"\n", "stop = \"2ms\"\n"] {
            let more = format!("start_at_loss = 1e-3\nover = 3000\n{more}");
            let text = writes(4e-3, &protect(way, &more));
            let (one, rows) = run(&text, 1);
            let (two, other_rows) = run(&text, 2);
            assert!(ends(&one).0.started.is_some(), "{text}");
            assert_eq!(one.guards, two.guards, "{text}");
            assert_eq!(rows, other_rows, "{text}");
            assert_eq!(one.collector.digest(), two.collector.digest(), "{text}");
        }
    }
}

fn run(text: &str, threads: usize) -> (Results, Vec<FlowRow>) {
    run_with(text, &Options { threads, ..Options::new(3) })
}

/// The end that sends data over the middle link, and that which receives them.
fn ends(results: &Results) -> (EndCounters, EndCounters) {
    let [tx, rx] = results.guards[..] else { panic!("one link is protected") };
    (tx, rx)
}

fn resent(rows: &[FlowRow]) -> u32 {
    rows.iter().map(|row| row.retransmitted_packets).sum()
}

fn protect(way: &str, more: &str) -> String {
    format!("[[protect]]\nlinks = \"s0-s1\"\n{way}{more}")
}

/// WRITEs of 1 MB over two switches, and loss on the way there.
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
