//! Links that operators hold.

use std::collections::BTreeMap;

use wiremend_units::{LinkId, Time};

use crate::planner::named_fabric::LinkEnd;

/// A hold of one end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkHold {
    /// End of the hold.
    pub until: Time,
    /// Whether the link is under maintenance.
    pub maintenance: bool,
}

/// The holds of a fabric. A link is held if one of its ends is.
#[derive(Clone, Debug, Default)]
pub(super) struct Holds {
    ends: BTreeMap<LinkEnd, LinkHold>,
}

impl Holds {
    /// Sets or ends the hold of an end. Returns whether the state of the link changed.
    pub(super) fn set(&mut self, end: LinkEnd, hold: Option<LinkHold>) -> bool {
        let before = self.state(end.link);
        match hold {
            Some(hold) => self.ends.insert(end, hold),
            None => self.ends.remove(&end),
        };
        self.state(end.link) != before
    }

    /// Removes holds that have ended. Returns their ends.
    pub(super) fn take_ended(&mut self, now: Time) -> Vec<LinkEnd> {
        let ended: Vec<LinkEnd> =
            self.ends.iter().filter(|(_, hold)| now >= hold.until).map(|(end, _)| *end).collect();
        for end in &ended {
            self.ends.remove(end);
        }
        ended
    }

    pub(super) fn is_held(&self, link: LinkId) -> bool {
        self.state(link).0
    }

    pub(super) fn is_in_maintenance(&self, link: LinkId) -> bool {
        self.state(link).1
    }

    /// Iterates over the held links; a link whose both ends are held comes twice.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.ends.keys().map(|end| end.link)
    }

    /// Returns whether a link is held, and whether it is under maintenance.
    fn state(&self, link: LinkId) -> (bool, bool) {
        let holds = [false, true].map(|upper| self.ends.get(&LinkEnd { link, upper }));
        let is_maintenance = holds.iter().flatten().any(|hold| hold.maintenance);
        (holds.iter().any(Option::is_some), is_maintenance)
    }
}
