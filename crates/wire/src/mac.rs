//! Ethernet addresses.

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// An Ethernet address.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct MacAddr(pub [u8; 6]);
const _: () = assert!(size_of::<MacAddr>() == 6);

impl MacAddr {
    /// The link-local group address of pause frames; bridges never forward it (IEEE 802.3 annex 31B).
    pub const PAUSE: Self = Self([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);

    /// The group address of the nearest bridge, at the other end of the cable; no bridge forwards it (IEEE
    /// 802.1Q table 8-1).
    pub const NEAREST_BRIDGE: Self = Self([0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E]);

    /// A locally administered unicast address that carries `number` in its low four bytes.
    pub const fn local(number: u32) -> Self {
        let [a, b, c, d] = number.to_be_bytes();
        Self([0x02, 0x00, a, b, c, d])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
