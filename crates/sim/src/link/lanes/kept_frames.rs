//! Frames that a port keeps while its link has failed, for other paths (SQR).

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{LaneId, NodeId, Time};

use super::Lanes;
use crate::frame::{Body, FrameId};

/// The kept frames of a partition.
#[derive(Default)]
pub(super) struct KeptFrames {
    by_lane: BTreeMap<LaneId, KeptOfPort>,
    counters: KeptCounters,
}

/// Counters of kept frames.
#[derive(Clone, Copy, Default)]
pub(crate) struct KeptCounters {
    /// Frames kept.
    pub(crate) kept: u64,
    /// Of these the ones sent over another path.
    pub(crate) sent: u64,
    /// Originals that were discarded at the other end, where they would have arrived.
    pub(crate) discarded: u64,
}

/// The kept frames of a port.
#[derive(Default)]
struct KeptOfPort {
    /// Each with the time at which it may be sent.
    frames: VecDeque<(Time, FrameId)>,
    bytes: u64,
    /// The earliest time for the next one: they leave the memory at the rate of the link.
    next: Time,
}

impl Lanes {
    /// Keeps a frame that a failed link loses, if its port is that of a switch with room for it. Frames of protected
    /// links have no other path.
    #[cold]
    pub(super) fn keep_failed(&mut self, start: Time, lane: LaneId, at: Time, id: FrameId) -> bool {
        let resend = self.failures.as_ref().and_then(|failures| failures.resend(lane.link(), start, at));
        let Some((due, bytes_max)) = resend else { return false };
        let (node, _) = self.receiver(lane.reverse());
        let frame = self.frames.get(id);
        if frame.has_header || matches!(frame.body, Body::Link) || self.sources.is_host(node) {
            return false;
        }
        let len = frame.len;
        let cost = self.ports[lane.index()].serialize(len, &self.rates, lane);
        let kept = self.kept.by_lane.entry(lane).or_default();
        if kept.bytes + u64::from(len) > bytes_max {
            return false;
        }
        let due = due.max(kept.next);
        kept.next = due + cost;
        kept.bytes += u64::from(len);
        kept.frames.push_back((due, self.frames.duplicate(id)));
        self.kept.counters.kept += 1;
        self.queue.arm_by(self.sources.switch_timer_of(node), due);
        true
    }

    /// Removes a frame that a switch may send over another path now, with the lane that has lost it. Without one, the
    /// switch's timer is set for the next.
    pub(crate) fn pop_kept(&mut self, now: Time, node: NodeId) -> Option<(LaneId, FrameId)> {
        let rings = &self.rings;
        let of_node = |lane: LaneId| rings[lane.reverse().index()].to == node;
        let ports = self.kept.by_lane.iter_mut().filter(|(lane, _)| of_node(**lane));
        let first = ports.filter_map(|(lane, kept)| Some((kept.frames.front()?.0, *lane, kept)));
        let (due, lane, kept) = first.min_by_key(|(due, lane, _)| (*due, *lane))?;
        if due > now {
            self.queue.arm_by(self.sources.switch_timer_of(node), due);
            return None;
        }
        let (_, id) = kept.frames.pop_front()?;
        let frame = self.frames.get_mut(id);
        kept.bytes -= u64::from(frame.len);
        // The switch forwards it again, as if it had never left.
        frame.ttl += 1;
        self.kept.counters.sent += 1;
        Some((lane, id))
    }

    /// Returns whether any port has ever kept a frame.
    #[inline]
    pub(crate) fn has_kept(&self) -> bool {
        !self.kept.by_lane.is_empty()
    }

    pub(crate) fn kept_counters(&self) -> KeptCounters {
        self.kept.counters
    }

    /// Discards the original of a kept frame.
    #[cold]
    pub(crate) fn discard_kept(&mut self, id: FrameId) {
        self.headers.detach(id);
        self.frames.remove(id);
        self.kept.counters.discarded += 1;
    }
}
