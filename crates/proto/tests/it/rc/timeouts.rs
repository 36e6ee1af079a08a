//! The four losses that only a timeout recovers (JCST §3.1, Figs. 2 to 5), and the loss that a NAK recovers.

use wiremend_proto::engine::Requester as _;
use wiremend_proto::rc::{AethRepr, Config, NakCode, Packet, Recovery, Syndrome};
use wiremend_testkit::{Direction, Pair, RunEnd, Side, TimeoutCause};
use wiremend_units::{Psn, QpNum, Span};

use super::{TIMEOUT, config};

/// Four packets of a WRITE, PSN 0 to 3, with an acknowledgement for each.
fn four_packets() -> Pair<Config> {
    Pair::new(config()).traced()
}

fn run(mut pair: Pair<Config>) -> Pair<Config> {
    pair.write(Side::A, 1000);
    pair.run_until_delivered();
    assert_eq!(pair.placed(Side::B), 1000, "each byte once");
    pair
}

#[test]
fn a_lost_packet_is_recovered_by_a_nak_without_timeout() {
    let pair = run(four_packets().drop_nth(Direction::Forward, [2]));
    assert_eq!(pair.causes(), []);
    let requester = pair.requester(Side::A);
    assert_eq!((requester.naks, requester.packets, requester.retransmitted_packets), (1, 7, 3));
    assert_eq!(requester.retransmitted_bytes, 1000 - 256);
    assert_eq!(pair.responder(Side::B).out_of_sequence, 2);
    assert!(pair.now().since(wiremend_units::Time::ZERO) < Span::from_us(10) + TIMEOUT);
}

/// Fig. 2: the responder sends one NAK for each number, and this one is lost.
#[test]
fn lost_nak_causes_a_timeout() {
    let pair = run(four_packets().drop_nth(Direction::Forward, [2]).drop_nth(Direction::Backward, [2]));
    assert_eq!(pair.causes(), [TimeoutCause::Nak]);
    assert_eq!(
        pair.trace(),
        [
            "A WriteFirst psn 0 len 256 ackreq",
            "A WriteMiddle psn 1 len 256 ackreq LOST",
            "A WriteMiddle psn 2 len 256 ackreq",
            "A WriteLast psn 3 len 232 ackreq",
            "B Ack psn 0 msn 0",
            "B Nak(PsnSequence) psn 1 msn 0 LOST",
            "A timeout psn 1: Nak",
            "A WriteMiddle psn 1 len 256 ackreq copy 1",
            "A WriteMiddle psn 2 len 256 ackreq copy 1",
            "A WriteLast psn 3 len 232 ackreq copy 1",
            "B Ack psn 1 msn 0",
            "B Ack psn 2 msn 0",
            "B Ack psn 3 msn 1",
        ]
    );
}

/// Fig. 3: the retransmission is lost as well, and there is no second NAK for the number.
#[test]
fn packet_lost_twice_causes_a_timeout() {
    let pair =
        run(four_packets().fate(Direction::Forward, |sent| sent.packet.psn.get() == 1 && sent.copy < 2));
    assert_eq!(pair.causes(), [TimeoutCause::Twice]);
    assert_eq!(
        pair.trace()[4..12],
        [
            "B Ack psn 0 msn 0",
            "B Nak(PsnSequence) psn 1 msn 0",
            "A WriteMiddle psn 1 len 256 ackreq copy 1 LOST",
            "A WriteMiddle psn 2 len 256 ackreq copy 1",
            "A WriteLast psn 3 len 232 ackreq copy 1",
            "A timeout psn 1: Twice",
            "A WriteMiddle psn 1 len 256 ackreq copy 2",
            "A WriteMiddle psn 2 len 256 ackreq copy 2",
        ]
    );
    assert_eq!(pair.responder(Side::B).naks, 1);
}

/// Fig. 4: no packet follows the last one and reveals its loss.
#[test]
fn lost_tail_packet_causes_a_timeout() {
    let pair = run(four_packets().drop_nth(Direction::Forward, [4]));
    assert_eq!(pair.causes(), [TimeoutCause::TailPacket]);
    assert_eq!(
        pair.trace()[3..],
        [
            "A WriteLast psn 3 len 232 ackreq LOST",
            "B Ack psn 0 msn 0",
            "B Ack psn 1 msn 0",
            "B Ack psn 2 msn 0",
            "A timeout psn 3: TailPacket",
            "A WriteLast psn 3 len 232 ackreq copy 1",
            "B Ack psn 3 msn 1",
        ]
    );
    assert_eq!(pair.responder(Side::B).naks, 0);
}

/// Fig. 5: the message has arrived, but its acknowledgement is lost.
#[test]
fn lost_tail_ack_causes_a_timeout() {
    let pair = run(four_packets().drop_nth(Direction::Backward, [4]));
    assert_eq!(pair.causes(), [TimeoutCause::TailAck]);
    assert_eq!(
        pair.trace()[7..],
        [
            "B Ack psn 3 msn 1 LOST",
            "A timeout psn 3: TailAck",
            "A WriteLast psn 3 len 232 ackreq copy 1",
            "B Ack psn 3 msn 1",
        ]
    );
    assert_eq!((pair.received(Side::B).len(), pair.responder(Side::B).duplicates), (1, 1));
}

/// Without an acknowledgement for each packet, a timeout also resends packets that have arrived.
#[test]
fn unacknowledged_packets_are_retransmitted() {
    let few_acks = Pair::new(Config { ack_every: 8, ..config() }).traced();
    let pair = run(few_acks.drop_nth(Direction::Forward, [4]));
    assert_eq!(pair.requester(Side::A).retransmitted_packets, 4);
    assert_eq!(
        pair.trace()[4..8],
        [
            "A timeout psn 0: TailAck",
            "A WriteFirst psn 0 len 256 copy 1",
            "A WriteMiddle psn 1 len 256 copy 1",
            "A WriteMiddle psn 2 len 256 copy 1",
        ]
    );
    assert_eq!(
        pair.expired()[0].expiry.end.get(),
        4,
        "the responder expects 3: the tail packet is missing too"
    );
}

#[test]
fn the_timer_runs_from_the_last_progress() {
    let mut pair = Pair::new(config()).drop_nth(Direction::Forward, [4]);
    pair.write(Side::A, 1000);
    pair.run_until_idle();
    // The third packet leaves at 200 ns, arrives at 1.3 µs, and its ACK is back after another 1.1 µs.
    assert_eq!(pair.expired()[0].at.as_ns(), 2_400 + TIMEOUT.as_ns());
    assert_eq!(pair.expired()[0].expiry.oldest.get(), 3);
}

#[test]
fn no_timer_runs_when_nothing_is_outstanding() {
    let mut pair = Pair::new(config());
    assert_eq!(pair.host(Side::A).requester.next_timeout(), None);
    pair.write(Side::A, 1000);
    assert_eq!(pair.host(Side::A).requester.next_timeout(), Some(pair.now() + TIMEOUT));
    pair.run_for(Span::from_us(5));
    assert_eq!(pair.completions(Side::A).len(), 1);
    assert_eq!(pair.host(Side::A).requester.next_timeout(), None);
}

#[test]
fn each_cause_is_one_timeout_with_go_back_0_too() {
    let restarting = || Pair::new(Config { recovery: Recovery::GoBackZero, ..config() });
    let forward = |nth| restarting().drop_nth(Direction::Forward, [nth]);
    let cases = [
        (forward(2).fate(Direction::Backward, |sent| sent.packet.is_nak()), TimeoutCause::Nak),
        // The NAK for PSN 1 restarts the message: the fifth packet is PSN 0 again.
        (forward(2).drop_nth(Direction::Forward, [5]), TimeoutCause::Twice),
        (forward(4), TimeoutCause::TailPacket),
        (restarting().drop_nth(Direction::Backward, [4]), TimeoutCause::TailAck),
    ];
    for (mut pair, cause) in cases {
        pair.write(Side::A, 1000);
        pair.run_until_delivered();
        assert_eq!(pair.causes(), [cause]);
    }
}

/// The first loss is recovered by its NAK; the NAK of the second loss is lost.
#[test]
fn a_nak_counts_only_for_its_own_packet() {
    let mut naks = 0;
    let mut pair = Pair::new(config())
        .fate(Direction::Forward, |sent| matches!(sent.packet.psn.get(), 1 | 30) && sent.copy == 0)
        .fate(Direction::Backward, move |sent| {
            naks += u32::from(sent.packet.is_nak());
            sent.packet.is_nak() && naks == 2
        });
    pair.write(Side::A, 256 * 40);
    pair.run_until_delivered();
    assert_eq!(pair.causes(), [TimeoutCause::Nak]);
    assert_eq!(pair.requester(Side::A).naks, 1);
}

/// An acknowledgement of packets that the responder had received does not shorten a restart.
#[test]
fn go_back_0_retransmits_the_whole_message_after_a_timeout() {
    for (recovery, repeated) in [(Recovery::GoBackN, 1), (Recovery::GoBackZero, 12)] {
        let near = Pair::new(Config { recovery, ..config() }).delay(Span::from_ns(10));
        let mut pair = near.drop_nth(Direction::Forward, [12]);
        pair.write(Side::A, 256 * 12);
        pair.run_until_delivered();
        assert_eq!(pair.causes(), [TimeoutCause::TailPacket]);
        assert_eq!(pair.requester(Side::A).retransmitted_packets, repeated, "{recovery:?}");
    }
}

#[test]
fn without_a_timer_a_lost_tail_is_never_recovered() {
    let mut pair = Pair::new(Config { timeout: None, ..config() }).drop_nth(Direction::Forward, [4]);
    pair.write(Side::A, 1000);
    assert_eq!(pair.run_until_idle(), RunEnd::Stuck);
    assert_eq!(pair.requester(Side::A).timeouts, 0);
}

#[test]
fn a_second_copy_of_a_nak_retransmits_everything_again() {
    let mut pair = Pair::new(config()).drop_nth(Direction::Forward, [2]);
    pair.write(Side::A, 1000);
    pair.run_for(Span::from_us(3));
    assert_eq!(pair.requester(Side::A).naks, 1);
    let aeth = AethRepr { syndrome: Syndrome::Nak(NakCode::PsnSequence), msn: 0 };
    let nak = |psn| Packet::acknowledge(QpNum::new(1), Psn::new(psn), aeth);
    pair.inject(Direction::Backward, nak(1));
    assert_eq!(pair.requester(Side::A).naks, 2, "every copy has an effect");
    pair.inject(Direction::Backward, nak(0));
    assert_eq!(
        (pair.requester(Side::A).naks, pair.requester(Side::A).ignored),
        (2, 1),
        "already acknowledged"
    );
    pair.run_until_delivered();
    assert_eq!(pair.placed(Side::B), 1000);
    assert_eq!(pair.causes(), []);
}
