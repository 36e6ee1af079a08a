//! What to do about each link, from what all ports see.

use std::collections::{BTreeMap, BTreeSet};

use wiremend_fleet::optimize::STEPS_MAX;
use wiremend_fleet::plan::{Broken, Corrupting, FabricState, Planner, Refusal};
use wiremend_units::{LinkId, SwitchId, Time};

use crate::bus::{Action, Advice};
use crate::control::brake::Brake;
use crate::control::topology::{End, Topology};

/// How far a planner goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// What it says is more than advice: daemons that go by it act.
    pub binding: bool,
    /// The part of its ways to the top that every ToR keeps.
    pub constraint: f64,
    /// Links of one switch that are protected at once.
    pub protected_per_switch_max: usize,
    /// Links of the whole fabric that are.
    pub protected_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { binding: false, constraint: 0.75, protected_per_switch_max: 4, protected_max: 256 }
    }
}

/// A fabric's state, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overview {
    /// Links that corrupt.
    pub corrupting: usize,
    /// Links without a carrier.
    pub down: usize,
    /// Links that should be out.
    pub drain: usize,
    /// Links that should be protected, as long as they carry frames.
    pub protect: usize,
    /// Links for which nothing can be done.
    pub wait: usize,
    /// Links that turned bad within the time of the brake.
    pub turned: usize,
}

/// Keeps a fabric's state, and says what should be done about it.
pub struct Controller<'a> {
    topology: &'a Topology,
    limits: Limits,
    /// What corrupts: the loss on arrival at the lower and at the upper end.
    ill: BTreeMap<LinkId, [f64; 2]>,
    /// Ends without a carrier.
    dark: BTreeSet<End>,
    /// What stands, where it is not nothing.
    stands: BTreeMap<LinkId, Stand>,
    /// Links that nothing was decided about yet, in the order in which they turned bad.
    fresh: Vec<LinkId>,
    /// Something returned: the optimizer has to look.
    returned: bool,
    /// Limits and losses moved: protection has to be looked at.
    stale: bool,
    brake: Brake,
}

/// What is advised about a link.
#[derive(Clone, PartialEq, Debug)]
struct Stand {
    action: Action,
    /// What arrives at the lower end, and at the upper end, should be protected by the other.
    protect: [bool; 2],
    why: String,
    /// Why nothing protects it.
    bare: Option<&'static str>,
}

impl Stand {
    fn new(action: Action, why: String) -> Self {
        Self { action, protect: [false; 2], why, bare: None }
    }

    fn reason(&self) -> String {
        match (self.action, self.bare) {
            (Action::Wait, Some(bare)) => format!("{}{BETWEEN}{bare}", self.why),
            _ => self.why.clone(),
        }
    }
}

const STAYS: &str = ", and has to stay: ";
/// Between why a link has to stay and why nothing protects it.
const BETWEEN: &str = "; ";

impl<'a> Controller<'a> {
    /// Of a fabric, of which nothing is known yet.
    pub fn new(topology: &'a Topology, limits: Limits) -> Self {
        Self {
            topology,
            limits,
            ill: BTreeMap::new(),
            dark: BTreeSet::new(),
            stands: BTreeMap::new(),
            fresh: Vec::new(),
            returned: false,
            stale: false,
            brake: Brake::new(topology.tiers().link_count()),
        }
    }

    /// Goes on from what a planner before this one had advised about the lower and the upper end of a link.
    pub fn resume(&mut self, link: LinkId, lower: &Advice, upper: &Advice) {
        if lower.action == Action::Nothing {
            return;
        }
        let why = lower.why.split(BETWEEN).next().unwrap_or_default().to_owned();
        // What is sent at one end is what arrives at the other.
        let protect = [upper.protect, lower.protect];
        self.stands.insert(link, Stand { protect, ..Stand::new(lower.action, why) });
        self.stale = true;
    }

    /// Too much had turned bad before this one began, or somebody says that it may act again.
    pub fn set_halt(&mut self, on: bool) {
        if self.brake.is_on() && !on {
            // All that was held is looked at together.
            self.returned = true;
        }
        self.brake.set(on);
    }

    /// Whether it has stopped acting.
    pub fn is_halted(&self) -> bool {
        self.brake.is_on()
    }

    /// How many links may turn bad before it does.
    pub fn turned_max(&self) -> usize {
        self.brake.links_max()
    }

    /// Why.
    pub fn halt_reason(&self) -> String {
        format!(
            "more than {} of {} links turned bad within 5 minutes: are the counters right? nothing is done until somebody says `wiremend monitor release`",
            self.brake.links_max(),
            self.topology.tiers().link_count()
        )
    }

    /// What arrives at an end is lost at this rate; `None` if the link is well. `is_new` is false while a planner that begins reads what
    /// stands: that did not turn bad just now. Whether this was one link too many.
    pub fn on_sight(&mut self, now: Time, end: End, loss: Option<f64>, is_new: bool) -> bool {
        let at = usize::from(end.upper);
        let loss = loss.unwrap_or(0.0);
        let known = self.ill.get(&end.link).copied();
        let mut losses = known.unwrap_or_default();
        if losses[at].to_bits() == loss.to_bits() {
            return false;
        }
        losses[at] = loss;
        self.stale = true;
        if losses.iter().all(|loss| *loss <= 0.0) {
            self.ill.remove(&end.link);
            self.fresh.retain(|fresh| *fresh != end.link);
            return false;
        }
        self.ill.insert(end.link, losses);
        if known.is_some() {
            return false;
        }
        if !self.stands.contains_key(&end.link) {
            self.fresh.push(end.link);
        }
        is_new && self.brake.on_turn(now)
    }

    /// An end has no carrier, or has one again.
    pub fn on_carrier(&mut self, end: End, down: bool) {
        let changed = if down { self.dark.insert(end) } else { self.dark.remove(&end) };
        if changed {
            self.stale = true;
            self.returned |= !down;
        }
    }

    /// Decides about all that is new. What is advised otherwise than before, by end.
    pub fn decide(&mut self) -> Vec<(End, Advice)> {
        if !std::mem::take(&mut self.stale) && self.fresh.is_empty() && !self.returned {
            return Vec::new();
        }
        let before = self.stands.clone();
        self.let_go();
        if self.brake.is_on() {
            self.hold_back();
        } else {
            self.drain();
            self.protect();
        }
        self.changes(&before)
    }

    /// What is advised about an end of a link now.
    pub fn advice(&self, end: End) -> Advice {
        self.told(end, self.stands.get(&end.link))
    }

    /// Links that something is advised about, with what, why, and what they lose at most.
    pub fn standing(&self) -> impl Iterator<Item = (LinkId, Action, String, f64)> + '_ {
        self.stands.iter().map(|(link, stand)| (*link, stand.action, stand.reason(), self.loss(*link)))
    }

    /// The state in numbers.
    pub fn overview(&mut self, now: Time) -> Overview {
        let count = |action| self.stands.values().filter(|stand| stand.action == action).count();
        Overview {
            corrupting: self.ill.len(),
            down: self.dark.iter().map(|end| end.link).collect::<BTreeSet<_>>().len(),
            drain: count(Action::Drain),
            protect: self.stands.values().filter(|stand| stand.protect != [false; 2]).count(),
            wait: count(Action::Wait),
            turned: self.brake.turned(now),
        }
    }

    /// Links that are well again, with all of their cable.
    fn let_go(&mut self) {
        let (ill, tiers) = (&self.ill, self.topology.tiers());
        let mut returned = false;
        self.stands.retain(|link, stand| {
            let stays = ill.contains_key(link)
                || stand.action == Action::Drain
                    && tiers.repaired_with(*link).iter().any(|mate| ill.contains_key(mate));
            returned |= !stays && stand.action == Action::Drain;
            stays
        });
        self.returned |= returned;
    }

    /// Nothing is done about what turned bad while the brake holds.
    fn hold_back(&mut self) {
        let why = self.halt_reason();
        for link in self.fresh.drain(..) {
            self.stands.insert(link, Stand::new(Action::Wait, why.clone()));
        }
    }

    fn drain(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        let returned = std::mem::take(&mut self.returned);
        if fresh.is_empty() && !returned {
            return;
        }
        let state = self.state();
        let mut planner = Planner::new(self.topology.tiers(), &state, self.limits.constraint);
        if returned {
            let advice = planner.advise(STEPS_MAX);
            for drain in &advice.drain {
                self.take_out(&drain.links);
            }
            for kept in &advice.keep {
                self.keep(kept.corrupting.link, &kept.because);
            }
            let dark: Vec<LinkId> =
                self.ill.keys().filter(|link| !self.stands.contains_key(link)).copied().collect();
            for link in dark {
                self.stands.insert(link, Stand::new(Action::Wait, "it has no carrier".to_owned()));
            }
            return;
        }
        for link in fresh {
            match planner.may_drain(link) {
                Ok(links) => {
                    planner.take_out(&links);
                    self.take_out(&links);
                }
                Err(Refusal::Breaks(because)) => self.keep(link, &because),
                Err(Refusal::IsOut) => {
                    let stand = Stand::new(Action::Wait, "it has no carrier".to_owned());
                    self.stands.entry(link).or_insert(stand);
                }
            }
        }
    }

    fn state(&self) -> FabricState {
        let is_drained =
            |link: &LinkId| self.stands.get(link).is_some_and(|stand| stand.action == Action::Drain);
        let down: BTreeSet<LinkId> = self.dark.iter().map(|end| end.link).collect();
        let draining = self.stands.keys().filter(|link| is_drained(link) && !down.contains(link)).copied();
        let corrupting = self.ill.keys().filter(|link| !is_drained(link) && !down.contains(link));
        FabricState {
            time_s: 0,
            draining: draining.collect(),
            corrupting: corrupting.map(|&link| Corrupting { link, loss: self.loss(link) }).collect(),
            down: down.into_iter().collect(),
            tors: Vec::new(),
        }
    }

    fn take_out(&mut self, links: &[LinkId]) {
        for &link in links {
            let why = if self.ill.contains_key(&link) {
                format!("it loses {:.1e}, and every ToR keeps its ways without it", self.loss(link))
            } else {
                "it is on one cable with a link that corrupts".to_owned()
            };
            self.stands.insert(link, Stand::new(Action::Drain, why));
        }
    }

    fn keep(&mut self, link: LinkId, because: &Broken) {
        // Its reason stays as it was said: numbers that move on are no news.
        if self.stands.get(&link).is_some_and(|stand| stand.why.contains(STAYS)) {
            return;
        }
        let Broken { tor, ways, need, all } = *because;
        let tor = self.topology.tiers().name(tor);
        let why = format!(
            "it loses {:.1e}{STAYS}{tor} would keep {ways} of {all} ways to the top, and needs {need}",
            self.loss(link)
        );
        self.stands.insert(link, Stand::new(Action::Wait, why));
    }

    /// Who protects: the worst first, as far as limits go.
    fn protect(&mut self) {
        let mut worst: Vec<LinkId> =
            self.ill.keys().filter(|link| self.stands.contains_key(link)).copied().collect();
        // Equal ones by their number, so that nothing changes for no reason.
        worst.sort_by(|a, b| self.loss(*b).total_cmp(&self.loss(*a)).then(a.cmp(b)));
        let mut by_switch: BTreeMap<SwitchId, usize> = BTreeMap::new();
        let mut protected = 0;
        for link in worst {
            let wanted = self.protectable(link);
            let senders: Vec<SwitchId> = [false, true]
                .into_iter()
                .filter(|upper| wanted[usize::from(*upper)])
                .map(|upper| self.topology.switch(End { link, upper }.other()))
                .collect();
            let per_switch_max = self.limits.protected_per_switch_max;
            let is_full = |switch: &SwitchId| by_switch.get(switch).copied().unwrap_or(0) >= per_switch_max;
            let no = if senders.is_empty() {
                Some("no relay stands where it is sent")
            } else if protected >= self.limits.protected_max {
                Some("as many links of the fabric as may be are protected")
            } else if senders.iter().any(is_full) {
                Some("as many links of its switch as may be are protected")
            } else {
                None
            };
            if no.is_none() {
                protected += 1;
                for switch in senders {
                    *by_switch.entry(switch).or_default() += 1;
                }
            }
            self.set_protection(link, wanted, no);
        }
    }

    fn set_protection(&mut self, link: LinkId, wanted: [bool; 2], bare: Option<&'static str>) {
        let Some(stand) = self.stands.get_mut(&link) else { return };
        stand.protect = if bare.is_some() { [false; 2] } else { wanted };
        stand.bare = bare;
        if stand.action != Action::Drain {
            stand.action = if bare.is_some() { Action::Wait } else { Action::Protect };
        }
    }

    /// Which directions lose frames and have a relay where they are sent.
    fn protectable(&self, link: LinkId) -> [bool; 2] {
        let losses = self.ill.get(&link).copied().unwrap_or_default();
        [false, true].map(|upper| {
            losses[usize::from(upper)] > 0.0 && self.topology.has_relay(End { link, upper }.other())
        })
    }

    /// What a link loses in its worse direction.
    fn loss(&self, link: LinkId) -> f64 {
        self.ill.get(&link).map_or(0.0, |[low, high]| low.max(*high))
    }

    fn changes(&self, before: &BTreeMap<LinkId, Stand>) -> Vec<(End, Advice)> {
        let links: BTreeSet<LinkId> = before.keys().chain(self.stands.keys()).copied().collect();
        let mut changes = Vec::new();
        for link in links {
            let (was, is) = (before.get(&link), self.stands.get(&link));
            if was == is {
                continue;
            }
            changes.extend([false, true].map(|upper| {
                let end = End { link, upper };
                (end, self.told(end, is))
            }));
        }
        changes
    }

    fn told(&self, end: End, stand: Option<&Stand>) -> Advice {
        let binding = self.limits.binding;
        match stand {
            None => Advice { action: Action::Nothing, protect: false, binding, why: String::new() },
            Some(stand) => {
                // What arrives at the other end is what is sent here.
                let protect = stand.protect[usize::from(end.other().upper)];
                Advice { action: stand.action, protect, binding, why: stand.reason() }
            }
        }
    }
}
