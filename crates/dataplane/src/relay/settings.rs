//! Settings of a relay.

use std::net::SocketAddr;
use std::path::PathBuf;

use wiremend_proto::link::{Config, CopyCount, LossRate};
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::link::LinkCodec;

use super::{Classifier, LinkKey, RelayError};
use crate::event_loop::WaitMode;
use crate::net::offload::Offload;
use crate::sys::xdp::XdpMode;

/// Settings of a relay.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub struct Settings {
    /// The interface towards the hosts.
    pub lan: String,
    /// The interface of the link.
    pub link: String,
    /// Rate of the link. `None`: the speed that the driver reports.
    pub rate: Option<Rate>,
    /// Whether protection is on from the start.
    pub active: bool,
    /// Classes of frames and their protection modes.
    pub classes: Classifier,
    /// Loss rate that may remain.
    pub target: LossRate,
    /// Number of copies of each retransmitted frame.
    pub copies: CopyCount,
    /// Wire format of the header.
    pub codec: LinkCodec,
    /// The key that both ends share.
    pub key: Option<LinkKey>,
    /// Size of the queue before the link.
    pub queue: Bytes,
    /// Maximum number of frames that the device holds ahead of the link rate.
    pub device_frames: u32,
    /// Lower bound of the round trip time. `None`: the measured value alone counts.
    pub rtt_min: Option<Span>,
    /// Time until a missing frame is given up.
    pub give_up: Span,
    /// Type of the two ports.
    pub port: PortKind,
    /// How the forwarding process waits for frames.
    pub poll: WaitMode,
    /// Processor to run on.
    pub cpu: Option<usize>,
    /// Run directory, with one subdirectory per interface for the control socket and the settings to restore.
    pub run_dir: PathBuf,
    /// Id of a user who may change settings, besides root and the user that runs the relay.
    pub user: Option<u32>,
    /// Address at which to serve metrics.
    pub metrics: Option<SocketAddr>,
    /// Whether the relay may disable offloads that merge or split frames.
    pub disable_offloads: bool,
    /// Whether the relay may end a PFC domain.
    pub allow_pfc: bool,
    /// Version of the program, for the metrics.
    pub version: String,
    /// Whether to wait for interfaces that are down or have no carrier.
    pub wait: bool,
    /// Whether to restore both interfaces at the end. Otherwise the kernel continues to forward between them.
    pub release: bool,
}

/// Type of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortKind {
    /// `AF_XDP` if the driver supports zero copy, else packet sockets.
    Auto,
    /// Packet sockets.
    Packet,
    /// `AF_XDP` sockets.
    Xdp(XdpMode),
}

/// A peer that is silent for this long is gone. The link must forward again within 100 ms.
const SILENCE_MAX: Span = Span::from_ms(80);

/// Round trip time assumed until recoveries were measured: a process may be scheduled late.
const RTT_AT_FIRST: Span = Span::from_us(500);

/// Losses in a row after which a second frame must confirm that so many are missing.
const UNCONFIRMED_JUMP_MAX: u32 = 32;

const ETHERTYPE_MIN: u16 = 0x0600;
/// Protocols that a link may carry.
const ETHERTYPES_IN_USE: [(u16, &str); 15] = [
    (0x0800, "IPv4"),
    (0x0806, "ARP"),
    (0x8100, "VLAN tags"),
    (0x86DD, "IPv6"),
    (0x8808, "flow control"),
    (0x8809, "LACP"),
    (0x8847, "MPLS"),
    (0x8848, "MPLS multicast"),
    (0x8863, "PPPoE discovery"),
    (0x8864, "PPPoE"),
    (0x888E, "802.1X"),
    (0x88A8, "VLAN tags of providers"),
    (0x88CC, "LLDP"),
    (0x88F7, "PTP"),
    (0x8915, "RoCE version 1"),
];
const RATE_MIN: Rate = Rate::from_bits_per_s(1_000_000);
const GIVE_UP_MIN: Span = Span::from_ms(1);
const GIVE_UP_MAX: Span = Span::from_ms(10_000);
/// Two jumbo frames.
const QUEUE_MIN: Bytes = Bytes::kib(32);

impl Settings {
    /// Frame length from which the number of pool slots is computed.
    const FRAME_BYTES_TYPICAL: u64 = 512;

    /// Returns default settings for a relay between two interfaces.
    pub fn new(lan: &str, link: &str) -> Self {
        Self {
            lan: lan.into(),
            link: link.into(),
            rate: None,
            active: false,
            classes: Classifier::default(),
            target: LossRate::from_parts_per_trillion(10_000),
            copies: CopyCount::Measured(LossRate::from_parts_per_trillion(1_000_000_000)),
            codec: LinkCodec::default(),
            key: None,
            queue: Bytes::kib(1024),
            device_frames: 64,
            rtt_min: None,
            give_up: Span::from_ms(20),
            port: PortKind::Auto,
            poll: WaitMode::Sleep,
            cpu: None,
            run_dir: PathBuf::from("/run/wiremend"),
            user: None,
            metrics: None,
            disable_offloads: false,
            allow_pfc: false,
            version: env!("CARGO_PKG_VERSION").into(),
            wait: false,
            release: false,
        }
    }

    /// Checks values that would make a link useless or that no link has.
    pub fn check(&self) -> Result<(), RelayError> {
        let refuse = |why: String| Err(RelayError::Settings(why));
        let ethertype = self.codec.ethertype;
        if let Some((_, protocol)) = ETHERTYPES_IN_USE.iter().find(|(used, _)| *used == ethertype) {
            return refuse(format!(
                "--ethertype {ethertype:04x} belongs to {protocol}, whose frames would be taken for link headers; use \
                 88b5 or 88b6"
            ));
        }
        if ethertype < ETHERTYPE_MIN {
            return refuse(format!(
                "--ethertype {ethertype:04x} is a length; EtherTypes begin at 0600; use 88b5 or 88b6"
            ));
        }
        if let Some(rate) = self.rate.filter(|rate| *rate < RATE_MIN) {
            return refuse(format!("--rate {rate} is too low: at least {RATE_MIN}"));
        }
        if !(GIVE_UP_MIN..=GIVE_UP_MAX).contains(&self.give_up) {
            return refuse(format!(
                "--give-up {} is out of range: {GIVE_UP_MIN} to {GIVE_UP_MAX}",
                self.give_up
            ));
        }
        if self.queue < QUEUE_MIN {
            return refuse(format!("--queue {} is too small for a burst: at least {QUEUE_MIN}", self.queue));
        }
        Ok(())
    }

    /// Configuration of the endpoint. Buffers cover the time until a frame is given up, so that a process
    /// that is scheduled late loses nothing.
    pub(super) fn link_config(&self, rate: Rate, frame_bytes_max: Bytes) -> Config {
        let link = Config::for_link(rate, frame_bytes_max, self.give_up);
        // A retransmission waits behind the frames in the device; the first timeout must be longer.
        let device_delay = rate.serialize(frame_bytes_max * u64::from(self.device_frames));
        Config {
            target: self.target,
            copies: self.copies,
            rtt_min: self.rtt_min.map_or(Span::ZERO, |least| least.max(device_delay)),
            rtt_initial: RTT_AT_FIRST.max(device_delay),
            rtt_samples: 5,
            give_up: Some(self.give_up),
            silence_max: Some(SILENCE_MAX),
            unconfirmed_jump_max: Some(UNCONFIRMED_JUMP_MAX),
            // When a gap is filled, the frames behind it are delivered at once, not at the rate of the link.
            // A pause is needed only when the buffer fills up; an earlier one would leave the link idle.
            pause_at: Some(Bytes::new(link.rx_bytes_max.get() / 2)),
            ..link
        }
    }

    /// Number of pool slots: enough for both buffers and the queue.
    pub(super) fn slots(&self, config: &Config) -> u32 {
        let bytes = config.tx_bytes_max + config.rx_bytes_max + self.queue;
        (bytes.get() / Self::FRAME_BYTES_TYPICAL).clamp(4096, 1 << 18) as u32
    }

    /// The offloads that must be off for this type of port.
    pub(super) fn conflicting_offloads(&self) -> &'static [Offload] {
        match self.port {
            PortKind::Xdp(_) => &Offload::FOR_XDP,
            PortKind::Auto | PortKind::Packet => &Offload::FOR_PACKET_SOCKET,
        }
    }

    /// The directory of this relay.
    pub fn directory(&self) -> PathBuf {
        self.run_dir.join(&self.link)
    }

    /// Path of the control socket.
    pub fn socket(&self) -> PathBuf {
        self.directory().join(super::SOCKET)
    }
}
