//! What the sender is still to be told of holes: a series of notifications, as many as the holes need, and that
//! as often as control frames are repeated.

use std::hash::Hasher;

use wiremend_units::Time;

use super::fingerprint::Print;
use super::holes::Holes;
use super::{Ack, Hole, Missing, Seq};

/// A series of notifications under way. New holes join it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Notice {
    /// Where the series begins, and where it stands.
    from: u64,
    cursor: u64,
    /// Times that it is still to be said; none: nothing is.
    copies: u8,
    /// Whether it began with a hole that the sender was never told of, and not because time has passed.
    is_new: bool,
}

impl Notice {
    pub(super) fn is_due(&self) -> bool {
        self.copies > 0
    }

    /// The holes from `from` on are to be told of.
    pub(super) fn begin(&mut self, from: u64, copies: u8, is_new: bool) {
        if self.is_due() {
            self.from = self.from.min(from);
            self.cursor = self.cursor.min(from);
        } else {
            (self.from, self.cursor, self.is_new) = (from, from, false);
        }
        self.copies = self.copies.max(copies);
        self.is_new |= is_new;
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Print<H>) {
        if self.is_due() {
            print.add((self.from, self.cursor, self.copies, self.is_new));
        }
    }

    /// The next notification, and whether its series says something new; nothing if all holes are filled meanwhile.
    pub(super) fn poll<const BITS: u32>(
        &mut self,
        now: Time,
        holes: &mut Holes,
        seen: u64,
        ack: Ack,
    ) -> Option<(Missing, bool)> {
        if !self.is_due() {
            return None;
        }
        let Some((missing, upto)) = state::<BITS>(now, holes, self.cursor, seen, ack) else {
            *self = Self::default();
            return None;
        };
        let is_new = self.is_new;
        self.cursor = upto;
        if upto == seen {
            self.copies -= 1;
            self.cursor = self.from;
        }
        Some((missing, is_new))
    }
}

/// What is missing from `from` on, as much as fits, and the place up to which it is said.
pub(super) fn state<const BITS: u32>(
    now: Time,
    holes: &mut Holes,
    from: u64,
    seen: u64,
    ack: Ack,
) -> Option<(Missing, u64)> {
    let seq = |place| Seq::<BITS>::of(place).get();
    let mut missing =
        Missing { ack, upto: seq(seen), holes: [Hole::default(); Missing::HOLES_MAX], hole_count: 0 };
    let mut upto = seen;
    let mut last_end = None;
    for run in holes.from(from) {
        let first = run.first.max(from);
        let count = usize::from(missing.hole_count);
        let joins = last_end == Some(first);
        let len_before = if joins { missing.holes[count - 1].len } else { 0 };
        if !joins && count == Missing::HOLES_MAX || len_before == u16::MAX {
            upto = first;
            break;
        }
        run.tell(now);
        let len = (run.end - first).min(u64::from(u16::MAX - len_before)) as u16;
        if joins {
            missing.holes[count - 1].len += len;
        } else {
            missing.holes[count] = Hole { first: seq(first), len };
            missing.hole_count += 1;
        }
        let end = first + u64::from(len);
        if end < run.end {
            upto = end;
            break;
        }
        last_end = Some(end);
    }
    missing.upto = seq(upto);
    (missing.hole_count > 0).then_some((missing, upto))
}
