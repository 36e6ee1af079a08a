//! The cheapest mechanisms that reach a target.
//!
//! What is cheapest follows from bytes in the direction of the data; ties go to fewer packets in all.

use std::collections::BTreeMap;

use crate::cost::cost_of;
use crate::flow::FlowSize;
use crate::mend::Mend;
use crate::path::Path;
use crate::penalty::{Times, expected_and_late};
use crate::setting::{Next, Setting};
use crate::timeout::{Cause, expected};

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
    /// The same; if none reaches it, the one that misses it least.
    pub best: Choice,
    /// From nothing to what was chosen (or is best), each step adding the packet that helps most.
    pub steps: Vec<Choice>,
    /// From nothing on, the best bargain at each price: what misses the target half as often as the one before, or less.
    pub frontier: Vec<Choice>,
}

/// Most of each mechanism that is tried.
pub const TRIED_MAX: u32 = 6;

/// Looks for the cheapest combination. More of anything costs more and misses less, so most need not be reckoned.
pub fn tune(question: &Question<'_>) -> Tuned {
    let mut search = Search { question, allowed: question.target.allowed(), known: BTreeMap::new() };
    let mut chosen = None;
    for dummies in 0..=TRIED_MAX {
        search.try_dummies(&mut chosen, dummies);
    }
    // What comes within a thousandth of the best: the rest costs and helps no more.
    let best = chosen.unwrap_or_else(|| {
        let most = search.choice(Mend::new(TRIED_MAX, TRIED_MAX, TRIED_MAX), 0.0);
        search.climb(0.0, most.missed * 1.001)
    });
    Tuned { chosen, best, steps: search.steps(&best), frontier: search.frontier(best.hold) }
}

/// What was reckoned so far.
struct Search<'a> {
    question: &'a Question<'a>,
    allowed: f64,
    /// By mechanisms and the bits of T.
    known: BTreeMap<(Mend, u64), Choice>,
}

impl Search<'_> {
    fn choice(&mut self, mend: Mend, hold: f64) -> Choice {
        *self.known.entry((mend, hold.to_bits())).or_insert_with(|| self.question.choice(mend, hold))
    }

    /// Looks for something cheaper than `chosen` with so many dummies.
    fn try_dummies(&mut self, chosen: &mut Option<Choice>, dummies: u32) {
        // Without dummies there is nothing to hold back.
        let holds = if dummies == 0 { &self.question.holds[..1] } else { self.question.holds };
        for &hold in holds {
            if !self.reaches(Mend::new(dummies, TRIED_MAX, TRIED_MAX), hold) {
                continue;
            }
            for nak_copies in 0..=TRIED_MAX {
                let dearer = chosen.is_some_and(|chosen: Choice| {
                    self.choice(Mend::new(dummies, nak_copies, 0), hold).cost > chosen.cost
                });
                if dearer {
                    break;
                }
                if self.reaches(Mend::new(dummies, nak_copies, TRIED_MAX), hold) {
                    self.try_copies(chosen, dummies, nak_copies, hold);
                }
            }
        }
    }

    /// The fewest retransmission copies that suffice, if that is cheaper than `chosen`.
    fn try_copies(&mut self, chosen: &mut Option<Choice>, dummies: u32, nak_copies: u32, hold: f64) {
        for retransmission_copies in 0..=TRIED_MAX {
            let choice = self.choice(Mend::new(dummies, nak_copies, retransmission_copies), hold);
            let price = |choice: &Choice| (choice.cost, choice.packets());
            if chosen.is_some_and(|chosen| price(&choice) >= price(&chosen)) {
                return;
            }
            if choice.missed <= self.allowed {
                *chosen = Some(choice);
                return;
            }
        }
    }

    fn reaches(&mut self, mend: Mend, hold: f64) -> bool {
        self.choice(mend, hold).missed <= self.allowed
    }

    /// From nothing to `end`, a packet at a time, each time the one that helps most.
    fn steps(&mut self, end: &Choice) -> Vec<Choice> {
        let mut steps = vec![self.choice(Mend::NONE, end.hold)];
        while let Some(last) = steps.last().filter(|last| last.mend != end.mend) {
            let within = one_more(last.mend, end.mend);
            let tried = within.map(|mend| self.choice(mend, end.hold));
            steps.extend(tried.min_by(|a, b| a.missed.total_cmp(&b.missed)));
        }
        steps
    }

    /// Of one packet more at a time, each time the one that helps most for its bytes, those that help much.
    fn frontier(&mut self, hold: f64) -> Vec<Choice> {
        const BETTER: f64 = 2.0;
        const FARTHEST: f64 = 1e-3;
        let mut frontier = vec![self.choice(Mend::NONE, hold)];
        let mut last = frontier[0];
        while let Some(next) = self.best_bargain(&last) {
            if next.missed * BETTER < frontier[frontier.len() - 1].missed {
                frontier.push(next);
            }
            if next.missed < self.allowed * FARTHEST {
                break;
            }
            last = next;
        }
        frontier
    }

    /// The first of such a row that misses the target at most this often, or its last.
    fn climb(&mut self, hold: f64, missed: f64) -> Choice {
        let mut last = self.choice(Mend::NONE, hold);
        while last.missed > missed {
            match self.best_bargain(&last) {
                Some(next) => last = next,
                None => break,
            }
        }
        last
    }

    /// One packet more, the one that helps most for its bytes.
    fn best_bargain(&mut self, last: &Choice) -> Option<Choice> {
        let all = Mend::new(TRIED_MAX, TRIED_MAX, TRIED_MAX);
        let gain = |choice: &Choice| {
            (last.missed / choice.missed.max(f64::MIN_POSITIVE)).ln() / (choice.cost - last.cost).max(1e-12)
        };
        let tried = one_more(last.mend, all).map(|mend| self.choice(mend, last.hold));
        tried.max_by(|a, b| gain(a).total_cmp(&gain(b)))
    }
}

impl Question<'_> {
    /// What follows from these mechanisms.
    pub fn choice(&self, mend: Mend, hold: f64) -> Choice {
        let times = Times { hold, ..self.times };
        let next = self.next.unwrap_or_else(|| times.next());
        let setting = Setting { mend, next, ..self.setting };
        let (met, missed) = match self.target {
            Target::Timeout(_) => {
                let met = expected(&setting, &self.path, self.flows);
                (met, met.probability)
            }
            Target::Fct { limit, .. } => expected_and_late(&setting, &self.path, self.flows, &times, limit),
        };
        let cost = cost_of(&setting, &self.path, self.flows, times.idle_share(), &met);
        Choice {
            mend,
            hold,
            timeout: met.probability,
            timeouts: met.timeouts,
            missed,
            cost: cost.share(),
            work_requests: cost.work_requests,
        }
    }
}

/// One packet more of each mechanism, as far as there may be more.
fn one_more(mend: Mend, most: Mend) -> impl Iterator<Item = Mend> {
    let Mend { dummies, nak_copies, retransmission_copies, .. } = mend;
    let next = [
        Mend::new(dummies + 1, nak_copies, retransmission_copies),
        Mend::new(dummies, nak_copies + 1, retransmission_copies),
        Mend::new(dummies, nak_copies, retransmission_copies + 1),
    ];
    next.into_iter().filter(move |mend| {
        mend.dummies <= most.dummies
            && mend.nak_copies <= most.nak_copies
            && mend.retransmission_copies <= most.retransmission_copies
    })
}
