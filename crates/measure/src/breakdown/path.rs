//! The path from a flow's end back to its post.

use std::collections::BTreeMap;

use wiremend_units::{NodeId, Span, Time};

use super::intervals::Intervals;
use super::packets::{Hop, Packets};
use super::{Breakdown, TimePart};
use crate::FlowOutcome;
use crate::trace::{FlowTrace, PacketKind, TraceEvent};

/// The node that sends over a port, the node at its other end, and a class.
type PortClass = (NodeId, NodeId, u8);

pub(super) fn breakdown(trace: &FlowTrace) -> Option<Breakdown> {
    if trace.left_out > 0 {
        return None;
    }
    let find = |wanted: fn(&TraceEvent) -> bool| trace.records.iter().find(|record| wanted(&record.event));
    let post = find(|event| matches!(event, TraceEvent::Posted { .. }))?;
    let end = find(|event| matches!(event, TraceEvent::Completed | TraceEvent::Failed { .. }))?;
    let mut path = Path {
        packets: Packets::new(trace),
        pauses: pauses(trace),
        paced: paced(trace),
        timers: trace.records.iter().filter(|r| is_timer(&r.event)).map(|record| record.time).collect(),
        moves: Vec::new(),
        requester: post.node,
        start: post.time,
        at: end.time,
        breakdown: Breakdown::default(),
    };
    path.timers.sort_unstable();
    path.moves = path.packets.all().iter().flat_map(|hop| [hop.start, hop.arrive]).collect();
    path.moves.sort_unstable();
    let step = match end.event {
        TraceEvent::Failed { outcome } => path.explain_failure(outcome),
        _ => path.explain_completion(),
    };
    path.follow(step);
    Some(path.breakdown)
}

fn is_timer(event: &TraceEvent) -> bool {
    matches!(event, TraceEvent::TimerFired { .. })
}

fn pauses(trace: &FlowTrace) -> BTreeMap<PortClass, Intervals> {
    let mut by_port = BTreeMap::<PortClass, Intervals>::new();
    for pause in &trace.pauses {
        let pauses = by_port.entry((pause.node, pause.to, pause.class)).or_default();
        // A pause replaces the one before it.
        pauses.end_at(pause.told.max(pause.from));
        pauses.push(pause.from, pause.until);
    }
    by_port
}

fn paced(trace: &FlowTrace) -> Intervals {
    let mut paced = Intervals::default();
    for record in &trace.records {
        if let TraceEvent::Paced { until } = record.event {
            paced.push(record.time, until);
        }
    }
    paced
}

/// An event on the way back.
enum Step {
    /// A packet arrived.
    Arrived(Hop),
    /// A host began to send a packet.
    Sent(Hop),
    /// The flow was posted.
    Posted,
}

/// The path, of which everything after `at` is explained.
struct Path {
    packets: Packets,
    pauses: BTreeMap<PortClass, Intervals>,
    paced: Intervals,
    /// When timers fired.
    timers: Vec<Time>,
    /// When packets left or arrived anywhere.
    moves: Vec<Time>,
    requester: NodeId,
    start: Time,
    at: Time,
    breakdown: Breakdown,
}

impl Path {
    fn follow(&mut self, mut step: Step) {
        while self.at > self.start {
            step = match step {
                Step::Arrived(hop) => self.explain_arrival(&hop),
                Step::Sent(hop) => self.explain_sending(&hop),
                Step::Posted => {
                    self.spend(TimePart::Application, self.start);
                    return;
                }
            };
        }
    }

    /// Explains the time since `from` by one part.
    fn spend(&mut self, part: TimePart, from: Time) {
        let from = from.max(self.start);
        if from < self.at {
            self.breakdown.add(part, self.at.since(from));
            self.at = from;
        }
    }

    /// Explains the time since `from` by pauses of a port, and the rest by another part.
    fn spend_at_port(&mut self, hop: &Hop, from: Time, rest: TimePart) {
        let from = from.max(self.start);
        if from < self.at {
            let pauses = self.pauses.get(&(hop.node, hop.to, hop.packet.class));
            let paused = pauses.map_or(Span::ZERO, |pauses| pauses.divide(from, self.at).0);
            self.breakdown.add(TimePart::Pauses, paused);
            self.breakdown.add(rest, self.at.since(from) - paused);
            self.at = from;
        }
    }

    fn explain_completion(&mut self) -> Step {
        let Some(last) = self.packets.last_arrival(self.requester, self.at, |_| true) else {
            return Step::Posted;
        };
        self.spend(TimePart::Application, last.arrive);
        Step::Arrived(last)
    }

    fn explain_failure(&mut self, outcome: FlowOutcome) -> Step {
        let arrival = self.packets.last_arrival(self.requester, self.at, |_| true);
        let sent = self.packets.last_sent(self.requester, self.at, self.at);
        let [arrived, left] = [arrival.map(|hop| hop.arrive), sent.map(|hop| hop.sent())];
        let since = arrived.max(left).unwrap_or(self.start);
        match outcome {
            FlowOutcome::Deadlock => self.spend(TimePart::Deadlock, since),
            FlowOutcome::TimeLimit | FlowOutcome::Stalled => self.spend(TimePart::Unfinished, since),
            _ => self.spend_on_loss(since),
        }
        match (arrival, sent) {
            (Some(arrival), _) if arrived > left => Step::Arrived(arrival),
            (_, Some(sent)) => self.explain_port(&sent),
            _ => Step::Posted,
        }
    }

    /// Explains a packet's way over a link and its wait before it.
    fn explain_arrival(&mut self, hop: &Hop) -> Step {
        self.spend(TimePart::Propagation, hop.sent());
        self.spend(TimePart::Serialisation, hop.start);
        if self.packets.is_host(hop.node) {
            return Step::Sent(*hop);
        }
        let Some(before) = self.packets.before(hop) else {
            // It was on its way before the post.
            self.spend(TimePart::Queueing, self.start);
            return Step::Posted;
        };
        self.spend(TimePart::Retransmission, self.packets.first_on_link(hop, before.arrive));
        self.spend_at_port(hop, before.arrive, TimePart::Queueing);
        Step::Arrived(before)
    }

    /// Explains what happened at a host before it sent a packet.
    fn explain_sending(&mut self, hop: &Hop) -> Step {
        let before = self.packets.last_sent(hop.node, hop.start, hop.start);
        let left = before.map(|before| before.sent());
        let is_requester = hop.node == self.requester;
        // A requester sends because of data that it receives only if it reads.
        let enables = |arrived: &Hop| !is_requester || arrived.packet.kind == PacketKind::Data;
        let arrival = self.packets.last_arrival(hop.node, hop.start, enables);
        let arrived = arrival.map(|arrival| arrival.arrive);
        let since = left.max(arrived).unwrap_or(self.start);
        if hop.packet.retransmission && hop.packet.kind != PacketKind::Ack {
            self.spend_on_loss(since);
        } else {
            self.explain_wait(hop, since, is_requester);
        }
        match (before, arrival) {
            (Some(before), _) if left >= arrived => self.explain_port(&before),
            (_, Some(arrival)) => Step::Arrived(arrival),
            _ => Step::Posted,
        }
    }

    /// Explains the time in which a host sent a packet, and goes on with this packet.
    fn explain_port(&mut self, hop: &Hop) -> Step {
        let again = hop.packet.retransmission;
        self.spend(if again { TimePart::Retransmission } else { TimePart::Serialisation }, hop.start);
        Step::Sent(*hop)
    }

    /// Explains the time in which a host could have sent a packet and did not.
    fn explain_wait(&mut self, hop: &Hop, since: Time, is_requester: bool) {
        self.spend_at_port(hop, hop.busy_since.max(since), TimePart::Queueing);
        let since = since.max(self.start);
        if since >= self.at {
            return;
        }
        let acknowledged = self.packets.last_arrival(hop.node, self.at, |_| true);
        let waits_for_acks = is_requester && acknowledged.is_some_and(|arrival| arrival.arrive > since);
        let rest = if waits_for_acks { TimePart::Window } else { TimePart::Application };
        let (mut paced, mut unpaced) = (Span::ZERO, vec![(since, self.at)]);
        if is_requester {
            (paced, unpaced) = self.paced.divide(since, self.at);
        }
        self.breakdown.add(TimePart::Pacing, paced);
        for (from, until) in unpaced.into_iter().rev() {
            self.at = until;
            self.spend_at_port(hop, from, rest);
        }
        self.at = since;
    }

    /// Explains the time until a loss was noticed: by timers as far as nothing moved before they fired.
    fn spend_on_loss(&mut self, since: Time) {
        let since = since.max(self.start);
        while let Some(fired) = self.timers.pop_if(|fired| *fired > since) {
            if fired > self.at {
                continue;
            }
            self.spend(TimePart::Retransmission, fired);
            let moved =
                self.moves.partition_point(|at| *at < fired).checked_sub(1).map(|last| self.moves[last]);
            let earlier = self.timers.last().copied();
            self.spend(TimePart::Timers, since.max(moved.max(earlier).unwrap_or(since)));
        }
        self.spend(TimePart::Retransmission, since);
    }
}
