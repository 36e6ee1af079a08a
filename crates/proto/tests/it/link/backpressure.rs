//! The reordering buffer is bounded: the sender pauses, or frames find no room and come again.

use wiremend_proto::link::{Ack, Config, Missing, Signal};
use wiremend_testkit::{LinkPair, Passing, Side};
use wiremend_units::{Bytes, Span};

use super::{DELAY, assert_all_in_order, config, is_data, is_fresh, sent};

/// Recovery takes longer than the buffer lasts: the copies of one round are lost.
fn slow_recovery(passing: &Passing, copies: &mut u32) -> bool {
    let again = is_data(passing, 7) && !is_fresh(passing, 7);
    *copies += u32::from(again);
    is_fresh(passing, 7) || again && *copies <= 2
}

fn run_slowly(config: Config) -> LinkPair {
    let mut copies = 0;
    sent(config, 200, |passing| slow_recovery(passing, &mut copies))
}

/// LG §3.3.
#[test]
fn a_pause_keeps_the_buffer_from_overflowing() {
    let pair = run_slowly(config());
    assert_all_in_order(&pair);
    let receiver = pair.counters(Side::B);
    assert_eq!((receiver.pauses, receiver.overflowed), (1, 0));
    assert!(receiver.rx_bytes_max <= config().rx_bytes_max.get());
}

/// L8: without backpressure the buffer overflows. What found no room is asked for again, or lost and counted.
#[test]
fn without_backpressure_the_buffer_overflows() {
    let room = Bytes::new(20_000);
    let pair = run_slowly(Config { backpressure: false, rx_bytes_max: room, ..config() });
    let receiver = pair.counters(Side::B);
    assert!(receiver.overflowed > 0 && receiver.rx_bytes_max <= room.get());
    let delivered = pair.frames().iter().filter(|frame| frame.deliveries == 1).count() as u64;
    assert_eq!(delivered + receiver.lost, 200);
}

/// A resume that never comes costs a bounded wait.
#[test]
fn a_pause_whose_end_is_lost_ends_by_itself() {
    let (mut copies, mut paused) = (0, false);
    let pair = sent(config(), 200, |passing| {
        let ack = match passing.signal {
            Some(Signal::Ack(ack) | Signal::Missing(Missing { ack, .. })) => ack,
            _ => Ack { epoch: 0, next: 0, pause: paused },
        };
        let resumes = paused && !ack.pause && passing.nth < 250;
        paused |= ack.pause;
        resumes && passing.from == Side::B || slow_recovery(passing, &mut copies)
    });
    assert_all_in_order(&pair);
    assert!(pair.counters(Side::B).pauses > 0);
    assert!(pair.now().as_ns() < 200_000, "{}", pair.now());
}

#[test]
fn a_pause_that_lasts_is_said_again() {
    let patience = Span::from_us(60);
    let pair = sent(Config { give_up: Some(patience), ..config() }, 400, |passing| is_data(passing, 7));
    let receiver = pair.counters(Side::B);
    assert_eq!((receiver.lost, receiver.overflowed, receiver.pauses), (1, 0, 1));
    assert!(patience > DELAY * 20, "many times longer than a pause lasts by itself");
}
