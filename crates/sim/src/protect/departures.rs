//! Departures of link-local retransmission at lossy switches, computed when a switch looks at the port.
//!
//! Between two looks at a port nothing changes but its own departures: what is next follows from the link end,
//! its queues and the wire. So they need no events. Whoever looks at a port first computes the departures that
//! come before the event being handled, at their times and in the order that their events would have had. The
//! last event of a switch in a window computes the rest of the window, before the frames can arrive anywhere.

use wiremend_units::{SwitchId, Time};

use super::end_context::{EndContext, Shared};
use super::{LinkEnd, LinkProtocol, ProtectedId, ProtectedPort, Protection, retransmission};
use crate::link::Lanes;

impl Protection {
    /// Computes the departures of a port that come before the event being handled. No effect on ports whose
    /// departures have events.
    #[inline]
    pub(crate) fn catch_up(&mut self, lanes: &mut Lanes, id: ProtectedId) {
        if self.port(id).is_waiting {
            self.catch_up_waiting(lanes, id);
        }
    }

    /// Computes the departures of the rest of a window; later ones get an event.
    pub(crate) fn end_window(&mut self, lanes: &mut Lanes) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for id in waiting.drain(..) {
            self.catch_up(lanes, id);
            let port = self.port_mut(id);
            if std::mem::take(&mut port.is_waiting) {
                let lane = port.link_end.lane();
                lanes.queue.arm_by(lanes.sources.port_free(lane), lanes.busy_until(lane));
            }
            self.port_mut(id).is_listed = false;
        }
        self.waiting = waiting;
    }

    /// Sends the next frame if `may_send`, processes the decisions of the link end, and schedules the next look.
    #[inline]
    pub(super) fn send_lazily(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        id: ProtectedId,
        may_send: bool,
        switch: SwitchId,
    ) {
        let port = &mut self.ports[id.0 as usize];
        port.step(lanes, &mut self.shared, now, id, may_send);
        port.arm(lanes, now, Time::MAX);
        if port.is_waiting && !port.is_listed {
            port.is_listed = true;
            self.waiting.push(id);
            let end = lanes.queue.window_end();
            lanes.queue.arm_by(lanes.sources.switch_timer(switch), end);
        }
    }

    fn catch_up_waiting(&mut self, lanes: &mut Lanes, id: ProtectedId) {
        let port = &mut self.ports[id.0 as usize];
        let lane = port.link_end.lane();
        let source = lanes.sources.port_free(lane);
        let (mut now, delivered) = (None, self.shared.delivered.len());
        while port.is_waiting {
            let free_at = lanes.busy_until(lane);
            // A departure may have set a timer.
            let due = port.link_end.next_due(free_at);
            let at = free_at.min(due);
            if !lanes.queue.is_before_current(source, at) {
                break;
            }
            if due <= free_at {
                port.link_end.on_time(at);
            }
            port.step(lanes, &mut self.shared, at, id, at == free_at);
            now = Some(at);
        }
        debug_assert!(self.shared.delivered.len() == delivered, "departures deliver nothing");
        if let Some(now) = now {
            port.arm(lanes, now, Time::MAX);
        }
    }
}

impl ProtectedPort {
    /// Sends the next frame if `may_send`, and processes the decisions of the link end.
    #[inline]
    fn step(&mut self, lanes: &mut Lanes, shared: &mut Shared, now: Time, port: ProtectedId, may_send: bool) {
        let Self { egress, link_end: LinkEnd { protocol, state }, .. } = self;
        let LinkProtocol::Link(end) = protocol else { return };
        let mut cx = EndContext { now, port, lanes, egress, state, shared, head: None };
        if may_send {
            retransmission::send(end, &mut cx);
        }
        retransmission::dispose(end, &mut cx);
        self.is_waiting =
            lanes.busy_until(state.lane) > now && (egress.is_occupied() || end.has_pending());
    }
}
