//! What a capacity constraint applies to.

use wiremend_units::SwitchId;

use super::network::Tiers;

/// Senders whose capacity to the top tier is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// A ToR that sends alone.
    Tor(SwitchId),
    /// All ToRs of a pod, which send at the same time.
    Pod(u32),
    /// All ToRs that share switches below the top tier, which send at the same time. It is named by its
    /// first ToR.
    Domain(SwitchId),
}

/// Number of a [`Scope`]: ToRs have the number of their switch, then follow pods, then domains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct ScopeId(u32);

impl ScopeId {
    /// Returns the scope of a ToR.
    pub const fn tor(tor: SwitchId) -> Self {
        Self(tor.0)
    }

    /// Returns the scope of a pod.
    pub fn pod(tiers: &Tiers, pod: u32) -> Self {
        Self(tiers.switch_count() + pod)
    }

    pub(super) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Index in an array.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
