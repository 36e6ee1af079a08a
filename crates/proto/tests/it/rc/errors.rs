//! Connections in error report the reason and send nothing more.

use wiremend_proto::engine::{Op, RequestOutcome, Requester as _, Responder as _, Status, Work};
use wiremend_proto::rc::{Config, NakCode, Packet, Qp, RethRepr};
use wiremend_testkit::{Direction, Pair, RunEnd, Side};
use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::Opcode;

use super::{TIMEOUT, config};

fn statuses(pair: &Pair<Config>) -> Vec<Status> {
    pair.completions(Side::A).iter().map(|completion| completion.status).collect()
}

#[test]
fn exhausted_retries_fail_the_oldest_work_and_flush_the_others() {
    for retry_count in [0, 1, 7] {
        // The first message passes; all later packets are lost.
        let mut pair = Pair::new(Config { retry_count, ..config() })
            .fate(Direction::Forward, |sent| sent.packet.psn.get() >= 2);
        for _ in 0..4 {
            pair.send(Side::A, 300);
        }
        assert_eq!(pair.run_until_idle(), RunEnd::Idle);
        pair.check().unwrap();
        assert_eq!(
            statuses(&pair),
            [Status::Success, Status::RetryExceeded, Status::Flushed, Status::Flushed]
        );
        assert_eq!(pair.expired().len(), retry_count as usize + 1);
        assert_eq!(pair.expired().iter().filter(|expired| expired.expiry.fatal).count(), 1);
        let carried = pair.carried(Direction::Forward);
        pair.send(Side::A, 5);
        pair.run_until_idle();
        assert_eq!(statuses(&pair).last(), Some(&Status::Flushed), "posted after the failure");
        assert_eq!(pair.carried(Direction::Forward), carried, "nothing is sent");
        assert_eq!(pair.host(Side::A).requester.next_timeout(), None);
    }
}

#[test]
fn progress_resets_the_retries() {
    // Every number is lost twice: this succeeds only if progress resets the retries.
    let mut pair = Pair::new(Config { retry_count: 2, window: 1, ..config() })
        .fate(Direction::Forward, |sent| sent.copy < 2);
    pair.send(Side::A, 256 * 20);
    pair.run_until_delivered();
    assert_eq!(pair.expired().len(), 40);
}

#[test]
fn the_first_expiry_is_one_timeout_after_the_first_packet() {
    let mut pair = Pair::new(config()).fate(Direction::Forward, |_| true);
    pair.send(Side::A, 1);
    pair.run_until_idle();
    let at: Vec<_> = pair.expired().iter().map(|expired| expired.at.as_ns() / TIMEOUT.as_ns()).collect();
    assert_eq!(at, [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// Returns the response to a request, sent first or after a FIRST packet with opcode `after`.
fn respond_to(after: Option<Opcode>, packet: Packet) -> (RequestOutcome, Option<String>) {
    let config = config();
    let mut qp = Qp::new(QpNum::new(1), Psn::new(0), Psn::new(0));
    let reth = RethRepr { address: 64, remote_key: 1, dma_len: 600 };
    if let Some(opcode) = after {
        let first = Packet::new(opcode, QpNum::new(2), Psn::new(0)).with_payload(256).with_reth(reth);
        assert!(matches!(
            qp.responder.on_packet(&config, Time::ZERO, &first),
            RequestOutcome::Accepted { .. }
        ));
    }
    let mut packet = packet;
    packet.psn = qp.responder.expected();
    let outcome = qp.responder.on_packet(&config, Time::ZERO, &packet);
    (outcome, qp.responder.poll_transmit(&config).map(|packet| packet.to_string()))
}

#[test]
fn invalid_requests_are_refused() {
    let packet = |opcode, len| Packet::new(opcode, QpNum::new(2), Psn::new(0)).with_payload(len);
    let write = |opcode, payload, dma_len| {
        packet(opcode, payload).with_reth(RethRepr { address: 64, remote_key: 1, dma_len })
    };
    let send = Some(Opcode::SendFirst);
    let writing = Some(Opcode::WriteFirst);
    let refused = [
        (None, packet(Opcode::SendMiddle, 256), "a message starts with FIRST or ONLY"),
        (None, packet(Opcode::WriteLast, 10), "a message starts with FIRST or ONLY"),
        (send, packet(Opcode::SendOnly, 10), "FIRST is followed by MIDDLE or LAST"),
        (send, packet(Opcode::WriteMiddle, 256), "the packets of a message have one operation"),
        (send, write(Opcode::ReadRequest, 0, 100), "FIRST is not followed by a READ"),
        (None, packet(Opcode::SendFirst, 255), "FIRST is full"),
        (send, packet(Opcode::SendMiddle, 255), "MIDDLE is full"),
        (send, packet(Opcode::SendLast, 0), "LAST is not empty"),
        (send, packet(Opcode::SendLast, 257), "no payload exceeds the MTU"),
        (None, packet(Opcode::SendOnly, 257), "no payload exceeds the MTU"),
        (None, write(Opcode::WriteOnly, 10, 11), "the payload of ONLY has the length in its RETH"),
        (None, write(Opcode::WriteFirst, 256, 256), "FIRST is not the whole message"),
        (writing, packet(Opcode::WriteLast, 256), "a WRITE has the length in its RETH"),
        (None, write(Opcode::ReadRequest, 5, 100), "a READ request has no payload"),
        (None, write(Opcode::ReadRequest, 0, (1 << 31) + 1), "a message has at most 2^31 bytes"),
        (None, packet(Opcode::FetchAdd, 8), "an atomic request has no payload"),
        (writing, packet(Opcode::SendLastInvalidate, 9), "the packets of a message have one operation"),
    ];
    for (after, packet, rule) in refused {
        let (outcome, response) = respond_to(after, packet);
        assert_eq!(outcome, RequestOutcome::Refused, "{rule}");
        assert!(response.unwrap().starts_with("Nak(InvalidRequest)"), "{rule}");
    }
    let out_of_range = Packet::new(Opcode::ReadRequest, QpNum::new(2), Psn::new(0));
    let out_of_range =
        out_of_range.with_reth(RethRepr { address: u64::MAX - 5, remote_key: 0, dma_len: 100 });
    assert!(respond_to(None, out_of_range).1.unwrap().starts_with("Nak(RemoteAccess)"));
    assert!(matches!(
        respond_to(writing, packet(Opcode::WriteMiddle, 256)).0,
        RequestOutcome::Accepted { .. }
    ));
    let nothing = RethRepr { address: u64::MAX, remote_key: 0, dma_len: 0 };
    let empty = packet(Opcode::WriteOnly, 0).with_reth(nothing);
    assert!(
        matches!(respond_to(None, empty).0, RequestOutcome::Accepted { .. }),
        "an empty access touches no memory"
    );
}

#[test]
fn a_refused_request_fails_with_the_reason() {
    let reasons = [
        (NakCode::InvalidRequest, Status::RemoteInvalidRequest, 9),
        (NakCode::RemoteAccess, Status::RemoteAccess, 10),
        (NakCode::RemoteOperational, Status::RemoteOperation, 11),
    ];
    for (why, status, code) in reasons {
        let config = config();
        let mut here = Qp::new(QpNum::new(2), Psn::new(9), Psn::new(0));
        let mut there = Qp::new(QpNum::new(1), Psn::new(0), Psn::new(9));
        for id in 0..3 {
            here.requester.post(
                &config,
                Time::ZERO,
                Work { id, op: Op::Write, len: 5, addr: 0, rkey: 0, imm: None },
            );
        }
        let first = here.requester.poll_transmit(&config, Time::ZERO).unwrap().packet;
        let second = here.requester.poll_transmit(&config, Time::ZERO).unwrap().packet;
        assert_eq!(
            there.responder.refuse(&second, why),
            RequestOutcome::Ignored,
            "it is not the expected packet"
        );
        there.on_packet(&config, Time::ZERO, &first);
        assert_eq!(there.responder.refuse(&second, why), RequestOutcome::Refused);
        while let Some(response) = there.responder.poll_transmit(&config) {
            here.on_packet(&config, Time::ZERO, &response);
        }
        assert_eq!(
            there.responder.on_packet(&config, Time::ZERO, &second),
            RequestOutcome::Ignored,
            "in error"
        );
        let ended: Vec<_> =
            std::iter::from_fn(|| here.requester.poll_completion()).map(|done| done.status).collect();
        assert_eq!(ended, [Status::Success, status, Status::Flushed]);
        assert_eq!(status.code(), code);
        assert!(here.requester.is_error() && here.is_idle());
        assert_eq!(here.requester.poll_transmit(&config, Time::ZERO), None);
    }
}
