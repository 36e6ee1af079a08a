//! NICs that differ from the default: the points in which soft-RoCE does.

use wiremend_proto::engine::{Op, Purpose, RequestOutcome, Requester as _, Responder as _, Work};
use wiremend_proto::rc::{
    AethRepr, Config, NakCode, NakRule, Packet, Profile, Requester, Responder, Syndrome,
};
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::Opcode;

const PEER: QpNum = QpNum::new(2);

fn with(profile: Profile) -> Config {
    Config { mtu: 256, timeout: Some(Span::from_us(100)), profile, ..Config::default() }
}

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn post(requester: &mut Requester, config: &Config, now: Time, op: Op, len: u32) {
    requester.post(config, now, Work { id: 7, op, len, addr: 0, rkey: 0, imm: None });
}

/// PSNs that the requester sends now.
fn sent(requester: &mut Requester, config: &Config, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| requester.poll_transmit(config, now))
        .map(|transmit| {
            assert_ne!(transmit.purpose, Purpose::Dummy);
            transmit.packet.psn.get()
        })
        .collect()
}

fn answer(psn: u32, syndrome: Syndrome) -> Packet {
    Packet::acknowledge(PEER, Psn::new(psn), AethRepr { syndrome, msn: 0 })
}

const NAK: Syndrome = Syndrome::Nak(NakCode::PsnSequence);

/// After the first NAK, copies of it and NAKs for other gaps acknowledge but retransmit nothing, until an ACK.
#[test]
fn repeated_naks_wait_for_an_ack() {
    for (ignores_repeated_naks, expected) in [(false, [8, 8, 4, 2]), (true, [8, 0, 0, 2])] {
        let config = with(Profile { ignores_repeated_naks, ..Profile::default() });
        let mut requester = Requester::new(PEER, Psn::new(0));
        post(&mut requester, &config, Time::ZERO, Op::Write, 2560);
        assert_eq!(sent(&mut requester, &config, Time::ZERO).len(), 10);
        let mut after = |us, packet| {
            requester.on_packet(&config, at_us(us), &packet);
            sent(&mut requester, &config, at_us(us)).len()
        };
        let first = after(1, answer(2, NAK));
        let copy = after(2, answer(2, NAK));
        let next_gap = after(3, answer(6, NAK));
        assert_eq!(after(4, answer(6, Syndrome::ACK)), 0);
        let after_ack = after(5, answer(8, NAK));
        assert_eq!([first, copy, next_gap, after_ack], expected);
        assert_eq!(requester.oldest(), Psn::new(8), "ignored NAKs acknowledge too");
        let expiry = requester.on_timeout(&config, at_us(200)).expect("the timer runs");
        assert!(expiry.nak_received);
    }
}

/// A timer that nothing stops expires for a message that was posted long after its start.
#[test]
fn a_timer_that_runs_on_expires_early() {
    for (timer_runs_on, expected) in [(false, 180), (true, 101)] {
        let config = with(Profile { timer_runs_on, ..Profile::default() });
        let mut requester = Requester::new(PEER, Psn::new(0));
        post(&mut requester, &config, Time::ZERO, Op::Write, 512);
        assert_eq!(sent(&mut requester, &config, Time::ZERO), [0, 1]);
        requester.on_packet(&config, at_us(1), &answer(0, Syndrome::ACK));
        requester.on_packet(&config, at_us(2), &answer(1, Syndrome::ACK));
        post(&mut requester, &config, at_us(80), Op::Write, 256);
        assert_eq!(sent(&mut requester, &config, at_us(80)), [2]);
        assert_eq!(requester.next_timeout(), Some(at_us(expected)));
        let expiry = requester.on_timeout(&config, at_us(expected)).unwrap();
        assert_eq!((expiry.oldest.get(), sent(&mut requester, &config, at_us(expected))), (2, vec![2]));
        assert_eq!(requester.next_timeout(), Some(at_us(expected + 100)));
    }
    // With nothing outstanding it expires without effect.
    let config = with(Profile { timer_runs_on: true, ..Profile::default() });
    let mut requester = Requester::new(PEER, Psn::new(0));
    post(&mut requester, &config, Time::ZERO, Op::Write, 256);
    sent(&mut requester, &config, Time::ZERO);
    requester.on_packet(&config, at_us(2), &answer(0, Syndrome::ACK));
    assert!(requester.is_idle());
    assert_eq!(requester.on_timeout(&config, at_us(100)), None);
    assert_eq!((requester.next_timeout(), requester.counters().timeouts), (None, 0));
}

/// A later response of the same READ does not help; an answer to a later request does.
#[test]
fn a_gap_in_a_read_waits_for_a_later_request() {
    let config = with(Profile { read_gap_waits: true, ..Profile::default() });
    let mut requester = Requester::new(PEER, Psn::new(0));
    post(&mut requester, &config, Time::ZERO, Op::Read, 1024);
    post(&mut requester, &config, Time::ZERO, Op::Write, 256);
    assert_eq!(sent(&mut requester, &config, Time::ZERO), [0, 4]);
    let response = |psn, opcode| Packet::new(opcode, PEER, Psn::new(psn)).with_payload(256);
    for packet in [response(0, Opcode::ReadResponseFirst), response(2, Opcode::ReadResponseMiddle)] {
        requester.on_packet(&config, at_us(1), &packet);
        assert_eq!(sent(&mut requester, &config, at_us(1)), []);
    }
    requester.on_packet(&config, at_us(2), &answer(4, Syndrome::ACK));
    assert_eq!(sent(&mut requester, &config, at_us(2)), [1, 4]);
    let counters = requester.counters();
    assert_eq!((counters.implied_naks, counters.ignored, counters.timeouts), (1, 1, 0));
}

#[test]
fn a_responder_sends_naks_by_its_rule() {
    for (nak, expected) in [(NakRule::Once, 1), (NakRule::EachRound, 2), (NakRule::EachPacket, 4)] {
        let config = with(Profile { nak, ..Profile::default() });
        let mut responder = Responder::new(PEER, Psn::new(0));
        let mut naks = 0;
        // Two rounds, both without packet 0.
        for psn in [1, 2, 1, 2] {
            let packet = Packet::new(Opcode::SendMiddle, PEER, Psn::new(psn)).with_payload(256);
            let outcome = responder.on_packet(&config, Time::ZERO, &packet);
            naks += u32::from(outcome == RequestOutcome::Gap { nak: true });
        }
        assert_eq!((naks, responder.counters().out_of_sequence), (expected, 4), "{nak:?}");
    }
}

#[test]
fn a_responder_without_buffer_or_with_duplicates_answers_by_its_profile() {
    for (nak_after_rnr, silent_duplicates) in [(false, false), (true, true)] {
        let config = with(Profile { nak_after_rnr, silent_duplicates, ..Profile::default() });
        let mut responder = Responder::new(PEER, Psn::new(0));
        responder.limit_receives(1);
        let mut syndromes = |psn, opcode, len| {
            let packet = Packet::new(opcode, PEER, Psn::new(psn)).with_payload(len).with_ack_req(true);
            responder.on_packet(&config, Time::ZERO, &packet);
            responder.poll_transmit(&config).and_then(|answer| answer.aeth()).map(|aeth| aeth.syndrome)
        };
        assert_eq!(syndromes(0, Opcode::SendOnly, 100), Some(Syndrome::ACK));
        let duplicate = syndromes(0, Opcode::SendOnly, 100);
        assert_eq!(duplicate, (!silent_duplicates).then_some(Syndrome::ACK));
        assert!(matches!(syndromes(1, Opcode::SendFirst, 256), Some(Syndrome::Rnr { .. })));
        assert_eq!(syndromes(2, Opcode::SendLast, 100), nak_after_rnr.then_some(NAK));
    }
}
