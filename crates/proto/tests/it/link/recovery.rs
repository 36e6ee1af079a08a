//! Frames are lost, and come anyway.

use wiremend_proto::link::{Config, Missing, Signal};
use wiremend_testkit::{Ending, Side};
use wiremend_units::Span;

use super::{LEN, active_pair, assert_all_in_order, config, is_data, is_fresh, is_missing, sent};

#[test]
fn frames_cross_a_protected_link_in_order() {
    let pair = sent(config(), 100, |_| false);
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::A).protected, 100);
    assert_eq!(pair.counters(Side::B).missed, 0);
}

#[test]
fn a_lost_frame_comes_in_its_place() {
    let pair = sent(config(), 100, |passing| is_fresh(passing, 7));
    assert_all_in_order(&pair);
    let (sender, receiver) = (pair.counters(Side::A), pair.counters(Side::B));
    assert_eq!((receiver.missed, receiver.recovered, receiver.lost), (1, 1, 0));
    assert_eq!((sender.resent, receiver.duplicates), (2, 1), "two copies, of which one is of use");
}

/// LG §3.2.
#[test]
fn a_lost_tail_is_shown_by_a_dummy() {
    let mut pair = active_pair(config());
    let start = pair.now();
    pair.send(Side::A, 3, LEN, true);
    assert_eq!(pair.run(|passing| is_fresh(passing, 2)), Ending::Idle);
    assert_all_in_order(&pair);
    assert!(pair.now().since(start) < Span::from_us(6), "{}", pair.now().since(start));
}

#[test]
fn a_burst_over_tail_and_dummies_is_shown_by_a_probe() {
    let mut burst = 5;
    let pair = sent(Config { dummies: 2, ..config() }, 3, |_| {
        burst -= i32::from(burst > 0);
        burst > 0
    });
    assert_all_in_order(&pair);
}

/// The prototype loses all but five of them.
#[test]
fn a_hole_of_any_size_is_filled() {
    let lost = |passing: &_| (5..35).any(|number| is_fresh(passing, number));
    let pair = sent(config(), 60, lost);
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::B).recovered, 30);
}

#[test]
fn more_holes_than_a_notification_holds_are_filled() {
    let lost = |passing: &_| (5..35).step_by(2).any(|number| is_fresh(passing, number));
    let pair = sent(config(), 60, lost);
    assert_all_in_order(&pair);
    assert!(pair.counters(Side::B).recovered > 2 * Missing::HOLES_MAX as u64);
}

/// The prototype tells of a hole once.
#[test]
fn a_lost_notification_is_made_good() {
    let mut told = 0;
    let pair = sent(config(), 20, |passing| {
        told += u32::from(is_missing(passing));
        is_fresh(passing, 7) || is_missing(passing) && told <= 4
    });
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::B).lost, 0);
    assert_eq!(pair.counters(Side::B).renotifications, 0, "an answer to a dummy told of it");
}

/// Nobody asks either: only the receiver's own clock is left.
#[test]
fn a_lost_notification_is_repeated_by_the_clock() {
    let mut told = 0;
    let pair = sent(config(), 9, |passing| {
        told += u32::from(is_missing(passing));
        let is_dummy = matches!(passing.signal, Some(Signal::Dummy { .. }));
        is_fresh(passing, 7) || is_dummy || is_missing(passing) && told <= 2
    });
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::A).dummies, 3, "no probe was needed");
    let told = pair.counters(Side::B);
    assert_eq!((told.notifications, told.renotifications), (4, 2), "each twice");
}

/// A round trip that was only assumed is forgotten when recoveries have shown how long they take.
#[test]
fn what_recoveries_took_says_when_to_ask_again() {
    let assumed = Span::from_us(500);
    let mut pair =
        active_pair(Config { rtt_at_first: assumed, give_up: Some(Span::from_ms(20)), ..config() });
    let mut ask_again = |number: u32| {
        let (first, start) = (pair.frames().len(), pair.now());
        pair.send(Side::A, 3, LEN, true);
        let mut told = 0;
        let ending = pair.run(|passing| {
            told += u32::from(is_missing(passing));
            let is_dummy = matches!(passing.signal, Some(Signal::Dummy { .. }));
            is_fresh(passing, number) || number % 30 == 1 && (is_dummy || is_missing(passing) && told <= 2)
        });
        assert_eq!(ending, Ending::Idle);
        pair.frames()[first + 2].delivered_at.expect("it has come").since(start)
    };
    let took: Vec<_> = (0..12).map(|round| ask_again(round * 3 + 1)).collect();
    assert!(took[0] > assumed, "{} with notifications lost before anything was measured", took[0]);
    assert!(took[1..10].iter().all(|took| *took < Span::from_us(4)), "{took:?}");
    assert!(took[10] < Span::from_us(200), "{} with notifications lost", took[10]);
    assert_eq!(pair.counters(Side::B).renotifications, 4);
    assert_all_in_order(&pair);
}

/// However short the patience, a frame that cannot come is asked for a handful of times more than with a long one.
#[test]
fn who_asks_in_vain_asks_ever_less_often() {
    let give_up = Some(Span::from_us(400));
    let told = |rtt_at_first| {
        let mut pair = active_pair(Config { rtt_at_first, give_up, ..config() });
        pair.send(Side::A, 40, LEN, true);
        assert_eq!(pair.run(|passing| is_fresh(passing, 7) || is_data(passing, 30)), Ending::Idle);
        assert_eq!(pair.counters(Side::B).lost, 1);
        pair.counters(Side::B).renotifications
    };
    let [assumed, adaptive] = [told(Span::ZERO), told(Span::from_us(100))];
    assert!(adaptive < assumed / 4, "{adaptive} {assumed}");
}

/// What does not fit is not taken for arrived.
#[test]
fn holes_that_a_notification_leaves_out_are_filled() {
    let mut told = 0;
    let pair = sent(config(), 30, |passing| {
        told += u32::from(is_missing(passing));
        let lost = (5..25).step_by(2).any(|number| is_fresh(passing, number));
        lost || is_missing(passing) && told <= 21
    });
    assert_all_in_order(&pair);
    assert_eq!(pair.counters(Side::B).recovered, 10);
}

#[test]
fn a_frame_that_cannot_come_is_given_up_and_counted() {
    let pair = sent(config(), 20, |passing| is_data(passing, 7));
    assert_eq!(pair.delivered(Side::B), (0..7).chain(8..20).collect::<Vec<_>>());
    assert_eq!((pair.counters(Side::B).lost, pair.handles(Side::A)), (1, (0, 0)));
}

/// The prototype waits a whole timeout for each.
#[test]
fn frames_lost_together_are_given_up_together() {
    let patience = Span::from_us(10);
    let mut pair = active_pair(Config { give_up: Some(patience), ..config() });
    let start = pair.now();
    pair.send(Side::A, 20, LEN, true);
    assert_eq!(pair.run(|passing| (5..12).any(|number| is_data(passing, number))), Ending::Idle);
    assert_eq!(pair.counters(Side::B).lost, 7);
    assert!(pair.now().since(start) < patience * 2, "{}", pair.now().since(start));
}

#[test]
fn what_needs_no_order_waits_for_nothing_and_comes_once() {
    let mut pair = active_pair(config());
    pair.send(Side::A, 20, LEN, false);
    assert_eq!(pair.run(|passing| is_fresh(passing, 7)), Ending::Idle);
    let late: Vec<_> = pair.delivered(Side::B).iter().copied().skip_while(|no| *no != 7).collect();
    assert!(late.len() < 13, "others went before");
    assert!(pair.frames().iter().all(|frame| frame.deliveries == 1));
    assert_eq!(pair.counters(Side::B).rx_bytes_max, 0);
}

#[test]
fn both_kinds_share_a_link() {
    let mut pair = active_pair(config());
    for no in 0..20 {
        pair.send(Side::A, 1, LEN, no % 2 == 0);
    }
    assert_eq!(pair.run(|passing| is_fresh(passing, 6)), Ending::Idle);
    let delivered = pair.delivered(Side::B);
    let place = |no: u32| delivered.iter().position(|is| *is == no).expect("it has come");
    assert!(place(7) < place(6), "7 needs no order");
    assert!((0..18).step_by(2).all(|no| place(no) < place(no + 2)), "the others keep theirs");
}

/// Losses in the other direction: ACKs travel on the back of frames, and some are lost.
#[test]
fn acks_ride_on_the_traffic_of_the_other_direction() {
    let mut pair = active_pair(config());
    pair.order(Side::B, wiremend_testkit::Order::Activate);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    pair.send(Side::A, 100, LEN, true);
    pair.send(Side::B, 100, LEN, true);
    let mut backs = 0;
    let ending = pair.run(|passing| {
        let is_back = matches!(passing.signal, Some(Signal::Data { ack: Some(_), .. }));
        backs += u32::from(is_back);
        is_back && backs % 5 == 0
    });
    assert_eq!(ending, Ending::Idle);
    assert!(backs > 20 && pair.frames().iter().all(|frame| frame.deliveries == 1));
    assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
}

#[test]
fn a_full_buffer_is_counted_and_stops_nothing() {
    let pair = sent(Config { tx_bytes_max: wiremend_units::Bytes::new(5000), ..config() }, 40, |passing| {
        is_fresh(passing, 30)
    });
    let (sender, receiver) = (pair.counters(Side::A), pair.counters(Side::B));
    assert!(sender.unkept > 0 && sender.tx_bytes_max <= 5000);
    assert_eq!(receiver.lost, sender.refused.min(1), "what was not kept does not come again");
}
