//! Decides which control frames of the link count, and where numbers start on the wire.

use serde::{Deserialize, Serialize};
use wiremend_units::Time;
use wiremend_wire::MacAddr;
use wiremend_wire::link::{LinkHeader, NUMBER_BITS, Seal};

use super::sealed_session::{SealError, SealedSession};
use super::{Counts, LinkKey};

const ADDRESS_BYTES: usize = size_of::<MacAddr>();

/// Whose control frames count.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Anybody's: to measure what the others prevent.
    Anyone,
    /// Those from the address with which protection began.
    PeerAddress,
    /// Those with a seal of this key.
    Key {
        /// The key.
        key: LinkKey,
        /// Where this end starts to count its seals: a random number.
        start: u64,
    },
}

/// How the key of the other end differs from ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyMismatch {
    /// The other end has no key.
    OnlyHere,
    /// This end has no key.
    OnlyThere,
    /// Tags do not match: the other end has another key, or an intruder guesses.
    Different,
}

impl KeyMismatch {
    /// What is wrong, and what to do.
    pub fn advice(self) -> &'static str {
        match self {
            Self::OnlyHere => {
                "the other end has no key: no protection until both ends run with the same --key-file, or none"
            }
            Self::OnlyThere => {
                "the other end has a key, this end has none: no protection until both run with the same --key-file"
            }
            Self::Different => {
                "the other end has another key: no protection until both ends run with the same --key-file"
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Guard {
    kind: Kind,
    mismatch: Option<KeyMismatch>,
    /// First numbers of the direction that this end sends, and of the other; with their epochs.
    numbers: [(Option<u32>, u32); 2],
}

#[derive(Debug)]
enum Kind {
    Anyone,
    PeerAddress(Option<[u8; ADDRESS_BYTES]>),
    Key(Box<SealedSession>),
}

impl Guard {
    pub(super) fn new(trust: Trust) -> Self {
        let kind = match trust {
            Trust::Anyone => Kind::Anyone,
            Trust::PeerAddress => Kind::PeerAddress(None),
            Trust::Key { key, start } => Kind::Key(Box::new(SealedSession::new(key, start))),
        };
        Self { kind, mismatch: None, numbers: [(None, 0); 2] }
    }

    /// Whether a control frame counts. If not, it is counted.
    pub(super) fn admits(&mut self, now: Time, frame: &[u8], counts: &mut Counts) -> bool {
        let source = source(frame);
        match &mut self.kind {
            Kind::Anyone => true,
            Kind::PeerAddress(peer) => {
                let admitted = peer.is_none_or(|peer| peer == source);
                counts.foreign_address += u64::from(!admitted);
                if admitted {
                    self.mismatch = Seal::parse(frame).map(|_| KeyMismatch::OnlyThere);
                }
                admitted
            }
            Kind::Key(session) => {
                let checked = session.check(now, frame);
                match checked {
                    Ok(()) => self.mismatch = None,
                    Err(SealError::Missing) => {
                        counts.no_seal += 1;
                        self.mismatch = Some(KeyMismatch::OnlyHere);
                    }
                    Err(SealError::WrongTag) => {
                        counts.wrong_seal += 1;
                        self.mismatch = Some(KeyMismatch::Different);
                    }
                    Err(SealError::Old) => counts.old_seal += 1,
                }
                checked.is_ok()
            }
        }
    }

    /// The source of this control frame has shown that it is the other end.
    pub(super) fn on_peer_shown(&mut self, frame: &[u8]) {
        if let Kind::PeerAddress(peer) = &mut self.kind {
            *peer = peer.or(Some(source(frame)));
        }
    }

    /// No direction is protected, or the other end is silent: another one may take its place.
    pub(super) fn forget_peer(&mut self) {
        if let Kind::PeerAddress(peer) = &mut self.kind {
            *peer = None;
        }
    }

    /// The address of the other end, once known.
    pub(super) fn peer_address(&self) -> Option<MacAddr> {
        match self.kind {
            Kind::PeerAddress(peer) => peer.map(MacAddr),
            Kind::Anyone | Kind::Key(_) => None,
        }
    }

    /// How the key of the other end differs, by its last control frame.
    pub(super) fn mismatch(&self) -> Option<KeyMismatch> {
        self.mismatch
    }

    /// Whether a challenge must leave before other frames.
    #[inline]
    pub(super) fn is_urgent(&self) -> bool {
        matches!(&self.kind, Kind::Key(session) if session.is_challenge_due())
    }

    /// Returns a challenge that is due, and the counter that it echoes.
    pub(super) fn poll(&mut self) -> Option<(LinkHeader, u64)> {
        match &mut self.kind {
            Kind::Key(session) => session.poll_challenge(),
            _ => None,
        }
    }

    /// Seals the control frame at the start of `frame`. Returns the length to send.
    pub(super) fn seal(
        &mut self,
        frame: &mut [u8; Seal::FRAME_BYTES],
        control_len: usize,
        echo: Option<u64>,
    ) -> usize {
        let Kind::Key(session) = &mut self.kind else { return control_len };
        session.seal(frame, echo);
        Seal::FRAME_BYTES
    }

    /// Shifts the numbers of a header that leaves to where they start on the wire.
    #[inline]
    pub(super) fn hide_numbers(&mut self, header: LinkHeader, epochs: Epochs) -> LinkHeader {
        let Kind::Key(session) = &self.kind else { return header };
        let [own, other] = first_numbers(&mut self.numbers, session.key(), epochs);
        shifted(header, own, other)
    }

    /// Shifts the numbers of a header that has arrived back.
    #[inline]
    pub(super) fn reveal_numbers(&mut self, header: LinkHeader, epochs: Epochs) -> LinkHeader {
        let Kind::Key(session) = &self.kind else { return header };
        let [own, other] = first_numbers(&mut self.numbers, session.key(), epochs);
        shifted(header, other.wrapping_neg(), own.wrapping_neg())
    }
}

/// Epochs of the direction that this end sends, and of the other.
pub(super) type Epochs = [Option<u32>; 2];

fn first_numbers(known: &mut [(Option<u32>, u32); 2], key: &LinkKey, epochs: Epochs) -> [u32; 2] {
    for ((epoch_known, first), epoch) in known.iter_mut().zip(epochs) {
        if *epoch_known != epoch {
            (*epoch_known, *first) = (epoch, epoch.map_or(0, |epoch| key.first_number(epoch)));
        }
    }
    known.map(|(_, first)| first)
}

/// Adds `data` to numbers of the header's direction, and `ack` to those of the other.
fn shifted(mut header: LinkHeader, data: u32, ack: u32) -> LinkHeader {
    let add = |number: &mut u32, shift: u32| *number = number.wrapping_add(shift) & ((1 << NUMBER_BITS) - 1);
    match &mut header {
        LinkHeader::Data { seq: number, ack: with, .. }
        | LinkHeader::Dummy { next: number, ack: with, .. }
        | LinkHeader::Unprotected { next: number, ack: with, .. } => {
            add(number, data);
            if let Some(with) = with {
                add(&mut with.next, ack);
            }
        }
        LinkHeader::Ack(with) => add(&mut with.next, ack),
        LinkHeader::Missing(missing) => {
            add(&mut missing.ack.next, ack);
            add(&mut missing.upto, ack);
            for hole in &mut missing.holes[..usize::from(missing.hole_count)] {
                add(&mut hole.first, ack);
            }
        }
        LinkHeader::Hello(_) => {}
    }
    header
}

fn source(frame: &[u8]) -> [u8; ADDRESS_BYTES] {
    *frame[ADDRESS_BYTES..].first_chunk().expect("short frames were dropped")
}
