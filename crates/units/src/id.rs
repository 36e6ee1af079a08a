//! Identifiers: integers with distinct types.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $inner);

        impl $name {
            /// Index in an array.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&format!(concat!($prefix, "{}"), self.0))
            }
        }
    };
}

id!(
    /// A host: a NIC port and its applications.
    HostId(u32),
    "h"
);
id!(
    /// A switch.
    SwitchId(u32),
    "s"
);
id!(
    /// A host or a switch: hosts come first, then switches.
    NodeId(u32),
    "n"
);
id!(
    /// A cable between two nodes.
    LinkId(u32),
    "link"
);
id!(
    /// One direction of a link: lane `2·link` from the first end to the second, `2·link + 1` back.
    LaneId(u32),
    "lane"
);
id!(
    /// A flow: a transfer that an application posts.
    FlowId(u64),
    "flow"
);

impl LaneId {
    /// The cable of this lane.
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// The opposite direction of the same cable.
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl LinkId {
    /// The direction from the first end to the second.
    pub const fn forward(self) -> LaneId {
        LaneId(self.0 * 2)
    }

    /// The direction from the second end to the first.
    pub const fn backward(self) -> LaneId {
        LaneId(self.0 * 2 + 1)
    }
}

/// A queue pair number: 24 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct QpNum(u32);

impl QpNum {
    /// The largest number.
    pub const MAX: u32 = (1 << 24) - 1;

    /// The low 24 bits of `number`.
    pub const fn new(number: u32) -> Self {
        Self(number & Self::MAX)
    }

    /// Reads three bytes, most significant first.
    pub const fn from_be_bytes(bytes: [u8; 3]) -> Self {
        Self(u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]))
    }

    /// Writes three bytes, most significant first.
    pub const fn to_be_bytes(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for QpNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "qp{:#08x}", self.0)
    }
}
