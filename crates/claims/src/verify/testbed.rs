//! The setting of the model as a scenario: a chain of switches with corrupting links, and flows that share
//! links only with flows of their own queue pair.

use std::fmt::Write as _;
use std::path::PathBuf;

use wiremend_model::frame::GAP_BYTES;
use wiremend_model::{
    ConnectionTimes, Corruption, Expected, FlowSize, MendCounts, ModelSetting, NakReaction, NextFlow, Nic,
    expected, flow,
};
use wiremend_units::Span;

use super::plan::Trial;
use super::{FlowSource, Prediction, PredictionSetting};
use crate::error::Error;

/// The simulated setting.
pub(super) struct Testbed<'a> {
    subject: &'a PredictionSetting,
    pub(super) arrivals: Arrivals,
    /// Simulated mechanisms. The model computes with those of the prediction.
    pub(super) mend: MendCounts,
    hold: f64,
    timeout_code: u8,
    /// Delay of each link, in seconds.
    delay: f64,
}

/// Arrival process of the flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Arrivals {
    /// Each flow has its own queue pair and starts long after the flows before it have ended.
    Alone,
    /// One queue pair; a flow starts when the one before has completed.
    AtOnce,
    /// One queue pair; flows start at random with this mean gap in seconds.
    Random { gap: f64 },
}

/// Mean gap between flows that are alone, in round trips. A switch distinguishes retransmissions of two queue
/// pairs only by time, and its mistakes must be rare compared with losses that all copies share.
const APART: f64 = 1e5;
/// Upper limit of the simulated time in seconds; about half of it is used.
const SIMULATED_MAX: f64 = 1e6;
/// Above this load the queue pair is rarely idle, and timeouts are frequent.
const BUSY_MAX: f64 = 0.95;

impl<'a> Testbed<'a> {
    /// Prepares the simulation of a prediction, if that is possible.
    pub(super) fn new(prediction: &Prediction<'a>) -> Result<Self, Error> {
        let Prediction { subject, choice, .. } = *prediction;
        let path = subject.path;
        if path.omega < 1.0 {
            let what = "--verify: every simulated link corrupts; give the number of corrupting links as --links, with --omega 1";
            return Err(Error::NotSimulable(what.to_owned()));
        }
        if path.links + path.access_links == 0 {
            return Err(Error::NotSimulable(
                "--verify: no link corrupts, so there are no timeouts to count".to_owned(),
            ));
        }
        let is_csv = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "csv");
        if matches!(&subject.source, FlowSource::File(path) if !is_csv(path)) {
            let what = "--verify: scenarios read flow sizes from .csv files; rename the file of --cdf";
            return Err(Error::NotSimulable(what.to_owned()));
        }
        let arrivals = match (subject.next, subject.times.gap) {
            (Some(NextFlow::CLOSED_LOOP), _) if !matches!(subject.source, FlowSource::Bytes(_)) => {
                let what = "--verify: back-to-back flows are simulated with one size; give it as --bytes";
                return Err(Error::NotSimulable(what.to_owned()));
            }
            (Some(_), _) => Arrivals::AtOnce,
            (None, Some(gap)) => Arrivals::Random { gap },
            (None, None) => Arrivals::Alone,
        };
        let testbed = Self {
            subject,
            arrivals,
            mend: choice.mend,
            hold: choice.hold,
            timeout_code: timeout_code(subject.times.rto),
            delay: delay(subject)?,
        };
        let busy = testbed.times(&subject.flows).busy;
        if busy > BUSY_MAX {
            let what = format!(
                "--verify: these flows need {:.0} % of the link; at most {:.0} % can be simulated",
                busy * 100.0,
                BUSY_MAX * 100.0
            );
            return Err(Error::NotSimulable(what));
        }
        Ok(testbed)
    }

    /// Timeouts that the model expects for a flow of these sizes.
    pub(super) fn expected(&self, mend: MendCounts, corruption: Corruption, flows: &[FlowSize]) -> Expected {
        let next = match self.arrivals {
            Arrivals::Alone => NextFlow::NEVER,
            Arrivals::AtOnce => NextFlow::CLOSED_LOOP,
            Arrivals::Random { .. } => self.times(flows).next(),
        };
        let nic = Nic { nak_reaction: self.nak_reaction(), ..self.subject.nic };
        let setting = ModelSetting { sizes: self.subject.sizes, corruption, mend, next, nic };
        expected(&setting, &self.subject.path, flows)
    }

    /// If the effect of a second NAK is unknown, the simulation uses the unfavourable case.
    fn nak_reaction(&self) -> NakReaction {
        match self.subject.nic.nak_reaction {
            NakReaction::Each => NakReaction::Each,
            NakReaction::Once | NakReaction::Unknown => NakReaction::Once,
        }
    }

    /// Times of the simulation when flows of these sizes arrive.
    pub(super) fn times(&self, flows: &[FlowSize]) -> ConnectionTimes {
        let times = self.subject.times;
        let rto = Span::from_timeout_code(self.timeout_code).map_or(times.rto, Span::as_secs_f64);
        let mut times = ConnectionTimes { rto, hold: self.hold, gap: None, busy: 0.0, ..times };
        if let Arrivals::Random { gap } = self.arrivals {
            let alone = |flow: &FlowSize| times.alone(&self.subject.sizes, flow) - times.rtt;
            let service: f64 = flows.iter().map(|flow| flow.probability * alone(flow)).sum();
            times.gap = Some(gap);
            times.busy = service / gap;
        }
        times
    }

    /// Number of links on the path.
    pub(super) fn hops(&self) -> f64 {
        f64::from(self.subject.path.links + 2)
    }

    /// Short name of the flow sizes.
    pub(super) fn sizes_name(&self) -> String {
        match &self.subject.source {
            FlowSource::Bytes(bytes) => bytes.to_string(),
            FlowSource::File(_) => "given sizes".to_owned(),
            FlowSource::Workload(name) => name.clone(),
        }
    }

    /// The scenario, with a variant for each trial.
    pub(super) fn text(&self, trials: &[Trial]) -> String {
        let subject = self.subject;
        // Only a WRITE has a RETH.
        let operation = if subject.sizes.first_extra > 0 { "write" } else { "send" };
        let qp = if self.arrivals == Arrivals::Alone { "per-flow" } else { "per-pair" };
        let mut text = format!(
            "title = \"verification of tune\"\n\n\
             [topology]\nkind = \"chain\"\nswitches = {}\nrate = \"{}bps\"\ndelay = \"{}\"\n\n\
             [transport]\nwindow = \"unlimited\"\noperation = \"{operation}\"\nmtu = {}\ntimeout = {}\nqp = \"{qp}\"\nresend_delay = \"{}\"\n\n\
             [mend]\ndummies = {}\nnak_copies = {}\nretransmission_copies = {}\ndummies_after = \"{}\"\n\n\
             [stop]\nafter = \"{SIMULATED_MAX}s\"\n",
            subject.path.links + 1,
            subject.times.rate,
            span(self.delay),
            subject.sizes.mtu,
            self.timeout_code,
            span(self.resend_delay()),
            self.mend.dummies,
            self.mend.nak_copies,
            self.mend.retransmission_copies,
            span(self.hold),
        );
        for links in self.corrupting() {
            let kind = match subject.corruption {
                Corruption::Bits(_) => "bit-errors",
                Corruption::Frames(_) => "frames",
            };
            let _ = write!(text, "\n[[impair]]\nkind = \"{kind}\"\nrate = 0\n{links}\n");
        }
        let workload = if self.arrivals == Arrivals::AtOnce {
            "kind = \"stream\"\nmessage = \"1B\"\ndepth = 1\ncount = 1"
        } else {
            "kind = \"poisson\"\npattern = \"point-to-point\"\nsizes = \"1B\"\nload = 1\nflows = 1"
        };
        let _ = write!(text, "\n[[workload]]\n{workload}\n");
        for trial in trials {
            self.write_variant(&mut text, trial);
        }
        text
    }

    /// Links between switches corrupt in both directions, links of hosts only frames that the host sends.
    fn corrupting(&self) -> Vec<String> {
        let path = self.subject.path;
        let mut all = Vec::new();
        if path.links > 0 {
            all.push("links = \"switches\"".to_owned());
        }
        if path.access_links > 0 {
            all.push("links = \"h0-s0\"\ndirection = \"forward\"".to_owned());
            all.push(format!("links = \"h1-s{}\"\ndirection = \"forward\"", path.links));
        }
        all
    }

    fn write_variant(&self, text: &mut String, trial: &Trial) {
        let (Corruption::Bits(rate) | Corruption::Frames(rate)) = trial.corruption;
        let sizes = match (trial.shortened, &self.subject.source) {
            (Some(bytes), _) => format!("\"{bytes}B\""),
            (_, FlowSource::Bytes(bytes)) => format!("\"{}B\"", bytes.get()),
            // A path may contain any character; a JSON string is a valid TOML string.
            (_, FlowSource::File(path)) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                serde_json::Value::from(path.to_string_lossy()).to_string()
            }
            (_, FlowSource::Workload(name)) => format!("\"{name}\""),
        };
        let flows = trial.flows_per_run;
        let mut set = if self.arrivals == Arrivals::AtOnce {
            format!("\"workload.0.message\" = {sizes}, \"workload.0.count\" = {flows}")
        } else {
            let load = flow::mean_bytes(&trial.sizes) * 8.0 / (self.subject.times.rate * self.gap(flows));
            format!(
                "\"workload.0.sizes\" = {sizes}, \"workload.0.flows\" = {flows}, \"workload.0.load\" = {load:e}"
            )
        };
        for number in 0..self.corrupting().len() {
            let _ = write!(set, ", \"impair.{number}.rate\" = \"{rate:e}\"");
        }
        let _ = write!(text, "\n[[variant]]\nname = \"{}\"\nset = {{ {set} }}\n", trial.name);
    }

    /// Mean time from the start of a flow to the next.
    fn gap(&self, flows_per_run: u64) -> f64 {
        match self.arrivals {
            Arrivals::Random { gap } => gap,
            _ => (APART * self.subject.times.rtt).min(0.5 * SIMULATED_MAX / flows_per_run as f64),
        }
    }

    /// A delay in which all copies of a NAK arrive, so that they count once.
    fn resend_delay(&self) -> f64 {
        if self.nak_reaction() == NakReaction::Each {
            return 0.0;
        }
        let answer = 8.0 * f64::from(self.subject.sizes.answer + GAP_BYTES) / self.subject.times.rate;
        4.0 * f64::from(self.mend.nak_copies + 1) * answer
    }
}

/// The exponent of the timeout 4.096 µs · 2^code that is nearest to `rto`.
fn timeout_code(rto: f64) -> u8 {
    (rto / 4.096e-6).log2().round().clamp(1.0, 31.0) as u8
}

/// The link delay that gives a small packet the wanted round-trip time.
fn delay(subject: &PredictionSetting) -> Result<f64, Error> {
    let links = f64::from(subject.path.links + 2);
    let frames =
        8.0 * f64::from(subject.sizes.dummy + subject.sizes.answer + 2 * GAP_BYTES) / subject.times.rate;
    let delay = subject.times.rtt / (2.0 * links) - frames / 2.0;
    if delay <= 0.0 {
        let least = wiremend_report::human::time_ns(frames * links * 1e9);
        return Err(Error::NotSimulable(format!(
            "--rtt: {links} links at this rate have a round trip of {least}; give a longer one"
        )));
    }
    Ok(delay)
}

/// Seconds in the format of scenarios.
fn span(seconds: f64) -> String {
    format!("{}ps", (seconds * 1e12).round())
}
