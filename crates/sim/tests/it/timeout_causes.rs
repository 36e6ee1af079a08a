//! The four causes of a timeout (JCST §3.1, Figs. 2–5), each scripted on a 12-packet WRITE, with exact
//! counts.

use crate::common::{run, run_scripted};
use wiremend_measure::TimeoutCause;

/// A 12-packet WRITE from `h0` to `h1`; the rules corrupt data frames forward and responses backward on the
/// link of `h0`.
fn scripted(forward: &str, backward: &str) -> (wiremend_sim::Results, wiremend_measure::FlowRow) {
    let text = "title = \"scripted\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"flows\"\nbytes = \"12KiB\"\n\
                pattern = \"point-to-point\"\n";
    run_scripted(text, "h0-tor", [forward, backward])
}

fn causes(results: &wiremend_sim::Results) -> [u64; 5] {
    TimeoutCause::ALL.map(|cause| results.counters.timeouts.get(cause))
}

const RTO_PS: u64 = 67_108_864_000;

/// Fig. 2: the only NAK is lost.
#[test]
fn a_lost_nak_ends_in_a_timeout() {
    let (results, row) = scripted("{ psn = 3 }", "{ packet = \"nak\" }");
    assert_eq!(causes(&results), [0, 0, 1, 0, 0]);
    assert_eq!((row.timeouts, row.naks, row.retransmitted_packets), (1, 0, 9));
    assert!(row.fct().as_ps() > RTO_PS);
}

/// Fig. 3: a packet and its retransmission are lost.
#[test]
fn a_packet_lost_twice_ends_in_a_timeout() {
    let (results, row) = scripted("{ psn = 3, count = 2 }", "");
    assert_eq!(causes(&results), [0, 0, 0, 1, 0]);
    // Nine packets after the NAK, and the same nine after the timer.
    assert_eq!((row.timeouts, row.naks, row.retransmitted_packets), (1, 1, 18));
    assert!(row.fct().as_ps() > RTO_PS);
}

/// Fig. 4: no packet follows the tail to show its loss.
#[test]
fn a_lost_tail_packet_ends_in_a_timeout() {
    let (results, row) = scripted("{ psn = 11 }", "");
    assert_eq!(causes(&results), [1, 0, 0, 0, 0]);
    assert_eq!((row.timeouts, row.naks, row.retransmitted_packets), (1, 0, 1));
    assert!(row.fct().as_ps() > RTO_PS);
}

/// Fig. 5: the data arrive, their last acknowledgement does not.
#[test]
fn a_lost_tail_ack_ends_in_a_timeout() {
    let (results, row) = scripted("", "{ psn = 11 }");
    assert_eq!(causes(&results), [0, 1, 0, 0, 0]);
    assert_eq!((row.timeouts, row.naks, row.retransmitted_packets), (1, 0, 1));
    assert!(row.delivered_ps.is_some_and(|at| at < RTO_PS) && row.fct().as_ps() > RTO_PS);
}

/// The usual case: one loss in the middle costs a round trip and no timeout.
#[test]
fn a_loss_in_the_middle_costs_no_timeout() {
    let (results, row) = scripted("{ psn = 3 }", "");
    assert_eq!(causes(&results), [0; 5]);
    assert_eq!((row.timeouts, row.naks, row.retransmitted_packets), (0, 1, 9));
    assert!(row.fct().as_ps() < 20_000_000);
}

/// No packet ever arrives: the connection fails with its reason, and the run ends.
#[test]
fn a_dead_link_ends_in_exhausted_retries() {
    let (results, rows) = run(
        "title = \"dead\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"flows\"\nbytes = \"1KiB\"\n\
         pattern = \"point-to-point\"\n[[impair]]\nkind = \"frames\"\nlinks = \"all\"\nrate = 1.0\n",
    );
    assert_eq!(rows[0].outcome, wiremend_measure::FlowOutcome::RetryExceeded);
    assert_eq!(rows[0].timeouts, 8, "seven retries, and the expiry without retries left");
    assert_eq!(causes(&results), [8, 0, 0, 0, 0]);
}

/// Without a timer a lost tail is never detected: the run ends as stalled.
#[test]
fn without_a_timer_a_lost_tail_stalls() {
    let (results, rows) = run(
        "title = \"no timer\"\n[topology]\nkind = \"pair\"\n[transport]\ntimeout = 0\n[[workload]]\n\
         kind = \"flows\"\nbytes = \"1KiB\"\npattern = \"point-to-point\"\n[[impair]]\nkind = \"frames\"\nlinks = \"all\"\n\
         rate = 1.0\n",
    );
    assert_eq!(results.end_reason, wiremend_sim::EndReason::Stalled);
    assert_eq!(rows[0].outcome, wiremend_measure::FlowOutcome::Stalled);
}
