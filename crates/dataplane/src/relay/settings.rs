//! What a relay is told at its start.

use std::net::SocketAddr;
use std::path::PathBuf;

use wiremend_proto::link::{Config, CopyCount, LossRate};
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::link::Dialect;

use super::Classes;
use crate::drive::Poll;
use crate::net::offload::Offload;
use crate::sys::xdp::XdpMode;

/// What a relay is told at its start.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Settings {
    /// The interface on the side of hosts.
    pub lan: String,
    /// The interface on the side of the link.
    pub link: String,
    /// Of the link; what the interface says, if nothing is.
    pub rate: Option<Rate>,
    /// Whether to protect from the start.
    pub active: bool,
    /// Which frames are protected, and how.
    pub classes: Classes,
    /// The loss that may remain.
    pub target: LossRate,
    /// Copies of what is asked for.
    pub copies: CopyCount,
    /// How the header is written.
    pub dialect: Dialect,
    /// Room in the queue to the link.
    pub queue: Bytes,
    /// Frames handed to the link's port in advance.
    pub handed_frames: u32,
    /// The round trip is taken to be at least this; if nothing is said, what is measured counts.
    pub rtt_min: Option<Span>,
    /// A frame is waited for so long.
    pub give_up: Span,
    /// How frames come in and go out.
    pub port: PortKind,
    /// How to wait for frames.
    pub poll: Poll,
    /// The processor to stay on.
    pub cpu: Option<usize>,
    /// Where its socket and what it has to restore are kept; a directory of its own for each link is made there.
    pub run_dir: PathBuf,
    /// Who may change things beside root.
    pub user: Option<u32>,
    /// Where to serve metrics.
    pub metrics: Option<SocketAddr>,
    /// Whether it may switch off offloads that merge or cut frames.
    pub switch_offloads: bool,
    /// Whether it may end a PFC domain.
    pub end_pfc: bool,
    /// What program this is, for those who collect metrics.
    pub version: String,
    /// Whether to wait for interfaces that are down or have no carrier.
    pub wait: bool,
    /// Whether to give both interfaces back at the end; else the kernel goes on forwarding between them.
    pub release: bool,
}

/// How frames come in and go out of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortKind {
    /// Past the stack where the driver hands frames over without copying, else by packet sockets.
    Auto,
    /// Packet sockets.
    Packet,
    /// Past the kernel's stack (`AF_XDP`).
    Xdp(XdpMode),
}

/// A peer that is silent for so long is gone: less than the tenth of a second within which a link is to be as it was.
const SILENCE_MAX: Span = Span::from_ms(80);

/// The round trip is reckoned with at least this until recoveries have shown how long they take: a process comes late at times.
const RTT_AT_FIRST: Span = Span::from_us(500);

impl Settings {
    /// Frames that a process needs to bridge while it is not scheduled: [`Settings::give_up`] of them.
    const FRAME_BYTES_TYPICAL: u64 = 512;

    /// What suits most links between these two interfaces.
    pub fn between(lan: &str, link: &str) -> Self {
        Self {
            lan: lan.into(),
            link: link.into(),
            rate: None,
            active: false,
            classes: Classes::default(),
            target: LossRate::parts_per_trillion(10_000),
            copies: CopyCount::Measured(LossRate::parts_per_trillion(1_000_000_000)),
            dialect: Dialect::default(),
            queue: Bytes::kib(1024),
            handed_frames: 64,
            rtt_min: None,
            give_up: Span::from_ms(20),
            port: PortKind::Auto,
            poll: Poll::Sleep,
            cpu: None,
            run_dir: PathBuf::from("/run/wiremend"),
            user: None,
            metrics: None,
            switch_offloads: false,
            end_pfc: false,
            version: env!("CARGO_PKG_VERSION").into(),
            wait: false,
            release: false,
        }
    }

    /// What the end of the link goes by. Buffers last as long as a frame is waited for, so that a process which is not scheduled for
    /// a while loses nothing.
    pub(super) fn link_config(&self, rate: Rate, frame_bytes_max: Bytes) -> Config {
        let link = Config::for_link(rate, frame_bytes_max, self.give_up);
        // What is asked for waits behind what was handed over, up to so long: as long as nothing was measured it is not asked for again before.
        let handed = rate.serialize(frame_bytes_max * u64::from(self.handed_frames));
        Config {
            target: self.target,
            copies: self.copies,
            rtt_min: self.rtt_min.map_or(Span::ZERO, |least| least.max(handed)),
            rtt_at_first: RTT_AT_FIRST.max(handed),
            rtt_samples: 5,
            give_up: Some(self.give_up),
            silence_max: Some(SILENCE_MAX),
            // What waits is handed on at once when the gap is filled, not at the link's rate: a pause is for a buffer that
            // fills up, and would only leave the link idle before.
            pause_at: Some(Bytes::new(link.rx_bytes_max.get() / 2)),
            ..link
        }
    }

    /// Frames in memory: what both buffers and the queue hold.
    pub(super) fn slots(&self, config: &Config) -> u32 {
        let bytes = config.tx_bytes_max + config.rx_bytes_max + self.queue;
        (bytes.get() / Self::FRAME_BYTES_TYPICAL).clamp(4096, 1 << 18) as u32
    }

    /// The offloads that its kind of port cannot bear.
    pub(super) fn unbearable(&self) -> &'static [Offload] {
        match self.port {
            PortKind::Xdp(_) => &Offload::PAST_THE_STACK,
            PortKind::Auto | PortKind::Packet => &Offload::ALL,
        }
    }

    /// The directory of this relay.
    pub fn own_dir(&self) -> PathBuf {
        self.run_dir.join(&self.link)
    }

    /// Where to ask it.
    pub fn socket(&self) -> PathBuf {
        self.own_dir().join(super::SOCKET)
    }
}
