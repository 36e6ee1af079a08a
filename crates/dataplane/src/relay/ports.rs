//! The two ports of a relay: whether they can be, and opening them.

use wiremend_units::{Bytes, Rate};
use wiremend_wire::MacAddr;

use super::{PortKind, Settings, Unusable};
use crate::net::{FlowControl, Interface, offload, tc};
use crate::port::LinuxPort;
use crate::sys::ioctl::Ethtool;
use crate::sys::packet::PacketSocket;
use crate::sys::xdp::{FRAME_BYTES_MAX, QUEUES_MAX, XdpMode, XdpSocket};

/// Two open ports, and what they are like.
pub(super) struct Ports {
    pub(super) lan: LinuxPort,
    pub(super) link: LinuxPort,
    pub(super) source: MacAddr,
    pub(super) rate: Rate,
    pub(super) frame_bytes_max: Bytes,
}

/// The link's header, and a VLAN tag that an interface does not count.
const MTU_EXTRA: u32 = 10 + 4;
/// Frames in a ring.
const RING_PLACES: u32 = 4096;
const ETHERNET_BYTES: u32 = 14;
const TAG_BYTES: u32 = 4;
const FCS_BYTES: u32 = 4;

impl Ports {
    /// Opens ports that were found fit. They may be down meanwhile: a relay outlives that.
    pub(super) fn open(settings: &Settings) -> Result<Self, Unusable> {
        let [lan, link] = fit(settings)?;
        let frame_bytes_max = lan.mtu + ETHERNET_BYTES + TAG_BYTES + FCS_BYTES;
        Ok(Self {
            source: MacAddr(link.mac.unwrap_or_default()),
            rate: rate(settings, &link)?,
            lan: open(&lan, settings)?,
            link: open(&link, settings)?,
            frame_bytes_max: Bytes::new(u64::from(frame_bytes_max)),
        })
    }
}

/// Both interfaces, if they can be the ports of a relay once they are up. Changes nothing and needs no privilege.
pub(super) fn fit(settings: &Settings) -> Result<[Interface; 2], Unusable> {
    if settings.lan == settings.link {
        return Err(Unusable::Same(settings.lan.clone()));
    }
    let (lan, link) = (unclaimed(&settings.lan)?, unclaimed(&settings.link)?);
    if link.mtu < lan.mtu + MTU_EXTRA {
        let needs = lan.mtu + MTU_EXTRA;
        return Err(Unusable::Mtu { link: link.name, has: link.mtu, needs });
    }
    Ok([lan, link])
}

/// Whether an interface is ready to carry frames.
pub(super) fn ready(interface: &Interface) -> Result<(), Unusable> {
    match interface {
        Interface { up: false, name, .. } => Err(Unusable::Down(name.clone())),
        Interface { carrier: false, name, .. } => Err(Unusable::NoCarrier(name.clone())),
        _ => Ok(()),
    }
}

/// Whether nothing on an interface would do something to frames that a relay must not see done.
pub(super) fn clear_of_others(name: &str, settings: &Settings) -> Result<(), Unusable> {
    let pfc = FlowControl::of(name)?.pfc.unwrap_or(0);
    if pfc != 0 && !settings.end_pfc {
        let priorities = (0..8).filter(|priority| pfc & 1 << priority != 0).collect();
        return Err(Unusable::Pfc { name: name.into(), priorities });
    }
    let filters = tc::others(name)?;
    if filters > 0 {
        return Err(Unusable::InUse {
            name: name.into(),
            by: format!("{filters} tc filter{} of another program", if filters == 1 { "" } else { "s" }),
            remedy: format!("tc filter del dev {name} ingress"),
        });
    }
    let features = offload::harmful(name, settings.unbearable())?;
    if !features.is_empty() && !settings.switch_offloads {
        let features = features.into_iter().map(|feature| feature.name).collect();
        return Err(Unusable::Offloads { name: name.into(), features });
    }
    Ok(())
}

/// How fast the link is.
pub(super) fn rate(settings: &Settings, link: &Interface) -> Result<Rate, Unusable> {
    let told = || link.speed_mbps().filter(|mbps| *mbps > 0);
    settings
        .rate
        .or_else(|| told().map(|mbps| Rate::from_bits_per_s(u64::from(mbps) * 1_000_000)))
        .ok_or_else(|| Unusable::RateUnknown(link.name.clone()))
}

/// What is known of an interface, if nobody uses it.
fn unclaimed(name: &str) -> Result<Interface, Unusable> {
    let interface = Interface::by_name(name)?;
    if !interface.is_ethernet() {
        return Err(Unusable::NotEthernet(name.into()));
    }
    if let Some(master) = interface.master {
        return Err(Unusable::InUse {
            name: name.into(),
            by: format!("a bridge or bond (interface {master})"),
            remedy: format!("ip link set {name} nomaster"),
        });
    }
    if let Some(address) = interface.given_addresses().next() {
        return Err(Unusable::InUse {
            name: name.into(),
            by: format!("the host itself: it has the address {}", address.ip),
            remedy: format!("ip addr flush dev {name}"),
        });
    }
    Ok(interface)
}

fn open(interface: &Interface, settings: &Settings) -> Result<LinuxPort, Unusable> {
    match settings.port {
        PortKind::Xdp(mode) => past_the_stack(interface, settings, mode),
        // Hardware alone may hand frames over without copying. Where it does not, there is nothing to gain; where it takes tags out of
        // frames, there is something to lose.
        PortKind::Auto if interface.kind.is_none() && keeps_tags(interface) => {
            past_the_stack(interface, settings, XdpMode::Native)
                .ok()
                .filter(|port| matches!(port, LinuxPort::Xdp(socket) if socket.is_zero_copy()))
                .map_or_else(|| by_packet_socket(interface), Ok)
        }
        PortKind::Auto | PortKind::Packet => by_packet_socket(interface),
    }
}

fn keeps_tags(interface: &Interface) -> bool {
    offload::harmful(&interface.name, &[offload::Offload::Tags]).is_ok_and(|features| features.is_empty())
}

fn by_packet_socket(interface: &Interface) -> Result<LinuxPort, Unusable> {
    let opened = PacketSocket::open(interface.index, RING_PLACES, frame_bytes(interface));
    opened.map(LinuxPort::Packet).map_err(Unusable::io(format!("a packet socket on `{}`", interface.name)))
}

fn past_the_stack(interface: &Interface, settings: &Settings, mode: XdpMode) -> Result<LinuxPort, Unusable> {
    let name = &interface.name;
    let refused = |why: String| Unusable::Port { name: name.clone(), why };
    if frame_bytes(interface) > FRAME_BYTES_MAX {
        return Err(refused(format!("its MTU of {} is too long for XDP; use --port packet", interface.mtu)));
    }
    let queues = Ethtool::open(name).and_then(|ethtool| ethtool.arrival_queues()).unwrap_or(1).max(1);
    if queues as usize > QUEUES_MAX {
        return Err(refused(format!(
            "it has {queues} queues, and XDP looks after at most {QUEUES_MAX}: ethtool -L {name} combined {QUEUES_MAX}"
        )));
    }
    XdpSocket::open(interface.index, queues as usize, settings.dialect.ethertype, mode)
        .map(|socket| LinuxPort::Xdp(Box::new(socket)))
        .map_err(|error| {
            refused(format!("XDP was refused ({error}); use --port packet, or --port xdp-generic"))
        })
}

fn frame_bytes(interface: &Interface) -> u32 {
    interface.mtu + ETHERNET_BYTES + TAG_BYTES
}
