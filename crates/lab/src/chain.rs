//! Host A – relay – wire – relay – host B.
//!
//! ```text
//!  host A │                                   the middle                                     │ host B
//!   eth0 ─┼─ lan-a [relay] link-a ─ wire-a [wire] wire-b ─ link-b [relay] lan-b ─ path-a [path] path-b ─┼─ eth0
//! ```
//!
//! Each `─` is a veth pair. The hosts see an Ethernet link. Its impairment and its protection can change
//! while they use it. The path is another wire that only adds delay, for the network between the link and a
//! distant host. It is optional.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use wiremend_dataplane::net::offload::{self, Offload};
use wiremend_dataplane::net::{self, Address, Interface, NetError, NetNs, VethEnd};
use wiremend_dataplane::relay::{ProtectionMode, Request, SOCKET, Status};
use wiremend_dataplane::wire::{ImpairmentSettings, WireRequest, WireStatus};
use wiremend_report::lab::LinkState;
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::MacAddr;

use crate::directory::LabDirectory;
use crate::error::Error;
use crate::lab::Lab;
use crate::lab_process::LabProcess;
use crate::privileges::net_error;

/// A running chain. Dropping it ends all its processes.
#[derive(Debug)]
pub struct Chain {
    relays: [LabProcess; 2],
    wire: LabProcess,
    path: Option<LabProcess>,
    hosts: [NetNs; 2],
    /// The namespace of relays and wire.
    middle: NetNs,
    /// TAP devices of the guests, if the hosts are not namespaces.
    taps: [Option<File>; 2],
    place: LabDirectory,
    lab: Lab,
}

/// Configuration of a chain.
#[derive(Clone, Debug)]
pub struct ChainConfig {
    /// Rate of the wire. `None`: no limit.
    pub rate: Option<Rate>,
    /// Delay of the wire in each direction.
    pub delay: Span,
    /// Delay of the path between the relay at B and host B in each direction. Zero: no path.
    pub path_delay: Span,
    /// Size of the queue before the wire: in the relays while they protect, else in the wire.
    pub queue: Bytes,
    /// Seed of the losses of the wire.
    pub seed: u64,
    /// Protection mode of the relays.
    pub mode: ProtectionMode,
    /// Copies of each retransmitted frame. `None`: as the measured loss requires.
    pub copies: Option<u8>,
}

/// Type of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostKind {
    /// Network namespaces with an IP address each.
    Kernel,
    /// Virtual machines on TAP interfaces.
    Guests,
}

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The host next to a relay.
    A,
    /// The host behind the path.
    B,
}

/// Status of the relays and the wire.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ChainStatus {
    /// Relay at host A.
    pub relay_a: Status,
    /// Wire between the relays.
    pub wire: WireStatus,
    /// Relay at host B.
    pub relay_b: Status,
}

const HOST: &str = "eth0";
const LANS: [&str; 2] = ["lan-a", "lan-b"];
const LINKS: [&str; 2] = ["link-a", "link-b"];
const WIRES: [&str; 2] = ["wire-a", "wire-b"];
const PATHS: [&str; 2] = ["path-a", "path-b"];
pub(crate) const LAN_MTU: u32 = 1500;
/// Room for a link header of 10 bytes and a VLAN tag.
const LINK_MTU: u32 = 1600;
/// Prefix length of 198.18.0.0/15, which is reserved for benchmarks (RFC 2544).
const PREFIX: u8 = 15;
/// Rate setting of the relays without a rate limit: more than the machine carries.
const UNLIMITED: Rate = Rate::gbps(5);
const STATUS_INTERVAL: Duration = Duration::from_millis(5);
const CHANGE_LIMIT: Duration = Duration::from_mins(2);

impl Side {
    /// Both hosts, A first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// IP address.
    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, 0, self as u8 + 1)
    }

    pub(crate) fn mac(self) -> MacAddr {
        MacAddr::local(self as u32 + 1)
    }
}

impl Chain {
    /// Builds a chain without protection and without loss. The calling thread must outlive it.
    pub fn build(lab: &Lab, config: &ChainConfig, hosts: HostKind) -> Result<Self, Error> {
        let place = LabDirectory::new()?;
        let networks = [NetNs::new().map_err(net_error)?, NetNs::new().map_err(net_error)?];
        let middle = NetNs::new().map_err(net_error)?;
        let has_path = hosts == HostKind::Kernel && config.path_delay > Span::ZERO;
        let create = || {
            let taps = create_interfaces(&networks, hosts, has_path)?;
            Ok((taps, Interface::all()?))
        };
        let (taps, interfaces) = middle.run(create).and_then(|created| created).map_err(net_error)?;
        if hosts == HostKind::Kernel {
            for (side, network) in Side::BOTH.into_iter().zip(&networks) {
                network.run(|| configure_host(side)).and_then(|done| done).map_err(net_error)?;
            }
        }
        let ready = || await_running(&interfaces);
        middle.run(ready).and_then(|done| done).map_err(net_error)?;
        let directory = place.path();
        let socket = directory.join("wire");
        let arguments = wire_arguments(config, &socket);
        let mut wire = LabProcess::start(lab, "wire", &arguments, &middle, directory, socket)?;
        let path = || {
            let socket = directory.join("path");
            LabProcess::start(lab, "path", &path_arguments(config, &socket), &middle, directory, socket)
        };
        let mut path = has_path.then(path).transpose()?;
        let relay = |name, end: usize| {
            let socket = directory.join(LINKS[end]).join(SOCKET);
            LabProcess::start(lab, name, &relay_arguments(config, end, directory), &middle, directory, socket)
        };
        let mut relays = [relay("relay at A", 0)?, relay("relay at B", 1)?];
        for emulated in std::iter::once(&mut wire).chain(&mut path) {
            emulated.await_ready::<_, WireStatus>(&WireRequest::Status)?;
        }
        for relay in &mut relays {
            relay.await_ready::<_, Status>(&Request::Status)?;
        }
        Ok(Self { relays, wire, path, hosts: networks, middle, taps, place, lab: lab.clone() })
    }

    /// Sets the loss rate of the wire in both directions.
    pub fn set_loss(&self, loss: f64) -> Result<(), Error> {
        let impairment = Some(ImpairmentSettings { loss, ..ImpairmentSettings::default() });
        self.wire
            .request::<_, WireStatus>(&WireRequest::Impair { a_to_b: impairment, b_to_a: impairment })
            .map(|_| ())
    }

    /// Makes the wire drop the first transmission of the segment from A to B with this byte of each TCP connection
    /// that starts from now on. It drops nothing else.
    pub fn drop_segment(&self, tcp_byte: Option<u32>) -> Result<(), Error> {
        let a_to_b = Some(ImpairmentSettings { tcp_byte, ..ImpairmentSettings::default() });
        let b_to_a = Some(ImpairmentSettings::default());
        self.wire.request::<_, WireStatus>(&WireRequest::Impair { a_to_b, b_to_a }).map(|_| ())
    }

    /// Switches protection of both directions on or off, and waits until it has changed.
    pub fn protect(&self, on: bool) -> Result<(), Error> {
        self.request_protection(on)?;
        let until = Instant::now() + CHANGE_LIMIT;
        while let Some(relay) = self.unchanged_relay(on)? {
            if Instant::now() > until {
                let what = if on { "begin" } else { "end" };
                let limit_s = CHANGE_LIMIT.as_secs();
                return Err(relay.failed(&format!("does not {what} protection within {limit_s} s")));
            }
            self.lab.pause(STATUS_INTERVAL)?;
        }
        Ok(())
    }

    /// Switches protection of both directions on or off, and does not wait.
    pub(crate) fn request_protection(&self, on: bool) -> Result<(), Error> {
        let request = if on { Request::Activate } else { Request::Deactivate };
        self.relays.iter().try_for_each(|relay| relay.request::<_, Status>(&request).map(|_| ()))
    }

    /// Returns a relay whose protection is not yet switched on, or off.
    fn unchanged_relay(&self, on: bool) -> Result<Option<&LabProcess>, Error> {
        for relay in &self.relays {
            let status: Status = relay.request(&Request::Status)?;
            if status.sending != on || status.receiving != on {
                return Ok(Some(relay));
            }
        }
        Ok(None)
    }

    /// Reads the status of the relays and the wire.
    pub fn statuses(&self) -> Result<ChainStatus, Error> {
        Ok(ChainStatus {
            relay_a: self.relays[0].request(&Request::Status)?,
            wire: self.wire.request(&WireRequest::Status)?,
            relay_b: self.relays[1].request(&Request::Status)?,
        })
    }

    /// Changes the chain to a state. The wire loses nothing meanwhile, so that no handshake is lost.
    pub fn enter(&self, state: LinkState, loss: f64) -> Result<(), Error> {
        let loss = if state == LinkState::Clean { 0.0 } else { loss };
        self.set_state(state != LinkState::Corrupting, loss)
    }

    /// Turns the protection on or off and sets the loss.
    pub(crate) fn set_state(&self, is_protected: bool, loss: f64) -> Result<(), Error> {
        self.set_loss(0.0)?;
        self.protect(is_protected)?;
        self.set_loss(loss)
    }

    pub(crate) fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Network namespace of a host.
    pub fn host(&self, side: Side) -> &NetNs {
        &self.hosts[side as usize]
    }

    /// Network namespace of relays and wire.
    pub fn middle(&self) -> &NetNs {
        &self.middle
    }

    /// Takes the TAP device of a guest. Returns it once.
    pub(crate) fn take_tap(&mut self, side: Side) -> Option<File> {
        self.taps[side as usize].take()
    }

    /// Directory of sockets and logs.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// Control socket of the wire.
    pub fn wire_socket(&self) -> &Path {
        self.wire.socket()
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        // Terminate all before waiting for each.
        for part in self.relays.iter_mut().chain([&mut self.wire]).chain(&mut self.path) {
            part.terminate();
        }
    }
}

/// Creates the interfaces. Runs in the middle namespace.
fn create_interfaces(
    hosts: &[NetNs; 2],
    kind: HostKind,
    has_path: bool,
) -> Result<[Option<File>; 2], NetError> {
    let mut taps = [None, None];
    for end in 0..2 {
        match kind {
            HostKind::Kernel if has_path && end == 1 => {
                net::new_veth(VethEnd::here(LANS[end]), VethEnd::here(PATHS[0]))?;
                net::new_veth(VethEnd::here(PATHS[1]), VethEnd::within(HOST, hosts[end].as_fd()))?;
                PATHS.iter().try_for_each(|name| prepare(name, LAN_MTU))?;
            }
            HostKind::Kernel => {
                net::new_veth(VethEnd::here(LANS[end]), VethEnd::within(HOST, hosts[end].as_fd()))?;
            }
            HostKind::Guests => taps[end] = Some(net::open_tap(LANS[end], false)?),
        }
        net::new_veth(VethEnd::here(LINKS[end]), VethEnd::here(WIRES[end]))?;
        prepare(LANS[end], LAN_MTU)?;
        prepare(LINKS[end], LINK_MTU)?;
        prepare(WIRES[end], LINK_MTU)?;
    }
    Ok(taps)
}

/// Brings an interface up, without offloads and link-local addresses. On a veth pair the offloads of the
/// sending end count, so they are disabled at both ends.
pub(crate) fn prepare(name: &str, mtu: u32) -> Result<(), NetError> {
    let on = offload::enabled(name, &Offload::FOR_PACKET_SOCKET)?;
    let off: Vec<_> = on.iter().map(|feature| (feature.name.as_str(), false)).collect();
    offload::set(name, &off)?;
    net::disable_link_local(name)?;
    net::set_mtu(name, mtu)?;
    net::set_up(name, true)
}
/// Configures a host, in its namespace. Neighbours are permanent: a lost ARP request costs a second.
fn configure_host(side: Side) -> Result<(), NetError> {
    let other = Side::BOTH[1 - side as usize];
    net::loopback_up()?;
    net::set_mac(HOST, side.mac().0)?;
    prepare(HOST, LAN_MTU)?;
    net::add_address(HOST, Address { ip: side.address().into(), prefix: PREFIX })?;
    net::add_neighbour(HOST, other.address().into(), other.mac().0)
}

/// Waits until all interfaces are running. Runs in the middle namespace.
fn await_running(interfaces: &[Interface]) -> Result<(), NetError> {
    let ports = interfaces.iter().filter(|interface| interface.is_ethernet());
    for interface in ports {
        Interface::await_running(&interface.name, CHANGE_LIMIT)?;
    }
    Ok(())
}

fn wire_arguments(config: &ChainConfig, socket: &Path) -> Vec<String> {
    let mut arguments = strings(&["lab", "wire", "--a", WIRES[0], "--b", WIRES[1], "--socket"]);
    arguments.push(socket.display().to_string());
    arguments.extend(["--delay".to_owned(), format!("{}ps", config.delay.as_ps())]);
    arguments.extend(["--queue".to_owned(), format!("{}B", config.queue.get())]);
    arguments.extend(["--seed".to_owned(), config.seed.to_string()]);
    if let Some(rate) = config.rate {
        arguments.extend(["--rate".to_owned(), format!("{}bps", rate.bits_per_s())]);
    }
    arguments
}

fn path_arguments(config: &ChainConfig, socket: &Path) -> Vec<String> {
    let mut arguments = strings(&["lab", "wire", "--a", PATHS[0], "--b", PATHS[1], "--socket"]);
    arguments.push(socket.display().to_string());
    arguments.extend(["--delay".to_owned(), format!("{}ps", config.path_delay.as_ps())]);
    arguments
}

fn relay_arguments(config: &ChainConfig, end: usize, directory: &Path) -> Vec<String> {
    let mut arguments = strings(&["relay", "run", "--lan", LANS[end], "--link", LINKS[end], "--run-dir"]);
    arguments.push(directory.display().to_string());
    let rate = config.rate.unwrap_or(UNLIMITED);
    arguments.extend(["--rate".to_owned(), format!("{}bps", rate.bits_per_s())]);
    arguments.extend(["--queue".to_owned(), format!("{}B", config.queue.get())]);
    arguments.extend(strings(&["--mode", config.mode.name()]));
    if let Some(copies) = config.copies {
        arguments.extend(["--copies".to_owned(), copies.to_string()]);
    }
    arguments
}

fn strings(strings: &[&str]) -> Vec<String> {
    strings.iter().map(ToString::to_string).collect()
}
