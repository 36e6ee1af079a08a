//! Departures from the ports of lossless switches.
//!
//! The start of a queued frame follows from the frame before it and the pauses. So it needs no event: the
//! next access to a port computes all its past departures.

use wiremend_units::{LaneId, Time};

use super::{Lossless, LosslessPort, PortKind, Switch, SwitchPort};
use crate::link::Lanes;
use crate::port::PauseWindow;
use crate::protect::ProtectedId;

impl Lossless {
    /// Handles the arrival of the last frame on a lane, or an expected arrival: later departures may be in
    /// flight.
    ///
    /// The event belongs to the receiver; the sender may have handled fewer or more events of the current
    /// window. What arrives in this window has departed before it, when the sender's state is final. So only
    /// earlier departures are computed. None of them ends a pause: a switch that pauses a neighbour handles
    /// each departure by an event of its own.
    pub(in crate::switch) fn on_last_arrival(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) {
        let at = self.by_lane[lane.index()];
        if self.port_mut(at).has(LosslessPort::OCCUPIED) {
            let handled = lanes.queue.handled_until(now);
            self.catch_up(lanes, handled, at);
            self.expect_arrival(lanes, now, at);
        }
    }

    /// Computes all past departures.
    pub(in crate::switch) fn catch_up_everywhere(&mut self, lanes: &mut Lanes, now: Time) {
        for switch in 0..self.switches.len() {
            self.catch_up_switch(lanes, now, switch as u32);
        }
    }

    /// Computes all past departures of one switch.
    pub(super) fn catch_up_switch(&mut self, lanes: &mut Lanes, now: Time, switch: u32) {
        for word in 0..self.switches[switch as usize].occupied.word_count() {
            for port in self.switches[switch as usize].occupied.ports_in_word(word) {
                self.catch_up(lanes, now, SwitchPort { switch, port });
            }
        }
    }

    /// Computes the departures of a port before `now`. Each queued frame starts when the one before it has
    /// left and its class is not paused. Departures at `now` itself are left, so that all events of that
    /// instant count in any order. A protected port is never late: its link end decides when a frame leaves.
    #[inline]
    pub(super) fn catch_up(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort) {
        let port = self.port_mut(at);
        if port.has(LosslessPort::OCCUPIED)
            && let PortKind::Scheduled(egress) = &port.kind
            && !(egress.is_occupied() && lanes.busy_until(port.lane) >= now)
        {
            self.send_past(lanes, now, at);
        }
    }

    #[inline(never)]
    fn send_past(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort) {
        let Switch { buffer, ports, occupied, .. } = &mut self.switches[at.switch as usize];
        let port = &mut ports[usize::from(at.port)];
        let PortKind::Scheduled(egress) = &mut port.kind else { return };
        let mut was_pausing = false;
        let is_done = loop {
            let Some(start) = egress.next_start(lanes.busy_until(port.lane)) else { break true };
            if start >= now {
                break false;
            }
            let Some((class, waiting)) = egress.pop(start) else { break true };
            lanes.depart(start, port.lane, waiting.frame(), (waiting.len(), waiting.wire_time));
            was_pausing |= buffer.is_pausing();
            buffer.release(waiting.ingress(), class, waiting.len());
            if !egress.is_occupied() {
                occupied.remove(at.port);
            }
        };
        if is_done && egress.is_idle(now) {
            port.clear(lanes, LosslessPort::OCCUPIED);
        }
        if was_pausing {
            self.send_pending_pfc(lanes, now, at.switch);
        }
    }

    /// Schedules the next event of a port: when it may send a PFC frame, and when or right after it may start
    /// a data frame, so that all events of that instant count. A lazy port needs no event for data frames,
    /// because their arrival triggers the next look, unless a neighbour waits for their departure.
    pub(super) fn arm(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort) {
        let switch = &mut self.switches[at.switch as usize];
        let port = &switch.ports[usize::from(at.port)];
        let lane = port.lane;
        let busy_until = lanes.busy_until(lane);
        if port.has(LosslessPort::CONTROL_PENDING) {
            lanes.queue.arm_by(lanes.sources.port_free(lane), busy_until.max(now));
        }
        let egress = match &port.kind {
            PortKind::Protected(id) => return self.protection.arm(lanes, now, *id),
            PortKind::Scheduled(egress) => egress,
        };
        if !port.has(LosslessPort::OCCUPIED) {
            return;
        }
        let is_lazy = self.lazy && lanes.ports[lane.index()].flags.is_plain_or_impaired();
        if (!is_lazy || switch.buffer.is_pausing())
            && let Some(start) = egress.next_start(busy_until)
        {
            lanes.queue.arm_by(lanes.sources.port_free(lane), (start + PauseWindow::MIN_LEAD).max(now));
        }
        if is_lazy {
            self.expect_arrival(lanes, now, at);
        }
    }

    /// Schedules an arrival for the next queued frame of a port if none is in flight, so that this
    /// arrival makes the port look at its queues again.
    fn expect_arrival(&self, lanes: &mut Lanes, now: Time, at: SwitchPort) {
        let port = &self.switches[at.switch as usize].ports[usize::from(at.port)];
        let PortKind::Scheduled(egress) = &port.kind else { return };
        if lanes.is_idle(port.lane)
            && let Some(end) = egress.next_end(lanes.busy_until(port.lane))
        {
            lanes.expect_arrival(now, port.lane, end);
        }
    }

    /// Sends the next frame of a protected port if the wire is free, and schedules the next call.
    pub(super) fn send_next(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort, id: ProtectedId) {
        // PFC frames are not protected by the link: they leave first and without a header.
        let may_send = lanes.is_free(now, self.port_mut(at).lane) && !self.send_pfc(lanes, now, at);
        if let Some((class, waiting)) = self.protection.send_next(lanes, now, id, may_send) {
            let buffer = &mut self.switches[at.switch as usize].buffer;
            let was_pausing = buffer.is_pausing();
            buffer.release(waiting.ingress(), class, waiting.len());
            if was_pausing {
                self.send_pending_pfc(lanes, now, at.switch);
            }
        }
    }
}
