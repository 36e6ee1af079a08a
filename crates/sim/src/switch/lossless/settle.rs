//! When frames leave the ports of lossless switches.
//!
//! When a waiting frame starts follows from what is known: the frame before it, and the holds. So it needs no event; whoever looks at
//! a port first settles all departures of the past.

use wiremend_units::{LaneId, Time};

use super::{At, Lossless, LosslessPort, Outlet, Switch};
use crate::link::Lanes;
use crate::port::Hold;
use crate::protect::ProtectedId;

impl Lossless {
    /// The last frame on a lane has arrived, or one was expected: what has left since then is under way.
    pub(in crate::switch) fn on_last_arrival(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) {
        let at = self.by_lane[lane.index()];
        if self.port_mut(at).has(LosslessPort::OCCUPIED) {
            self.catch_up(lanes, now, at);
            self.arm(lanes, now, at);
        }
    }

    /// All departures of the past are settled, for whoever looks.
    pub(in crate::switch) fn catch_up_everywhere(&mut self, lanes: &mut Lanes, now: Time) {
        for switch in 0..self.switches.len() {
            self.catch_up_switch(lanes, now, switch as u32);
        }
    }

    /// The same at one switch.
    pub(super) fn catch_up_switch(&mut self, lanes: &mut Lanes, now: Time, switch: u32) {
        for word in 0..self.switches[switch as usize].occupied.word_count() {
            for port in self.switches[switch as usize].occupied.of_word(word) {
                self.catch_up(lanes, now, At { switch, port });
            }
        }
    }

    /// Settles the departures before `now` of a port: of frames that wait, each starts when the one before it has left and no
    /// hold keeps it. Those of the instant itself are left, so that all that happens at it counts, in whatever order. A protected port
    /// never settles late: whether a frame may leave is for the link's end to say.
    pub(super) fn catch_up(&mut self, lanes: &mut Lanes, now: Time, at: At) {
        let Switch { buffer, ports, occupied, .. } = &mut self.switches[at.switch as usize];
        let port = &mut ports[usize::from(at.port)];
        if !port.has(LosslessPort::OCCUPIED) {
            return;
        }
        let Outlet::Scheduled(egress) = &mut port.outlet else { return };
        let mut was_stopping = false;
        let is_done = loop {
            let Some(start) = egress.next_start(lanes.busy_until(port.lane)) else { break true };
            if start >= now {
                break false;
            }
            let Some((class, waiting)) = egress.pop(start) else { break true };
            lanes.depart(start, port.lane, waiting.frame, waiting.cost);
            was_stopping |= buffer.is_stopping();
            buffer.release(waiting.ingress, class, waiting.len);
            if !egress.is_occupied() {
                occupied.remove(at.port);
            }
        };
        if is_done && egress.is_quiet(now) {
            port.clear(lanes, LosslessPort::OCCUPIED);
        }
        if was_stopping {
            self.announce(lanes, now, at.switch);
        }
    }

    /// Comes back when the port may speak; and when it may start a frame, or right after, so that all that happens at that instant
    /// counts. A lazy port need not: the arrival of what leaves comes back for it, unless a neighbour waits for what leaves here.
    pub(super) fn arm(&mut self, lanes: &mut Lanes, now: Time, at: At) {
        let switch = &mut self.switches[at.switch as usize];
        let port = &switch.ports[usize::from(at.port)];
        let lane = port.lane;
        let busy_until = lanes.busy_until(lane);
        if port.has(LosslessPort::SPEAKING) {
            lanes.queue.arm_by(lanes.sources.tx(lane), busy_until.max(now));
        }
        let egress = match &port.outlet {
            Outlet::Protected(id) => return self.protection.arm(lanes, now, *id),
            Outlet::Scheduled(egress) => egress,
        };
        if !port.has(LosslessPort::OCCUPIED) {
            return;
        }
        let is_lazy = self.lazy && lanes.ports[lane.index()].wire.is_plain();
        if (!is_lazy || switch.buffer.is_stopping())
            && let Some(start) = egress.next_start(busy_until)
        {
            lanes.queue.arm_by(lanes.sources.tx(lane), (start + Hold::NOTICE).max(now));
        }
        if is_lazy
            && lanes.is_idle(lane)
            && let Some(end) = egress.next_end(busy_until)
        {
            lanes.expect_arrival(now, lane, end);
        }
    }

    /// Puts on the wire of a protected port what is next, if it is free, and sees to being called again.
    pub(super) fn pump(&mut self, lanes: &mut Lanes, now: Time, at: At, id: ProtectedId) {
        // What the switch has to say is not the link's to carry: it goes before all else, as it is.
        let may_send = lanes.is_free(now, self.port_mut(at).lane) && !self.send_pfc(lanes, now, at);
        if let Some((class, waiting)) = self.protection.pump(lanes, now, id, may_send) {
            let buffer = &mut self.switches[at.switch as usize].buffer;
            let was_stopping = buffer.is_stopping();
            buffer.release(waiting.ingress, class, waiting.len);
            if was_stopping {
                self.announce(lanes, now, at.switch);
            }
        }
    }
}
