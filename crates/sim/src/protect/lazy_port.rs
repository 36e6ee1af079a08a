//! Lazy ports of link-local retransmission at lossy switches: most of what happens at such a port has
//! no event.
//!
//! Between two looks at a port nothing changes it but its own departures, which follow from the link end, its
//! queues and the wire, and dummies and ACKs that arrive, which affect no other port. So they need no events.
//! Whoever looks at a port first handles what comes before the event being handled, at its time and in the
//! order that events would have had. The last event of a switch in a window handles the rest of the window,
//! before a departing frame can arrive anywhere.

use wiremend_proto::link::Endpoint;
use wiremend_units::{LaneId, SwitchId, Time};

use super::end_context::{EndContext, Shared};
use super::link_end::EndState;
use super::{LinkEnd, LinkProtocol, ProtectedId, ProtectedPort, Protection, retransmission};
use crate::event::EventSource;
use crate::frame::{FrameId, PackedHeader};
use crate::link::Lanes;
use crate::memory::{prefetch, prefetch_address, prefetch_bytes};

/// Returns whether an end may be lazy. In order of time it must not. Timers that are set lazily must not be due in
/// the same window: frames that an end gives up are delivered to other ports. Nearly all timers are longer than
/// a round trip, and a round trip is longer than a window.
pub(super) fn may_be_lazy(lanes: &Lanes, protocol: &LinkProtocol) -> bool {
    let LinkProtocol::Link(end) = protocol else { return false };
    let window = lanes.queue.window();
    let is_long =
        Endpoint::<FrameId>::TIMEOUT_MIN > window && end.config().give_up.is_none_or(|age| age > window);
    lanes.queue.is_by_node() && is_long
}

impl Protection {
    /// Handles what comes before the event being handled at a lazy port.
    #[inline]
    pub(crate) fn catch_up(&mut self, lanes: &mut Lanes, id: ProtectedId) {
        let port = &mut self.ports[id.0 as usize];
        if port.quiet_until <= lanes.queue.now() {
            port.catch_up(lanes, &mut self.shared, id);
        }
    }

    #[inline]
    pub(crate) fn has_lazy_ports(&self) -> bool {
        !self.lazy.is_empty()
    }

    /// Prefetches what the lazy ports of a switch need when its turn is `ahead` turns away. Each step uses what the
    /// one before has brought.
    pub(crate) fn prefetch(&self, lanes: &Lanes, switch: SwitchId, ahead: usize) {
        for id in self.lazy.get(switch.index()).into_iter().flatten() {
            let port = self.port(*id);
            match ahead {
                4 => port.prefetch_state(),
                3 => {
                    port.egress.prefetch();
                    lanes.prefetch_lazy_port(port.lane());
                }
                2 => {
                    port.prefetch_end();
                    port.egress.prefetch_queue();
                    lanes.prefetch_entries(port.lane());
                }
                _ => {
                    port.prefetch_slots();
                    lanes.prefetch_stored(port.lane().reverse());
                }
            }
        }
    }

    /// Handles the rest of a window at all ports of a switch. What is later gets an event.
    pub(crate) fn end_window(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        let Some(ports) = self.lazy.get(switch.index()).filter(|ports| !ports.is_empty()) else { return };
        let window_end = lanes.queue.window_end();
        if now < window_end {
            lanes.queue.arm_by(lanes.sources.switch_timer(switch), window_end);
            return;
        }
        for id in ports {
            let port = &mut self.ports[id.0 as usize];
            port.catch_up(lanes, &mut self.shared, *id);
            port.leave_window(lanes, now);
        }
    }

    /// Sends the next frame if the wire is free, and processes the decisions of the link end. The end of the window
    /// schedules the next look.
    #[inline]
    pub(super) fn send_lazily(&mut self, lanes: &mut Lanes, now: Time, id: ProtectedId, switch: SwitchId) {
        let port = &mut self.ports[id.0 as usize];
        port.step(lanes, &mut self.shared, now, id);
        if port.is_waiting {
            port.quiet_until = port.quiet_until.min(lanes.busy_until(port.lane()));
        }
        if port.egress.may_be_paused() {
            port.arm(lanes, now, Time::MAX);
        }
        lanes.queue.arm_by(lanes.sources.switch_timer(switch), lanes.queue.window_end());
    }
}

impl ProtectedPort {
    /// Returns the lane that the port sends over.
    #[inline]
    fn lane(&self) -> LaneId {
        self.link_end.lane()
    }

    #[inline]
    fn prefetch_state(&self) {
        prefetch(&self.quiet_until);
        prefetch_bytes(&self.link_end.state, 0..size_of::<EndState>());
    }

    #[inline]
    fn prefetch_end(&self) {
        if let LinkProtocol::Link(end) = &self.link_end.protocol {
            for bytes in Endpoint::<FrameId>::HOT_BYTES {
                prefetch_bytes(end, bytes);
            }
        }
    }

    #[inline]
    fn prefetch_slots(&self) {
        if let LinkProtocol::Link(end) = &self.link_end.protocol {
            end.next_addresses().for_each(prefetch_address);
        }
    }

    fn catch_up(&mut self, lanes: &mut Lanes, shared: &mut Shared, id: ProtectedId) {
        let (lane, now) = (self.lane(), lanes.queue.now());
        let (leaving, arriving) = (lanes.sources.port_free(lane), EventSource(lane.reverse().0));
        let delivered = shared.delivered.len();
        // The end of a pause that a step meets; others have events.
        let mut resumed = Time::MAX;
        let mut arrived = 0;
        loop {
            let control = lanes.next_control(lane.reverse());
            let free_at = if self.is_waiting { lanes.busy_until(lane) } else { Time::MAX };
            let (leaves, arrives) = (free_at.min(resumed), control.map_or(Time::MAX, |(at, _)| at));
            let is_arrival = arrives < leaves
                || arrives == leaves && lanes.queue.is_before((arrives, arriving), (leaves, leaving));
            let (at, source) = if is_arrival { (arrives, arriving) } else { (leaves, leaving) };
            // At the end of a window a control frame may have an event.
            let is_current = || is_arrival && lanes.queue.is_current(source);
            if at > now || at == now && !is_current() && !lanes.queue.is_before_current(source, at) {
                // Frames that are sent to the port from now on arrive after the window.
                self.quiet_until = at.min(lanes.queue.window_end());
                break;
            }
            if is_arrival && let Some((_, header)) = control {
                lanes.remove_control(lane.reverse());
                arrived += 1;
                self.link_end.on_control(at, header);
            }
            self.step(lanes, shared, at, id);
            resumed = self.resumes(at);
        }
        lanes.count_controls(lane.reverse(), arrived);
        debug_assert!(shared.delivered.len() == delivered, "a lazy port delivers nothing");
        debug_assert!(
            {
                let due = self.link_end.next_due(now);
                due > lanes.queue.window_end() || due >= self.armed
            },
            "timers of a window have events"
        );
    }

    /// Gives what happens after a window an event.
    fn leave_window(&mut self, lanes: &mut Lanes, now: Time) {
        let lane = self.lane();
        if std::mem::take(&mut self.is_waiting) {
            lanes.queue.arm_by(lanes.sources.port_free(lane), lanes.busy_until(lane));
        }
        self.arm(lanes, now, Time::MAX);
        match lanes.next_control(lane.reverse()) {
            // It arrives at this instant and comes after this event.
            Some((at, _)) if at == now => lanes.queue.arm_by(EventSource(lane.reverse().0), at),
            Some((at, _)) => {
                lanes.queue.arm_by(lanes.sources.switch_timer_of(lanes.receiver(lane.reverse()).0), at);
            }
            None => {}
        }
    }

    /// Sends the next frame if the wire is free, and processes the decisions of the link end.
    #[expect(clippy::inline_always, reason = "a call costs as much as a dummy")]
    #[inline(always)]
    fn step(&mut self, lanes: &mut Lanes, shared: &mut Shared, now: Time, port: ProtectedId) {
        let Self { egress, link_end: LinkEnd { protocol, state }, .. } = self;
        let LinkProtocol::Link(end) = protocol else { return };
        let lane = state.lane;
        let mut free_at = lanes.busy_until(lane);
        if free_at <= now && (egress.is_occupied() || end.has_pending()) {
            if !egress.is_occupied()
                && !end.is_urgent()
                && let Some(header) = end.poll_control()
            {
                free_at = retransmission::send_control(lanes, state, now, PackedHeader::control(header));
            } else {
                let mut cx = EndContext { now, port, lanes, egress, state, shared, head: None };
                retransmission::send(end, &mut cx);
                free_at = lanes.busy_until(lane);
            }
        }
        if end.has_disposals() {
            let mut cx = EndContext { now, port, lanes, egress, state, shared, head: None };
            retransmission::dispose(end, &mut cx);
        }
        self.is_waiting = free_at > now && (egress.is_occupied() || end.has_pending());
    }
}
