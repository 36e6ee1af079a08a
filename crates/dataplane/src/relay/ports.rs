//! Checks and opens the two ports of a relay.

use tracing::warn;
use wiremend_units::{Bytes, Rate};
use wiremend_wire::MacAddr;

use super::{PortKind, RelayError, Settings};
use crate::net::{Interface, PortFlowControl, offload, tc};
use crate::port::LinuxPort;
use crate::sys::ioctl::Ethtool;
use crate::sys::packet::PacketSocket;
use crate::sys::xdp::{FRAME_BYTES_MAX, QUEUES_MAX, XdpMode, XdpSocket};

pub(super) struct Ports {
    pub(super) lan: LinuxPort,
    pub(super) link: LinuxPort,
    pub(super) source: MacAddr,
    pub(super) rate: Rate,
    pub(super) frame_bytes_max: Bytes,
    pub(super) lan_mtu: u32,
}

/// Link header, and two VLAN tags (IEEE 802.1ad), which the MTU does not include.
const MTU_EXTRA: u32 = 10 + TAGS_BYTES;
const RING_FRAMES: u32 = 4096;
const ETHERNET_BYTES: u32 = 14;
const TAGS_BYTES: u32 = 8;
const FCS_BYTES: u32 = 4;

impl Ports {
    /// Checks and opens the ports. They may be down.
    pub(super) fn open(settings: &Settings) -> Result<Self, RelayError> {
        let [lan, link] = check(settings)?;
        let frame_bytes_max = lan.mtu + ETHERNET_BYTES + TAGS_BYTES + FCS_BYTES;
        Ok(Self {
            source: MacAddr(link.mac.unwrap_or_default()),
            rate: rate(settings, &link)?,
            lan_mtu: lan.mtu,
            lan: open(&lan, settings)?,
            link: open(&link, settings)?,
            frame_bytes_max: Bytes::new(u64::from(frame_bytes_max)),
        })
    }
}
/// Returns both interfaces if they can be the ports of a relay once they are up. Changes nothing.
pub(super) fn check(settings: &Settings) -> Result<[Interface; 2], RelayError> {
    if settings.lan == settings.link {
        return Err(RelayError::Same(settings.lan.clone()));
    }
    let (lan, link) = (check_unused(&settings.lan)?, check_unused(&settings.link)?);
    check_mtu(&lan, &link)?;
    Ok([lan, link])
}

/// Fails if the link cannot carry the frames of the LAN behind a header.
pub(super) fn check_mtu(lan: &Interface, link: &Interface) -> Result<(), RelayError> {
    let needs = lan.mtu + MTU_EXTRA;
    if link.mtu < needs {
        return Err(RelayError::Mtu { link: link.name.clone(), has: link.mtu, needs });
    }
    Ok(())
}

pub(super) fn check_ready(interface: &Interface) -> Result<(), RelayError> {
    match interface {
        Interface { up: false, name, .. } => Err(RelayError::Down(name.clone())),
        Interface { carrier: false, name, .. } => Err(RelayError::NoCarrier(name.clone())),
        _ => Ok(()),
    }
}

/// Fails if PFC, tc filters of other programs or offloads on an interface conflict with a relay.
pub(super) fn check_conflicts(name: &str, settings: &Settings) -> Result<(), RelayError> {
    let pfc = PortFlowControl::read(name)?.pfc.unwrap_or(0);
    if pfc != 0 && !settings.allow_pfc {
        let priorities = (0..8).filter(|priority| pfc & 1 << priority != 0).collect();
        return Err(RelayError::Pfc { name: name.into(), priorities });
    }
    let filters = tc::foreign_filter_count(name)?;
    if filters > 0 {
        return Err(RelayError::InUse {
            name: name.into(),
            by: format!("{filters} tc filter{} of another program", if filters == 1 { "" } else { "s" }),
            remedy: format!("tc filter del dev {name} ingress"),
        });
    }
    let features = offload::enabled(name, settings.conflicting_offloads())?;
    if !features.is_empty() && !settings.disable_offloads {
        let features = features.into_iter().map(|feature| feature.name).collect();
        return Err(RelayError::Offloads { name: name.into(), features });
    }
    Ok(())
}

/// Rate of the link: as configured, else the speed that the driver reports.
pub(super) fn rate(settings: &Settings, link: &Interface) -> Result<Rate, RelayError> {
    let reported = || link.speed_mbps().filter(|mbps| *mbps > 0);
    settings
        .rate
        .or_else(|| reported().map(|mbps| Rate::from_bits_per_s(u64::from(mbps) * 1_000_000)))
        .ok_or_else(|| RelayError::RateUnknown(link.name.clone()))
}

/// Returns an Ethernet interface that neither a bridge, a bond nor the host uses.
fn check_unused(name: &str) -> Result<Interface, RelayError> {
    let interface = Interface::by_name(name)?;
    if !interface.is_ethernet() {
        return Err(RelayError::NotEthernet(name.into()));
    }
    if let Some(master) = interface.master {
        return Err(RelayError::InUse {
            name: name.into(),
            by: format!("a bridge or bond (interface {master})"),
            remedy: format!("ip link set {name} nomaster"),
        });
    }
    if let Some(address) = interface.given_addresses().next() {
        return Err(RelayError::InUse {
            name: name.into(),
            by: format!("the host: it has the address {}", address.ip),
            remedy: format!("ip addr flush dev {name}"),
        });
    }
    Ok(interface)
}

fn open(interface: &Interface, settings: &Settings) -> Result<LinuxPort, RelayError> {
    match settings.port {
        PortKind::Xdp(mode) => open_xdp(interface, settings, mode),
        // XDP pays only with zero copy, which needs hardware. XDP loses VLAN tags that the hardware strips.
        PortKind::Auto if interface.kind.is_none() && keeps_tags(interface) => {
            match zero_copy(open_xdp(interface, settings, XdpMode::Native), settings, &interface.name) {
                Some(port) => Ok(port),
                None => open_packet(interface),
            }
        }
        PortKind::Auto | PortKind::Packet => open_packet(interface),
    }
}

/// Returns a port that uses zero copy. That there is none stops no relay: the log says why.
fn zero_copy(opened: Result<LinuxPort, RelayError>, settings: &Settings, name: &str) -> Option<LinuxPort> {
    match opened {
        Ok(port) => Some(port).filter(|port| matches!(port, LinuxPort::Xdp(socket) if socket.is_zero_copy())),
        Err(why) => {
            warn!(link = settings.link, "`{name}` uses packet sockets: {why}");
            None
        }
    }
}

fn keeps_tags(interface: &Interface) -> bool {
    offload::enabled(&interface.name, &[offload::Offload::VlanStripping])
        .is_ok_and(|features| features.is_empty())
}

fn open_packet(interface: &Interface) -> Result<LinuxPort, RelayError> {
    let opened = PacketSocket::open(interface.index, RING_FRAMES, frame_bytes(interface));
    opened
        .map(LinuxPort::Packet)
        .map_err(RelayError::io(format!("open a packet socket on `{}`", interface.name)))
}

fn open_xdp(interface: &Interface, settings: &Settings, mode: XdpMode) -> Result<LinuxPort, RelayError> {
    let name = &interface.name;
    let refused = |why: String| RelayError::Port { name: name.clone(), why };
    if frame_bytes(interface) > FRAME_BYTES_MAX {
        return Err(refused(format!("its MTU of {} is too large for XDP; use --port packet", interface.mtu)));
    }
    let queues = Ethtool::open(name).and_then(|ethtool| ethtool.receive_queues()).unwrap_or(1).max(1);
    if queues as usize > QUEUES_MAX {
        return Err(refused(format!(
            "it has {queues} queues, but XDP supports at most {QUEUES_MAX}: ethtool -L {name} combined {QUEUES_MAX}"
        )));
    }
    XdpSocket::open(interface.index, queues as usize, settings.codec.ethertype, mode)
        .map(|socket| LinuxPort::Xdp(Box::new(socket)))
        .map_err(|error| {
            let other = match mode {
                XdpMode::Native => "--port packet or --port xdp-generic",
                XdpMode::Generic => "--port packet",
            };
            refused(format!(
                "the kernel refused XDP ({error}), which needs CAP_BPF, AF_XDP and locked memory (`ulimit -l`, in a \
                 unit LimitMEMLOCK); use {other}"
            ))
        })
}

fn frame_bytes(interface: &Interface) -> u32 {
    interface.mtu + ETHERNET_BYTES + TAGS_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `--port auto` tries XDP on hardware; a sandbox, a driver or a kernel may refuse it.
    #[test]
    fn refused_xdp_leaves_packet_sockets() {
        let refused = RelayError::Port { name: "eth1".to_owned(), why: "the kernel refused XDP".to_owned() };
        assert!(zero_copy(Err(refused), &Settings::new("eth1", "eth2"), "eth1").is_none());
    }
}
