//! Headers below the transport: Ethernet, IP and UDP; and TCP.
//!
//! A header value has neither the type nor the length of its payload: `emit` takes them and `parse` returns
//! them, so that a value cannot contradict its payload.

mod class;
mod ethernet;
mod ip;
mod ipv4;
mod ipv6;
mod tcp;
mod udp;
mod vlan;

pub use class::{Ecn, TrafficClass};
pub use ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, EthernetRepr};
pub use ip::{IpRepr, IpVersion};
pub use ipv4::Ipv4Repr;
pub use ipv6::Ipv6Repr;
pub use tcp::{PROTOCOL_TCP, TcpFlags, TcpRepr};
pub use udp::UdpRepr;
pub use vlan::{Tpid, VlanTag, Vlans};

pub(crate) use ip::header_len as ip_header_len;
pub(crate) use ipv4::{MIN_HEADER_BYTES as IPV4_BYTES, PROTOCOL_UDP};
pub(crate) use ipv6::HEADER_BYTES as IPV6_BYTES;

/// Payload of a header: the available bytes and the length in the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Body<'a> {
    /// Available bytes, at most `len`, without a trailer of the layer below.
    pub bytes: &'a [u8],
    /// Length in the header.
    pub len: usize,
}

impl<'a> Body<'a> {
    fn new(rest: &'a [u8], len: usize) -> Self {
        Self { bytes: &rest[..len.min(rest.len())], len }
    }

    /// Whether the capture truncated the packet.
    pub const fn is_truncated(&self) -> bool {
        self.bytes.len() < self.len
    }
}
