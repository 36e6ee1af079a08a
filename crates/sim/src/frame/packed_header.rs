//! Link headers of the usual kinds in 64 bits.

use wiremend_proto::link::{Ack, ControlHeader, DataHeader, LinkHeader};

use super::Header;

/// A header of link-local retransmission other than a notification or a hello, no header, or the position of
/// a header that does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PackedHeader(u64);

/// From the lowest bit: sequence number and epoch, number and epoch of the ACK, its pause, whether there is an
/// ACK, whether the frame stays in order and is a retransmission, and the kind.
const NUMBER_BITS: u32 = 24;
const EPOCH_BITS: u32 = 4;
const ACK_AT: u32 = NUMBER_BITS + EPOCH_BITS;
const PAUSE: u64 = 1 << (2 * ACK_AT);
const HAS_ACK: u64 = PAUSE << 1;
const ORDERED: u64 = PAUSE << 2;
const RETRANSMITTED: u64 = PAUSE << 3;
const KIND: u64 = 0b111 * (PAUSE << 4);
const DATA: u64 = PAUSE << 4;
const DUMMY: u64 = 2 * DATA;
const ACK: u64 = 3 * DATA;
const UNPROTECTED: u64 = 4 * DATA;
const LARGE: u64 = 5 * DATA;

impl PackedHeader {
    pub(super) const NONE: Self = Self(UNPROTECTED);

    /// Packs a header, if it fits.
    pub(super) fn new(header: &Header) -> Option<Self> {
        match *header {
            Header::Unprotected => Some(Self::NONE),
            Header::Link(LinkHeader::Data { epoch, seq, ordered, retransmitted, ack }) => {
                Some(Self::data_header(DataHeader { epoch, seq, ordered, retransmitted, ack }))
            }
            Header::Link(LinkHeader::Dummy { epoch, next, ack }) => {
                Some(Self::control(ControlHeader { is_dummy: true, epoch, next, ack }))
            }
            Header::Link(LinkHeader::Ack(ack)) => {
                Some(Self::control(ControlHeader { is_dummy: false, epoch: 0, next: 0, ack: Some(ack) }))
            }
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn data_header(header: DataHeader) -> Self {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let flags = flag(header.ordered, ORDERED) | flag(header.retransmitted, RETRANSMITTED);
        Self(DATA | flags | numbered(header.epoch, header.seq) | header.ack.map_or(0, ack_bits))
    }

    #[inline]
    pub(crate) fn control(header: ControlHeader) -> Self {
        let of_dummy =
            u64::from(header.is_dummy).wrapping_neg() & (DUMMY ^ ACK | numbered(header.epoch, header.next));
        Self(ACK ^ of_dummy | header.ack.map_or(0, ack_bits))
    }

    /// Stands for a header in another array.
    pub(super) fn large(place: u32) -> Self {
        Self(LARGE | u64::from(place))
    }

    /// Returns the position of a header that did not fit.
    #[inline]
    pub(super) fn place(self) -> Option<usize> {
        (self.0 & KIND == LARGE).then_some(self.0 as u32 as usize)
    }

    /// Returns the header of a numbered frame.
    #[inline]
    pub(crate) fn as_data(self) -> Option<DataHeader> {
        if self.0 & KIND != DATA {
            return None;
        }
        let (epoch, seq) = numbers(self.0);
        let (ordered, retransmitted) = (self.0 & ORDERED != 0, self.0 & RETRANSMITTED != 0);
        Some(DataHeader { epoch, seq, ordered, retransmitted, ack: self.piggybacked() })
    }

    /// Returns the header of a dummy or an ACK frame.
    #[inline]
    pub(crate) fn as_control(self) -> ControlHeader {
        let (epoch, next) = numbers(self.0);
        ControlHeader { is_dummy: self.0 & KIND == DUMMY, epoch, next, ack: self.piggybacked() }
    }

    /// Returns the ACK of any kind of header.
    #[inline]
    pub(crate) fn piggybacked(self) -> Option<Ack> {
        let (epoch, next) = numbers(self.0 >> ACK_AT);
        (self.0 & HAS_ACK != 0).then_some(Ack { epoch, next, pause: self.0 & PAUSE != 0 })
    }

    /// Returns the header, which is not in another array.
    pub(super) fn header(self) -> Header {
        if let Some(data) = self.as_data() {
            return Header::Link(data.into());
        }
        if self.0 & KIND == UNPROTECTED {
            Header::Unprotected
        } else {
            Header::Link(self.as_control().into())
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
    fn usual_headers_survive() {
        let number_max = (1 << NUMBER_BITS) - 1;
        let acks = [0, 1, number_max].map(|next| Ack { epoch: 15, next, pause: next == 1 });
        let mut headers = vec![Header::Unprotected];
        headers.extend(acks.map(|ack| Header::Link(LinkHeader::Ack(ack))));
        for ack in acks.into_iter().map(Some).chain([None]) {
            for number in [0, 77, number_max] {
                headers.push(Header::Link(LinkHeader::Dummy { epoch: 9, next: number, ack }));
                for (ordered, retransmitted) in [(false, false), (true, false), (false, true), (true, true)] {
                    let data = LinkHeader::Data { epoch: 15, seq: number, ordered, retransmitted, ack };
                    headers.push(Header::Link(data));
                }
            }
        }
        for header in headers {
            let packed = PackedHeader::new(&header).expect("a usual header");
            assert_eq!((packed.header(), packed.place()), (header, None));
        }
    }

    #[test]
    fn positions_of_large_headers_survive() {
        for place in [0, 7, u32::MAX] {
            assert_eq!(PackedHeader::large(place).place(), Some(place as usize));
        }
    }
}
