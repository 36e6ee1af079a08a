//! ToR switches that copy NAKs and retransmissions (JCST §5.1, Figs. 6 and 7), each case scripted.

use crate::common::{run, run_scripted};
use wiremend_sim::Results;

/// A 12-packet WRITE from `h0` to `h2` over two ToR switches. The rules corrupt frames from `s0` to `s1`, and
/// back.
fn scripted(mend: &str, forward: &str, backward: &str) -> (Results, wiremend_measure::FlowRow) {
    let text = format!(
        "title = \"scripted\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 2\n\
         [transport]\nresend_delay = \"500ns\"\n[mend]\n{mend}\n\
         [[workload]]\nkind = \"flows\"\nbytes = \"12KiB\"\npattern = \"point-to-point\"\nsrc = \"h0\"\ndst = \"h2\"\n"
    );
    run_scripted(&text, "s0-s1", [forward, backward])
}

/// Fig. 6.
#[test]
fn a_copy_replaces_a_lost_nak() {
    let (results, row) = scripted("nak_copies = 1", "{ psn = 3 }", "{ packet = \"nak\" }");
    assert_eq!((row.timeouts, row.naks), (0, 1));
    let added = results.counters.extra_frames;
    assert_eq!((added.nak_copies.frames, added.nak_copies.bytes), (1, 66));
    assert_eq!(
        (results.counters.naks, results.counters.nak_copies),
        (0, 1),
        "original and copies are counted separately"
    );
    let (results, row) = scripted("nak_copies = 2", "{ psn = 3 }", "");
    assert_eq!((results.counters.naks, results.counters.nak_copies), (1, 2));
    assert_eq!(row.retransmitted_packets, 9, "copies that arrive together cause no second retransmission");
}

/// Fig. 7.
#[test]
fn a_copy_replaces_a_lost_retransmission() {
    let (results, row) = scripted("retransmission_copies = 1", "{ psn = 3, count = 2 }", "");
    assert_eq!(row.timeouts, 0);
    let added = results.counters.extra_frames;
    assert_eq!((added.retransmission_copies.frames, added.false_matches), (1, 0));
    // A middle packet of a WRITE with 1024 bytes: 14 + 20 + 8 + 12 + 1024 + 4 + 4.
    assert_eq!(added.retransmission_copies.bytes, 1086);
    let (_, row) = scripted("retransmission_copies = 1", "{ psn = 3, count = 3 }", "");
    assert_eq!(row.timeouts, 1, "original, retransmission and its copy are lost");
    let (_, row) = scripted("retransmission_copies = 2", "{ psn = 3, count = 3 }", "");
    assert_eq!(row.timeouts, 0);
}

/// The timer of a tail sends a copy of it, and the next one after twice the time.
#[test]
fn a_timer_of_the_tail_replaces_the_timeout() {
    for (forward, backward, copies) in [
        ("", "", 0),
        ("{ psn = 11 }", "", 1),
        ("", "{ packet = \"ack\", psn = 11 }", 1),
        ("{ psn = 11, count = 2 }", "", 2),
        ("{ psn = 10 }, { psn = 11 }", "", 1),
    ] {
        let (results, row) = scripted("tail_timeout = \"50us\"", forward, backward);
        let sent = results.counters.extra_frames.repeats.frames;
        assert_eq!((row.timeouts, sent), (0, copies), "{forward} {backward}");
        let waited = row.fct().as_ns() / 50_000;
        assert_eq!(waited, [0, 1, 3][copies as usize], "{forward} {backward}");
    }
}

/// Presets set the values that a scenario does not give.
#[test]
fn all_mechanisms_together_survive_combined_losses() {
    let losses = ("{ psn = 3, count = 2 }, { psn = 11, count = 2 }", "{ packet = \"nak\" }");
    for (mend, timeouts) in [
        ("preset = \"none\"", 2),
        ("preset = \"all\"", 0),
        ("preset = \"all\"\nnak_copies = 0", 2),
        ("preset = \"all\"\nretransmission_copies = 0", 1),
        ("preset = \"all\"\ndummies = 0", 1),
    ] {
        let (_, row) = scripted(mend, losses.0, losses.1);
        assert_eq!(row.timeouts, timeouts, "{mend}");
    }
}

/// Two connections of one switch use the same PSNs, and the switch sees nothing else.
#[test]
fn another_connection_can_cause_a_false_match() {
    let text = "title = \"two\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 2\n\
         [mend]\nretransmission_copies = 1\n\
         [[workload]]\nkind = \"flows\"\nbytes = \"12KiB\"\npattern = \"point-to-point\"\nsrc = \"h0\"\ndst = \"h2\"\n\
         [[workload]]\nkind = \"flows\"\nbytes = \"12KiB\"\npattern = \"point-to-point\"\nsrc = \"h1\"\ndst = \"h3\"\nstart = \"5500ns\"\n\
         [[impair]]\nkind = \"script\"\nlinks = [\"s1-h2\"]\ndirection = \"backward\"\nrules = [{ psn = 3 }]\n";
    let (results, rows) = run(text);
    assert!(rows.iter().all(|row| row.outcome.is_finished()));
    let added = results.counters.extra_frames;
    assert_eq!((added.retransmission_copies.frames, added.false_matches), (1, 1));
}
