//! Work requests of a requester, from posting to completion.

use std::collections::VecDeque;

use wiremend_units::Psn;

use super::config::Config;
use crate::engine::{Op, Work};

/// Work items in posting order: the first `done` are finished and wait to be reported, then come those that
/// wait for a response, then, from `cursor` on, those that are not completely sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendQueue {
    items: VecDeque<WorkItem>,
    done: u32,
    cursor: u32,
    /// First sequence number of the next posted work.
    pub(crate) end_seq: u64,
    /// Work items so far, dummies included.
    pub(crate) messages: u64,
    /// Numbers before this one may be sent: [`Self::end_seq`], or where the peer's receive buffers end.
    pub(crate) sendable: u64,
}

/// A work request and its sequence numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkItem {
    pub(crate) id: u64,
    pub(crate) addr: u64,
    pub(crate) first: u64,
    pub(crate) len: u32,
    pub(crate) packets: u32,
    pub(crate) rkey: u32,
    imm: u32,
    has_imm: bool,
    pub(crate) op: Op,
    /// Whether this is a dummy, which nobody posted and whose completion is not reported.
    pub(crate) dummy: bool,
}

const _: () = assert!(size_of::<WorkItem>() == 48);

impl WorkItem {
    /// One past the last sequence number.
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.first + self.packets as u64
    }

    /// Offset in the message of the packet with this number.
    #[inline]
    pub(crate) const fn offset(&self, seq: u64, mtu: u16) -> u32 {
        (seq - self.first) as u32 * mtu as u32
    }

    /// Payload bytes of the packet at `offset`.
    #[inline]
    pub(crate) const fn payload_at(&self, offset: u32, mtu: u16) -> u16 {
        let rest = self.len - offset;
        if rest < mtu as u32 { rest as u16 } else { mtu }
    }

    #[inline]
    pub(crate) const fn imm(&self) -> Option<u32> {
        if self.has_imm { Some(self.imm) } else { None }
    }

    /// Returns whether it shows nothing about other permissions of the peer, unlike a WRITE or a READ.
    #[inline]
    pub(crate) const fn lacks_rights(&self) -> bool {
        self.op.is_send() || self.op.is_atomic()
    }

    /// Returns whether it consumes a receive buffer of the peer.
    const fn needs_buffer(&self) -> bool {
        self.op.is_send() || self.has_imm
    }

    /// The word behind the headers of the last packet: immediate data, or the key to invalidate.
    #[inline]
    pub(crate) const fn last_word(&self) -> u32 {
        self.imm
    }

    /// Offset and payload length that a response with this number must have.
    #[inline]
    pub(crate) const fn response(&self, seq: u64, mtu: u16) -> (u32, u16) {
        let offset = self.offset(seq, mtu);
        (offset, if self.op.is_atomic() { 0 } else { self.payload_at(offset, mtu) })
    }
}

impl SendQueue {
    pub(crate) fn push(&mut self, config: &Config, work: Work) {
        assert!(work.len <= Config::MESSAGE_LEN_MAX, "a message has at most 2^31 bytes");
        let carries_imm = matches!(work.op, Op::Send | Op::Write);
        assert!(carries_imm || work.imm.is_none(), "only SEND and WRITE carry immediate data");
        assert!(!work.op.is_atomic() || work.len == Op::ATOMIC_LEN, "an atomic operation has eight bytes");
        let packets = config.packet_count(work.len);
        if self.items.capacity() == 0 {
            // Most connections carry one message at a time.
            self.items.reserve_exact(1);
        }
        self.items.push_back(WorkItem {
            id: work.id,
            addr: work.addr,
            first: self.end_seq,
            len: work.len,
            packets,
            rkey: work.rkey,
            imm: if work.op == Op::SendInvalidate { work.rkey } else { work.imm.unwrap_or(0) },
            has_imm: work.imm.is_some(),
            op: work.op,
            dummy: false,
        });
        self.messages += 1;
        self.end_seq += packets as u64;
        if !config.flow_control {
            self.sendable = self.end_seq;
        }
    }

    /// Adds `count` dummies after the last work item.
    #[cold]
    pub(crate) fn push_dummies(&mut self, count: u8) {
        let Some(&last) = self.items.back() else { return };
        // After a READ, only responses can be lost. A responder looks up the key of a repeated READ even if it is empty.
        let (op, addr, rkey) =
            if last.op == Op::Read { (Op::Read, last.addr, last.rkey) } else { (Op::Write, 0, 0) };
        let is_open = self.sendable == self.end_seq;
        for _ in 0..count {
            let first = self.end_seq;
            let nothing = WorkItem {
                id: 0,
                addr,
                first,
                len: 0,
                packets: 1,
                rkey,
                imm: 0,
                has_imm: false,
                op,
                dummy: true,
            };
            self.items.push_back(nothing);
            self.end_seq += 1;
            self.messages += 1;
        }
        if is_open {
            self.sendable = self.end_seq;
        }
    }

    /// Handles that the peer has receive buffers for messages before the one with this number, counted from 0. Without
    /// a buffer only the oldest message may be outstanding: its answer brings the next credits. Messages that need no
    /// buffer need no credits, but wait behind those that do (IBA 9.7.7.2).
    pub(crate) fn permit(&mut self, limit: u64) {
        let before = self.messages - self.items.len() as u64;
        let limit = limit.max(before + u64::from(self.done) + 1);
        let waiting = self.items.partition_point(|item| item.first < self.sendable);
        let mut unsent = self.items.range(waiting..).zip(before + waiting as u64..);
        let stop = unsent.find(|(item, number)| item.needs_buffer() && *number >= limit);
        self.sendable = stop.map_or(self.end_seq, |(item, _)| item.first);
    }

    /// Completes the 24 bits of a message number to the nearest number of the oldest unfinished message.
    pub(crate) fn message_number(&self, low: u32) -> u64 {
        let oldest = self.messages - (self.items.len() as u64 - u64::from(self.done));
        // MSNs are compared as PSNs are (IBA 9.7.7.2).
        oldest.saturating_add_signed(Psn::new(low).distance(Psn::new(oldest as u32)).into())
    }

    /// Returns the work item of a number that was sent and is not acknowledged.
    #[cold]
    pub(crate) fn owner(&self, seq: u64) -> Option<&WorkItem> {
        let index = self.items.partition_point(|item| item.end() <= seq);
        self.items.get(index)
    }

    /// One past the last number before `sent` of an unfinished work item that is not a dummy, if there is
    /// any.
    #[cold]
    pub(crate) fn data_end(&self, sent: u64) -> Option<u64> {
        let unfinished = self.items.range(self.done as usize..).take_while(|item| item.first < sent);
        unfinished.filter(|item| !item.dummy).last().map(|item| item.end().min(sent))
    }

    /// Returns the oldest unfinished work item.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&WorkItem> {
        self.items.get(self.done as usize)
    }

    /// Returns the work item that is being sent.
    #[inline]
    pub(crate) fn current(&self) -> Option<&WorkItem> {
        self.items.get(self.cursor as usize)
    }

    /// Returns the oldest unfinished READ or atomic operation that starts at or before `seq`.
    pub(crate) fn oldest_read_up_to(&self, seq: u64) -> Option<&WorkItem> {
        let unfinished = self.items.range(self.done as usize..);
        unfinished.take_while(|item| item.first <= seq).find(|item| item.op.has_response())
    }

    /// The last message, if it is unfinished and shows nothing about other permissions of the peer.
    #[cold]
    pub(crate) fn tail_without_rights(&self) -> Option<&WorkItem> {
        let last = self.items.back().filter(|_| self.items.len() > self.done as usize)?;
        (!last.dummy && last.lacks_rights()).then_some(last)
    }

    /// Moves to the next work item after the current one was sent.
    #[inline]
    pub(crate) const fn next_work(&mut self) {
        self.cursor += 1;
    }

    /// Marks the oldest unfinished work item as finished.
    #[inline]
    pub(crate) const fn finish_oldest(&mut self) {
        self.done += 1;
    }

    /// Continues with the oldest unfinished work item.
    #[inline]
    pub(crate) const fn rewind(&mut self) {
        self.cursor = self.done;
    }

    /// Removes the oldest finished work item and returns its identifier.
    #[inline]
    pub(crate) fn pop_done(&mut self) -> Option<u64> {
        while self.done > 0 {
            self.done -= 1;
            self.cursor = self.cursor.saturating_sub(1);
            let item = self.items.pop_front()?;
            if !item.dummy {
                return Some(item.id);
            }
        }
        None
    }

    /// Removes the oldest work item after a failure and returns its identifier.
    pub(crate) fn pop_failed(&mut self) -> Option<u64> {
        loop {
            self.cursor = self.cursor.saturating_sub(1);
            let item = self.items.pop_front()?;
            if !item.dummy {
                return Some(item.id);
            }
        }
    }
}
