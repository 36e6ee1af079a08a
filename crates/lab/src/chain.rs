//! Host A – relay – wire – relay – host B.
//!
//! ```text
//!  host A │                                   the middle                                     │ host B
//!   eth0 ─┼─ lan-a [relay] link-a ─ wire-a [wire] wire-b ─ link-b [relay] lan-b ─ path-a [path] path-b ─┼─ eth0
//! ```
//!
//! Each `─` is a virtual cable. Whatever the hosts are, they see an Ethernet link; what it suffers from, and whether it is protected,
//! can be changed while they use it. The path is another wire, which only takes time: what lies between the link and a host
//! elsewhere. It can be left out.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use wiremend_dataplane::cable::{Ailment, CableRequest, CableStatus};
use wiremend_dataplane::net::offload::{self, Offload};
use wiremend_dataplane::net::{self, Address, End, Interface, NetNs, Refused};
use wiremend_dataplane::relay::{Care, Request, SOCKET, Status};
use wiremend_report::lab::State;
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::MacAddr;

use crate::error::Error;
use crate::lab::Lab;
use crate::part::Part;
use crate::place::Place;
use crate::rights::refused;

/// A chain that runs. All of it ends with this value.
#[derive(Debug)]
pub struct Chain {
    relays: [Part; 2],
    wire: Part,
    path: Option<Part>,
    hosts: [NetNs; 2],
    /// Where relays and wire are.
    middle: NetNs,
    /// The hosts' ends of the cables to the relays, where hosts are something else than namespaces.
    taps: [Option<File>; 2],
    place: Place,
    lab: Lab,
}

/// What a chain is like.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// Of the wire; none: as fast as the machine.
    pub rate: Option<Rate>,
    /// Of the wire, each way.
    pub delay: Span,
    /// Of the path between the relay at B and host B, each way; zero: there is none.
    pub path_delay: Span,
    /// Room before the wire, wherever it is: in the relays while they protect, else in the wire.
    pub queue: Bytes,
    /// Of what the wire loses.
    pub seed: u64,
    /// Whether frames keep their order.
    pub mode: Care,
    /// Of each frame that is asked for; none: by the loss that is measured.
    pub copies: Option<u8>,
}

/// What stands at the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hosts {
    /// Namespaces with an address each.
    Kernel,
    /// Whoever takes the TAP interfaces.
    Guests,
}

/// A host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The one next to a relay.
    A,
    /// The one behind the path.
    B,
}

/// How all parts stand.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Statuses {
    /// The relay at host A.
    pub relay_a: Status,
    /// The wire between both.
    pub wire: CableStatus,
    /// The relay at host B.
    pub relay_b: Status,
}

const HOST: &str = "eth0";
const LANS: [&str; 2] = ["lan-a", "lan-b"];
const LINKS: [&str; 2] = ["link-a", "link-b"];
const WIRES: [&str; 2] = ["wire-a", "wire-b"];
const PATHS: [&str; 2] = ["path-a", "path-b"];
const LAN_MTU: u32 = 1500;
/// A relay adds a header of 10 bytes, and a VLAN tag may come to that.
const LINK_MTU: u32 = 1600;
/// Of 198.18.0.0/15, which is set aside for benchmarks (RFC 2544).
const PREFIX: u8 = 15;
/// What a relay is told where the wire is as fast as the machine: more than the machine carries.
const UNLIMITED: Rate = Rate::gbps(5);
const ASK_AGAIN: Duration = Duration::from_millis(5);
/// Changes are done within this.
const SOON: Duration = Duration::from_mins(2);

impl Side {
    /// Both, A first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Its address.
    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, 0, self as u8 + 1)
    }

    /// Its Ethernet address.
    pub(crate) fn mac(self) -> MacAddr {
        MacAddr::local(self as u32 + 1)
    }
}

impl Chain {
    /// Builds one, dormant and without loss. The calling thread must live as long as it.
    pub fn build(lab: &Lab, knobs: &Knobs, hosts: Hosts) -> Result<Self, Error> {
        let place = Place::new()?;
        let networks = [NetNs::new().map_err(refused)?, NetNs::new().map_err(refused)?];
        let middle = NetNs::new().map_err(refused)?;
        let has_path = hosts == Hosts::Kernel && knobs.path_delay > Span::ZERO;
        let lay = || {
            let taps = lay_cables(&networks, hosts, has_path)?;
            Ok((taps, Interface::all()?))
        };
        let (taps, interfaces) = middle.run(lay).and_then(|laid| laid).map_err(refused)?;
        if hosts == Hosts::Kernel {
            for (side, network) in Side::BOTH.into_iter().zip(&networks) {
                network.run(|| furnish(side)).and_then(|done| done).map_err(refused)?;
            }
        }
        let ready = || await_running(&interfaces);
        middle.run(ready).and_then(|done| done).map_err(refused)?;
        let directory = place.path();
        let socket = directory.join("wire");
        let arguments = wire_arguments(knobs, &socket);
        let mut wire = Part::start(lab, "wire", &arguments, &middle, directory, socket)?;
        let path = || {
            let socket = directory.join("path");
            Part::start(lab, "path", &path_arguments(knobs, &socket), &middle, directory, socket)
        };
        let mut path = has_path.then(path).transpose()?;
        let relay = |name, end: usize| {
            let socket = directory.join(LINKS[end]).join(SOCKET);
            Part::start(lab, name, &relay_arguments(knobs, end, directory), &middle, directory, socket)
        };
        let mut relays = [relay("relay at A", 0)?, relay("relay at B", 1)?];
        for cable in std::iter::once(&mut wire).chain(&mut path) {
            cable.await_ready::<_, CableStatus>(&CableRequest::Status)?;
        }
        for relay in &mut relays {
            relay.await_ready::<_, Status>(&Request::Status)?;
        }
        Ok(Self { relays, wire, path, hosts: networks, middle, taps, place, lab: lab.clone() })
    }

    /// From here on the wire loses so many frames, both ways.
    pub fn set_loss(&self, loss: f64) -> Result<(), Error> {
        let ailment = Some(Ailment { loss, ..Ailment::default() });
        self.wire.ask::<_, CableStatus>(&CableRequest::Impair { forth: ailment, back: ailment }).map(|_| ())
    }

    /// Protects both directions, or neither, and returns when it is so.
    pub fn protect(&self, on: bool) -> Result<(), Error> {
        self.ask_to_protect(on)?;
        let until = Instant::now() + SOON;
        while !self.is_protected(on)? {
            if Instant::now() > until {
                let what = if on { "begin" } else { "end" };
                return Err(Error::Environment(format!("the relays of the lab do not {what} to protect")));
            }
            self.lab.pause(ASK_AGAIN)?;
        }
        Ok(())
    }

    /// Says that both directions shall be protected, or neither, and does not wait.
    pub(crate) fn ask_to_protect(&self, on: bool) -> Result<(), Error> {
        let request = if on { Request::Activate } else { Request::Deactivate };
        self.relays.iter().try_for_each(|relay| relay.ask::<_, Status>(&request).map(|_| ()))
    }

    fn is_protected(&self, on: bool) -> Result<bool, Error> {
        for relay in &self.relays {
            let status: Status = relay.ask(&Request::Status)?;
            if status.sending != on || status.receiving != on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How all parts stand.
    pub fn statuses(&self) -> Result<Statuses, Error> {
        Ok(Statuses {
            relay_a: self.relays[0].ask(&Request::Status)?,
            wire: self.wire.ask(&CableRequest::Status)?,
            relay_b: self.relays[1].ask(&Request::Status)?,
        })
    }

    /// Brings it into a state, by way of one without loss: nothing that is said on the way is lost.
    pub fn enter(&self, state: State, loss: f64) -> Result<(), Error> {
        self.set_loss(0.0)?;
        self.protect(state != State::Corrupting)?;
        if state == State::Clean { Ok(()) } else { self.set_loss(loss) }
    }

    /// What it was built for.
    pub(crate) fn lab(&self) -> &Lab {
        &self.lab
    }

    /// A host's network.
    pub fn host(&self, side: Side) -> &NetNs {
        &self.hosts[side as usize]
    }

    /// The network of relays and wire.
    pub fn middle(&self) -> &NetNs {
        &self.middle
    }

    /// The end of a guest's cable, once.
    pub(crate) fn take_tap(&mut self, side: Side) -> Option<File> {
        self.taps[side as usize].take()
    }

    /// Where its sockets are.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// The socket of the wire.
    pub fn wire_socket(&self) -> &Path {
        self.wire.socket()
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        // All at once: each takes its time.
        for part in self.relays.iter_mut().chain([&mut self.wire]).chain(&mut self.path) {
            part.dismiss();
        }
    }
}

/// Called in the middle.
fn lay_cables(hosts: &[NetNs; 2], kind: Hosts, has_path: bool) -> Result<[Option<File>; 2], Refused> {
    let mut taps = [None, None];
    for end in 0..2 {
        match kind {
            Hosts::Kernel if has_path && end == 1 => {
                net::new_veth(End::here(LANS[end]), End::here(PATHS[0]))?;
                net::new_veth(End::here(PATHS[1]), End::within(HOST, hosts[end].as_fd()))?;
                PATHS.iter().try_for_each(|name| prepare(name, LAN_MTU))?;
            }
            Hosts::Kernel => net::new_veth(End::here(LANS[end]), End::within(HOST, hosts[end].as_fd()))?,
            Hosts::Guests => taps[end] = Some(net::open_tap(LANS[end], false)?),
        }
        net::new_veth(End::here(LINKS[end]), End::here(WIRES[end]))?;
        prepare(LANS[end], LAN_MTU)?;
        prepare(LINKS[end], LINK_MTU)?;
        prepare(WIRES[end], LINK_MTU)?;
    }
    Ok(taps)
}

/// Brings an interface up without anything that the host would do on it. Offloads act at the sending end of a virtual cable, so they
/// are switched off at all ends.
fn prepare(name: &str, mtu: u32) -> Result<(), Refused> {
    let on = offload::harmful(name, &Offload::ALL)?;
    let off: Vec<_> = on.iter().map(|feature| (feature.name.as_str(), false)).collect();
    offload::switch(name, &off)?;
    net::silence(name)?;
    net::set_mtu(name, mtu)?;
    net::set_up(name, true)
}

/// Called in a host. Neighbours are known from the start: a lost ARP request costs a second, which is not what is measured.
fn furnish(side: Side) -> Result<(), Refused> {
    let other = Side::BOTH[1 - side as usize];
    net::loopback_up()?;
    net::set_mac(HOST, side.mac().0)?;
    prepare(HOST, LAN_MTU)?;
    net::add_address(HOST, Address { ip: side.address().into(), prefix: PREFIX })?;
    net::add_neighbour(HOST, other.address().into(), other.mac().0)
}

/// Called in the middle, when both ends of every cable are up.
fn await_running(interfaces: &[Interface]) -> Result<(), Refused> {
    let cables = interfaces.iter().filter(|interface| interface.is_ethernet());
    for interface in cables {
        Interface::await_running(&interface.name, SOON)?;
    }
    Ok(())
}

fn wire_arguments(knobs: &Knobs, socket: &Path) -> Vec<String> {
    let mut arguments = words(&["lab", "wire", "--a", WIRES[0], "--b", WIRES[1], "--socket"]);
    arguments.push(socket.display().to_string());
    arguments.extend(["--delay".to_owned(), format!("{}ps", knobs.delay.as_ps())]);
    arguments.extend(["--queue".to_owned(), format!("{}B", knobs.queue.get())]);
    arguments.extend(["--seed".to_owned(), knobs.seed.to_string()]);
    if let Some(rate) = knobs.rate {
        arguments.extend(["--rate".to_owned(), format!("{}bps", rate.bits_per_s())]);
    }
    arguments
}

fn path_arguments(knobs: &Knobs, socket: &Path) -> Vec<String> {
    let mut arguments = words(&["lab", "wire", "--a", PATHS[0], "--b", PATHS[1], "--socket"]);
    arguments.push(socket.display().to_string());
    arguments.extend(["--delay".to_owned(), format!("{}ps", knobs.path_delay.as_ps())]);
    arguments
}

fn relay_arguments(knobs: &Knobs, end: usize, directory: &Path) -> Vec<String> {
    let mut arguments = words(&["relay", "run", "--lan", LANS[end], "--link", LINKS[end], "--run-dir"]);
    arguments.push(directory.display().to_string());
    let rate = knobs.rate.unwrap_or(UNLIMITED);
    arguments.extend(["--rate".to_owned(), format!("{}bps", rate.bits_per_s())]);
    arguments.extend(["--queue".to_owned(), format!("{}B", knobs.queue.get())]);
    arguments.extend(words(&["--mode", knobs.mode.name()]));
    if let Some(copies) = knobs.copies {
        arguments.extend(["--copies".to_owned(), copies.to_string()]);
    }
    arguments
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
