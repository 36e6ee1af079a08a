//! What `tune` promises, held against simulation.
//!
//! A promise of one timeout in a million flows cannot be counted in seconds, so the test is accelerated. The same network with
//! the same mechanisms is simulated at raised corruption, with flows cut short where long ones would mostly go back;
//! there timeouts are frequent enough to count, and each cause has to come as often as the exact model says. What the
//! model promises at the asked corruption is then scaled, cause by cause, by counted over expected. Some flows go at the
//! asked corruption itself: they show nothing, or what does not fit. A promised completion time is counted directly.
//!
//! Work is measured in packets and not by the clock, so that the same question has the same answer everywhere.

mod bench;
mod counted;
mod estimate;
mod plan;
mod told;

use std::path::Path;
use std::sync::Mutex;

use wiremend_model::Target;
use wiremend_model::tune::Choice;

use self::bench::Bench;
use self::counted::Counted;
use self::estimate::{Estimate, Late};
use self::plan::plan;
use crate::args::explain::Flows;
use crate::batch::{Batch, Run};
use crate::failure::Failure;
use crate::input::Input;
use crate::question::Question;
use crate::{machine, signals};

/// Each trial is divided into so many runs, for as many cores.
const RUNS: u64 = 4;

/// What is to be verified.
pub(crate) struct Promise<'a> {
    /// The question, with sizes told apart finely.
    pub(crate) question: &'a Question,
    /// Where sizes of flows come from.
    pub(crate) flows: &'a Flows,
    pub(crate) choice: &'a Choice,
    pub(crate) target: Target,
}

/// How much is simulated.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Seconds on two quiet cores, about.
    pub(crate) seconds: f64,
    pub(crate) seed: u64,
}

/// What came of it.
pub(crate) struct Verified {
    counted: Vec<Counted>,
    finding: Finding,
    /// The scenario that was simulated, a variant for each trial.
    scenario: String,
    seed: u64,
}

/// What is found out, by the kind of target.
enum Finding {
    /// How often flows wait for a timer at the asked corruption.
    Timeouts { estimate: Estimate, allowed: f64 },
    /// How many flows take too long.
    Late(Late),
}

/// Whether the promise holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Confirmed,
    NotConfirmed,
    /// Too few flows to tell.
    Undecided,
}

impl Promise<'_> {
    /// Whether it can be simulated.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        Bench::new(self).map(drop)
    }

    /// Simulates and compares.
    pub(crate) fn verify(&self, effort: Effort) -> Result<Verified, Failure> {
        Bench::new(self)?.verify(self, effort)
    }
}

impl Bench<'_> {
    fn verify(&self, promise: &Promise<'_>, effort: Effort) -> Result<Verified, Failure> {
        signals::catch()?;
        let trials = plan(self, promise, effort.seconds);
        let scenario = self.text(&trials);
        let input = Input::of_text("tune", &scenario)?;
        let runs = |(sum, variant)| {
            (0..RUNS).map(move |run| Run {
                variant,
                sum,
                seed: effort.seed.wrapping_add(run),
                captures: Vec::new(),
            })
        };
        let batch = Batch {
            input: &input,
            runs: input.file.variants.iter().enumerate().flat_map(runs).collect(),
            sums: trials.iter().map(|_| Mutex::default()).collect(),
            threads: machine::cores(),
            output: None,
        };
        let (sums, _) = batch.run()?;
        let counted: Vec<_> =
            trials.into_iter().zip(&sums).map(|(trial, sum)| Counted::new(trial, sum)).collect();
        let finding = match promise.target {
            Target::Timeout(allowed) => {
                Finding::Timeouts { estimate: Estimate::new(promise.choice, &counted), allowed }
            }
            Target::Fct { quantile, limit } => Finding::Late(Late::new(&sums[0].collector, quantile, limit)),
        };
        Ok(Verified { counted, finding, scenario, seed: effort.seed })
    }
}

impl Verified {
    pub(crate) fn verdict(&self) -> Verdict {
        match &self.finding {
            Finding::Late(late) => late.verdict(),
            Finding::Timeouts { estimate, allowed } => {
                let fits = self.counted.iter().all(Counted::agrees) && estimate.interval.low <= *allowed;
                if fits { Verdict::Confirmed } else { Verdict::NotConfirmed }
            }
        }
    }

    /// Keeps the scenario, for `wiremend run`.
    pub(crate) fn write_scenario(&self, path: &Path) -> Result<(), Failure> {
        wiremend_report::write_whole(path, &self.scenario).map_err(|error| Failure::file(&error))
    }
}

#[cfg(test)]
mod tests {
    use wiremend_model::tune::Question as Tuning;
    use wiremend_model::{Mend, Rewind};
    use wiremend_units::Bytes;

    use super::*;
    use crate::args::explain::{Link, NextChoice, OperationChoice, Times};
    use crate::question::Grain;

    /// Flows of 2560 B that are alone, over one link.
    struct Asked {
        question: Question,
        flows: Flows,
        choice: Choice,
    }

    impl Asked {
        fn new(beta: f64, mend: Mend) -> Self {
            let link =
                Link { beta: Some(beta), alpha: None, drop: None, links: 1, access_links: 0, omega: 1.0 };
            let flows = Flows {
                workload: String::new(),
                cdf: None,
                bytes: Some(Bytes::new(2560)),
                mtu: 1024,
                operation: OperationChoice::Write,
            };
            let times = Times {
                rto: "67108864ns".parse().unwrap(),
                rtt: "10us".parse().unwrap(),
                rate: "100Gbps".parse().unwrap(),
                next: NextChoice::Nothing,
                gap: None,
                load: None,
                rewind: None,
            };
            let question = Question::new(&link, &flows, &times, Grain::FINE, Rewind::Unknown).unwrap();
            let choice = Tuning {
                setting: question.setting(Mend::NONE),
                path: question.path,
                flows: &question.flows,
                times: question.times,
                next: None,
                holds: &[0.0],
                target: Target::Timeout(1.0),
            }
            .choice(mend, 0.0);
            Self { question, flows, choice }
        }

        fn promise(&self) -> Promise<'_> {
            let Self { question, flows, choice } = self;
            Promise { question, flows, choice, target: Target::Timeout(choice.timeout * 1.5) }
        }

        /// Verified on a bench that has these mechanisms.
        fn on(&self, mend: Mend, seconds: f64, seed: u64) -> Verified {
            let promise = self.promise();
            let mut bench = Bench::new(&promise).unwrap();
            bench.mend = mend;
            bench.verify(&promise, Effort { seconds, seed }).unwrap()
        }
    }

    fn unexplained(verified: &Verified) -> Vec<&'static str> {
        verified.counted.iter().flat_map(Counted::unexplained).collect()
    }

    #[test]
    fn a_mechanism_that_is_missing_is_noticed_and_its_cause_named() {
        let promised = Mend::new(1, 1, 1);
        let asked = Asked::new(1e-3, promised);
        let whole = asked.on(promised, 0.6, 1);
        assert_eq!((whole.verdict(), unexplained(&whole)), (Verdict::Confirmed, vec![]));
        assert!(whole.counted.len() == 3 && !whole.counted[1].trial.is_asked, "two raised rates");
        let cases =
            [(Mend::new(0, 1, 1), "tail packet"), (Mend::new(1, 0, 1), "NAK"), (Mend::new(1, 1, 0), "twice")];
        for (simulated, cause) in cases {
            let missing = asked.on(simulated, 0.6, 1);
            assert_eq!(missing.verdict(), Verdict::NotConfirmed, "{simulated:?}");
            assert!(unexplained(&missing).contains(&cause), "{simulated:?}: {:?}", unexplained(&missing));
        }
    }

    /// Where timeouts can be counted at the asked rate, what raised rates say about it is compared with that.
    #[test]
    fn what_raised_rates_say_has_no_bias() {
        let mend = Mend::new(1, 1, 1);
        let asked = Asked::new(0.08, mend);
        let counted = asked.on(mend, 0.6, 1000);
        assert_eq!(counted.counted.len(), 1, "by counting alone");
        let counted = counted.counted[0].total() as f64 / counted.counted[0].flows as f64;
        let estimates = (1..=10).map(|number| {
            let verified = asked.on(mend, 0.04, 10 * number);
            assert!(verified.counted.len() > 1, "raised");
            Estimate::new(&asked.choice, &verified.counted[1..]).probability
        });
        let mean = estimates.sum::<f64>() / 10.0;
        // Of about 200 timeouts at the rate itself, and 600 or more at raised ones.
        assert!((mean / counted - 1.0).abs() < 0.25, "{mean:e} estimated, {counted:e} counted");
    }
}
