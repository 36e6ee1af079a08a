//! Simulates a period and finds out whether the order of simultaneous events has mattered.
//!
//! The seed decides that order, at each time anew unless ties are fixed. So a pattern only repeats if its simultaneous
//! events at a node commute: frames that switches forward to different ports.

use wiremend_units::{LaneId, NodeId, Span, Time};

use crate::engine::Partition;
use crate::event::{Event, EventSource};
use crate::frame::Body;
use crate::network::FlowKey;

/// What an event changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Effect {
    /// The port of a switch that sends over a lane.
    Port(LaneId),
    /// Anything at a node.
    Node(NodeId),
}

impl Partition {
    /// Handles every event before `end`. Returns whether the seed has decided no order that matters.
    pub(super) fn run_checked(&mut self, end: Time) -> bool {
        let mut is_regular = true;
        while is_regular
            && !self.lanes.queue.has_fixed_ties()
            && let Some(now) = self.lanes.queue.next_time().filter(|now| *now < end)
        {
            let (events, simultaneous) = (self.events, self.next_events());
            self.run(now + Span::from_ps(1));
            // No event of a pattern makes another one due at once.
            is_regular = simultaneous.is_some_and(|count| self.events - events == count);
        }
        self.run(end);
        is_regular
    }

    /// Returns the number of simultaneous events that are next; `None` if their order matters.
    fn next_events(&mut self) -> Option<u64> {
        let sources = self.lanes.queue.next_sources();
        if sources.len() == 1 {
            return Some(1);
        }
        let mut effects: Vec<_> = sources.iter().map(|source| self.effect(*source)).collect();
        effects.sort_unstable();
        let commute = effects.windows(2).all(|pair| pair[0] != pair[1]);
        // An event that may change all of a node commutes with none of that node.
        let is_changed = |node: NodeId| effects.contains(&Effect::Node(node));
        let is_free = |effect: &Effect| match effect {
            Effect::Port(lane) => !is_changed(self.net.graph.lane_from(*lane)),
            Effect::Node(_) => true,
        };
        (commute && effects.iter().all(is_free)).then_some(sources.len() as u64)
    }

    fn effect(&self, source: EventSource) -> Effect {
        let graph = &self.net.graph;
        match self.lanes.sources.event(source) {
            Event::Arrival(lane) => self.effect_of_arrival(lane),
            Event::PortFree(lane) if graph.lane_from(lane).0 < graph.host_count() => {
                Effect::Node(graph.lane_from(lane))
            }
            Event::PortFree(lane) => Effect::Port(lane),
            Event::App(host) | Event::Timer(host) | Event::Inbox(host) => Effect::Node(graph.host_node(host)),
            Event::SwitchTimer(switch) => Effect::Node(graph.switch_node(switch)),
            Event::PauseScript(_) => unreachable!("runs with scripted pauses skip no time"),
        }
    }

    fn effect_of_arrival(&self, lane: LaneId) -> Effect {
        let frame = self.lanes.first_on(lane).map(|id| self.lanes.frames.get(id));
        match (self.net.switch_at(lane), frame) {
            (Some(switch), Some(frame)) if !matches!(frame.body, Body::Lost(_)) && frame.ttl > 1 => {
                let key = FlowKey { src: frame.src, dst: frame.dst, entropy: frame.entropy };
                Effect::Port(self.net.next_hop(switch, key))
            }
            _ => Effect::Node(self.net.graph.lane_to(lane)),
        }
    }
}
