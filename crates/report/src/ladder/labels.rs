//! Labels of a ladder diagram.

use wiremend_measure::{PacketKind, TimeoutCause, TraceEvent, TracePacket};

use crate::human;
use crate::markup::truncate;

/// Emphasis of a note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Emphasis {
    Plain,
    Hint,
    Bad,
}

/// Note beside the lane for a record that is not an arrow.
pub(crate) fn note(event: &TraceEvent) -> Option<(String, Emphasis)> {
    Some(match event {
        TraceEvent::Posted { bytes } => (format!("posts {}", human::bytes(*bytes as f64)), Emphasis::Plain),
        TraceEvent::Sent { .. }
        | TraceEvent::Accepted { .. }
        | TraceEvent::Paced { .. }
        | TraceEvent::Window { .. } => return None,
        TraceEvent::Dropped { packet, reason } => {
            (format!("drops {}: {}", label(packet), reason.describe()), Emphasis::Bad)
        }
        TraceEvent::Duplicate { psn } => (format!("duplicate {psn}"), Emphasis::Plain),
        TraceEvent::Gap { psn, expected } => (format!("discards {psn}, expects {expected}"), Emphasis::Plain),
        TraceEvent::NakSent { expected } => (format!("sends NAK for {expected}"), Emphasis::Hint),
        TraceEvent::Rewound { psn } => (format!("goes back to {psn}"), Emphasis::Hint),
        TraceEvent::TimerFired { oldest, cause: None } => {
            (format!("timer fires at dummy {oldest}"), Emphasis::Hint)
        }
        TraceEvent::TimerFired { oldest, cause: Some(cause) } => {
            (format!("timer fires at {oldest}: {}", lost(*cause)), Emphasis::Bad)
        }
        TraceEvent::Completed => ("completes".to_owned(), Emphasis::Plain),
        TraceEvent::Failed { outcome } => (format!("fails: {outcome}"), Emphasis::Bad),
    })
}

/// Label of an arrow: `WRITE Last 12`.
pub(crate) fn label(packet: &TracePacket) -> String {
    format!("{} {}", packet.name, packet.psn)
}

/// The same within `room` characters. The name is shortened first, then the number.
pub(super) fn fitted_label(packet: &TracePacket, room: usize) -> String {
    let psn = packet.psn.to_string();
    let name = truncate(packet.name, room.saturating_sub(psn.len() + 1));
    truncate(&format!("{name} {psn}"), room)
}

/// A time in picoseconds since the start, or since the end of the last cut.
pub(super) fn time(since_start_ps: u64, since_cut_ps: Option<u64>) -> String {
    match since_cut_ps {
        None | Some(0) => human::time_ns(since_start_ps as f64 / 1e3),
        Some(since) => format!("+{}", human::time_ns(since as f64 / 1e3)),
    }
}

/// Name of a packet kind in the legend.
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
        TimeoutCause::Retransmission => "retransmission lost",
        TimeoutCause::Other => "other cause",
    }
}
