//! The ledger: what papers say, measured here and judged.
//!
//! A claim is an id, a source, what the paper says, how it is measured, and a function that measures and judges. Its
//! thresholds stand in its method, so that a verdict can be disputed.

mod livelock;
mod waste;

use std::ops::ControlFlow;

use wiremend_scenario::Variant;
use wiremend_sim::{Ending, Observer, Options, Progress, Results, Simulation};
use wiremend_units::LaneId;

use crate::failure::Failure;
use crate::input::Input;
use crate::{machine, signals};

/// Something that a paper says.
pub(crate) struct Claim {
    /// Its name in the ledger.
    pub(crate) id: &'static str,
    /// What it is about.
    pub(crate) title: &'static str,
    /// Who says so.
    pub(crate) source: &'static str,
    /// What the paper says.
    pub(crate) paper: &'static str,
    /// What is measured, and what counts as reproduced.
    pub(crate) method: &'static str,
    /// Measures it.
    pub(crate) measure: fn(Effort) -> Result<Finding, Failure>,
}

/// All claims, in order.
pub(crate) const ALL: &[Claim] = &[livelock::CLAIM, waste::CLAIM];

/// How much is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    Quick,
    Full,
}

/// What came out.
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) measured: String,
    pub(crate) why: String,
}

/// Whether a claim holds here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Reproduced,
    /// It holds in part, or with other numbers, for a reason that is known.
    #[expect(dead_code, reason = "no claim so far differs; those who read the JSON know all three")]
    Differs,
    NotReproduced,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs => "differs",
            Self::NotReproduced => "not reproduced",
        }
    }
}

/// Runs a variant of a claim's own scenario on one thread. Also gives the lanes that the hosts send on.
fn simulate(input: &Input, variant: &Variant) -> Result<(Results, Vec<LaneId>), Failure> {
    let mut options = Options::new(variant.scenario.seed.get());
    options.memory_bytes_max = machine::memory_bytes_max();
    let simulation =
        Simulation::build(&variant.scenario, input, &options).map_err(|error| input.refused(&error))?;
    let uplinks = simulation.graph().hosts().map(|host| simulation.graph().uplink(host)).collect();
    let results = simulation.run(&mut Interruptible).map_err(|error| Failure::file(&error))?;
    match (signals::caught(), results.ending) {
        (Some(signal), _) => Err(Failure::Interrupted(signal)),
        (None, Ending::Memory) => {
            Err(Failure::Environment("not enough memory is free to measure this".to_owned()))
        }
        (None, _) => Ok((results, uplinks)),
    }
}

/// Sees nothing but Ctrl-C.
struct Interruptible;

impl Observer for Interruptible {
    fn on_progress(&mut self, _: &Progress) -> ControlFlow<()> {
        if signals::caught().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
