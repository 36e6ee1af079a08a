//! One `RoCEv2` packet as `wiremend capture decode` prints it.

use std::fmt;

use serde::Serialize;
use wiremend_capture::{Dissected, RocePacket};
use wiremend_wire::{AethRepr, Icrc, Mad, NakCode, Syndrome};

/// The headers of a packet. Absent ones are null.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "bits of the header")]
pub(super) struct Roce {
    operation: String,
    opcode: u8,
    qp: u32,
    psn: u32,
    ack_request: bool,
    solicited: bool,
    migrated: bool,
    partition_key: u16,
    fecn: bool,
    becn: bool,
    source_port: u16,
    dscp: u8,
    ecn: u8,
    ip_id: Option<u16>,
    vlans: Vec<u16>,
    tunnel: Option<&'static str>,
    aeth: Option<Aeth>,
    /// Length of the whole message, from the RETH.
    reth_bytes: Option<u32>,
    reth_address: Option<u64>,
    reth_key: Option<u32>,
    immediate: Option<u32>,
    invalidate_key: Option<u32>,
    atomic: Option<Atomic>,
    atomic_original: Option<u64>,
    source_qp: Option<u32>,
    queue_key: Option<u32>,
    xrc_srq: Option<u32>,
    flush: Option<u32>,
    /// Class and message of a management datagram.
    mad: Option<String>,
    payload_bytes: usize,
    icrc: &'static str,
    /// Payload, pad or ICRC are incomplete.
    truncated: bool,
}

#[derive(Serialize)]
struct Aeth {
    verdict: String,
    syndrome: u8,
    /// Further messages that the requester may send; null if credits are not used.
    credits: Option<u32>,
    msn: u32,
}

#[derive(Serialize)]
struct Atomic {
    address: u64,
    key: u32,
    swap_or_add: u64,
    compare: u64,
}

impl Roce {
    pub(super) fn new(packet: &RocePacket<'_>, dissected: &Dissected<'_>) -> Self {
        let (bth, ip, link) = (&packet.bth, dissected.ip, &dissected.link);
        let mad = packet.deth.filter(|_| bth.dest_qp.get() <= 1).and_then(|_| Mad::parse(packet.payload));
        Self {
            operation: operation(packet),
            opcode: packet.bth.opcode.byte(),
            qp: bth.dest_qp.get(),
            psn: bth.psn.get(),
            ack_request: bth.ack_request,
            solicited: bth.solicited,
            migrated: bth.migrated,
            partition_key: bth.partition_key,
            fecn: bth.fecn,
            becn: bth.becn,
            source_port: packet.source_port,
            dscp: ip.map_or(0, |ip| ip.dscp),
            ecn: ip.map_or(0, |ip| ip.ecn),
            ip_id: ip.and_then(|ip| ip.id),
            vlans: link.vlans.into_iter().flatten().collect(),
            tunnel: link.tunnel.map(wiremend_capture::Tunnel::name),
            aeth: packet.aeth.map(|AethRepr { syndrome, msn }| Aeth {
                verdict: verdict(syndrome),
                syndrome: syndrome.to_byte(),
                credits: match syndrome {
                    Syndrome::Ack { credits } => credits.count(),
                    _ => None,
                },
                msn,
            }),
            reth_bytes: packet.reth.map(|reth| reth.dma_len),
            reth_address: packet.reth.map(|reth| reth.address),
            reth_key: packet.reth.map(|reth| reth.remote_key),
            immediate: packet.immediate,
            invalidate_key: packet.invalidate_key,
            atomic: packet.atomic.map(|atomic| Atomic {
                address: atomic.address,
                key: atomic.remote_key,
                swap_or_add: atomic.swap_or_add,
                compare: atomic.compare,
            }),
            atomic_original: packet.atomic_ack.map(|ack| ack.original),
            source_qp: packet.deth.map(|deth| deth.source_qp.get()),
            queue_key: packet.deth.map(|deth| deth.queue_key),
            xrc_srq: packet.xrc_srq,
            flush: packet.feth,
            mad: mad.map(|mad| mad.name()),
            payload_bytes: packet.payload_len,
            icrc: match packet.icrc {
                Icrc::Good => "good",
                Icrc::Bad => "bad",
                Icrc::Unchecked => "unchecked",
            },
            truncated: packet.icrc == Icrc::Unchecked,
        }
    }

    pub(super) fn has_bad_icrc(&self) -> bool {
        self.icrc == "bad"
    }

    /// Writes the extension headers.
    fn extensions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Aeth { verdict, msn, credits, .. }) = &self.aeth {
            write!(f, "  AETH {verdict} MSN {msn}")?;
            if let Some(credits) = credits {
                write!(f, " credits {credits}")?;
            }
        }
        if let (Some(len), Some(address), Some(key)) = (self.reth_bytes, self.reth_address, self.reth_key) {
            write!(f, "  RETH {len} at {address:#x} key {key:#010x}")?;
        }
        if let Some(Atomic { address, key, swap_or_add, compare }) = &self.atomic {
            write!(f, "  atomic at {address:#x} key {key:#010x} operand {swap_or_add} compare {compare}")?;
        }
        if let (Some(queue_key), Some(source)) = (self.queue_key, self.source_qp) {
            write!(f, "  DETH source QP {source:#x} Q_Key {queue_key:#010x}")?;
        }
        let words = [
            ("original", self.atomic_original.map(|word| word.to_string())),
            ("immediate", self.immediate.map(|word| format!("{word:#010x}"))),
            ("invalidate", self.invalidate_key.map(|word| format!("{word:#010x}"))),
            ("XRC SRQ", self.xrc_srq.map(|word| format!("{word:#x}"))),
            ("FETH", self.flush.map(|word| format!("{word:#x}"))),
            ("MAD", self.mad.clone()),
        ];
        words
            .into_iter()
            .try_for_each(|(name, word)| word.map_or(Ok(()), |word| write!(f, "  {name} {word}")))
    }
}

impl fmt::Display for Roce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<12}  QP {:#08x}  PSN {}", self.operation, self.qp, self.psn)?;
        if self.ack_request {
            f.write_str("  AckReq")?;
        }
        self.extensions(f)?;
        write!(f, "  port {}", self.source_port)?;
        if self.dscp != 0 {
            write!(f, "  DSCP {}", self.dscp)?;
        }
        if self.ecn != 0 {
            write!(f, "  {}", ["", "ECT(1)", "ECT(0)", "CE"][usize::from(self.ecn & 0b11)])?;
        }
        if self.partition_key != 0xFFFF {
            write!(f, "  P_Key {:#06x}", self.partition_key)?;
        }
        if let Some(tunnel) = self.tunnel {
            write!(f, "  in {tunnel}")?;
        }
        write!(f, "  payload {}  ICRC {}", self.payload_bytes, self.icrc)?;
        f.write_str(if self.truncated { " (truncated)" } else { "" })
    }
}

/// The operation; an acknowledgement is named by what it says.
fn operation(packet: &RocePacket<'_>) -> String {
    let name = packet.bth.opcode.to_string();
    match packet.aeth.map(|aeth| aeth.syndrome) {
        Some(Syndrome::Nak(_)) if name.ends_with("ACK") => name.replace("ACK", "NAK"),
        Some(Syndrome::Rnr { .. }) if name.ends_with("ACK") => name.replace("ACK", "RNR NAK"),
        _ => name,
    }
}

fn verdict(syndrome: Syndrome) -> String {
    match syndrome {
        Syndrome::Ack { .. } => "ACK".to_owned(),
        Syndrome::Rnr { timer } => format!("RNR NAK (wait {})", timer.span()),
        Syndrome::Nak(code) => format!("NAK ({})", reason(code)),
        Syndrome::Reserved(byte) => format!("reserved {byte:#04x}"),
    }
}

const fn reason(code: NakCode) -> &'static str {
    match code {
        NakCode::PsnSequence => "PSN sequence error",
        NakCode::InvalidRequest => "invalid request",
        NakCode::RemoteAccess => "remote access error",
        NakCode::RemoteOperational => "remote operational error",
        NakCode::InvalidRdRequest => "invalid RD request",
    }
}
