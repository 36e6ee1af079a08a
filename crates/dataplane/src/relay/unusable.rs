//! Why a relay does not start.

use std::fmt;
use std::io;

use crate::net::Refused;
use crate::net::offload::Offload;

/// Why a relay does not start. Each says in one line what is wrong and what to do.
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
    /// Offloads merge or cut frames, or leave checksums to be filled in.
    Offloads {
        /// The interface.
        name: String,
        /// The kernel's names of the features.
        features: Vec<String>,
    },
    /// Priority flow control is on, and would end here.
    Pfc {
        /// The interface.
        name: String,
        /// Of which priorities.
        priorities: Vec<u8>,
    },
    /// Privileges are missing.
    Privilege(Vec<&'static str>),
    /// It cannot be the kind of port that was asked for.
    Port {
        /// The interface.
        name: String,
        /// Why not, and what to do.
        why: String,
    },
    /// The settings cannot work.
    Settings(String),
    /// Somebody asked it to stop before it had begun.
    Stopped,
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

impl Unusable {
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Whether what was asked for cannot be, rather than the machine lacking something.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Refused(refused) => {
                matches!(refused, Refused::NoSuchInterface { .. } | Refused::Taken { .. })
            }
            Self::Io { .. } | Self::Privilege(_) => false,
            _ => true,
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(name) => {
                write!(f, "`{name}` cannot be both LAN and link: a relay stands between two interfaces")
            }
            Self::Down(name) => write!(f, "`{name}` is down; bring it up: ip link set {name} up"),
            Self::NoCarrier(name) => write!(
                f,
                "`{name}` has no carrier: nothing is at its other end, or that is down; see to it, or wait for it with --wait"
            ),
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
            Self::Offloads { name, features } => write!(
                f,
                "offloads of `{name}` merge or cut frames or leave checksums open ({}); let them be switched off \
                 with --switch-offloads, and back on at the end",
                summary(features)
            ),
            Self::Pfc { name, priorities } => {
                let priorities: Vec<_> = priorities.iter().map(u8::to_string).collect();
                write!(
                    f,
                    "`{name}` has priority flow control on ({}), which would end at a relay; if that is meant, say --end-pfc",
                    priorities.join(", ")
                )
            }
            Self::Privilege(missing) => write!(
                f,
                "a relay needs {}: run it as root, or give it to the program: setcap cap_net_admin,cap_net_raw+ep WIREMEND",
                missing.join(" and ")
            ),
            Self::Port { name, why } => write!(f, "`{name}` cannot be such a port: {why}"),
            Self::Settings(why) => f.write_str(why),
            Self::Stopped => f.write_str("stopped before it had begun"),
            Self::Refused(Refused::NoSuchInterface { name }) => {
                write!(f, "interface `{name}` does not exist; see which do: ip link")
            }
            Self::Refused(refused) => refused.fmt(f),
            Self::Io { what, source }
                if what.contains("packet socket") && source.kind() == io::ErrorKind::PermissionDenied =>
            {
                write!(f, "{what} was refused: it needs CAP_NET_RAW")
            }
            Self::Io { what, source } => write!(f, "{what} was refused: {source}"),
        }
    }
}

/// Features by what they do: there may be dozens.
fn summary(features: &[String]) -> String {
    let of = |group| features.iter().filter(move |name| Offload::of(name) == Some(group));
    let groups = Offload::PAST_THE_STACK.into_iter().filter_map(|group| {
        let first = of(group).next()?;
        Some(match of(group).count() - 1 {
            0 => first.clone(),
            others => format!("{first} and {others} like it"),
        })
    });
    groups.collect::<Vec<_>>().join(", ")
}

impl std::error::Error for Unusable {}

impl From<Refused> for Unusable {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}
