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
    let mut path = Path::new(trace, post.node, post.time);
    path.at = end.time;
    let step = match end.event {
        TraceEvent::Failed { outcome } => path.explain_failure(outcome),
        _ => path.explain_completion(),
    };
    path.follow(step);
    Some(path.breakdown)
}

/// What each packet waited for before it left a node, by the number of its record. The waits at hosts begin when the
/// host last sent or received a packet of the flow.
pub(super) fn waits(trace: &FlowTrace) -> BTreeMap<usize, Breakdown> {
    let post = trace.records.iter().find(|record| matches!(record.event, TraceEvent::Posted { .. }));
    let Some(post) = post else { return BTreeMap::new() };
    let mut path = Path::new(trace, post.node, post.time);
    let timers = path.timers.clone();
    let mut waits = BTreeMap::new();
    for hop in path.packets.all().to_vec() {
        path.at = hop.start;
        path.breakdown = Breakdown::default();
        if path.packets.is_host(hop.node) {
            let fired = timers.partition_point(|fired| *fired <= hop.start);
            path.timers.clear();
            if hop.packet.retransmission {
                path.timers.extend_from_slice(&timers[..fired]);
            }
            path.explain_wait_at_host(&hop);
        } else {
            path.explain_wait_at_switch(&hop);
        }
        waits.insert(hop.record, path.breakdown);
    }
    waits
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
    fn new(trace: &FlowTrace, requester: NodeId, start: Time) -> Self {
        let packets = Packets::new(trace);
        let fired = trace.records.iter().filter(|record| is_timer(&record.event)).map(|record| record.time);
        let mut timers: Vec<Time> = fired.collect();
        timers.sort_unstable();
        let mut moves: Vec<Time> = packets.all().iter().flat_map(|hop| [hop.start, hop.arrive]).collect();
        moves.sort_unstable();
        let (pauses, paced, breakdown) = (pauses(trace), paced(trace), Breakdown::default());
        Self { packets, pauses, paced, timers, moves, requester, start, at: start, breakdown }
    }

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
        let Some(last) = self.packets.last_arrival(self.requester, self.at) else {
            return Step::Posted;
        };
        self.spend(TimePart::Application, last.arrive);
        Step::Arrived(last)
    }

    fn explain_failure(&mut self, outcome: FlowOutcome) -> Step {
        let arrival = self.packets.last_arrival(self.requester, self.at);
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
        self.explain_wait_at_switch(hop).map_or(Step::Posted, Step::Arrived)
    }

    /// Explains a packet's wait at a switch. Returns the hop by which it came there.
    fn explain_wait_at_switch(&mut self, hop: &Hop) -> Option<Hop> {
        let Some(before) = self.packets.before(hop) else {
            // It was on its way before the post.
            self.spend(TimePart::Queueing, self.start);
            return None;
        };
        self.spend(TimePart::Retransmission, self.packets.first_on_link(hop, before.arrive));
        self.spend_at_port(hop, before.arrive, TimePart::Queueing);
        Some(before)
    }

    /// Explains what happened at a host before it sent a packet.
    fn explain_sending(&mut self, hop: &Hop) -> Step {
        let (before, arrival) = self.explain_wait_at_host(hop);
        match (before, arrival) {
            (Some(before), _) if before.sent() >= arrival.map_or(Time::ZERO, |arrival| arrival.arrive) => {
                self.explain_port(&before)
            }
            (_, Some(arrival)) => Step::Arrived(arrival),
            _ => Step::Posted,
        }
    }

    /// Explains a packet's wait at the host that sends it. Returns the packet that the host sent before, and the one
    /// whose arrival let it send.
    fn explain_wait_at_host(&mut self, hop: &Hop) -> (Option<Hop>, Option<Hop>) {
        let before = self.packets.last_sent(hop.node, hop.start, hop.start);
        let is_requester = hop.node == self.requester;
        // A requester sends because of data that it receives only if it reads.
        let arrival = if is_requester {
            self.packets.last_data_arrival(hop.node, hop.start)
        } else {
            self.packets.last_arrival(hop.node, hop.start)
        };
        let left = before.map(|before| before.sent());
        let since = left.max(arrival.map(|arrival| arrival.arrive)).unwrap_or(self.start);
        if hop.packet.retransmission && hop.packet.kind != PacketKind::Ack {
            self.spend_on_loss(since);
        } else {
            self.explain_wait(hop, since, is_requester);
        }
        (before, arrival)
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
        let acknowledged = self.packets.last_arrival(hop.node, self.at);
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
