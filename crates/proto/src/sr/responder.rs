//! The responder: puts each packet in its place as it comes, answers it, and completes messages in order.

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::{NakCode, RethRepr};

use super::config::Config;
use super::packet::{Acknowledgement, Data, Packet, Verdict};
use super::tracking::{Steps, Tracking};
use crate::engine::{self, Message, Op, Outcome, Place, Responder as _, ResponderCounters};
use crate::rc;
use crate::rc::inbound::{Shape, payload_fits};

/// The receiving half of a queue pair. Doors that do much are never inlined: a host holds engines side by side, and
/// go-back-N is not to pay for this one. It has a receive buffer for every message.
#[derive(Clone, Debug)]
pub struct Responder {
    /// The first number that has not arrived.
    expected: u64,
    tracking: Tracking,
    /// Last packets that came before their turn, with what their message is: IRN's second bitmap, and its
    /// "premature" completions (§5.3).
    ends: BTreeMap<u64, Ended>,
    /// Messages that are complete and not reported.
    done: VecDeque<Message>,
    replies: VecDeque<Acknowledgement>,
    counters: ResponderCounters,
    peer: QpNum,
    first: Psn,
    msn: u32,
    /// A packet came before its turn since the last progress, and a NAK was sent for it.
    nak_sent: bool,
    failed: bool,
}

/// A message whose last packet is here.
#[derive(Clone, Copy, Debug)]
struct Ended {
    op: Op,
    len: u32,
    imm: Option<u32>,
    dummy: bool,
}

impl Responder {
    /// A responder that expects numbers from `first` on.
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
    fn on_packet(&mut self, config: &Config, _now: Time, packet: &Packet) -> Outcome {
        let Packet::Data(data) = packet else { return self.ignore() };
        if self.failed {
            return self.ignore();
        }
        let distance = data.psn.distance(self.expected());
        let Ok(ahead) = u64::try_from(distance) else { return self.on_duplicate(data) };
        if ahead >= u64::from(config.tracked) {
            return self.on_beyond(data);
        }
        let (Some(shape), place) = (Shape::of(data.opcode), data.place()) else {
            return self.refuse(data, NakCode::InvalidRequest);
        };
        if let Err(why) = check(config, shape, data, place) {
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
            let len = if shape.op == Op::Write { place.dma_len } else { place.address as u32 };
            let len = if shape.op == Op::Send { len + data.payload_len as u32 } else { len };
            let ended = Ended { op: shape.op, len, imm: data.imm(), dummy: data.is_dummy() };
            self.ends.insert(seq, ended);
        }
        if ahead == 0 {
            self.advance();
        } else {
            self.counters.ahead += 1;
        }
        self.answer(config, data, ahead > 0);
        Outcome::Accepted { place: place_of(shape, data, place), completed: None }
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
        match reply.verdict {
            Verdict::Ack => self.counters.acks += 1,
            Verdict::Nak(_) => self.counters.naks += 1,
        }
        Some(Packet::Ack(reply))
    }

    #[inline]
    fn has_output(&self) -> bool {
        !self.replies.is_empty()
    }

    /// The first number that has not arrived.
    #[inline]
    fn expected(&self) -> Psn {
        self.first.ahead(self.expected as u32)
    }

    /// A NAK is out for the first number that has not arrived.
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
    /// The gap is filled, and with it perhaps the last one of several messages.
    fn advance(&mut self) {
        self.expected = self.tracking.advance(self.expected);
        self.nak_sent = false;
        while let Some(end) = self.ends.first_entry().filter(|end| *end.key() < self.expected) {
            let Ended { op, len, imm, dummy } = end.remove();
            self.msn = (self.msn + 1) & 0xFF_FFFF;
            if !dummy {
                self.done.push_back(Message { op, len, imm, msn: self.msn });
            }
        }
    }

    /// It is here already: the acknowledgement was lost, or it was sent again in vain.
    fn on_duplicate(&mut self, data: &Data) -> Outcome {
        self.counters.duplicates += 1;
        let said = self.say(data, Verdict::Ack);
        self.push(Acknowledgement { duplicate: true, ..said });
        Outcome::Duplicate
    }

    /// There is no room to remember it.
    fn on_beyond(&mut self, data: &Data) -> Outcome {
        self.counters.ahead += 1;
        self.nak_sent = true;
        let said = self.say(data, Verdict::Nak(NakCode::PsnSequence));
        self.push(Acknowledgement { dropped: true, ..said });
        Outcome::Gap { nak: true }
    }

    fn refuse(&mut self, data: &Data, why: NakCode) -> Outcome {
        self.failed = true;
        let said = self.say(data, Verdict::Nak(why));
        self.push(Acknowledgement { dropped: true, ..said });
        Outcome::Refused
    }

    fn ignore(&mut self) -> Outcome {
        self.counters.ignored += 1;
        Outcome::Ignored
    }

    fn answer(&mut self, config: &Config, data: &Data, early: bool) {
        let nak = early && config.scheme.naks_gaps();
        self.nak_sent |= nak;
        let said = self.say(data, if nak { Verdict::Nak(NakCode::PsnSequence) } else { Verdict::Ack });
        match self.replies.back_mut() {
            Some(waiting) if waiting.is_plain() && said.is_plain() && !config.scheme.counts_acks() => {
                *waiting = said;
                self.counters.coalesced += 1;
            }
            _ => self.push(said),
        }
    }

    fn say(&self, data: &Data, verdict: Verdict) -> Acknowledgement {
        Acknowledgement {
            dest_qp: self.peer,
            expected: self.expected(),
            trigger: data.psn,
            msn: self.msn,
            verdict,
            dropped: false,
            duplicate: false,
            marked: data.marked,
        }
    }

    /// A port that is held for long makes answers pile up; the oldest go, as if they were lost.
    fn push(&mut self, said: Acknowledgement) {
        const REPLIES_MAX: usize = 1 << 16;
        if self.replies.len() >= REPLIES_MAX {
            self.replies.pop_front();
            self.counters.coalesced += 1;
        }
        self.replies.push_back(said);
    }

    /// What tracking has cost.
    pub fn steps(&self) -> Steps {
        self.tracking.steps()
    }
}

/// Each packet must make sense on its own, since those before it may come later.
fn check(config: &Config, shape: Shape, data: &Data, place: RethRepr) -> Result<(), NakCode> {
    let fits = payload_fits(&config.base, shape, data.payload_len);
    let payload = data.payload_len as u32;
    let right = match shape.op {
        Op::Read => false,
        Op::Write => place.dma_len <= rc::Config::MESSAGE_LEN_MAX && payload <= place.dma_len,
        Op::Send => place.address <= (rc::Config::MESSAGE_LEN_MAX - payload) as u64,
    };
    if !fits || !right {
        return Err(NakCode::InvalidRequest);
    }
    let ends = place.address.checked_add(payload as u64);
    if payload > 0 && ends.is_none() { Err(NakCode::RemoteAccess) } else { Ok(()) }
}

/// A WRITE names the address of its payload. A SEND names the receive buffer and the offset in it.
fn place_of(shape: Shape, data: &Data, place: RethRepr) -> Option<Place> {
    let len = data.payload_len;
    (len > 0).then_some(if shape.op == Op::Send {
        Place { addr: place.remote_key as u64, offset: place.address as u32, len }
    } else {
        Place { addr: place.address, offset: 0, len }
    })
}
