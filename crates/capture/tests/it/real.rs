//! Captures of the kernel's soft-RoCE with perftest, between two guests joined by a wire that dropped listed
//! frames: the answers are known. `data/README.md` tells how they were made.

use std::fs::File;
use std::path::Path;

use wiremend_capture::{Analysis, Certainty, Event, EventKind, Explanation, Side, TapPosition};
use wiremend_measure::TimeoutCause::{self, Nak, Other, Retransmission, TailAck, TailPacket};

fn explain_at(position: TapPosition, names: &[&str]) -> Explanation {
    let mut analysis = Analysis::new(position);
    for name in names {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/{name}.pcap.gz"));
        analysis.read(name, File::open(path).unwrap(), || true).unwrap();
    }
    analysis.finish()
}

fn explain(names: &[&str]) -> Explanation {
    explain_at(TapPosition::Unknown, names)
}

fn stalls(explanation: &Explanation) -> Vec<&Event> {
    explanation.events.iter().filter(|event| event.kind == EventKind::Timeout).collect()
}

/// The only stall: its cause, certainty and side.
fn only(explanation: &Explanation) -> (TimeoutCause, Certainty, Side) {
    let [event] = stalls(explanation)[..] else { panic!("{}", explanation.table(true)) };
    let verdict = event.verdict.as_ref().unwrap();
    (verdict.cause, verdict.certainty, verdict.side)
}

fn alternatives(explanation: &Explanation) -> Vec<TimeoutCause> {
    stalls(explanation)[0].verdict.as_ref().unwrap().alternatives.clone()
}

fn sub_cause(explanation: &Explanation) -> Option<&'static str> {
    stalls(explanation)[0].verdict.as_ref().unwrap().sub_cause
}

#[test]
fn a_clean_run_has_no_stall() {
    for side in ["clean-requester", "clean-responder"] {
        let explanation = explain(&[side]);
        assert!(explanation.events.is_empty(), "{}", explanation.table(true));
        assert_eq!((explanation.summary.flows, explanation.summary.paired), (1, 1));
        assert_eq!(explanation.frames.rc, 100);
    }
}

/// The kernel's timer runs on when everything is acknowledged and fires early: nothing is lost.
#[test]
fn an_early_timer_is_not_a_loss() {
    for names in [&["clean-lat-requester"][..], &["clean-lat-responder"]] {
        let explanation = explain(names);
        assert_eq!(only(&explanation), (Other, Certainty::Strong, Side::Nowhere));
        assert_eq!((explanation.summary.flows, explanation.summary.losses), (2, 0));
    }
}

#[test]
fn a_lost_tail_packet_is_named_at_each_tap() {
    assert_eq!(only(&explain(&["tail-packet-responder"])), (TailPacket, Certainty::Strong, Side::Upstream));
    // The ACKs for duplicates tell that only the last packet was missing.
    assert_eq!(only(&explain(&["tail-packet-requester"])), (TailPacket, Certainty::Strong, Side::Unknown));
    let both = explain(&["tail-packet-requester", "tail-packet-responder"]);
    assert_eq!((only(&both).0, only(&both).1), (TailPacket, Certainty::Strong));
}

#[test]
fn a_lost_tail_ack_is_named_at_each_tap() {
    assert_eq!(only(&explain(&["tail-ack-responder"])), (TailAck, Certainty::Strong, Side::Downstream));
    assert_eq!(only(&explain(&["tail-ack-requester"])), (TailAck, Certainty::Strong, Side::Unknown));
    let both = explain(&["tail-ack-requester", "tail-ack-responder"]);
    assert_eq!(only(&both), (TailAck, Certainty::Strong, Side::Between));
}

#[test]
fn a_lost_nak_is_told_where_it_passed() {
    let responder = explain(&["nak-responder"]);
    assert_eq!(only(&responder), (Nak, Certainty::Proof, Side::Downstream));
    let lost = &stalls(&responder)[0].verdict.as_ref().unwrap().lost_frames;
    assert_eq!(lost, &[23]);
    // The requester's tap has no NAK: all packets behind the first missing one may have been lost.
    let requester = explain(&["nak-requester"]);
    assert_eq!(only(&requester).1, Certainty::Ambiguous);
    assert_eq!((only(&requester).0, alternatives(&requester)), (Nak, vec![TailPacket]));
}

#[test]
fn a_packet_that_is_lost_twice_is_told_from_a_lost_nak() {
    assert_eq!(only(&explain(&["twice-responder"])), (Retransmission, Certainty::Strong, Side::Upstream));
    assert_eq!(only(&explain(&["twice-requester"])), (Retransmission, Certainty::Strong, Side::Downstream));
    let thrice = explain(&["thrice-requester"]);
    let [event] = stalls(&thrice)[..] else { panic!("{}", thrice.table(true)) };
    assert_eq!(event.timeouts, 2);
    assert_eq!(event.verdict.as_ref().unwrap().cause, Retransmission);
}

#[test]
fn one_outstanding_packet_is_ambiguous_at_one_tap_and_certain_at_two() {
    for name in ["one-packet-requester", "one-ack-requester"] {
        let one = explain(&[name]);
        assert_eq!((only(&one).0, only(&one).1), (TailPacket, Certainty::Ambiguous));
        assert_eq!(alternatives(&one), [TailAck]);
    }
    assert!(stalls(&explain(&["one-packet-responder"])).is_empty());
    let packet = explain(&["one-packet-requester", "one-packet-responder"]);
    assert_eq!(only(&packet), (TailPacket, Certainty::Strong, Side::Between));
    let ack = explain(&["one-ack-requester", "one-ack-responder"]);
    assert_eq!(only(&ack), (TailAck, Certainty::Strong, Side::Between));
}

#[test]
fn responses_of_a_read_are_found_where_they_were_lost() {
    for (name, sub) in [("read-last", "READ response"), ("read-gap", "gap not acted upon")] {
        let requester = explain(&[&format!("{name}-requester")]);
        assert_eq!(only(&requester), (TailAck, Certainty::Strong, Side::Upstream));
        assert_eq!(sub_cause(&requester), Some(sub));
        let responder = explain(&[&format!("{name}-responder")]);
        assert_eq!(only(&responder), (TailAck, Certainty::Strong, Side::Downstream));
        assert_eq!(sub_cause(&responder), Some("READ response"));
    }
    let request = explain(&["read-request-requester"]);
    assert_eq!((only(&request).0, only(&request).1), (Other, Certainty::Ambiguous));
    let both = explain(&["read-request-requester", "read-request-responder"]);
    assert_eq!(only(&both), (Other, Certainty::Strong, Side::Between));
}

/// Soft-RoCE ignores the NAK for a second gap until the round has an ACK. At the requester that is certain.
#[test]
fn an_ignored_nak_is_not_called_a_loss() {
    let unknown = explain(&["ignored-requester"]);
    assert_eq!((only(&unknown).0, only(&unknown).1), (Other, Certainty::Ambiguous));
    assert!(alternatives(&unknown).contains(&Retransmission), "{}", unknown.table(true));
    let requester = explain_at(TapPosition::Requester, &["ignored-requester"]);
    assert_eq!(only(&requester), (Other, Certainty::Strong, Side::Nowhere));
    assert_eq!(sub_cause(&requester), Some("a NAK arrived and was ignored"));
}

#[test]
fn recoveries_without_a_timer_are_no_stalls() {
    let recovery = explain(&["recovery-responder"]);
    assert_eq!((recovery.summary.stalls, recovery.summary.nak_recoveries), (0, 1));
    let rnr = explain(&["rnr-requester"]);
    assert_eq!(rnr.summary.stalls, 0);
    assert!(rnr.summary.rnr_waits >= 3, "{}", rnr.table(true));
}

/// An answer that passes both taps before the resend was late, not lost.
#[test]
fn two_taps_tell_a_late_answer_from_a_lost_one() {
    let late = explain(&["late-requester", "late-responder"]);
    assert_eq!(only(&late).0, Other);
    let requester = explain_at(TapPosition::Requester, &["late-requester"]);
    assert_eq!(only(&requester), (Other, Certainty::Strong, Side::Nowhere));
}

#[test]
fn the_filter_names_the_frames_of_the_table() {
    let explanation = explain(&["twice-requester"]);
    assert_eq!(explanation.filter(), "frame.number in {24, 25, 26, 29, 32}");
    assert!(explanation.to_string().lines().count() <= 10, "{explanation}");
}

/// The same packets in Linux cooked and raw captures, behind three tags, in mirrors of switches, over IPv6, compressed:
/// inputs of the fuzzer, of which the first byte is not part of the capture.
#[test]
fn encapsulated_packets_have_the_same_answers() {
    let answers = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/explain_capture");
        let input = std::fs::read(folder.join(name)).unwrap();
        let mut analysis = Analysis::new(TapPosition::Unknown);
        analysis.read(name, &input[1..], || true).unwrap();
        let explanation = analysis.finish();
        assert!(!explanation.events.is_empty(), "{name}");
        let answer = |event: &Event| (event.frame, event.kind, event.verdict.as_ref().map(|it| it.cause));
        explanation.events.iter().map(answer).collect::<Vec<_>>()
    };
    for (encapsulation, capture) in [
        ("cooked", "clean-lat-requester"),
        ("cooked2", "clean-lat-responder"),
        ("raw", "ignored-requester"),
        ("tags", "ignored-responder"),
        ("vxlan", "late-requester"),
        ("erspan", "late-responder"),
        ("v6", "nak-requester"),
    ] {
        let plain = answers(&format!("short-{capture}"));
        assert_eq!(answers(&format!("{encapsulation}-{capture}")), plain, "{encapsulation}");
    }
    let plain = answers("short-twice-requester");
    assert_eq!([answers("gzip"), answers("zstd")], [plain.clone(), plain]);
}
