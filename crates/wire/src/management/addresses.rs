//! The private data of a request of Linux's RDMA CM: addresses of both ends (IBA annex A11).

use std::net::IpAddr;

use super::cm_message::{gid_of, ip_of};

/// Addresses of a connection over the RDMA CM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmAddresses {
    /// Port of the sender.
    pub source_port: u16,
    /// Address of the sender.
    pub source: IpAddr,
    /// Address of the receiver.
    pub destination: IpAddr,
}

const VERSION_SHIFT: u32 = 4;

impl CmAddresses {
    /// Length of the addresses.
    pub const BYTES: usize = 36;
    /// Service identifiers of the TCP port space: `struct rdma_cm_id` with `RDMA_PS_TCP`.
    const TCP_SPACE: u64 = 0x0106 << 16;

    /// The service identifier of a port.
    pub const fn service_of(port: u16) -> u64 {
        Self::TCP_SPACE | port as u64
    }

    /// The port of a service identifier.
    pub const fn port_of(service: u64) -> Option<u16> {
        if service & !0xFFFF == Self::TCP_SPACE { Some(service as u16) } else { None }
    }

    /// Parses the addresses. Both have the same version.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<{ Self::BYTES }>()?;
        let source_port = u16::from_be_bytes([bytes[2], bytes[3]]);
        let of = |at: usize| {
            let raw: [u8; 16] = *bytes[at..].first_chunk()?;
            match bytes[1] >> VERSION_SHIFT {
                4 => Some(IpAddr::from(*raw[12..].first_chunk::<4>()?)),
                6 => Some(IpAddr::from(raw)),
                _ => None,
            }
        };
        Some(Self { source_port, source: of(4)?, destination: of(20)? }).filter(|_| bytes[0] == 0)
    }

    /// Writes the addresses.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[1] = if self.source.is_ipv4() { 4 } else { 6 } << VERSION_SHIFT;
        bytes[2..4].copy_from_slice(&self.source_port.to_be_bytes());
        for (at, ip) in [(4, self.source), (20, self.destination)] {
            match ip {
                IpAddr::V4(ip) => bytes[at + 12..at + 16].copy_from_slice(&ip.octets()),
                IpAddr::V6(_) => bytes[at..at + 16].copy_from_slice(&gid_of(ip)),
            }
        }
        debug_assert_eq!(ip_of(gid_of(self.source)), self.source, "a GID has the address");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_layout_of_linux() {
        let addresses = CmAddresses {
            source_port: 0x1234,
            source: IpAddr::from([198, 18, 0, 2]),
            destination: IpAddr::from([198, 18, 0, 1]),
        };
        let mut expected = [0; CmAddresses::BYTES];
        expected[1] = 0x40;
        expected[2..4].copy_from_slice(&[0x12, 0x34]);
        expected[16..20].copy_from_slice(&[198, 18, 0, 2]);
        expected[32..36].copy_from_slice(&[198, 18, 0, 1]);
        assert_eq!(addresses.to_bytes(), expected);
        let v6 = CmAddresses {
            source: "fd00::2".parse().unwrap(),
            destination: "fd00::1".parse().unwrap(),
            ..addresses
        };
        for addresses in [addresses, v6] {
            assert_eq!(CmAddresses::parse(&addresses.to_bytes()), Some(addresses));
        }
        for (at, wrong) in [(0, 1), (1, 0x50)] {
            let mut bytes = expected;
            bytes[at] = wrong;
            assert_eq!(CmAddresses::parse(&bytes), None);
        }
        assert_eq!(CmAddresses::parse(&expected[..35]), None);
        assert_eq!(CmAddresses::service_of(7174), 0x0106_1C06);
        assert_eq!(CmAddresses::port_of(0x0106_1C06), Some(7174));
        assert_eq!(CmAddresses::port_of(0x0107_1C06), None);
    }
}
