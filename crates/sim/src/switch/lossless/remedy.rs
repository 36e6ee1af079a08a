//! Deadlock remedies of lossless switches: watchdogs and probes detect, ports drop frames.

use wiremend_scenario::StormAction;
use wiremend_units::{LaneId, SwitchId, Time};

use super::{Lossless, LosslessPort, Switch, SwitchPort};
use crate::frame::Probe;
use crate::link::Lanes;
use crate::port::{CLASSES, PauseWindow};
use crate::switch::deadlock::WatchdogEvent;

impl Lossless {
    /// Schedules watchdog and probe polls after a port of a switch was paused.
    pub(in crate::switch) fn schedule_pause_checks(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        switch: SwitchId,
    ) {
        let watchdog = self.remedies.watchdog.as_mut().map(|watchdog| watchdog.polls.next_poll(now, switch));
        let probes = self.remedies.probes.as_mut().map(|probes| probes.polls.next_poll(now, switch));
        if let Some(due) = [watchdog, probes].into_iter().flatten().min() {
            lanes.queue.arm_by(lanes.sources.switch_timer(switch), due);
        }
    }

    pub(super) fn on_poll_due(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        let watchdog =
            self.remedies.watchdog.as_mut().is_some_and(|watchdog| watchdog.polls.take_due(now, switch));
        let probes = self.remedies.probes.as_mut().is_some_and(|probes| probes.polls.take_due(now, switch));
        let number = self.by_switch[switch.index()];
        if watchdog || probes {
            self.catch_up_switch(lanes, now, number);
        }
        let mut polls_again = watchdog && self.on_watchdog(lanes, now, number);
        polls_again |= probes && self.on_probe_round(lanes, now, number);
        if polls_again {
            self.schedule_pause_checks(lanes, now, switch);
            return;
        }
        let pending = [
            self.remedies.watchdog.as_ref().and_then(|watchdog| watchdog.polls.due(switch)),
            self.remedies.probes.as_ref().and_then(|probes| probes.polls.due(switch)),
        ];
        if let Some(due) = pending.into_iter().flatten().min() {
            lanes.queue.arm_by(lanes.sources.switch_timer(switch), due.max(now));
        }
    }

    /// Polls all ports of a switch. Returns whether to poll again.
    fn on_watchdog(&mut self, lanes: &mut Lanes, now: Time, switch: u32) -> bool {
        let Some(watchdog) = &mut self.remedies.watchdog else { return false };
        let action = watchdog.action;
        let (mut found, mut polls_again) = (Vec::new(), false);
        for (port, out) in (0_u16..).zip(&self.switches[switch as usize].ports) {
            for (class, window) in (0_u8..).zip(self.pause_states[out.lane.index()].windows) {
                let polled = watchdog.poll(now, out.lane, class, window);
                found.extend(polled.map(|polled| (SwitchPort { switch, port }, class, window, polled)));
                polls_again |= watchdog.watches(out.lane, class);
            }
        }
        for (at, class, window, polled) in found {
            match polled {
                WatchdogEvent::Storm => self.on_storm(lanes, now, at, class, action),
                // The pause that the port received meanwhile counts again.
                WatchdogEvent::Restored { .. } if action == StormAction::Forward => {
                    let lane = self.port_mut(at).lane;
                    self.on_pause(lanes, now, lane, class, window);
                }
                WatchdogEvent::Restored { others_storm: false } => {
                    self.port_mut(at).clear(lanes, LosslessPort::STORMING);
                }
                WatchdogEvent::Restored { others_storm: true } => {}
            }
        }
        polls_again
    }

    fn on_storm(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort, class: u8, action: StormAction) {
        self.remedies.counts.storms += 1;
        self.remedies.storms.push(now);
        match action {
            StormAction::Drop => {
                self.port_mut(at).set(lanes, LosslessPort::STORMING);
                while self.drop_first(lanes, now, at, class) {
                    self.remedies.counts.watchdog_dropped_frames += 1;
                }
                self.send_pending_pfc(lanes, now, at.switch);
            }
            StormAction::Forward => {
                let lane = self.port_mut(at).lane;
                self.on_pause(
                    lanes,
                    now,
                    lane,
                    class,
                    PauseWindow { from: now + PauseWindow::MIN_LEAD, until: now },
                );
            }
            StormAction::Alert => {}
        }
    }

    /// Drops the first frame of a class, even if the class is paused.
    fn drop_first(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort, class: u8) -> bool {
        let Switch { buffer, ports, occupied, .. } = &mut self.switches[at.switch as usize];
        let port = &mut ports[usize::from(at.port)];
        let lane = port.lane;
        let egress = port.egress_mut(&mut self.protection);
        let Some(dropped) = egress.drop_first(class) else { return false };
        buffer.release(dropped.ingress(), class, dropped.len());
        if !egress.is_occupied() {
            occupied.remove(at.port);
        }
        lanes.drop_for_remedy(now, lane, dropped.frame());
        true
    }

    /// Sends a probe from every port that has been paused for long enough. Returns whether to poll again.
    fn on_probe_round(&mut self, lanes: &mut Lanes, now: Time, switch: u32) -> bool {
        let (mut origins, mut polls_again) = (Vec::new(), false);
        for (port, out) in (0_u16..).zip(&self.switches[switch as usize].ports) {
            for class in 0..CLASSES as u8 {
                polls_again |= self.pause_window(out.lane, class).covers(now);
                if self.has_waited(now, out, class) {
                    origins.push((SwitchPort { switch, port }, out.lane, class));
                }
            }
        }
        for (at, lane, class) in origins {
            if let Some(probe) = self.remedies.probes.as_mut().map(|probes| probes.new_probe(lane, class)) {
                self.send_probe(lanes, now, at, probe);
            }
        }
        polls_again
    }

    /// Handles a probe that came to a switch over `lane`.
    pub(in crate::switch) fn on_probe(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, probe: Probe) {
        let SwitchPort { switch, port: ingress } = self.by_lane[lane.reverse().index()];
        self.catch_up_switch(lanes, now, switch);
        let state = &self.switches[switch as usize];
        if !state.buffer.is_paused(ingress, probe.class) {
            return;
        }
        for port in 0..state.ports.len() as u16 {
            let (at, out) =
                (SwitchPort { switch, port }, &self.switches[switch as usize].ports[usize::from(port)]);
            if !self.blocks(now, out, probe.class, ingress) {
                continue;
            }
            if out.lane == probe.origin {
                self.on_returned_probe(lanes, now, at, probe.class, ingress);
                return;
            }
            // A port with a lower number sends its own probe, so that a cycle is not answered twice.
            let sends_own_probe = out.lane < probe.origin && self.has_waited(now, out, probe.class);
            let out = out.lane;
            if probe.hops > 1
                && !sends_own_probe
                && self.remedies.probes.as_mut().is_some_and(|probes| probes.is_new(out, &probe))
            {
                self.send_probe(lanes, now, at, Probe { hops: probe.hops - 1, ..probe });
            }
        }
    }

    /// Drops frames of a port that waits for itself, until the neighbour at `ingress` may resume.
    fn on_returned_probe(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort, class: u8, ingress: u16) {
        let drain = self.remedies.probes.as_ref().map_or(0, |probes| probes.drain);
        let mut dropped = 0;
        while dropped < drain
            && self.switches[at.switch as usize].buffer.is_paused(ingress, class)
            && self.drop_first(lanes, now, at, class)
        {
            dropped += 1;
        }
        self.remedies.counts.probe_detections += 1;
        self.remedies.counts.probe_dropped_frames += u64::from(dropped);
        self.remedies.probe_detections.push(now);
        self.send_pending_pfc(lanes, now, at.switch);
    }

    /// Returns whether a port is paused and has frames of `class` from port `ingress`.
    fn blocks(&self, now: Time, port: &LosslessPort, class: u8, ingress: u16) -> bool {
        let mut waiting = port.egress(&self.protection).waiting_in(class);
        self.pause_window(port.lane, class).covers(now) && waiting.any(|waiting| waiting.ingress() == ingress)
    }

    /// Returns whether a port with frames has been paused for long enough to send a probe.
    fn has_waited(&self, now: Time, port: &LosslessPort, class: u8) -> bool {
        let window = self.pause_window(port.lane, class);
        let is_long = |after| window.covers(now) && window.from + after <= now;
        self.remedies.probes.as_ref().is_some_and(|probes| is_long(probes.after))
            && port.egress(&self.protection).waiting_in(class).next().is_some()
    }

    fn send_probe(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort, probe: Probe) {
        let lane = self.port_mut(at).lane;
        self.remedies.push_probe(lane, probe);
        self.queue_control(lanes, now, at);
    }
}
