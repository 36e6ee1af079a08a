//! Connections with perftest and `ibv_rc_pingpong`, as server and as client.
//!
//! A [`Server`] takes any number of clients. A client runs one test ([`run_client`]). Both work in turns: a turn moves
//! frames, then handles what arrived by TCP and the events of the endpoint.

mod client;
mod control_pair;
mod ending;
mod exchange;
mod live;
mod managed;
mod outcome;
mod rping;
mod server;

use wiremend_proto::mend::{Dummies, MendConfig};
use wiremend_proto::rc::{Config, Profile, RnrTimer};
use wiremend_units::Span;

pub(crate) use self::client::swap_keys;
pub use self::client::{Client, SetUp, run as run_client};
pub(crate) use self::exchange::Exchange;
pub use self::live::Live;
pub use self::outcome::{Outcome, Stall};
pub use self::server::{Role, Server, ServerSettings, ServerStatus};

/// Parameters of the queue pairs of a session.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// Largest path MTU; the peer and the interface may have a smaller one.
    pub mtu: u16,
    /// Retransmission timeout; `None`: never.
    pub timeout: Option<Span>,
    /// Retries, 0 to 7, or [`Config::RETRY_INFINITE`].
    pub retry_count: u8,
    /// Retries without a receive buffer; 7: without limit.
    pub rnr_retry: u8,
    /// Time without a frame or message of the peer after which it counts as dead.
    pub silence_max: Span,
    /// Packets in flight.
    pub window: u32,
    /// Dummies behind the last packet.
    pub dummies: u8,
    /// Copies of the last packet.
    pub tail_copies: u8,
    /// Packets between requests for an acknowledgement.
    pub ack_every: u32,
    /// Whether a newer acknowledgement replaces one that waits.
    pub merges_acks: bool,
    /// What this end does otherwise than most NICs.
    pub profile: Profile,
}

/// Wait that perftest asks for without a receive buffer: 0.64 ms.
const RNR_TIMER: u8 = 12;
/// READs in flight and remembered. perftest's default on soft-RoCE is 128, rounded up to a power of two there.
const READS_MAX: u32 = 16;
/// Time for which an end still acknowledges when it has everything and its peer does not tell whether it has. Three
/// times the usual timeout: the last acknowledgement may be lost.
const LINGER: Span = Span::from_ms(250);
impl ConnectionSettings {
    /// The configuration of a queue pair whose peer has this path MTU.
    fn config(&self, mtu: u16, reads_max: u16, write_denied: bool) -> Config {
        let dummies = Dummies { count: self.dummies, write_denied, ..Dummies::default() };
        Config {
            mtu,
            timeout: self.timeout,
            retry_count: self.retry_count,
            rnr_retry: self.rnr_retry,
            rnr_timer: RnrTimer::from_code(RNR_TIMER),
            window: self.window,
            ack_every: self.ack_every,
            reads_max: u32::from(reads_max).clamp(1, READS_MAX),
            flow_control: true,
            mend: MendConfig { dummies, tail_copies: self.tail_copies, ..MendConfig::default() },
            profile: self.profile,
            ..Config::default()
        }
    }
}
