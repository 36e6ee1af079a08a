//! The compact form of a packet that the analysis keeps.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::net::IpAddr;

use wiremend_units::Psn;
use wiremend_wire::{NakCode, Opcode, Syndrome};

use crate::packet::RocePacket;
use crate::trail::Trail;

/// A table with a fixed hasher, so that runs do not differ. It is never iterated.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// An index of the host table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct HostIndex(pub(crate) u32);

/// An index of the taps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TapIndex(pub(crate) u16);

/// Packets from one host to one queue pair of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Stream {
    pub(crate) tap: TapIndex,
    pub(crate) from: HostIndex,
    pub(crate) to: HostIndex,
    pub(crate) qpn: u32,
}

/// One packet of a reliable connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// Number of the frame in its file, from 1, as Wireshark counts.
    pub(crate) frame: u64,
    pub(crate) time_ns: i64,
    pub(crate) stream: Stream,
    pub(crate) psn: Psn,
    pub(crate) kind: Kind,
    pub(crate) op: Opcode,
    /// IP identification; 0 in IPv6.
    pub(crate) ip_id: u16,
    pub(crate) source_port: u16,
    pub(crate) ack_request: bool,
    pub(crate) congestion: bool,
    pub(crate) payload_len: u32,
    /// Length of a READ.
    pub(crate) dma_len: u32,
    /// Requests: index of the flow. Answers: number of flows that had started before. Assigned before the
    /// analysis.
    pub(crate) flow: u32,
    /// Assigned before the analysis.
    pub(crate) trail: Trail,
}

/// What a packet is to the two state machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Request,
    Ack,
    /// A NAK for a gap.
    Nak,
    RnrNak,
    /// A NAK after which the queue pair is in error.
    FatalNak(NakCode),
    ReadResponse,
    AtomicAck,
    Cnp,
}

impl Record {
    /// No flow.
    pub(crate) const NO_FLOW: u32 = u32::MAX;
}

/// What a packet is; `None` for services other than a reliable connection.
pub(crate) fn kind(packet: &RocePacket<'_>) -> Option<(Opcode, Kind)> {
    let opcode = packet.opcode()?;
    let kind = match opcode {
        Opcode::Cnp => Kind::Cnp,
        Opcode::UcSendOnly | Opcode::UdSendOnly | Opcode::UdSendOnlyImm => return None,
        Opcode::AtomicAcknowledge => Kind::AtomicAck,
        Opcode::Acknowledge => match packet.aeth?.syndrome {
            Syndrome::Ack { .. } => Kind::Ack,
            Syndrome::Rnr { .. } => Kind::RnrNak,
            Syndrome::Nak(NakCode::PsnSequence) => Kind::Nak,
            Syndrome::Nak(code) => Kind::FatalNak(code),
            Syndrome::Reserved(_) => return None,
        },
        Opcode::ReadRequest => packet.reth.map(|_| Kind::Request)?,
        opcode if opcode.is_read_response() => Kind::ReadResponse,
        _ => Kind::Request,
    };
    Some((opcode, kind))
}

/// Numbers addresses.
#[derive(Default)]
pub(crate) struct Hosts {
    indices: Table<IpAddr, HostIndex>,
    addresses: Vec<IpAddr>,
}

/// Most addresses of a capture.
const HOSTS_MAX: usize = 1 << 16;

impl Hosts {
    /// The index of an address; `None` if the table is full.
    pub(crate) fn index(&mut self, address: IpAddr) -> Option<HostIndex> {
        if let Some(index) = self.indices.get(&address) {
            return Some(*index);
        }
        if self.addresses.len() == HOSTS_MAX {
            return None;
        }
        let index = HostIndex(self.addresses.len() as u32);
        self.addresses.push(address);
        self.indices.insert(address, index);
        Some(index)
    }

    /// The index of an address that was seen.
    pub(crate) fn find(&self, address: IpAddr) -> Option<HostIndex> {
        self.indices.get(&address).copied()
    }

    pub(crate) fn address(&self, index: HostIndex) -> IpAddr {
        self.addresses[index.0 as usize]
    }
}
