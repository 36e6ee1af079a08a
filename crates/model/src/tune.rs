//! Search for the cheapest mechanisms that reach a target.
//!
//! The cost is the number of bytes in the direction of the data; ties go to fewer packets.

use std::collections::BTreeMap;

use crate::cost::cost_from;
use crate::flow::FlowSize;
use crate::mend_counts::MendCounts;
use crate::path::Path;
use crate::penalty::{ConnectionTimes, expected_and_late};
use crate::setting::{ModelSetting, NextFlow};
use crate::timeout::{Cause, expected};

/// Target of the search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Target {
    /// At most this probability of a timeout per flow.
    Timeout(f64),
    /// The fraction `quantile` of the flows takes at most `limit` seconds.
    Fct {
        /// For example 0.999.
        quantile: f64,
        /// Seconds.
        limit: f64,
    },
}

impl Target {
    /// Fraction of flows that may miss the target.
    pub fn allowed(&self) -> f64 {
        match *self {
            Self::Timeout(chance) => chance,
            Self::Fct { quantile, .. } => 1.0 - quantile,
        }
    }
}

/// Input of the search.
#[derive(Clone, Copy, Debug)]
pub struct TuneProblem<'a> {
    /// Frame sizes, corruption and NIC; the search sets the mechanisms and the next flow.
    pub setting: ModelSetting,
    /// The path.
    pub path: Path,
    /// The flows.
    pub flows: &'a [FlowSize],
    /// Times; the search sets `hold`.
    pub times: ConnectionTimes,
    /// The next flow, if it does not follow from the gap.
    pub next: Option<NextFlow>,
    /// Candidate values of T, in seconds.
    pub holds: &'a [f64],
    /// The target.
    pub target: Target,
}

/// A combination of mechanisms and its results.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    /// Dummies and copies.
    pub mend: MendCounts,
    /// T in seconds.
    pub hold: f64,
    /// Probability of a timeout per flow.
    pub timeout: f64,
    /// Timeouts per flow, by [`Cause`].
    pub timeouts: [f64; 4],
    /// Fraction of flows that miss the target.
    pub missed: f64,
    /// Bytes added in the direction of the data, as a fraction.
    pub cost: f64,
    /// Work requests added per flow.
    pub work_requests: f64,
}

impl Candidate {
    /// The most frequent cause of the remaining timeouts.
    pub fn main_cause(&self) -> Cause {
        let most = |a: &Cause, b: &Cause| self.timeouts[*a as usize].total_cmp(&self.timeouts[*b as usize]);
        Cause::ALL.into_iter().max_by(most).expect("there are causes")
    }

    fn packets(&self) -> u32 {
        self.mend.dummies + self.mend.nak_copies + self.mend.retransmission_copies
    }
}

/// Result of the search.
#[derive(Clone, PartialEq, Debug)]
pub struct TuneResult {
    /// The cheapest combination that reaches the target.
    pub chosen: Option<Candidate>,
    /// The same, or the combination that misses the target least.
    pub best: Candidate,
    /// From no mechanism to the best combination, each step adding the packet that helps most.
    pub steps: Vec<Candidate>,
    /// Trade-off between cost and result: each entry misses the target at most half as often as the one
    /// before.
    pub frontier: Vec<Candidate>,
}

/// Largest tried value of each mechanism.
pub const TRIED_MAX: u32 = 6;

/// Finds the cheapest combination. More of any mechanism costs more and misses less, so most combinations are
/// skipped.
pub fn tune(question: &TuneProblem<'_>) -> TuneResult {
    let mut search = Search { question, allowed: question.target.allowed(), known: BTreeMap::new() };
    let mut chosen = None;
    for dummies in 0..=TRIED_MAX {
        search.try_dummies(&mut chosen, dummies);
    }
    // Within a thousandth of the best: more copies would cost more without benefit.
    let best = chosen.unwrap_or_else(|| {
        let most = search.choice(MendCounts::new(TRIED_MAX, TRIED_MAX, TRIED_MAX), 0.0);
        search.first_below(0.0, most.missed * 1.001)
    });
    TuneResult { chosen, best, steps: search.steps(&best), frontier: search.frontier(best.hold) }
}

/// Evaluated candidates.
struct Search<'a> {
    question: &'a TuneProblem<'a>,
    allowed: f64,
    /// By mechanisms and the bits of T.
    known: BTreeMap<(MendCounts, u64), Candidate>,
}

impl Search<'_> {
    fn choice(&mut self, mend: MendCounts, hold: f64) -> Candidate {
        *self.known.entry((mend, hold.to_bits())).or_insert_with(|| self.question.choice(mend, hold))
    }

    /// Looks for a cheaper combination than `chosen` with this number of dummies.
    fn try_dummies(&mut self, chosen: &mut Option<Candidate>, dummies: u32) {
        // Without dummies T has no effect.
        let holds = if dummies == 0 { &self.question.holds[..1] } else { self.question.holds };
        for &hold in holds {
            if !self.reaches(MendCounts::new(dummies, TRIED_MAX, TRIED_MAX), hold) {
                continue;
            }
            for nak_copies in 0..=TRIED_MAX {
                let dearer = chosen.is_some_and(|chosen: Candidate| {
                    self.choice(MendCounts::new(dummies, nak_copies, 0), hold).cost > chosen.cost
                });
                if dearer {
                    break;
                }
                if self.reaches(MendCounts::new(dummies, nak_copies, TRIED_MAX), hold) {
                    self.try_copies(chosen, dummies, nak_copies, hold);
                }
            }
        }
    }

    /// Finds the fewest sufficient retransmission copies, if the result is cheaper than `chosen`.
    fn try_copies(&mut self, chosen: &mut Option<Candidate>, dummies: u32, nak_copies: u32, hold: f64) {
        for retransmission_copies in 0..=TRIED_MAX {
            let choice = self.choice(MendCounts::new(dummies, nak_copies, retransmission_copies), hold);
            let price = |choice: &Candidate| (choice.cost, choice.packets());
            if chosen.is_some_and(|chosen| price(&choice) >= price(&chosen)) {
                return;
            }
            if choice.missed <= self.allowed {
                *chosen = Some(choice);
                return;
            }
        }
    }

    fn reaches(&mut self, mend: MendCounts, hold: f64) -> bool {
        self.choice(mend, hold).missed <= self.allowed
    }

    /// Steps from no mechanism to `end`, each adding the packet that helps most.
    fn steps(&mut self, end: &Candidate) -> Vec<Candidate> {
        let mut steps = vec![self.choice(MendCounts::NONE, end.hold)];
        while let Some(last) = steps.last().filter(|last| last.mend != end.mend) {
            let within = one_more(last.mend, end.mend);
            let tried = within.map(|mend| self.choice(mend, end.hold));
            steps.extend(tried.min_by(|a, b| a.missed.total_cmp(&b.missed)));
        }
        steps
    }

    /// Adds one packet at a time, the one that helps most per byte, and keeps the steps with a large effect.
    fn frontier(&mut self, hold: f64) -> Vec<Candidate> {
        const BETTER: f64 = 2.0;
        const FARTHEST: f64 = 1e-3;
        let mut frontier = vec![self.choice(MendCounts::NONE, hold)];
        let mut last = frontier[0];
        while let Some(next) = self.best_per_byte(&last) {
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

    /// The first such step that misses the target at most this often, or the last one.
    fn first_below(&mut self, hold: f64, missed: f64) -> Candidate {
        let mut last = self.choice(MendCounts::NONE, hold);
        while last.missed > missed {
            match self.best_per_byte(&last) {
                Some(next) => last = next,
                None => break,
            }
        }
        last
    }

    /// Adds the packet that helps most per byte.
    fn best_per_byte(&mut self, last: &Candidate) -> Option<Candidate> {
        let all = MendCounts::new(TRIED_MAX, TRIED_MAX, TRIED_MAX);
        let gain = |choice: &Candidate| {
            (last.missed / choice.missed.max(f64::MIN_POSITIVE)).ln() / (choice.cost - last.cost).max(1e-12)
        };
        let tried = one_more(last.mend, all).map(|mend| self.choice(mend, last.hold));
        tried.max_by(|a, b| gain(a).total_cmp(&gain(b)))
    }
}

impl TuneProblem<'_> {
    /// Evaluates a combination.
    pub fn choice(&self, mend: MendCounts, hold: f64) -> Candidate {
        let times = ConnectionTimes { hold, ..self.times };
        let next = self.next.unwrap_or_else(|| times.next());
        let setting = ModelSetting { mend, next, ..self.setting };
        let (expected, missed) = match self.target {
            Target::Timeout(_) => {
                let expected = expected(&setting, &self.path, self.flows);
                (expected, expected.probability)
            }
            Target::Fct { limit, .. } => expected_and_late(&setting, &self.path, self.flows, &times, limit),
        };
        let cost = cost_from(&setting, &self.path, self.flows, times.idle_share(), &expected);
        Candidate {
            mend,
            hold,
            timeout: expected.probability,
            timeouts: expected.timeouts,
            missed,
            cost: cost.share(),
            work_requests: cost.work_requests,
        }
    }
}

/// Combinations with one more packet of one mechanism, within `most`.
fn one_more(mend: MendCounts, most: MendCounts) -> impl Iterator<Item = MendCounts> {
    let MendCounts { dummies, nak_copies, retransmission_copies, .. } = mend;
    let next = [
        MendCounts::new(dummies + 1, nak_copies, retransmission_copies),
        MendCounts::new(dummies, nak_copies + 1, retransmission_copies),
        MendCounts::new(dummies, nak_copies, retransmission_copies + 1),
    ];
    next.into_iter().filter(move |mend| {
        mend.dummies <= most.dummies
            && mend.nak_copies <= most.nak_copies
            && mend.retransmission_copies <= most.retransmission_copies
    })
}
