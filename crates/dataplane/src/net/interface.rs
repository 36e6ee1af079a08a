//! State of a network interface.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread::park_timeout;
use std::time::Duration;

use super::NetError;
use crate::sys::ioctl::{Ethtool, NAME_MAX};
use crate::sys::netlink::{Attributes, Message, Reply, Socket, read_u16, read_u32, read_u64};

/// State of an interface in the calling thread's network namespace at the time of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the kernel")]
pub struct Interface {
    /// Name.
    pub name: String,
    /// Interface index, unique in the namespace.
    pub index: u32,
    /// Link-layer type (`ARPHRD_…`).
    pub link_type: u16,
    /// MAC address, if it has six bytes.
    pub mac: Option<[u8; 6]>,
    /// MTU in bytes.
    pub mtu: u32,
    /// Administratively up.
    pub up: bool,
    /// Has a carrier.
    pub carrier: bool,
    /// Up, with carrier, and its queues started. The kernel drops frames sent before that.
    pub running: bool,
    /// Promiscuous mode was set by a user.
    pub promiscuous: bool,
    /// Index of the bridge or bond that it belongs to.
    pub master: Option<u32>,
    /// Type of virtual interface, such as `veth`; `None` for hardware and the loopback.
    pub kind: Option<String>,
    /// Mode of IPv6 address generation (`IFLA_INET6_ADDR_GEN_MODE`); `None` without IPv6.
    pub address_generation: Option<u8>,
    /// IP addresses.
    pub addresses: Vec<Address>,
    /// Counters.
    pub counters: Counters,
}

impl Interface {
    /// Queries the interface `name`.
    pub fn by_name(name: &str) -> Result<Self, NetError> {
        let what = || format!("query the interface `{name}`");
        let mut socket = Socket::open().map_err(|error| NetError::failed(what(), error))?;
        let mut message = Message::new(libc::RTM_GETLINK, 0, &link_body(0, 0, 0));
        message.put_text(libc::IFLA_IFNAME, checked(name)?);
        let replies = socket.ask(&message).map_err(|error| NetError::for_interface(name, what(), error))?;
        let mut interface = replies
            .iter()
            .find_map(parse)
            .ok_or_else(|| NetError::NoSuchInterface { name: name.to_owned() })?;
        let message = Message::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; ADDRESS_BODY]);
        let replies = socket.ask(&message).map_err(|error| NetError::for_interface(name, what(), error))?;
        interface.addresses = replies.iter().filter_map(|reply| address(reply, interface.index)).collect();
        Ok(interface)
    }
    /// Waits until the interface is [`running`](Self::running), at most about `limit`. Returns its state.
    pub fn await_running(name: &str, limit: Duration) -> Result<Self, NetError> {
        const STEP: Duration = Duration::from_millis(1);
        for _ in 0..limit.as_millis() {
            let interface = Self::by_name(name)?;
            if interface.running {
                return Ok(interface);
            }
            park_timeout(STEP);
        }
        Self::by_name(name)
    }

    /// Lists all interfaces, without their addresses.
    pub fn all() -> Result<Vec<Self>, NetError> {
        let what = "list interfaces";
        let mut socket = Socket::open().map_err(|error| NetError::failed(what, error))?;
        let message = Message::new(libc::RTM_GETLINK, libc::NLM_F_DUMP, &link_body(0, 0, 0));
        let replies = socket.ask(&message).map_err(|error| NetError::failed(what, error))?;
        Ok(replies.iter().filter_map(parse).collect())
    }

    /// Returns whether this is an Ethernet interface.
    pub fn is_ethernet(&self) -> bool {
        self.link_type == libc::ARPHRD_ETHER
    }

    /// The configured addresses: all except IPv6 link-local ones, which the kernel generates.
    pub fn given_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.iter().filter(|address| !address.is_link_local())
    }

    /// Speed in Mb/s, if the driver reports it.
    pub fn speed_mbps(&self) -> Option<u32> {
        Ethtool::open(&self.name).and_then(|ethtool| ethtool.speed_mbps()).ok().flatten()
    }
}

/// An IP address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Prefix length.
    pub prefix: u8,
}

impl Address {
    /// Returns whether this is an IPv6 link-local address.
    pub fn is_link_local(&self) -> bool {
        matches!(self.ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
    }
}

/// Counters of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are those of the kernel")]
pub struct Counters {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    /// Frames with a wrong FCS.
    pub rx_crc_errors: u64,
    /// Frames dropped because the device had no buffer.
    pub rx_missed: u64,
}

/// `struct ifinfomsg`.
pub(super) fn link_body(index: u32, flags: u32, change: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    for word in [index, flags, change] {
        body.extend_from_slice(&word.to_ne_bytes());
    }
    body
}

pub(super) fn checked(name: &str) -> Result<&str, NetError> {
    if name.is_empty() || name.len() > NAME_MAX || name.contains(['\0', '/']) {
        return Err(NetError::NoSuchInterface { name: name.to_owned() });
    }
    Ok(name)
}

/// Bytes of `struct ifaddrmsg`.
const ADDRESS_BODY: usize = 8;
/// Bytes of `struct ifinfomsg`.
const LINK_BODY: usize = 16;
/// `linux/if_link.h`.
pub(super) const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;

/// Returns the index of a removed interface. Bridges send the same message about their ports.
pub(super) fn removed(reply: &Reply) -> Option<u32> {
    let (body, _) = reply.split(LINK_BODY)?;
    (reply.kind == libc::RTM_DELLINK && i32::from(body[0]) == libc::AF_UNSPEC).then(|| read_u32(body, 4))?
}

pub(super) fn parse(reply: &Reply) -> Option<Interface> {
    let (body, attributes) = reply.split(LINK_BODY)?;
    if reply.kind != libc::RTM_NEWLINK || i32::from(body[0]) != libc::AF_UNSPEC {
        return None;
    }
    let flags = read_u32(body, 8)? as i32;
    Some(Interface {
        name: attributes.text(libc::IFLA_IFNAME)?,
        index: read_u32(body, 4)?,
        link_type: read_u16(body, 2)?,
        mac: attributes.get(libc::IFLA_ADDRESS).and_then(|mac| mac.try_into().ok()),
        mtu: attributes.u32(libc::IFLA_MTU).unwrap_or_default(),
        up: flags & libc::IFF_UP != 0,
        carrier: attributes.u8(libc::IFLA_CARRIER).is_some_and(|carrier| carrier != 0),
        running: flags & libc::IFF_RUNNING != 0,
        promiscuous: flags & libc::IFF_PROMISC != 0,
        master: attributes.u32(libc::IFLA_MASTER).filter(|master| *master != 0),
        kind: attributes.within(libc::IFLA_LINKINFO).text(libc::IFLA_INFO_KIND),
        address_generation: attributes
            .within(libc::IFLA_AF_SPEC)
            .within(libc::AF_INET6 as u16)
            .u8(IFLA_INET6_ADDR_GEN_MODE),
        addresses: Vec::new(),
        counters: attributes.get(libc::IFLA_STATS64).map(counters).unwrap_or_default(),
    })
}

/// `struct rtnl_link_stats64`: an array of 64-bit counters, shorter on older kernels.
fn counters(stats: &[u8]) -> Counters {
    let at = |place: usize| read_u64(stats, place * 8).unwrap_or_default();
    Counters {
        rx_packets: at(0),
        tx_packets: at(1),
        rx_bytes: at(2),
        tx_bytes: at(3),
        rx_errors: at(4),
        tx_errors: at(5),
        rx_dropped: at(6),
        tx_dropped: at(7),
        rx_crc_errors: at(12),
        rx_missed: at(15),
    }
}

fn address(reply: &Reply, index: u32) -> Option<Address> {
    let (body, attributes) = reply.split(ADDRESS_BODY)?;
    if reply.kind != libc::RTM_NEWADDR || read_u32(body, 4)? != index {
        return None;
    }
    // On a point-to-point link `IFA_LOCAL` is the own address and `IFA_ADDRESS` that of the peer.
    let ip = local(attributes, body[0])?;
    Some(Address { ip, prefix: body[1] })
}

fn local(attributes: Attributes<'_>, family: u8) -> Option<IpAddr> {
    let bytes = attributes.get(libc::IFA_LOCAL).or_else(|| attributes.get(libc::IFA_ADDRESS))?;
    match i32::from(family) {
        libc::AF_INET => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into()),
        libc::AF_INET6 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into()),
        _ => None,
    }
}
