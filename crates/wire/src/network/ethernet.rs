//! The MAC header (IEEE 802.3).

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Vlans;
use crate::Malformed;
use crate::mac::MacAddr;
use crate::view;

/// `EtherType` of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// `EtherType` of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86DD;

/// MAC addresses and VLAN tags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EthernetRepr {
    /// Destination address.
    pub destination: MacAddr,
    /// Source address.
    pub source: MacAddr,
    /// VLAN tags.
    pub vlans: Vlans,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Addresses {
    destination: MacAddr,
    source: MacAddr,
}
const _: () = assert!(size_of::<Addresses>() == ADDRESSES_BYTES);

const ADDRESSES_BYTES: usize = 12;
const ETHERTYPE_BYTES: usize = 2;

impl EthernetRepr {
    /// Length of the header with its tags.
    pub const fn buffer_len(&self) -> usize {
        ADDRESSES_BYTES + self.vlans.buffer_len() + ETHERTYPE_BYTES
    }

    /// Parses the header; returns it, the next `EtherType` and the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, u16, &[u8]), Malformed> {
        let (addresses, rest) = view::split::<Addresses>(bytes, "Ethernet header")?;
        let (vlans, rest) = Vlans::parse(rest)?;
        let (ethertype, rest) = view::split::<U16>(rest, "EtherType")?;
        let ethernet = Self { destination: addresses.destination, source: addresses.source, vlans };
        Ok((ethernet, ethertype.get(), rest))
    }

    /// Writes the header with the next `ethertype` into `buffer` of its length.
    pub fn emit(&self, ethertype: u16, buffer: &mut [u8]) {
        assert_eq!(buffer.len(), self.buffer_len(), "a buffer has the length its header asks for");
        let (addresses, rest) = buffer.split_at_mut(ADDRESSES_BYTES);
        let (vlans, last) = rest.split_at_mut(self.vlans.buffer_len());
        view::fill(&Addresses { destination: self.destination, source: self.source }, addresses);
        self.vlans.emit(vlans);
        view::fill(&U16::new(ethertype), last);
    }
}
