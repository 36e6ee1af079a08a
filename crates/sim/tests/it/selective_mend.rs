//! Mending at the ends with selective repeat (JCST §7.1): what each mechanism still buys, each case scripted.

use crate::common::run_scripted;
use wiremend_measure::FlowRow;
use wiremend_sim::Results;

/// A 12-packet WRITE from `h0` to `h2` over two ToR switches. `rules` corrupt what `s0` sends to `s1`, and back.
fn scripted(transport: &str, mend: &str, forward: &str, backward: &str) -> (Results, FlowRow) {
    let text = format!(
        "title = \"scripted\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 2\n[transport]\n{transport}\n\
         [mend]\n{mend}\n[[workload]]\nkind = \"flows\"\nbytes = \"12KiB\"\npattern = \"point-to-point\"\nsrc = \"h0\"\n\
         dst = \"h2\"\n"
    );
    run_scripted(&text, "s0-s1", [forward, backward])
}

const IRN: &str = "recovery = \"selective-repeat\"";

/// What each loss costs without a remedy and with its own.
#[test]
fn every_mechanism_keeps_its_loss_from_the_timer() {
    for (mend, forward, backward) in [
        ("dummies = 2", "{ psn = 11 }", ""),
        ("dummies = 2", "", "{ psn = 11 }"),
        ("tail_copies = 1", "{ psn = 11 }", ""),
        ("packet_copies = 1", "{ psn = 11 }", ""),
        // Near the tail there is but one NAK.
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

/// A NAK names the first hole only, so that a switch copies nothing else that is sent again.
#[test]
fn a_second_hole_is_not_copied() {
    let losses = "{ psn = 3 }, { psn = 6, count = 2 }";
    let (results, row) = scripted(IRN, "retransmission_copies = 1", losses, "");
    assert_eq!((row.timeouts, results.counters.added.retransmission_copies.frames), (1, 1));
}

/// Copies of a NAK send nothing twice: the recovery is under way already.
#[test]
fn copies_of_naks_change_nothing_else() {
    let (results, row) = scripted(IRN, "nak_copies = 2", "{ psn = 3 }", "");
    assert_eq!((row.retransmitted_packets, row.timeouts), (1, 0));
    assert_eq!((results.counters.naks, results.counters.nak_copies), (8, 16));
}

/// Accelerations of go-back-N (JCST §7.1): a short timer finds a lost tail, and nothing else changes where no timer
/// expires.
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

/// Slow restart takes a round trip for each doubling.
#[test]
fn a_slow_restart_is_slow() {
    let slow = "[transport.acceleration]\nslow_restart = true";
    let (_, plain) = scripted("", "", "{ psn = 1 }", "");
    let (_, restarted) = scripted(slow, "", "{ psn = 1 }", "");
    assert_eq!((plain.retransmitted_packets, restarted.retransmitted_packets), (11, 11));
    assert!(restarted.fct() > plain.fct(), "{restarted:?}");
}
