//! Transports over trimming switches: headers return, and the senders retransmit.

use crate::common::{Draws, run, run_scripted, run_with};
use wiremend_measure::{FlowOutcome, FlowRow, Trims};
use wiremend_sim::{HostCounters, Options, Results};
use wiremend_units::mix;

const SCHEMES: [&str; 3] = ["dcp", "ndp", "cp"];

/// Hosts of a rack send 100 kB each to the last one at the same time.
fn incast(senders: u32, scheme: &str, more: &str) -> (Results, Vec<FlowRow>) {
    let sources: Vec<u32> = (0..senders).collect();
    run(&format!(
        "title = \"incast\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 16\n\
         [switch.trim]\nthreshold = \"30kB\"\n[transport]\nrecovery = \"{scheme}\"\n{more}\n[[workload]]\nkind = \"flows\"\n\
         bytes = \"100kB\"\npattern = \"incast\"\nsrc = {sources:?}\ndst = \"last\"\n"
    ))
}

/// A 12-packet WRITE; `rules` corrupt frames.
fn scripted(scheme: &str, more: &str, rules: &str) -> (Results, FlowRow) {
    let text = format!(
        "title = \"scripted\"\n[topology]\nkind = \"pair\"\n[switch.trim]\n[transport]\nrecovery = \"{scheme}\"\n{more}\n\
         [[workload]]\nkind = \"flows\"\nbytes = \"12KiB\"\npattern = \"point-to-point\"\n"
    );
    run_scripted(&text, "h0-tor", [rules, ""])
}

fn trims(results: &Results) -> Trims {
    let mut sum = Trims::default();
    results.lanes.iter().for_each(|lane| sum += lane.trims);
    sum
}

fn total(results: &Results, of: fn(&HostCounters) -> u64) -> u64 {
    results.hosts.iter().map(of).sum()
}

/// D7, in the fabric: each trimmed header returns, and each retransmitted packet was trimmed before.
#[test]
fn an_incast_is_trimmed_and_needs_no_timer() {
    for scheme in SCHEMES {
        let (results, rows) = incast(10, scheme, "");
        let cut = trims(&results);
        assert!(cut.trimmed > 500 && cut.headers_dropped == 0, "{scheme}: {cut:?}");
        let again: u64 = rows.iter().map(|row| u64::from(row.retransmitted_packets)).sum();
        assert_eq!(again, cut.trimmed, "{scheme}");
        assert_eq!(total(&results, |host| host.headers_bounced), cut.trimmed);
        assert_eq!(total(&results, |host| host.headers_returned), cut.trimmed);
        assert_eq!(total(&results, |host| host.duplicates), 0);
        assert!(rows.iter().all(|row| row.outcome.is_finished() && row.timeouts == 0), "{scheme}");
    }
}

/// The fallback timer takes the base round trip into account.
#[test]
fn a_long_path_needs_no_timer() {
    for scheme in SCHEMES {
        let (_, rows) = run(&format!(
            "title = \"far\"\n[topology]\nkind = \"cross-dc\"\nleaves = 1\nspines = 1\nhosts_per_leaf = 1\nlong_delay = \"5ms\"\n\
             [switch.trim]\n[transport]\nrecovery = \"{scheme}\"\n\
             [[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\ndepth = 1\ncount = 3\n"
        ));
        assert!(rows.iter().all(|row| row.outcome.is_finished() && row.timeouts == 0), "{scheme}");
    }
}

/// A header returns in the class of its connection, even before a whole packet has arrived.
#[test]
fn headers_return_in_the_class_of_their_connection() {
    let (_, rows) = run("title = \"class\"\n[topology]\nkind = \"pair\"\n[switch.trim]\nshare = 0.5\n\
         [transport]\nrecovery = \"dcp\"\nclass = 3\n[[pause]]\nlinks = \"all\"\nclass = 0\n\
         [[workload]]\nkind = \"stream\"\nmessage = \"1kB\"\ndepth = 1\ncount = 50\n");
    assert!(rows.iter().all(|row| row.outcome.is_finished() && row.timeouts == 0), "{rows:?}");
}

/// Pulls of completed flows are dropped: a long flow beside many short ones does not wait for them.
#[test]
fn pulls_end_with_their_connection() {
    let long_ns = |scheme: &str| {
        let (_, rows) = run(&format!(
            "title = \"pulls\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
             [switch.trim]\n[transport]\nrecovery = \"{scheme}\"\n\
             [[workload]]\nkind = \"stream\"\nsrc = 0\ndst = 3\nmessage = \"5MB\"\ndepth = 1\ncount = 1\n\
             [[workload]]\nkind = \"stream\"\nsrc = 1\ndst = 3\nmessage = \"64B\"\ndepth = 64\ncount = 6500\n"
        ));
        assert!(rows.iter().all(|row| row.outcome.is_finished()), "{scheme}");
        rows.iter().find(|row| row.bytes == 5_000_000).unwrap().fct().as_ns()
    };
    let [ndp, dcp] = ["ndp", "dcp"].map(long_ns);
    assert!(ndp < dcp * 7 / 4, "{ndp} and {dcp} ns");
}

/// 10 × 100 kB take 85 µs at the last link. A pulling receiver keeps its link full, and few packets are
/// trimmed.
#[test]
fn pulls_trim_less_than_windows() {
    let last = |scheme| {
        let (results, rows) = incast(10, scheme, "");
        (trims(&results).trimmed, rows.iter().map(|row| row.end_ps / 1_000_000).max().unwrap_or(0))
    };
    let ([dcp, ndp, cp], ideal) = (SCHEMES.map(last), 85);
    assert!(ndp.0 * 3 < dcp.0 && ndp.0 * 3 < cp.0, "trimmed packets: {ndp:?} {dcp:?} {cp:?}");
    assert!(ndp.1 < ideal * 3 / 2 && dcp.1 < ideal * 2 && dcp.1 < cp.1, "{ndp:?} {dcp:?} {cp:?} µs");
}

/// Trimming is a congestion signal: with congestion control, fewer packets are trimmed.
#[test]
fn congestion_control_reacts_to_returned_headers() {
    let ecn = "congestion = \"dcqcn-paper\"\n[switch.ecn]\nkmin = \"5kB\"\nkmax = \"20kB\"\npmax = 0.1\n";
    let (deaf, listening) = (incast(15, "dcp", ""), incast(15, "dcp", ecn));
    assert!(total(&listening.0, |host| host.cnps_received) > 0);
    let cut = [&deaf.0, &listening.0].map(|results| trims(results).trimmed);
    assert!(cut[1] * 2 < cut[0], "{cut:?}");
}

/// Not measured in the paper: one corrupted packet costs plain DCP its whole timer, at any position.
#[test]
fn corruption_costs_the_timer_without_detection() {
    let clean = scripted("dcp", "", "").1.fct().as_ps();
    for psn in [0, 5, 11] {
        let rules = format!("{{ psn = {psn} }}");
        let (_, row) = scripted("dcp", "", &rules);
        assert_eq!((row.timeouts, row.retransmitted_packets), (1, 12), "psn {psn}");
        assert!(row.fct().as_ps() > 8_000_000_000);
        for tracking in ["sums", "bitmap", "linked-chunks"] {
            let hints =
                format!("[transport.dcp]\ntracking = \"{tracking}\"\nallowance = 4\nprobe = \"20us\"");
            let (results, row) = scripted("dcp", &hints, &rules);
            assert_eq!((row.timeouts, row.retransmitted_packets), (0, 1), "{tracking} psn {psn}");
            assert!(row.fct().as_ps() < clean + 40_000_000, "{tracking} psn {psn}: {} ps", row.fct().as_ps());
            assert_eq!(total(&results, |host| host.duplicates), 0);
        }
    }
}

/// During an outage the timer resends a message from its middle. Whichever packets the receiver has, the
/// window is as large as before when the link is back.
#[test]
fn an_outage_does_not_shrink_the_window() {
    for tracking in ["bitmap", "sums"] {
        let (_, rows) = run(&format!(
            "title = \"outage\"\n[topology]\nkind = \"chain\"\nswitches = 2\n[switch.trim]\n[transport]\nrecovery = \"dcp\"\n\
             window = 110\nqp = \"per-pair\"\n[transport.dcp]\ntracking = \"{tracking}\"\nallowance = 32\nprobe = \"30us\"\n[[workload]]\n\
             kind = \"stream\"\nsrc = \"h0\"\ndst = \"h1\"\nmessage = \"1MB\"\ndepth = 2\ncount = 200\n[[impair]]\nkind = \"frames\"\n\
             links = \"switches\"\nrate = 1.0\nstart = \"3.04ms\"\nstop = \"12.04ms\"\n"
        ));
        let fct = |row: &FlowRow| row.fct().as_ps();
        assert!(rows.iter().all(|row| row.outcome.is_finished()) && rows.iter().any(|row| row.timeouts > 0));
        let (before, after) = (fct(&rows[20]), fct(&rows[190]));
        assert!(after < before * 21 / 20, "{tracking}: {before} ps before, {after} ps after");
    }
}

/// Spraying only reorders packets for DCP.
#[test]
fn spraying_causes_no_retransmission() {
    for scheme in SCHEMES {
        let (results, rows) = run(&format!(
            "title = \"spray\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 4\n[switch]\n\
             balance = \"spray\"\n[switch.trim]\n[transport]\nrecovery = \"{scheme}\"\n[[workload]]\nkind = \"flows\"\n\
             bytes = \"1MB\"\npattern = \"permutation\"\n"
        ));
        assert!(rows.iter().all(|row| row.outcome.is_finished()));
        let again: u64 = rows.iter().map(|row| u64::from(row.retransmitted_packets)).sum();
        assert_eq!(
            (again, total(&results, |host| host.duplicates)),
            (trims(&results).trimmed, 0),
            "{scheme}"
        );
    }
}

/// Random fabrics that trim, corrupt and spray: every message is delivered once, no flow hangs, and threads
/// do not change results.
#[test]
fn invariants_hold_for_random_fabrics() {
    for seed in 0..60 {
        let mut text = draw(seed);
        if !text.contains("recovery = \"dcp\"") {
            text = text.replace("pcie = \"0s\"\n", "").replace("batch = 1\n", "");
        }
        let check = || {
            let options = Options::new(seed);
            let (results, rows) = run_with(&text, &options);
            check(&results, &rows);
            let (twice, other) = run_with(&text, &Options { threads: 2, ..options });
            assert_eq!((twice.collector.digest(), other), (results.collector.digest(), rows), "two threads");
        };
        if let Err(panic) = std::panic::catch_unwind(check) {
            println!("seed {seed}:\n{text}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn check(results: &Results, rows: &[FlowRow]) {
    let known = rows.iter().filter(|row| row.delivered_ps.is_some()).count() as u64;
    let silent = rows.len() as u64 - known;
    let delivered = total(results, |host| host.delivered_messages);
    assert!((known..=known + silent).contains(&delivered), "each message once: {delivered} {known} {silent}");
    for row in rows {
        let excused = matches!(
            row.outcome,
            FlowOutcome::Finished | FlowOutcome::RetryExceeded | FlowOutcome::TimeLimit
        );
        assert!(excused, "{row:?}");
        assert!(row.outcome != FlowOutcome::Finished || row.delivered_ps.is_some(), "{row:?}");
    }
    let finished = rows.iter().filter(|row| row.outcome == FlowOutcome::Finished).count();
    assert!(finished * 10 >= rows.len() * 9, "{finished} of {}", rows.len());
    let cut = trims(results);
    let (bounced, returned) =
        (total(results, |host| host.headers_bounced), total(results, |host| host.headers_returned));
    assert!(bounced <= cut.trimmed && returned <= bounced, "{cut:?} {bounced} {returned}");
}

fn draw(seed: u64) -> String {
    let drawn = Draws(mix(seed ^ 0xDC9)).write(
        "[topology]\n<kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 4|kind = 'fat-tree'\nk = 4\
         |kind = 'chain'\nswitches = 2\nhosts_per_end = 5>\nrate = '<100Gbps|25Gbps>'\n[switch]\nbalance = '<ecmp|spray|adaptive>'\n\
         [switch.trim]\n<|threshold = '10kB'\n|threshold = '4kB'\n><|headers = '500B'\n><|acks = 'control'\n|acks = 'keep'\n>\
         [transport]\nrecovery = '<dcp|dcp|ndp|cp>'\noperation = '<write|send>'\nmtu = <1024|4096|256>\nqp = '<per-flow|per-pair>'\n\
         ack_every = <1|1|8>\nfirst_psn = <0|16777200>\n\
         <|congestion = 'dcqcn-paper'\n[switch.ecn]\nkmin = '5kB'\nkmax = '20kB'\npmax = 0.1\n|congestion = 'swift'\n|window = 9\n>\
         [transport.dcp]\ntimeout = '1ms'\n<|tracking = 'bitmap'\n|tracking = 'linked-chunks'\n|tracking = 'sums'\n>\
         <|unit = 16\n><||allowance = 20\n|probe = '40us'\n|allowance = 64\nprobe = '60us'\n><|pcie = '0s'\n|batch = 1\n>\
         [stop]\nafter = '200ms'\n[[workload]]\nkind = 'flows'\nbytes = '<3kB|40kB|70kB|1B>'\npattern = '<incast|permutation|full-mesh>'\n\
         <|count = 3\n><|[[impair]]\nkind = 'frames'\nlinks = 'all'\nrate = 0.001\n\
         |[[impair]]\nkind = 'frames'\nlinks = 'switches'\nrate = 0.0003\n>",
    );
    format!("title = \"swarm\"\nseed = {seed}\n{drawn}")
}
