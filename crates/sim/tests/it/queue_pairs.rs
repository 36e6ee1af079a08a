//! Queue pairs of a pair of hosts, their first numbers, and the sizes of their frames.

use std::collections::BTreeSet;

use crate::common::run;

/// Forty messages at once from one host to another.
fn messages(transport: &str) -> String {
    format!(
        "title = \"queue pairs\"\n[topology]\nkind = \"pair\"\n[transport]\n{transport}\n[[workload]]\n\
         kind = \"stream\"\nsrc = \"h0\"\ndst = \"h1\"\nmessage = \"3kB\"\ndepth = 40\ncount = 40\n"
    )
}

#[test]
fn flows_share_the_queue_pairs_of_a_pair_of_hosts() {
    for (transport, expected) in
        [("qp = \"per-pair\"", 1), ("qp = \"per-pair\"\nqueue_pairs = 4", 4), ("qp = \"per-flow\"", 40)]
    {
        let (_, rows) = run(&messages(transport));
        assert!(rows.len() == 40 && rows.iter().all(|row| row.outcome.is_finished()), "{transport}");
        let used: BTreeSet<_> = rows.iter().map(|row| row.connection).collect();
        assert_eq!(used.len(), expected, "{transport}");
    }
}

/// Both ends agree on the number, also where it wraps, and nothing but the numbers changes.
#[test]
fn random_first_numbers_change_nothing_but_the_numbers() {
    let fcts = |first: &str| {
        let lossy = "[[impair]]\nkind = \"frames\"\nlinks = \"all\"\nrate = 0.01\n";
        let text = messages(&format!("qp = \"per-flow\"\ntimeout = 4\nfirst_psn = {first}"));
        let (results, rows) = run(&format!("{text}{lossy}"));
        assert!(results.counters.retransmitted_packets > 0);
        rows.iter().map(wiremend_measure::FlowRow::fct).collect::<Vec<_>>()
    };
    let same = fcts("0");
    assert_eq!(same, fcts("\"random\""));
    assert_eq!(same, fcts("16777215"));
}

/// A message of 3 kB: two full packets and one of 952 B; each has 62 B of headers, and its ACK has 68 B.
#[test]
fn frames_have_the_sizes_of_the_paper() {
    let bytes = |transport: &str| {
        let (results, rows) = run(&messages(transport));
        assert!(rows.iter().all(|row| row.outcome.is_finished() && row.slowdown() >= 1.0));
        results.lanes.iter().map(|lane| lane.tx_bytes).sum::<u64>()
    };
    let packets = 3_000 + 3 * 62;
    assert_eq!(bytes("frames = \"paper\""), 40 * 2 * (packets + 3 * 68));
    // A RETH with the first packet, and ACKs of 66 B.
    assert_eq!(bytes(""), 40 * 2 * (packets + 16 + 3 * 66));
}
