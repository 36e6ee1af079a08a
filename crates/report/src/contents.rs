//! Which columns the tables of a run have.

/// What the scenarios of a run have. Tables have only columns that can have values.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Contents(u16);

/// What a run must have for a column to have values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum Need {
    /// Nothing: every run has the column.
    Always = 0,
    /// Flows that use TCP.
    Tcp = 1,
    /// Flows whose packets all take one path.
    Paths = 2,
    /// Switches that mark packets with ECN CE.
    Marks = 4,
    /// Switches that trim packets.
    Trims = 8,
    /// Lossless switches.
    Pauses = 16,
    /// Protected links.
    Protection = 32,
    /// Congestion control that sets rates.
    Rates = 64,
    /// Connections with limited windows.
    Windows = 128,
    /// Links that fail.
    Failures = 256,
}

impl Contents {
    /// All columns.
    pub const ALL: Self = Self(u16::MAX);

    /// Adds something that a run has.
    #[must_use]
    pub const fn with(self, need: Need, has: bool) -> Self {
        if has { Self(self.0 | need as u16) } else { self }
    }

    /// Adds what another run has.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a column has values.
    pub const fn have(self, need: Need) -> bool {
        self.0 & need as u16 == need as u16
    }
}
