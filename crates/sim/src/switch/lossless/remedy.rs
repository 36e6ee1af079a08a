//! What lossless switches do about deadlocks by themselves: watchdogs and probes decide, ports drop.

use wiremend_scenario::StormAction;
use wiremend_units::{LaneId, SwitchId, Time};

use super::{At, Lossless, LosslessPort, Switch};
use crate::frame::Probe;
use crate::link::Lanes;
use crate::port::{CLASSES, Hold, Waiting};
use crate::switch::deadlock::Found;

impl Lossless {
    /// A port of a switch was told to hold something: those that watch it come back in time.
    pub(in crate::switch) fn watch_held(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        let dogs = self.care.watchdog.as_mut().map(|watchdog| watchdog.rounds.ask(now, switch));
        let probes = self.care.probes.as_mut().map(|probes| probes.rounds.ask(now, switch));
        if let Some(due) = [dogs, probes].into_iter().flatten().min() {
            lanes.queue.arm_by(lanes.sources.inside(switch), due);
        }
    }

    /// The time of a round of those that watch has come, or not yet.
    pub(super) fn on_rounds(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        let dogs = self.care.watchdog.as_mut().is_some_and(|dogs| dogs.rounds.take_due(now, switch));
        let probes = self.care.probes.as_mut().is_some_and(|probes| probes.rounds.take_due(now, switch));
        let number = self.by_switch[switch.index()];
        if dogs || probes {
            self.catch_up_switch(lanes, now, number);
        }
        let mut goes_on = dogs && self.on_watchdog(lanes, now, number);
        goes_on |= probes && self.on_probe_round(lanes, now, number);
        if goes_on {
            self.watch_held(lanes, now, switch);
            return;
        }
        let pending = [
            self.care.watchdog.as_ref().and_then(|watchdog| watchdog.rounds.due(switch)),
            self.care.probes.as_ref().and_then(|probes| probes.rounds.due(switch)),
        ];
        if let Some(due) = pending.into_iter().flatten().min() {
            lanes.queue.arm_by(lanes.sources.inside(switch), due.max(now));
        }
    }

    /// Polls all ports of a switch. Returns whether there is reason to come back.
    fn on_watchdog(&mut self, lanes: &mut Lanes, now: Time, switch: u32) -> bool {
        let Some(watchdog) = &mut self.care.watchdog else { return false };
        let action = watchdog.action;
        let (mut found, mut goes_on) = (Vec::new(), false);
        for (port, of) in (0_u16..).zip(&self.switches[switch as usize].ports) {
            for (class, hold) in (0_u8..).zip(self.told[of.lane.index()].holds) {
                let polled = watchdog.poll(now, of.lane, class, hold);
                found.extend(polled.map(|polled| (At { switch, port }, class, hold, polled)));
                goes_on |= watchdog.watches(of.lane, class);
            }
        }
        for (at, class, hold, polled) in found {
            match polled {
                Found::Storm => self.on_storm(lanes, now, at, class, action),
                // What the port was told meanwhile counts again.
                Found::Restored { .. } if action == StormAction::Forward => {
                    let lane = self.port_mut(at).lane;
                    self.on_pause(lanes, now, lane, class, hold);
                }
                Found::Restored { others_storm: false } => {
                    self.port_mut(at).clear(lanes, LosslessPort::STORMING);
                }
                Found::Restored { others_storm: true } => {}
            }
        }
        goes_on
    }

    fn on_storm(&mut self, lanes: &mut Lanes, now: Time, at: At, class: u8, action: StormAction) {
        self.care.counts.storms += 1;
        self.care.storms.push(now);
        match action {
            StormAction::Drop => {
                self.port_mut(at).set(lanes, LosslessPort::STORMING);
                while self.drop_first(lanes, now, at, class) {
                    self.care.counts.flushed_frames += 1;
                }
                self.announce(lanes, now, at.switch);
            }
            StormAction::Forward => {
                let lane = self.port_mut(at).lane;
                self.on_pause(lanes, now, lane, class, Hold { from: now + Hold::NOTICE, until: now });
            }
            StormAction::Alert => {}
        }
    }

    /// Drops the first frame that waits in a class, whether or not it may leave.
    fn drop_first(&mut self, lanes: &mut Lanes, now: Time, at: At, class: u8) -> bool {
        let Switch { buffer, ports, occupied, .. } = &mut self.switches[at.switch as usize];
        let port = &mut ports[usize::from(at.port)];
        let lane = port.lane;
        let egress = port.egress_mut(&mut self.protection);
        let Some(Waiting { frame, len, ingress, .. }) = egress.drop_first(class) else { return false };
        buffer.release(ingress, class, len);
        if !egress.is_occupied() {
            occupied.remove(at.port);
        }
        lanes.drop_for_remedy(now, lane, frame);
        true
    }

    /// Every port of a switch that had to hold for long enough asks. Returns whether there is reason to come back.
    fn on_probe_round(&mut self, lanes: &mut Lanes, now: Time, switch: u32) -> bool {
        let (mut asking, mut goes_on) = (Vec::new(), false);
        for (port, of) in (0_u16..).zip(&self.switches[switch as usize].ports) {
            for class in 0..CLASSES as u8 {
                goes_on |= self.hold(of.lane, class).covers(now);
                if self.has_waited(now, of, class) {
                    asking.push((At { switch, port }, of.lane, class));
                }
            }
        }
        for (at, lane, class) in asking {
            if let Some(probe) = self.care.probes.as_mut().map(|probes| probes.ask(lane, class)) {
                self.send_probe(lanes, now, at, probe);
            }
        }
        goes_on
    }

    /// A probe has come over `lane` to a switch.
    pub(in crate::switch) fn on_probe(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, probe: Probe) {
        let At { switch, port: ingress } = self.by_lane[lane.reverse().index()];
        self.catch_up_switch(lanes, now, switch);
        let of = &self.switches[switch as usize];
        if !of.buffer.is_stopped(ingress, probe.class) {
            return;
        }
        for port in 0..of.ports.len() as u16 {
            let (at, out) = (At { switch, port }, &self.switches[switch as usize].ports[usize::from(port)]);
            if !self.keeps(now, out, probe.class, ingress) {
                continue;
            }
            if out.lane == probe.origin {
                self.on_proof(lanes, now, at, probe.class, ingress);
                return;
            }
            // A port with a lower number asks for itself, and then one circle is not answered twice.
            let asks_itself = out.lane < probe.origin && self.has_waited(now, out, probe.class);
            let out = out.lane;
            if probe.hops > 1
                && !asks_itself
                && self.care.probes.as_mut().is_some_and(|probes| probes.is_new(out, &probe))
            {
                self.send_probe(lanes, now, at, Probe { hops: probe.hops - 1, ..probe });
            }
        }
    }

    /// A port waits for itself, by what came in over `ingress`: frames go until the neighbour there may go on.
    fn on_proof(&mut self, lanes: &mut Lanes, now: Time, at: At, class: u8, ingress: u16) {
        let drain = self.care.probes.as_ref().map_or(0, |probes| probes.drain);
        let mut dropped = 0;
        while dropped < drain
            && self.switches[at.switch as usize].buffer.is_stopped(ingress, class)
            && self.drop_first(lanes, now, at, class)
        {
            dropped += 1;
        }
        self.care.counts.proofs += 1;
        self.care.counts.drained_frames += u64::from(dropped);
        self.care.proofs.push(now);
        self.announce(lanes, now, at.switch);
    }

    /// Whether a port must hold a class and keeps frames of it that came in by `ingress`.
    fn keeps(&self, now: Time, port: &LosslessPort, class: u8, ingress: u16) -> bool {
        let mut waiting = port.egress(&self.protection).waiting_in(class);
        self.hold(port.lane, class).covers(now) && waiting.any(|waiting| waiting.ingress == ingress)
    }

    /// Whether a port with frames had to hold a class for as long as it takes to ask.
    fn has_waited(&self, now: Time, port: &LosslessPort, class: u8) -> bool {
        let hold = self.hold(port.lane, class);
        let is_long = |after| hold.covers(now) && hold.from + after <= now;
        self.care.probes.as_ref().is_some_and(|probes| is_long(probes.after))
            && port.egress(&self.protection).waiting_in(class).next().is_some()
    }

    fn send_probe(&mut self, lanes: &mut Lanes, now: Time, at: At, probe: Probe) {
        let lane = self.port_mut(at).lane;
        self.care.push_probe(lane, probe);
        self.say(lanes, now, at);
    }
}
