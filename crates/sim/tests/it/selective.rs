//! Schemes that accept packets in any order: each loss scripted on a 12-packet WRITE, with exact counts.

use crate::common::run_scripted;
use wiremend_measure::{FlowRow, TimeoutCause};
use wiremend_sim::Results;

/// A 12-packet WRITE from `h0` to `h1` with a scheme; the rules corrupt data frames forward and responses
/// backward on the link of `h0`.
fn scripted(scheme: &str, more: &str, forward: &str, backward: &str) -> (Results, FlowRow) {
    let text = format!(
        "title = \"scripted\"\n[topology]\nkind = \"pair\"\n[transport]\nrecovery = \"{scheme}\"\n{more}\n[[workload]]\n\
         kind = \"flows\"\nbytes = \"12KiB\"\npattern = \"point-to-point\"\n"
    );
    run_scripted(&text, "h0-tor", [forward, backward])
}

fn causes(results: &Results) -> [u64; 5] {
    TimeoutCause::ALL.map(|cause| results.counters.timeouts.get(cause))
}

fn duplicates(results: &Results) -> u64 {
    results.hosts.iter().map(|host| host.duplicates).sum()
}

const RTO_LOW_PS: u64 = 100_000_000;
const RTO_HIGH_PS: u64 = 320_000_000;

/// One loss in the middle: one retransmission, and a NAK for each packet behind the gap.
#[test]
fn irn_retransmits_only_missing_packets() {
    let (results, row) = scripted("selective-repeat", "", "{ psn = 3 }", "");
    assert_eq!((row.timeouts, row.retransmitted_packets), (0, 1));
    assert_eq!(row.naks, 8, "packets 4 to 11 came out of order");
    assert_eq!(duplicates(&results), 0);
    assert!(row.fct().as_ps() < 20_000_000);
}

/// Several losses in one window: each is retransmitted once, without a timeout.
#[test]
fn irn_fills_several_holes_in_one_recovery() {
    let (results, row) = scripted("selective-repeat", "", "{ psn = 2 }, { psn = 5 }, { psn = 9 }", "");
    assert_eq!((row.timeouts, row.retransmitted_packets, duplicates(&results)), (0, 3, 0));
}

/// A lost NAK costs no timeout: the next packet out of order causes another. But its packet counts as lost.
#[test]
fn irn_survives_a_lost_nak() {
    let (results, row) = scripted("selective-repeat", "", "{ psn = 3 }", "{ packet = \"nak\" }");
    assert_eq!((row.timeouts, row.retransmitted_packets, duplicates(&results)), (0, 2, 1));
}

/// A lost retransmission is detected only by the timer: the long one, while much is outstanding.
#[test]
fn irn_waits_for_its_timer_when_a_retransmission_is_lost() {
    let (results, row) = scripted("selective-repeat", "", "{ psn = 3, count = 2 }", "");
    assert_eq!(causes(&results), [0, 0, 0, 1, 0]);
    assert_eq!((row.timeouts, row.retransmitted_packets), (1, 2));
    assert!(row.fct().as_ps() > RTO_HIGH_PS, "nine packets are outstanding");
}

/// A lost tail: the short timer, because one packet is outstanding.
#[test]
fn irn_notices_a_lost_tail_by_its_short_timer() {
    let (results, row) = scripted("selective-repeat", "", "{ psn = 11 }", "");
    assert_eq!(causes(&results), [1, 0, 0, 0, 0]);
    assert!((RTO_LOW_PS..RTO_HIGH_PS).contains(&row.fct().as_ps()));
    let (results, row) = scripted("selective-repeat", "", "", "{ psn = 11 }");
    assert_eq!(causes(&results), [0, 1, 0, 0, 0]);
    assert_eq!(
        (row.retransmitted_packets, duplicates(&results)),
        (1, 1),
        "only the acknowledgement was lost"
    );
}

/// Without NAKs every loss waits for the timer, which then recovers all.
#[test]
fn timeout_only_waits_for_every_loss() {
    let (results, row) = scripted("timeout-only", "", "{ psn = 2 }, { psn = 5 }, { psn = 11 }", "");
    assert_eq!((row.timeouts, row.naks, row.retransmitted_packets), (1, 0, 3));
    assert_eq!(duplicates(&results), 0);
    assert!(row.fct().as_ps() > RTO_HIGH_PS);
}

/// RACK: neither a loss in the middle nor a lost retransmission costs a timeout, and a probe detects a lost
/// tail.
#[test]
fn rack_recovers_without_timeouts() {
    for (forward, again, duplicated) in [
        ("{ psn = 3 }", 1, 0),
        ("{ psn = 2 }, { psn = 5 }, { psn = 9 }", 3, 0),
        // No later packet follows the retransmission: the tail loss probe detects its loss.
        ("{ psn = 11 }", 1, 0),
    ] {
        let (results, row) = scripted("rack-tlp", "", forward, "");
        assert_eq!((row.timeouts, row.naks), (0, 0), "{forward}");
        assert_eq!((row.retransmitted_packets, duplicates(&results)), (again, duplicated), "{forward}");
        assert!(row.fct().as_ps() < 50_000_000, "{forward}");
    }
    let (results, row) = scripted("rack-tlp", "", "", "{ psn = 11 }");
    assert_eq!((row.timeouts, row.retransmitted_packets, duplicates(&results)), (0, 1, 1));
}

/// MP-RDMA: a gap within the bitmap causes no NAK; the timer resends everything from there on.
#[test]
fn mp_rdma_goes_back_when_its_timer_expires() {
    let (results, row) = scripted("mp-rdma", "", "{ psn = 3 }", "");
    assert_eq!((row.timeouts, row.retransmitted_packets), (1, 9));
    assert_eq!(duplicates(&results), 8, "the responder had all packets but one");
    assert!(row.fct().as_ps() > 8_000_000_000);
}

/// MP-RDMA: a packet beyond the bitmap is dropped, and its NAK starts a recovery long before the timer.
#[test]
fn mp_rdma_naks_when_its_bitmap_is_full() {
    let table = "[transport.selective-repeat]\ntracked = 4";
    let (_, row) = scripted("mp-rdma", table, "{ psn = 3 }", "");
    assert!(row.naks > 0 && row.timeouts == 0, "{row:?}");
    assert!(row.fct().as_ps() < 50_000_000);
}

/// Both kinds of tracking give the same run.
#[test]
fn linked_chunks_track_like_a_bitmap() {
    let chunks = "[transport.selective-repeat]\ntracking = \"linked-chunks\"";
    let losses = "{ psn = 2 }, { psn = 5 }, { psn = 9 }";
    let (with_bitmap, with_chunks) =
        (scripted("selective-repeat", "", losses, ""), scripted("selective-repeat", chunks, losses, ""));
    assert_eq!(with_bitmap.0.collector.digest(), with_chunks.0.collector.digest());
    let steps = |results: &Results| results.hosts[1].steps;
    let (bits, chunks) = (steps(&with_bitmap.0), steps(&with_chunks.0));
    assert_eq!((bits.packets, bits.steps, bits.disorder_max), (12, 12, 9), "packet 11 came before 2");
    assert_eq!((bits.peak_bytes, chunks.disorder_max), (0, 9));
    assert!(chunks.peak_bytes > 0);
}
