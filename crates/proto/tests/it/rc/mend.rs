//! What dummies and repeats make of the losses that otherwise take a timeout (JCST §4, Figs. 6 to 9).

use wiremend_proto::engine::Op;
use wiremend_proto::mend::{Dummies, Mend, When};
use wiremend_proto::rc::{AethRepr, Config, NakCode, Packet, Syndrome};
use wiremend_testkit::{Cause, Direction, Pair, Side};
use wiremend_units::{Psn, QpNum, Span, Time};

use super::config;

fn with(mend: Mend) -> Config {
    Config { mend, ..config() }
}

fn dummies(count: u8) -> Config {
    with(Mend { dummies: Dummies { count, ..Dummies::default() }, ..Mend::default() })
}

/// A WRITE of four packets, PSN 0 to 3; dummies follow from PSN 4 on.
fn run(pair: Pair<Config>) -> Pair<Config> {
    run_op(pair, Op::Write)
}

fn run_op(mut pair: Pair<Config>, op: Op) -> Pair<Config> {
    pair.post(Side::A, op, 1000, None);
    pair.run_until_delivered();
    assert_eq!(pair.received(Side::B).len(), 1, "nobody is told of a dummy");
    assert_eq!(pair.completions(Side::A).len(), 1, "nobody is told of a dummy");
    pair
}

/// How long a WRITE of four packets takes, to within 100 ns.
fn took(mut pair: Pair<Config>) -> Span {
    pair.write(Side::A, 1000);
    while pair.completions(Side::A).is_empty() {
        pair.run_for(Span::from_ns(100));
    }
    pair.now().since(Time::ZERO)
}

#[test]
fn dummies_follow_what_was_posted_and_are_acknowledged() {
    for op in [Op::Write, Op::Send] {
        let pair = run_op(Pair::new(dummies(2)).traced(), op);
        let sent: Vec<_> = pair.trace().iter().filter(|line| line.starts_with("A ")).collect();
        let tail = ["A WriteOnly psn 4 len 0 ackreq", "A WriteOnly psn 5 len 0 ackreq"];
        assert_eq!(sent[4..], tail);
        assert_eq!(pair.responder(Side::B).acks, 6);
        assert_eq!(pair.requester(Side::A).dummies, 2);
    }
}

/// Fig. 9.
#[test]
fn a_dummy_shows_the_loss_of_the_tail() {
    let lossy = || Pair::new(dummies(1)).drop_nth(Direction::Forward, [4]);
    let pair = run(lossy());
    assert_eq!(pair.causes(), []);
    let requester = pair.requester(Side::A);
    assert_eq!((requester.naks, requester.retransmitted_packets), (1, 2), "the tail and the dummy again");
    assert!(took(lossy()) < Span::from_us(6));
}

#[test]
fn the_acknowledgement_of_a_dummy_stands_in_for_a_lost_one() {
    let pair = run(Pair::new(dummies(1)).drop_nth(Direction::Backward, [4]));
    assert_eq!(pair.causes(), []);
    assert_eq!(pair.requester(Side::A).retransmitted_packets, 0);
}

#[test]
fn when_tail_and_dummies_are_all_lost_the_timer_is_left() {
    let lost = |pair: Pair<Config>| pair.fate(Direction::Forward, |sighting| (4..=6).contains(&sighting.nth));
    let pair = run(lost(Pair::new(dummies(2))));
    assert_eq!(pair.causes(), [Cause::TailPacket]);
    assert!(!pair.expired()[0].expiry.dummy);
    assert_eq!(run(lost(Pair::new(dummies(3)))).causes(), [], "the third is there");
}

/// The work is long done when the timer fires.
#[test]
fn a_lost_dummy_holds_up_nobody() {
    let mut pair = Pair::new(dummies(1)).drop_nth(Direction::Forward, [5]);
    pair.write(Side::A, 1000);
    pair.run_for(Span::from_us(5));
    assert_eq!(pair.completions(Side::A).len(), 1);
    pair.run_until_delivered();
    let requester = pair.requester(Side::A);
    assert_eq!((requester.timeouts, requester.dummy_timeouts), (0, 1));
    assert!(pair.expired()[0].expiry.dummy);
}

/// Behind a READ it takes READs: what gets lost is what the peer sends.
#[test]
fn dummies_behind_a_read_pull_responses() {
    for (direction, nth) in [(Direction::Forward, 1), (Direction::Backward, 4)] {
        let pair = run_op(Pair::new(dummies(1)).drop_nth(direction, [nth]), Op::Read);
        assert_eq!(pair.causes(), [], "{direction:?} {nth}");
    }
    let pair = run_op(Pair::new(dummies(1)).traced(), Op::Read);
    assert!(
        pair.trace().iter().any(|line| line == "A ReadRequest psn 4 addr 0x0 len 0"),
        "{:?}",
        pair.trace()
    );
}

#[test]
fn dummies_may_exceed_the_window() {
    let config = Config { window: 4, ..dummies(2) };
    let mut pair = Pair::new(config);
    pair.write(Side::A, 1000);
    pair.run_for(Span::from_ns(900));
    assert_eq!(pair.host(Side::A).requester.outstanding(), 6, "before any answer");
    pair.run_until_delivered();
}

fn deferred(after: Span) -> Config {
    with(Mend { dummies: Dummies { count: 1, when: When::Deferred, after }, ..Mend::default() })
}

/// The round trip is 2 µs and a little.
#[test]
fn a_wait_beyond_the_round_trip_saves_the_dummies_of_what_arrives() {
    let wait = Span::from_us(10);
    assert_eq!(run(Pair::new(deferred(wait))).requester(Side::A).dummies, 0);
    let lossy = || Pair::new(deferred(wait)).drop_nth(Direction::Forward, [4]);
    let pair = run(lossy());
    assert_eq!((pair.causes(), pair.requester(Side::A).dummies), (vec![], 1));
    // §5.2: about T plus a round trip, and one more to send again.
    let took = took(lossy());
    assert!(took > wait && took < wait + Span::from_us(6), "{took:?}");
}

#[test]
fn posts_in_quick_succession_share_their_dummies() {
    let mut pair = Pair::new(deferred(Span::from_us(1)));
    for _ in 0..5 {
        pair.write(Side::A, 256);
        pair.run_for(Span::from_ns(500));
    }
    pair.run_until_delivered();
    assert_eq!(pair.requester(Side::A).dummies, 1);
}

/// As worded in §5.2, the first of a batch is protected, and its last is not.
#[test]
fn at_post_protects_the_first_of_a_batch() {
    let at_post = Dummies { count: 1, when: When::AtPost, after: Span::ZERO };
    let mut pair =
        Pair::new(with(Mend { dummies: at_post, ..Mend::default() })).drop_nth(Direction::Forward, [4]);
    for _ in 0..3 {
        pair.write(Side::A, 256);
    }
    pair.run_until_delivered();
    assert_eq!(pair.requester(Side::A).dummies, 1);
    assert_eq!(pair.causes(), [Cause::TailPacket]);
}

/// Fig. 8.
#[test]
fn a_copy_of_the_tail_stands_in_for_it_and_for_its_acknowledgement() {
    let copies = || Pair::new(with(Mend { tail_copies: 1, ..Mend::default() }));
    for (direction, nth) in [(Direction::Forward, 4), (Direction::Backward, 4)] {
        let pair = run(copies().drop_nth(direction, [nth]));
        assert_eq!((pair.causes(), pair.requester(Side::A).repeats), (vec![], 1));
        assert_eq!(pair.requester(Side::A).retransmitted_packets, 0);
    }
    let pair = run(copies().fate(Direction::Forward, |sighting| matches!(sighting.nth, 4 | 5)));
    assert_eq!(pair.causes(), [Cause::TailPacket]);
}

#[test]
fn every_packet_sent_twice_takes_two_losses_to_be_missed() {
    let twice = || Pair::new(with(Mend { packet_copies: 1, ..Mend::default() }));
    for nth in 1..=8 {
        let pair = run(twice().drop_nth(Direction::Forward, [nth]));
        let requester = pair.requester(Side::A);
        assert_eq!((pair.causes(), requester.naks, requester.repeats), (vec![], 0, 4), "packet {nth}");
    }
    assert_eq!(pair_naks(twice()), 1);
}

/// NAKs after both copies of PSN 1 are lost.
fn pair_naks(pair: Pair<Config>) -> u32 {
    run(pair.fate(Direction::Forward, |sighting| matches!(sighting.nth, 3 | 4))).requester(Side::A).naks
}

#[test]
fn a_responder_that_checks_asks_again_for_what_is_lost_again() {
    let lost = |pair: Pair<Config>| {
        run(pair.fate(Direction::Forward, |sighting| sighting.packet.psn.get() == 1 && sighting.copy < 3))
    };
    assert_eq!(lost(Pair::new(config())).causes(), [Cause::Twice, Cause::Twice]);
    let pair = lost(Pair::new(with(Mend { check_epsn: true, ..Mend::default() })));
    assert_eq!((pair.causes(), pair.responder(Side::B).naks), (vec![], 3));
}

/// What is sent again has to be fetched first. A NIC that is fetching is not disturbed by a second NAK.
#[test]
fn a_second_nak_changes_nothing_while_the_nic_fetches() {
    let fetching = Config { resend_delay: Span::from_us(1), ..config() };
    for (config, resent) in [(config(), 6), (fetching, 3)] {
        let mut pair = Pair::new(config).drop_nth(Direction::Forward, [2]);
        pair.write(Side::A, 1000);
        // The NAK is on its way; its copy follows 10 ns later.
        while pair.requester(Side::A).naks == 0 {
            pair.run_for(Span::from_ns(10));
        }
        let aeth = AethRepr { syndrome: Syndrome::Nak(NakCode::PsnSequence), msn: 0 };
        let nak = Packet::acknowledge(QpNum::new(1), Psn::new(1), aeth);
        pair.run_for(Span::from_ns(350));
        pair.inject(Direction::Backward, nak);
        pair.run_until_delivered();
        assert_eq!(pair.requester(Side::A).retransmitted_packets, resent);
        assert_eq!(pair.causes(), []);
    }
}
