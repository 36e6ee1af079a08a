//! The data path of a relay: an endpoint of a protected link between two ports. It never blocks.

mod to_lan;
mod to_link;
mod unfinished;

use std::collections::VecDeque;
use std::io;

use wiremend_proto::link::{Config, Endpoint};
use wiremend_units::{Bytes, Span, Time};
use wiremend_wire::link::LinkCodec;
use wiremend_wire::{MacAddr, Malformed};

use super::guard::{Epochs, Guard};
use super::policer::Policer;
use super::queue::Queue;
use super::{ClassCounts, Classifier, Counts, KeyMismatch, ProtectionMode, Trust};
use crate::pacer::Pacer;
use crate::pool::{Pool, Slot};
use crate::port::Port;
use crate::sys::packet::{Pieces, RxFrame, SEND_MAX};
use to_lan::Outgoing;
use to_link::Staged;

/// Forwards frames between a LAN and a link, and recovers frames that the link corrupts.
///
/// ```text
///   LAN ─► queue ─► Endpoint::poll_transmit ─► pacer ─► staged ─► link
///   LAN ◄─ backlog ◄─ Endpoint::poll ◄─ on_signal, on_plain ◄─── link
/// ```
///
/// A frame from the LAN is copied once, into the pool, where it stays until it is acknowledged. A frame from
/// the link is sent straight from the receive ring, unless it must wait for others.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct DataPath<P> {
    lan: P,
    link: P,
    endpoint: Endpoint<Slot>,
    guard: Guard,
    codec: LinkCodec,
    /// Address of the link port, the source address of control frames.
    source: MacAddr,
    classes: Classifier,
    class_counts: Vec<ClassCounts>,
    classes_changed: bool,
    pool: Pool,
    queue: Queue,
    link_local: Policer,
    pacer: Pacer,
    /// Frames for the link port, already numbered: no other frame may overtake them.
    staged: VecDeque<Staged>,
    /// Frames for the LAN port, which had no room.
    backlog: VecDeque<Slot>,
    outgoing: Vec<Outgoing>,
    counts: Counts,
    /// Consecutive iterations that left frames in the receive ring of the link.
    iterations_behind: u32,
    /// Whether the pacer stopped the last transmission.
    paced: bool,
    /// Whether the pacer stopped the last transmission and frames wait.
    paced_with_backlog: bool,
    last_malformed: Option<Malformed>,
    /// `EtherType` of hellos that is not ours.
    peer_ethertype: Option<u16>,
    /// When the last valid link frame arrived.
    heard_at: Time,
    /// Whether a numbered frame has arrived since the other end protects.
    is_numbered: bool,
}

/// Configuration of a data path.
#[derive(Clone, Debug)]
pub struct DataPathConfig {
    /// The endpoint.
    pub link: Config,
    /// Wire format of the header.
    pub codec: LinkCodec,
    /// Address of the link port.
    pub source: MacAddr,
    /// Whose control frames count.
    pub trust: Trust,
    /// Classes of frames and their protection modes.
    pub classes: Classifier,
    /// Size of the queue before the link.
    pub queue_bytes_max: u64,
    /// Number of frames that the pool holds.
    pub slots: u32,
    /// Maximum number of frames that the device holds ahead of the link rate.
    pub device_frames: u32,
}

const ADDRESSES_BYTES: usize = 12;
const FCS_BYTES: u64 = 4;
const FRAME_BYTES_MIN: u64 = 64;
const BATCH_FRAMES: usize = SEND_MAX;
/// Timeouts wait for an empty receive ring, but for at most this many iterations: the length of a ring.
const ITERATIONS_BEHIND_MAX: u32 = 256;
const FULL_PORT_DELAY: Span = Span::from_us(20);

impl<P: Port> DataPath<P> {
    /// Creates a data path that does not protect its link.
    pub fn new(lan: P, link: P, config: DataPathConfig) -> Self {
        let (rate, frame_bytes_max) = (config.link.rate, config.link.frame_bytes_max.get() as u32);
        Self {
            lan,
            link,
            pacer: Pacer::new(rate, config.device_frames, frame_bytes_max),
            endpoint: Endpoint::new(config.link),
            guard: Guard::new(config.trust),
            codec: config.codec,
            source: config.source,
            class_counts: vec![ClassCounts::default(); config.classes.count()],
            classes: config.classes,
            classes_changed: false,
            pool: Pool::new(config.slots, frame_bytes_max as usize),
            queue: Queue::new(config.queue_bytes_max),
            link_local: Policer::new(rate),
            staged: VecDeque::with_capacity(SEND_MAX),
            backlog: VecDeque::new(),
            outgoing: Vec::with_capacity(BATCH_FRAMES * 2),
            counts: Counts::default(),
            iterations_behind: 0,
            paced: false,
            paced_with_backlog: false,
            last_malformed: None,
            peer_ethertype: None,
            heard_at: Time::ZERO,
            is_numbered: false,
        }
    }

    /// Memory for frames in bytes if all of it is used.
    pub fn memory_max(&self) -> usize {
        self.pool.bytes_max()
    }

    /// Takes received frames and sends pending ones, at most one batch each, because it receives nothing
    /// while it sends. Returns true if there may be more to do.
    pub fn run_once(&mut self, now: Time) -> io::Result<bool> {
        let from_link = self.take_from_link(now)?;
        let from_lan = self.take_from_lan(now);
        self.iterations_behind = if from_link { self.iterations_behind + 1 } else { 0 };
        // After a long sleep the missing frame may lie in the ring: read the ring before giving a frame up.
        let ring_read = self.iterations_behind.is_multiple_of(ITERATIONS_BEHIND_MAX);
        if ring_read && self.endpoint.next_timeout().is_some_and(|due| due <= now) {
            self.endpoint.on_timeout(now);
            self.apply_disposals(None);
            self.send_to_lan()?;
        }
        let sent = self.send_to_link(now)?;
        Ok(from_link || from_lan || sent)
    }

    /// Time of the next call of [`Self::run_once`] if no frame arrives before. `None`: no deadline.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        let refused = (!self.staged.is_empty() || !self.backlog.is_empty()).then(|| now + FULL_PORT_DELAY);
        let paced = self.paced.then(|| self.pacer.next_send_at());
        [self.endpoint.next_timeout(), refused, paced].into_iter().flatten().min()
    }

    /// Returns whether no frame waits for the link or for room on the LAN.
    pub fn is_empty(&self) -> bool {
        self.is_drained() == [true; 2]
    }

    /// Returns whether no frame from the LAN waits for the link, and whether no frame from the link waits for
    /// room on the LAN.
    pub fn is_drained(&self) -> [bool; 2] {
        [self.staged.is_empty() && self.queue.front().is_none(), self.backlog.is_empty()]
    }

    /// `EtherType` of the hellos of the other end, if it differs from ours.
    pub fn peer_ethertype(&self) -> Option<u16> {
        self.peer_ethertype
    }

    /// Address of the other end, if control frames from others do not count.
    pub fn peer_address(&self) -> Option<MacAddr> {
        self.guard.peer_address()
    }

    /// How the key of the other end differs from ours, if that may be why no direction is protected.
    pub fn key_mismatch(&self) -> Option<KeyMismatch> {
        let is_protected = self.endpoint.is_active() || self.is_receiving();
        self.guard.mismatch().filter(|_| !is_protected)
    }

    /// When the last valid link frame arrived.
    pub fn heard_at(&self) -> Time {
        self.heard_at
    }

    /// Whether the other end protects and has shown it by a numbered frame, not only announced it.
    pub fn is_receiving(&self) -> bool {
        self.is_numbered && self.endpoint.is_receiving()
    }

    #[inline]
    fn epochs(&self) -> Epochs {
        [Some(self.endpoint.sending_epoch()), self.endpoint.receiving_epoch()]
    }

    /// The endpoint of the link.
    pub fn endpoint(&self) -> &Endpoint<Slot> {
        &self.endpoint
    }

    /// The endpoint of the link, mutable.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint<Slot> {
        &mut self.endpoint
    }

    /// The counters.
    pub fn counts(&self) -> Counts {
        Counts { queue_bytes: self.queue.bytes(), ..self.counts }
    }

    /// Parse error of the last malformed link frame.
    pub fn last_malformed(&self) -> Option<Malformed> {
        self.last_malformed
    }

    /// Number of frames in the pool.
    pub fn pool_used(&self) -> usize {
        self.pool.used()
    }

    /// The LAN port.
    pub fn lan(&self) -> &P {
        &self.lan
    }

    /// The link port.
    pub fn link(&self) -> &P {
        &self.link
    }

    /// The classes, with their protection modes and counters.
    pub fn classes(&self) -> impl Iterator<Item = (String, ProtectionMode, ClassCounts)> + '_ {
        self.class_counts.iter().enumerate().map(|(class, counts)| {
            let (which, protection) = self.classes.class(class);
            (which, protection, *counts)
        })
    }

    /// Replaces the classes. Frames after the change wait until all earlier ones have arrived, so that no
    /// frame overtakes another of its class.
    pub fn set_classes(&mut self, classes: Classifier) {
        if classes == self.classes {
            return;
        }
        let counted: Vec<_> = self.classes().map(|(which, _, counts)| (which, counts)).collect();
        let before =
            |which: &str| counted.iter().find(|(known, _)| known == which).map(|(_, counts)| *counts);
        self.class_counts =
            (0..classes.count()).map(|class| before(&classes.class(class).0).unwrap_or_default()).collect();
        self.classes = classes;
        self.classes_changed = true;
    }
}

/// Returns a received frame in pieces, with its VLAN tag inserted and without the `added` bytes of header.
#[inline]
fn ring_pieces<'a, P: Port>(port: &'a P, rx_frame: &'a RxFrame, added: u8) -> [&'a [u8]; 3] {
    let (addresses, rest) = port.bytes(rx_frame).split_at(ADDRESSES_BYTES);
    let tag = rx_frame.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
    [addresses, tag, &rest[usize::from(added)..]]
}

/// Frame length as the endpoint counts it, from MAC header to FCS.
#[inline]
fn wire_len(bytes: usize) -> Bytes {
    Bytes::new((bytes as u64 + FCS_BYTES).max(FRAME_BYTES_MIN))
}

/// Number of frames of a batch that were sent, and dropped after those.
#[derive(Clone, Copy)]
struct SendResult {
    sent: usize,
    dropped: usize,
}

impl SendResult {
    fn done(self) -> usize {
        self.sent + self.dropped
    }
}

/// Sends a batch. If the interface is down or refuses a frame, one frame is dropped.
fn send<P: Port>(port: &mut P, frames: &[Pieces<'_>], errors: &mut u64) -> io::Result<SendResult> {
    match port.send(frames) {
        Err(error) if is_transient(&error) => {
            *errors += 1;
            Ok(SendResult { sent: 0, dropped: frames.len().min(1) })
        }
        sent => sent.map(|sent| SendResult { sent, dropped: 0 }),
    }
}

fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NetworkDown, NotFound};
    // ENXIO: the interface is being removed. EMSGSIZE: the frame is longer than the interface allows.
    matches!(error.kind(), NetworkDown | InvalidInput | NotFound)
        || matches!(error.raw_os_error(), Some(libc::ENXIO | libc::EMSGSIZE | libc::ENODEV))
}
