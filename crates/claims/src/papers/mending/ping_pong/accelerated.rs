//! J20: the ping-pong with the accelerations of NICs for lossy fabrics.

use wiremend_measure::VariantSummary;
use wiremend_model::MendCounts;
use wiremend_report::human;

use super::PingPong;
use crate::ledger::number::{count, time_ns};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J20",
    title: "the ping-pong with lossy-RoCE accelerations",
    source: source("section 7.1"),
    paper: "Ping-pongs with and without dummies and copies, repeated with lossy-RoCE accelerations (adaptive \
           retransmission, limited send window, slow restart) on and off: latencies do not differ",
    method: "J11 and J12 at 1/128, with each acceleration and with all of them. Their algorithms are not published. \
             Here the window is 64 packets; slow restart sends one packet after a loss and one more for each \
             acknowledged packet; adaptive retransmission starts with a sixteenth of the timer and doubles it. No \
             difference means: the median, the 99 % and the 99.9 % quantile within 5 %, the mean within 10 %, and \
             the number of timeouts within random variation",
    note: "Without mechanisms the timer determines the latencies, so that a shorter first timeout must change them. \
           The paper saw no change. So adaptive retransmission was not active in its testbed, or started with a \
           timeout no shorter than the timer; in that case there is no difference here either. After a loss slow \
           restart sends one packet, and the packets posted after it wait for its acknowledgement: a fraction of a \
           microsecond in one of a thousand iterations, which averages of a testbed do not show",
    runs,
    judge,
};

/// One packet in this many is lost.
const ONE_IN: u32 = 128;
/// Relative difference up to which two values count as the same; means vary more.
const QUANTILE_TOLERANCE: f64 = 0.05;
const MEAN_TOLERANCE: f64 = 0.1;

const OFF: Acceleration = Acceleration { name: "none", sets: &[] };
const ADAPTIVE: &str = "transport.acceleration.adaptive_retransmission";
const FIRST: &str = "transport.acceleration.first_timeout";
const SLOW: &str = "transport.acceleration.slow_restart";
const WINDOW: &str = "transport.window";
/// The timeout of code 16.
const TIMER: &str = "268435456ns";

/// An acceleration that the specification does not have.
#[derive(Clone, Copy)]
struct Acceleration {
    name: &'static str,
    sets: &'static [(&'static str, &'static str)],
}

/// Accelerations that do not shorten the timer.
const PLAIN: [Acceleration; 4] = [
    Acceleration { name: "window of 64", sets: &[(WINDOW, "64")] },
    Acceleration { name: "slow restart", sets: &[(SLOW, "true")] },
    Acceleration {
        name: "adaptive, first timeout as the timer",
        sets: &[(ADAPTIVE, "true"), (FIRST, TIMER)],
    },
    Acceleration {
        name: "all, first timeout as the timer",
        sets: &[(WINDOW, "64"), (SLOW, "true"), (ADAPTIVE, "true"), (FIRST, TIMER)],
    },
];
/// Accelerations that do.
const SHORT: [Acceleration; 2] = [
    Acceleration { name: "adaptive", sets: &[(ADAPTIVE, "true")] },
    Acceleration { name: "all", sets: &[(WINDOW, "64"), (SLOW, "true"), (ADAPTIVE, "true")] },
];

const MENDS: [(&str, MendCounts); 2] = [("no mechanisms", MendCounts::NONE), ("2/1/1", MendCounts::TESTBED)];

impl Acceleration {
    fn all() -> impl Iterator<Item = Self> {
        [OFF].into_iter().chain(PLAIN).chain(SHORT)
    }

    fn run(self, mend: MendCounts, effort: Effort) -> Run {
        let run = PingPong::new(ONE_IN, mend).run_of(effort.choose(100_000, 1_000_000));
        self.sets.iter().fold(run, |run, (path, value)| run.set(path, value))
    }

    fn summary<'a>(self, results: &'a Results<'_>, mend: MendCounts) -> &'a VariantSummary {
        &results.outcome(&self.run(mend, results.effort())).summary
    }
}

fn runs(effort: Effort) -> Vec<Run> {
    let runs_with = |(_, mend)| Acceleration::all().map(move |acceleration| acceleration.run(mend, effort));
    MENDS.into_iter().flat_map(runs_with).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (name, mend) in MENDS {
        let off = OFF.summary(results, mend);
        for acceleration in PLAIN.into_iter().chain(SHORT) {
            let what = format!("{}, {name}", acceleration.name);
            let on = acceleration.summary(results, mend);
            judgement.must(
                format!("timeouts, {what}"),
                count(on.timeouts.total()).about(off.timeouts.total() as f64, QUANTILE_TOLERANCE),
            );
            for (quantile, value, within) in LATENCIES {
                let test = time_ns(latency(on, value)).near(latency(off, value), within);
                judgement.printed(format!("{quantile}, {what}"), test);
            }
        }
    }
    judgement.table("| timeouts | mean | median | 99 % | 99.9 % | largest", rows(results));
}

type Latency = fn(&wiremend_measure::Quantiles) -> f64;

const LATENCIES: [(&str, Latency, f64); 4] = [
    ("mean", |fct| fct.mean, MEAN_TOLERANCE),
    ("median", |fct| fct.p50, QUANTILE_TOLERANCE),
    ("99 %", |fct| fct.p99, QUANTILE_TOLERANCE),
    ("99.9 %", |fct| fct.p999, QUANTILE_TOLERANCE),
];

fn latency(summary: &VariantSummary, value: Latency) -> f64 {
    summary.fct_ns.as_ref().map_or(f64::INFINITY, value)
}

fn rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let row = |name: &str, mend: MendCounts, acceleration: Acceleration| {
        let summary = acceleration.summary(results, mend);
        let values: [Latency; 5] =
            [|fct| fct.mean, |fct| fct.p50, |fct| fct.p99, |fct| fct.p999, |fct| fct.max];
        let mut row = vec![format!("{name}, {}", acceleration.name), human::count(summary.timeouts.total())];
        row.extend(values.map(|value| human::time_ns(latency(summary, value))));
        row
    };
    let rows_with = |(name, mend)| Acceleration::all().map(move |acceleration| row(name, mend, acceleration));
    MENDS.into_iter().flat_map(rows_with).collect()
}
