//! Credits of receive queues (IBA 9.7.7.2).

use wiremend_proto::engine::{Op, Requester as _};
use wiremend_proto::rc::{AethRepr, Config, Packet, Requester, RnrTimer, Syndrome};
use wiremend_testkit::{Pair, Side};
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::Credits;

use super::config;

/// Code 1: 10 µs.
fn with_credits() -> Config {
    Config { flow_control: true, rnr_timer: RnrTimer::from_code(1), ..config() }
}

/// A requester that has posted messages of three packets, with its first PSN.
struct Sender {
    requester: Requester,
    config: Config,
}

const FIRST: Psn = Psn::new(0xFF_FFFE);

impl Sender {
    fn new(ops: &[Op]) -> Self {
        let mut sender = Self {
            requester: Requester::new(QpNum::new(2), FIRST),
            config: Config { ack_every: 64, ..with_credits() },
        };
        sender.post(ops);
        sender
    }

    fn post(&mut self, ops: &[Op]) {
        for (&op, id) in ops.iter().zip(0..) {
            let work = wiremend_proto::engine::Work { id, op, len: 600, addr: 0, rkey: 0, imm: None };
            self.requester.post(&self.config, Time::ZERO, work);
        }
    }

    /// Packets that it sends before it waits.
    fn sends(&mut self) -> usize {
        std::iter::from_fn(|| self.requester.poll_transmit(&self.config, Time::ZERO)).count()
    }

    /// An ACK for everything before packet `end`.
    fn ack(&mut self, end: u32, msn: u32, credits: Credits) {
        let aeth = AethRepr { syndrome: Syndrome::Ack { credits }, msn };
        let packet = Packet::acknowledge(QpNum::new(1), FIRST.ahead(end - 1), aeth);
        self.requester.on_packet(&self.config, Time::ZERO, &packet);
    }
}

#[test]
fn no_message_is_sent_that_finds_no_buffer_but_the_oldest() {
    let mut sender = Sender::new(&[Op::Send; 8]);
    assert_eq!(sender.sends(), 3, "one message tells the credits");
    sender.ack(3, 1, Credits::from_code(0));
    assert_eq!(sender.sends(), 3, "one message without credits");
    sender.ack(6, 2, Credits::at_most(2));
    assert_eq!(sender.sends(), 6);
    sender.ack(9, 3, Credits::at_most(2));
    assert_eq!(sender.sends(), 3);
    // An answer that is older than the last one takes no credit back.
    sender.ack(10, 3, Credits::from_code(0));
    assert_eq!(sender.sends(), 0);
    sender.ack(15, 5, Credits::from_code(0));
    assert_eq!(sender.sends(), 3, "the oldest one");
    sender.ack(18, 6, Credits::UNLIMITED);
    assert_eq!(sender.sends(), 6);
    sender.ack(21, 7, Credits::from_code(0));
    sender.post(&[Op::Send; 4]);
    assert_eq!(sender.sends(), 12, "a responder without credits sends none at all");
}

#[test]
fn messages_that_need_no_buffer_need_no_credits() {
    let mut sender = Sender::new(&[Op::Write, Op::Read, Op::Write, Op::Send, Op::Write]);
    assert_eq!(sender.sends(), 3 + 1 + 3);
    sender.post(&[Op::Write]);
    assert_eq!(sender.sends(), 0, "a SEND without credits holds what follows");
    sender.ack(3, 2, Credits::at_most(2));
    assert_eq!(sender.sends(), 3 + 3 + 3, "the SEND and two WRITEs");
}

#[test]
fn credits_avoid_messages_in_vain() {
    let [without, with] = [false, true].map(|flow_control| {
        let mut pair = Pair::new(Config { flow_control, ..with_credits() });
        pair.host(Side::B).responder.limit_receives(3);
        (0..12).for_each(|_| pair.send(Side::A, 600));
        for _ in 0..9 {
            pair.run_for(Span::from_us(30));
            pair.host(Side::B).responder.add_receives(1);
        }
        pair.run_until_delivered();
        assert_eq!((pair.received(Side::B).len(), pair.placed(Side::B)), (12, 12 * 600));
        pair.requester(Side::A).retransmitted_packets
    });
    assert!(with > 0 && 3 * with < 2 * without, "{with} packets again with credits, {without} without");
}

#[test]
fn a_responder_that_does_not_count_buffers_has_no_credits() {
    let mut pair = Pair::new(with_credits()).traced();
    (0..12).for_each(|_| pair.send(Side::A, 600));
    pair.run_until_delivered();
    assert!(pair.trace().iter().any(|line| line.contains("psn 35")), "{:?}", pair.trace());
}
