//! Recovery of lost frames.

use wiremend_proto::link::{Config, LinkHeader, Missing};
use wiremend_testkit::{RunEnd, Side};
use wiremend_units::Span;

use super::{LEN, active_pair, assert_all_in_order, config, is_data, is_missing, is_new, transfer};

#[test]
fn frames_arrive_in_order() {
    let pair = transfer(config(), 100, |_| false);
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::A).protected, 100);
    assert_eq!(pair.counters(Side::B).missed, 0);
}

#[test]
fn lost_frame_is_delivered_in_order() {
    let pair = transfer(config(), 100, |sent| is_new(sent, 7));
    assert_all_in_order(&pair);
    let (sender, receiver) = (pair.counters(Side::A), pair.counters(Side::B));
    assert_eq!((receiver.missed, receiver.recovered, receiver.lost), (1, 1, 0));
    assert_eq!((sender.resent, receiver.duplicates), (2, 1), "two copies, one of them redundant");
}

/// LG §3.2.
#[test]
fn dummy_shows_a_lost_tail() {
    let mut pair = active_pair(config());
    let start = pair.now();
    pair.send(Side::A, 3, LEN, true);
    assert_eq!(pair.run(|sent| is_new(sent, 2)), RunEnd::Idle);
    assert_all_in_order(&pair);
    assert!(pair.now().since(start) < Span::from_us(6), "{}", pair.now().since(start));
}

#[test]
fn probe_shows_a_burst_over_tail_and_dummies() {
    let mut burst = 5;
    let pair = transfer(Config { dummies: 2, ..config() }, 3, |_| {
        burst -= i32::from(burst > 0);
        burst > 0
    });
    assert_all_in_order(&pair);
}

/// The prototype loses all but five of the frames.
#[test]
fn gap_of_any_size_is_filled() {
    let lost = |sent: &_| (5..35).any(|number| is_new(sent, number));
    let pair = transfer(config(), 60, lost);
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::B).recovered, 30);
}

#[test]
fn more_gaps_than_fit_into_a_notification_are_filled() {
    let lost = |sent: &_| (5..35).step_by(2).any(|number| is_new(sent, number));
    let pair = transfer(config(), 60, lost);
    assert_all_in_order(&pair);
    assert!(pair.counters(Side::B).recovered > 2 * Missing::HOLES_MAX as u64);
}

/// The prototype sends a notification once.
#[test]
fn lost_notification_is_repeated() {
    let mut notifications = 0;
    let pair = transfer(config(), 20, |sent| {
        notifications += u32::from(is_missing(sent));
        is_new(sent, 7) || is_missing(sent) && notifications <= 4
    });
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::B).lost, 0);
    assert_eq!(pair.counters(Side::B).renotifications, 0, "the ACK of a dummy reported the gap");
}

/// Without dummies only the receiver's timer repeats the notification.
#[test]
fn lost_notification_is_repeated_by_the_timer() {
    let mut notifications = 0;
    let pair = transfer(config(), 9, |sent| {
        notifications += u32::from(is_missing(sent));
        let is_dummy = matches!(sent.signal, Some(LinkHeader::Dummy { .. }));
        is_new(sent, 7) || is_dummy || is_missing(sent) && notifications <= 2
    });
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::A).dummies, 3, "no probe was needed");
    let notifications = pair.counters(Side::B);
    assert_eq!((notifications.notifications, notifications.renotifications), (4, 2), "two copies each");
}

/// The handshake, and later measured recovery times, replace an assumed round trip.
#[test]
fn measured_times_set_the_renotification_interval() {
    let assumed = Span::from_us(500);
    let mut pair = active_pair(Config { rtt_initial: assumed, give_up: Some(Span::from_ms(20)), ..config() });
    let mut recovery_time = |number: u32| {
        let (first, start) = (pair.frames().len(), pair.now());
        pair.send(Side::A, 3, LEN, true);
        let mut notifications = 0;
        let ending = pair.run(|sent| {
            notifications += u32::from(is_missing(sent));
            let is_dummy = matches!(sent.signal, Some(LinkHeader::Dummy { .. }));
            is_new(sent, number) || number % 30 == 1 && (is_dummy || is_missing(sent) && notifications <= 2)
        });
        assert_eq!(ending, RunEnd::Idle);
        pair.frames()[first + 2].delivered_at.expect("a delivered frame").since(start)
    };
    let took: Vec<_> = (0..12).map(|round| recovery_time(round * 3 + 1)).collect();
    assert!(took[0] < Span::from_us(20), "{} with notifications lost before any recovery", took[0]);
    assert!(took[1..10].iter().all(|took| *took < Span::from_us(4)), "{took:?}");
    assert!(took[10] < Span::from_us(20), "{} with notifications lost", took[10]);
    assert_eq!(pair.counters(Side::B).renotifications, 4);
    assert_all_in_order(&pair);
}

/// A short interval doubles with each renotification, so that a lost frame costs few of them.
#[test]
fn renotification_interval_doubles() {
    let give_up = Some(Span::from_us(400));
    let notifications = |rtt_initial| {
        let mut pair = active_pair(Config { rtt_initial, give_up, ..config() });
        pair.send(Side::A, 40, LEN, true);
        assert_eq!(pair.run(|sent| is_new(sent, 7) || is_data(sent, 30)), RunEnd::Idle);
        assert_eq!(pair.counters(Side::B).lost, 1);
        pair.counters(Side::B).renotifications
    };
    let [assumed, adaptive] = [notifications(Span::ZERO), notifications(Span::from_us(100))];
    assert!(adaptive < assumed / 4, "{adaptive} {assumed}");
}

/// Gaps that do not fit into a notification are not taken for arrived.
#[test]
fn gaps_beyond_a_notification_are_filled() {
    let mut notifications = 0;
    let pair = transfer(config(), 30, |sent| {
        notifications += u32::from(is_missing(sent));
        let lost = (5..25).step_by(2).any(|number| is_new(sent, number));
        lost || is_missing(sent) && notifications <= 21
    });
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::B).recovered, 10);
}

#[test]
fn unrecoverable_frame_is_given_up_and_counted() {
    let pair = transfer(config(), 20, |sent| is_data(sent, 7));
    assert_eq!(pair.delivered(Side::B), (0..7).chain(8..20).collect::<Vec<_>>());
    assert_eq!((pair.counters(Side::B).lost, pair.handles(Side::A)), (1, (0, 0)));
}

/// The prototype waits a full timeout for each.
#[test]
fn frames_lost_together_are_given_up_together() {
    let patience = Span::from_us(10);
    let mut pair = active_pair(Config { give_up: Some(patience), ..config() });
    let start = pair.now();
    pair.send(Side::A, 20, LEN, true);
    assert_eq!(pair.run(|sent| (5..12).any(|number| is_data(sent, number))), RunEnd::Idle);
    assert_eq!(pair.counters(Side::B).lost, 7);
    assert!(pair.now().since(start) < patience * 2, "{}", pair.now().since(start));
}

#[test]
fn unordered_frames_do_not_wait_and_arrive_once() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 20, LEN, false);
    assert_eq!(pair.run(|sent| is_new(sent, 7)), RunEnd::Idle);
    let late: Vec<_> = pair.delivered(Side::B).iter().copied().skip_while(|no| *no != 7).collect();
    assert!(late.len() < 13, "other frames were delivered before");
    assert!(pair.frames().iter().all(|frame| frame.deliveries == 1));
    assert_eq!(pair.counters(Side::B).rx_bytes_max, 0);
}

#[test]
fn ordered_and_unordered_frames_share_a_link() {
    let mut pair = active_pair(config());
    for no in 0..20 {
        pair.send(Side::A, 1, LEN, no % 2 == 0);
    }
    assert_eq!(pair.run(|sent| is_new(sent, 6)), RunEnd::Idle);
    let delivered = pair.delivered(Side::B);
    let index_of = |no: u32| delivered.iter().position(|is| *is == no).expect("a delivered frame");
    assert!(index_of(7) < index_of(6), "7 is unordered");
    assert!((0..18).step_by(2).all(|no| index_of(no) < index_of(no + 2)), "even frames are ordered");
}

/// Frames of the other direction carry ACKs, some of which are lost.
#[test]
fn acks_are_piggybacked_on_the_other_direction() {
    let mut pair = active_pair(config());
    pair.apply(Side::B, wiremend_testkit::LinkCommand::Activate);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    pair.send(Side::A, 100, LEN, true);
    pair.send(Side::B, 100, LEN, true);
    let mut piggybacked = 0;
    let ending = pair.run(|sent| {
        let is_piggybacked = matches!(sent.signal, Some(LinkHeader::Data { ack: Some(_), .. }));
        piggybacked += u32::from(is_piggybacked);
        is_piggybacked && piggybacked % 5 == 0
    });
    assert_eq!(ending, RunEnd::Idle);
    assert!(piggybacked > 20 && pair.frames().iter().all(|frame| frame.deliveries == 1));
    assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
}

#[test]
fn full_tx_buffer_is_counted_and_does_not_block() {
    let pair = transfer(Config { tx_bytes_max: wiremend_units::Bytes::new(5000), ..config() }, 40, |sent| {
        is_new(sent, 30)
    });
    let (sender, receiver) = (pair.counters(Side::A), pair.counters(Side::B));
    assert!(sender.unbuffered > 0 && sender.tx_bytes_max <= 5000);
    assert_eq!(receiver.lost, sender.refused.min(1), "a frame without a kept copy is lost");
}
