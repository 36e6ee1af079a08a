//! The header of a protected link in words.

use wiremend_wire::fec;
use wiremend_wire::link::{Ack, HelloKind, Missing, Signal};

/// What a header says, in a line.
pub(super) fn describe(signal: &Signal) -> String {
    let own = match signal {
        Signal::Data { epoch, seq, ordered, again, .. } => format!(
            "link data {seq}, epoch {epoch}{}{}",
            if *ordered { ", ordered" } else { "" },
            if *again { ", again" } else { "" }
        ),
        Signal::Dummy { epoch, next, .. } => format!("link dummy, next {next}, epoch {epoch}"),
        Signal::Loose { epoch, next, .. } => {
            format!("link frame without protection, next {next}, epoch {epoch}")
        }
        Signal::Ack(_) => "link".to_owned(),
        Signal::Missing(missing) => holes(missing),
        Signal::Hello(hello) => {
            let kind = match hello.kind {
                HelloKind::Open => "open",
                HelloKind::Accept => "accept",
                HelloKind::Close => "close",
                HelloKind::Closed => "closed",
                HelloKind::Unknown => "unknown",
            };
            format!("link hello, {kind}, epoch {}, round trip {} ns", hello.epoch, hello.rtt_ns)
        }
    };
    signal.ack().map_or(own.clone(), |ack| format!("{own}, {}", acknowledged(ack)))
}

/// What a header of a link with error correction says.
pub(super) fn describe_fec(signal: fec::Signal) -> String {
    match signal {
        fec::Signal::Data { block, index, parities } => {
            format!("FEC data, block {block}, place {index}, parities {parities}")
        }
        fec::Signal::Parity { block, index, data_count, parities } => {
            let place = index - data_count + 1;
            format!("FEC parity {place} of {parities}, block {block}, frames {data_count}")
        }
    }
}

fn acknowledged(ack: Ack) -> String {
    let pause = if ack.pause { ", pause" } else { "" };
    format!("ACK next {}, epoch {}{pause}", ack.next, ack.epoch)
}

fn holes(missing: &Missing) -> String {
    let holes = missing.holes[..usize::from(missing.hole_count).min(missing.holes.len())].iter();
    holes.fold(format!("link missing up to {}", missing.upto), |text, hole| {
        format!("{text}, {} from {}", hole.len, hole.first)
    })
}
