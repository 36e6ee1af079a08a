//! J11 to J13: a ping-pong of one packet in each direction, in which every loss is that of a tail (sections
//! 6.2 and 6.3, Figs. 11 and 15).

mod ablation;
mod accelerated;
mod bare;
mod mended;

use wiremend_measure::VariantSummary;
use wiremend_model::{Cause, Expected, FlowSize, MendCounts, ModelSetting, NakReaction, NextFlow, Nic, Path};
use wiremend_report::plot::{Axis, Curve, Plot, Scale, Unit};

use crate::cause::counted;
use crate::ledger::number::{count, shown};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::{MTU, bit_error_rate, sizes};

pub(super) const CLAIMS: &[Claim] = &[bare::CLAIM, mended::CLAIM, ablation::CLAIM];
pub(super) const ACCELERATED: Claim = accelerated::CLAIM;

/// One packet in this many is lost.
const RATES: [u32; 7] = [8192, 4096, 2048, 1024, 512, 256, 128];
/// A request and its reply.
const MESSAGES: f64 = 2.0;

/// A ping-pong over a switch that drops one packet in `one_in`, or none.
#[derive(Clone, Copy)]
struct PingPong {
    one_in: Option<u32>,
    mend: MendCounts,
}

impl PingPong {
    fn new(one_in: u32, mend: MendCounts) -> Self {
        Self { one_in: Some(one_in), mend }
    }

    fn run(self, effort: Effort) -> Run {
        self.run_of(effort.choose(200_000, 10_000_000))
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

    fn summary<'a>(self, results: &'a Results<'_>) -> &'a VariantSummary {
        &results.outcome(&self.run(results.effort())).summary
    }

    /// Timeouts per iteration, by the exact model.
    fn exact(self) -> Expected {
        let Some(one_in) = self.one_in else { return Expected::default() };
        let nic = Nic { nak_reaction: NakReaction::Once, ..Nic::default() };
        let bare = ModelSetting::new(sizes(), 1.0 / f64::from(one_in), self.mend);
        let setting = ModelSetting { next: NextFlow::CLOSED_LOOP, nic, ..bare };
        let path = Path::between_switches(1, 1.0);
        let mut expected = wiremend_model::expected(&setting, &path, &[FlowSize::fixed(MTU, MTU)]);
        expected.timeouts = expected.timeouts.map(|timeouts| timeouts * MESSAGES);
        expected
    }

    /// Checks that the counts of each cause agree with the model.
    fn agree(self, judgement: &mut Judgement, results: &Results<'_>, what: &str) {
        let summary = self.summary(results);
        let iterations = summary.flows as f64;
        for cause in Cause::ALL {
            let expected = self.exact().timeouts[cause as usize] * iterations;
            let what = format!("timeouts, {}, {what}", cause.name());
            judgement.must(what, count(summary.timeouts.get(counted(cause))).expected(expected));
        }
    }
}

/// Timeouts in 100 000 iterations, the unit of the paper.
fn per_100_000(summary: &VariantSummary) -> f64 {
    summary.timeouts.total() as f64 * 1e5 / summary.flows.max(1) as f64
}

/// Mean, 99.9th percentile and maximum latency against the rate, as in Figs. 11 and 15.
fn latencies(title: &str, results: &Results<'_>, mend: MendCounts) -> Plot {
    let of = |value: fn(&VariantSummary) -> f64| {
        let point =
            |one_in: u32| (1.0 / f64::from(one_in), value(PingPong::new(one_in, mend).summary(results)));
        RATES.map(point).to_vec()
    };
    let curve = |name: &str, points| Curve::marked(name, points);
    Plot {
        title: title.to_owned(),
        description: "Latency of an iteration against the packet loss rate.".to_owned(),
        x: Axis::new("packets lost", Scale::Log, Unit::Number),
        y: Axis::new("latency", Scale::Log, Unit::TimeNs),
        curves: vec![
            curve("mean", of(|summary| summary.fct_ns.map_or(0.0, |fct| fct.mean))),
            curve("99.9th percentile", of(|summary| summary.fct_ns.map_or(0.0, |fct| fct.p999))),
            curve("largest", of(|summary| summary.fct_ns.map_or(0.0, |fct| fct.max))),
        ],
    }
}

/// A row of the table of counts.
fn row(what: String, ping_pong: PingPong, results: &Results<'_>) -> Vec<String> {
    let summary = ping_pong.summary(results);
    let iterations = summary.flows as f64;
    let counts = Cause::ALL.map(|cause| {
        format!(
            "{} ({})",
            summary.timeouts.get(counted(cause)),
            shown(ping_pong.exact().timeouts[cause as usize] * iterations)
        )
    });
    let fct = summary.fct_ns;
    let time = |value: Option<f64>| value.map_or(String::new(), wiremend_report::human::time_ns);
    let mut row = vec![what];
    row.extend(counts);
    row.extend([time(fct.map(|fct| fct.mean)), time(fct.map(|fct| fct.p999)), time(fct.map(|fct| fct.max))]);
    row
}

const COLUMNS: &str =
    "| tail packet (model) | tail ACK (model) | NAK (model) | retransmission (model) | mean | p99.9 | max";
