//! Opening the two ports of a relay, or saying why not.

use std::fmt;
use std::io;

use wiremend_units::{Bytes, Rate};
use wiremend_wire::MacAddr;

use super::Settings;
use crate::net::{self, Interface, Refused};
use crate::sys::packet::PacketSocket;

/// Two open ports, and what they are like.
pub(super) struct Ports {
    pub(super) lan: PacketSocket,
    pub(super) link: PacketSocket,
    pub(super) source: MacAddr,
    pub(super) rate: Rate,
    pub(super) frame_bytes_max: Bytes,
}

/// Why a relay does not start.
#[derive(Debug)]
pub enum Unusable {
    /// Both sides are the same interface.
    Same(String),
    /// It was not brought up.
    Down(String),
    /// Nothing is at the other end.
    NoCarrier(String),
    /// Somebody uses it otherwise.
    InUse {
        /// The interface.
        name: String,
        /// By what.
        by: String,
        /// What to do.
        remedy: String,
    },
    /// It carries no Ethernet frames.
    NotEthernet(String),
    /// Frames of the LAN do not fit into those of the link.
    Mtu {
        /// The interface of the link.
        link: String,
        /// Its MTU.
        has: u32,
        /// The MTU it needs.
        needs: u32,
    },
    /// The interface does not say how fast it is.
    RateUnknown(String),
    /// The settings cannot work.
    Settings(String),
    /// The kernel refused something.
    Refused(Refused),
    /// A socket or a file was refused.
    Io {
        /// What was tried.
        what: String,
        /// Why not.
        source: io::Error,
    },
}

/// The link's header, and a VLAN tag that an interface does not count.
const MTU_EXTRA: u32 = 10 + 4;
/// Frames in a ring.
const RING_PLACES: u32 = 4096;
const ETHERNET_BYTES: u32 = 14;
const TAG_BYTES: u32 = 4;
const FCS_BYTES: u32 = 4;

impl Ports {
    pub(super) fn open(settings: &Settings) -> Result<Self, Unusable> {
        if settings.lan == settings.link {
            return Err(Unusable::Same(settings.lan.clone()));
        }
        let (lan, link) = (facts(&settings.lan)?, facts(&settings.link)?);
        if link.mtu < lan.mtu + MTU_EXTRA {
            let needs = lan.mtu + MTU_EXTRA;
            return Err(Unusable::Mtu { link: link.name, has: link.mtu, needs });
        }
        let rate = match settings.rate {
            Some(rate) => rate,
            None => link
                .speed_mbps()
                .filter(|mbps| *mbps > 0)
                .map(|mbps| Rate::from_bits_per_s(u64::from(mbps) * 1_000_000))
                .ok_or_else(|| Unusable::RateUnknown(link.name.clone()))?,
        };
        for name in [&settings.lan, &settings.link] {
            net::silence(name).map_err(Unusable::Refused)?;
        }
        let frame_bytes_max = lan.mtu + ETHERNET_BYTES + TAG_BYTES + FCS_BYTES;
        Ok(Self {
            source: MacAddr(link.mac.unwrap_or_default()),
            lan: open(&lan)?,
            link: open(&link)?,
            rate,
            frame_bytes_max: Bytes::new(u64::from(frame_bytes_max)),
        })
    }
}

/// What is known of an interface, if it can be a port.
fn facts(name: &str) -> Result<Interface, Unusable> {
    let interface = Interface::by_name(name).map_err(Unusable::Refused)?;
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
    if interface.given_addresses().next().is_some() {
        return Err(Unusable::InUse {
            name: name.into(),
            by: "the host itself: it has an address".into(),
            remedy: format!("ip addr flush dev {name}"),
        });
    }
    if !interface.up {
        return Err(Unusable::Down(name.into()));
    }
    if !interface.carrier {
        return Err(Unusable::NoCarrier(name.into()));
    }
    Ok(interface)
}

fn open(interface: &Interface) -> Result<PacketSocket, Unusable> {
    let frame_bytes = interface.mtu + ETHERNET_BYTES + TAG_BYTES;
    let opened = PacketSocket::open(interface.index, RING_PLACES, frame_bytes);
    opened.map_err(|source| Unusable::Io { what: format!("a packet socket on `{}`", interface.name), source })
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(name) => {
                write!(f, "`{name}` cannot be both LAN and link: a relay stands between two interfaces")
            }
            Self::Down(name) => write!(f, "`{name}` is down; bring it up: ip link set {name} up"),
            Self::NoCarrier(name) => {
                write!(f, "`{name}` has no carrier: nothing is at its other end, or that is down")
            }
            Self::InUse { name, by, remedy } => write!(f, "`{name}` is in use by {by}; free it: {remedy}"),
            Self::NotEthernet(name) => write!(f, "`{name}` carries no Ethernet frames"),
            Self::Mtu { link, has, needs } => write!(
                f,
                "frames of the LAN and a header do not fit into `{link}`, whose MTU is {has}; it needs {needs}: \
                 ip link set {link} mtu {needs}"
            ),
            Self::RateUnknown(name) => {
                write!(
                    f,
                    "`{name}` does not say how fast it is; say it with --rate, for example --rate 10Gbps"
                )
            }
            Self::Settings(why) => f.write_str(why),
            Self::Refused(refused) => refused.fmt(f),
            Self::Io { what, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                write!(f, "{what} was refused: it needs CAP_NET_RAW")
            }
            Self::Io { what, source } => write!(f, "{what} was refused: {source}"),
        }
    }
}

impl std::error::Error for Unusable {}

impl From<Refused> for Unusable {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}
