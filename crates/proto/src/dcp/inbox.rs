//! The units that a receiver counts: how many packets of each came, and what its last one said.

use std::collections::VecDeque;

use super::sums::{Sums, Verdict, hash_sum};
use crate::engine::Op;

/// Units from the oldest incomplete one on.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    units: VecDeque<Unit>,
    /// Units complete, counted from 0 without end: the number of the head (eMSN).
    pub(super) expected: u64,
    /// The first packet of the head.
    pub(super) first: u64,
    /// Messages complete.
    pub(super) messages: u64,
    /// Bytes of the head's message that came in units before it.
    message_len: u64,
}

/// A unit under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unit {
    pub(super) sums: Sums,
    pub(super) end: Option<End>,
    /// Its packets that came cut in this round.
    pub(super) cut: u32,
    pub(super) round: u8,
    /// Something of it came.
    started: bool,
    /// The sender was told of what is missing in this round.
    pub(super) told: bool,
    /// The sender was asked to end this round.
    pub(super) given_up: bool,
}

/// What the last packet of a unit says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub(super) last: u64,
    pub(super) payload: u16,
    pub(super) op: Op,
    pub(super) imm: Option<u32>,
    /// The message ends with it.
    pub(super) closes: bool,
}

/// What a bare counter keeps of a unit: the count, the last number (24 bits each) and the round.
pub(super) const COUNTER_BYTES: usize = 3 + 3 + 1;
/// What the sums keep beside it.
pub(super) const SUMS_BYTES: usize = size_of::<Sums>() - size_of::<u32>();

/// How a packet's round compares with that of its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Round {
    Current,
    Over,
}

/// A message that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Closed {
    pub(super) op: Op,
    pub(super) len: u32,
    pub(super) imm: Option<u32>,
}

impl Inbox {
    /// The unit with this number, which lies at most `units_max` from the head.
    pub(super) fn unit(&mut self, number: u64) -> &mut Unit {
        let index = (number - self.expected) as usize;
        if index >= self.units.len() {
            self.units.resize_with(index + 1, Unit::default);
        }
        &mut self.units[index]
    }

    /// The head, if anything of it came.
    pub(super) fn head(&mut self) -> Option<&mut Unit> {
        self.units.front_mut().filter(|unit| unit.started)
    }

    /// Packets of the head up to `last`, and the judgement of its sums on them.
    pub(super) fn judge(&self, last: u64) -> Verdict {
        let packets = (last + 1).saturating_sub(self.first) as u32;
        let sums = self.units.front().map_or_else(Sums::default, |unit| unit.sums);
        // Hashing costs a step for each packet, so what is far from complete is not asked.
        if i64::from(packets).abs_diff(i64::from(sums.count)) > 2 {
            return Verdict::Unknown;
        }
        sums.judge(self.first, packets, hash_sum(self.first, packets))
    }

    /// Packets of the head that came, and packets it has, if its end is known.
    pub(super) fn head_count(&self) -> Option<(u32, u32)> {
        let head = self.units.front()?;
        let end = head.end.filter(|end| end.last >= self.first)?;
        Some((head.sums.count, (end.last + 1 - self.first) as u32))
    }

    /// The head is complete: the next unit follows. Gives the message that it closes.
    pub(super) fn close(&mut self, mtu: u16) -> Option<Closed> {
        let end = self.units.pop_front().and_then(|unit| unit.end)?;
        let full = end.last - self.first;
        self.message_len += full * mtu as u64 + end.payload as u64;
        self.first = end.last + 1;
        self.expected += 1;
        if !end.closes {
            return None;
        }
        self.messages += 1;
        let len = std::mem::take(&mut self.message_len) as u32;
        Some(Closed { op: end.op, len, imm: end.imm })
    }
}

impl Unit {
    /// A packet of this round came. A newer round starts the count again (DCP: sRetryNo), an older one is over.
    pub(super) fn enter(&mut self, round: u8) -> Round {
        let distance = round.wrapping_sub(self.round) as i8;
        if !self.started || distance > 0 {
            *self = Self { round, started: true, end: self.end, ..Self::default() };
        } else if distance < 0 {
            return Round::Over;
        }
        Round::Current
    }
}
