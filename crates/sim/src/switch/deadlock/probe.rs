//! Probes along pauses: a port asks whether it waits for itself.
//!
//! A probe goes where the pause came from, against no queue, and on through ports that must hold too and keep what came in as it did. That is
//! edge chasing (Chandy, Misra and Haas, 1983) with the lowest number on a circle as the only one that is answered.

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{LaneId, Span};

use super::round::Rounds;
use crate::frame::Probe;

/// The probes of a part.
pub(crate) struct Probes {
    pub(crate) rounds: Rounds,
    pub(crate) after: Span,
    pub(crate) drain: u32,
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
    pub(super) fn is_due(&self, lane: LaneId) -> bool {
        self.outbox.get(&lane).is_some_and(|waiting| !waiting.is_empty())
    }

    /// A port is to send a probe.
    pub(super) fn push(&mut self, lane: LaneId, probe: Probe) {
        self.outbox.entry(lane).or_default().push_back(probe);
    }

    /// The next probe that leaves a port.
    pub(super) fn pop(&mut self, lane: LaneId) -> Option<Probe> {
        self.outbox.get_mut(&lane)?.pop_front()
    }

    /// A port asks.
    pub(crate) fn ask(&mut self, lane: LaneId, class: u8) -> Probe {
        let number = self.asked.entry((lane, class)).or_default();
        *number += 1;
        Probe { origin: lane, class, number: *number, hops: self.hops }
    }

    /// Whether a probe has not been through a port yet.
    pub(crate) fn is_new(&mut self, lane: LaneId, probe: &Probe) -> bool {
        let last = self.passed.entry((lane, probe.origin, probe.class)).or_default();
        std::mem::replace(last, probe.number.max(*last)) < probe.number
    }
}
