//! Acknowledgements of a receiver.

use wiremend_proto::engine::{RequestOutcome, Responder as _};
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Ack, Block, Config, Data, Ecn, Receiver, Segment};
use wiremend_units::{QpNum, Span, Time};

use super::config;

/// A receiver without a sender.
struct LoneReceiver {
    config: Config,
    receiver: Receiver,
    now: Time,
}

impl LoneReceiver {
    fn new(config: Config) -> Self {
        Self { receiver: Receiver::new(&config, QpNum::new(1)), config, now: Time::ZERO }
    }

    /// Delivers the `number`th segment of 1000 bytes. Returns the ACKs.
    fn take(&mut self, number: u32, marked: bool) -> Vec<Ack> {
        let data = Data { seq: number * 1_000, len: 1_000, marked, ..Data::default() };
        self.receiver.on_packet(&self.config, self.now, &Segment::Data(data));
        self.acks()
    }

    fn acks(&mut self) -> Vec<Ack> {
        std::iter::from_fn(|| self.receiver.poll_transmit(&self.config))
            .map(|segment| match segment {
                Segment::Ack(ack) => ack,
                other => unreachable!("{other:?}"),
            })
            .collect()
    }
}

fn numbers(acks: &[Ack]) -> Vec<u32> {
    acks.iter().map(|ack| ack.ack).collect()
}

/// RFC 5681 §4.2: an ACK for every second segment or after a delay; at once for segments out of order.
#[test]
fn acks_are_delayed_unless_segments_are_out_of_order() {
    let delay = Span::from_ms(40);
    let mut lone = LoneReceiver::new(Config { delayed_ack: delay, quick_acks: 1, ..config(Algorithm::Reno) });
    assert_eq!(numbers(&lone.take(0, false)), [1_000], "quick ACK of a new connection");
    assert_eq!(numbers(&lone.take(1, false)), []);
    assert_eq!(numbers(&lone.take(2, false)), [3_000]);
    assert_eq!(numbers(&lone.take(3, false)), []);
    let due = lone.receiver.next_timeout().unwrap();
    assert_eq!(due, Time::ZERO + delay);
    lone.receiver.on_timeout(due);
    assert_eq!(numbers(&lone.acks()), [4_000]);
    assert_eq!(numbers(&lone.take(6, false)), [4_000], "beyond a gap");
    assert_eq!(numbers(&lone.take(4, false)), [5_000], "fills a gap in part");
    assert_eq!(lone.receiver.next_timeout(), None);
}

/// With receive offload one ACK covers many segments.
#[test]
fn offloaded_segments_share_an_ack() {
    let delayed_ack = Span::from_ms(40);
    let mut lone =
        LoneReceiver::new(Config { delayed_ack, ack_every: 5, quick_acks: 0, ..config(Algorithm::Reno) });
    let acks: Vec<_> = (0..11).flat_map(|number| numbers(&lone.take(number, false))).collect();
    assert_eq!(acks, [5_000, 10_000]);
}

/// RFC 2018 §4: the first block has the newest segment. RFC 2883 §4: a DSACK comes first.
#[test]
fn sack_blocks_are_newest_first() {
    let mut lone = LoneReceiver::new(config(Algorithm::Reno));
    let block = |from: u32, to: u32| Block { start: from * 1_000, end: to * 1_000 };
    lone.take(0, false);
    lone.take(2, false);
    lone.take(3, false);
    let mut blocks = |number: u32| lone.take(number, false)[0].blocks;
    let none = block(1, 1);
    assert_eq!(blocks(5), [block(5, 6), block(2, 4), none]);
    assert_eq!(blocks(8), [block(8, 9), block(5, 6), block(2, 4)]);
    assert_eq!(blocks(10), [block(10, 11), block(8, 9), block(5, 6)], "three blocks fit");
    assert_eq!(blocks(4), [block(2, 6), block(10, 11), block(8, 9)]);
    assert_eq!(blocks(3), [block(3, 4), block(2, 6), block(10, 11)], "DSACK");
    let below = lone.take(0, false)[0];
    assert_eq!((below.ack, below.blocks[0]), (1_000, block(0, 1)));
    let filled = lone.take(1, false)[0];
    assert_eq!((filled.ack, filled.blocks[0]), (6_000, block(10, 11)));
    assert_eq!(lone.receiver.held_run_count(), 2);
}

/// RFC 8257 §3.2: a change of marks is acknowledged at once, with the old ECE value for earlier bytes.
#[test]
fn dctcp_echo_separates_marked_bytes() {
    let mut lone = LoneReceiver::new(Config {
        ecn: Ecn::Dctcp,
        delayed_ack: Span::from_ms(40),
        quick_acks: 0,
        ..config(Algorithm::Dctcp)
    });
    let echoes = |acks: Vec<Ack>| acks.iter().map(|ack| (ack.ack, ack.head.echo())).collect::<Vec<_>>();
    assert_eq!(echoes(lone.take(0, false)), []);
    assert_eq!(echoes(lone.take(1, true)), [(1_000, false)], "earlier bytes were not marked");
    assert_eq!(echoes(lone.take(2, true)), [(3_000, true)]);
    assert_eq!(echoes(lone.take(3, true)), []);
    assert_eq!(echoes(lone.take(4, false)), [(4_000, true)]);
    assert_eq!(echoes(lone.take(5, false)), [(6_000, false)]);
}

/// A stream starts at byte 0. Segments before it are ignored.
#[test]
fn segments_before_the_first_byte_are_ignored() {
    let config = config(Algorithm::Reno);
    for seq in [u32::MAX, u32::MAX - 499, 1 << 31] {
        let mut receiver = Receiver::new(&config, QpNum::new(1));
        let data = Data { seq, len: 1_000, push: true, ..Data::default() };
        let outcome = receiver.on_packet(&config, Time::ZERO, &Segment::Data(data));
        assert_eq!((outcome, receiver.received()), (RequestOutcome::Ignored, 0), "{seq}");
    }
}
