//! Trace of one flow, packet by packet.

use wiremend_units::{HostId, NodeId, Psn, Span, Time};

use crate::{FlowOutcome, TimeoutCause};

/// Trace of one flow: every event of its connection from its post to its end.
#[derive(Clone, Default, Debug)]
pub struct FlowTrace {
    /// The events.
    pub records: Vec<TraceRecord>,
    /// Pauses of the ports of all nodes, in order of time.
    pub pauses: Vec<TracedPause>,
    /// Frames of other connections on all links from the post to the end, if they were asked for. Each is
    /// [`TraceEvent::Sent`].
    pub others: Vec<TraceRecord>,
    /// Frames of other connections beyond the limit.
    pub others_left_out: u64,
    /// Hosts of the network. Their nodes come before those of switches.
    pub hosts: u32,
    /// Records and pauses beyond the limit, which were not kept.
    pub left_out: u64,
}

/// A pause of one class at the port from `node` to `to`. It replaces the last one of this class and port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedPause {
    /// The node that may not send.
    pub node: NodeId,
    /// Node at the other end of the link.
    pub to: NodeId,
    /// The class.
    pub class: u8,
    /// When the port was told.
    pub told: Time,
    /// The first instant of the pause.
    pub from: Time,
    /// The first instant after the pause; [`Time::MAX`] until resumed.
    pub until: Time,
}

/// One event at one node: a step of a ladder diagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceRecord {
    /// Time of the event; for a transmission, when its first bit left.
    pub time: Time,
    /// Node of the event.
    pub node: NodeId,
    /// The event.
    pub event: TraceEvent,
}

/// Event of a [`TraceRecord`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceEvent {
    /// The application posted the flow to the requester.
    Posted {
        /// Payload bytes.
        bytes: u64,
    },
    /// A packet was sent over a link: one record for each link that it crosses.
    Sent {
        /// The packet.
        packet: TracePacket,
        /// Node at the other end of the link.
        to: NodeId,
        /// When its last bit arrives.
        arrive: Time,
        /// Time in which it occupies the link.
        wire: Span,
        /// Since when the port has sent without a break.
        busy_since: Time,
        /// What the link did to it.
        fate: Fate,
    },
    /// The requester waits because of its rate.
    Paced {
        /// When the next packet may leave.
        until: Time,
    },
    /// A node dropped an intact packet.
    Dropped {
        /// The packet.
        packet: TracePacket,
        /// Reason of the drop.
        reason: TraceDropReason,
    },
    /// The packet was the next in order and was accepted.
    Accepted {
        /// Its PSN.
        psn: Psn,
    },
    /// The packet had been accepted before.
    Duplicate {
        /// Its PSN.
        psn: Psn,
    },
    /// The packet was out of order and was discarded: one before it is missing.
    Gap {
        /// Its PSN.
        psn: Psn,
        /// The expected PSN.
        expected: Psn,
    },
    /// The responder sends a NAK for the missing packet. It does so once (IBA 9.7.5.2.8).
    NakSent {
        /// The PSN in the NAK.
        expected: Psn,
    },
    /// The requester goes back because of a NAK.
    Rewound {
        /// The PSN from which it starts again.
        psn: Psn,
    },
    /// The congestion control has set the window.
    Window {
        /// Packets that may be outstanding.
        packets: u32,
    },
    /// The requester's retransmission timer fired.
    TimerFired {
        /// The oldest unacknowledged PSN.
        oldest: Psn,
        /// Cause of the timeout; `None` if only dummies were outstanding.
        cause: Option<TimeoutCause>,
    },
    /// The flow's last work request completed.
    Completed,
    /// The flow failed.
    Failed {
        /// Reason of the failure.
        outcome: FlowOutcome,
    },
}

/// A packet in a ladder diagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracePacket {
    /// Short name of its operation: `WRITE Last`, `ACK`.
    pub name: &'static str,
    /// Its PSN; for an acknowledgement, the PSN in it.
    pub psn: Psn,
    /// Its purpose.
    pub kind: PacketKind,
    /// Whether its PSN was sent before.
    pub retransmission: bool,
    /// Number that the sending host gave it (IP identification).
    pub number: u16,
    /// Its traffic class.
    pub class: u8,
    /// Bytes of its frame, MAC header to FCS.
    pub bytes: u16,
    /// The host that sends it.
    pub src: HostId,
    /// The host to which it goes.
    pub dst: HostId,
}

/// Purpose of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketKind {
    /// Carries payload, or requests it.
    Data,
    /// Acknowledges packets.
    Ack,
    /// Requests a missing packet.
    Nak,
    /// Carries no payload and reveals a gap before it (JCST §4.2).
    Dummy,
    /// Other packets: congestion notification, link control.
    Control,
}

/// Effect of a link on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives as it was sent.
    Pass,
    /// It arrives corrupted and is discarded.
    Corrupt,
    /// The link has failed, and it does not arrive.
    Failed,
}

/// Reason for which a node dropped an intact packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceDropReason {
    /// The buffer was full.
    Buffer,
    /// The TTL expired.
    Ttl,
    /// The switch had no path to the destination.
    NoRoute,
}

impl TraceEvent {
    /// Whether the event is notable, so that a drawing must show it.
    pub const fn is_notable(&self) -> bool {
        match self {
            Self::Sent { packet, fate, .. } => {
                !matches!(fate, Fate::Pass) || matches!(packet.kind, PacketKind::Nak)
            }
            Self::Accepted { .. }
            | Self::Duplicate { .. }
            | Self::Gap { .. }
            | Self::Paced { .. }
            | Self::Window { .. } => false,
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

impl TraceDropReason {
    /// Description for readers.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Buffer => "buffer full",
            Self::Ttl => "TTL expired",
            Self::NoRoute => "no path to the destination",
        }
    }
}
