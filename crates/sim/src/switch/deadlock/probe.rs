//! Probes along pauses: a port asks whether it waits for itself.
//!
//! A probe goes where the pause came from, against no queue, and on through ports that must hold too and keep what came in as it did. That is
//! edge chasing (Chandy, Misra and Haas, 1983) with the lowest number on a circle as the only one that is answered.

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{LaneId, Span, SwitchId, Time};

use super::round::Rounds;
use crate::frame::Probe;
use crate::link::Wires;
use crate::port::CLASSES;

/// The probes of a part.
pub(crate) struct Probes {
    pub(super) rounds: Rounds,
    after: Span,
    drain: u32,
    hops: u8,
    /// What waits to leave, by port.
    outbox: BTreeMap<LaneId, VecDeque<Probe>>,
    /// The last question of each port that was passed on through another, so that it passes once.
    passed: BTreeMap<(LaneId, LaneId, u8), u32>,
    /// Questions asked so far, by port and class.
    asked: BTreeMap<(LaneId, u8), u32>,
}

impl Probes {
    pub(crate) fn new(table: &wiremend_scenario::Probes, switches: usize) -> Self {
        Self {
            rounds: Rounds::new(table.after, switches),
            after: table.after,
            drain: table.drain.get(),
            hops: table.hops.get(),
            outbox: BTreeMap::new(),
            passed: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Whether a port has a probe to send.
    pub(crate) fn is_due(&self, lane: LaneId) -> bool {
        self.outbox.get(&lane).is_some_and(|waiting| !waiting.is_empty())
    }

    /// The next probe that leaves a port.
    pub(crate) fn pop(&mut self, lane: LaneId) -> Option<Probe> {
        self.outbox.get_mut(&lane)?.pop_front()
    }

    fn ask(&mut self, lane: LaneId, class: u8) -> Probe {
        let number = self.asked.entry((lane, class)).or_default();
        *number += 1;
        Probe { origin: lane, class, number: *number, hops: self.hops }
    }

    /// Whether a probe has not been through a port yet.
    fn is_new(&mut self, lane: LaneId, probe: &Probe) -> bool {
        let last = self.passed.entry((lane, probe.origin, probe.class)).or_default();
        std::mem::replace(last, probe.number.max(*last)) < probe.number
    }
}

impl Wires {
    /// Every port of a switch that had to hold for long enough asks. Returns whether there is reason to come back.
    pub(super) fn on_probe_round(&mut self, now: Time, switch: SwitchId) -> bool {
        let lanes = self.lossless.as_ref().expect("a lossless switch").lanes_of(switch).to_vec();
        let mut goes_on = false;
        for lane in lanes {
            for class in 0..CLASSES as u8 {
                goes_on |= self.lossless.as_ref().expect("a lossless switch").hold(lane, class).covers(now);
                if self.has_waited(now, lane, class) {
                    let probes = self.probes();
                    let probe = probes.ask(lane, class);
                    self.send_probe(now, lane, probe);
                }
            }
        }
        goes_on
    }

    /// A probe has come over `lane` to a switch.
    pub(crate) fn on_probe(&mut self, now: Time, lane: LaneId, probe: Probe) {
        let back = lane.reverse();
        let lossless = self.lossless.as_ref().expect("probes come from lossless switches");
        let (switch, ingress) = lossless.port_of(back);
        self.catch_up_switch(now, switch);
        let lossless = self.lossless.as_mut().expect("probes come from lossless switches");
        if !lossless.buffer_of(back).is_stopped(ingress, probe.class) {
            return;
        }
        let lanes = lossless.lanes_of(switch).to_vec();
        for out in lanes {
            if !self.keeps(now, out, probe.class, ingress) {
                continue;
            }
            if out == probe.origin {
                self.on_proof(now, out, probe.class, ingress);
                return;
            }
            // A port with a lower number asks for itself, and then one circle is not answered twice.
            let asks_itself = out < probe.origin && self.has_waited(now, out, probe.class);
            if probe.hops > 1 && !asks_itself && self.probes().is_new(out, &probe) {
                self.send_probe(now, out, Probe { hops: probe.hops - 1, ..probe });
            }
        }
    }

    /// The port of `lane` waits for itself, by what came in over `ingress`: frames go until the neighbour there may go on.
    fn on_proof(&mut self, now: Time, lane: LaneId, class: u8, ingress: u16) {
        let drain = self.probes().drain;
        let mut dropped = 0;
        while dropped < drain {
            let lossless = self.lossless.as_mut().expect("a lossless switch");
            if !lossless.buffer_of(lane).is_stopped(ingress, class) || !self.drop_first(now, lane, class) {
                break;
            }
            dropped += 1;
        }
        let care = &mut self.lossless.as_mut().expect("a lossless switch").care;
        care.counts.proofs += 1;
        care.counts.drained_frames += u64::from(dropped);
        care.proofs.push(now);
        self.announce(now, lane);
    }

    /// Whether a port must hold a class and keeps frames of it that came in by `ingress`.
    fn keeps(&self, now: Time, lane: LaneId, class: u8, ingress: u16) -> bool {
        let lossless = self.lossless.as_ref().expect("a lossless switch");
        let egress = self.egresses[lane.index()].as_ref().expect("a port with an egress");
        lossless.hold(lane, class).covers(now)
            && egress.waiting_in(class).any(|waiting| self.frames.get(waiting.frame).ingress == ingress)
    }

    /// Whether a port with frames had to hold a class for as long as it takes to ask.
    fn has_waited(&self, now: Time, lane: LaneId, class: u8) -> bool {
        let lossless = self.lossless.as_ref().expect("a lossless switch");
        let after = lossless.care.probes.as_ref().expect("probes are asked for").after;
        let hold = lossless.hold(lane, class);
        let egress = self.egresses[lane.index()].as_ref().expect("a port with an egress");
        hold.covers(now) && hold.from + after <= now && egress.waiting_in(class).next().is_some()
    }

    fn send_probe(&mut self, now: Time, lane: LaneId, probe: Probe) {
        self.probes().outbox.entry(lane).or_default().push_back(probe);
        self.lossless.as_mut().expect("a lossless switch").care.counts.probes += 1;
        self.say(now, lane);
    }

    fn probes(&mut self) -> &mut Probes {
        let care = &mut self.lossless.as_mut().expect("a lossless switch").care;
        care.probes.as_mut().expect("probes are asked for")
    }
}
