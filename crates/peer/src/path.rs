//! The headers below the transport on the way to a peer.

use std::net::IpAddr;

use wiremend_units::QpNum;
use wiremend_wire::{EthernetRepr, IpRepr, Ipv4Repr, Ipv6Repr, MacAddr, TrafficClass, VlanTag, Vlans};

/// Addresses of both ends and the class of service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// MAC address of this end.
    pub local_mac: MacAddr,
    /// MAC address of the peer, or of the router on the way to it.
    pub remote_mac: MacAddr,
    /// IP address of this end.
    pub local_ip: IpAddr,
    /// IP address of the peer, of the same version.
    pub remote_ip: IpAddr,
    /// VLAN tag.
    pub vlan: Option<VlanTag>,
    /// DSCP and ECN of data packets.
    pub class: TrafficClass,
    /// UDP source port.
    pub source_port: u16,
}

const TTL: u8 = 64;

impl Path {
    /// The UDP source port of a queue pair: constant, in the range for this purpose, different for most pairs.
    pub const fn source_port_of(pair: QpNum) -> u16 {
        let number = pair.get();
        0xC000 | ((number ^ number >> 10) & 0x3FFF) as u16
    }

    /// Returns whether both addresses have the same IP version.
    pub const fn is_consistent(&self) -> bool {
        self.local_ip.is_ipv4() == self.remote_ip.is_ipv4()
    }

    pub(crate) fn ethernet(&self) -> EthernetRepr {
        let vlans = self.vlan.map_or(Vlans::Untagged, Vlans::Single);
        EthernetRepr { destination: self.remote_mac, source: self.local_mac, vlans }
    }

    #[inline]
    pub(crate) fn ip(&self, identification: u16) -> IpRepr {
        match (self.local_ip, self.remote_ip) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => IpRepr::V4(Ipv4Repr {
                source,
                destination,
                class: self.class,
                identification,
                dont_fragment: true,
                ttl: TTL,
            }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => IpRepr::V6(Ipv6Repr {
                source,
                destination,
                class: self.class,
                flow_label: u32::from(self.source_port),
                hop_limit: TTL,
            }),
            _ => panic!("both ends of a path have the same IP version"),
        }
    }
}
