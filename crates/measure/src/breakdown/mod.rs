//! Where the time of one flow went.
//!
//! The path to the flow's end is followed backwards: from the completion to the packet that caused it, over the
//! links that this packet crossed, to what made its host send it, and so on until the post. Each step explains
//! the time between two events, so the parts add up to the completion time exactly.

mod intervals;
mod packets;
mod path;

use std::collections::BTreeMap;

use wiremend_units::Span;

use crate::trace::FlowTrace;

keyed! {
    /// What a flow's time was spent on.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    TimePart {
        /// Packets occupied a link for the first time.
        Serialisation = "serialisation",
        /// Bits were on their way: link delays and the latencies of switches and hosts.
        Propagation = "propagation",
        /// Packets were queued behind others, in ports and in the buffers of protected links.
        Queueing = "queueing",
        /// Packets waited at a port whose class was paused.
        Pauses = "pauses",
        /// A loss was noticed without a timer, and packets were sent again.
        Retransmission = "retransmission",
        /// Nothing of the flow moved until a retransmission timer fired.
        Timers = "timers",
        /// The window was full: the requester waited for acknowledgements.
        Window = "window",
        /// The rate of the congestion control held packets back.
        Pacing = "pacing",
        /// A host had nothing to send or had not processed what it received.
        Application = "application",
        /// Ports waited for each other in a cycle until the run ended.
        Deadlock = "deadlock",
        /// Nothing reached or left the requester until the run ended.
        Unfinished = "unfinished",
    }
}

impl TimePart {
    /// Description for readers.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Serialisation => "packets occupied a link for the first time",
            Self::Propagation => "delays of links, switches and hosts",
            Self::Queueing => "packets were queued behind others",
            Self::Pauses => "packets waited at a paused port",
            Self::Retransmission => "a loss was noticed, and packets were sent again",
            Self::Timers => "nothing moved until a retransmission timer fired",
            Self::Window => "a full window waited for acknowledgements",
            Self::Pacing => "the rate of the congestion control held packets back",
            Self::Application => "a host had nothing to send, or processed what it received",
            Self::Deadlock => "ports waited for each other in a cycle",
            Self::Unfinished => "nothing reached or left the requester until the run ended",
        }
    }
}

/// The parts of a flow's completion time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Breakdown {
    parts: [Span; TimePart::ALL.len()],
}

impl Breakdown {
    /// Explains a flow's time. Returns `None` if the trace has no post or no end, or is not complete.
    pub fn new(trace: &FlowTrace) -> Option<Self> {
        path::breakdown(trace)
    }

    /// Explains what each packet of a trace waited for before it left a node, by the number of its record.
    pub fn waits(trace: &FlowTrace) -> BTreeMap<usize, Self> {
        path::waits(trace)
    }

    /// The time of a part.
    pub const fn get(&self, part: TimePart) -> Span {
        self.parts[part as usize]
    }

    /// The sum of all parts: the time from the post to the end.
    pub fn total(&self) -> Span {
        self.parts.iter().fold(Span::ZERO, |sum, part| sum + *part)
    }

    /// All parts that took time, the longest first.
    pub fn longest_first(&self) -> Vec<(TimePart, Span)> {
        let parts = TimePart::ALL.map(|part| (part, self.get(part)));
        let mut parts: Vec<_> = parts.into_iter().filter(|(_, span)| *span > Span::ZERO).collect();
        parts.sort_by_key(|(_, span)| std::cmp::Reverse(*span));
        parts
    }

    fn add(&mut self, part: TimePart, span: Span) {
        self.parts[part as usize] += span;
    }
}
