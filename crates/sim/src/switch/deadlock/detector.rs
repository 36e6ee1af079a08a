//! The deadlock detector with a global view: it finds ports that wait for each other and for nothing else.
//!
//! It starts with the ports that have been paused for long. It removes a port if the next switch could resume
//! it: because the switch no longer pauses it, because a frame that came in over it is queued at a port that
//! can send, or because there would be room once all other frames have left. It repeats this until no port is
//! removed. Each port that is left waits for another one that is left, so there is a cycle. Its frames never
//! move unless a switch drops one: later arrivals make no room.

use std::collections::BTreeMap;

use wiremend_fabric::Graph;
use wiremend_measure::DeadlockReport;
use wiremend_proto::pfc::Buffer;
use wiremend_units::{LaneId, NodeId, Span, SwitchId, Time};

use super::report::{PauseReport, PausedPort};

/// Ports that waited for each other in a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// When the last port of the cycle was paused.
    pub closed: Time,
    /// When it was detected.
    pub found: Time,
    /// When it last existed at a check.
    pub seen: Time,
    /// Whether it was gone at a later check.
    pub resolved: bool,
    /// The paused class.
    pub class: u8,
    /// The ports, by the lanes that they send over: each waits for the next, and the last for the first.
    pub cycle: Vec<LaneId>,
    /// Ports outside the cycle that waited for it at the last check.
    pub waiting: Vec<LaneId>,
}

impl Deadlock {
    /// Returns the deadlock with the names of its lanes.
    pub fn named(&self, graph: &Graph, ended_run: bool) -> DeadlockReport {
        let is_host = |lane: &&LaneId| graph.lane_from(**lane).0 < graph.host_count();
        DeadlockReport {
            closed_ns: self.closed.as_ns(),
            class: self.class,
            cycle: self.cycle.iter().map(|lane| graph.lane_name(*lane)).collect(),
            blocked_ports: self.waiting.len() as u64,
            blocked_hosts: self.waiting.iter().filter(is_host).count() as u64,
            ended_run,
        }
    }
}

/// When to check for deadlocks, and which ports count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeadlockCheck {
    pub(crate) every: Span,
    pub(crate) still: Span,
    pub(crate) ends_run: bool,
}

impl DeadlockCheck {
    /// Returns whether a check is due at a time.
    pub(crate) fn is_epoch(&self, at: Time) -> bool {
        at > Time::ZERO && at.as_ps().is_multiple_of(self.every.as_ps())
    }

    /// Returns the time since which a port must have been paused to count.
    pub(crate) fn before(&self, now: Time) -> Time {
        Time::from_ps(now.as_ps().saturating_sub(self.still.as_ps()))
    }
}

/// Updates the list of deadlocks with the reports of all partitions. Returns whether a deadlock exists now.
pub(crate) fn update_deadlocks(
    graph: &Graph,
    now: Time,
    report: &PauseReport,
    history: &mut Vec<Deadlock>,
) -> bool {
    let found = WaitGraph::new(graph, report).deadlock(now);
    let standing = history.last_mut().filter(|last| !last.resolved);
    let Some(found) = found else {
        if let Some(last) = standing {
            last.resolved = true;
        }
        return false;
    };
    match standing {
        // A cycle that closed after the last check is another deadlock.
        Some(last) if found.closed > last.seen => {
            last.resolved = true;
            history.push(found);
        }
        Some(last) => {
            last.seen = now;
            last.waiting = found.waiting;
        }
        None => history.push(found),
    }
    true
}

struct WaitGraph<'a> {
    graph: &'a Graph,
    paused: Vec<&'a PausedPort>,
    buffers: BTreeMap<SwitchId, &'a Buffer>,
    ingress: BTreeMap<LaneId, u16>,
}

/// Bytes that cannot leave, by switch, port and class.
type StuckBytes = BTreeMap<(SwitchId, u16, u8), u64>;

impl<'a> WaitGraph<'a> {
    fn new(graph: &'a Graph, report: &'a PauseReport) -> Self {
        let mut paused: Vec<&PausedPort> = report.paused.iter().collect();
        paused.sort_unstable_by_key(|paused| (paused.lane, paused.class));
        let buffers = report.buffers.iter().map(|(switch, buffer)| (*switch, buffer)).collect();
        let port = |lane: LaneId| {
            let ports = graph.ports(graph.lane_to(lane)).iter();
            ports.take_while(|port| **port != lane.reverse()).count() as u16
        };
        let ingress = paused.iter().map(|paused| (paused.lane, port(paused.lane))).collect();
        Self { graph, paused, buffers, ingress }
    }

    fn deadlock(mut self, now: Time) -> Option<Deadlock> {
        loop {
            let stuck_bytes = self.stuck_bytes();
            let before = self.paused.len();
            let paused = std::mem::take(&mut self.paused);
            self.paused = paused.into_iter().filter(|paused| self.is_stuck(paused, &stuck_bytes)).collect();
            if self.paused.len() == before {
                break;
            }
        }
        // No port waits for a host's port.
        let first = self.paused.iter().find(|paused| !paused.waiting.is_empty())?;
        let cycle = self.cycle(first);
        let class = first.class;
        let since = |lane: &LaneId| self.find(*lane, class).map_or(Time::ZERO, |paused| paused.since);
        let closed = cycle.iter().map(since).max().unwrap_or(now);
        let waiting =
            self.paused.iter().map(|paused| paused.lane).filter(|lane| !cycle.contains(lane)).collect();
        Some(Deadlock { closed, found: now, seen: now, resolved: false, class, cycle, waiting })
    }

    /// Returns the bytes that would be left if all other frames left.
    fn stuck_bytes(&self) -> StuckBytes {
        let mut stuck_bytes = StuckBytes::new();
        for paused in &self.paused {
            if let Some(switch) = self.switch(self.graph.lane_from(paused.lane)) {
                for (ingress, bytes) in &paused.waiting {
                    *stuck_bytes.entry((switch, *ingress, paused.class)).or_default() += bytes;
                }
            }
        }
        stuck_bytes
    }

    /// Returns whether the next switch can never resume a port.
    fn is_stuck(&self, paused: &PausedPort, stuck_bytes: &StuckBytes) -> bool {
        let Some(switch) = self.switch(self.graph.lane_to(paused.lane)) else { return false };
        let Some(buffer) = self.buffers.get(&switch) else { return false };
        let (port, class) = (self.ingress[&paused.lane], paused.class);
        let left = |port: u16, class: u8| stuck_bytes.get(&(switch, port, class)).copied().unwrap_or(0);
        buffer.held_class_bytes(port, class).get() <= left(port, class)
            && buffer.stays_paused(port, class, left)
    }

    /// Returns the ports that a port waits for: those where frames from it are queued; if there are none, all
    /// of the switch.
    fn next(&self, paused: &PausedPort) -> impl Iterator<Item = &'a PausedPort> {
        let (to, port) = (self.graph.lane_to(paused.lane), self.ingress[&paused.lane]);
        let class = paused.class;
        let of_switch = self.paused.iter().copied().filter(move |next| self.graph.lane_from(next.lane) == to);
        let of_port =
            of_switch.clone().filter(move |next| next.class == class && next.waiting.contains_key(&port));
        let is_empty = of_port.clone().next().is_none();
        of_switch.filter(move |next| is_empty || (next.class == class && next.waiting.contains_key(&port)))
    }

    /// Follows the lowest port numbers until one repeats.
    fn cycle(&self, first: &'a PausedPort) -> Vec<LaneId> {
        let mut visited = vec![first];
        loop {
            let last = visited[visited.len() - 1];
            let next = self.next(last).min_by_key(|next| (next.lane, next.class));
            let next = next.expect("a stuck port waits for another stuck port");
            if let Some(start) = visited.iter().position(|paused| std::ptr::eq(*paused, next)) {
                let mut cycle: Vec<LaneId> = visited[start..].iter().map(|paused| paused.lane).collect();
                let lowest = (0..cycle.len()).min_by_key(|place| cycle[*place]).unwrap_or(0);
                cycle.rotate_left(lowest);
                return cycle;
            }
            visited.push(next);
        }
    }

    fn find(&self, lane: LaneId, class: u8) -> Option<&'a PausedPort> {
        self.paused.iter().copied().find(|paused| (paused.lane, paused.class) == (lane, class))
    }

    fn switch(&self, node: NodeId) -> Option<SwitchId> {
        node.0.checked_sub(self.graph.host_count()).map(SwitchId)
    }
}
