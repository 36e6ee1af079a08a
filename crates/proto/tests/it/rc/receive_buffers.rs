//! Receive buffers and RNR NAKs (IBA 9.7.5).

use wiremend_proto::engine::{Op, Requester as _, Status};
use wiremend_proto::rc::{AethRepr, Config, NakCode, Packet, Recovery, RnrTimer, Syndrome};
use wiremend_testkit::{Direction, Pair, RunEnd, Side};
use wiremend_units::{QpNum, Span, Time};

use super::config;

fn waiting_config() -> Config {
    // Code 1: 10 µs.
    Config { rnr_timer: RnrTimer::from_code(1), rnr_retry: 3, ..config() }
}

#[test]
fn a_send_waits_for_a_receive_buffer_and_then_arrives_once() {
    let mut pair = Pair::new(waiting_config()).traced();
    pair.host(Side::B).responder.limit_receives(1);
    pair.send(Side::A, 600);
    pair.send(Side::A, 600);
    pair.run_for(Span::from_us(15));
    assert_eq!(pair.received(Side::B).len(), 1);
    assert_eq!(pair.requester(Side::A).rnr_naks, 2);
    pair.host(Side::B).responder.add_receives(1);
    pair.run_until_delivered();
    assert_eq!(pair.placed(Side::B), 1200);
    assert_eq!(pair.causes(), []);
    assert_eq!(pair.responder(Side::B).naks, 0, "packets after the refused one are dropped silently");
    let refused = pair.trace().iter().filter(|line| line.starts_with("B Rnr(1) psn 3")).count();
    assert_eq!(refused, 2, "{:?}", pair.trace());
}

#[test]
fn a_write_with_immediate_data_needs_a_buffer_only_at_its_end() {
    for recovery in Recovery::ALL {
        let mut pair = Pair::new(Config { recovery, ..waiting_config() });
        pair.host(Side::B).responder.limit_receives(0);
        pair.write(Side::A, 600);
        pair.post(Side::A, Op::Write, 600, Some(5));
        pair.run_for(Span::from_us(5));
        assert_eq!((pair.placed(Side::B), pair.received(Side::B).len()), (600 + 512, 1));
        pair.host(Side::B).responder.add_receives(1);
        pair.run_until_delivered();
        assert_eq!(pair.requester(Side::A).retransmitted_packets, 1, "{recovery:?}: nothing was lost");
    }
}

#[test]
fn progress_resets_the_rnr_retries() {
    let mut pair = Pair::new(Config { rnr_retry: 1, ..waiting_config() });
    pair.host(Side::B).responder.limit_receives(0);
    for _ in 0..3 {
        pair.send(Side::A, 1);
        pair.run_for(Span::from_us(5));
        pair.host(Side::B).responder.add_receives(1);
        pair.run_for(Span::from_us(20));
    }
    pair.run_until_delivered();
    assert_eq!(pair.requester(Side::A).rnr_naks, 3);
}

#[test]
fn the_wait_is_that_of_the_rnr_nak() {
    let mut pair = Pair::new(Config { rnr_timer: RnrTimer::from_code(5), ..waiting_config() });
    pair.host(Side::B).responder.limit_receives(0);
    pair.send(Side::A, 1);
    // One packet in each direction.
    pair.run_for(Span::from_ns(2_200));
    let refused_at = pair.now();
    assert_eq!(pair.host(Side::A).requester.next_timeout(), Some(refused_at + Span::from_us(60)));
}

/// The Linux kernel refuses the packet behind a refused one with a sequence NAK.
#[test]
fn a_sequence_nak_does_not_shorten_the_wait() {
    for resend_delay in [Span::ZERO, Span::from_us(1)] {
        let mut pair =
            Pair::new(Config { rnr_timer: RnrTimer::from_code(5), resend_delay, ..waiting_config() });
        pair.host(Side::B).responder.limit_receives(0);
        pair.send(Side::A, 600);
        pair.run_for(Span::from_us(5));
        let requester = &mut pair.host(Side::A).requester;
        let (oldest, until) = (requester.oldest(), requester.next_timeout());
        let nak = AethRepr { syndrome: Syndrome::Nak(NakCode::PsnSequence), msn: 0 };
        let now = Time::ZERO + Span::from_us(5);
        let config = Config { resend_delay, ..waiting_config() };
        requester.on_packet(&config, now, &Packet::acknowledge(QpNum::new(0), oldest, nak));
        assert_eq!(requester.next_timeout(), until, "{resend_delay}");
        assert!(!requester.ready(&config, now), "{resend_delay}");
        pair.host(Side::B).responder.add_receives(1);
        pair.run_until_delivered();
    }
}

#[test]
fn a_receiver_that_is_never_ready_ends_the_connection() {
    let mut pair = Pair::new(waiting_config());
    pair.host(Side::B).responder.limit_receives(0);
    pair.send(Side::A, 1);
    pair.send(Side::A, 1);
    assert_eq!(pair.run_until_idle(), RunEnd::Idle);
    let statuses: Vec<_> = pair.completions(Side::A).iter().map(|completion| completion.status).collect();
    assert_eq!(statuses, [Status::RnrRetryExceeded, Status::Flushed]);
    assert_eq!(pair.requester(Side::A).rnr_naks, 4, "three waits and the fatal NAK");
}

#[test]
fn an_rnr_retry_count_of_seven_retries_without_limit() {
    let mut pair = Pair::new(Config { rnr_retry: 7, ..waiting_config() });
    pair.host(Side::B).responder.limit_receives(0);
    pair.send(Side::A, 1);
    pair.run_for(Span::from_ms(10));
    assert!(pair.requester(Side::A).rnr_naks > 500 && pair.completions(Side::A).is_empty());
    pair.host(Side::B).responder.add_receives(1);
    pair.run_until_delivered();
}

#[test]
fn a_lost_rnr_nak_causes_a_timeout() {
    let mut pair = Pair::new(waiting_config()).drop_nth(Direction::Backward, [1]);
    pair.host(Side::B).responder.limit_receives(0);
    pair.send(Side::A, 1);
    pair.run_for(Span::from_us(90));
    pair.host(Side::B).responder.add_receives(1);
    pair.run_until_delivered();
    assert_eq!(pair.causes().len(), 1);
}
