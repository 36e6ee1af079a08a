//! The reordering buffer is bounded: the sender pauses, or frames that do not fit are sent again.

use wiremend_proto::link::{Ack, Config, LinkHeader, Missing};
use wiremend_testkit::{LinkPair, Side, WireFrame};
use wiremend_units::{Bytes, Span};

use super::{DELAY, assert_all_in_order, config, is_data, is_new, transfer};

/// Loses the first copies, so that recovery takes longer than the buffer lasts.
fn slow_recovery(sent: &WireFrame, copies: &mut u32) -> bool {
    let again = is_data(sent, 7) && !is_new(sent, 7);
    *copies += u32::from(again);
    is_new(sent, 7) || again && *copies <= 2
}

fn run_slowly(config: Config) -> LinkPair {
    let mut copies = 0;
    transfer(config, 200, |sent| slow_recovery(sent, &mut copies))
}

/// LG §3.3.
#[test]
fn pause_prevents_overflow() {
    let pair = run_slowly(config());
    assert_all_in_order(&pair);
    let receiver = pair.counters(Side::B);
    assert_eq!((receiver.pauses, receiver.overflowed), (1, 0));
    assert!(receiver.rx_bytes_max <= config().rx_bytes_max.get());
}

/// L8: without backpressure the buffer overflows. Frames that did not fit are requested again, or lost and
/// counted.
#[test]
fn buffer_overflows_without_backpressure() {
    let room = Bytes::new(20_000);
    let pair = run_slowly(Config { backpressure: false, rx_bytes_max: room, ..config() });
    let receiver = pair.counters(Side::B);
    assert!(receiver.overflowed > 0 && receiver.rx_bytes_max <= room.get());
    let delivered = pair.frames().iter().filter(|frame| frame.deliveries == 1).count() as u64;
    assert_eq!(delivered + receiver.lost, 200);
}

/// A lost resume costs a bounded wait.
#[test]
fn pause_ends_by_itself_if_the_resume_is_lost() {
    let (mut copies, mut paused) = (0, false);
    let pair = transfer(config(), 200, |sent| {
        let ack = match sent.signal {
            Some(LinkHeader::Ack(ack) | LinkHeader::Missing(Missing { ack, .. })) => ack,
            _ => Ack { epoch: 0, next: 0, pause: paused },
        };
        let resumes = paused && !ack.pause && sent.nth < 250;
        paused |= ack.pause;
        resumes && sent.from == Side::B || slow_recovery(sent, &mut copies)
    });
    assert_all_in_order(&pair);
    assert!(pair.counters(Side::B).pauses > 0);
    assert!(pair.now().as_ns() < 200_000, "{}", pair.now());
}

#[test]
fn lasting_pause_is_repeated() {
    let patience = Span::from_us(60);
    let pair = transfer(Config { give_up: Some(patience), ..config() }, 400, |sent| is_data(sent, 7));
    let receiver = pair.counters(Side::B);
    assert_eq!((receiver.lost, receiver.overflowed, receiver.pauses), (1, 0, 1));
    assert!(patience > DELAY * 20, "many times the duration of a pause");
}
