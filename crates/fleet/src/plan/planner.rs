//! Answers for the state that a fabric is in.

use std::collections::{BTreeMap, VecDeque};

use wiremend_fabric::tiers::{Paths, Tiers};
use wiremend_units::{LinkId, SwitchId};

use super::state::{Corrupting, FabricState};
use crate::optimize::{Item, Need, choose};
use crate::penalty::Penalty;

/// A fabric in a state, with what every ToR must keep.
pub struct Planner<'a> {
    tiers: &'a Tiers,
    state: &'a FabricState,
    paths: Paths<'a>,
    totals: BTreeMap<SwitchId, u64>,
    /// As asked for.
    wanted: Need,
    /// The same, lowered to what there is.
    need: Need,
}

/// A ToR that has fewer ways than its share already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Which.
    pub tor: SwitchId,
    /// What it has.
    pub ways: u64,
    /// What it should keep.
    pub need: u64,
    /// What it has with all links up.
    pub all: u64,
}

/// Why a link must not be drained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It carries nothing anyway.
    IsOut,
    /// This ToR would have too few ways: so many.
    Breaks(Broken),
}

/// Links to drain together: one, or all of a cable.
#[derive(Clone, PartialEq, Debug)]
pub struct Drain {
    /// The links.
    pub links: Vec<LinkId>,
    /// The loss rates that go with them.
    pub loss: f64,
}

/// A link that corrupts and has to stay.
#[derive(Clone, PartialEq, Debug)]
pub struct Kept {
    /// Which, and what it loses.
    pub corrupting: Corrupting,
    /// The ToR that needs it, as it would be without.
    pub because: Broken,
}

/// Which set to drain.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// What to drain, the greatest loss first.
    pub drain: Vec<Drain>,
    /// What has to stay, the greatest loss first.
    pub keep: Vec<Kept>,
    /// What the best set could be better by at most, as a sum of loss rates: nothing, unless the search was cut off.
    pub gap: f64,
}

/// What to do when a link returns from repair.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// What returns.
    pub returned: Vec<LinkId>,
    /// What can go then.
    pub drain: Vec<Drain>,
}

impl<'a> Planner<'a> {
    /// Of a fabric in a state; every ToR keeps the part `constraint` of its ways, or what the state says of it.
    pub fn new(tiers: &'a Tiers, state: &'a FabricState, constraint: f64) -> Self {
        let mut paths = Paths::new(tiers);
        let mut wanted = Need::new(tiers, &paths, constraint);
        let totals: BTreeMap<_, _> = tiers.tors().iter().map(|tor| (*tor, paths.of(*tor))).collect();
        for (tor, part) in &state.tors {
            wanted.set(*tor, totals[tor], *part);
        }
        for link in state.out() {
            paths.take_down(link);
        }
        let mut need = wanted.clone();
        for tor in tiers.tors() {
            need.lower_to(*tor, paths.of(*tor));
        }
        Self { tiers, state, paths, totals, wanted, need }
    }

    /// ToRs that have too few ways as it is.
    pub fn broken(&self) -> Vec<Broken> {
        let tors = self.tiers.tors().iter().map(|tor| self.standing(*tor, &self.wanted));
        tors.filter(|standing| standing.ways < standing.need).collect()
    }

    /// The ways that every ToR has, and what it should keep.
    pub fn standings(&self) -> impl Iterator<Item = Broken> + '_ {
        self.tiers.tors().iter().map(|tor| self.standing(*tor, &self.wanted))
    }

    /// Whether a link may be drained, with all that is on its cable: the links that go, or why not.
    pub fn may_drain(&mut self, link: LinkId) -> Result<Vec<LinkId>, Refusal> {
        if !self.paths.is_up(link) {
            return Err(Refusal::IsOut);
        }
        let links = self.together(link);
        let broken = self.without(&links);
        broken.map_or(Ok(links), |broken| Err(Refusal::Breaks(broken)))
    }

    /// Counts these links as drained from now on.
    pub fn take_out(&mut self, links: &[LinkId]) {
        for link in links {
            self.paths.take_down(*link);
        }
    }

    /// Which of the links that corrupt should be drained now; they count as drained from then on.
    pub fn advise(&mut self, steps_max: u64) -> Advice {
        let open: Vec<Corrupting> =
            self.state.corrupting.iter().filter(|ill| self.paths.is_up(ill.link)).copied().collect();
        let (drain, gap) = self.drain(&open, steps_max);
        let mut keep = Vec::new();
        for corrupting in open {
            if !self.paths.is_up(corrupting.link) {
                continue;
            }
            let links = self.together(corrupting.link);
            let because = self.without(&links).expect("what could go was taken");
            keep.push(Kept { corrupting, because });
        }
        keep.sort_by(|a, b| b.corrupting.loss.total_cmp(&a.corrupting.loss));
        Advice { drain, keep, gap }
    }

    /// What can go as links return: those that are down in the order of the state, then those that are being drained, then the advised ones, and what
    /// goes meanwhile.
    pub fn order(&mut self, advice: &Advice, steps_max: u64) -> Vec<Step> {
        let mut out: VecDeque<Vec<LinkId>> = self.state.out().map(|link| vec![link]).collect();
        out.extend(advice.drain.iter().map(|drain| drain.links.clone()));
        let mut open: Vec<Corrupting> = advice.keep.iter().map(|kept| kept.corrupting).collect();
        let mut steps = Vec::new();
        while let Some(returned) = out.pop_front().filter(|_| !open.is_empty()) {
            for link in &returned {
                self.paths.bring_up(*link);
                for tor in self.paths.changed() {
                    self.need.reset(*tor, self.wanted.of(*tor).min(self.paths.of(*tor)));
                }
            }
            let (drain, _) = self.drain(&open, steps_max);
            open.retain(|ill| self.paths.is_up(ill.link));
            out.extend(drain.iter().map(|drain| drain.links.clone()));
            steps.push(Step { returned, drain });
        }
        steps
    }

    /// Takes out what should go of these.
    fn drain(&mut self, open: &[Corrupting], steps_max: u64) -> (Vec<Drain>, f64) {
        let mut by_cable: BTreeMap<Vec<LinkId>, f64> = BTreeMap::new();
        for ill in open {
            *by_cable.entry(self.together(ill.link)).or_default() += ill.loss;
        }
        let all: Vec<Drain> = by_cable.into_iter().map(|(links, loss)| Drain { links, loss }).collect();
        let item = |drain: &Drain| Item {
            links: drain.links.clone(),
            worth: Penalty::of(drain.loss.min(2048.0)).raw().max(1),
        };
        let items: Vec<Item> = all.iter().map(item).collect();
        let choice = choose(&mut self.paths, &self.need, &items, steps_max);
        let mut taken: Vec<Drain> = choice.taken.iter().map(|place| all[*place].clone()).collect();
        taken.sort_by(|a, b| b.loss.total_cmp(&a.loss));
        (taken, Penalty::from_raw(choice.bound - choice.worth).value())
    }

    /// Links that go with this one, as far as they are up.
    fn together(&self, link: LinkId) -> Vec<LinkId> {
        self.tiers.repaired_with(link).into_iter().filter(|link| self.paths.is_up(*link)).collect()
    }

    /// The first ToR that would have too few ways without these links.
    fn without(&mut self, links: &[LinkId]) -> Option<Broken> {
        let mut concerned = Vec::new();
        for link in links {
            self.paths.take_down(*link);
            concerned.extend_from_slice(self.paths.changed());
        }
        let broken = self.need.broken(&self.paths, &concerned).map(|tor| self.standing(tor, &self.need));
        for link in links {
            self.paths.bring_up(*link);
        }
        broken
    }

    fn standing(&self, tor: SwitchId, need: &Need) -> Broken {
        Broken { tor, ways: self.paths.of(tor), need: need.of(tor), all: self.totals[&tor] }
    }
}
