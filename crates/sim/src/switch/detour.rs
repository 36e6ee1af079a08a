//! Forwarding entries that are not the shortest way, each for its time.

use wiremend_units::{HostId, LaneId, SwitchId, Time};

use crate::network::{Network, Way};

/// The entries of all switches.
pub(crate) struct Detours {
    /// By switch; what is said about a host first, then about a switch, then about all.
    by_switch: Vec<Vec<Detour>>,
}

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct Detour {
    pub(crate) to: Meant,
    pub(crate) lanes: Vec<LaneId>,
    /// From this instant on, and before the other.
    pub(crate) from: Time,
    pub(crate) until: Time,
}

/// Whose frames an entry is about; in the order in which entries count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Meant {
    Host(HostId),
    /// All hosts of a switch.
    Tor(SwitchId),
    All,
}

impl Detours {
    /// None if there are no entries.
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

    /// The ways that a switch may send a frame that has come now.
    pub(crate) fn next_hops<'a>(
        &'a self,
        now: Time,
        net: &'a Network,
        switch: SwitchId,
        way: Way,
    ) -> &'a [LaneId] {
        let entry = self.by_switch[switch.index()].iter().find(|detour| {
            let is_meant = match detour.to {
                Meant::Host(host) => host == way.dst,
                Meant::Tor(tor) => net.graph.tor(way.dst) == tor,
                Meant::All => true,
            };
            is_meant && (detour.from..detour.until).contains(&now)
        });
        match entry {
            Some(detour) => &detour.lanes,
            None => net.routes.next_hops(switch, way.dst),
        }
    }
}
