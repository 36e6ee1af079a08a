//! Headers of frames on protected links.

use std::sync::Arc;

use wiremend_impair::{FrameFacts, FrameKind, LinkFacts, LinkKind};
use wiremend_proto::fec;
use wiremend_proto::link::{self, paper};
use wiremend_proto::pfc;
use wiremend_units::LaneId;
use wiremend_wire::Quanta;

use super::Frame;

/// What the two ends of a link say to each other by a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// Of link-local retransmission.
    Link(link::Signal),
    /// Of its published prototype.
    Prototype(paper::Signal),
    /// A pause frame of that prototype.
    Pause(Quanta),
    /// Of forward error correction.
    Fec(fec::Signal),
    /// Of a PFC frame, which has no other bytes: what it says, by class.
    Pfc(pfc::Classes),
    /// Of a frame that asks whether a port waits for itself.
    Probe(Probe),
    /// None on the wire: a frame over a link whose protection has not begun or has ended, of which the receiver must know.
    Bare,
}

/// A question on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// The port that asks, by the lane that it sends over.
    pub origin: LaneId,
    /// The class that it must hold.
    pub class: u8,
    /// Which of its questions this is.
    pub number: u32,
    /// Switches that it may still cross.
    pub hops: u8,
}

impl Header {
    /// Bytes that it adds to the frame that it precedes. The link's own frames have room for theirs.
    pub fn added_len(&self) -> u32 {
        match self {
            Self::Link(signal) => signal.added_len(),
            Self::Prototype(signal) => signal.added_len(),
            Self::Fec(signal) => signal.added_len(),
            Self::Pause(_) | Self::Pfc(_) | Self::Probe(_) | Self::Bare => 0,
        }
    }
}

impl Header {
    /// What an impairment is to know of the frame behind it: what it is to the link, whether it was sent before, and that it is
    /// somebody's data.
    pub(crate) fn tell(&self, facts: &mut FrameFacts) {
        facts.link = self.link_facts();
        let again = match self {
            Self::Link(link::Signal::Data { again, .. })
            | Self::Prototype(paper::Signal::Data { again, .. }) => *again,
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
                    link::Signal::Data { .. } => LinkKind::Data,
                    link::Signal::Dummy { .. } => LinkKind::Dummy,
                    link::Signal::Ack(_) => LinkKind::Ack,
                    link::Signal::Missing(_) => LinkKind::Missing,
                    link::Signal::Hello(_) => LinkKind::Hello,
                    // Before a frame that has no number of its own.
                    link::Signal::Loose { .. } => return None,
                };
                (kind, signal.number())
            }
            Self::Prototype(signal) => {
                let (kind, seq) = match *signal {
                    paper::Signal::Data { number, .. } => (LinkKind::Data, number.seq),
                    paper::Signal::Dummy { number, .. } => (LinkKind::Dummy, number.seq),
                    paper::Signal::Ack(ack) => (LinkKind::Ack, ack.0.seq),
                    paper::Signal::Notification { first_lost, .. } => (LinkKind::Missing, first_lost),
                    // Before a frame that has no number of its own.
                    paper::Signal::Piggyback(_) => return None,
                };
                (kind, u32::from(seq))
            }
            Self::Pause(_) | Self::Pfc(_) | Self::Probe(_) | Self::Fec(_) | Self::Bare => return None,
        };
        Some(LinkFacts { kind, seq })
    }
}

/// The headers of all frames that are on protected links, or have just arrived over one.
#[derive(Default)]
pub(crate) struct Headers {
    places: Vec<Header>,
    /// What the parities among them were made of, by place; as long as it has to be, which is empty without any.
    blocks: Vec<Option<Block>>,
    free: Vec<u32>,
}

/// The frames that a parity was made of: in place of its bytes, from which a real receiver restores them.
pub(crate) type Block = Arc<[Frame]>;

/// The place of a frame's link header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderId(u32);

impl HeaderId {
    /// The frame has none.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl Headers {
    pub(crate) fn insert(&mut self, header: Header) -> HeaderId {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = header;
            return HeaderId(place);
        }
        self.places.push(header);
        HeaderId(self.places.len() as u32 - 1)
    }

    /// Takes a header from others, with what belongs to it.
    pub(crate) fn take_over(&mut self, others: &mut Self, id: HeaderId) -> HeaderId {
        let block = others.detach(id);
        let place = self.insert(others.remove(id));
        if let Some(block) = block {
            self.attach(place, block);
        }
        place
    }

    /// Gives a parity what it was made of.
    pub(crate) fn attach(&mut self, id: HeaderId, block: Block) {
        let place = id.0 as usize;
        if self.blocks.len() <= place {
            self.blocks.resize(place + 1, None);
        }
        self.blocks[place] = Some(block);
    }

    /// What a parity was made of.
    pub(crate) fn detach(&mut self, id: HeaderId) -> Option<Block> {
        self.blocks.get_mut(id.0 as usize)?.take()
    }

    pub(crate) fn get(&self, id: HeaderId) -> Option<&Header> {
        self.places.get(id.0 as usize)
    }

    pub(crate) fn remove(&mut self, id: HeaderId) -> Header {
        self.detach(id);
        self.free.push(id.0);
        self.places[id.0 as usize]
    }
}
