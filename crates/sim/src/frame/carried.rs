//! What lanes carry: frames of the store, and frames of protected links that have no content but their header.

use wiremend_proto::link::{Ack, LinkHeader};

use super::FrameId;

/// A frame on a lane: the id of a stored frame, or a dummy or an ACK of a protected link. Most frames of such
/// links are of these two kinds, and they need no place in memory but this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carried(u64);

/// From the lowest bit: the number of a dummy and its epoch, then number, epoch and pause of the ACK.
const NUMBER_BITS: u32 = 24;
const EPOCH_BITS: u32 = 4;
const ACK_AT: u32 = NUMBER_BITS + EPOCH_BITS;
const PAUSE: u64 = 1 << (2 * ACK_AT);
const HAS_ACK: u64 = PAUSE << 1;
const IS_DUMMY: u64 = PAUSE << 2;
const IS_CONTROL: u64 = 1 << 63;
const _: () = assert!(IS_DUMMY < IS_CONTROL);

impl Carried {
    /// No frame.
    pub(crate) const NONE: Self = Self::stored(FrameId::NONE);

    #[inline]
    pub(crate) const fn stored(frame: FrameId) -> Self {
        Self(frame.0 as u64)
    }

    /// Returns a dummy or an ACK; other headers need a frame in the store.
    #[inline]
    pub(crate) fn control(header: &LinkHeader) -> Option<Self> {
        match *header {
            LinkHeader::Dummy { epoch, next, ack } => {
                Some(Self(IS_CONTROL | IS_DUMMY | numbered(epoch, next) | ack.map_or(0, ack_bits)))
            }
            LinkHeader::Ack(ack) => Some(Self(IS_CONTROL | ack_bits(ack))),
            _ => None,
        }
    }

    /// Returns the id of a stored frame.
    #[inline]
    pub(crate) const fn frame(self) -> Option<FrameId> {
        if self.0 & IS_CONTROL == 0 { Some(FrameId(self.0 as u32)) } else { None }
    }

    /// Returns the header of a dummy or an ACK.
    #[inline]
    pub(crate) fn header(self) -> LinkHeader {
        let (epoch, next) = numbers(self.0);
        let (ack_epoch, ack_next) = numbers(self.0 >> ACK_AT);
        let ack = Ack { epoch: ack_epoch, next: ack_next, pause: self.0 & PAUSE != 0 };
        if self.0 & IS_DUMMY == 0 {
            LinkHeader::Ack(ack)
        } else {
            LinkHeader::Dummy { epoch, next, ack: (self.0 & HAS_ACK != 0).then_some(ack) }
        }
    }
}

#[inline]
fn ack_bits(ack: Ack) -> u64 {
    HAS_ACK | numbered(ack.epoch, ack.next) << ACK_AT | if ack.pause { PAUSE } else { 0 }
}

#[inline]
fn numbered(epoch: u8, number: u32) -> u64 {
    debug_assert!(number >> NUMBER_BITS == 0 && epoch >> EPOCH_BITS == 0, "numbers and epochs are narrow");
    u64::from(epoch) << NUMBER_BITS | u64::from(number)
}

#[inline]
const fn numbers(bits: u64) -> (u8, u32) {
    let (number, epoch) = (bits & ((1 << NUMBER_BITS) - 1), bits >> NUMBER_BITS & ((1 << EPOCH_BITS) - 1));
    (epoch as u8, number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_dummies_and_acks_survive() {
        let number_max = (1 << NUMBER_BITS) - 1;
        let acks = [0, 1, number_max].map(|next| Ack { epoch: 15, next, pause: next == 1 });
        for ack in acks {
            for next in [0, 77, number_max] {
                let dummy = |ack| LinkHeader::Dummy { epoch: 9, next, ack };
                for header in [dummy(None), dummy(Some(ack)), LinkHeader::Ack(ack)] {
                    let carried = Carried::control(&header).expect("a dummy or an ACK");
                    assert_eq!((carried.header(), carried.frame()), (header, None));
                }
            }
        }
    }

    #[test]
    fn stored_frames_keep_their_ids() {
        for frame in [FrameId(0), FrameId(u32::MAX - 1), FrameId::NONE] {
            assert_eq!(Carried::stored(frame).frame(), Some(frame));
        }
    }
}
