//! The kernel's routes and neighbours: which interface and MAC address lead to an IP address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::NetError;
use crate::sys::netlink::{Message, Reply, Socket, read_u32};

/// The way to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Index of the interface.
    pub interface: u32,
    /// The router, if the address is not on the link.
    pub gateway: Option<IpAddr>,
    /// Address that the kernel would send from.
    pub source: Option<IpAddr>,
    /// Whether the address belongs to this machine.
    pub is_local: bool,
}

// `linux/rtnetlink.h`, `linux/neighbour.h`.
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const ROUTE_BODY: usize = 12;
const ROUTE_TYPE_AT: usize = 7;
const RTN_LOCAL: u8 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NEIGHBOUR_BODY: usize = 12;

/// Asks the kernel for the route to an address.
pub fn route_to(ip: IpAddr) -> Result<Route, NetError> {
    let what = || format!("find a route to {ip}");
    let mut socket = Socket::open().map_err(|error| NetError::failed(what(), error))?;
    let mut body = [0; ROUTE_BODY];
    body[0] = family(ip);
    body[1] = if ip.is_ipv4() { 32 } else { 128 };
    let mut message = Message::new(libc::RTM_GETROUTE, 0, &body);
    message.put(RTA_DST, &octets(ip));
    let replies = socket.ask(&message).map_err(|error| NetError::failed(what(), error))?;
    let no_route = || NetError::failed(what(), std::io::Error::from_raw_os_error(libc::ENETUNREACH));
    replies.iter().find_map(parse_route).ok_or_else(no_route)
}

/// Returns the MAC address of a neighbour, if the kernel knows it.
pub fn neighbour(interface: u32, ip: IpAddr) -> Result<Option<[u8; 6]>, NetError> {
    let what = || format!("list the neighbour {ip}");
    let mut socket = Socket::open().map_err(|error| NetError::failed(what(), error))?;
    let mut body = [0; NEIGHBOUR_BODY];
    body[0] = family(ip);
    let message = Message::new(libc::RTM_GETNEIGH, libc::NLM_F_DUMP, &body);
    let replies = socket.ask(&message).map_err(|error| NetError::failed(what(), error))?;
    Ok(replies.iter().find_map(|reply| parse_neighbour(reply, interface, ip)))
}

fn parse_route(reply: &Reply) -> Option<Route> {
    let (body, attributes) = reply.split(ROUTE_BODY)?;
    Some(Route {
        interface: attributes.u32(RTA_OIF)?,
        gateway: attributes.get(RTA_GATEWAY).and_then(address),
        source: attributes.get(RTA_PREFSRC).and_then(address),
        is_local: body[ROUTE_TYPE_AT] == RTN_LOCAL,
    })
}

fn parse_neighbour(reply: &Reply, interface: u32, ip: IpAddr) -> Option<[u8; 6]> {
    let (body, attributes) = reply.split(NEIGHBOUR_BODY)?;
    let is_it = read_u32(body, 4) == Some(interface) && attributes.get(NDA_DST).and_then(address) == Some(ip);
    if is_it { attributes.get(NDA_LLADDR)?.try_into().ok() } else { None }
}

fn family(ip: IpAddr) -> u8 {
    (if ip.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(octets).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|octets| Ipv6Addr::from(octets).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_local() {
        let route = route_to(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert!(route.is_local && route.gateway.is_none());
    }

    #[test]
    fn replies_are_parsed_and_truncated_ones_are_not() {
        let ip = IpAddr::from([198, 18, 0, 2]);
        let mut body = [0; NEIGHBOUR_BODY];
        body[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWNEIGH, 0, &body);
        message.put(NDA_DST, &octets(ip)).put(NDA_LLADDR, &[2, 0, 0, 0, 0, 9]);
        let reply = message.into_reply();
        assert_eq!(parse_neighbour(&reply, 7, ip), Some([2, 0, 0, 0, 0, 9]));
        assert_eq!(parse_neighbour(&reply, 8, ip), None);
        assert_eq!(parse_neighbour(&reply, 7, IpAddr::from([198, 18, 0, 3])), None);
        for end in 0..reply.payload.len() - 3 {
            let cut = Reply { kind: reply.kind, payload: reply.payload[..end].to_vec() };
            assert_eq!(parse_neighbour(&cut, 7, ip), None);
            assert_eq!(parse_route(&cut), None);
        }
    }
}
