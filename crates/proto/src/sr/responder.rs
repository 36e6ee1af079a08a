//! The responder: places each packet on arrival, acknowledges it, and completes messages in order.

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::{NakCode, RethRepr};

use super::config::Config;
use super::packet::{AckKind, Acknowledgement, Data, Packet};
use super::tracking::{Tracking, TrackingCost};
use crate::engine::{self, Message, Op, Placement, RequestOutcome, Responder as _, ResponderCounters};
use crate::rc;
use crate::rc::inbound::{PacketShape, payload_fits};

/// The receiving half of a queue pair. Long methods are never inlined: a host holds several engines, and the
/// code of go-back-N must stay small. Every message has a receive buffer.
#[derive(Clone, Debug)]
pub struct Responder {
    /// First missing number.
    expected: u64,
    tracking: Tracking,
    /// Last packets of messages that arrived out of order: IRN's second bitmap, and its "premature"
    /// completions (§5.3).
    ends: BTreeMap<u64, CompletedMessage>,
    /// Complete messages that are not reported.
    done: VecDeque<Message>,
    replies: VecDeque<Acknowledgement>,
    counters: ResponderCounters,
    peer: QpNum,
    first: Psn,
    msn: u32,
    /// Whether a NAK was sent since the last progress.
    nak_sent: bool,
    failed: bool,
}

/// A message whose last packet has arrived.
#[derive(Clone, Copy, Debug)]
struct CompletedMessage {
    op: Op,
    len: u32,
    imm: Option<u32>,
    dummy: bool,
}

impl Responder {
    /// Creates a responder that expects PSN `first`.
    pub fn new(config: &Config, peer: QpNum, first: Psn) -> Self {
        Self {
            expected: 0,
            tracking: Tracking::new(config.tracking),
            ends: BTreeMap::new(),
            done: VecDeque::new(),
            replies: VecDeque::new(),
            counters: ResponderCounters::default(),
            peer,
            first,
            msn: 0,
            nak_sent: false,
            failed: false,
        }
    }
}

impl engine::Responder for Responder {
    type Config = Config;
    type Packet = Packet;

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, _now: Time, packet: &Packet) -> RequestOutcome {
        let Packet::Data(data) = packet else { return self.ignore() };
        if self.failed {
            return self.ignore();
        }
        let distance = data.psn.distance(self.expected());
        let Ok(ahead) = u64::try_from(distance) else { return self.on_duplicate(data) };
        if ahead >= u64::from(config.tracked_packets) {
            return self.on_out_of_range(data);
        }
        let (Some(shape), placement) = (PacketShape::from_opcode(data.opcode), data.placement()) else {
            return self.refuse(data, NakCode::InvalidRequest);
        };
        if let Err(why) = check(config, shape, data, placement) {
            return self.refuse(data, why);
        }
        let seq = self.expected + ahead;
        if ahead == 0 && self.tracking.is_empty() {
            self.tracking.count_in_order();
        } else if !self.tracking.insert(self.expected, seq) {
            return self.on_duplicate(data);
        }
        self.counters.accepted += 1;
        if shape.last {
            let len = if shape.op == Op::Write { placement.dma_len } else { placement.address as u32 };
            let len = if shape.op == Op::Send { len + data.payload_len as u32 } else { len };
            let message = CompletedMessage { op: shape.op, len, imm: data.imm(), dummy: data.is_dummy() };
            self.ends.insert(seq, message);
        }
        if ahead == 0 {
            self.advance();
        } else {
            self.counters.out_of_sequence += 1;
        }
        self.queue_ack(config, data, ahead > 0);
        RequestOutcome::Accepted { placement: placement_of(shape, data, placement), completed: None }
    }

    #[inline]
    fn has_messages(&self) -> bool {
        !self.done.is_empty()
    }

    #[inline]
    fn poll_message(&mut self) -> Option<Message> {
        self.done.pop_front()
    }

    #[inline(never)]
    fn poll_transmit(&mut self, _config: &Config) -> Option<Packet> {
        let reply = self.replies.pop_front()?;
        match reply.kind {
            AckKind::Ack => self.counters.acks += 1,
            AckKind::Nak(_) => self.counters.naks += 1,
        }
        Some(Packet::Ack(reply))
    }

    #[inline]
    fn has_output(&self) -> bool {
        !self.replies.is_empty()
    }

    #[inline]
    fn expected(&self) -> Psn {
        self.first.ahead(self.expected as u32)
    }

    #[inline]
    fn nak_sent(&self) -> bool {
        self.nak_sent
    }

    #[inline]
    fn counters(&self) -> ResponderCounters {
        self.counters
    }
}

impl Responder {
    /// Advances over the filled gap and completes the messages that end before the next gap.
    fn advance(&mut self) {
        self.expected = self.tracking.advance(self.expected);
        self.nak_sent = false;
        while let Some(end) = self.ends.first_entry().filter(|end| *end.key() < self.expected) {
            let CompletedMessage { op, len, imm, dummy } = end.remove();
            self.msn = (self.msn + 1) & 0xFF_FFFF;
            if !dummy {
                self.done.push_back(Message { op, len, imm, invalidate: None, msn: self.msn });
            }
        }
    }

    /// Handles a packet that has arrived before: its acknowledgement was lost, or the retransmission was
    /// spurious.
    fn on_duplicate(&mut self, data: &Data) -> RequestOutcome {
        self.counters.duplicates += 1;
        let ack = self.new_ack(data, AckKind::Ack);
        self.push(Acknowledgement { duplicate: true, ..ack });
        RequestOutcome::Duplicate
    }

    /// Handles a packet beyond the tracked range.
    fn on_out_of_range(&mut self, data: &Data) -> RequestOutcome {
        self.counters.out_of_sequence += 1;
        self.nak_sent = true;
        let ack = self.new_ack(data, AckKind::Nak(NakCode::PsnSequence));
        self.push(Acknowledgement { dropped: true, ..ack });
        RequestOutcome::Gap { nak: true }
    }

    fn refuse(&mut self, data: &Data, why: NakCode) -> RequestOutcome {
        self.failed = true;
        let ack = self.new_ack(data, AckKind::Nak(why));
        self.push(Acknowledgement { dropped: true, ..ack });
        RequestOutcome::Refused
    }

    fn ignore(&mut self) -> RequestOutcome {
        self.counters.ignored += 1;
        RequestOutcome::Ignored
    }

    fn queue_ack(&mut self, config: &Config, data: &Data, early: bool) {
        let nak = early && config.scheme.naks_gaps();
        self.nak_sent |= nak;
        let ack = self.new_ack(data, if nak { AckKind::Nak(NakCode::PsnSequence) } else { AckKind::Ack });
        match self.replies.back_mut() {
            Some(waiting) if waiting.is_plain() && ack.is_plain() && !config.scheme.needs_every_ack() => {
                *waiting = ack;
                self.counters.coalesced += 1;
            }
            _ => self.push(ack),
        }
    }

    fn new_ack(&self, data: &Data, kind: AckKind) -> Acknowledgement {
        Acknowledgement {
            dest_qp: self.peer,
            expected: self.expected(),
            trigger: data.psn,
            msn: self.msn,
            kind,
            dropped: false,
            duplicate: false,
            marked: data.marked,
        }
    }

    /// Queues an acknowledgement. If a port is paused for long, the oldest ones are dropped as if they were
    /// lost.
    fn push(&mut self, ack: Acknowledgement) {
        const REPLIES_MAX: usize = 1 << 16;
        if self.replies.len() >= REPLIES_MAX {
            self.replies.pop_front();
            self.counters.coalesced += 1;
        }
        self.replies.push_back(ack);
    }

    /// Returns the cost of tracking.
    pub fn tracking_cost(&self) -> TrackingCost {
        self.tracking.tracking_cost()
    }
}

/// Checks a packet without reference to earlier packets, which may arrive later.
fn check(config: &Config, shape: PacketShape, data: &Data, placement: RethRepr) -> Result<(), NakCode> {
    let fits = payload_fits(&config.base, shape, data.payload_len);
    let payload = data.payload_len as u32;
    let right = match shape.op {
        Op::Write => placement.dma_len <= rc::Config::MESSAGE_LEN_MAX && payload <= placement.dma_len,
        Op::Send => placement.address <= (rc::Config::MESSAGE_LEN_MAX - payload) as u64,
        _ => false,
    };
    if !fits || !right {
        return Err(NakCode::InvalidRequest);
    }
    let ends = placement.address.checked_add(payload as u64);
    if payload > 0 && ends.is_none() { Err(NakCode::RemoteAccess) } else { Ok(()) }
}

/// WRITE: the address of the payload. SEND: the number of the receive buffer and the offset in it.
fn placement_of(shape: PacketShape, data: &Data, placement: RethRepr) -> Option<Placement> {
    let len = data.payload_len;
    (len > 0).then_some(if shape.op == Op::Send {
        Placement { addr: placement.remote_key as u64, offset: placement.address as u32, len }
    } else {
        Placement { addr: placement.address, offset: 0, len }
    })
}
