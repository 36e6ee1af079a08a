//! Changes to interfaces: made, joined in pairs, brought up, named, removed.

use std::fs::File;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::interface::{IFLA_INET6_ADDR_GEN_MODE, checked, link_body};
use super::{Address, Interface, Refused};
use crate::sys::ioctl;
use crate::sys::netlink::{Fault, Message, Socket};

/// One end of a pair that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Its name.
    pub name: &'a str,
    /// The network namespace it shall be in; `None` for the calling thread's.
    pub namespace: Option<BorrowedFd<'a>>,
}

impl<'a> End<'a> {
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

/// Makes two interfaces joined by a virtual cable.
pub fn new_veth(a: End<'_>, b: End<'_>) -> Result<(), Refused> {
    let (first, second) = (allowed(a.name)?, allowed(b.name)?);
    let what = format!("make the pair `{first}` and `{second}`");
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
    make(message, what, &format!("{first}` or `{second}"))
}

/// Makes, or attaches to, a TAP interface: each read and write of the file is one frame, and neither blocks.
///
/// One that is not `persistent` goes away with the file.
pub fn open_tap(name: &str, persistent: bool) -> Result<File, Refused> {
    let what = format!("open the TAP interface `{name}`");
    ioctl::tap(allowed(name)?, persistent).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENXIO) => {
            Refused::Unsupported { what, lacks: "this system has no /dev/net/tun", source: error.into() }
        }
        Some(libc::EBUSY) => Refused::Taken { what, by: "another process has it open".to_owned() },
        _ => Refused::of(name, what, error.into()),
    })
}

/// Removes an interface; of a pair, both ends.
pub fn delete(name: &str) -> Result<(), Refused> {
    let mut message = Message::new(libc::RTM_DELLINK, 0, &link_body(0, 0, 0));
    message.put_text(libc::IFLA_IFNAME, checked(name)?);
    send(message, name, format!("remove `{name}`"))
}

/// Brings an interface up or down.
pub fn set_up(name: &str, up: bool) -> Result<(), Refused> {
    let flag = libc::IFF_UP as u32;
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, if up { flag } else { 0 }, flag));
    alter(message, name, format!("bring `{name}` {}", if up { "up" } else { "down" }), |_| {})
}

/// Brings up the interface `lo`, without which a new network namespace does not reach itself.
pub fn loopback_up() -> Result<(), Refused> {
    set_up("lo", true)
}

/// Sets the largest payload of a frame.
pub fn set_mtu(name: &str, mtu: u32) -> Result<(), Refused> {
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, 0, 0));
    alter(message, name, format!("set the MTU of `{name}` to {mtu}"), |message| {
        message.put_u32(libc::IFLA_MTU, mtu);
    })
}

/// Sets the address of an interface.
pub fn set_mac(name: &str, mac: [u8; 6]) -> Result<(), Refused> {
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, 0, 0));
    alter(message, name, format!("set the MAC address of `{name}`"), |message| {
        message.put(libc::IFLA_ADDRESS, &mac);
    })
}

/// Keeps the kernel from giving an interface IPv6 addresses of its own making, and takes away those it has made.
///
/// Then the host sends nothing on it by itself: neighbour and router solicitations and multicast reports of IPv6 all need
/// an address, and IPv4 is silent without one. A kernel without IPv6 has nothing to keep.
pub fn silence(name: &str) -> Result<(), Refused> {
    if Interface::by_name(name)?.address_generation.is_none() {
        return Ok(());
    }
    set_address_generation(name, ADDR_GEN_NONE)?;
    let interface = Interface::by_name(name)?;
    interface.addresses.iter().filter(|address| address.is_link_local()).try_for_each(|address| {
        let message = address_message(libc::RTM_DELADDR, 0, interface.index, *address);
        send(message, name, format!("take {} from `{name}`", address.ip))
    })
}

/// Says how the kernel makes IPv6 addresses for an interface (`IFLA_INET6_ADDR_GEN_MODE`), from the next time it comes up.
pub fn set_address_generation(name: &str, mode: u8) -> Result<(), Refused> {
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, 0, 0));
    alter(message, name, format!("set how `{name}` gets IPv6 addresses"), |message| {
        message.nest(libc::IFLA_AF_SPEC, |families| {
            families.nest(libc::AF_INET6 as u16, |inet6| {
                inet6.put(IFLA_INET6_ADDR_GEN_MODE, &[mode]);
            });
        });
    })
}

/// Makes an interface take frames for all addresses, or for its own only, until told otherwise.
pub fn set_promiscuous(name: &str, on: bool) -> Result<(), Refused> {
    let flag = libc::IFF_PROMISC as u32;
    let message = Message::new(libc::RTM_NEWLINK, 0, &link_body(0, if on { flag } else { 0 }, flag));
    alter(message, name, format!("make `{name}` take frames for all addresses"), |_| {})
}

/// Gives an interface an address.
pub fn add_address(name: &str, address: Address) -> Result<(), Refused> {
    let index = Interface::by_name(name)?.index;
    let message = address_message(libc::RTM_NEWADDR, CREATE, index, address);
    send(message, name, format!("give `{name}` the address {}/{}", address.ip, address.prefix))
}

/// Says for ever which MAC address a neighbour on `name` has.
pub fn add_neighbour(name: &str, ip: IpAddr, mac: [u8; 6]) -> Result<(), Refused> {
    let index = Interface::by_name(name)?.index;
    let (family, bytes) = octets(ip);
    // `struct ndmsg`.
    let mut body = vec![family, 0, 0, 0];
    body.extend_from_slice(&index.to_ne_bytes());
    body.extend_from_slice(&libc::NUD_PERMANENT.to_ne_bytes());
    body.extend_from_slice(&[0, 0]);
    let mut message = Message::new(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body);
    message.put(libc::NDA_DST, &bytes).put(libc::NDA_LLADDR, &mac);
    send(message, name, format!("name the neighbour {ip} on `{name}`"))
}

const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
// `linux/veth.h`, `linux/if_link.h`.
const VETH_INFO_PEER: u16 = 1;
const ADDR_GEN_NONE: u8 = 1;

/// A name for a new interface.
fn allowed(name: &str) -> Result<&str, Refused> {
    checked(name).map_err(|_| Refused::Failed {
        what: format!("make an interface `{name}`"),
        source: std::io::Error::other("a name has 1 to 15 bytes, without `/`").into(),
    })
}

fn make(message: Message, what: String, names: &str) -> Result<(), Refused> {
    change(message).map_err(|fault| match fault.errno() {
        Some(libc::EEXIST) => Refused::Exists { name: names.to_owned() },
        Some(libc::EOPNOTSUPP) => {
            Refused::Unsupported { what, lacks: "this kernel has no such kind of interface", source: fault }
        }
        Some(libc::EPERM) => Refused::not_permitted(what, "CAP_NET_ADMIN", fault.error),
        _ => Refused::Failed { what, source: fault },
    })
}

fn alter(
    mut message: Message,
    name: &str,
    what: String,
    fill: impl FnOnce(&mut Message),
) -> Result<(), Refused> {
    message.put_text(libc::IFLA_IFNAME, checked(name)?);
    fill(&mut message);
    send(message, name, what)
}

fn send(message: Message, name: &str, what: String) -> Result<(), Refused> {
    change(message).map_err(|fault| Refused::of(name, what, fault))
}

fn change(message: Message) -> Result<(), Fault> {
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
        // Usable at once: nobody else is on a link that we made.
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
