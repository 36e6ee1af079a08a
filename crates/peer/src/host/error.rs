//! Why an endpoint cannot start, or a session ends early.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use wiremend_dataplane::net::NetError;
use wiremend_proto::engine::Status;
use wiremend_wire::{CmReject, ROCE_PORT};

/// An error. Each message is one line: what is wrong and what to do.
#[derive(Debug)]
pub enum PeerError {
    /// No interface has this address.
    NoInterface(IpAddr),
    /// The address belongs to this machine, so its frames do not pass an interface.
    SameMachine(IpAddr),
    /// Packet sockets are not permitted.
    NotPermitted(String),
    /// Another program has the UDP port.
    PortTaken(IpAddr),
    /// The MTU is too small for the smallest packets.
    Mtu {
        /// The interface.
        name: String,
        /// Its MTU.
        has: u32,
        /// The least MTU.
        needs: u32,
    },
    /// The interface is down.
    Down(String),
    /// The interface is not Ethernet.
    NotEthernet(String),
    /// The kernel does not find the neighbour.
    NoNeighbour {
        /// Its address.
        ip: IpAddr,
        /// The interface.
        name: String,
    },
    /// Nothing listens there.
    NoServer(SocketAddr, io::Error),
    /// The TCP port for sessions cannot be opened.
    Listen(SocketAddr, io::Error),
    /// The peer does not go on.
    Silent {
        /// The peer.
        peer: SocketAddr,
        /// What was awaited.
        awaited: &'static str,
    },
    /// The peer closed the TCP connection.
    Closed {
        /// The peer.
        peer: SocketAddr,
        /// What was awaited.
        awaited: &'static str,
    },
    /// The peer sent something else.
    Unexpected {
        /// The peer.
        peer: SocketAddr,
        /// What was awaited.
        awaited: &'static str,
    },
    /// The peer's connection manager refuses; the reason of the specification.
    Rejected {
        /// The peer.
        peer: SocketAddr,
        /// The reason.
        reason: u16,
    },
    /// `rping` got other data than it sent.
    Differs {
        /// The peer.
        peer: SocketAddr,
        /// Number of the ping, from 1.
        number: u64,
    },
    /// A message failed; the status of its completion.
    Failed(Status),
    /// An operation of the kernel failed.
    Net(NetError),
    /// An operation on a socket or file failed.
    Io {
        /// The operation, as a verb phrase.
        what: String,
        /// The error.
        source: io::Error,
    },
    /// The user stopped it.
    Stopped,
}

impl PeerError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.into(), source }
    }
}

impl From<NetError> for PeerError {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInterface(ip) => write!(f, "no interface has the address {ip}: ip -brief address"),
            Self::SameMachine(ip) => {
                write!(
                    f,
                    "{ip} belongs to this machine; start the peer in another network namespace or machine"
                )
            }
            Self::NotPermitted(name) => {
                write!(f, "packet sockets on `{name}` are not permitted: run as root or with CAP_NET_RAW")
            }
            Self::PortTaken(ip) => write!(
                f,
                "UDP port {ROCE_PORT} of {ip} is taken, by soft-RoCE or another endpoint: rdma link; \
                 ss -ulpn 'sport = :{ROCE_PORT}'; older kernels hold it until `modprobe -r rdma_rxe`"
            ),
            Self::Mtu { name, has, needs } => {
                write!(f, "`{name}` has MTU {has}, and RoCE needs {needs}: ip link set {name} mtu {needs}")
            }
            Self::Down(name) => write!(f, "`{name}` is down: ip link set {name} up"),
            Self::NotEthernet(name) => write!(f, "`{name}` is not an Ethernet interface; name another one"),
            Self::NoNeighbour { ip, name } => {
                write!(f, "{ip} does not answer on `{name}`: ip neighbour show dev {name}")
            }
            Self::NoServer(address, error) => write!(
                f,
                "no server at {address}: {error}; start one there, such as `ib_write_bw -x 1 -F` or `wiremend peer serve`"
            ),
            Self::Listen(address, error) => {
                write!(
                    f,
                    "cannot listen at {address}: {error}; end the other server or choose another port with --port"
                )
            }
            Self::Silent { peer, awaited } => {
                write!(
                    f,
                    "{peer} is silent; {awaited} did not come. Tool, size and iterations must be the same at both ends"
                )
            }
            Self::Closed { peer, awaited } => {
                write!(f, "{peer} closed the connection before {awaited}; its own message says why")
            }
            Self::Unexpected { peer, awaited } => {
                write!(f, "{peer} sent something else than {awaited}; the tools at both ends must match")
            }
            Self::Rejected { peer, reason } => {
                write!(
                    f,
                    "the connection manager of {peer} refuses with reason {reason}: {}",
                    refusal(*reason)
                )
            }
            Self::Differs { peer, number } => {
                write!(
                    f,
                    "{peer} returned other data than ping {number} sent; its memory or the link is faulty"
                )
            }
            Self::Failed(status) => {
                write!(f, "a message failed: {status}; {}", remedy(*status))
            }
            Self::Net(error) => error.fmt(f),
            Self::Io { what, source } => write!(f, "cannot {what}: {source}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for PeerError {}

/// What a reason of the connection manager means.
const fn refusal(reason: u16) -> &'static str {
    match reason {
        CmReject::NO_RESOURCES => "it has too many connections",
        CmReject::INVALID_SERVICE => {
            "nobody serves this port; start a server there, such as `rping -s` or `ib_write_bw -R`"
        }
        CmReject::INVALID_MTU => "the path MTU is too large for it; choose a smaller --mtu",
        CmReject::CONSUMER => "its program refuses; its own message says why",
        _ => "see IBA 12.6.7.2",
    }
}

/// What to do when a message fails.
const fn remedy(status: Status) -> &'static str {
    match status {
        Status::RetryExceeded => {
            "the peer is silent: see whether its program still runs and UDP port 4791 passes; a busy one needs a longer \
             --timeout"
        }
        Status::RnrRetryExceeded => "the peer has no receive buffer: give both ends the same --iterations",
        _ => "tool and --size must be the same at both ends",
    }
}
