//! Links in service, and which of them carry traffic.

use wiremend_units::LinkId;

use super::network::Tiers;

/// LAGs that are down as a whole with fewer than a minimum number of members.
#[derive(Clone, Debug, Default)]
pub(super) struct MinLinks {
    /// Number of the LAG of each link, or `u32::MAX`. Empty if no LAG has a minimum.
    pub(super) lag_of: Vec<u32>,
    /// Members and minimum of each LAG.
    pub(super) lags: Vec<(Vec<LinkId>, u32)>,
}

impl MinLinks {
    fn lag(&self, link: LinkId) -> Option<usize> {
        let lag = *self.lag_of.get(link.index())?;
        (lag != u32::MAX).then_some(lag as usize)
    }
}

/// Which links are in service, and which carry traffic: a link in service carries none while its LAG has
/// fewer members in service than its minimum.
#[derive(Clone, Debug)]
pub struct LinkService<'a> {
    min_links: &'a MinLinks,
    /// Bits of each link.
    states: Vec<u8>,
    /// Members in service of each LAG with a minimum.
    members: Vec<u32>,
    changed: Vec<LinkId>,
}

const UP: u8 = 1;
const CARRIES: u8 = 2;

impl<'a> LinkService<'a> {
    /// Puts all links in service.
    pub(super) fn new(tiers: &'a Tiers) -> Self {
        let min_links = &tiers.min_links;
        Self {
            min_links,
            states: vec![UP | CARRIES; tiers.link_count() as usize],
            members: min_links.lags.iter().map(|(members, _)| members.len() as u32).collect(),
            changed: Vec::new(),
        }
    }

    /// Returns whether a link is in service.
    pub fn is_up(&self, link: LinkId) -> bool {
        self.states[link.index()] & UP != 0
    }

    /// Returns whether a link carries traffic.
    pub fn carries(&self, link: LinkId) -> bool {
        self.states[link.index()] & CARRIES != 0
    }

    /// Takes a link out of service or puts it back. Afterwards [`changed`](Self::changed) has the links that
    /// stopped or started to carry traffic; all of them have the same ends.
    pub(super) fn set(&mut self, link: LinkId, up: bool) {
        self.changed.clear();
        if self.is_up(link) == up {
            return;
        }
        self.states[link.index()] ^= UP;
        let Some(lag) = self.min_links.lag(link) else {
            self.states[link.index()] ^= CARRIES;
            self.changed.push(link);
            return;
        };
        self.members[lag] = if up { self.members[lag] + 1 } else { self.members[lag] - 1 };
        let (members, min) = &self.min_links.lags[lag];
        let is_lag_up = self.members[lag] >= *min;
        for member in members {
            let state = &mut self.states[member.index()];
            if (*state & CARRIES != 0) != (*state & UP != 0 && is_lag_up) {
                *state ^= CARRIES;
                self.changed.push(*member);
            }
        }
    }

    pub(super) fn changed(&self) -> &[LinkId] {
        &self.changed
    }
}
