//! Lanes of protected links whose control frames arrive without events of their own.
//!
//! A dummy or an ACK changes nothing but the port that it arrives at. So the receiving port takes it when
//! something else happens at the port, or at the end of a window. Only stored frames have arrival events.
//! Control frames have a ring of their own: their order among the stored frames follows from the times.

use wiremend_units::{LaneId, Span, Time};
use wiremend_wire::MIN_FRAME_BYTES;

use super::{Lanes, Outbox, PoolRing, Port, RingPool};
use crate::event::{EventQueue, EventSource};
use crate::frame::{FrameId, PackedHeader};
use crate::memory::prefetch;

/// Control frames and stored frames of a lazy lane that are prefetched: about those of a window.
const CONTROLS_AHEAD: u32 = 32;
const STORED_AHEAD: u32 = 24;

/// What the two ends of a link need to exchange control frames, seen from one end.
pub(crate) struct ControlExchange<'a> {
    port: &'a mut Port,
    arriving: &'a mut PoolRing,
    leaving: Leaving<'a>,
    pool: &'a mut RingPool<PackedHeader>,
    queue: &'a mut EventQueue,
    /// Source of the event that looks at the control frames of the other end.
    far_timer: EventSource,
    /// Control frames in flight.
    controls: &'a mut u64,
    wire_time: Span,
}

/// Where control frames go.
enum Leaving<'a> {
    Ring(&'a mut PoolRing),
    /// The lane ends in another partition.
    Outbox(LaneId, &'a mut Outbox),
}

impl ControlExchange<'_> {
    /// Returns when the wire becomes free.
    #[inline]
    pub(crate) fn busy_until(&self) -> Time {
        self.port.busy_until
    }

    /// Returns the control frame that arrives next, and when.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<(Time, PackedHeader)> {
        self.arriving.front(self.pool)
    }

    /// Removes that frame. The caller counts it.
    #[inline]
    pub(crate) fn remove_arrival(&mut self) {
        self.arriving.remove_front();
    }

    /// Sends a control frame over the free wire, unless the impairments of the lane must decide its fate. Returns
    /// whether it was sent.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, header: PackedHeader) -> bool {
        if !self.port.certainly_crosses(MIN_FRAME_BYTES as u16) {
            return false;
        }
        let done = now + self.wire_time;
        self.port.busy_until = done;
        let at = done + self.port.delay;
        match &mut self.leaving {
            Leaving::Ring(ring) => {
                let is_first = ring.is_empty();
                ring.append(self.pool, at, header);
                *self.controls += 1;
                if is_first {
                    self.queue.arm_by(self.far_timer, at);
                }
            }
            Leaving::Outbox(lane, outbox) => outbox.push_control(*lane, at, header),
        }
        true
    }
}

impl Lanes {
    /// Returns what the end that sends over `lane` needs to exchange control frames. `None` if the other end has
    /// events for them.
    #[expect(clippy::inline_always, reason = "the fields stay in registers instead of going through memory")]
    #[inline(always)]
    pub(crate) fn control_exchange(&mut self, lane: LaneId) -> Option<ControlExchange<'_>> {
        let ring = &self.rings[lane.index()];
        if !ring.is_lazy {
            return None;
        }
        let far_timer = self.sources.switch_timer_of(ring.to);
        let lanes = [lane.index(), lane.reverse().index()];
        let [leaving, arriving] = self.control_rings.get_disjoint_mut(lanes).expect("two lanes of a link");
        let port = &mut self.ports[lane.index()];
        let leaving = if port.is_remote() {
            Leaving::Outbox(lane, &mut self.outbox[usize::from(port.to_partition)])
        } else {
            Leaving::Ring(leaving)
        };
        let wire_time = port.serialize(MIN_FRAME_BYTES as u16, &self.rates, lane);
        Some(ControlExchange {
            port,
            arriving,
            leaving,
            pool: &mut self.control_pool,
            queue: &mut self.queue,
            far_timer,
            controls: &mut self.controls,
            wire_time,
        })
    }

    /// Prefetches both ends of the link of a port whose control frames have no events.
    #[inline]
    pub(crate) fn prefetch_lazy_port(&self, lane: LaneId) {
        prefetch(&self.ports[lane.index()]);
        prefetch(&self.rings[lane.index()]);
        prefetch(&self.rings[lane.reverse().index()]);
        prefetch(&self.control_rings[lane.index()]);
    }

    /// Prefetches where the next frames of a lane and those of the opposite one are in the pools.
    #[inline]
    pub(crate) fn prefetch_entries(&self, lane: LaneId) {
        let back = lane.reverse().index();
        self.rings[lane.index()].stored().prefetch_end(&self.pool);
        self.rings[back].stored().prefetch_entries(&self.pool, STORED_AHEAD);
        self.control_rings[lane.index()].prefetch_end(&self.control_pool);
        self.control_rings[back].prefetch_entries(&self.control_pool, CONTROLS_AHEAD);
    }

    /// Prefetches the next two stored frames of a lane.
    #[inline]
    pub(crate) fn prefetch_stored(&self, lane: LaneId) {
        self.rings[lane.index()].stored().prefetch_values(&self.pool, 2, |frame| {
            self.frames.prefetch(frame);
            self.headers.prefetch(frame);
        });
    }

    /// Makes the receiving port responsible for control frames.
    pub(crate) fn receive_lazily(&mut self, lane: LaneId) {
        self.rings[lane.index()].is_lazy = true;
        self.control_rings.resize(self.rings.len(), PoolRing::default());
    }

    /// Prepares a lane that ends in another partition, where the receiving port is responsible for control frames.
    pub(crate) fn send_lazily(&mut self, lane: LaneId) {
        debug_assert!(self.ports[lane.index()].is_remote(), "the lane ends in another partition");
        self.receive_lazily(lane);
    }

    /// Takes over a control frame from another partition.
    pub(super) fn receive_control(&mut self, lane: LaneId, at: Time, header: PackedHeader) {
        let far_timer = self.sources.switch_timer_of(self.rings[lane.index()].to);
        let ring = &mut self.control_rings[lane.index()];
        let is_first = ring.is_empty();
        ring.append(&mut self.control_pool, at, header);
        self.controls += 1;
        if is_first {
            self.queue.arm_by(far_timer, at);
        }
    }

    /// Returns whether control frames on a lane have no events.
    #[inline]
    pub(crate) fn is_lazy(&self, lane: LaneId) -> bool {
        self.rings[lane.index()].is_lazy
    }

    /// Returns the next control frame on a lane, and when it arrives.
    #[inline]
    pub(crate) fn next_control(&self, lane: LaneId) -> Option<(Time, PackedHeader)> {
        self.control_rings[lane.index()].front(&self.control_pool)
    }

    /// Removes the next control frame on a lane. The caller counts it.
    #[inline]
    pub(crate) fn remove_control(&mut self, lane: LaneId) {
        self.control_rings[lane.index()].remove_front();
    }

    /// Counts control frames that were removed from a lane.
    #[inline]
    pub(crate) fn count_controls(&mut self, lane: LaneId, count: u64) {
        let ring = &mut self.rings[lane.index()];
        ring.frames += count;
        ring.bytes += count * u64::from(MIN_FRAME_BYTES);
        self.controls -= count;
        self.lazy_arrivals += count;
    }

    /// Removes the stored frame that has just arrived over a lane. `None` if the event was that of a control frame.
    pub(crate) fn take_lazy_arrival(&mut self, lane: LaneId, now: Time) -> Option<FrameId> {
        let ring = &mut self.rings[lane.index()];
        let (_, id) = ring.stored().front(&self.pool).filter(|(at, _)| *at == now)?;
        ring.stored_mut().remove_front();
        ring.frames += 1;
        ring.bytes += u64::from(self.frames.get(id).len);
        Some(id)
    }

    /// Schedules the arrival of the next stored frame.
    pub(crate) fn arm_lazy(&mut self, lane: LaneId) {
        let stored = *self.rings[lane.index()].stored();
        if let Some((at, _)) = stored.front(&self.pool) {
            stored.prefetch_values(&self.pool, 2, |frame| {
                self.frames.prefetch(frame);
                self.headers.prefetch(frame);
            });
            self.queue.arm_by(EventSource(lane.0), at);
        }
    }

    /// Puts a stored frame on a lane whose control frames have no events.
    #[inline(never)]
    pub(super) fn carry_stored(&mut self, lane: LaneId, at: Time, frame: FrameId) {
        let ring = self.rings[lane.index()].stored_mut();
        let is_first = ring.is_empty();
        ring.append(&mut self.pool, at, frame);
        if is_first {
            self.queue.arm_by(EventSource(lane.0), at);
        }
    }
}
