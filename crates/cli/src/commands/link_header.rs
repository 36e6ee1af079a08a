//! Link headers as text.

use wiremend_wire::fec;
use wiremend_wire::link::{Ack, HelloKind, LinkHeader, Missing};

/// Renders a link header as one line.
pub(super) fn describe(signal: &LinkHeader) -> String {
    let own = match signal {
        LinkHeader::Data { epoch, seq, ordered, retransmitted, .. } => format!(
            "link data {seq}, epoch {epoch}{}{}",
            if *ordered { ", ordered" } else { "" },
            if *retransmitted { ", retransmitted" } else { "" }
        ),
        LinkHeader::Dummy { epoch, next, .. } => format!("link dummy, next {next}, epoch {epoch}"),
        LinkHeader::Unprotected { epoch, next, .. } => {
            format!("link frame without protection, next {next}, epoch {epoch}")
        }
        LinkHeader::Ack(_) => "link".to_owned(),
        LinkHeader::Missing(missing) => holes(missing),
        LinkHeader::Hello(hello) => {
            let kind = match hello.kind {
                HelloKind::Open => "open",
                HelloKind::Accept => "accept",
                HelloKind::Close => "close",
                HelloKind::Closed => "closed",
                HelloKind::Unknown => "unknown",
                HelloKind::Leave => "leave",
                HelloKind::Challenge => "challenge",
            };
            format!("link hello, {kind}, epoch {}, round trip {} ns", hello.epoch, hello.rtt_ns)
        }
    };
    signal.ack().map_or(own.clone(), |ack| format!("{own}, {}", acknowledged(ack)))
}

/// Renders a header of a link with FEC.
pub(super) fn describe_fec(signal: fec::FecHeader) -> String {
    match signal {
        fec::FecHeader::Data { block, index, parities } => {
            format!("FEC data, block {block}, index {index}, parities {parities}")
        }
        fec::FecHeader::Parity { block, index, data_count, parities } => {
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
