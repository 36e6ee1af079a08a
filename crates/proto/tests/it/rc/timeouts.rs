//! The four losses that only a timeout repairs (JCST §3.1, Figs. 2 to 5), and the loss that a NAK repairs.

use wiremend_proto::engine::Requester as _;
use wiremend_proto::rc::{AethRepr, Config, NakCode, Packet, Recovery, Syndrome};
use wiremend_testkit::{Cause, Direction, Ending, Pair, Side};
use wiremend_units::{Psn, QpNum, Span};

use super::{TIMEOUT, config};

/// Four packets of a WRITE, PSN 0 to 3, and an acknowledgement for each.
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
fn a_lost_packet_is_repaired_by_a_nak_without_timeout() {
    let pair = run(four_packets().drop_nth(Direction::Forward, [2]));
    assert_eq!(pair.causes(), []);
    let requester = pair.requester(Side::A);
    assert_eq!((requester.naks, requester.packets, requester.retransmitted_packets), (1, 7, 3));
    assert_eq!(requester.retransmitted_bytes, 1000 - 256);
    assert_eq!(pair.responder(Side::B).ahead, 2);
    assert!(pair.now().since(wiremend_units::Time::ZERO) < Span::from_us(10) + TIMEOUT);
}

/// Fig. 2: the responder asks once for each number; nobody hears it.
#[test]
fn nak_lost() {
    let pair = run(four_packets().drop_nth(Direction::Forward, [2]).drop_nth(Direction::Backward, [2]));
    assert_eq!(pair.causes(), [Cause::Nak]);
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

/// Fig. 3: the repetition is lost as well, and there is no second NAK for the number.
#[test]
fn packet_lost_twice() {
    let pair = run(four_packets()
        .fate(Direction::Forward, |sighting| sighting.packet.psn.get() == 1 && sighting.copy < 2));
    assert_eq!(pair.causes(), [Cause::Twice]);
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

/// Fig. 4: nothing comes behind the last packet that would show its loss.
#[test]
fn tail_packet_lost() {
    let pair = run(four_packets().drop_nth(Direction::Forward, [4]));
    assert_eq!(pair.causes(), [Cause::TailPacket]);
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

/// Fig. 5: the message has arrived, and the requester does not know.
#[test]
fn tail_ack_lost() {
    let pair = run(four_packets().drop_nth(Direction::Backward, [4]));
    assert_eq!(pair.causes(), [Cause::TailAck]);
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

/// Without an acknowledgement for each packet, a timeout resends what had arrived as well.
#[test]
fn packets_that_nobody_asked_about_are_sent_again() {
    let quiet = Pair::new(Config { ack_every: 8, ..config() }).traced();
    let pair = run(quiet.drop_nth(Direction::Forward, [4]));
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
fn each_cause_is_one_timeout_with_go_back_0_as_well() {
    let restarting = || Pair::new(Config { recovery: Recovery::GoBackZero, ..config() });
    let forward = |nth| restarting().drop_nth(Direction::Forward, [nth]);
    let cases = [
        (forward(2).fate(Direction::Backward, |sighting| sighting.packet.is_nak()), Cause::Nak),
        // The NAK for PSN 1 restarts the message: the fifth packet is PSN 0 again.
        (forward(2).drop_nth(Direction::Forward, [5]), Cause::Twice),
        (forward(4), Cause::TailPacket),
        (restarting().drop_nth(Direction::Backward, [4]), Cause::TailAck),
    ];
    for (mut pair, cause) in cases {
        pair.write(Side::A, 1000);
        pair.run_until_delivered();
        assert_eq!(pair.causes(), [cause]);
    }
}

/// The first loss is repaired by its NAK; the NAK of the second one is lost, and that one had no answer.
#[test]
fn a_nak_counts_only_for_the_packet_that_it_asked_for() {
    let mut naks = 0;
    let mut pair = Pair::new(config())
        .fate(Direction::Forward, |sighting| {
            matches!(sighting.packet.psn.get(), 1 | 30) && sighting.copy == 0
        })
        .fate(Direction::Backward, move |sighting| {
            naks += u32::from(sighting.packet.is_nak());
            sighting.packet.is_nak() && naks == 2
        });
    pair.write(Side::A, 256 * 40);
    pair.run_until_delivered();
    assert_eq!(pair.causes(), [Cause::Nak]);
    assert_eq!(pair.requester(Side::A).naks, 1);
}

/// An acknowledgement of what the responder had all the time does not shorten a restart.
#[test]
fn go_back_0_repeats_the_whole_message_after_a_timeout() {
    for (recovery, repeated) in [(Recovery::GoBackN, 1), (Recovery::GoBackZero, 12)] {
        let near = Pair::new(Config { recovery, ..config() }).delay(Span::from_ns(10));
        let mut pair = near.drop_nth(Direction::Forward, [12]);
        pair.write(Side::A, 256 * 12);
        pair.run_until_delivered();
        assert_eq!(pair.causes(), [Cause::TailPacket]);
        assert_eq!(pair.requester(Side::A).retransmitted_packets, repeated, "{recovery:?}");
    }
}

#[test]
fn without_a_timer_a_lost_tail_is_waited_for_for_ever() {
    let mut pair = Pair::new(Config { timeout: None, ..config() }).drop_nth(Direction::Forward, [4]);
    pair.write(Side::A, 1000);
    assert_eq!(pair.run_until_idle(), Ending::Stuck);
    assert_eq!(pair.requester(Side::A).timeouts, 0);
}

#[test]
fn a_second_copy_of_a_nak_sends_everything_once_more() {
    let mut pair = Pair::new(config()).drop_nth(Direction::Forward, [2]);
    pair.write(Side::A, 1000);
    pair.run_for(Span::from_us(3));
    assert_eq!(pair.requester(Side::A).naks, 1);
    let aeth = AethRepr { syndrome: Syndrome::Nak(NakCode::PsnSequence), msn: 0 };
    let nak = |psn| Packet::acknowledge(QpNum::new(1), Psn::new(psn), aeth);
    pair.inject(Direction::Backward, nak(1));
    assert_eq!(pair.requester(Side::A).naks, 2, "every copy acts");
    pair.inject(Direction::Backward, nak(0));
    assert_eq!(
        (pair.requester(Side::A).naks, pair.requester(Side::A).ignored),
        (2, 1),
        "acknowledged long ago"
    );
    pair.run_until_delivered();
    assert_eq!(pair.placed(Side::B), 1000);
    assert_eq!(pair.causes(), []);
}
