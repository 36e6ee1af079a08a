//! Host-based mending with selective repeat (JCST §7.1): the remaining benefit of each mechanism, each case
//! scripted.

use crate::common::run_scripted;
use wiremend_measure::FlowRow;
use wiremend_sim::Results;

/// A 12-packet WRITE from `h0` to `h2` over two ToR switches. The rules corrupt frames from `s0` to `s1`, and
/// back.
fn scripted(transport: &str, mend: &str, forward: &str, backward: &str) -> (Results, FlowRow) {
    let text = format!(
        "title = \"scripted\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 2\n[transport]\n{transport}\n\
         [mend]\n{mend}\n[[workload]]\nkind = \"flows\"\nbytes = \"12KiB\"\npattern = \"point-to-point\"\nsrc = \"h0\"\n\
         dst = \"h2\"\n"
    );
    run_scripted(&text, "s0-s1", [forward, backward])
}

const IRN: &str = "recovery = \"selective-repeat\"";

/// The cost of each loss without and with its remedy.
#[test]
fn every_mechanism_prevents_the_timeout_of_its_loss() {
    for (mend, forward, backward) in [
        ("dummies = 2", "{ psn = 11 }", ""),
        ("dummies = 2", "", "{ psn = 11 }"),
        ("tail_copies = 1", "{ psn = 11 }", ""),
        ("packet_copies = 1", "{ psn = 11 }", ""),
        // Near the tail there is only one NAK.
        ("nak_copies = 1", "{ psn = 10 }", "{ packet = \"nak\" }"),
        ("retransmission_copies = 1", "{ psn = 3, count = 2 }", ""),
        ("preset = \"all\"", "{ psn = 3, count = 2 }, { psn = 11 }", "{ packet = \"nak\" }"),
    ] {
        let (_, bare) = scripted(IRN, "", forward, backward);
        let (_, mended) = scripted(IRN, mend, forward, backward);
        assert!(bare.timeouts > 0, "{mend}: {bare:?}");
        assert_eq!(mended.timeouts, 0, "{mend}: {mended:?}");
    }
}

/// A NAK names only the first hole, so a switch copies no other retransmission.
#[test]
fn retransmissions_of_a_second_hole_are_not_copied() {
    let losses = "{ psn = 3 }, { psn = 6, count = 2 }";
    let (results, row) = scripted(IRN, "retransmission_copies = 1", losses, "");
    assert_eq!((row.timeouts, results.counters.extra_frames.retransmission_copies.frames), (1, 1));
}

/// Copies of a NAK cause no second retransmission: the recovery is already in progress.
#[test]
fn copies_of_naks_cause_no_retransmission() {
    let (results, row) = scripted(IRN, "nak_copies = 2", "{ psn = 3 }", "");
    assert_eq!((row.retransmitted_packets, row.timeouts), (1, 0));
    assert_eq!((results.counters.naks, results.counters.nak_copies), (8, 16));
}

/// Accelerations of go-back-N (JCST §7.1): a short timer detects a lost tail. Without timeouts nothing else
/// changes.
#[test]
fn accelerations_act_on_timeouts_only() {
    let all = "[transport.acceleration]\nadaptive_retransmission = true\nfirst_timeout = \"1ms\"\nslow_restart = true";
    let fct = |more: &str, mend: &str, forward: &str| {
        let (_, row) = scripted(more, mend, forward, "");
        (row.timeouts, row.fct().as_ps())
    };
    let (timeouts, usual) = fct("", "", "{ psn = 11 }");
    let (short_timeouts, short) = fct(all, "", "{ psn = 11 }");
    assert_eq!((timeouts, short_timeouts), (1, 1));
    assert!(usual > 67_000_000_000 && (1_000_000_000..1_100_000_000).contains(&short), "{usual} {short}");
    for losses in ["", "{ psn = 11 }"] {
        assert_eq!(fct("", "dummies = 2", losses).0, 0);
        let (plain, fast) = (fct("", "dummies = 2", losses).1, fct(all, "dummies = 2", losses).1);
        assert!(fast.abs_diff(plain) < 10_000_000, "{losses}: {plain} {fast}");
    }
}

#[test]
fn slow_restart_doubles_per_round_trip() {
    let slow = "[transport.acceleration]\nslow_restart = true";
    let (_, plain) = scripted("", "", "{ psn = 1 }", "");
    let (_, restarted) = scripted(slow, "", "{ psn = 1 }", "");
    assert_eq!((plain.retransmitted_packets, restarted.retransmitted_packets), (11, 11));
    assert!(restarted.fct() > plain.fct(), "{restarted:?}");
}
