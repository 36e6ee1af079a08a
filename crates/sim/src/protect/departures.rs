//! Departures of link-local retransmission at lossy switches, computed when a switch looks at the port.
//!
//! Between two looks at a port nothing changes but its own departures: what is next follows from the link end,
//! its queues and the wire. So they need no events. Whoever looks at a port first computes the departures that
//! come before the event being handled, at their times and in the order that their events would have had. The
//! last event of a switch in a window computes the rest of the window, before the frames can arrive anywhere.

use wiremend_units::SwitchId;

use super::end_context::EndContext;
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

    /// Makes a port wait until its wire is free, if its link end then has something to send.
    #[inline]
    pub(super) fn wait(&mut self, lanes: &mut Lanes, id: ProtectedId, switch: SwitchId) {
        let port = &mut self.ports[id.0 as usize];
        let LinkProtocol::Link(end) = &port.link_end.protocol else { return };
        port.is_waiting = port.egress.is_occupied() || end.has_pending();
        if port.is_waiting && !port.is_listed {
            port.is_listed = true;
            self.waiting.push(id);
            let end = lanes.queue.window_end();
            lanes.queue.arm_by(lanes.sources.switch_timer(switch), end);
        }
    }

    fn catch_up_waiting(&mut self, lanes: &mut Lanes, id: ProtectedId) {
        let ProtectedPort { egress, link_end, is_waiting, .. } = &mut self.ports[id.0 as usize];
        let lane = link_end.lane();
        let source = lanes.sources.port_free(lane);
        let mut now = None;
        while *is_waiting {
            let free_at = lanes.busy_until(lane);
            // A departure may have set a timer.
            let due = link_end.next_due(free_at).filter(|due| *due <= free_at);
            let at = due.unwrap_or(free_at);
            if !lanes.queue.is_before_current(source, at) {
                break;
            }
            if due.is_some() {
                link_end.on_time(at);
            }
            let LinkEnd { protocol: LinkProtocol::Link(end), state } = link_end else { return };
            let mut cx = EndContext { now: at, port: id, lanes, egress, state, shared: &mut self.shared, head: None };
            if at == free_at {
                retransmission::send(end, &mut cx);
            }
            retransmission::dispose(end, &mut cx);
            *is_waiting = lanes.busy_until(lane) > at && (egress.is_occupied() || end.has_pending());
            now = Some(at);
        }
        debug_assert!(self.shared.delivered.is_empty(), "departures deliver nothing");
        if let Some(now) = now {
            self.arm_timer(lanes, now, id);
        }
    }
}
