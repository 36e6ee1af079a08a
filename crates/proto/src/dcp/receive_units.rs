//! The units that a receiver counts: how many packets of each arrived, and the contents of its last packet.

use std::collections::VecDeque;

use super::sums::{PowerSums, SumsVerdict, hash_sum};
use crate::engine::Op;

/// Units from the oldest incomplete one (the head) on.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceiveUnits {
    units: VecDeque<ReceiveUnit>,
    /// Number of complete units, without wrapping: the number of the head (eMSN).
    pub(super) expected: u64,
    /// First packet of the head.
    pub(super) first: u64,
    /// Complete messages.
    pub(super) messages: u64,
    /// Bytes of the head's message in earlier units.
    message_len: u64,
}

/// An incomplete unit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReceiveUnit {
    pub(super) sums: PowerSums,
    pub(super) end: Option<UnitEnd>,
    /// Packets that arrived trimmed in this round.
    pub(super) trimmed: u32,
    pub(super) round: u8,
    /// Whether any packet of it arrived.
    started: bool,
    /// Whether missing packets were reported in this round.
    pub(super) reported: bool,
    /// Whether the sender was asked for a new round.
    pub(super) recount_requested: bool,
}

/// Contents of the last packet of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UnitEnd {
    pub(super) last: u64,
    pub(super) payload: u16,
    pub(super) op: Op,
    pub(super) imm: Option<u32>,
    /// Whether it is also the last packet of the message.
    pub(super) ends_message: bool,
}

/// Bytes of a counter for a unit: the count, the last number (24 bits each) and the round.
pub(super) const COUNTER_BYTES: usize = 3 + 3 + 1;
/// Additional bytes of the sums.
pub(super) const SUMS_BYTES: usize = size_of::<PowerSums>() - size_of::<u32>();

/// Comparison of a packet's round with that of its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RoundStatus {
    Current,
    Stale,
}

/// A complete message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CompletedMessage {
    pub(super) op: Op,
    pub(super) len: u32,
    pub(super) imm: Option<u32>,
}

impl ReceiveUnits {
    /// Returns the unit with this number, which is at most `units_max` after the head.
    pub(super) fn unit(&mut self, number: u64) -> &mut ReceiveUnit {
        let index = (number - self.expected) as usize;
        if index >= self.units.len() {
            self.units.resize_with(index + 1, ReceiveUnit::default);
        }
        &mut self.units[index]
    }

    /// Addresses that the next packets need, for hosts that prefetch.
    #[inline]
    pub(super) fn next_addresses(&self) -> impl Iterator<Item = *const u8> {
        let units = [self.units.front(), self.units.back()];
        units.into_iter().flatten().map(|unit| std::ptr::from_ref(unit).cast())
    }

    /// Returns the head, if any packet of it arrived.
    pub(super) fn head(&mut self) -> Option<&mut ReceiveUnit> {
        self.units.front_mut().filter(|unit| unit.started)
    }

    /// Evaluates the sums for the packets of the head up to `last`.
    pub(super) fn evaluate(&self, last: u64) -> SumsVerdict {
        let packets = (last + 1).saturating_sub(self.first) as u32;
        let sums = self.units.front().map_or_else(PowerSums::default, |unit| unit.sums);
        // Hashing costs a step per packet, so units that are far from complete are not evaluated.
        if i64::from(packets).abs_diff(i64::from(sums.count)) > 2 {
            return SumsVerdict::Unknown;
        }
        sums.evaluate(self.first, packets, hash_sum(self.first, packets))
    }

    /// Packets of the head that arrived, and packets that it has, if its end is known.
    pub(super) fn head_count(&self) -> Option<(u32, u32)> {
        let head = self.units.front()?;
        let end = head.end.filter(|end| end.last >= self.first)?;
        Some((head.sums.count, (end.last + 1 - self.first) as u32))
    }

    /// Removes the complete head. Returns the message that it ends, if any.
    pub(super) fn complete_head(&mut self, mtu: u16) -> Option<CompletedMessage> {
        let end = self.units.pop_front().and_then(|unit| unit.end)?;
        let full = end.last - self.first;
        self.message_len += full * mtu as u64 + end.payload as u64;
        self.first = end.last + 1;
        self.expected += 1;
        if !end.ends_message {
            return None;
        }
        self.messages += 1;
        let len = std::mem::take(&mut self.message_len) as u32;
        Some(CompletedMessage { op: end.op, len, imm: end.imm })
    }
}

impl ReceiveUnit {
    /// Handles a packet of this round. A newer round restarts the count (DCP: sRetryNo); an older one is
    /// stale.
    pub(super) fn enter_round(&mut self, round: u8) -> RoundStatus {
        let distance = round.wrapping_sub(self.round) as i8;
        if !self.started || distance > 0 {
            *self = Self { round, started: true, end: self.end, ..Self::default() };
        } else if distance < 0 {
            return RoundStatus::Stale;
        }
        RoundStatus::Current
    }
}
