//! VLAN tags (IEEE 802.1Q).

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Malformed;
use crate::view;

/// VLAN tags between the Ethernet addresses and the `EtherType`: at most two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Vlans {
    /// No tag.
    #[default]
    Untagged,
    /// One tag.
    Single(VlanTag),
    /// The outer tag, then the inner one.
    Double(VlanTag, VlanTag),
}

/// One VLAN tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VlanTag {
    /// Tag protocol identifier.
    pub tpid: Tpid,
    /// Priority code point: three bits, the class of PFC.
    pub priority: u8,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// VLAN identifier: twelve bits.
    pub id: u16,
}

/// Tag protocol identifier: the `EtherType` of a tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u16)]
pub enum Tpid {
    /// C-tag.
    #[default]
    Customer = 0x8100,
    /// S-tag.
    Service = 0x88A8,
}

/// A tag on the wire.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Tag {
    tpid: U16,
    control: U16,
}
const _: () = assert!(size_of::<Tag>() == TAG_BYTES);

const TAG_BYTES: usize = 4;
const DROP_ELIGIBLE: u16 = 1 << 12;
const ID_MASK: u16 = DROP_ELIGIBLE - 1;

impl Vlans {
    /// Number of tags.
    pub const fn count(&self) -> usize {
        match self {
            Self::Untagged => 0,
            Self::Single(_) => 1,
            Self::Double(..) => 2,
        }
    }

    /// Length of the tags.
    pub const fn buffer_len(&self) -> usize {
        TAG_BYTES * self.count()
    }

    /// Parses up to two tags; a third one remains in the rest.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (Some(outer), rest) = VlanTag::parse(bytes)? else { return Ok((Self::Untagged, bytes)) };
        let (Some(inner), rest) = VlanTag::parse(rest)? else { return Ok((Self::Single(outer), rest)) };
        Ok((Self::Double(outer, inner), rest))
    }

    /// Writes the tags into `buffer` of their length.
    pub fn emit(&self, buffer: &mut [u8]) {
        match self {
            Self::Untagged => assert!(buffer.is_empty(), "no tag needs no bytes"),
            Self::Single(tag) => view::fill(&Tag::from(*tag), buffer),
            Self::Double(outer, inner) => view::fill(&[Tag::from(*outer), Tag::from(*inner)], buffer),
        }
    }
}

impl VlanTag {
    /// Parses an optional tag; returns it and the remaining bytes.
    fn parse(bytes: &[u8]) -> Result<(Option<Self>, &[u8]), Malformed> {
        let (tpid, _) = view::split::<U16>(bytes, "EtherType")?;
        let tpid = match tpid.get() {
            0x8100 => Tpid::Customer,
            0x88A8 => Tpid::Service,
            _ => return Ok((None, bytes)),
        };
        let (tag, rest) = view::split::<Tag>(bytes, "VLAN tag")?;
        let control = tag.control.get();
        let (priority, drop_eligible) = ((control >> 13) as u8, control & DROP_ELIGIBLE != 0);
        Ok((Some(Self { tpid, priority, drop_eligible, id: control & ID_MASK }), rest))
    }
}

impl From<VlanTag> for Tag {
    fn from(tag: VlanTag) -> Self {
        let drop_eligible = if tag.drop_eligible { DROP_ELIGIBLE } else { 0 };
        let control = (tag.priority as u16) << 13 | drop_eligible | tag.id & ID_MASK;
        Self { tpid: U16::new(tag.tpid as u16), control: U16::new(control) }
    }
}
