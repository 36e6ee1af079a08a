//! What happened to one flow, packet by packet.

use wiremend_units::{NodeId, Psn, Time};

use crate::{Outcome, TimeoutCause};

/// One thing that happened at one node: a step of a ladder drawing. Records are small and `Copy`, so that a host may
/// write them to a ring without thinking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceRecord {
    /// When it happened; for a transmission, when its first bit left.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// What.
    pub what: TraceWhat,
}

const _: () = assert!(size_of::<TraceRecord>() <= 64, "a trace record stays within a cache line");

/// What a [`TraceRecord`] tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceWhat {
    /// The application handed the flow to the requester.
    Posted {
        /// Application bytes.
        bytes: u64,
    },
    /// A packet left over a link: one record for each link that it crosses.
    Sent {
        /// The packet.
        packet: TracePacket,
        /// The node at the other end of the link.
        to: NodeId,
        /// When its last bit is there.
        arrive: Time,
        /// What the link did to it.
        fate: Fate,
    },
    /// A node dropped an intact packet.
    Dropped {
        /// The packet.
        packet: TracePacket,
        /// Why.
        why: TraceDrop,
    },
    /// The packet was the next in order and was taken.
    Accepted {
        /// Its number.
        psn: Psn,
    },
    /// The packet had been taken before.
    Duplicate {
        /// Its number.
        psn: Psn,
    },
    /// The packet came too early and was discarded: one before it is missing.
    Gap {
        /// Its number.
        psn: Psn,
        /// The number that was expected.
        expected: Psn,
    },
    /// The responder asks for the missing packet. It does so once (IBA 9.7.5.2.8).
    NakSent {
        /// The number that it asks for.
        expected: Psn,
    },
    /// The requester goes back because of a NAK.
    Rewound {
        /// The number that it starts again from.
        psn: Psn,
    },
    /// The requester's retransmission timer fired.
    TimerFired {
        /// The oldest unacknowledged number.
        oldest: Psn,
        /// Why it had to; `None` if only dummies were outstanding.
        cause: Option<TimeoutCause>,
    },
    /// The flow's last work request completed.
    Completed,
    /// The flow failed.
    Failed {
        /// Why.
        outcome: Outcome,
    },
}

/// A packet as a drawing shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracePacket {
    /// A short name of its operation: `WRITE Last`, `ACK`.
    pub name: &'static str,
    /// Its sequence number; for an acknowledgement, the one that it carries.
    pub psn: Psn,
    /// What it is for.
    pub kind: PacketKind,
    /// Whether its number was sent before.
    pub retransmission: bool,
}

/// What a packet is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketKind {
    /// Carries application bytes, or asks for them.
    Data,
    /// Acknowledges.
    Ack,
    /// Asks for a missing packet.
    Nak,
    /// Carries nothing: it is there to show that something before it is missing (JCST §4.2).
    Dummy,
    /// Anything else: congestion notification, link control.
    Control,
}

/// What a link did to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives as it was sent.
    Pass,
    /// It arrives broken and is discarded.
    Corrupt,
}

/// Why a node dropped an intact packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceDrop {
    /// No room.
    Buffer,
    /// It has crossed too many switches.
    Ttl,
}

impl TraceWhat {
    /// Whether this is out of the ordinary, so that a drawing must show it.
    pub const fn is_remarkable(&self) -> bool {
        match self {
            Self::Sent { packet, fate, .. } => {
                matches!(fate, Fate::Corrupt) || matches!(packet.kind, PacketKind::Nak)
            }
            Self::Accepted { .. } | Self::Duplicate { .. } | Self::Gap { .. } => false,
            Self::Posted { .. }
            | Self::Dropped { .. }
            | Self::NakSent { .. }
            | Self::Rewound { .. }
            | Self::TimerFired { .. }
            | Self::Completed
            | Self::Failed { .. } => true,
        }
    }
}

impl TraceDrop {
    /// The reason, for people.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Buffer => "buffer full",
            Self::Ttl => "time to live used up",
        }
    }
}
