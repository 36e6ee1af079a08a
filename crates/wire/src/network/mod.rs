//! The envelopes around a transport packet: Ethernet, IP and UDP; and TCP, which is one.
//!
//! An envelope's value holds neither the kind nor the length of what it carries: both follow from the content, and are
//! handed to `emit` and back from `parse`. So a value cannot contradict what it is wrapped around.

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

/// What an envelope carries: the bytes at hand, and how many its header promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Body<'a> {
    /// The bytes at hand, without any trailer of the layer below; never more than `len`.
    pub bytes: &'a [u8],
    /// The length that the header states.
    pub len: usize,
}

impl<'a> Body<'a> {
    fn new(rest: &'a [u8], len: usize) -> Self {
        Self { bytes: &rest[..len.min(rest.len())], len }
    }

    /// The capture ended before the packet did.
    pub const fn is_truncated(&self) -> bool {
        self.bytes.len() < self.len
    }
}
