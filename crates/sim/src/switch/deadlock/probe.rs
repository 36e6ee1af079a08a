//! Deadlock probes: a paused port finds out whether it waits for itself.
//!
//! A probe goes to the switch that sent the pause, ahead of all queues. It continues through the ports that
//! are paused too and hold frames from the ingress port of the probe. This is edge chasing (Chandy, Misra and
//! Haas, 1983); of a cycle, only the probe of the lowest port is answered.

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{LaneId, Span};

use super::poll_schedule::PollSchedule;
use crate::frame::Probe;

pub(crate) struct Probes {
    pub(crate) polls: PollSchedule,
    pub(crate) after: Span,
    pub(crate) drain: u32,
    hops: u8,
    /// Queued probes, by port.
    outbox: BTreeMap<LaneId, VecDeque<Probe>>,
    /// The last probe of each origin that was passed on through a port, so that each passes once.
    passed: BTreeMap<(LaneId, LaneId, u8), u32>,
    /// Probes sent so far, by port and class.
    probe_counts: BTreeMap<(LaneId, u8), u32>,
}

impl Probes {
    pub(crate) fn new(table: &wiremend_scenario::Probes, switches: usize) -> Self {
        Self {
            polls: PollSchedule::new(table.after, switches),
            after: table.after,
            drain: table.drain.get(),
            hops: table.hops.get(),
            outbox: BTreeMap::new(),
            passed: BTreeMap::new(),
            probe_counts: BTreeMap::new(),
        }
    }

    /// Returns whether a port has a queued probe.
    pub(super) fn is_due(&self, lane: LaneId) -> bool {
        self.outbox.get(&lane).is_some_and(|waiting| !waiting.is_empty())
    }

    /// Queues a probe at a port.
    pub(super) fn push(&mut self, lane: LaneId, probe: Probe) {
        self.outbox.entry(lane).or_default().push_back(probe);
    }

    /// Removes the next probe of a port.
    pub(super) fn pop(&mut self, lane: LaneId) -> Option<Probe> {
        self.outbox.get_mut(&lane)?.pop_front()
    }

    /// Makes the next probe of a port.
    pub(crate) fn new_probe(&mut self, lane: LaneId, class: u8) -> Probe {
        let number = self.probe_counts.entry((lane, class)).or_default();
        *number += 1;
        Probe { origin: lane, class, number: *number, hops: self.hops }
    }

    /// Returns whether a probe has not passed a port yet, and records it.
    pub(crate) fn is_new(&mut self, lane: LaneId, probe: &Probe) -> bool {
        let last = self.passed.entry((lane, probe.origin, probe.class)).or_default();
        std::mem::replace(last, probe.number.max(*last)) < probe.number
    }
}
