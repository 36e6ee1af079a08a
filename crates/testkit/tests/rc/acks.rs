//! Who asks for acknowledgements, and what happens to those that wait.

use wiremend_proto::rc::Config;
use wiremend_testkit::{Direction, Ending, Pair, Side};
use wiremend_units::Span;

use crate::config;

fn acks(mut pair: Pair) -> (u64, u32) {
    pair.write(Side::A, 256 * 100);
    assert_eq!(pair.run_until_idle(), Ending::Idle);
    pair.assert_delivered();
    assert_eq!(pair.requester(Side::A).retransmitted_packets, 0);
    (pair.responder(Side::B).acks, pair.responder(Side::B).coalesced)
}

#[test]
fn every_kth_packet_and_the_last_ask() {
    for (ack_every, asked) in [(1, 100), (2, 50), (3, 34), (64, 2), (100, 1), (1000, 1)] {
        assert_eq!(acks(Pair::new(Config { ack_every, ..config() })), (asked, 0));
    }
}

#[test]
fn acknowledgements_that_meet_a_busy_port_become_one() {
    let slow = Pair::new(config()).spacing(Direction::Backward, Span::from_us(1));
    let (sent, coalesced) = acks(slow);
    assert_eq!(sent + u64::from(coalesced), 100);
    // 100 packets take 10 µs; one ACK leaves at once, one each microsecond, one at the end.
    assert!((10..=12).contains(&sent), "{sent}");
}

#[test]
fn a_waiting_nak_is_not_replaced_by_an_acknowledgement_of_what_came_before() {
    let mut pair = Pair::new(Config { ack_every: 2, ..config() })
        .drop_nth(Direction::Forward, 3)
        .spacing(Direction::Backward, Span::from_ns(250));
    pair.write(Side::A, 256 * 8);
    assert_eq!(pair.run_until_idle(), Ending::Idle);
    pair.assert_delivered();
    assert_eq!((pair.responder(Side::B).naks, pair.requester(Side::A).naks), (1, 1));
    assert_eq!(pair.causes(), []);
}

/// A lost acknowledgement does not matter if a later one arrives.
#[test]
fn acknowledgements_are_cumulative() {
    let mut pair = Pair::new(config()).drop_if(Direction::Backward, |sighting| sighting.nth % 10 != 0);
    pair.write(Side::A, 256 * 100);
    assert_eq!(pair.run_until_idle(), Ending::Idle);
    assert_eq!(pair.requester(Side::A).packets, 100);
    assert_eq!(pair.causes(), []);
}
