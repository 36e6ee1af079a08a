//! Names of the loss recovery policies. Their code is in [`recovery`](super::recovery).

/// The loss recovery policy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recovery {
    /// Retransmits everything from the first missing packet on.
    GoBackN,
    /// Retransmits the whole message; the responder discards the part it has.
    GoBackZero,
}

impl Recovery {
    /// All policies.
    pub const ALL: [Self; 2] = [Self::GoBackN, Self::GoBackZero];
}
