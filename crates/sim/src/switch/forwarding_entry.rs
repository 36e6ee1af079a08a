//! Forwarding entries that override the shortest path for a time.

use wiremend_units::{HostId, LaneId, SwitchId, Time};

use crate::network::{FlowKey, Network};

pub(crate) struct ForwardingEntries {
    /// By switch; entries for a host first, then for a switch, then for all.
    by_switch: Vec<Vec<ForwardingEntry>>,
}

/// A forwarding entry, which overrides the shortest path.
#[derive(Clone, Debug)]
pub(crate) struct ForwardingEntry {
    pub(crate) to: ForwardingTarget,
    pub(crate) lanes: Vec<LaneId>,
    /// The entry is active from `from`, before `until`.
    pub(crate) from: Time,
    pub(crate) until: Time,
}

/// The destinations of an entry, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ForwardingTarget {
    Host(HostId),
    Tor(SwitchId),
    All,
}

impl ForwardingEntries {
    /// Returns `None` if there are no entries.
    pub(crate) fn new(switches: usize, entries: &[(SwitchId, ForwardingEntry)]) -> Option<Self> {
        let mut by_switch = vec![Vec::new(); switches];
        for (switch, entry) in entries {
            by_switch[switch.index()].push(entry.clone());
        }
        for entries in &mut by_switch {
            entries.sort_by_key(|entry| entry.to);
        }
        (!entries.is_empty()).then_some(Self { by_switch })
    }

    /// Returns the next hops of a frame that arrives at a switch now, if an entry matches it.
    pub(crate) fn next_hops(
        &self,
        now: Time,
        net: &Network,
        switch: SwitchId,
        key: FlowKey,
    ) -> Option<&[LaneId]> {
        let entry = self.by_switch[switch.index()].iter().find(|entry| {
            let matches_target = match entry.to {
                ForwardingTarget::Host(host) => host == key.dst,
                ForwardingTarget::Tor(tor) => net.graph.tor(key.dst) == tor,
                ForwardingTarget::All => true,
            };
            matches_target && (entry.from..entry.until).contains(&now)
        });
        entry.map(|entry| entry.lanes.as_slice())
    }
}
