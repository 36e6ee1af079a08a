//! Posted work that is not acknowledged, divided into the units that the receiver counts.

use std::collections::VecDeque;

use wiremend_units::{Psn, QpNum, Time};

use super::config::Config;
use super::packet::{Data, PayloadTarget, UNIT_MASK};
use super::retrans_queue::Entry;
use crate::engine::{Op, Work};
use crate::rc;
use crate::rc::inbound::PacketShape;

/// Units in order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct SendUnits {
    units: VecDeque<SendUnit>,
    /// Number of acknowledged units, without wrapping: the number of the first unit here.
    pub(super) acknowledged: u64,
    /// Index of the unit of the next new packet.
    cursor: usize,
    /// Next packet that was never sent.
    pub(super) next: u64,
    /// One past the last posted packet.
    pub(super) end_seq: u64,
    /// Work requests so far.
    pub(super) messages: u64,
    /// Receive buffers that they use.
    buffers: u32,
    /// Acknowledged work requests to report, and whether they are READs, whose data may be missing.
    done: VecDeque<(u64, bool)>,
}

/// Longer messages are divided even with [`Parameters::WHOLE_MESSAGES`](super::Parameters::WHOLE_MESSAGES),
/// so that the numbers of successive units are unambiguous: the receiver accepts twice as many from the
/// oldest missing one on.
const UNIT_PACKETS_MAX: u32 = 1 << 21;

/// Packets that the receiver counts together: a message or a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendUnit {
    pub(super) work: u64,
    /// Remote address of the message.
    addr: u64,
    pub(super) first: u64,
    /// Time of its last transmission or returned header.
    pub(super) last_activity: Time,
    /// Start of its timer; [`Time::MAX`] if none of it was sent.
    pub(super) timer_start: Time,
    /// Next packet to resend; `u64::MAX`: none.
    pub(super) replay_next: u64,
    packets: u32,
    /// Offset in the message, in bytes.
    offset: u32,
    /// Length of the message in bytes.
    len: u32,
    rkey: u32,
    imm: Option<u32>,
    /// Receive buffer of the message, for SEND (SSN).
    buffer: u32,
    pub(super) op: Op,
    pub(super) round: u8,
}

impl SendUnit {
    /// One past the last packet number.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.first + self.packets as u64
    }

    #[inline]
    pub(super) const fn contains(&self, seq: u64) -> bool {
        self.first <= seq && seq < self.end()
    }

    /// Offset in the message of the packet with this number.
    #[inline]
    const fn offset(&self, seq: u64, mtu: u16) -> u32 {
        self.offset + (seq - self.first) as u32 * mtu as u32
    }

    /// Payload bytes of the packet at `offset`.
    #[inline]
    const fn payload_at(&self, offset: u32, mtu: u16) -> u16 {
        let rest = self.len - offset;
        if rest < mtu as u32 { rest as u16 } else { mtu }
    }

    /// Builds one of its packets. Also returns the payload's offset in the message.
    pub(super) fn packet(&self, config: &Config, peer: QpNum, psn: Psn, entry: Entry) -> (Data, u32) {
        let mtu = config.base.mtu;
        let offset = self.offset(entry.seq, mtu);
        let shape =
            PacketShape { op: self.op, first: offset == 0, last: self.len - offset <= u32::from(mtu) };
        let place = match self.op {
            Op::Send => PayloadTarget::Buffer { number: self.buffer, offset },
            _ => PayloadTarget::Memory { address: self.addr.wrapping_add(u64::from(offset)), key: self.rkey },
        };
        let opcode = shape.opcode(self.imm.is_some());
        let data = Data::new(opcode, peer, psn, entry.unit as u32 & UNIT_MASK, self.round, place)
            .with_payload(self.payload_at(offset, mtu))
            .with_imm(self.imm.unwrap_or(0))
            .with_unit_end(entry.seq + 1 == self.end());
        (data, offset)
    }
}

impl SendUnits {
    pub(super) fn push(&mut self, config: &Config, work: Work) {
        assert!(work.len <= rc::Config::MESSAGE_LEN_MAX, "a message has at most 2^31 bytes");
        // The request of a READ has no payload; its length is where others have immediate data.
        let (len, imm) = if work.op == Op::Read { (0, Some(work.len)) } else { (work.len, work.imm) };
        let mut left = config.base.packet_count(len);
        let mut offset = 0;
        while left > 0 {
            let packets = left.min(config.parameters.unit_packets).min(UNIT_PACKETS_MAX);
            self.units.push_back(SendUnit {
                work: work.id,
                addr: work.addr,
                first: self.end_seq,
                last_activity: Time::MAX,
                timer_start: Time::MAX,
                replay_next: u64::MAX,
                packets,
                offset,
                len,
                rkey: work.rkey,
                imm,
                buffer: self.buffers,
                op: work.op,
                round: 0,
            });
            self.end_seq += u64::from(packets);
            left -= packets;
            offset = offset.wrapping_add(packets.wrapping_mul(u32::from(config.base.mtu)));
        }
        self.messages += 1;
        if work.op == Op::Send || work.imm.is_some() {
            self.buffers = self.buffers.wrapping_add(1);
        }
    }

    /// Returns the number and the unit of the next new packet.
    #[inline]
    pub(super) fn current(&mut self) -> Option<(u64, &mut SendUnit)> {
        let number = self.acknowledged + self.cursor as u64;
        self.units.get_mut(self.cursor).map(|unit| (number, unit))
    }

    /// Handles the transmission of the next new packet.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.next += 1;
        if self.units.get(self.cursor).is_some_and(|unit| unit.end() == self.next) {
            self.cursor += 1;
        }
    }

    /// Number of units that were completely sent.
    #[inline]
    pub(super) fn started(&self) -> usize {
        self.cursor
    }

    #[inline]
    pub(super) fn oldest(&self) -> Option<&SendUnit> {
        self.units.front()
    }

    /// Returns a unit by its number.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut SendUnit> {
        self.units.get_mut(number.checked_sub(self.acknowledged)? as usize)
    }

    /// Returns the number of the unit of a packet that was sent.
    pub(super) fn owner(&self, seq: u64) -> Option<u64> {
        if seq >= self.next {
            return None;
        }
        let index = self.units.partition_point(|unit| unit.end() <= seq);
        self.units.get(index).filter(|unit| unit.first <= seq).map(|_| self.acknowledged + index as u64)
    }

    /// Acknowledges all units before this number. Returns whether any was new; an impossible number, of units
    /// that were not completely sent, changes nothing.
    pub(super) fn acknowledge(&mut self, number: u64) -> bool {
        let before = self.acknowledged;
        while self.acknowledged < number
            && let Some(unit) = self.units.front()
            && unit.end() <= self.next
        {
            // Units of a message are adjacent, and all but the first have an offset above zero.
            if self.units.get(1).is_none_or(|next| next.offset == 0) {
                self.done.push_back((unit.work, unit.op == Op::Read));
            }
            self.units.pop_front();
            self.acknowledged += 1;
            self.cursor -= 1;
        }
        self.acknowledged > before
    }

    /// Addresses that the next response and the next new packet need, for hosts that prefetch.
    #[inline]
    pub(super) fn next_addresses(&self) -> impl Iterator<Item = *const u8> {
        let units = [self.units.front(), self.units.get(self.cursor)];
        units.into_iter().flatten().map(|unit| std::ptr::from_ref(unit).cast())
    }

    /// Units with packets sent, oldest first, with their numbers.
    pub(super) fn in_flight(&mut self) -> impl Iterator<Item = (u64, &mut SendUnit)> {
        let next = self.next;
        (self.acknowledged..).zip(self.units.iter_mut()).take_while(move |(_, unit)| unit.first < next)
    }

    /// Returns whether the next new packet is the request of a READ.
    pub(super) fn next_is_read(&self) -> bool {
        self.units.get(self.cursor).is_some_and(|unit| unit.op == Op::Read)
    }

    /// Removes the oldest acknowledged work request and returns its identifier; a READ only if `has_data`.
    #[inline]
    pub(super) fn pop_done(&mut self, has_data: impl FnOnce() -> bool) -> Option<u64> {
        let (_, is_read) = *self.done.front()?;
        if is_read && !has_data() {
            return None;
        }
        self.done.pop_front().map(|(work, _)| work)
    }

    /// Removes the oldest work request after a failure and returns its identifier.
    pub(super) fn pop_failed(&mut self) -> Option<u64> {
        if let Some((work, _)) = self.done.pop_front() {
            return Some(work);
        }
        let unit = self.units.pop_front()?;
        while self.units.front().is_some_and(|next| next.offset > 0) {
            self.units.pop_front();
        }
        Some(unit.work)
    }
}
