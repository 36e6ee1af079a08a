//! Multipath TCP: over separate paths, at a shared bottleneck, and over dead links.

use crate::common::{capture_with, run, run_with};
use wiremend_measure::{FlowOutcome, FlowRow};
use wiremend_sim::Options;
use wiremend_units::LinkId;

const RUN_MS: f64 = 30.0;

/// Two leaves with two hosts each, two spines, links of 10 Gb/s between them; streams of 100 kB messages.
fn fabric(host_rate: &str, tcp: &str, more: &str) -> String {
    format!(
        "title = \"t\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"10Gbps\"\n\
         host_rate = \"{host_rate}\"\ndelay = \"1us\"\nbuffer = \"100kB\"\n[transport]\nprotocol = \"tcp\"\nqp = \"per-pair\"\n\
         [transport.tcp]\nrto_min = \"5ms\"\ncongestion = \"lia\"\n{tcp}\n[stop]\nafter = \"{RUN_MS}ms\"\n{more}"
    )
}

fn stream(src: &str, dst: &str, more: &str) -> String {
    format!(
        "[[workload]]\nkind = \"stream\"\nmessage = \"100kB\"\ndepth = 40\nsrc = \"{src}\"\ndst = \"{dst}\"\n{more}\n"
    )
}

/// Returns the delivered rate of a host in Gb/s.
fn goodput(rows: &[FlowRow], src: u32) -> f64 {
    let done = rows.iter().filter(|row| row.src == src && row.outcome == FlowOutcome::Finished);
    done.map(|row| row.bytes).sum::<u64>() as f64 * 8.0 / RUN_MS / 1e6
}

/// RFC 6356 §2, goal 1. A hash sends two subflows over the same spine half of the time. Then they get the
/// rate of one; otherwise twice as much.
#[test]
fn two_subflows_get_the_rate_of_their_paths() {
    let goodput_of = |tcp: &str, seed: u64| {
        goodput(&run_with(&(fabric("25Gbps", tcp, "") + &stream("h0", "h2", "")), &Options::new(seed)).1, 0)
    };
    let one = {
        let text = fabric("25Gbps", "", "").replace("lia", "reno") + &stream("h0", "h2", "");
        goodput(&run(&text).1, 0)
    };
    assert!((8.5..9.42).contains(&one), "{one}");
    let ratios: Vec<_> = (0..6).map(|seed| goodput_of("subflows = 2", seed) / one).collect();
    println!("{one} Gb/s over one path, and over two: {ratios:.3?}");
    let near =
        |value: f64| ratios.iter().filter(|ratio| (value * 0.93..value * 1.05).contains(*ratio)).count();
    assert!(near(1.0) > 0 && near(2.0) > 0 && near(1.0) + near(2.0) == ratios.len(), "{ratios:?}");
}

/// RFC 6356 §2, goal 2: at a bottleneck shared with another connection, coupled subflows take the rate of one
/// connection; uncoupled ones take one share each.
#[test]
fn coupled_subflows_take_a_fair_share() {
    let share = |congestion: &str, seed: u64| {
        let text = fabric("10Gbps", "subflows = 4", "").replace("\"lia\"", congestion)
            + &stream("h0", "h2", "")
            + &stream("h1", "h2", "subflows = 1");
        let (_, rows) = run_with(&text, &Options::new(seed));
        let (many, one) = (goodput(&rows, 0), goodput(&rows, 1));
        assert!(many + one > 8.0, "the link is full: {many} and {one}");
        many / (many + one)
    };
    let mean = |congestion: &str| (1..=4).map(|seed| share(congestion, seed)).sum::<f64>() / 4.0;
    let (linked, apart) = (mean("\"lia\""), mean("\"reno\""));
    println!("four subflows beside one connection take {linked:.3} coupled, {apart:.3} not");
    assert!((0.35..0.65).contains(&linked) && apart > linked + 0.1, "{linked} coupled, {apart} not");
}

/// Data on a dead path moves to the other, and every flow ends.
#[test]
fn a_dead_path_is_abandoned() {
    let dead = "[[impair]]\nkind = \"frames\"\nlinks = \"leaf0-spine0\"\nrate = \"1\"\ndirection = \"forward\"\nstart = \"5ms\"\n";
    let flows = "[[workload]]\nkind = \"flows\"\nbytes = \"20MB\"\npattern = \"point-to-point\"\nsrc = \"h0\"\ndst = \"h2\"\n";
    let run_subflows = |subflows: &str, seed: u64| {
        let (results, rows) = run_with(&(fabric("25Gbps", subflows, dead) + flows), &Options::new(seed));
        (rows[0].outcome, results.hosts[0].tcp.reinjected)
    };
    let ends: Vec<_> = (0..8).map(|seed| run_subflows("subflows = 8", seed)).collect();
    println!("{ends:?}");
    assert!(ends.iter().all(|(outcome, _)| *outcome == FlowOutcome::Finished), "{ends:?}");
    assert!(ends.iter().any(|(_, reinjected)| *reinjected > 0), "{ends:?}");
}

/// Without parallel paths there is one subflow, and a note reports it.
#[test]
fn one_path_makes_one_subflow() {
    let text =
        |tcp: &str| fabric("10Gbps", tcp, "").replace("spines = 2", "spines = 1") + &stream("h0", "h2", "");
    let (several, rows) = run(&text("subflows = 3"));
    let (one, one_rows) = run(&text("").replace("lia", "reno"));
    assert_eq!(
        several.notes,
        [
            "connections have 3 subflows, but hosts have only one path to each other: the subflows run as one plain TCP connection"
        ]
    );
    assert!(one.notes.is_empty() && goodput(&rows, 0) > 8.5);
    assert!((goodput(&rows, 0) / goodput(&one_rows, 0) - 1.0).abs() < 0.03, "as Reno");
}

/// 1428 bytes of payload, 70 of headers, and an option of 20; acknowledgements have an option of 8.
#[test]
fn frames_have_the_length_of_their_headers() {
    let loss = "[[impair]]\nkind = \"frames\"\nlinks = [\"leaf0-spine0\", \"leaf0-spine1\"]\nrate = \"1/100\"\ndirection = \"forward\"\n";
    let text = fabric("10Gbps", "subflows = 2", loss) + &stream("h0", "h2", "");
    let (_, frames) =
        capture_with(&text, &Options { captures: (0..8).map(LinkId).collect(), ..Options::new(1) });
    let tcp = |captured: &&wiremend_sim::CapturedFrame| captured.frame.is_tcp();
    let mut lengths: Vec<_> = frames.iter().filter(tcp).map(|captured| captured.frame.len).collect();
    lengths.sort_unstable();
    lengths.dedup();
    // 100 kB are 70 full segments and 40 bytes.
    assert_eq!(lengths, [78, 90, 98, 130, 1518]);
}

#[test]
fn threads_do_not_change_results() {
    let text = fabric("25Gbps", "subflows = 4", "") + &stream("h0", "h2", "") + &stream("h3", "h1", "");
    let (one, rows) = run_with(&text, &Options::new(3));
    let (two, other_rows) = run_with(&text, &Options { threads: 2, ..Options::new(3) });
    assert_eq!((one.collector.digest(), rows), (two.collector.digest(), other_rows));
}
