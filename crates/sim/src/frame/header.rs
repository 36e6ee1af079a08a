//! Headers of frames on protected links.

use std::sync::Arc;

use wiremend_impair::{FrameFacts, FrameKind, LinkFacts, LinkKind};
use wiremend_proto::fec;
use wiremend_proto::link::{self, prototype};
use wiremend_proto::pfc;
use wiremend_units::LaneId;
use wiremend_wire::Quanta;

use super::{Frame, FrameId, PackedHeader};
use crate::memory::{pages, prefetch};

/// The link header of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// Header of link-local retransmission.
    Link(link::LinkHeader),
    /// Header of the published prototype of link-local retransmission.
    Prototype(prototype::PrototypeHeader),
    /// A pause frame of that prototype.
    Pause(Quanta),
    /// Header of forward error correction.
    Fec(fec::FecHeader),
    /// A PFC frame: the quanta of each class. The frame has no other content.
    Pfc(pfc::PauseTimes),
    /// A deadlock probe.
    Probe(Probe),
    /// No header on the wire: the frame crossed the link before its protection started or after it ended. The
    /// receiving end must process it.
    Unprotected,
}

/// A deadlock probe: it travels along paused ports to find out whether they form a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// The port that sent the probe, by its outgoing lane.
    pub origin: LaneId,
    /// The paused class.
    pub class: u8,
    /// Sequence number of the probes of that port and class.
    pub number: u32,
    /// Remaining switches.
    pub hops: u8,
}

impl Header {
    /// Returns the bytes that the header adds to a data frame. Control frames of the link have room for
    /// theirs.
    pub fn added_len(&self) -> u32 {
        match self {
            Self::Link(signal) => signal.added_len(),
            Self::Prototype(signal) => signal.added_len(),
            Self::Fec(signal) => signal.added_len(),
            Self::Pause(_) | Self::Pfc(_) | Self::Probe(_) | Self::Unprotected => 0,
        }
    }

    /// Adds to `facts` the kind of link frame, its number, and whether it is a retransmission.
    pub(crate) fn add_facts(&self, facts: &mut FrameFacts) {
        facts.link = self.link_facts();
        let again = match self {
            Self::Link(link::LinkHeader::Data { retransmitted, .. })
            | Self::Prototype(prototype::PrototypeHeader::Data { retransmitted, .. }) => *retransmitted,
            _ => return,
        };
        facts.copy = facts.copy.max(u8::from(again));
        if facts.kind == FrameKind::Other {
            facts.kind = FrameKind::Data;
        }
    }

    fn link_facts(&self) -> Option<LinkFacts> {
        let (kind, seq) = match self {
            Self::Link(signal) => {
                let kind = match signal {
                    link::LinkHeader::Data { .. } => LinkKind::Data,
                    link::LinkHeader::Dummy { .. } => LinkKind::Dummy,
                    link::LinkHeader::Ack(_) => LinkKind::Ack,
                    link::LinkHeader::Missing(_) => LinkKind::Missing,
                    link::LinkHeader::Hello(_) => LinkKind::Hello,
                    // Precedes a frame without a number.
                    link::LinkHeader::Unprotected { .. } => return None,
                };
                (kind, signal.number())
            }
            Self::Prototype(signal) => {
                let (kind, seq) = match *signal {
                    prototype::PrototypeHeader::Data { number, .. } => (LinkKind::Data, number.seq),
                    prototype::PrototypeHeader::Dummy { number, .. } => (LinkKind::Dummy, number.seq),
                    prototype::PrototypeHeader::Ack(ack) => (LinkKind::Ack, ack.0.seq),
                    prototype::PrototypeHeader::Notification { first_lost, .. } => {
                        (LinkKind::Missing, first_lost)
                    }
                    // Precedes a frame without a number.
                    prototype::PrototypeHeader::Piggyback(_) => return None,
                };
                (kind, u32::from(seq))
            }
            Self::Pause(_) | Self::Pfc(_) | Self::Probe(_) | Self::Fec(_) | Self::Unprotected => return None,
        };
        Some(LinkFacts { kind, seq })
    }
}

/// The headers of all frames that are on protected links or have just arrived over one, by frame.
#[derive(Default)]
pub(crate) struct Headers {
    /// In little memory: there is one slot per frame.
    slots: Vec<PackedHeader>,
    /// Whether data frames have headers. PFC frames are few, and those of other frames are not worth a prefetch.
    is_usual: bool,
    /// Headers that do not fit into a slot.
    large: Vec<Header>,
    free: Vec<u32>,
    /// The blocks of the parities among them. Empty without parities, and only as long as needed.
    blocks: Vec<Option<ParityBlock>>,
}

/// The data frames of a parity. They replace the parity's bytes, from which a real receiver restores them.
pub(crate) type ParityBlock = Arc<[Frame]>;

impl Headers {
    /// Gives a frame a header.
    pub(crate) fn insert(&mut self, frame: FrameId, header: Header) {
        let packed =
            PackedHeader::new(&header).unwrap_or_else(|| PackedHeader::large(self.insert_large(header)));
        self.insert_packed(frame, packed);
    }

    /// Gives a frame a header that fits into a slot.
    #[inline]
    pub(crate) fn insert_packed(&mut self, frame: FrameId, header: PackedHeader) {
        if let Some(slot) = self.slots.get_mut(frame.index()) {
            *slot = header;
        } else {
            self.grow(frame, header);
        }
    }

    #[cold]
    fn grow(&mut self, frame: FrameId, header: PackedHeader) {
        let more = frame.index() + 1 - self.slots.len();
        self.is_usual |= header.place().is_none();
        if frame.index() >= self.slots.capacity() {
            pages::reserve(&mut self.slots, more);
        }
        self.slots.resize(frame.index() + 1, PackedHeader::NONE);
        self.slots[frame.index()] = header;
    }

    fn insert_large(&mut self, header: Header) -> u32 {
        if let Some(place) = self.free.pop() {
            self.large[place as usize] = header;
            return place;
        }
        self.large.push(header);
        self.large.len() as u32 - 1
    }

    /// Returns the header of a frame that has one.
    pub(crate) fn get(&self, frame: FrameId) -> Header {
        self.large(frame).copied().unwrap_or_else(|| self.packed(frame).header())
    }

    /// Returns the slot of a frame that has a header.
    #[inline]
    pub(crate) fn packed(&self, frame: FrameId) -> PackedHeader {
        self.slots[frame.index()]
    }

    /// Returns the header of a frame that has one if it does not fit into a slot.
    #[inline]
    pub(crate) fn large(&self, frame: FrameId) -> Option<&Header> {
        self.packed(frame).place().map(|place| &self.large[place])
    }

    /// Removes the header of a frame that has one.
    pub(crate) fn remove(&mut self, frame: FrameId) -> Header {
        if let Some(place) = self.packed(frame).place() {
            self.free.push(place as u32);
        }
        self.get(frame)
    }

    pub(crate) fn attach(&mut self, frame: FrameId, block: ParityBlock) {
        if self.blocks.len() <= frame.index() {
            self.blocks.resize(frame.index() + 1, None);
        }
        self.blocks[frame.index()] = Some(block);
    }

    /// Removes the parity block of a frame, if it has one.
    #[inline]
    pub(crate) fn detach(&mut self, frame: FrameId) -> Option<ParityBlock> {
        self.blocks.get_mut(frame.index())?.take()
    }

    #[inline]
    pub(crate) fn prefetch(&self, frame: FrameId) {
        if self.is_usual
            && let Some(header) = self.slots.get(frame.index())
        {
            prefetch(header);
        }
    }
}
