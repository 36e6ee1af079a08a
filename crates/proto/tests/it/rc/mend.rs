//! The effect of dummies and repeats on losses that otherwise cost a timeout (JCST §4, Figs. 6 to 9).

use wiremend_proto::engine::{Op, Requester as _, Work};
use wiremend_proto::mend::{Dummies, DummyTiming, MendConfig};
use wiremend_proto::rc::{AethRepr, Config, NakCode, Packet, Requester, RethRepr, Syndrome};
use wiremend_testkit::{Direction, Pair, Side, TimeoutCause};
use wiremend_units::{Psn, QpNum, Span, Time};

use super::config;

fn with(mend: MendConfig) -> Config {
    Config { mend, ..config() }
}

fn dummies(count: u8) -> Config {
    with(MendConfig { dummies: Dummies { count, ..Dummies::default() }, ..MendConfig::default() })
}

/// Runs a WRITE of four packets, PSN 0 to 3; dummies follow from PSN 4 on.
fn run(pair: Pair<Config>) -> Pair<Config> {
    run_op(pair, Op::Write)
}

fn run_op(mut pair: Pair<Config>, op: Op) -> Pair<Config> {
    pair.post(Side::A, op, 1000, None);
    pair.run_until_delivered();
    assert_eq!(pair.received(Side::B).len(), 1, "dummies are not reported");
    assert_eq!(pair.completions(Side::A).len(), 1, "dummies are not reported");
    pair
}

/// Duration of a WRITE of four packets, to within 100 ns.
fn took(mut pair: Pair<Config>) -> Span {
    pair.write(Side::A, 1000);
    while pair.completions(Side::A).is_empty() {
        pair.run_for(Span::from_ns(100));
    }
    pair.now().since(Time::ZERO)
}

#[test]
fn dummies_follow_posted_work_and_are_acknowledged() {
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
fn a_dummy_reveals_the_loss_of_the_tail() {
    let lossy = || Pair::new(dummies(1)).drop_nth(Direction::Forward, [4]);
    let pair = run(lossy());
    assert_eq!(pair.causes(), []);
    let requester = pair.requester(Side::A);
    assert_eq!((requester.naks, requester.retransmitted_packets), (1, 2), "the tail and the dummy again");
    assert!(took(lossy()) < Span::from_us(6));
}

/// A peer that denies WRITEs would end the connection because of a dummy.
#[test]
fn where_the_peer_denies_writes_copies_follow_a_send() {
    for timing in [DummyTiming::Deferred, DummyTiming::AtPost] {
        let dummies = Dummies { count: 2, timing, write_denied: true, ..Dummies::default() };
        let config = || with(MendConfig { dummies, ..MendConfig::default() });
        let sent_types = |pair: &Pair<Config>| {
            let sent = pair.trace().iter().filter_map(|line| line.strip_prefix("A ").map(str::to_owned));
            sent.filter(|line| !line.contains("Middle")).collect::<Vec<_>>()
        };
        let pair = run_op(Pair::new(config()).traced(), Op::Send);
        let last = "SendLast psn 3 len 232 ackreq";
        assert_eq!(sent_types(&pair)[1..], [last, last, last]);
        let requester = pair.requester(Side::A);
        assert_eq!((requester.dummies, requester.repeats), (0, 2));
        // A WRITE shows that the peer permits them.
        assert_eq!(run(Pair::new(config())).requester(Side::A).dummies, 2);
        // The tail, its acknowledgement, and the tail again after a gap before it.
        let losses: [(Direction, &'static [u64]); 3] =
            [(Direction::Forward, &[4]), (Direction::Backward, &[4]), (Direction::Forward, &[2, 9])];
        for (direction, lost) in losses {
            let lossy = Pair::new(config()).fate(direction, move |sent| lost.contains(&sent.nth));
            let pair = run_op(lossy, Op::Send);
            assert_eq!(pair.causes(), [], "{timing:?} {direction:?} {lost:?}");
        }
    }
}

#[test]
fn the_acknowledgement_of_a_dummy_replaces_a_lost_one() {
    let pair = run(Pair::new(dummies(1)).drop_nth(Direction::Backward, [4]));
    assert_eq!(pair.causes(), []);
    assert_eq!(pair.requester(Side::A).retransmitted_packets, 0);
}

#[test]
fn if_tail_and_dummies_are_all_lost_the_timer_recovers() {
    let lost = |pair: Pair<Config>| pair.fate(Direction::Forward, |sent| (4..=6).contains(&sent.nth));
    let pair = run(lost(Pair::new(dummies(2))));
    assert_eq!(pair.causes(), [TimeoutCause::TailPacket]);
    assert!(!pair.expired()[0].expiry.dummy);
    assert_eq!(run(lost(Pair::new(dummies(3)))).causes(), [], "the third dummy arrives");
}

/// The work request has completed long before the timer expires.
#[test]
fn a_lost_dummy_delays_no_work_request() {
    let mut pair = Pair::new(dummies(1)).drop_nth(Direction::Forward, [5]);
    pair.write(Side::A, 1000);
    pair.run_for(Span::from_us(5));
    assert_eq!(pair.completions(Side::A).len(), 1);
    pair.run_until_delivered();
    let requester = pair.requester(Side::A);
    assert_eq!((requester.timeouts, requester.dummy_timeouts), (0, 1));
    assert!(pair.expired()[0].expiry.dummy);
}

/// After a READ, the dummies are READs, because the responses can be lost.
#[test]
fn dummies_after_a_read_cause_responses() {
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

/// The Linux kernel looks up the key of a READ that it gets again, even of an empty one.
#[test]
fn dummies_carry_the_key_and_address_of_their_read() {
    let config = dummies(2);
    let mut requester = Requester::new(QpNum::new(1), Psn::new(0));
    let work = Work { id: 1, op: Op::Read, len: 600, addr: 0x1000, rkey: 77, imm: None };
    requester.post(&config, Time::ZERO, work);
    let mut next = || requester.poll_transmit(&config, Time::ZERO).map(|sent| sent.packet);
    let read = next().and_then(|packet| packet.reth());
    assert_eq!(read, Some(RethRepr { address: 0x1000, remote_key: 77, dma_len: 600 }));
    for _ in 0..2 {
        let dummy = next().expect("two dummies follow");
        assert!(dummy.is_dummy());
        assert_eq!(dummy.reth(), Some(RethRepr { address: 0x1000, remote_key: 77, dma_len: 0 }));
    }
    assert_eq!(next(), None);
}

#[test]
fn dummies_may_exceed_the_window() {
    let config = Config { window: 4, ..dummies(2) };
    let mut pair = Pair::new(config);
    pair.write(Side::A, 1000);
    pair.run_for(Span::from_ns(900));
    assert_eq!(pair.host(Side::A).requester.outstanding(), 6, "before any response");
    pair.run_until_delivered();
}

fn deferred(idle_time: Span) -> Config {
    with(MendConfig {
        dummies: Dummies { count: 1, timing: DummyTiming::Deferred, idle_time, write_denied: false },
        ..MendConfig::default()
    })
}

/// The round trip is slightly above 2 µs.
#[test]
fn a_wait_beyond_the_round_trip_avoids_dummies_without_loss() {
    let wait = Span::from_us(10);
    assert_eq!(run(Pair::new(deferred(wait))).requester(Side::A).dummies, 0);
    let lossy = || Pair::new(deferred(wait)).drop_nth(Direction::Forward, [4]);
    let pair = run(lossy());
    assert_eq!((pair.causes(), pair.requester(Side::A).dummies), (vec![], 1));
    // §5.2: about T plus a round trip, and one more for the retransmission.
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

/// As worded in §5.2, the first request of a batch is protected, and the last is not.
#[test]
fn at_post_protects_the_first_request_of_a_batch() {
    let at_post = Dummies { count: 1, timing: DummyTiming::AtPost, ..Dummies::default() };
    let mut pair = Pair::new(with(MendConfig { dummies: at_post, ..MendConfig::default() }))
        .drop_nth(Direction::Forward, [4]);
    for _ in 0..3 {
        pair.write(Side::A, 256);
    }
    pair.run_until_delivered();
    assert_eq!(pair.requester(Side::A).dummies, 1);
    assert_eq!(pair.causes(), [TimeoutCause::TailPacket]);
}

/// Fig. 8.
#[test]
fn a_copy_of_the_tail_replaces_it_and_its_acknowledgement() {
    let copies = || Pair::new(with(MendConfig { tail_copies: 1, ..MendConfig::default() }));
    for (direction, nth) in [(Direction::Forward, 4), (Direction::Backward, 4)] {
        let pair = run(copies().drop_nth(direction, [nth]));
        assert_eq!((pair.causes(), pair.requester(Side::A).repeats), (vec![], 1));
        assert_eq!(pair.requester(Side::A).retransmitted_packets, 0);
    }
    let pair = run(copies().fate(Direction::Forward, |sent| matches!(sent.nth, 4 | 5)));
    assert_eq!(pair.causes(), [TimeoutCause::TailPacket]);
}

#[test]
fn with_every_packet_sent_twice_one_loss_is_not_noticed() {
    let twice = || Pair::new(with(MendConfig { packet_copies: 1, ..MendConfig::default() }));
    for nth in 1..=8 {
        let pair = run(twice().drop_nth(Direction::Forward, [nth]));
        let requester = pair.requester(Side::A);
        assert_eq!((pair.causes(), requester.naks, requester.repeats), (vec![], 0, 4), "packet {nth}");
    }
    assert_eq!(pair_naks(twice()), 1);
}

/// Returns the NAKs after both copies of PSN 1 are lost.
fn pair_naks(pair: Pair<Config>) -> u32 {
    run(pair.fate(Direction::Forward, |sent| matches!(sent.nth, 3 | 4))).requester(Side::A).naks
}

#[test]
fn a_responder_that_checks_the_epsn_sends_another_nak_for_a_lost_retransmission() {
    let lost = |pair: Pair<Config>| {
        run(pair.fate(Direction::Forward, |sent| sent.packet.psn.get() == 1 && sent.copy < 3))
    };
    assert_eq!(lost(Pair::new(config())).causes(), [TimeoutCause::Twice, TimeoutCause::Twice]);
    let pair = lost(Pair::new(with(MendConfig { check_epsn: true, ..MendConfig::default() })));
    assert_eq!((pair.causes(), pair.responder(Side::B).naks), (vec![], 3));
}

/// The NIC fetches a retransmission first. During the fetch a second NAK has no effect.
#[test]
fn a_second_nak_changes_nothing_during_the_fetch() {
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
