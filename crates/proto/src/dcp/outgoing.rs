//! What was posted and is not acknowledged, cut into the units that the receiver counts.

use std::collections::VecDeque;

use wiremend_units::{Psn, QpNum, Time};

use super::config::Config;
use super::packet::{Data, Target, UNIT_MASK};
use super::retrans_queue::Entry;
use crate::engine::{Op, Work};
use crate::rc;
use crate::rc::inbound::Shape;

/// Units in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Outgoing {
    units: VecDeque<Unit>,
    /// Units acknowledged, counted from 0 without end: the number of the first one here.
    pub(super) acknowledged: u64,
    /// Which unit new packets come from.
    cursor: usize,
    /// The next packet that was never sent.
    pub(super) next: u64,
    /// The number behind the last posted packet.
    pub(super) tail: u64,
    /// Works so far.
    pub(super) messages: u64,
    /// Receive buffers that these take.
    buffers: u32,
    /// Works that are done, to be reported.
    done: VecDeque<u64>,
}

/// Longer messages are cut even where they count as one, so that numbers of a unit and of the next can be told apart: the receiver takes
/// twice as many from the oldest missing one on.
const UNIT_PACKETS_MAX: u32 = 1 << 21;

/// Packets that the receiver counts together: a message, or a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) work: u64,
    /// Remote address of the message.
    addr: u64,
    pub(super) first: u64,
    /// When a packet of it was sent or came back last.
    pub(super) touched: Time,
    /// When its timer started; never, if nothing of it was sent.
    pub(super) since: Time,
    /// What of it is sent anew next; `u64::MAX`: nothing is.
    pub(super) replay: u64,
    packets: u32,
    /// Where it starts in the message.
    offset: u32,
    /// Bytes of the message.
    len: u32,
    rkey: u32,
    imm: Option<u32>,
    /// The receive buffer of the message, for SEND (SSN).
    buffer: u32,
    pub(super) op: Op,
    pub(super) round: u8,
}

impl Unit {
    /// The number behind the last one.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.first + self.packets as u64
    }

    /// Where the payload of a packet lies in the message.
    #[inline]
    const fn offset(&self, seq: u64, mtu: u16) -> u32 {
        self.offset + (seq - self.first) as u32 * mtu as u32
    }

    /// Bytes in the packet whose payload lies at `offset`.
    #[inline]
    const fn payload_at(&self, offset: u32, mtu: u16) -> u16 {
        let rest = self.len - offset;
        if rest < mtu as u32 { rest as u16 } else { mtu }
    }

    /// One of its packets, and where the payload lies in the message.
    pub(super) fn packet(&self, config: &Config, peer: QpNum, psn: Psn, entry: Entry) -> (Data, u32) {
        let mtu = config.base.mtu;
        let offset = self.offset(entry.seq, mtu);
        let shape = Shape { op: self.op, first: offset == 0, last: self.len - offset <= u32::from(mtu) };
        let place = match self.op {
            Op::Send => Target::Buffer { number: self.buffer, offset },
            Op::Write | Op::Read => {
                Target::Memory { address: self.addr.wrapping_add(u64::from(offset)), key: self.rkey }
            }
        };
        let opcode = shape.opcode(self.imm.is_some());
        let data = Data::new(opcode, peer, psn, entry.unit as u32 & UNIT_MASK, self.round, place)
            .with_payload(self.payload_at(offset, mtu))
            .with_imm(self.imm.unwrap_or(0))
            .with_unit_end(entry.seq + 1 == self.end());
        (data, offset)
    }
}

impl Outgoing {
    pub(super) fn push(&mut self, config: &Config, work: Work) {
        assert!(work.len <= rc::Config::MESSAGE_LEN_MAX, "a message has at most 2^31 bytes");
        assert!(
            work.op != Op::Read,
            "a read is not offered here: its data are answers, which nobody bounces"
        );
        let mut left = config.base.packets(work.len);
        let mut offset = 0;
        while left > 0 {
            let packets = left.min(config.parameters.unit_packets).min(UNIT_PACKETS_MAX);
            self.units.push_back(Unit {
                work: work.id,
                addr: work.addr,
                first: self.tail,
                touched: Time::MAX,
                since: Time::MAX,
                replay: u64::MAX,
                packets,
                offset,
                len: work.len,
                rkey: work.rkey,
                imm: work.imm,
                buffer: self.buffers,
                op: work.op,
                round: 0,
            });
            self.tail += u64::from(packets);
            left -= packets;
            offset = offset.wrapping_add(packets.wrapping_mul(u32::from(config.base.mtu)));
        }
        self.messages += 1;
        if work.op == Op::Send || work.imm.is_some() {
            self.buffers = self.buffers.wrapping_add(1);
        }
    }

    /// The unit that the next new packet comes from, and its number.
    #[inline]
    pub(super) fn current(&mut self) -> Option<(u64, &mut Unit)> {
        let number = self.acknowledged + self.cursor as u64;
        self.units.get_mut(self.cursor).map(|unit| (number, unit))
    }

    /// The next new packet was sent.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.next += 1;
        if self.units.get(self.cursor).is_some_and(|unit| unit.end() == self.next) {
            self.cursor += 1;
        }
    }

    /// How many units lie before the one that new packets come from.
    #[inline]
    pub(super) fn started(&self) -> usize {
        self.cursor
    }

    #[inline]
    pub(super) fn oldest(&self) -> Option<&Unit> {
        self.units.front()
    }

    /// A unit by its number.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Unit> {
        self.units.get_mut(number.checked_sub(self.acknowledged)? as usize)
    }

    /// The number of the unit that a packet which was sent belongs to.
    pub(super) fn owner(&self, seq: u64) -> Option<u64> {
        if seq >= self.next {
            return None;
        }
        let index = self.units.partition_point(|unit| unit.end() <= seq);
        self.units.get(index).filter(|unit| unit.first <= seq).map(|_| self.acknowledged + index as u64)
    }

    /// Everything before the unit with this number is there. Says whether that is news; a number that cannot be,
    /// because not all of its packets were ever sent, changes nothing.
    pub(super) fn acknowledge(&mut self, number: u64) -> bool {
        let before = self.acknowledged;
        while self.acknowledged < number
            && let Some(unit) = self.units.front()
            && unit.end() <= self.next
        {
            // Units of a message follow each other, and all but the first start inside of it.
            if self.units.get(1).is_none_or(|next| next.offset == 0) {
                self.done.push_back(unit.work);
            }
            self.units.pop_front();
            self.acknowledged += 1;
            self.cursor -= 1;
        }
        self.acknowledged > before
    }

    /// Units that are under way, oldest first, with their numbers.
    pub(super) fn under_way(&mut self) -> impl Iterator<Item = (u64, &mut Unit)> {
        let next = self.next;
        (self.acknowledged..).zip(self.units.iter_mut()).take_while(move |(_, unit)| unit.first < next)
    }

    /// Takes the oldest work that is done.
    #[inline]
    pub(super) fn pop_done(&mut self) -> Option<u64> {
        self.done.pop_front()
    }

    /// Takes the oldest work of a queue that has failed.
    pub(super) fn pop_failed(&mut self) -> Option<u64> {
        let unit = self.units.pop_front()?;
        while self.units.front().is_some_and(|next| next.offset > 0) {
            self.units.pop_front();
        }
        Some(unit.work)
    }
}
