//! Simulates a period and finds out whether the order of simultaneous events has mattered.
//!
//! The seed decides that order, at each time anew unless ties are fixed. So a pattern only repeats if its simultaneous
//! events at a node commute: frames that switches forward to different ports.

use wiremend_units::{LaneId, NodeId, Time};

use super::period::LaneWatch;
use crate::engine::Partition;
use crate::event::Event;
use crate::frame::Body;
use crate::network::FlowKey;

/// What an event changes at its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    /// The port of a switch that sends over a lane.
    Port(LaneId),
    /// Anything at a host.
    Host,
    /// Something that does not belong to a pattern.
    Other,
}

/// The simultaneous events of a node so far.
#[derive(Default)]
struct Moment {
    /// Whether simultaneous events always come in the same order.
    is_fixed: bool,
    at: Option<(Time, NodeId)>,
    effects: Vec<Effect>,
}

impl Partition {
    /// Handles every event before `end`. Returns whether only events of a pattern happened, and none whose order
    /// the seed decides.
    pub(super) fn run_checked(&mut self, end: Time) -> bool {
        let mut moment = Moment { is_fixed: self.lanes.queue.has_fixed_ties(), ..Moment::default() };
        let mut is_regular = true;
        while let Some((now, source)) = self.lanes.queue.pop(end) {
            self.events += 1;
            let event = self.lanes.sources.event(source);
            let (node, effect) = self.effect(event);
            is_regular &= moment.add(now, node, effect);
            self.handle(now, event);
        }
        is_regular
    }

    /// Handles every event before `end`, and adds the arrivals over watched lanes.
    pub(super) fn run_watched(&mut self, end: Time, watch: &mut LaneWatch) {
        while let Some((now, source)) = self.lanes.queue.pop(end) {
            self.events += 1;
            let event = self.lanes.sources.event(source);
            if let Event::Arrival(lane) = event
                && watch.is_watched(lane)
                && let Some(frame) = self.lanes.first_on(lane)
            {
                watch.add(now, lane, self.lanes.frames.get(frame));
            }
            self.handle(now, event);
        }
    }

    fn effect(&self, event: Event) -> (NodeId, Effect) {
        let graph = &self.net.graph;
        match event {
            Event::Arrival(lane) => {
                let node = graph.lane_to(lane);
                (node, self.effect_of_arrival(lane))
            }
            Event::PortFree(lane) => {
                let node = graph.lane_from(lane);
                (node, if node.0 < graph.host_count() { Effect::Host } else { Effect::Port(lane) })
            }
            Event::App(host) | Event::Timer(host) | Event::Inbox(host) => {
                (graph.host_node(host), Effect::Other)
            }
            Event::SwitchTimer(_) | Event::PauseScript(_) => (NodeId(0), Effect::Other),
        }
    }

    fn effect_of_arrival(&self, lane: LaneId) -> Effect {
        let Some(switch) = self.net.switch_at(lane) else { return Effect::Host };
        let Some(frame) = self.lanes.first_on(lane).map(|id| self.lanes.frames.get(id)) else {
            return Effect::Other;
        };
        if matches!(frame.body, Body::Corrupted) || frame.has_header || frame.ttl <= 1 {
            return Effect::Other;
        }
        let key = FlowKey { src: frame.src, dst: frame.dst, entropy: frame.entropy };
        Effect::Port(self.net.next_hop(switch, key))
    }
}

impl Moment {
    /// Adds the next event. Returns whether it belongs to a pattern and commutes with all simultaneous ones.
    fn add(&mut self, now: Time, node: NodeId, effect: Effect) -> bool {
        if self.at != Some((now, node)) {
            self.at = Some((now, node));
            self.effects.clear();
        }
        match effect {
            Effect::Other => return false,
            Effect::Port(_) | Effect::Host => {}
        }
        if self.is_fixed {
            return true;
        }
        let is_first = !self.effects.contains(&effect);
        self.effects.push(effect);
        is_first
    }
}
