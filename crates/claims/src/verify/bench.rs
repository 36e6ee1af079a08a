//! The model's own setting, as a scenario: a row of switches whose links corrupt, and flows that meet nobody but
//! those of their own queue pair.

use std::fmt::Write as _;
use std::path::PathBuf;

use wiremend_model::frame::GAP_BYTES;
use wiremend_model::{
    Corruption, Expected, FlowSize, Mend, Next, Nic, Rewind, Setting, Times, expected, flow,
};
use wiremend_units::Span;

use super::plan::Trial;
use super::{FlowSource, Promise, Subject};
use crate::error::Error;

/// Where promises are tested.
pub(super) struct Bench<'a> {
    subject: &'a Subject,
    pub(super) arrivals: Arrivals,
    /// What is simulated. The model reckons with what was promised.
    pub(super) mend: Mend,
    hold: f64,
    timeout_code: u8,
    /// Of each link, in seconds.
    delay: f64,
}

/// How flows follow one another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Arrivals {
    /// Each on a queue pair of its own, when all others have long ended.
    Alone,
    /// On one queue pair, each when the one before has completed.
    AtOnce,
    /// On one queue pair, at random, so many seconds apart on average.
    Random { gap: f64 },
}

/// Flows that are alone start so many round trips after one another, on average. A switch tells retransmissions of two queue
/// pairs apart only by time, and what it mistakes has to be rare beside what is lost in spite of all copies.
const APART: f64 = 1e5;
/// No run takes longer; about half of this is used.
const SIMULATED_MAX: f64 = 1e6;
/// Beyond this load the queue pair hardly ever falls idle, and no chance of a timeout is small.
const BUSY_MAX: f64 = 0.95;

impl<'a> Bench<'a> {
    /// Prepares what the promise speaks of, if it can be simulated.
    pub(super) fn new(promise: &Promise<'a>) -> Result<Self, Error> {
        let Promise { subject, choice, .. } = *promise;
        let path = subject.path;
        if path.omega < 1.0 {
            let what = "--verify: simulated links do corrupt; give their number as --links, with --omega 1";
            return Err(Error::NotSimulable(what.to_owned()));
        }
        if path.links + path.access_links == 0 {
            return Err(Error::NotSimulable(
                "--verify: no link corrupts, so that there is nothing to count".to_owned(),
            ));
        }
        let is_csv = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "csv");
        if matches!(&subject.source, FlowSource::File(path) if !is_csv(path)) {
            let what =
                "--verify: a scenario reads sizes from files that end in .csv; rename the one of --cdf";
            return Err(Error::NotSimulable(what.to_owned()));
        }
        let arrivals = match (subject.next, subject.times.gap) {
            (Some(Next::CLOSED_LOOP), _) if !matches!(subject.source, FlowSource::Bytes(_)) => {
                let what =
                    "--verify: flows that follow at once are simulated with one size; give it as --bytes";
                return Err(Error::NotSimulable(what.to_owned()));
            }
            (Some(_), _) => Arrivals::AtOnce,
            (None, Some(gap)) => Arrivals::Random { gap },
            (None, None) => Arrivals::Alone,
        };
        let bench = Self {
            subject,
            arrivals,
            mend: choice.mend,
            hold: choice.hold,
            timeout_code: timeout_code(subject.times.rto),
            delay: delay(subject)?,
        };
        let busy = bench.times(&subject.flows).busy;
        if busy > BUSY_MAX {
            let what = format!(
                "--verify: such flows fill {:.0} % of the link; at most {:.0} %",
                busy * 100.0,
                BUSY_MAX * 100.0
            );
            return Err(Error::NotSimulable(what));
        }
        Ok(bench)
    }

    /// What the model expects of a flow of these sizes.
    pub(super) fn expected(&self, mend: Mend, corruption: Corruption, flows: &[FlowSize]) -> Expected {
        let next = match self.arrivals {
            Arrivals::Alone => Next::NEVER,
            Arrivals::AtOnce => Next::CLOSED_LOOP,
            Arrivals::Random { .. } => self.times(flows).next(),
        };
        let nic = Nic { rewind: self.rewind(), ..self.subject.nic };
        let setting = Setting { sizes: self.subject.sizes, corruption, mend, next, nic };
        expected(&setting, &self.subject.path, flows)
    }

    /// Where one does not know what a second NAK does, it is simulated as no help.
    fn rewind(&self) -> Rewind {
        match self.subject.nic.rewind {
            Rewind::Each => Rewind::Each,
            Rewind::Once | Rewind::Unknown => Rewind::Once,
        }
    }

    /// The times of the simulation, when flows of these sizes arrive.
    pub(super) fn times(&self, flows: &[FlowSize]) -> Times {
        let times = self.subject.times;
        let rto = Span::from_timeout_code(self.timeout_code).map_or(times.rto, Span::as_secs_f64);
        let mut times = Times { rto, hold: self.hold, gap: None, busy: 0.0, ..times };
        if let Arrivals::Random { gap } = self.arrivals {
            let alone = |flow: &FlowSize| times.alone(&self.subject.sizes, flow) - times.rtt;
            let service: f64 = flows.iter().map(|flow| flow.probability * alone(flow)).sum();
            times.gap = Some(gap);
            times.busy = service / gap;
        }
        times
    }

    /// Links that a packet crosses.
    pub(super) fn hops(&self) -> f64 {
        f64::from(self.subject.path.links + 2)
    }

    /// The asked sizes, in a word or two.
    pub(super) fn sizes_name(&self) -> String {
        match &self.subject.source {
            FlowSource::Bytes(bytes) => bytes.to_string(),
            FlowSource::File(_) => "sizes as asked".to_owned(),
            FlowSource::Workload(name) => name.clone(),
        }
    }

    /// The scenario, with a variant for each trial.
    pub(super) fn text(&self, trials: &[Trial]) -> String {
        let subject = self.subject;
        // Only a WRITE says where its data go.
        let operation = if subject.sizes.first_extra > 0 { "write" } else { "send" };
        let qp = if self.arrivals == Arrivals::Alone { "per-flow" } else { "per-pair" };
        let mut text = format!(
            "title = \"what tune promises\"\n\n\
             [topology]\nkind = \"chain\"\nswitches = {}\nrate = \"{}bps\"\ndelay = \"{}\"\n\n\
             [transport]\noperation = \"{operation}\"\nmtu = {}\ntimeout = {}\nqp = \"{qp}\"\nresend_delay = \"{}\"\n\n\
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

    /// Links between switches corrupt both ways, those of hosts only what the host sends.
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
        let sizes = match (trial.cut, &self.subject.source) {
            (Some(bytes), _) => format!("\"{bytes}B\""),
            (_, FlowSource::Bytes(bytes)) => format!("\"{}B\"", bytes.get()),
            // A path may hold anything; what JSON writes, TOML reads.
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

    /// From the start of a flow to the next, on average.
    fn gap(&self, flows_per_run: u64) -> f64 {
        match self.arrivals {
            Arrivals::Random { gap } => gap,
            _ => (APART * self.subject.times.rtt).min(0.5 * SIMULATED_MAX / flows_per_run as f64),
        }
    }

    /// Long enough for all copies of a NAK to count once.
    fn resend_delay(&self) -> f64 {
        if self.rewind() == Rewind::Each {
            return 0.0;
        }
        let answer = 8.0 * f64::from(self.subject.sizes.answer + GAP_BYTES) / self.subject.times.rate;
        4.0 * f64::from(self.mend.nak_copies + 1) * answer
    }
}

/// The timer that a queue pair can have, 4.096 µs · 2^code, nearest to this one.
fn timeout_code(rto: f64) -> u8 {
    (rto / 4.096e-6).log2().round().clamp(1.0, 31.0) as u8
}

/// The delay of each link with which a small packet takes a round trip as asked.
fn delay(subject: &Subject) -> Result<f64, Error> {
    let links = f64::from(subject.path.links + 2);
    let frames =
        8.0 * f64::from(subject.sizes.dummy + subject.sizes.answer + 2 * GAP_BYTES) / subject.times.rate;
    let delay = subject.times.rtt / (2.0 * links) - frames / 2.0;
    if delay <= 0.0 {
        let least = wiremend_report::human::time_ns(frames * links * 1e9);
        return Err(Error::NotSimulable(format!(
            "--rtt: {links} links at this rate take {least} there and back; ask for more"
        )));
    }
    Ok(delay)
}

/// Seconds, as a scenario reads them.
fn span(seconds: f64) -> String {
    format!("{}ps", (seconds * 1e12).round())
}
