//! A running TCP connection with losses does not allocate memory.

use std::collections::VecDeque;

use crate::counting_allocator::allocations;
use wiremend_proto::engine::{Op, Requester as _, Responder as _, Work};
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Config, Receiver, Segment, Sender};
use wiremend_units::{QpNum, Span, Time};

/// A connection with a round trip of 200 steps of 100 ns. One in `loses_one_in` segments is lost.
struct Loop {
    config: Config,
    sender: Sender,
    receiver: Receiver,
    now: Time,
    forth: VecDeque<(Time, Segment)>,
    back: VecDeque<(Time, Segment)>,
    sent: u64,
    loses_one_in: u64,
}

impl Loop {
    fn new(algorithm: Algorithm, loses_one_in: u64) -> Self {
        // The receive window is the only bound of the segments in flight while losses keep the congestion
        // window small.
        let config = Config { receive_window: 400_000, ..Config::new(algorithm) };
        let mut sender = Sender::new(&config, QpNum::new(2), 1);
        let work = Work { id: 1, op: Op::Send, len: 1 << 31, addr: 0, rkey: 0, imm: None };
        sender.post(&config, Time::ZERO, work);
        let receiver = Receiver::new(&config, QpNum::new(1));
        let queue = || VecDeque::with_capacity(1_000);
        let (forth, back) = (queue(), queue());
        Self { config, sender, receiver, now: Time::ZERO, forth, back, sent: 0, loses_one_in }
    }

    fn step(&mut self) {
        let delay = Span::from_us(10);
        self.now += Span::from_ns(100);
        if self.sender.next_timeout().is_some_and(|due| due <= self.now) {
            self.sender.on_timeout(&self.config, self.now);
        }
        if let Some(transmit) = self.sender.poll_transmit(&self.config, self.now) {
            self.sent += 1;
            if !self.sent.is_multiple_of(self.loses_one_in) {
                self.forth.push_back((self.now + delay, transmit.packet));
            }
        }
        if let Some((_, packet)) = self.forth.pop_front_if(|(at, _)| *at <= self.now) {
            self.receiver.on_packet(&self.config, self.now, &packet);
        }
        while let Some(answer) = self.receiver.poll_transmit(&self.config) {
            self.back.push_back((self.now + delay, answer));
        }
        if let Some((_, packet)) = self.back.pop_front_if(|(at, _)| *at <= self.now) {
            self.sender.on_packet(&self.config, self.now, &packet);
        }
    }
}

#[test]
fn running_connection_does_not_allocate() {
    for algorithm in Algorithm::ALL {
        for loses_one_in in [u64::MAX, 1_000, 97] {
            let mut tcp = Loop::new(algorithm, loses_one_in);
            (0..200_000).for_each(|_| tcp.step());
            let before = allocations();
            (0..400_000).for_each(|_| tcp.step());
            assert_eq!(allocations() - before, 0, "{algorithm:?}, one in {loses_one_in}");
            assert!(tcp.sender.acknowledged() > 30_000_000, "{algorithm:?}: {}", tcp.sender.acknowledged());
        }
    }
}
