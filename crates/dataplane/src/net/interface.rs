//! What is known of an interface.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread::park_timeout;
use std::time::Duration;

use super::Refused;
use crate::sys::ioctl::{Ethtool, NAME_MAX};
use crate::sys::netlink::{Attributes, Message, Reply, Socket, read_u16, read_u32, read_u64};

/// An interface of the calling thread's network namespace, as it was when asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that the kernel states one by one")]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number, unique in the namespace as long as it exists.
    pub index: u32,
    /// What frames it carries (`ARPHRD_…`).
    pub link_type: u16,
    /// Its address; `None` unless it has one of six bytes.
    pub mac: Option<[u8; 6]>,
    /// Largest payload of a frame, in bytes.
    pub mtu: u32,
    /// It was brought up.
    pub up: bool,
    /// The other end is there.
    pub carrier: bool,
    /// Up, with carrier, and its queues started: the kernel does that a little later, and drops what is sent before.
    pub running: bool,
    /// It was told to take frames for all addresses.
    pub promiscuous: bool,
    /// The number of the bridge or bond it belongs to.
    pub master: Option<u32>,
    /// What made it, such as `veth`; `None` for hardware and the loopback.
    pub kind: Option<String>,
    /// How the kernel makes IPv6 addresses for it (`IFLA_INET6_ADDR_GEN_MODE`); `None` without IPv6.
    pub address_generation: Option<u8>,
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// What it has counted.
    pub counters: Counters,
}

impl Interface {
    /// Asks for the interface called `name`.
    pub fn by_name(name: &str) -> Result<Self, Refused> {
        let what = || format!("ask about `{name}`");
        let mut socket = Socket::open().map_err(|error| Refused::failed(what(), error))?;
        let mut message = Message::new(libc::RTM_GETLINK, 0, &link_body(0, 0, 0));
        message.put_text(libc::IFLA_IFNAME, checked(name)?);
        let replies = socket.ask(&message).map_err(|fault| Refused::of(name, what(), fault))?;
        let mut interface = replies
            .iter()
            .find_map(parse)
            .ok_or_else(|| Refused::NoSuchInterface { name: name.to_owned() })?;
        let message = Message::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; ADDRESS_BODY]);
        let replies = socket.ask(&message).map_err(|fault| Refused::of(name, what(), fault))?;
        interface.addresses = replies.iter().filter_map(|reply| address(reply, interface.index)).collect();
        Ok(interface)
    }

    /// Waits until the interface is [`running`](Self::running), at most about `patience`; as it is then.
    pub fn await_running(name: &str, patience: Duration) -> Result<Self, Refused> {
        const STEP: Duration = Duration::from_millis(1);
        for _ in 0..patience.as_millis() {
            let interface = Self::by_name(name)?;
            if interface.running {
                return Ok(interface);
            }
            park_timeout(STEP);
        }
        Self::by_name(name)
    }

    /// All interfaces, without their addresses.
    pub fn all() -> Result<Vec<Self>, Refused> {
        let what = "list interfaces";
        let mut socket = Socket::open().map_err(|error| Refused::failed(what, error))?;
        let message = Message::new(libc::RTM_GETLINK, libc::NLM_F_DUMP, &link_body(0, 0, 0));
        let replies = socket.ask(&message).map_err(|fault| Refused::failed(what, fault))?;
        Ok(replies.iter().filter_map(parse).collect())
    }

    /// It carries Ethernet frames.
    pub fn is_ethernet(&self) -> bool {
        self.link_type == libc::ARPHRD_ETHER
    }

    /// The addresses that someone gave it: all but those which the kernel makes up for IPv6 on one link.
    pub fn given_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.iter().filter(|address| !address.is_link_local())
    }

    /// Its speed in megabits a second, if the driver knows it.
    pub fn speed_mbps(&self) -> Option<u32> {
        Ethtool::open(&self.name).and_then(|ethtool| ethtool.speed_mbps()).ok().flatten()
    }
}

/// An address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// How many of its bits name the network.
    pub prefix: u8,
}

impl Address {
    /// An IPv6 address that means something on its link only.
    pub fn is_link_local(&self) -> bool {
        matches!(self.ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
    }
}

/// What an interface counts since it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "each name says which direction and what")]
pub struct Counters {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    /// Frames whose checksum was wrong.
    pub rx_crc_errors: u64,
    /// Frames for which the device had no room.
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

/// The name, if an interface can have it.
pub(super) fn checked(name: &str) -> Result<&str, Refused> {
    if name.is_empty() || name.len() > NAME_MAX || name.contains(['\0', '/']) {
        return Err(Refused::NoSuchInterface { name: name.to_owned() });
    }
    Ok(name)
}

/// Bytes of `struct ifaddrmsg`.
const ADDRESS_BODY: usize = 8;
/// Bytes of `struct ifinfomsg`.
const LINK_BODY: usize = 16;
/// `linux/if_link.h`.
pub(super) const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;

/// The number of an interface that is gone; `bridge` speaks of its own ports with the same message.
pub(super) fn removed(reply: &Reply) -> Option<u32> {
    let (body, _) = reply.split(LINK_BODY)?;
    (reply.kind == libc::RTM_DELLINK && i32::from(body[0]) == libc::AF_UNSPEC).then(|| read_u32(body, 4))?
}

/// The interface that a message tells of.
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

/// `struct rtnl_link_stats64`: numbers of 64 bits; older kernels have fewer of them.
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
    // The own address is `IFA_LOCAL` where the link has two named ends, and then `IFA_ADDRESS` is the other one.
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
