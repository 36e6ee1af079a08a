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

use std::io;
use std::path::{Path, PathBuf};

use wiremend_model::tune::Choice;
use wiremend_model::{Corruption, FlowSize, Next, Nic, Path as LinkPath, Sizes, Target, Times};
use wiremend_runner::{Input, Request, Runner};
use wiremend_units::Bytes;

use self::bench::Bench;
use self::counted::Counted;
use self::estimate::{Estimate, Late};
use self::plan::plan;
use crate::error::Error;

/// Each trial is divided into so many runs, for as many cores.
const RUNS: u64 = 4;

/// What is to be verified.
pub struct Promise<'a> {
    /// What it is about, with sizes told apart finely.
    pub subject: &'a Subject,
    /// The mechanisms, and what the model expects of them.
    pub choice: &'a Choice,
    /// What is promised.
    pub target: Target,
}

/// Links, flows and times that a promise is about.
pub struct Subject {
    /// Sizes of frames.
    pub sizes: Sizes,
    /// What links do to frames.
    pub corruption: Corruption,
    /// Links on the way.
    pub path: LinkPath,
    /// Sizes of flows, told apart finely.
    pub flows: Vec<FlowSize>,
    /// Round trip, timeout, rate and gaps.
    pub times: Times,
    /// What a NIC does about NAKs.
    pub nic: Nic,
    /// What comes behind a flow, if it does not follow from gaps.
    pub next: Option<Next>,
    /// Where a simulation takes sizes of flows from.
    pub source: FlowSource,
}

impl Subject {
    /// The loss of a full frame on a corrupting link.
    fn beta(&self) -> f64 {
        self.corruption.loss(f64::from(self.sizes.full()), 1)
    }
}

/// Where a simulation takes sizes of flows from.
pub enum FlowSource {
    /// All have one size.
    Bytes(Bytes),
    /// A table in a file.
    File(PathBuf),
    /// A table of the library.
    Workload(String),
}

/// How much is simulated.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seconds on two quiet cores, about.
    pub seconds: f64,
    /// The first of four seeds for each trial.
    pub seed: u64,
}

/// What came of it.
pub struct Verified {
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
pub enum Verdict {
    /// It holds.
    Confirmed,
    /// It does not.
    NotConfirmed,
    /// Too few flows to tell.
    Undecided,
}

impl Promise<'_> {
    /// Whether it can be simulated.
    pub fn check(&self) -> Result<(), Error> {
        Bench::new(self).map(drop)
    }

    /// Simulates and compares.
    pub fn verify(&self, runner: &Runner<'_>, effort: Effort) -> Result<Verified, Error> {
        Bench::new(self)?.verify(self, runner, effort)
    }
}

impl Bench<'_> {
    fn verify(&self, promise: &Promise<'_>, runner: &Runner<'_>, effort: Effort) -> Result<Verified, Error> {
        let trials = plan(self, promise, effort.seconds);
        let scenario = self.text(&trials);
        let input = Input::from_text("tune", &scenario, &[])?;
        let sums = runner.run(&Request::new(&input).seed(effort.seed).seeds(RUNS))?.variants;
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
    /// Whether the promise holds.
    pub fn verdict(&self) -> Verdict {
        match &self.finding {
            Finding::Late(late) => late.verdict(),
            Finding::Timeouts { estimate, allowed } => {
                let fits = self.counted.iter().all(Counted::agrees) && estimate.interval.low <= *allowed;
                if fits { Verdict::Confirmed } else { Verdict::NotConfirmed }
            }
        }
    }

    /// Keeps the scenario, for `wiremend run`.
    pub fn write_scenario(&self, path: &Path) -> io::Result<()> {
        wiremend_report::write_whole(path, &self.scenario)
    }
}

#[cfg(test)]
mod tests {
    use wiremend_model::tune::Question as Tuning;
    use wiremend_model::{Mend, Operation, Rewind, Setting};

    use super::*;

    /// Flows of 2560 B that are alone, over one link.
    struct Asked {
        subject: Subject,
        choice: Choice,
    }

    impl Asked {
        fn new(beta: f64, mend: Mend) -> Self {
            let sizes = Sizes::real(1024, Operation::Write);
            let times =
                Times { rtt: 10e-6, rto: 67_108_864e-9, rate: 100e9, hold: 0.0, gap: None, busy: 0.0 };
            let subject = Subject {
                sizes,
                corruption: Corruption::of_full_frame(beta, sizes.full()),
                path: LinkPath { links: 1, access_links: 0, omega: 1.0 },
                flows: vec![FlowSize::only(2560, 1024)],
                times,
                nic: Nic { rewind: Rewind::Unknown, flight_packets: times.flight_packets(&sizes) },
                next: None,
                source: FlowSource::Bytes(Bytes::new(2560)),
            };
            let Subject { sizes, corruption, path, nic, .. } = subject;
            let choice = Tuning {
                setting: Setting { sizes, corruption, mend: Mend::NONE, next: times.next(), nic },
                path,
                flows: &subject.flows,
                times,
                next: None,
                holds: &[0.0],
                target: Target::Timeout(1.0),
            }
            .choice(mend, 0.0);
            Self { subject, choice }
        }

        fn promise(&self) -> Promise<'_> {
            let Self { subject, choice } = self;
            Promise { subject, choice, target: Target::Timeout(choice.timeout * 1.5) }
        }

        /// Verified on a bench that has these mechanisms.
        fn on(&self, mend: Mend, seconds: f64, seed: u64) -> Verified {
            let promise = self.promise();
            let mut bench = Bench::new(&promise).unwrap();
            bench.mend = mend;
            bench.verify(&promise, &Runner::new(), Effort { seconds, seed }).unwrap()
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
