//! When and what a receiver acknowledges.

use wiremend_proto::engine::{Outcome, Responder as _};
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Ack, Block, Config, Data, Ecn, Receiver, Segment};
use wiremend_units::{QpNum, Span, Time};

use super::config;

/// A receiver and its configuration.
struct Alone {
    config: Config,
    receiver: Receiver,
    now: Time,
}

impl Alone {
    fn new(config: Config) -> Self {
        Self { receiver: Receiver::new(&config, QpNum::new(1)), config, now: Time::ZERO }
    }

    /// A segment of 1000 bytes comes, the `number`th of the stream.
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

/// RFC 5681 §4.2: every second segment, else after a while; at once what is out of order.
#[test]
fn acknowledgements_are_delayed_unless_something_is_odd() {
    let delay = Span::from_ms(40);
    let mut alone = Alone::new(Config { delayed_ack: delay, quick_acks: 1, ..config(Algorithm::Reno) });
    assert_eq!(numbers(&alone.take(0, false)), [1_000], "a young connection is answered at once");
    assert_eq!(numbers(&alone.take(1, false)), []);
    assert_eq!(numbers(&alone.take(2, false)), [3_000]);
    assert_eq!(numbers(&alone.take(3, false)), []);
    let due = alone.receiver.next_timeout().unwrap();
    assert_eq!(due, Time::ZERO + delay);
    alone.receiver.on_timeout(due);
    assert_eq!(numbers(&alone.acks()), [4_000]);
    assert_eq!(numbers(&alone.take(6, false)), [4_000], "beyond a gap");
    assert_eq!(numbers(&alone.take(4, false)), [5_000], "into a gap");
    assert_eq!(alone.receiver.next_timeout(), None);
}

/// A NIC that gathers segments makes one acknowledgement stand for many.
#[test]
fn gathered_segments_are_acknowledged_together() {
    let delayed_ack = Span::from_ms(40);
    let mut alone =
        Alone::new(Config { delayed_ack, ack_every: 5, quick_acks: 0, ..config(Algorithm::Reno) });
    let acks: Vec<_> = (0..11).flat_map(|number| numbers(&alone.take(number, false))).collect();
    assert_eq!(acks, [5_000, 10_000]);
}

/// RFC 2018 §4: the first block holds the newest segment. RFC 2883 §4: what came twice is told first.
#[test]
fn blocks_tell_the_newest_first() {
    let mut alone = Alone::new(config(Algorithm::Reno));
    let block = |from: u32, to: u32| Block { start: from * 1_000, end: to * 1_000 };
    alone.take(0, false);
    alone.take(2, false);
    alone.take(3, false);
    let mut told = |number: u32| alone.take(number, false)[0].blocks;
    let none = block(1, 1);
    assert_eq!(told(5), [block(5, 6), block(2, 4), none]);
    assert_eq!(told(8), [block(8, 9), block(5, 6), block(2, 4)]);
    assert_eq!(told(10), [block(10, 11), block(8, 9), block(5, 6)], "three have room");
    assert_eq!(told(4), [block(2, 6), block(10, 11), block(8, 9)]);
    assert_eq!(told(3), [block(3, 4), block(2, 6), block(10, 11)], "it came twice");
    let below = alone.take(0, false)[0];
    assert_eq!((below.ack, below.blocks[0]), (1_000, block(0, 1)));
    let filled = alone.take(1, false)[0];
    assert_eq!((filled.ack, filled.blocks[0]), (6_000, block(10, 11)));
    assert_eq!(alone.receiver.runs_held(), 2);
}

/// RFC 8257 §3.2: a change of marks is told at once, with the old state for what came before.
#[test]
fn an_exact_echo_separates_marked_bytes_from_others() {
    let mut alone = Alone::new(Config {
        ecn: Ecn::Dctcp,
        delayed_ack: Span::from_ms(40),
        quick_acks: 0,
        ..config(Algorithm::Dctcp)
    });
    let told = |acks: Vec<Ack>| acks.iter().map(|ack| (ack.ack, ack.head.echo())).collect::<Vec<_>>();
    assert_eq!(told(alone.take(0, false)), []);
    assert_eq!(told(alone.take(1, true)), [(1_000, false)], "what came before was not marked");
    assert_eq!(told(alone.take(2, true)), [(3_000, true)]);
    assert_eq!(told(alone.take(3, true)), []);
    assert_eq!(told(alone.take(4, false)), [(4_000, true)]);
    assert_eq!(told(alone.take(5, false)), [(6_000, false)]);
}

/// A stream begins at zero. What claims to stand before that is not the first byte.
#[test]
fn nothing_stands_before_the_first_byte() {
    let config = config(Algorithm::Reno);
    for seq in [u32::MAX, u32::MAX - 499, 1 << 31] {
        let mut receiver = Receiver::new(&config, QpNum::new(1));
        let data = Data { seq, len: 1_000, push: true, ..Data::default() };
        let outcome = receiver.on_packet(&config, Time::ZERO, &Segment::Data(data));
        assert_eq!((outcome, receiver.received()), (Outcome::Ignored, 0), "{seq}");
    }
}
