//! The interface of an endpoint, and the neighbours on it.

use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::park_timeout;
use std::time::Duration;

use wiremend_dataplane::net::{Interface, neighbour, route_to};

use super::error::PeerError;

/// An interface with the address that an endpoint uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalInterface {
    /// Name.
    pub name: String,
    /// Index.
    pub index: u32,
    /// MAC address.
    pub mac: [u8; 6],
    /// MTU in bytes.
    pub mtu: u32,
    /// The address.
    pub ip: IpAddr,
}

/// Headers from IP to ICRC, at most: IPv6, UDP, BTH, atomic header, ICRC.
const HEADERS_MAX: u32 = 40 + 8 + 12 + 28 + 4;
const MTU_MIN: u16 = 256;
const MTU_MAX: u16 = 4096;
const ETHERNET_BYTES: u32 = 14 + 8;
/// Attempts to find a neighbour, and the time between them.
const ATTEMPTS: u32 = 100;
const STEP: Duration = Duration::from_millis(30);
/// A port at which a datagram makes the kernel look for its receiver.
const DISCARD_PORT: u16 = 9;

impl LocalInterface {
    /// The interface that has this address.
    pub fn with_address(ip: IpAddr) -> Result<Self, PeerError> {
        if ip.is_loopback() {
            return Err(PeerError::SameMachine(ip));
        }
        for listed in Interface::all()? {
            let interface = Interface::by_name(&listed.name)?;
            if interface.addresses.iter().any(|address| address.ip == ip) {
                return Self::new(interface, ip);
            }
        }
        Err(PeerError::NoInterface(ip))
    }

    /// The interface with this name, by its first address of the version of `like`.
    pub fn by_name(name: &str, like: Option<IpAddr>) -> Result<Self, PeerError> {
        let interface = Interface::by_name(name)?;
        let fits = |ip: IpAddr| like.is_none_or(|like| like.is_ipv4() == ip.is_ipv4());
        let found = interface.given_addresses().map(|address| address.ip).find(|ip| fits(*ip));
        let ip = found.ok_or_else(|| PeerError::Io {
            what: format!("use `{name}`"),
            source: std::io::Error::other(format!("it has no address: ip address add ADDRESS/24 dev {name}")),
        })?;
        Self::new(interface, ip)
    }

    /// The interface from which the kernel reaches a peer.
    pub fn towards(remote: IpAddr) -> Result<Self, PeerError> {
        let route = route_to(remote)?;
        if route.is_local {
            return Err(PeerError::SameMachine(remote));
        }
        route.source.map_or(Err(PeerError::NoInterface(remote)), Self::with_address)
    }

    fn new(interface: Interface, ip: IpAddr) -> Result<Self, PeerError> {
        let Interface { name, index, mac, mtu, up, .. } = interface;
        let needs = u32::from(MTU_MIN) + HEADERS_MAX;
        match mac {
            _ if !up => Err(PeerError::Down(name)),
            _ if mtu < needs => Err(PeerError::Mtu { name, has: mtu, needs }),
            Some(mac) => Ok(Self { name, index, mac, mtu, ip }),
            None => Err(PeerError::NotEthernet(name)),
        }
    }

    /// The largest path MTU that fits.
    pub fn path_mtu(&self) -> u16 {
        let mut mtu = MTU_MAX;
        while mtu > MTU_MIN && u32::from(mtu) + HEADERS_MAX > self.mtu {
            mtu /= 2;
        }
        mtu
    }

    /// The longest frame, without FCS.
    pub(crate) fn frame_bytes(&self) -> u32 {
        self.mtu + ETHERNET_BYTES
    }

    /// The MAC address of a peer, or of the router on the way to it.
    pub(crate) fn resolve(&self, remote: IpAddr, stop: &AtomicBool) -> Result<[u8; 6], PeerError> {
        for _ in 0..ATTEMPTS {
            if let Some(mac) = self.known(remote)? {
                return Ok(mac);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(PeerError::Stopped);
            }
            park_timeout(STEP);
        }
        let ip = route_to(remote)?.gateway.unwrap_or(remote);
        Err(PeerError::NoNeighbour { ip, name: self.name.clone() })
    }

    /// The MAC address, if the kernel knows it. Otherwise the kernel looks for it from now on.
    pub(crate) fn known(&self, remote: IpAddr) -> Result<Option<[u8; 6]>, PeerError> {
        let hop = route_to(remote)?.gateway.unwrap_or(remote);
        let mac = neighbour(self.index, hop)?;
        if mac.is_none() {
            // An empty datagram makes the kernel ask for the address; whether it arrives does not matter.
            let _ =
                UdpSocket::bind((self.ip, 0)).and_then(|socket| socket.send_to(&[], (remote, DISCARD_PORT)));
        }
        Ok(mac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_mtu_is_the_largest_that_fits() {
        let interface = |mtu| LocalInterface {
            name: "eth0".to_owned(),
            index: 1,
            mac: [0; 6],
            mtu,
            ip: IpAddr::from([198, 18, 0, 1]),
        };
        let sizes = [348, 1116, 1500, 4187, 4188, 9000].map(|mtu| interface(mtu).path_mtu());
        assert_eq!(sizes, [256, 1024, 1024, 2048, 4096, 4096]);
    }
}
