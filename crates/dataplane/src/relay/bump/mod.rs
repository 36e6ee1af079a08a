//! A bump in the wire: the end of a protected link between two ports. It has no clock and waits for nothing.

mod to_lan;
mod to_link;

use std::collections::VecDeque;
use std::io;

use wiremend_proto::link::{Config, Endpoint};
use wiremend_units::{Bytes, Span, Time};
use wiremend_wire::link::Dialect;
use wiremend_wire::{MacAddr, Malformed};

use super::queue::Queue;
use super::{Care, ClassCounts, Classes, Counts};
use crate::pace::Pace;
use crate::pool::{Pool, Slot};
use crate::port::Port;
use crate::sys::packet::{Arrival, Pieces, SEND_MAX};
use to_lan::Outgoing;
use to_link::Staged;

/// Carries frames between a LAN and a link that corrupts some, and mends the link.
///
/// ```text
///   LAN ─► queue ─► Endpoint::poll_transmit ─► pace ─► staged ─► link
///   LAN ◄─ backlog ◄─ Endpoint::poll ◄─ on_signal, on_plain ◄─── link
/// ```
///
/// A frame from the LAN is copied once, into the pool, because it is kept until the other end has it. A frame from the link goes out
/// from the ring in which it came, unless it must wait for others.
pub struct Bump<P> {
    lan: P,
    link: P,
    end: Endpoint<Slot>,
    dialect: Dialect,
    /// Of the link's port: the source of the link's own frames.
    source: MacAddr,
    classes: Classes,
    class_counts: Vec<ClassCounts>,
    /// Classes have changed since a frame last came from the LAN.
    changed: bool,
    pool: Pool,
    queue: Queue,
    pace: Pace,
    /// On its way to the link, with numbers given: nothing may overtake it any more.
    staged: VecDeque<Staged>,
    /// On its way to the LAN, which had no room.
    backlog: VecDeque<Slot>,
    /// Frames to be handed on in this turn.
    outgoing: Vec<Outgoing>,
    counts: Counts,
    /// Turns in a row in which more had arrived over the link than was taken.
    turns_behind: u32,
    /// The pace was kept: there may be more to send.
    held_back: bool,
    /// The pace was kept, and frames wait.
    waits: bool,
    /// What was wrong with the last frame that was malformed.
    misread: Option<Malformed>,
}

/// What a bump is made with.
#[derive(Clone, Debug)]
pub struct BumpConfig {
    /// The end of the link.
    pub link: Config,
    /// How the header is written.
    pub dialect: Dialect,
    /// The address of the link's port.
    pub source: MacAddr,
    /// Which frames are protected, and how.
    pub classes: Classes,
    /// Room in the queue to the link.
    pub queue_bytes_max: u64,
    /// Frames in memory.
    pub slots: u32,
    /// Frames handed to the link's port in advance.
    pub handed_frames: u32,
}

const ADDRESSES_BYTES: usize = 12;
const FCS_BYTES: u64 = 4;
const FRAME_BYTES_MIN: u64 = 64;
/// Frames taken from a port in one turn.
const TURN_FRAMES: usize = SEND_MAX;
/// A link that always has more to be taken does not keep times from being minded: they are after so many turns, a ring's worth.
const TURNS_BEHIND_MAX: u32 = 256;
/// A port that had no room is asked again after this.
const REFUSED_WAIT: Span = Span::from_us(20);

impl<P: Port> Bump<P> {
    /// A bump whose link is dormant.
    pub fn new(lan: P, link: P, config: BumpConfig) -> Self {
        let frame_bytes_max = config.link.frame_bytes_max.get() as u32;
        Self {
            lan,
            link,
            pace: Pace::new(config.link.rate, config.handed_frames, frame_bytes_max),
            end: Endpoint::new(config.link),
            dialect: config.dialect,
            source: config.source,
            class_counts: vec![ClassCounts::default(); config.classes.count()],
            classes: config.classes,
            changed: false,
            pool: Pool::new(config.slots, frame_bytes_max as usize),
            queue: Queue::new(config.queue_bytes_max),
            staged: VecDeque::with_capacity(SEND_MAX),
            backlog: VecDeque::new(),
            outgoing: Vec::with_capacity(TURN_FRAMES * 2),
            counts: Counts::default(),
            turns_behind: 0,
            held_back: false,
            waits: false,
            misread: None,
        }
    }

    /// Takes what has arrived and sends what may leave: at most a batch of each, since whoever sends hears nothing meanwhile. True: there may
    /// be more to do.
    pub fn turn(&mut self, now: Time) -> io::Result<bool> {
        let from_link = self.take_from_link(now)?;
        let from_lan = self.take_from_lan();
        self.turns_behind = if from_link { self.turns_behind + 1 } else { 0 };
        // After a long sleep, what is waited for may lie in the ring: it is looked at before anything is given up.
        let heard_all = self.turns_behind.is_multiple_of(TURNS_BEHIND_MAX);
        if heard_all && self.end.next_timeout().is_some_and(|due| due <= now) {
            self.end.on_timeout(now);
            self.dispose(None);
            self.hand_on()?;
        }
        let fed = self.feed_link(now)?;
        Ok(from_link || from_lan || fed)
    }

    /// When to turn, if nothing arrives before. None: never.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        let refused = (!self.staged.is_empty() || !self.backlog.is_empty()).then(|| now + REFUSED_WAIT);
        let paced = self.held_back.then(|| self.pace.opens_at());
        [self.end.next_timeout(), refused, paced].into_iter().flatten().min()
    }

    /// Whether no frame waits in it on its way to the link, or for room on the LAN.
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty() && self.queue.front().is_none() && self.backlog.is_empty()
    }

    /// The end of the link.
    pub fn end(&self) -> &Endpoint<Slot> {
        &self.end
    }

    /// The end of the link, to be told something.
    pub fn end_mut(&mut self) -> &mut Endpoint<Slot> {
        &mut self.end
    }

    /// What was counted here.
    pub fn counts(&self) -> Counts {
        Counts { queue_bytes: self.queue.bytes(), ..self.counts }
    }

    /// What was wrong with the last frame with the link's `EtherType` that could not be read.
    pub fn misread(&self) -> Option<Malformed> {
        self.misread
    }

    /// Frames in memory.
    pub fn pool_used(&self) -> usize {
        self.pool.used()
    }

    /// The port on the side of the LAN.
    pub fn lan(&self) -> &P {
        &self.lan
    }

    /// The port on the side of the link.
    pub fn link(&self) -> &P {
        &self.link
    }

    /// The classes of frames, and what was counted of each.
    pub fn classes(&self) -> impl Iterator<Item = (String, Care, ClassCounts)> + '_ {
        self.class_counts.iter().enumerate().map(|(class, counts)| {
            let (which, care) = self.classes.class(class);
            (which, care, *counts)
        })
    }

    /// From here on frames from the LAN are of these classes. Those behind the change wait until all before it have arrived, so that none overtakes
    /// another of its class.
    pub fn set_classes(&mut self, classes: Classes) {
        if classes == self.classes {
            return;
        }
        let counted: Vec<_> = self.classes().map(|(which, _, counts)| (which, counts)).collect();
        let before =
            |which: &str| counted.iter().find(|(known, _)| known == which).map(|(_, counts)| *counts);
        self.class_counts =
            (0..classes.count()).map(|class| before(&classes.class(class).0).unwrap_or_default()).collect();
        self.classes = classes;
        self.changed = true;
    }
}

/// The pieces of a frame in a port's ring, as it was on the wire: its tag put back, and `added` bytes of header left out.
#[inline]
fn ring_pieces<'a, P: Port>(port: &'a P, arrival: &'a Arrival, added: u8) -> [&'a [u8]; 3] {
    let (addresses, rest) = port.bytes(arrival).split_at(ADDRESSES_BYTES);
    let tag = arrival.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
    [addresses, tag, &rest[usize::from(added)..]]
}

/// The length that a link's end counts with, from MAC header to FCS.
#[inline]
fn wire_len(bytes: usize) -> Bytes {
    Bytes::new((bytes as u64 + FCS_BYTES).max(FRAME_BYTES_MIN))
}

/// What became of the first frames of a batch.
#[derive(Clone, Copy)]
struct Handed {
    sent: usize,
    /// Behind those.
    thrown: usize,
}

impl Handed {
    fn gone(self) -> usize {
        self.sent + self.thrown
    }
}

/// Sends. An interface that is down, or a frame that it refuses, costs the frame: nobody else can do anything about it.
fn send<P: Port>(port: &mut P, frames: &[Pieces<'_>], errors: &mut u64) -> io::Result<Handed> {
    match port.send(frames) {
        Err(error) if is_transient(&error) => {
            *errors += 1;
            Ok(Handed { sent: 0, thrown: frames.len().min(1) })
        }
        sent => sent.map(|sent| Handed { sent, thrown: 0 }),
    }
}

fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NetworkDown, NotFound};
    // ENXIO: the interface is just being taken away. EMSGSIZE: the frame is longer than the interface allows.
    matches!(error.kind(), NetworkDown | InvalidInput | NotFound)
        || matches!(error.raw_os_error(), Some(libc::ENXIO | libc::EMSGSIZE | libc::ENODEV))
}
