//! Headers of frames on protected links.

use std::sync::Arc;

use wiremend_impair::{FrameFacts, FrameKind, LinkFacts, LinkKind};
use wiremend_proto::fec;
use wiremend_proto::link::{self, prototype};
use wiremend_proto::pfc;
use wiremend_units::LaneId;
use wiremend_wire::Quanta;

use super::Frame;

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

/// The headers of all frames that are on protected links or have just arrived over one.
#[derive(Default)]
pub(crate) struct Headers {
    slots: Vec<Header>,
    /// The blocks of the parities among them, by slot. Empty without parities, and only as long as needed.
    blocks: Vec<Option<ParityBlock>>,
    free: Vec<u32>,
}

/// The data frames of a parity. They replace the parity's bytes, from which a real receiver restores them.
pub(crate) type ParityBlock = Arc<[Frame]>;

/// The slot of a frame's link header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderId(u32);

impl HeaderId {
    /// The frame has no header.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl Headers {
    pub(crate) fn insert(&mut self, header: Header) -> HeaderId {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = header;
            return HeaderId(slot);
        }
        self.slots.push(header);
        HeaderId(self.slots.len() as u32 - 1)
    }

    /// Moves a header from another store to this one, with its block.
    pub(crate) fn take_over(&mut self, others: &mut Self, id: HeaderId) -> HeaderId {
        let block = others.detach(id);
        let slot = self.insert(others.remove(id));
        if let Some(block) = block {
            self.attach(slot, block);
        }
        slot
    }

    pub(crate) fn attach(&mut self, id: HeaderId, block: ParityBlock) {
        let slot = id.0 as usize;
        if self.blocks.len() <= slot {
            self.blocks.resize(slot + 1, None);
        }
        self.blocks[slot] = Some(block);
    }

    pub(crate) fn detach(&mut self, id: HeaderId) -> Option<ParityBlock> {
        self.blocks.get_mut(id.0 as usize)?.take()
    }

    pub(crate) fn get(&self, id: HeaderId) -> Option<&Header> {
        self.slots.get(id.0 as usize)
    }

    pub(crate) fn remove(&mut self, id: HeaderId) -> Header {
        self.detach(id);
        self.free.push(id.0);
        self.slots[id.0 as usize]
    }
}
