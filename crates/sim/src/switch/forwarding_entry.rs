//! Forwarding entries that override the shortest path for a time.

use wiremend_units::{HostId, LaneId, SwitchId, Time};

use crate::network::{FlowKey, Network};

pub(crate) struct Detours {
    /// By switch; entries for a host first, then for a switch, then for all.
    by_switch: Vec<Vec<Detour>>,
}

/// A forwarding entry.
#[derive(Clone, Debug)]
pub(crate) struct Detour {
    pub(crate) to: DetourTarget,
    pub(crate) lanes: Vec<LaneId>,
    /// The entry is active from `from`, before `until`.
    pub(crate) from: Time,
    pub(crate) until: Time,
}

/// The destinations of an entry, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum DetourTarget {
    Host(HostId),
    Tor(SwitchId),
    All,
}

impl Detours {
    /// Returns `None` if there are no entries.
    pub(crate) fn new(switches: usize, entries: &[(SwitchId, Detour)]) -> Option<Self> {
        let mut by_switch = vec![Vec::new(); switches];
        for (switch, detour) in entries {
            by_switch[switch.index()].push(detour.clone());
        }
        for entries in &mut by_switch {
            entries.sort_by_key(|detour| detour.to);
        }
        (!entries.is_empty()).then_some(Self { by_switch })
    }

    /// Returns the next hops of a frame that arrives at a switch now.
    pub(crate) fn next_hops<'a>(
        &'a self,
        now: Time,
        net: &'a Network,
        switch: SwitchId,
        key: FlowKey,
    ) -> &'a [LaneId] {
        let entry = self.by_switch[switch.index()].iter().find(|detour| {
            let matches_target = match detour.to {
                DetourTarget::Host(host) => host == key.dst,
                DetourTarget::Tor(tor) => net.graph.tor(key.dst) == tor,
                DetourTarget::All => true,
            };
            matches_target && (detour.from..detour.until).contains(&now)
        });
        match entry {
            Some(detour) => &detour.lanes,
            None => net.routes.next_hops(switch, key.dst),
        }
    }
}
