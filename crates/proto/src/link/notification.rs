//! Notifications of missing frames: a series of as many as the holes need, sent `control_copies` times.

use std::hash::Hasher;

use wiremend_units::Time;

use super::fingerprint::Fingerprint;
use super::holes::Holes;
use super::{Ack, Hole, Missing, Seq};

/// A series of notifications in progress. New holes join it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct NotificationSeries {
    /// First position of the series, and of its next notification.
    from: u64,
    cursor: u64,
    /// Times that the series is still to be sent.
    copies: u8,
    /// Whether it contains a hole of which the sender was not notified before.
    is_new: bool,
}

impl NotificationSeries {
    pub(super) fn is_due(&self) -> bool {
        self.copies > 0
    }

    /// Adds the holes from `from` on.
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

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Fingerprint<H>) {
        if self.is_due() {
            print.add((self.from, self.cursor, self.copies, self.is_new));
        }
    }

    /// Returns the next notification and whether its series is new; `None` if all holes are filled.
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
        let Some((missing, upto)) = missing_from::<BITS>(now, holes, self.cursor, seen, ack) else {
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

/// Returns the missing positions from `from` on, as many as fit, and the position up to which they are
/// complete.
pub(super) fn missing_from<const BITS: u32>(
    now: Time,
    holes: &mut Holes,
    from: u64,
    seen: u64,
    ack: Ack,
) -> Option<(Missing, u64)> {
    let seq = |position| Seq::<BITS>::from_position(position).get();
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
        run.set_notified(now);
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
