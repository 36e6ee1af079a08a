//! Lanes of protected links whose control frames arrive without events of their own.
//!
//! A dummy or an ACK changes nothing but the port that it arrives at. So the receiving port takes it when
//! something else happens at the port, or at the end of a window. Only stored frames have arrival events.

use wiremend_units::{LaneId, Time};
use wiremend_wire::MIN_FRAME_BYTES;

use super::Lanes;
use crate::event::EventSource;
use crate::frame::{Carried, Content, FrameId, PackedHeader};
use crate::memory::prefetch;

impl Lanes {
    /// Prefetches both ends of the link of a port whose control frames have no events.
    #[inline]
    pub(crate) fn prefetch_lazy_port(&self, lane: LaneId) {
        prefetch(&self.ports[lane.index()]);
        prefetch(&self.rings[lane.index()]);
        prefetch(&self.rings[lane.reverse().index()]);
    }

    /// Prefetches where the next frame of a lane and those of the opposite one are in the pool.
    #[inline]
    pub(crate) fn prefetch_entries(&self, lane: LaneId) {
        self.rings[lane.index()].prefetch_back(&self.pool);
        self.rings[lane.reverse().index()].prefetch_entries(&self.pool);
    }

    /// Prefetches the next stored frame of a lane.
    #[inline]
    pub(crate) fn prefetch_stored(&self, lane: LaneId) {
        if let Some((_, frame)) = self.rings[lane.index()].next_stored(&self.pool) {
            self.frames.prefetch(frame);
            self.headers.prefetch(frame);
        }
    }

    /// Makes the receiving port responsible for control frames.
    pub(crate) fn receive_lazily(&mut self, lane: LaneId) {
        self.rings[lane.index()].is_lazy = true;
    }

    /// Returns whether control frames on a lane have no events.
    #[inline]
    pub(crate) fn is_lazy(&self, lane: LaneId) -> bool {
        self.rings[lane.index()].is_lazy
    }

    /// Returns the next frame on a lane and when it arrives, if it is a control frame.
    #[inline]
    pub(crate) fn next_control(&self, lane: LaneId) -> Option<(Time, PackedHeader)> {
        let (at, frame) = self.rings[lane.index()].front(&self.pool)?;
        if let Content::Control(header) = frame.content() { Some((at, header)) } else { None }
    }

    /// Removes the next frame on a lane, which is a control frame.
    #[inline]
    pub(crate) fn remove_control(&mut self, lane: LaneId) {
        let ring = &mut self.rings[lane.index()];
        ring.remove_front();
        ring.frames += 1;
        ring.bytes += u64::from(MIN_FRAME_BYTES);
        self.controls -= 1;
        self.lazy_arrivals += 1;
    }

    /// Removes the stored frame that has just arrived over a lane, after the control frames before it. `None` if
    /// the event was that of a control frame.
    pub(crate) fn take_lazy_arrival(&mut self, lane: LaneId, now: Time) -> Option<FrameId> {
        let ring = &mut self.rings[lane.index()];
        let (at, frame) = ring.front(&self.pool)?;
        let Content::Stored(id) = frame.content() else { return None };
        if at != now {
            return None;
        }
        ring.remove_front();
        ring.stored -= 1;
        ring.frames += 1;
        ring.bytes += u64::from(self.frames.get(id).len);
        Some(id)
    }

    /// Schedules the arrival of the next stored frame, and a look at the control frames before it.
    pub(crate) fn arm_lazy(&mut self, lane: LaneId) {
        let ring = &self.rings[lane.index()];
        if let Some((at, frame)) = ring.next_stored(&self.pool) {
            self.frames.prefetch(frame);
            self.headers.prefetch(frame);
            self.queue.arm_by(EventSource(lane.0), at);
        }
        self.arm_next_control(lane);
    }

    /// Schedules a look at the next control frame on a lane.
    pub(crate) fn arm_next_control(&mut self, lane: LaneId) {
        if let Some((at, _)) = self.next_control(lane) {
            let node = self.rings[lane.index()].to;
            self.queue.arm_by(self.sources.switch_timer_of(node), at.max(self.queue.window_end()));
        }
    }

    /// Puts a control frame on a lane that has no events for it.
    #[inline]
    pub(super) fn carry_control(&mut self, lane: LaneId, at: Time, header: PackedHeader) {
        let ring = &mut self.rings[lane.index()];
        if ring.append(&mut self.pool, at, Carried::control(header)) {
            self.queue.arm_by(self.sources.switch_timer_of(ring.to), at);
        }
    }

    /// Puts a stored frame on a lane whose control frames have no events.
    #[inline(never)]
    pub(super) fn carry_stored(&mut self, lane: LaneId, at: Time, frame: FrameId) {
        let ring = &mut self.rings[lane.index()];
        ring.append(&mut self.pool, at, Carried::stored(frame));
        ring.stored += 1;
        if ring.stored == 1 {
            self.queue.arm_by(EventSource(lane.0), at);
        }
    }
}
