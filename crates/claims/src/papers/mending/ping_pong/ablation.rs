//! J13: one mechanism left out.

use wiremend_model::MendCounts;
use wiremend_report::plot::{Axis, Curve, Plot, Scale, Unit};

use super::{COLUMNS, PingPong, RATES, per_100_000, row};
use crate::ledger::number::{count, number, time_ns};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J13",
    title: "the ping-pong without one of the mechanisms",
    source: source("section 6.3, Fig. 15"),
    paper: "Expected timeouts in 100 000 iterations at 1/128: 1562 without dummies, 0.7 with one, 7 without copies of \
           retransmissions, 12 without copies of NAKs. The mean grows by 4e4, 3, 20 and 30 µs",
    method: "As J12 at 1/128, and with full effort at all seven rates, each with one mechanism left out",
    note: "",
    runs,
    judge,
};

/// The mechanism left out, and the paper's expectation for 100 000 iterations.
struct Ablation {
    name: &'static str,
    mend: MendCounts,
    printed: f64,
    /// Why the exact model gives another number.
    cause: &'static str,
}

const CAUSE_SWAPPED: &str = "The paper swaps two numbers: without copies of retransmissions it computes 2β² = 1.2e-4 \
                              (12 timeouts), and without copies of NAKs 2 · 0.06 β² = 7.3e-6 (0.7 timeouts), which it \
                              prints as 7e-5";

const ABLATIONS: [Ablation; 4] = [
    Ablation {
        name: "no dummy",
        mend: MendCounts::new(0, 1, 1),
        printed: 1562.0,
        cause: "The paper leaves out lost ACKs, which delay a ping-pong too: 6 % more timeouts",
    },
    Ablation {
        name: "one dummy",
        mend: MendCounts::new(1, 1, 1),
        printed: 0.73,
        cause: "The paper counts a dummy as 62 B of 1086 B; it has 78 B with its RETH",
    },
    Ablation {
        name: "no retransmission copy",
        mend: MendCounts::new(2, 1, 0),
        printed: 7.0,
        cause: CAUSE_SWAPPED,
    },
    Ablation { name: "no NAK copy", mend: MendCounts::new(2, 0, 1), printed: 12.0, cause: CAUSE_SWAPPED },
];

/// 4.096 µs · 2^16.
const TIMER_NS: f64 = 4096.0 * 65536.0;
/// Half a unit of the printed digit, and the variation of a mean of rare timeouts.
const PRINTED_TOLERANCE: f64 = 0.125;
const GROWTH_TOLERANCE: f64 = 0.05;
/// With fewer timeouts the mean is too uncertain.
const TIMEOUTS_MIN: u64 = 5;

const ALL: PingPong = PingPong { one_in: Some(128), mend: MendCounts::TESTBED };

fn rates(effort: Effort) -> &'static [u32] {
    effort.choose(&RATES[RATES.len() - 1..], &RATES)
}

fn runs(effort: Effort) -> Vec<Run> {
    let at =
        |one_in: &u32| ABLATIONS.each_ref().map(|ablation| PingPong::new(*one_in, ablation.mend).run(effort));
    rates(effort).iter().flat_map(at).chain([ALL.run(effort)]).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for one_in in rates(results.effort()) {
        for ablation in &ABLATIONS {
            let ping_pong = PingPong::new(*one_in, ablation.mend);
            let what = format!("{}, 1/{one_in}", ablation.name);
            ping_pong.agree(judgement, results, &what);
            rows.push(row(what, ping_pong, results));
        }
    }
    let mean = |ping_pong: PingPong| ping_pong.summary(results).fct_ns.map_or(0.0, |fct| fct.mean);
    for ablation in &ABLATIONS {
        let ping_pong = PingPong::new(128, ablation.mend);
        let summary = ping_pong.summary(results);
        let (timeouts, iterations) = (summary.timeouts.total(), summary.flows as f64);
        let printed = ablation.printed * iterations / 1e5;
        let exact = ping_pong.exact().timeouts.iter().sum::<f64>() * iterations;
        let what = format!("timeouts, {}", ablation.name);
        judgement.derived(what, count(timeouts).expected(printed), ablation.cause, exact, 0.0);
        if timeouts >= TIMEOUTS_MIN {
            let further = timeouts.saturating_sub(ALL.summary(results).timeouts.total());
            let delay = further as f64 * TIMER_NS / iterations;
            let growth = time_ns(mean(ping_pong) - mean(ALL));
            judgement
                .must(format!("growth of the mean, {}", ablation.name), growth.near(delay, GROWTH_TOLERANCE));
        }
    }
    let growth = mean(PingPong::new(128, ABLATIONS[0].mend)) - mean(ALL);
    let exact = |mend| PingPong::new(128, mend).exact().timeouts.iter().sum::<f64>() * TIMER_NS;
    judgement.derived(
        "growth of the mean without dummies",
        time_ns(growth).near(4e7, PRINTED_TOLERANCE),
        "1562 · 266 ms / 100 000 is 4.2e3 µs; the printed 4e4 is a misprint, section 6.2 of the paper has 4e3",
        exact(ABLATIONS[0].mend) - exact(ALL.mend),
        PRINTED_TOLERANCE,
    );
    judgement.must(
        "timeouts in 100 000 iterations with all mechanisms",
        number(per_100_000(ALL.summary(results))).below(1.0),
    );
    judgement.table(COLUMNS, rows);
    judgement.plot("j13", &figure(results));
}

/// Lines of the exact model, and the counts that are not zero.
fn figure(results: &Results<'_>) -> Plot {
    let mut curves = Vec::new();
    for ablation in &ABLATIONS {
        let at = |one_in: u32| PingPong::new(one_in, ablation.mend);
        let exact =
            |one_in: u32| (1.0 / f64::from(one_in), at(one_in).exact().timeouts.iter().sum::<f64>() * 1e5);
        let name = format!("{}, exact", ablation.name);
        curves.push(Curve::straight(name, RATES.map(exact)));
        let counted = |one_in: &u32| (1.0 / f64::from(*one_in), per_100_000(at(*one_in).summary(results)));
        let points: Vec<_> =
            rates(results.effort()).iter().map(counted).filter(|(_, timeouts)| *timeouts > 0.0).collect();
        if !points.is_empty() {
            curves.push(Curve::marked(format!("{}, counted", ablation.name), points));
        }
    }
    Plot {
        title: "Ping-pong without one of the mechanisms".to_owned(),
        description: "Timeouts in 100 000 iterations against the packet loss rate.".to_owned(),
        x: Axis::new("packets lost", Scale::Log, Unit::Number),
        y: Axis::new("timeouts in 100 000 iterations", Scale::Log, Unit::Number),
        curves,
    }
}
