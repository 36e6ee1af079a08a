//! Creates, configures and removes interfaces.

use std::fs::File;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::interface::{IFLA_INET6_ADDR_GEN_MODE, checked, link_body};
use super::{Address, Interface, NetError};
use crate::sys::ioctl;
use crate::sys::netlink::{Message, NetlinkError, Socket};

/// One end of a veth pair to create.
#[derive(Debug, Clone, Copy)]
pub struct VethEnd<'a> {
    /// Name of the interface.
    pub name: &'a str,
    /// Its network namespace; `None`: that of the calling thread.
    pub namespace: Option<BorrowedFd<'a>>,
}

impl<'a> VethEnd<'a> {
    /// An end in the calling thread's network namespace.
    pub fn here(name: &'a str) -> Self {
        Self { name, namespace: None }
    }

    /// An end in another network namespace.
    pub fn within(name: &'a str, namespace: BorrowedFd<'a>) -> Self {
        Self { name, namespace: Some(namespace) }
    }

    fn put(self, message: &mut Message) {
        message.put_text(libc::IFLA_IFNAME, self.name);
        if let Some(namespace) = self.namespace {
            message.put_u32(libc::IFLA_NET_NS_FD, namespace.as_raw_fd() as u32);
        }
    }
}

/// Creates a veth pair.
pub fn new_veth(a: VethEnd<'_>, b: VethEnd<'_>) -> Result<(), NetError> {
    let (first, second) = (check_new_name(a.name)?, check_new_name(b.name)?);
    let what = format!("create the pair `{first}` and `{second}`");
    let mut message = Message::new(libc::RTM_NEWLINK, CREATE, &link_body(0, 0, 0));
    a.put(&mut message);
    message.nest(libc::IFLA_LINKINFO, |info| {
        info.put_text(libc::IFLA_INFO_KIND, "veth").nest(libc::IFLA_INFO_DATA, |own| {
            own.nest(VETH_INFO_PEER, |peer| {
                peer.append(&link_body(0, 0, 0));
                b.put(peer);
            });
        });
    });
    create(message, what, &format!("{first}` or `{second}"))
}
/// Creates a TAP interface or attaches to one. Each non-blocking read or write of the file is one frame.
///
/// Closing the file removes an interface that is not `persistent`.
pub fn open_tap(name: &str, persistent: bool) -> Result<File, NetError> {
    let what = format!("open the TAP interface `{name}`");
    ioctl::tap(check_new_name(name)?, persistent).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENXIO) => {
            NetError::Unsupported { what, lacks: "this system has no /dev/net/tun", source: error.into() }
        }
        Some(libc::EBUSY) => NetError::Taken { what, by: "another process has it open".to_owned() },
        _ => NetError::for_interface(name, what, error.into()),
    })
}

/// Removes an interface. Removing one end of a pair removes both.
pub fn delete(name: &str) -> Result<(), NetError> {
    let mut message = Message::new(libc::RTM_DELLINK, 0, &link_body(0, 0, 0));
    message.put_text(libc::IFLA_IFNAME, checked(name)?);
    send(message, name, format!("remove `{name}`"))
}

/// Brings an interface up or down.
pub fn set_up(name: &str, up: bool) -> Result<(), NetError> {
    let flag = libc::IFF_UP as u32;
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, if up { flag } else { 0 }, flag));
    modify(message, name, format!("bring `{name}` {}", if up { "up" } else { "down" }), |_| {})
}

/// Brings up `lo`, which a new network namespace needs to reach itself.
pub fn loopback_up() -> Result<(), NetError> {
    set_up("lo", true)
}

/// Sets the MTU.
pub fn set_mtu(name: &str, mtu: u32) -> Result<(), NetError> {
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, 0, 0));
    modify(message, name, format!("set the MTU of `{name}` to {mtu}"), |message| {
        message.put_u32(libc::IFLA_MTU, mtu);
    })
}

/// Sets the MAC address.
pub fn set_mac(name: &str, mac: [u8; 6]) -> Result<(), NetError> {
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, 0, 0));
    modify(message, name, format!("set the MAC address of `{name}`"), |message| {
        message.put(libc::IFLA_ADDRESS, &mac);
    })
}

/// Disables the generation of IPv6 link-local addresses on an interface and removes existing ones.
///
/// The host then sends nothing on the interface: IPv6 neighbour and router solicitations and multicast
/// reports need an address, and so does IPv4. Does nothing on a kernel without IPv6.
pub fn disable_link_local(name: &str) -> Result<(), NetError> {
    if Interface::by_name(name)?.address_generation.is_none() {
        return Ok(());
    }
    set_address_generation(name, ADDR_GEN_NONE)?;
    let interface = Interface::by_name(name)?;
    interface.addresses.iter().filter(|address| address.is_link_local()).try_for_each(|address| {
        let message = address_message(libc::RTM_DELADDR, 0, interface.index, *address);
        send(message, name, format!("remove {} from `{name}`", address.ip))
    })
}
/// Sets the IPv6 address generation (`IFLA_INET6_ADDR_GEN_MODE`) from the next time the interface comes up.
pub fn set_address_generation(name: &str, mode: u8) -> Result<(), NetError> {
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, 0, 0));
    modify(message, name, format!("set the IPv6 address generation of `{name}`"), |message| {
        message.nest(libc::IFLA_AF_SPEC, |families| {
            families.nest(libc::AF_INET6 as u16, |inet6| {
                inet6.put(IFLA_INET6_ADDR_GEN_MODE, &[mode]);
            });
        });
    })
}

/// Switches promiscuous mode on or off.
pub fn set_promiscuous(name: &str, on: bool) -> Result<(), NetError> {
    let flag = libc::IFF_PROMISC as u32;
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, if on { flag } else { 0 }, flag));
    modify(message, name, format!("set the promiscuous mode of `{name}`"), |_| {})
}

/// Adds an IP address to an interface.
pub fn add_address(name: &str, address: Address) -> Result<(), NetError> {
    let index = Interface::by_name(name)?.index;
    let message = address_message(libc::RTM_NEWADDR, CREATE, index, address);
    send(message, name, format!("add {}/{} to `{name}`", address.ip, address.prefix))
}

/// Adds a permanent neighbour entry.
pub fn add_neighbour(name: &str, ip: IpAddr, mac: [u8; 6]) -> Result<(), NetError> {
    let index = Interface::by_name(name)?.index;
    let (family, bytes) = octets(ip);
    // `struct ndmsg`.
    let mut body = vec![family, 0, 0, 0];
    body.extend_from_slice(&index.to_ne_bytes());
    body.extend_from_slice(&libc::NUD_PERMANENT.to_ne_bytes());
    body.extend_from_slice(&[0, 0]);
    let mut message = Message::new(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body);
    message.put(libc::NDA_DST, &bytes).put(libc::NDA_LLADDR, &mac);
    send(message, name, format!("add the neighbour {ip} on `{name}`"))
}

const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
// `linux/veth.h`, `linux/if_link.h`.
const VETH_INFO_PEER: u16 = 1;
const ADDR_GEN_NONE: u8 = 1;

fn check_new_name(name: &str) -> Result<&str, NetError> {
    checked(name).map_err(|_| NetError::Failed {
        what: format!("create an interface `{name}`"),
        source: std::io::Error::other("a name has 1 to 15 bytes, without `/`").into(),
    })
}

fn create(message: Message, what: String, names: &str) -> Result<(), NetError> {
    change(message).map_err(|error| match error.errno() {
        Some(libc::EEXIST) => NetError::Exists { name: names.to_owned() },
        Some(libc::EOPNOTSUPP) => NetError::Unsupported {
            what,
            lacks: "this kernel does not support this type of interface",
            source: error,
        },
        Some(libc::EPERM) => NetError::not_permitted(what, "CAP_NET_ADMIN", error.source),
        _ => NetError::Failed { what, source: error },
    })
}

fn modify(
    mut message: Message,
    name: &str,
    what: String,
    fill: impl FnOnce(&mut Message),
) -> Result<(), NetError> {
    message.put_text(libc::IFLA_IFNAME, checked(name)?);
    fill(&mut message);
    send(message, name, what)
}

fn send(message: Message, name: &str, what: String) -> Result<(), NetError> {
    change(message).map_err(|error| NetError::for_interface(name, what, error))
}

fn change(message: Message) -> Result<(), NetlinkError> {
    Socket::open()?.change(message)
}

fn address_message(kind: u16, flags: i32, index: u32, address: Address) -> Message {
    let (family, bytes) = octets(address.ip);
    // `struct ifaddrmsg`.
    let mut body = vec![family, address.prefix, 0, 0];
    body.extend_from_slice(&index.to_ne_bytes());
    let mut message = Message::new(kind, flags, &body);
    message.put(libc::IFA_LOCAL, &bytes).put(libc::IFA_ADDRESS, &bytes);
    if address.ip.is_ipv6() {
        // Skip duplicate address detection, so that the address is usable at once.
        message.put_u32(libc::IFA_FLAGS, libc::IFA_F_NODAD);
    }
    message
}

fn octets(ip: IpAddr) -> (u8, Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => (libc::AF_INET as u8, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6 as u8, ip.octets().to_vec()),
    }
}
