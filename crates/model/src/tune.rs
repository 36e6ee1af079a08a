//! The cheapest mechanisms that reach a target.
//!
//! Every combination of a few dummies and copies is reckoned: there are only some hundred. What is cheapest follows
//! from bytes in the direction of the data; ties go to fewer packets in all.

use crate::cost::cost_of;
use crate::flow::FlowSize;
use crate::mend::Mend;
use crate::path::Path;
use crate::penalty::{Times, exceeds};
use crate::setting::{Next, Setting};
use crate::timeout::{Cause, Expected, expected};

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Target {
    /// At most this chance of a timeout per flow.
    Timeout(f64),
    /// All but a share `1 − quantile` of the flows take at most `limit` seconds.
    Fct {
        /// Such as 0.999.
        quantile: f64,
        /// Seconds.
        limit: f64,
    },
}

impl Target {
    /// The share of flows that may miss it.
    pub fn allowed(&self) -> f64 {
        match *self {
            Self::Timeout(chance) => chance,
            Self::Fct { quantile, .. } => 1.0 - quantile,
        }
    }
}

/// The question.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Sizes, corruption and NIC; its mechanisms and what follows a flow are set here.
    pub setting: Setting,
    /// The path.
    pub path: Path,
    /// The flows.
    pub flows: &'a [FlowSize],
    /// Times; `hold` is set here.
    pub times: Times,
    /// What comes behind a flow, if it does not follow from the gap.
    pub next: Option<Next>,
    /// Values of T to choose from, in seconds.
    pub holds: &'a [f64],
    /// What is wanted.
    pub target: Target,
}

/// A combination and what follows from it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Choice {
    /// Dummies and copies.
    pub mend: Mend,
    /// T in seconds.
    pub hold: f64,
    /// The chance of a timeout per flow.
    pub timeout: f64,
    /// Timeouts per flow, by [`Cause`].
    pub timeouts: [f64; 4],
    /// The share of flows that miss the target.
    pub missed: f64,
    /// Bytes added in the direction of the data, as a share.
    pub cost: f64,
    /// Work requests added per flow.
    pub work_requests: f64,
}

impl Choice {
    /// The cause of most timeouts that are left.
    pub fn main_cause(&self) -> Cause {
        let most = |a: &Cause, b: &Cause| self.timeouts[*a as usize].total_cmp(&self.timeouts[*b as usize]);
        Cause::ALL.into_iter().max_by(most).expect("there are causes")
    }

    fn packets(&self) -> u32 {
        self.mend.dummies + self.mend.nak_copies + self.mend.retransmission_copies
    }
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuned {
    /// The cheapest combination that reaches the target.
    pub chosen: Option<Choice>,
    /// The one that misses it least, if none reaches it.
    pub best: Choice,
    /// From nothing to what was chosen (or is best), each step adding the packet that helps most.
    pub steps: Vec<Choice>,
    /// From the cheapest on, combinations that miss the target at most a third as often as any that is cheaper.
    pub frontier: Vec<Choice>,
}

/// Most of each mechanism that is tried.
pub const TRIED_MAX: u32 = 6;

/// Tries all combinations.
pub fn tune(question: &Question<'_>) -> Tuned {
    let mut all = Vec::new();
    for dummies in 0..=TRIED_MAX {
        for nak_copies in 0..=TRIED_MAX {
            for retransmission_copies in 0..=TRIED_MAX {
                let mend = Mend::new(dummies, nak_copies, retransmission_copies);
                // Without dummies there is nothing to hold back.
                let holds = if dummies == 0 { &question.holds[..1] } else { question.holds };
                all.extend(question.choices(mend, holds));
            }
        }
    }
    all.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.packets().cmp(&b.packets())));
    let allowed = question.target.allowed();
    let chosen = all.iter().find(|choice| choice.missed <= allowed).copied();
    // Of those that come within a thousandth of the best, the cheapest.
    let least = all.iter().map(|choice| choice.missed).fold(f64::INFINITY, f64::min);
    let best = *all.iter().find(|choice| choice.missed <= least * 1.001).expect("there are combinations");
    let end = chosen.unwrap_or(best);
    Tuned { chosen, best, steps: question.steps(&end), frontier: frontier(&all, allowed) }
}

impl Question<'_> {
    /// What follows from these mechanisms, for each T.
    pub fn choices(&self, mend: Mend, holds: &[f64]) -> Vec<Choice> {
        let at = |&hold: &f64| {
            let times = Times { hold, ..self.times };
            let setting = Setting { mend, next: self.next.unwrap_or_else(|| times.next()), ..self.setting };
            let met = expected(&setting, &self.path, self.flows);
            self.choice(&setting, &times, &met)
        };
        holds.iter().map(at).collect()
    }

    fn choice(&self, setting: &Setting, times: &Times, met: &Expected) -> Choice {
        let missed = match self.target {
            Target::Timeout(_) => met.probability,
            Target::Fct { limit, .. } => exceeds(setting, &self.path, self.flows, times, limit),
        };
        let cost = cost_of(setting, &self.path, self.flows, times.idle_share(), met);
        Choice {
            mend: setting.mend,
            hold: times.hold,
            timeout: met.probability,
            timeouts: met.timeouts,
            missed,
            cost: cost.share(),
            work_requests: cost.work_requests,
        }
    }

    /// From nothing to `end`, a packet at a time.
    fn steps(&self, end: &Choice) -> Vec<Choice> {
        let hold = [end.hold];
        let mut steps = self.choices(Mend::NONE, &hold);
        while let Some(&last) = steps.last().filter(|last| last.mend != end.mend) {
            let Mend { dummies, nak_copies, retransmission_copies, .. } = last.mend;
            let next = [
                Mend::new(dummies + 1, nak_copies, retransmission_copies),
                Mend::new(dummies, nak_copies + 1, retransmission_copies),
                Mend::new(dummies, nak_copies, retransmission_copies + 1),
            ];
            let within = |mend: &Mend| {
                mend.dummies <= end.mend.dummies
                    && mend.nak_copies <= end.mend.nak_copies
                    && mend.retransmission_copies <= end.mend.retransmission_copies
            };
            let tried = next.into_iter().filter(within).flat_map(|mend| self.choices(mend, &hold));
            steps.extend(tried.min_by(|a, b| a.missed.total_cmp(&b.missed)));
        }
        steps
    }
}

/// Of choices in order of cost, those that are far better than all cheaper ones, as far as anybody would want to go.
fn frontier(sorted: &[Choice], allowed: f64) -> Vec<Choice> {
    const BETTER: f64 = 3.0;
    const FARTHEST: f64 = 1e-3;
    let mut best = f64::INFINITY;
    let mut frontier = Vec::new();
    for choice in sorted {
        if choice.missed * BETTER < best && best > allowed * FARTHEST {
            best = choice.missed;
            frontier.push(*choice);
        }
    }
    frontier
}
