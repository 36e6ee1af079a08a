//! What is written beside the lanes.

use wiremend_measure::{PacketKind, TimeoutCause, TracePacket, TraceWhat};

use crate::human;
use crate::markup::shortened;

/// How much attention a note asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Weight {
    Plain,
    Hint,
    Bad,
}

/// What a record says beside its lane, if it is not an arrow.
pub(super) fn note(what: &TraceWhat) -> Option<(String, Weight)> {
    Some(match what {
        TraceWhat::Posted { bytes } => (format!("posts {}", human::bytes(*bytes as f64)), Weight::Plain),
        TraceWhat::Sent { .. } | TraceWhat::Accepted { .. } => return None,
        TraceWhat::Dropped { packet, why } => {
            (format!("drops {}: {}", label(packet), why.reason()), Weight::Bad)
        }
        TraceWhat::Duplicate { psn } => (format!("{psn} again"), Weight::Plain),
        TraceWhat::Gap { psn, expected } => (format!("discards {psn}, expects {expected}"), Weight::Plain),
        TraceWhat::NakSent { expected } => (format!("asks for {expected}, once"), Weight::Hint),
        TraceWhat::Rewound { psn } => (format!("goes back to {psn}"), Weight::Hint),
        TraceWhat::TimerFired { oldest, cause: None } => {
            (format!("timer fires at dummy {oldest}"), Weight::Hint)
        }
        TraceWhat::TimerFired { oldest, cause: Some(cause) } => {
            (format!("timer fires at {oldest}: {}", lost(*cause)), Weight::Bad)
        }
        TraceWhat::Completed => ("completes".to_owned(), Weight::Plain),
        TraceWhat::Failed { outcome } => (format!("fails: {outcome}"), Weight::Bad),
    })
}

/// What an arrow is called: `WRITE Last 12`.
pub(super) fn label(packet: &TracePacket) -> String {
    format!("{} {}", packet.name, packet.psn)
}

/// The same within `room` characters: rather the number than the name.
pub(super) fn fitted_label(packet: &TracePacket, room: usize) -> String {
    let psn = packet.psn.to_string();
    let name = shortened(packet.name, room.saturating_sub(psn.len() + 1));
    shortened(&format!("{name} {psn}"), room)
}

/// A time, given in picoseconds since the start: after a cut, only how far it is from the cut's end.
pub(super) fn time(since_start_ps: u64, since_cut_ps: Option<u64>) -> String {
    match since_cut_ps {
        None | Some(0) => human::time_ns(since_start_ps as f64 / 1e3),
        Some(since) => format!("+{}", human::time_ns(since as f64 / 1e3)),
    }
}

/// The name of a kind of packet in the legend.
pub(super) const fn kind(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data",
        PacketKind::Ack => "ACK",
        PacketKind::Nak => "NAK",
        PacketKind::Dummy => "dummy",
        PacketKind::Control => "control",
    }
}

const fn lost(cause: TimeoutCause) -> &'static str {
    match cause {
        TimeoutCause::TailPacket => "tail packet lost",
        TimeoutCause::TailAck => "tail ACK lost",
        TimeoutCause::Nak => "NAK lost",
        TimeoutCause::Twice => "lost twice",
        TimeoutCause::Other => "other cause",
    }
}
