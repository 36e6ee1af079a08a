//! PFC frames: sending, receiving and refreshing them.

use wiremend_proto::pfc::{CLASSES, PauseTimes};
use wiremend_units::{LaneId, Rate, SwitchId, Time};
use wiremend_wire::Quanta;

use super::{Lossless, LosslessPort, Switch, SwitchPort};
use crate::frame::{Frame, Header};
use crate::link::Lanes;
use crate::port::PauseWindow;

impl Lossless {
    /// Sends the PFC frames that a change of the buffer requires. While a neighbour is paused, every port
    /// schedules each departure, since each departure may resume the neighbour.
    pub(super) fn after_buffer_change(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        switch: u32,
        was_pausing: bool,
    ) {
        let state = &self.switches[switch as usize];
        if !state.buffer.has_output() {
            return;
        }
        if !was_pausing {
            let occupied: Vec<u16> = state.occupied.iter().collect();
            for port in occupied {
                self.arm(lanes, now, SwitchPort { switch, port });
            }
        }
        self.send_pending_pfc(lanes, now, switch);
    }

    /// Refreshes the pauses of neighbours that must still wait.
    #[cold]
    pub(super) fn on_refresh(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        let number = self.by_switch[switch.index()];
        self.switches[number as usize].buffer.on_timeout(now);
        self.send_pending_pfc(lanes, now, number);
        self.arm_refresh(lanes, now, number);
        self.on_poll_due(lanes, now, switch);
    }

    /// Handles a PFC frame that arrived over `lane`. A pause ends when the link fails, at `link_fails`. Returns the pause of each class for the port back.
    pub(in crate::switch) fn on_pfc(
        &mut self,
        now: Time,
        lane: LaneId,
        rate: Rate,
        link_fails: Time,
        classes: PauseTimes,
    ) -> [Option<PauseWindow>; CLASSES] {
        let window = |quanta: Quanta| {
            if quanta == Quanta::RESUME {
                return PauseWindow { from: now + PauseWindow::MIN_LEAD, until: now };
            }
            let from = now + self.reaction;
            PauseWindow {
                from: from + PauseWindow::MIN_LEAD,
                until: link_fails.min(from + quanta.span(rate)),
            }
        };
        let mut windows = classes.map(|quanta| quanta.map(window));
        let back = lane.reverse();
        let state = &mut self.pause_states[back.index()];
        if state.received == 0 {
            self.lanes_with_pfc.insert(back);
        }
        state.received += 1;
        for (class, window) in windows.iter_mut().enumerate() {
            let Some(new) = *window else { continue };
            let old = state.windows[class];
            state.update(now, class, new);
            self.remedies.on_pause(now, back, class as u8, old, state.windows[class]);
            // A port that ignores a storm is not paused.
            if self.remedies.overrides(back, class as u8) {
                *window = None;
            }
        }
        windows
    }

    /// Counts a corrupted PFC frame that came over `lane`.
    pub(in crate::switch) fn on_lost_pfc(&mut self, lane: LaneId) {
        self.pause_states[lane.reverse().index()].corrupted += 1;
    }

    /// Sends the next PFC frame or probe of a port, if there is one and the wire is free.
    #[inline]
    pub(super) fn send_pfc(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort) -> bool {
        self.port_mut(at).has(LosslessPort::CONTROL_PENDING) && self.send_control(lanes, now, at)
    }

    #[inline(never)]
    fn send_control(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort) -> bool {
        let Switch { buffer, ports, .. } = &mut self.switches[at.switch as usize];
        let port = &mut ports[usize::from(at.port)];
        let lane = port.lane;
        if !lanes.is_free(now, lane) {
            return false;
        }
        let header = match buffer.poll_transmit(now, at.port) {
            Some(classes) => Some(Header::Pfc(classes)),
            None => self.remedies.pop_probe(lane).map(Header::Probe),
        };
        if !buffer.is_due(at.port) && !self.remedies.has_probe(lane) {
            port.clear(lanes, LosslessPort::CONTROL_PENDING);
        }
        let Some(header) = header else { return false };
        let id = lanes.frames.insert(Frame::link_frame());
        lanes.attach_header(id, header);
        lanes.transmit(now, lane, id);
        if self.protection.loss_episodes().is_some() {
            self.protection.record_loss_episode(lanes, now, lane);
        }
        self.arm_refresh(lanes, now, at.switch);
        true
    }

    /// Sends a port's PFC frame or probe now, or schedules it for when the wire is free.
    pub(super) fn queue_control(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort) {
        self.port_mut(at).set(lanes, LosslessPort::CONTROL_PENDING);
        self.send_pfc(lanes, now, at);
        self.arm(lanes, now, at);
    }

    /// Sends the pending PFC frames of a switch now, or schedules them for when the wires are free.
    pub(super) fn send_pending_pfc(&mut self, lanes: &mut Lanes, now: Time, switch: u32) {
        while let Some(port) = self.switches[switch as usize].buffer.poll() {
            let at = SwitchPort { switch, port };
            self.port_mut(at).set(lanes, LosslessPort::CONTROL_PENDING);
            self.catch_up(lanes, now, at);
            let is_sent = self.send_pfc(lanes, now, at);
            if !is_sent || self.port_mut(at).has(LosslessPort::CONTROL_PENDING) {
                self.arm(lanes, now, at);
            }
        }
    }

    /// Schedules the next refresh of a switch. A stale earlier timer may fire first and then schedules this
    /// one.
    fn arm_refresh(&self, lanes: &mut Lanes, now: Time, switch: u32) {
        let Switch { id, buffer, .. } = &self.switches[switch as usize];
        if let Some(due) = buffer.next_timeout() {
            lanes.queue.arm_by(lanes.sources.switch_timer(*id), due.max(now));
        }
    }
}
