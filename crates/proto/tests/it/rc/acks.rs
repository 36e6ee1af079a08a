//! Which packets request acknowledgements, and how acknowledgements coalesce.

use wiremend_proto::engine::Responder as _;
use wiremend_proto::rc::{Config, Packet, Responder, RethRepr};
use wiremend_testkit::{Direction, Pair, RunEnd, Side};
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::Opcode;

use super::config;

fn acks(mut pair: Pair<Config>) -> (u64, u32) {
    pair.write(Side::A, 256 * 100);
    pair.run_until_delivered();
    assert_eq!(pair.requester(Side::A).retransmitted_packets, 0);
    (pair.responder(Side::B).acks, pair.responder(Side::B).coalesced)
}

#[test]
fn every_kth_packet_and_the_last_request_an_acknowledgement() {
    for (ack_every, asked) in [(1, 100), (2, 50), (3, 34), (64, 2), (100, 1), (1000, 1)] {
        assert_eq!(acks(Pair::new(Config { ack_every, ..config() })), (asked, 0));
    }
}

#[test]
fn acknowledgements_coalesce_at_a_busy_port() {
    let slow = Pair::new(config()).spacing(Direction::Backward, Span::from_us(1));
    let (sent, coalesced) = acks(slow);
    assert_eq!(sent + u64::from(coalesced), 100);
    // 100 packets take 10 µs; one ACK leaves at once, one each microsecond, one at the end.
    assert!((10..=12).contains(&sent), "{sent}");
}

/// Returns the responses to requests with these PSNs when they are polled only at the end. The requests are
/// SENDs of one packet, except PSNs 10 to 12, which are a READ.
fn responses(requests: &[u32]) -> Vec<String> {
    let config = config();
    let mut responder = Responder::new(QpNum::new(1), Psn::new(8));
    for psn in requests {
        let opcode = if *psn == 10 { Opcode::ReadRequest } else { Opcode::SendOnly };
        let packet = Packet::new(opcode, QpNum::new(2), Psn::new(*psn)).with_ack_req(*psn != 10);
        let reth = RethRepr { address: 0, remote_key: 0, dma_len: 700 };
        let packet = if *psn == 10 { packet.with_reth(reth) } else { packet };
        responder.on_packet(&config, Time::ZERO, &packet);
    }
    std::iter::from_fn(|| responder.poll_transmit(&config).map(|packet| packet.to_string())).collect()
}

#[test]
fn a_newer_response_replaces_a_waiting_one() {
    assert_eq!(responses(&[8, 9]), ["Ack psn 9 msn 2"]);
    assert_eq!(responses(&[8, 10]), ["Nak(PsnSequence) psn 9 msn 1"], "a NAK acknowledges earlier packets");
    assert_eq!(
        responses(&[8, 10, 8]),
        ["Nak(PsnSequence) psn 9 msn 1"],
        "an ACK of earlier packets does not replace it"
    );
    assert_eq!(responses(&[8, 10, 9]), ["Ack psn 9 msn 2"], "an ACK of the missing packet replaces it");
}

#[test]
fn responses_are_sent_in_psn_order() {
    let read_responses = |first: &str| {
        let first = first.to_owned();
        [first, "ReadResponseMiddle psn 11 len 256".to_owned(), "ReadResponseLast psn 12 len 188".to_owned()]
    };
    let mut expected = vec!["Ack psn 9 msn 2".to_owned()];
    expected.extend(read_responses("ReadResponseFirst psn 10 len 256"));
    expected.push("Ack psn 14 msn 5".to_owned());
    assert_eq!(responses(&[8, 9, 10, 13, 14]), expected);
}

/// A lost acknowledgement does not matter if a later one arrives.
#[test]
fn acknowledgements_are_cumulative() {
    let mut pair = Pair::new(config()).fate(Direction::Backward, |sent| sent.nth % 10 != 0);
    pair.write(Side::A, 256 * 100);
    assert_eq!(pair.run_until_idle(), RunEnd::Idle);
    assert_eq!(pair.requester(Side::A).packets, 100);
    assert_eq!(pair.causes(), []);
}
