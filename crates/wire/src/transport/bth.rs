//! The base transport header (IBA 9.2).

use wiremend_units::{Psn, QpNum};
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Malformed, Opcode, view};

/// A base transport header. Reserved bits are ignored by `parse` and written as zero. `O` is the type of the
/// operation: this crate's, or one that knows more services.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are bits of the header, each on its own")]
pub struct BthRepr<O = Opcode> {
    /// Operation.
    pub opcode: O,
    /// Solicited event: the responder raises an event.
    pub solicited: bool,
    /// Path migration state; true in an ordinary connection.
    pub migrated: bool,
    /// Partition key.
    pub partition_key: u16,
    /// Forward congestion notification.
    pub fecn: bool,
    /// Backward congestion notification: set in a CNP.
    pub becn: bool,
    /// Destination queue pair.
    pub dest_qp: QpNum,
    /// The responder must acknowledge.
    pub ack_request: bool,
    /// Sequence number.
    pub psn: Psn,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Bth {
    opcode: u8,
    flags: u8,
    partition_key: U16,
    congestion: u8,
    dest_qp: [u8; 3],
    ack: u8,
    psn: [u8; 3],
}
const _: () = assert!(size_of::<Bth>() == BthRepr::BYTES);

const SOLICITED: u8 = 1 << 7;
const MIGRATED: u8 = 1 << 6;
const PAD_SHIFT: u32 = 4;
const VERSION_MASK: u8 = 0x0F;
const FECN: u8 = 1 << 7;
const BECN: u8 = 1 << 6;
const ACK_REQUEST: u8 = 1 << 7;

impl BthRepr {
    /// The length of the header.
    pub const BYTES: usize = 12;
    /// The default partition.
    pub const DEFAULT_PARTITION: u16 = 0xFFFF;

    /// A header without flags in the default partition.
    pub const fn new(opcode: Opcode, dest_qp: QpNum, psn: Psn) -> Self {
        Self {
            opcode,
            solicited: false,
            migrated: true,
            partition_key: Self::DEFAULT_PARTITION,
            fecn: false,
            becn: false,
            dest_qp,
            ack_request: false,
            psn,
        }
    }

    /// The header of a CNP to the sender's queue pair (IBA A17).
    pub const fn cnp(dest_qp: QpNum) -> Self {
        Self { migrated: false, becn: true, ..Self::new(Opcode::Cnp, dest_qp, Psn::new(0)) }
    }

    /// The length of the header.
    pub const fn buffer_len(&self) -> usize {
        Self::BYTES
    }

    /// Parses the header; returns it, the pad count (0–3) and the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize, &[u8]), Malformed> {
        Self::parse_any(bytes)
    }

    /// Writes the header with pad count `pad` into `buffer` of its length.
    pub fn emit(&self, pad: usize, buffer: &mut [u8]) {
        assert!(pad < 4, "payloads are padded to four bytes");
        let set = |bit: u8, on: bool| if on { bit } else { 0 };
        let bth = Bth {
            opcode: self.opcode as u8,
            flags: set(SOLICITED, self.solicited) | set(MIGRATED, self.migrated) | (pad as u8) << PAD_SHIFT,
            partition_key: self.partition_key.into(),
            congestion: set(FECN, self.fecn) | set(BECN, self.becn),
            dest_qp: self.dest_qp.to_be_bytes(),
            ack: set(ACK_REQUEST, self.ack_request),
            psn: self.psn.to_be_bytes(),
        };
        view::fill(&bth, buffer);
    }
}

impl<O: TryFrom<u8, Error = Malformed>> BthRepr<O> {
    /// Parses the header with operations of another type.
    pub fn parse_any(bytes: &[u8]) -> Result<(Self, usize, &[u8]), Malformed> {
        let (bth, rest) = view::split::<Bth>(bytes, "BTH")?;
        if bth.flags & VERSION_MASK != 0 {
            return Err(Malformed::TransportVersion(bth.flags & VERSION_MASK));
        }
        let pad = (bth.flags >> PAD_SHIFT & 0b11) as usize;
        let value = Self {
            opcode: bth.opcode.try_into()?,
            solicited: bth.flags & SOLICITED != 0,
            migrated: bth.flags & MIGRATED != 0,
            partition_key: bth.partition_key.get(),
            fecn: bth.congestion & FECN != 0,
            becn: bth.congestion & BECN != 0,
            dest_qp: QpNum::from_be_bytes(bth.dest_qp),
            ack_request: bth.ack & ACK_REQUEST != 0,
            psn: Psn::from_be_bytes(bth.psn),
        };
        Ok((value, pad, rest))
    }
}
