//! Errors of a relay or a wire.

use std::fmt;
use std::io;

use crate::net::NetError;
use crate::net::offload::Offload;

/// Why a relay or a wire cannot start or run. Each message is one line: what is wrong and what to do.
#[derive(Debug)]
pub enum RelayError {
    /// LAN and link are the same interface.
    Same(String),
    /// The interface is down.
    Down(String),
    /// The interface has no carrier.
    NoCarrier(String),
    /// Another program or the host uses the interface.
    InUse {
        /// The interface.
        name: String,
        /// The user of the interface.
        by: String,
        /// Command that frees the interface.
        remedy: String,
    },
    /// The interface is not Ethernet.
    NotEthernet(String),
    /// The MTU of the link is too small for frames of the LAN plus a header.
    Mtu {
        /// The interface of the link.
        link: String,
        /// MTU of the link.
        has: u32,
        /// MTU that the link needs.
        needs: u32,
    },
    /// The driver does not report a speed.
    RateUnknown(String),
    /// Offloads that merge or split frames or defer checksums are on.
    Offloads {
        /// The interface.
        name: String,
        /// The kernel's names of the features.
        features: Vec<String>,
    },
    /// PFC is on; its domain would end at the relay.
    Pfc {
        /// The interface.
        name: String,
        /// Priorities with PFC.
        priorities: Vec<u8>,
    },
    /// Capabilities are missing.
    Privilege(Vec<&'static str>),
    /// The interface cannot be opened as the requested type of port.
    Port {
        /// The interface.
        name: String,
        /// Reason and remedy.
        why: String,
    },
    /// The settings are invalid.
    Settings(String),
    /// Stopped before it had started.
    Stopped,
    /// A change of the network configuration failed.
    Net(NetError),
    /// An operation on a socket, file or process failed.
    Io {
        /// The operation, as a verb phrase.
        what: String,
        /// The error.
        source: io::Error,
    },
}

impl RelayError {
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Returns whether the input is at fault rather than the environment.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Net(refused) => {
                matches!(refused, NetError::NoSuchInterface { .. } | NetError::Taken { .. })
            }
            Self::Io { .. } | Self::Privilege(_) => false,
            _ => true,
        }
    }
}

impl fmt::Display for RelayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(name) => {
                write!(f, "`{name}` cannot be both LAN and link: a relay needs two interfaces")
            }
            Self::Down(name) => write!(f, "`{name}` is down; bring it up: ip link set {name} up"),
            Self::NoCarrier(name) => write!(
                f,
                "`{name}` has no carrier: check the cable and the other end, or wait for it with --wait"
            ),
            Self::InUse { name, by, remedy } => write!(f, "`{name}` is in use by {by}; free it: {remedy}"),
            Self::NotEthernet(name) => write!(f, "`{name}` carries no Ethernet frames"),
            Self::Mtu { link, has, needs } => write!(
                f,
                "`{link}` has MTU {has}; frames of the LAN plus a header need {needs}: \
                 ip link set {link} mtu {needs}"
            ),
            Self::RateUnknown(name) => {
                write!(
                    f,
                    "the driver of `{name}` reports no speed; set it with --rate, for example --rate 10Gbps"
                )
            }
            Self::Offloads { name, features } => write!(
                f,
                "offloads of `{name}` merge or split frames or defer checksums ({}); --disable-offloads disables them \
                 and restores them at the end",
                summary(features)
            ),
            Self::Pfc { name, priorities } => {
                let priorities: Vec<_> = priorities.iter().map(u8::to_string).collect();
                write!(
                    f,
                    "`{name}` has priority flow control on ({}), whose domain would end at the relay; --allow-pfc allows that",
                    priorities.join(", ")
                )
            }
            Self::Privilege(missing) => write!(
                f,
                "a relay needs {}: run it as root, or run setcap cap_net_admin,cap_net_raw+ep WIREMEND",
                missing.join(" and ")
            ),
            Self::Port { name, why } => write!(f, "cannot open `{name}` with the selected --port: {why}"),
            Self::Settings(why) => f.write_str(why),
            Self::Stopped => f.write_str("stopped before it had started"),
            Self::Net(NetError::NoSuchInterface { name }) => {
                write!(f, "interface `{name}` does not exist; list interfaces: ip link")
            }
            Self::Net(refused) => refused.fmt(f),
            Self::Io { what, source }
                if what.contains("packet socket") && source.kind() == io::ErrorKind::PermissionDenied =>
            {
                write!(f, "cannot {what}: needs CAP_NET_RAW")
            }
            Self::Io { what, source } => write!(f, "cannot {what}: {source}"),
        }
    }
}

/// Summarises features by group, because there may be dozens.
fn summary(features: &[String]) -> String {
    let in_group = |group| features.iter().filter(move |name| Offload::for_feature(name) == Some(group));
    let groups = Offload::FOR_XDP.into_iter().filter_map(|group| {
        let first = in_group(group).next()?;
        Some(match in_group(group).count() - 1 {
            0 => first.clone(),
            others => format!("{first} and {others} similar"),
        })
    });
    groups.collect::<Vec<_>>().join(", ")
}

impl std::error::Error for RelayError {}

impl From<NetError> for RelayError {
    fn from(refused: NetError) -> Self {
        Self::Net(refused)
    }
}
