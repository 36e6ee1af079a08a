//! Messages of every operation and size arrive as posted.

use wiremend_proto::engine::{Completion, Op, Requester as _, Responder as _, Status, Work};
use wiremend_proto::rc::{Config, Qp};
use wiremend_testkit::{Pair, Side};
use wiremend_units::{Psn, QpNum, Time};

use super::config;

#[test]
fn every_operation_and_size_arrives_with_its_opcodes() {
    let mut pair = Pair::new(config()).traced();
    pair.send(Side::A, 0);
    pair.post(Side::A, Op::Send, 256, Some(7));
    pair.post(Side::A, Op::Send, 257, Some(8));
    pair.write(Side::A, 0);
    pair.post(Side::A, Op::Write, 1, Some(9));
    pair.post(Side::A, Op::Write, 768, Some(10));
    pair.read(Side::A, 0);
    pair.read(Side::A, 600);
    pair.run_until_delivered();
    let sent = |side: &str| -> Vec<String> {
        let lines = pair.trace().iter().filter(|line| line.starts_with(side) && !line.contains(" Ack "));
        lines.map(|line| line[2..].to_owned()).collect()
    };
    assert_eq!(
        sent("A"),
        [
            "SendOnly psn 0 len 0 ackreq",
            "SendOnlyImm psn 1 len 256 ackreq",
            "SendFirst psn 2 len 256 ackreq",
            "SendLastImm psn 3 len 1 ackreq",
            "WriteOnly psn 4 len 0 ackreq",
            "WriteOnlyImm psn 5 len 1 ackreq",
            "WriteFirst psn 6 len 256 ackreq",
            "WriteMiddle psn 7 len 256 ackreq",
            "WriteLastImm psn 8 len 256 ackreq",
            "ReadRequest psn 9 addr 0x301 len 0",
            "ReadRequest psn 10 addr 0x301 len 600",
        ]
    );
    assert_eq!(
        sent("B"),
        [
            "ReadResponseOnly psn 9 len 0",
            "ReadResponseFirst psn 10 len 256",
            "ReadResponseMiddle psn 11 len 256",
            "ReadResponseLast psn 12 len 88",
        ]
    );
    assert_eq!(pair.host(Side::B).responder.msn(), 8);
    let imms: Vec<_> = pair.received(Side::B).iter().filter_map(|message| message.imm).collect();
    assert_eq!(imms, [7, 8, 9, 10]);
}

#[test]
fn both_ends_send_at_once() {
    let mut pair = Pair::new(config());
    for side in [Side::A, Side::B] {
        pair.send(side, 5000);
        pair.read(side, 5000);
        pair.write(side, 5000);
    }
    pair.run_until_delivered();
    assert_eq!(pair.placed(Side::A), 10_000);
}

#[test]
fn sequence_numbers_wrap_in_the_middle_of_every_operation() {
    for op in [Op::Send, Op::Write, Op::Read] {
        for first in [0xFF_FFFF, 0xFF_FFFE, 0xFF_FFFB, 0x7F_FFFE] {
            let mut pair = Pair::new(config()).starting_at(Psn::new(first));
            for _ in 0..3 {
                pair.post(Side::A, op, 1000, None);
            }
            pair.run_until_delivered();
            assert_eq!(pair.host(Side::B).responder.expected(), Psn::new(first + 12));
            assert_eq!(pair.requester(Side::A).retransmitted_packets, 0);
        }
    }
}

#[test]
fn the_window_limits_outstanding_packets_and_a_larger_read_is_sent_alone() {
    let mut pair = Pair::new(Config { window: 4, ack_every: 64, ..config() });
    pair.write(Side::A, 5000);
    pair.read(Side::A, 5000);
    pair.send(Side::A, 100);
    assert_eq!(pair.host(Side::A).requester.outstanding(), 1, "one packet occupies the port");
    for _ in 0..200 {
        pair.run_for(wiremend_units::Span::from_ns(100));
        let outstanding = pair.host(Side::A).requester.outstanding();
        assert!(outstanding <= 4 || outstanding <= 20 && !pair.received(Side::B).is_empty(), "{outstanding}");
    }
    pair.run_until_delivered();
    assert_eq!(pair.causes(), [], "a full window requests an acknowledgement");
}

#[test]
fn completions_come_in_posting_order() {
    let mut pair = Pair::new(config());
    pair.read(Side::A, 4000);
    pair.send(Side::A, 1);
    pair.write(Side::A, 700);
    pair.run_until_idle();
    let completed: Vec<_> = pair.completions(Side::A).iter().map(|completion| completion.id).collect();
    assert_eq!(completed, [1, 2, 3]);
}

/// The state of the largest message does not affect the checks of the next one.
#[test]
fn messages_after_the_longest_one_are_accepted() {
    let config = Config { mtu: 4096, ack_every: 1 << 20, ..Config::default() };
    let mut here = Qp::new(QpNum::new(2), Psn::new(0), Psn::new(0));
    let mut there = Qp::new(QpNum::new(1), Psn::new(0), Psn::new(0));
    for (id, len) in [(1, Config::MESSAGE_LEN_MAX), (2, 1), (3, 5000)] {
        here.requester.post(&config, Time::ZERO, Work { id, op: Op::Send, len, addr: 0, rkey: 0, imm: None });
    }
    while let Some(transmit) = here.requester.poll_transmit(&config, Time::ZERO) {
        there.on_packet(&config, Time::ZERO, &transmit.packet);
    }
    assert!(!there.responder.is_error());
    while let Some(ack) = there.responder.poll_transmit(&config) {
        here.on_packet(&config, Time::ZERO, &ack);
    }
    let completions: Vec<_> = std::iter::from_fn(|| here.requester.poll_completion()).collect();
    assert_eq!(completions, [1, 2, 3].map(|id| Completion { id, status: Status::Success }));
}
