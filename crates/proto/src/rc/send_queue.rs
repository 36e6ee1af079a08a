//! The work requests of a requester, from posting to completion.

use std::collections::VecDeque;

use super::config::Config;
use crate::engine::{Op, Work};

/// Works in posting order: the first `done` are finished and wait to be reported, then those that wait for an
/// answer, then, from `cursor` on, those that are not sent completely.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendQueue {
    items: VecDeque<Item>,
    done: u32,
    cursor: u32,
    /// The sequence number that the next posted work starts with.
    pub(crate) tail: u64,
    /// Works so far, dummies included.
    pub(crate) messages: u64,
}

/// A work and the sequence numbers it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) id: u64,
    pub(crate) addr: u64,
    pub(crate) first: u64,
    pub(crate) len: u32,
    pub(crate) packets: u32,
    pub(crate) rkey: u32,
    imm: u32,
    has_imm: bool,
    pub(crate) op: Op,
    /// Nobody posted it, and nobody is told when it completes.
    pub(crate) dummy: bool,
}

const _: () = assert!(size_of::<Item>() == 48);

impl Item {
    /// The number behind the last one.
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.first + self.packets as u64
    }

    /// Where the payload of a packet lies in the message.
    #[inline]
    pub(crate) const fn offset(&self, seq: u64, mtu: u16) -> u32 {
        (seq - self.first) as u32 * mtu as u32
    }

    /// Bytes in the packet whose payload lies at `offset`.
    #[inline]
    pub(crate) const fn payload_at(&self, offset: u32, mtu: u16) -> u16 {
        let rest = self.len - offset;
        if rest < mtu as u32 { rest as u16 } else { mtu }
    }

    #[inline]
    pub(crate) const fn imm(&self) -> Option<u32> {
        if self.has_imm { Some(self.imm) } else { None }
    }
}

impl SendQueue {
    pub(crate) fn push(&mut self, config: &Config, work: Work) {
        assert!(work.len <= Config::MESSAGE_LEN_MAX, "a message has at most 2^31 bytes");
        assert!(work.op != Op::Read || work.imm.is_none(), "a read carries no immediate data");
        let packets = config.packets(work.len);
        self.items.push_back(Item {
            id: work.id,
            addr: work.addr,
            first: self.tail,
            len: work.len,
            packets,
            rkey: work.rkey,
            imm: work.imm.unwrap_or(0),
            has_imm: work.imm.is_some(),
            op: work.op,
            dummy: false,
        });
        self.messages += 1;
        self.tail += packets as u64;
    }

    /// `count` dummies follow what was posted last.
    #[cold]
    pub(crate) fn push_dummies(&mut self, count: u8) {
        let Some(last) = self.items.back() else { return };
        // Of a READ it is the responses that get lost.
        let op = if last.op == Op::Read { Op::Read } else { Op::Write };
        for _ in 0..count {
            let first = self.tail;
            let nothing = Item {
                id: 0,
                addr: 0,
                first,
                len: 0,
                packets: 1,
                rkey: 0,
                imm: 0,
                has_imm: false,
                op,
                dummy: true,
            };
            self.items.push_back(nothing);
            self.tail += 1;
            self.messages += 1;
        }
    }

    /// The work that a sequence number which was sent and is not acknowledged belongs to.
    #[cold]
    pub(crate) fn owner(&self, seq: u64) -> Option<&Item> {
        let index = self.items.partition_point(|item| item.end() <= seq);
        self.items.get(index)
    }

    /// The number behind the last one before `sent` that belongs to an unfinished work; none if those are all dummies.
    #[cold]
    pub(crate) fn data_end(&self, sent: u64) -> Option<u64> {
        let unfinished = self.items.range(self.done as usize..).take_while(|item| item.first < sent);
        unfinished.filter(|item| !item.dummy).last().map(|item| item.end().min(sent))
    }

    /// The oldest work that is not finished.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&Item> {
        self.items.get(self.done as usize)
    }

    /// The work that is being sent.
    #[inline]
    pub(crate) fn current(&self) -> Option<&Item> {
        self.items.get(self.cursor as usize)
    }

    /// The oldest unfinished READ that starts at or before `seq`.
    pub(crate) fn oldest_read_to(&self, seq: u64) -> Option<&Item> {
        let unfinished = self.items.range(self.done as usize..);
        unfinished.take_while(|item| item.first <= seq).find(|item| item.op == Op::Read)
    }

    /// The current work is sent; the next one follows.
    #[inline]
    pub(crate) const fn next_work(&mut self) {
        self.cursor += 1;
    }

    /// The oldest work is finished.
    #[inline]
    pub(crate) const fn finish_oldest(&mut self) {
        self.done += 1;
    }

    /// Sending continues with the oldest unfinished work.
    #[inline]
    pub(crate) const fn rewind(&mut self) {
        self.cursor = self.done;
    }

    /// Takes the oldest finished work.
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

    /// Takes the oldest work of a queue in which nothing more is finished.
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
