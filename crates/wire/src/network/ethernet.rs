//! The MAC header (IEEE 802.3).

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Vlans;
use crate::Malformed;
use crate::mac::MacAddr;
use crate::view;

/// IPv4 follows.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// IPv6 follows.
pub const ETHERTYPE_IPV6: u16 = 0x86DD;

/// From whom to whom on this link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EthernetRepr {
    /// To whom.
    pub destination: MacAddr,
    /// From whom.
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
    /// The length of the header, tags included.
    pub const fn buffer_len(&self) -> usize {
        ADDRESSES_BYTES + self.vlans.buffer_len() + ETHERTYPE_BYTES
    }

    /// Reads the header: its value, the `EtherType` of what follows, and that.
    pub fn parse(bytes: &[u8]) -> Result<(Self, u16, &[u8]), Malformed> {
        let (addresses, rest) = view::split::<Addresses>(bytes, "Ethernet header")?;
        let (vlans, rest) = Vlans::parse(rest)?;
        let (ethertype, rest) = view::split::<U16>(rest, "EtherType")?;
        let ethernet = Self { destination: addresses.destination, source: addresses.source, vlans };
        Ok((ethernet, ethertype.get(), rest))
    }

    /// Writes the header of a frame that carries `ethertype` into `buffer`, which has its length.
    pub fn emit(&self, ethertype: u16, buffer: &mut [u8]) {
        assert_eq!(buffer.len(), self.buffer_len(), "a buffer has the length its header asks for");
        let (addresses, rest) = buffer.split_at_mut(ADDRESSES_BYTES);
        let (vlans, last) = rest.split_at_mut(self.vlans.buffer_len());
        view::fill(&Addresses { destination: self.destination, source: self.source }, addresses);
        self.vlans.emit(vlans);
        view::fill(&U16::new(ethertype), last);
    }
}
