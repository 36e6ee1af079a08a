//! J11 to J13: a ping-pong of one packet in each direction, in which every loss is that of a tail (sections
//! 6.2 and 6.3, Figs. 11 and 15).

mod ablation;
mod accelerated;
mod bare;
mod mended;

use wiremend_model::{Cause, FlowSize, MendCounts, ModelSetting, NakReaction, NextFlow, Nic, Path};

use crate::papers::gao::{MTU, Setting, bit_error_rate, sizes};
use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[bare::CLAIM, mended::CLAIM, ablation::CLAIM];
pub(super) const ACCELERATED: Claim = accelerated::CLAIM;

/// One packet in this many is lost.
const RATES: [u32; 7] = [8192, 4096, 2048, 1024, 512, 256, 128];
/// 4.096 µs · 2^16.
const TIMER_NS: f64 = 4096.0 * 65_536.0;

/// A ping-pong over a switch that drops one packet in `one_in`, or none.
#[derive(Clone, Copy)]
struct PingPong {
    one_in: Option<u32>,
    mend: MendCounts,
}

const LOSSLESS: PingPong = PingPong { one_in: None, mend: MendCounts::NONE };

impl PingPong {
    fn new(one_in: u32, mend: MendCounts) -> Self {
        Self { one_in: Some(one_in), mend }
    }

    fn run_of(self, iterations: u32) -> Run {
        let rate = self.one_in.map_or("0".to_owned(), |n| bit_error_rate(1.0 / f64::from(n)));
        Run::new("claims/ping-pong")
            .set("workload.0.iterations", iterations)
            .set("impair.0.rate", &rate)
            .set("impair.1.rate", rate)
            .set("mend.dummies", self.mend.dummies)
            .set("mend.nak_copies", self.mend.nak_copies)
            .set("mend.retransmission_copies", self.mend.retransmission_copies)
            .seconds(f64::from(iterations) * 2e-6)
    }

    /// Each iteration is a request and its reply.
    fn setting(self, effort: Effort) -> Setting {
        let nic = Nic { nak_reaction: NakReaction::Once, ..Nic::default() };
        let beta = self.one_in.map_or(0.0, |one_in| 1.0 / f64::from(one_in));
        Setting {
            run: self.run_of(effort.choose(200_000, 10_000_000)),
            model: ModelSetting {
                next: NextFlow::CLOSED_LOOP,
                nic,
                ..ModelSetting::new(sizes(), beta, self.mend)
            },
            path: Path::between_switches(1, 1.0),
            sizes: vec![FlowSize::fixed(MTU, MTU)],
            messages: 2.0,
        }
    }

    fn outcome<'a>(self, results: &'a Results<'_>) -> &'a Outcome {
        self.setting(results.effort()).outcome(results)
    }

    /// Timeouts in an iteration, and the time that they take, by the exact model.
    fn exact(self) -> f64 {
        2.0 * self.setting(Effort::Full).expected().timeouts.iter().sum::<f64>()
    }

    fn exact_ns(self) -> f64 {
        self.exact() * TIMER_NS
    }

    /// Timeouts in 100 000 iterations, the unit of the paper.
    fn per_100_000(self, results: &Results<'_>) -> f64 {
        let summary = &self.outcome(results).summary;
        summary.timeouts.total() as f64 * 1e5 / summary.flows.max(1) as f64
    }

    /// Checks that the counts of each cause agree with the model.
    fn agree(self, judgement: &mut Judgement, results: &Results<'_>, what: &str) {
        for cause in Cause::ALL {
            let what = format!("timeouts, {}, {what}", cause.name());
            self.setting(results.effort()).agree(judgement, results, what, cause);
        }
    }

    /// Adds a row to the table of counts.
    fn row(self, judgement: &mut Judgement, results: &Results<'_>, what: String) {
        let setting = self.setting(results.effort());
        let [tail, ack, nak, twice] = Cause::ALL.map(|cause| {
            let (timeouts, expected) = setting.pair(results, cause);
            format!("{timeouts} ({})", shown(expected))
        });
        let outcome = self.outcome(results);
        let times = [outcome.mean(), outcome.p999(), outcome.longest()];
        judgement.row(what, [&tail, &ack, &nak, &twice, &times[0], &times[1], &times[2]]);
    }
}

const COLUMNS: &str =
    "| tail packet (model) | tail ACK (model) | NAK (model) | retransmission (model) | mean | p99.9 | max";

/// Counts and latencies against the rate, as in Figs. 11 and 15.
fn table_and_plot(
    judgement: &mut Judgement,
    results: &Results<'_>,
    name: &str,
    title: &str,
    mend: MendCounts,
) {
    let at = |one_in| PingPong::new(one_in, mend);
    for one_in in RATES {
        at(one_in).row(judgement, results, format!("1/{one_in}"));
    }
    judgement.columns(COLUMNS);
    let curve = |name, of: fn(&Outcome) -> Number| {
        let point = |one_in| (1.0 / f64::from(one_in), of(at(one_in).outcome(results)).value);
        Curve::marked(name, RATES.map(point))
    };
    let curves = vec![
        curve("mean", Outcome::mean),
        curve("99.9th percentile", Outcome::p999),
        curve("largest", Outcome::longest),
    ];
    let x = Axis::new("packets lost", Scale::Log, Unit::Number);
    let y = Axis::new("latency", Scale::Log, Unit::TimeNs);
    let description = "Latency of an iteration against the packet loss rate.";
    judgement.plot(name, &Plot::new(title, description, x, y, curves));
}
