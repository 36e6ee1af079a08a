//! Tests predictions of `wiremend tune` by simulation.
//!
//! One timeout in a million flows cannot be counted within seconds, so the test is accelerated. It simulates
//! the same network and mechanisms at raised corruption, where timeouts are frequent, and shortens flows that
//! would mostly retransmit. Each cause must occur as often as the exact model predicts. The prediction for
//! the original corruption is then scaled, cause by cause, by counted over expected timeouts. Some flows run
//! at the original corruption: they may reveal a contradiction. A predicted completion time is counted
//! directly.
//!
//! Work is measured in packets and not in time, so that a question has the same answer on every machine.

mod counted;
mod estimate;
mod output;
mod plan;
mod testbed;

use std::io;
use std::path::{Path, PathBuf};

use wiremend_model::tune::Candidate;
use wiremend_model::{
    ConnectionTimes, Corruption, FlowSize, FrameSizes, NextFlow, Nic, Path as LinkPath, Target,
};
use wiremend_runner::{Input, Request, Runner};
use wiremend_units::Bytes;

use self::counted::TrialCounts;
use self::estimate::{Estimate, LateFlows};
use self::plan::plan;
use self::testbed::Testbed;
use crate::error::Error;

/// Runs of a trial, for as many cores.
const RUNS: u64 = 4;

/// A prediction of the model to test.
pub struct Prediction<'a> {
    /// Network and flows, with a fine resolution of flow sizes.
    pub subject: &'a PredictionSetting,
    /// The mechanisms, and the timeouts that the model predicts with them.
    pub choice: &'a Candidate,
    /// The predicted probability or completion time.
    pub target: Target,
}

/// Links, flows and times of a prediction.
pub struct PredictionSetting {
    /// Sizes of frames.
    pub sizes: FrameSizes,
    /// Corruption of the links.
    pub corruption: Corruption,
    /// Links of the path.
    pub path: LinkPath,
    /// Sizes of flows, with a fine resolution.
    pub flows: Vec<FlowSize>,
    /// Round trip, timeout, rate and gaps.
    pub times: ConnectionTimes,
    /// Reaction of the NIC to NAKs.
    pub nic: Nic,
    /// Traffic behind a flow, if it does not follow from the gaps.
    pub next: Option<NextFlow>,
    /// Flow sizes for the simulation.
    pub source: FlowSource,
}

impl PredictionSetting {
    /// Loss of a full frame on a corrupting link.
    fn beta(&self) -> f64 {
        self.corruption.loss(f64::from(self.sizes.full()), 1)
    }
}

/// Flow sizes for the simulation.
pub enum FlowSource {
    /// One size for all flows.
    Bytes(Bytes),
    /// A table in a file.
    File(PathBuf),
    /// A built-in table.
    Workload(String),
}

/// Amount of simulation.
#[derive(Clone, Copy)]
pub struct VerifyEffort {
    /// Approximate duration on two idle cores, in seconds.
    pub seconds: f64,
    /// The first of four seeds for each trial.
    pub seed: u64,
}

/// Result of a verification.
pub struct Verified {
    counted: Vec<TrialCounts>,
    finding: TargetResult,
    /// The simulated scenario, with a variant for each trial.
    scenario: String,
    seed: u64,
}

/// Result by kind of target.
enum TargetResult {
    /// Probability of a timeout at the original corruption, and the predicted bound.
    Timeouts { estimate: Estimate, allowed: f64 },
    /// Flows that take too long.
    Late(LateFlows),
}

/// Whether the prediction holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PredictionVerdict {
    /// It holds.
    Confirmed,
    /// It does not hold.
    NotConfirmed,
    /// Too few flows to decide.
    Undecided,
}

impl Prediction<'_> {
    /// Returns an error if the prediction cannot be simulated.
    pub fn check(&self) -> Result<(), Error> {
        Testbed::new(self).map(drop)
    }

    /// Simulates and compares.
    pub fn verify(&self, runner: &Runner<'_>, effort: VerifyEffort) -> Result<Verified, Error> {
        Testbed::new(self)?.verify(self, runner, effort)
    }
}

impl Testbed<'_> {
    fn verify(
        &self,
        prediction: &Prediction<'_>,
        runner: &Runner<'_>,
        effort: VerifyEffort,
    ) -> Result<Verified, Error> {
        let trials = plan(self, prediction, effort.seconds);
        let scenario = self.text(&trials);
        let input = Input::from_text("tune", &scenario, &[])?;
        let sums = runner.run(&Request::new(&input).seed(effort.seed).seeds(RUNS))?.variants;
        let counted: Vec<_> =
            trials.into_iter().zip(&sums).map(|(trial, sum)| TrialCounts::new(trial, sum)).collect();
        let finding = match prediction.target {
            Target::Timeout(allowed) => {
                TargetResult::Timeouts { estimate: Estimate::new(prediction.choice, &counted), allowed }
            }
            Target::Fct { quantile, limit } => {
                TargetResult::Late(LateFlows::new(&sums[0].collector, quantile, limit))
            }
        };
        Ok(Verified { counted, finding, scenario, seed: effort.seed })
    }
}

impl Verified {
    /// Whether the prediction holds.
    pub fn verdict(&self) -> PredictionVerdict {
        match &self.finding {
            TargetResult::Late(late) => late.verdict(),
            TargetResult::Timeouts { estimate, allowed } => {
                let fits = self.counted.iter().all(TrialCounts::agrees) && estimate.interval.low <= *allowed;
                if fits { PredictionVerdict::Confirmed } else { PredictionVerdict::NotConfirmed }
            }
        }
    }

    /// Writes the scenario to a file for `wiremend run`.
    pub fn write_scenario(&self, path: &Path) -> io::Result<()> {
        wiremend_report::write_atomic(path, &self.scenario)
    }
}

#[cfg(test)]
mod tests {
    use wiremend_model::tune::TuneProblem as Tuning;
    use wiremend_model::{MendCounts, ModelSetting, NakReaction, Operation};

    use super::*;

    /// Flows of 2560 B that are alone, over one link.
    struct Example {
        subject: PredictionSetting,
        choice: Candidate,
    }

    impl Example {
        fn new(beta: f64, mend: MendCounts) -> Self {
            let sizes = FrameSizes::on_wire(1024, Operation::Write);
            let times = ConnectionTimes {
                rtt: 10e-6,
                rto: 67_108_864e-9,
                rate: 100e9,
                hold: 0.0,
                gap: None,
                busy: 0.0,
            };
            let subject = PredictionSetting {
                sizes,
                corruption: Corruption::from_full_frame_loss(beta, sizes.full()),
                path: LinkPath { links: 1, access_links: 0, omega: 1.0 },
                flows: vec![FlowSize::fixed(2560, 1024)],
                times,
                nic: Nic { nak_reaction: NakReaction::Unknown, flight_packets: times.flight_packets(&sizes) },
                next: None,
                source: FlowSource::Bytes(Bytes::new(2560)),
            };
            let PredictionSetting { sizes, corruption, path, nic, .. } = subject;
            let choice = Tuning {
                setting: ModelSetting { sizes, corruption, mend: MendCounts::NONE, next: times.next(), nic },
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

        fn prediction(&self) -> Prediction<'_> {
            let Self { subject, choice } = self;
            Prediction { subject, choice, target: Target::Timeout(choice.timeout * 1.5) }
        }

        /// Verifies in a simulation with these mechanisms.
        fn on(&self, mend: MendCounts, seconds: f64, seed: u64) -> Verified {
            let prediction = self.prediction();
            let mut testbed = Testbed::new(&prediction).unwrap();
            testbed.mend = mend;
            testbed.verify(&prediction, &Runner::new(), VerifyEffort { seconds, seed }).unwrap()
        }
    }

    fn unexplained(verified: &Verified) -> Vec<&'static str> {
        verified.counted.iter().flat_map(TrialCounts::unexplained).collect()
    }

    #[test]
    fn a_missing_mechanism_is_detected_and_its_cause_named() {
        let predicted = MendCounts::new(1, 1, 1);
        let asked = Example::new(1e-3, predicted);
        let whole = asked.on(predicted, 0.6, 1);
        assert_eq!((whole.verdict(), unexplained(&whole)), (PredictionVerdict::Confirmed, vec![]));
        assert!(whole.counted.len() == 3 && !whole.counted[1].trial.is_original, "two raised rates");
        let cases = [
            (MendCounts::new(0, 1, 1), "tail packet"),
            (MendCounts::new(1, 0, 1), "NAK"),
            (MendCounts::new(1, 1, 0), "retransmission"),
        ];
        for (simulated, cause) in cases {
            let missing = asked.on(simulated, 0.6, 1);
            assert_eq!(missing.verdict(), PredictionVerdict::NotConfirmed, "{simulated:?}");
            assert!(unexplained(&missing).contains(&cause), "{simulated:?}: {:?}", unexplained(&missing));
        }
    }

    /// Compares the estimate from raised rates with the count at the original rate.
    #[test]
    fn estimates_from_raised_rates_are_unbiased() {
        let mend = MendCounts::new(1, 1, 1);
        let asked = Example::new(0.08, mend);
        let counted = asked.on(mend, 0.6, 1000);
        assert_eq!(counted.counted.len(), 1, "by counting alone");
        let counted = counted.counted[0].total() as f64 / counted.counted[0].flows as f64;
        let estimates = (1..=10).map(|number| {
            let verified = asked.on(mend, 0.04, 10 * number);
            assert!(verified.counted.len() > 1, "raised");
            Estimate::new(&asked.choice, &verified.counted[1..]).probability
        });
        let mean = estimates.sum::<f64>() / 10.0;
        // About 200 timeouts at the original rate, and 600 or more at raised rates.
        assert!((mean / counted - 1.0).abs() < 0.25, "{mean:e} estimated, {counted:e} counted");
    }
}
