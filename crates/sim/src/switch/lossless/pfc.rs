//! PFC frames: what a lossless switch says to its neighbours, and what ports are told.

use wiremend_proto::pfc::{CLASSES, Classes};
use wiremend_units::{LaneId, Rate, SwitchId, Time};
use wiremend_wire::Quanta;

use super::{At, Lossless, LosslessPort, Switch};
use crate::frame::{Frame, Header};
use crate::link::Lanes;
use crate::port::Hold;

impl Lossless {
    /// What the buffer has come to say is said. While some neighbour must wait, all ports come back at each departure, since each may
    /// let it go on.
    pub(super) fn after_change(&mut self, lanes: &mut Lanes, now: Time, switch: u32, was_stopping: bool) {
        let of = &self.switches[switch as usize];
        if !of.buffer.has_output() {
            return;
        }
        if !was_stopping {
            let occupied: Vec<u16> = of.occupied.iter().collect();
            for port in occupied {
                self.arm(lanes, now, At { switch, port });
            }
        }
        self.announce(lanes, now, switch);
    }

    /// Neighbours that must still wait are told again.
    #[cold]
    pub(super) fn on_refresh(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        let number = self.by_switch[switch.index()];
        self.switches[number as usize].buffer.on_timeout(now);
        self.announce(lanes, now, number);
        self.arm_refresh(lanes, now, number);
        self.on_rounds(lanes, now, switch);
    }

    /// A PFC frame has come over `lane`: by class, the holds that the port back has to obey.
    pub(in crate::switch) fn on_pfc(
        &mut self,
        now: Time,
        lane: LaneId,
        rate: Rate,
        classes: Classes,
    ) -> [Option<Hold>; CLASSES] {
        let hold = |quanta: Quanta| {
            if quanta == Quanta::RESUME {
                return Hold { from: now + Hold::NOTICE, until: now };
            }
            let from = now + self.reaction;
            Hold { from: from + Hold::NOTICE, until: from + quanta.span(rate) }
        };
        let mut holds = classes.map(|quanta| quanta.map(hold));
        let back = lane.reverse();
        let told = &mut self.told[back.index()];
        told.received += 1;
        for (class, hold) in holds.iter_mut().enumerate() {
            let Some(new) = *hold else { continue };
            let old = told.holds[class];
            told.note(now, class, new);
            self.care.on_told(now, back, class as u8, old, told.holds[class]);
            // A storm that is ignored stops nothing.
            if self.care.overrides(back, class as u8) {
                *hold = None;
            }
        }
        holds
    }

    /// A PFC frame that came over `lane` was corrupted.
    pub(in crate::switch) fn on_lost_pfc(&mut self, lane: LaneId) {
        self.told[lane.reverse().index()].corrupted += 1;
    }

    /// Sends what a port has to say, if it has and the wire is free.
    pub(super) fn send_pfc(&mut self, lanes: &mut Lanes, now: Time, at: At) -> bool {
        let Switch { buffer, ports, .. } = &mut self.switches[at.switch as usize];
        let port = &mut ports[usize::from(at.port)];
        let lane = port.lane;
        if !port.has(LosslessPort::SPEAKING) || !lanes.is_free(now, lane) {
            return false;
        }
        let header = match buffer.poll_transmit(now, at.port) {
            Some(classes) => Some(Header::Pfc(classes)),
            None => self.care.pop_probe(lane).map(Header::Probe),
        };
        if !buffer.is_due(at.port) && !self.care.has_probe(lane) {
            port.clear(lanes, LosslessPort::SPEAKING);
        }
        let Some(header) = header else { return false };
        let header = lanes.headers.insert(header);
        let id = lanes.frames.insert(Frame { header, ..Frame::own() });
        lanes.transmit(now, lane, id);
        if self.protection.rare().is_some() {
            self.protection.weigh_episode(lanes, now, lane);
        }
        self.arm_refresh(lanes, now, at.switch);
        true
    }

    /// Has a port speak, now or when it falls free.
    pub(super) fn say(&mut self, lanes: &mut Lanes, now: Time, at: At) {
        self.port_mut(at).set(lanes, LosslessPort::SPEAKING);
        self.send_pfc(lanes, now, at);
        self.arm(lanes, now, at);
    }

    /// Has the ports of a switch speak, now or when they fall free.
    pub(super) fn announce(&mut self, lanes: &mut Lanes, now: Time, switch: u32) {
        while let Some(port) = self.switches[switch as usize].buffer.poll() {
            let at = At { switch, port };
            self.port_mut(at).set(lanes, LosslessPort::SPEAKING);
            self.catch_up(lanes, now, at);
            let is_said = self.send_pfc(lanes, now, at);
            if !is_said || self.port_mut(at).has(LosslessPort::SPEAKING) {
                self.arm(lanes, now, at);
            }
        }
    }

    /// Comes back when a switch has to say something again. An earlier time that was asked for and has become idle comes first, and
    /// then leads here.
    fn arm_refresh(&self, lanes: &mut Lanes, now: Time, switch: u32) {
        let Switch { id, buffer, .. } = &self.switches[switch as usize];
        if let Some(due) = buffer.next_timeout() {
            lanes.queue.arm_by(lanes.sources.inside(*id), due.max(now));
        }
    }
}
