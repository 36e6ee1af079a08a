//! Departures from the ports of switches that trim.
//!
//! Between two frames that arrive at a port, its departures follow from its queues and the wire. So they need no
//! events: the next frame, and the last event of the switch in a window, compute the departures before them, each
//! at its time and in the order that events would have had. A departing frame arrives after the window.

use wiremend_units::{LaneId, SwitchId, Time};

use super::{Lossy, LossyPort, arm};
use crate::link::{Intake, Lanes};
use crate::port::Egress;
use crate::switch::Trimming;

impl Lossy {
    /// Computes the departures of all ports before `now`.
    pub(in crate::switch) fn catch_up_everywhere(&mut self, lanes: &mut Lanes, now: Time) {
        for lane in self.occupied.iter().flatten() {
            if let LossyPort::Scheduled(egress) = &mut self.ports[lane.index()] {
                send_until(lanes, egress, *lane, |_, start| start < now);
            }
        }
    }

    /// Returns whether departures need no events. In order of time they do.
    #[inline]
    pub(super) fn is_lazy(&self) -> bool {
        !self.occupied.is_empty()
    }

    /// Ensures that the next departure of a port with queued frames is computed in time.
    pub(super) fn await_departure(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) {
        let LossyPort::Scheduled(egress) = &self.ports[lane.index()] else { return };
        let port = &mut lanes.ports[lane.index()];
        let is_free = port.busy_until <= now;
        // A frame that has waited until now does not start before now.
        port.busy_until = port.busy_until.max(now);
        if !self.is_lazy() || is_free && egress.next_start(now) == Some(now) {
            arm(lanes, egress, now, lane);
        }
        if !self.is_lazy() {
            return;
        }
        let switch = lanes.sources.switch_of(lanes.receiver(lane.reverse()).0);
        lanes.queue.arm_by(lanes.sources.switch_timer(switch), lanes.queue.window_end());
        let port = &mut lanes.ports[lane.index()];
        if port.intake != Intake::Queue {
            port.intake = Intake::Queue;
            self.occupied[switch.index()].push(lane);
        }
    }

    /// Computes the rest of a window's departures from all ports of a switch. Those after it get an event.
    pub(super) fn end_window(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        let Some(occupied) = self.occupied.get_mut(switch.index()).filter(|ports| !ports.is_empty()) else {
            return;
        };
        let timer = lanes.sources.switch_timer(switch);
        if now < lanes.queue.window_end() {
            lanes.queue.arm_by(timer, lanes.queue.window_end());
            return;
        }
        let mut next = Time::MAX;
        occupied.retain(|lane| {
            let LossyPort::Scheduled(egress) = &mut self.ports[lane.index()] else { return false };
            catch_up(lanes, egress, *lane);
            match egress.next_start(lanes.busy_until(*lane)) {
                // It comes after this event.
                Some(start) if start == now => lanes.queue.arm_by(lanes.sources.port_free(*lane), now),
                Some(start) => next = next.min(start),
                None => {}
            }
            let is_idle = egress.is_idle(now);
            if is_idle {
                lanes.set_intake(*lane, intake_of_idle(self.trimming.as_deref(), egress));
            }
            !is_idle
        });
        if next < Time::MAX {
            lanes.queue.arm_by(timer, next);
        }
    }
}

/// Returns how a lazy port accepts frames while none is queued.
pub(super) fn intake_of_idle(trimming: Option<&Trimming>, egress: &Egress) -> Intake {
    if egress.admits_all_when_idle() && trimming.is_none_or(Trimming::never_trims_when_idle) {
        Intake::ImmediateIfFree
    } else {
        Intake::Admit
    }
}

/// Computes the departures of a port that come before the event being handled.
#[inline]
pub(super) fn catch_up(lanes: &mut Lanes, egress: &mut Egress, lane: LaneId) {
    if egress.is_occupied() && lanes.busy_until(lane) <= lanes.queue.now() {
        send_past(lanes, egress, lane);
    }
}

#[inline(never)]
fn send_past(lanes: &mut Lanes, egress: &mut Egress, lane: LaneId) {
    let now = lanes.queue.now();
    send_until(lanes, egress, lane, |lanes, start| start < now || start == now && is_over(lanes, lane));
}

/// Returns whether a departure at the time of the event being handled comes before it. The event may also have made
/// it possible, by a frame or the end of a pause; then the departure has an event.
fn is_over(lanes: &Lanes, lane: LaneId) -> bool {
    let (source, now) = (lanes.sources.port_free(lane), lanes.queue.now());
    lanes.queue.due(source) != Some(now) && lanes.queue.is_before_current(source, now)
}

/// Computes the departures of a port that `is_past` covers. Each queued frame starts when the one before it has left
/// and its class is not paused.
#[inline]
fn send_until(lanes: &mut Lanes, egress: &mut Egress, lane: LaneId, is_past: impl Fn(&Lanes, Time) -> bool) {
    while let Some(start) = egress.next_start(lanes.busy_until(lane))
        && is_past(lanes, start)
        && let Some((_, waiting)) = egress.pop(start)
    {
        lanes.depart(start, lane, waiting.frame(), (waiting.len(), waiting.wire_time));
    }
}
