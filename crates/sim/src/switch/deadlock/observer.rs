//! The observer with full sight: which ports wait for each other, and for nobody else.
//!
//! Of the ports that have long had to hold a class, those are taken away whose next switch could let them go on: because it has not stopped
//! them any more, because something that came in over them waits in a port that may move, or because there would be room once everything that may
//! move has left. That is done until no more go. If any are left, each waits for others that are left, so that there is a circle, and no frame of theirs
//! will ever move unless somebody drops one: what comes in later makes no room.

use std::collections::BTreeMap;

use wiremend_fabric::Graph;
use wiremend_measure::DeadlockFound;
use wiremend_proto::pfc::Buffer;
use wiremend_units::{LaneId, NodeId, Span, SwitchId, Time};

use super::report::{Held, Report};

/// Ports that waited for each other in a circle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// When the last port of the circle had to hold.
    pub closed: Time,
    /// When it was found.
    pub found: Time,
    /// When it was last seen.
    pub seen: Time,
    /// Whether it was gone afterwards.
    pub resolved: bool,
    /// The class that they hold.
    pub class: u8,
    /// The ports, by the lanes that they send over: each waits for the next, and the last for the first.
    pub cycle: Vec<LaneId>,
    /// Ports outside the circle that wait for it, when it was last seen.
    pub waiting: Vec<LaneId>,
}

impl Deadlock {
    /// The same by names.
    pub fn named(&self, graph: &Graph, ended_run: bool) -> DeadlockFound {
        let is_host = |lane: &&LaneId| graph.lane_from(**lane).0 < graph.host_count();
        DeadlockFound {
            closed_ns: self.closed.as_ns(),
            class: self.class,
            cycle: self.cycle.iter().map(|lane| graph.lane_name(*lane)).collect(),
            waiting: self.waiting.len() as u64,
            waiting_hosts: self.waiting.iter().filter(is_host).count() as u64,
            ended_run,
        }
    }
}

/// How often to look, and at what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) every: Span,
    pub(crate) still: Span,
    pub(crate) ends_run: bool,
}

impl Watch {
    /// Whether an instant is one at which it looks.
    pub(crate) fn is_epoch(&self, at: Time) -> bool {
        at > Time::ZERO && at.as_ps().is_multiple_of(self.every.as_ps())
    }

    /// Ports that had to hold since then count.
    pub(crate) fn before(&self, now: Time) -> Time {
        Time::from_ps(now.as_ps().saturating_sub(self.still.as_ps()))
    }
}

/// Takes what all parts say at an instant into the history. Returns whether a deadlock stands.
pub(crate) fn judge(graph: &Graph, now: Time, report: &Report, history: &mut Vec<Deadlock>) -> bool {
    let found = Waits::new(graph, report).deadlock(now);
    let standing = history.last_mut().filter(|last| !last.resolved);
    let Some(found) = found else {
        if let Some(last) = standing {
            last.resolved = true;
        }
        return false;
    };
    match standing {
        // A circle that closed since it was last looked at is another one.
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

/// Ports that may wait for each other.
struct Waits<'a> {
    graph: &'a Graph,
    held: Vec<&'a Held>,
    buffers: BTreeMap<SwitchId, &'a Buffer>,
    ingress: BTreeMap<LaneId, u16>,
}

/// Bytes that stay, by switch, port and class.
type Staying = BTreeMap<(SwitchId, u16, u8), u64>;

impl<'a> Waits<'a> {
    fn new(graph: &'a Graph, report: &'a Report) -> Self {
        let mut held: Vec<&Held> = report.held.iter().collect();
        held.sort_unstable_by_key(|held| (held.lane, held.class));
        let buffers = report.buffers.iter().map(|(switch, buffer)| (*switch, buffer)).collect();
        let port = |lane: LaneId| {
            let ports = graph.ports(graph.lane_to(lane)).iter();
            ports.take_while(|port| **port != lane.reverse()).count() as u16
        };
        let ingress = held.iter().map(|held| (held.lane, port(held.lane))).collect();
        Self { graph, held, buffers, ingress }
    }

    fn deadlock(mut self, now: Time) -> Option<Deadlock> {
        loop {
            let staying = self.staying();
            let before = self.held.len();
            let held = std::mem::take(&mut self.held);
            self.held = held.into_iter().filter(|held| self.is_stuck(held, &staying)).collect();
            if self.held.len() == before {
                break;
            }
        }
        // A host's port is nobody's next.
        let first = self.held.iter().find(|held| !held.waiting.is_empty())?;
        let cycle = self.cycle(first);
        let class = first.class;
        let since = |lane: &LaneId| self.find(*lane, class).map_or(Time::ZERO, |held| held.since);
        let closed = cycle.iter().map(since).max().unwrap_or(now);
        let waiting = self.held.iter().map(|held| held.lane).filter(|lane| !cycle.contains(lane)).collect();
        Some(Deadlock { closed, found: now, seen: now, resolved: false, class, cycle, waiting })
    }

    /// What would be left if everything else moved on.
    fn staying(&self) -> Staying {
        let mut staying = Staying::new();
        for held in &self.held {
            if let Some(switch) = self.switch(self.graph.lane_from(held.lane)) {
                for (ingress, bytes) in &held.waiting {
                    *staying.entry((switch, *ingress, held.class)).or_default() += bytes;
                }
            }
        }
        staying
    }

    /// Whether the next switch can never let a port go on.
    fn is_stuck(&self, held: &Held, staying: &Staying) -> bool {
        let Some(switch) = self.switch(self.graph.lane_to(held.lane)) else { return false };
        let Some(buffer) = self.buffers.get(&switch) else { return false };
        let (port, class) = (self.ingress[&held.lane], held.class);
        let left = |port: u16, class: u8| staying.get(&(switch, port, class)).copied().unwrap_or(0);
        buffer.held_in(port, class).get() <= left(port, class) && buffer.stays_stopped(port, class, left)
    }

    /// The ports that one waits for: where what came in over it waits; if nothing did, all of the switch.
    fn next(&self, held: &Held) -> impl Iterator<Item = &'a Held> {
        let (to, port) = (self.graph.lane_to(held.lane), self.ingress[&held.lane]);
        let class = held.class;
        let of_switch = self.held.iter().copied().filter(move |next| self.graph.lane_from(next.lane) == to);
        let of_port =
            of_switch.clone().filter(move |next| next.class == class && next.waiting.contains_key(&port));
        let is_empty = of_port.clone().next().is_none();
        of_switch.filter(move |next| is_empty || (next.class == class && next.waiting.contains_key(&port)))
    }

    /// Follows the lowest ports until one comes again.
    fn cycle(&self, first: &'a Held) -> Vec<LaneId> {
        let mut way = vec![first];
        loop {
            let last = way[way.len() - 1];
            let next = self.next(last).min_by_key(|next| (next.lane, next.class));
            let next = next.expect("a port that is stuck waits for one that is");
            if let Some(start) = way.iter().position(|held| std::ptr::eq(*held, next)) {
                let mut cycle: Vec<LaneId> = way[start..].iter().map(|held| held.lane).collect();
                let lowest = (0..cycle.len()).min_by_key(|place| cycle[*place]).unwrap_or(0);
                cycle.rotate_left(lowest);
                return cycle;
            }
            way.push(next);
        }
    }

    fn find(&self, lane: LaneId, class: u8) -> Option<&'a Held> {
        self.held.iter().copied().find(|held| (held.lane, held.class) == (lane, class))
    }

    fn switch(&self, node: NodeId) -> Option<SwitchId> {
        node.0.checked_sub(self.graph.host_count()).map(SwitchId)
    }
}
