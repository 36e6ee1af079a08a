//! J18: timeouts by cause, counted and computed.

use wiremend_model::{Cause, expected};
use wiremend_report::plot::{Axis, Curve, Plot, Scale, Unit};

use super::path::{ALL, Arrivals, Case, DUMMY, Flows, Mechanism, NAK, NONE, REPEAT, TWICE};
use crate::cause::counted;
use crate::ledger::number::{count, shown};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::{MTU, source};

pub(super) const CLAIM: Claim = Claim {
    id: "J18",
    title: "the four causes of timeouts agree with the exact model",
    source: source("sections 3 and 4"),
    paper: "A requester has a timeout because a tail packet, the ACK of a tail, or a NAK is lost, or a packet is lost \
           twice. The model gives the probability of each cause, without and with each mechanism",
    method: "Flows over four corrupting links: of 1 and 8 packets at β = 0.01 and 0.03 and of 64 at 0.003 and 0.01, \
             each on its own queue pair and so far apart that no flow gets copies of another one; and of 4, 8 and 64 \
             packets all on one queue pair with a mean gap of one timeout, where the next flow may reveal a lost \
             tail before the timer expires. Without mechanisms, with each mechanism alone, and with all. Timeouts \
             are counted by cause and compared with the expectation of the exact model for this number of flows",
    note: "Losses are independent, so that the expectations of single packets add up",
    runs,
    judge,
};

const MECHANISMS: [&Mechanism; 6] = [&NONE, &NAK, &TWICE, &DUMMY, &REPEAT, &ALL];
const ARRIVALS: [(&str, Arrivals); 2] =
    [("one queue pair per flow", Arrivals::Apart(1e-5)), ("one shared queue pair", Arrivals::Shared(1.0))];

/// Flow size and corruption.
struct Load {
    packets: u32,
    flows: u32,
    betas: [f64; 2],
}

const QUICK: &[Load] = &[load(8, 10_000, [0.01, 0.03])];
const FULL_APART: &[Load] =
    &[load(1, 200_000, [0.01, 0.03]), load(8, 100_000, [0.01, 0.03]), load(64, 20_000, [0.003, 0.01])];
/// A next flow of one packet cannot reveal a gap if that packet is lost too; the model leaves this case out.
const FULL_SHARED: &[Load] =
    &[load(4, 100_000, [0.01, 0.03]), load(8, 100_000, [0.01, 0.03]), load(64, 20_000, [0.003, 0.01])];

const fn load(packets: u32, flows: u32, betas: [f64; 2]) -> Load {
    Load { packets, flows, betas }
}

fn cases(effort: Effort, arrivals: Arrivals, mechanism: &'static Mechanism) -> Vec<Case> {
    let full = if matches!(arrivals, Arrivals::Apart(_)) { FULL_APART } else { FULL_SHARED };
    let mut cases = Vec::new();
    for &Load { packets, flows: count, betas } in effort.choose(QUICK, full) {
        let flows = Flows::Bytes(packets * MTU);
        cases.extend(betas.map(|beta| Case { flows, count, arrivals, links: 4, beta, mechanism }));
    }
    cases
}

fn runs(effort: Effort) -> Vec<Run> {
    let all = ARRIVALS.iter().flat_map(|(_, arrivals)| MECHANISMS.map(|mechanism| (*arrivals, mechanism)));
    all.flat_map(|(arrivals, mechanism)| cases(effort, arrivals, mechanism)).map(|case| case.run()).collect()
}

/// Counted and expected timeouts of one cause.
struct Cell {
    counted: u64,
    expected: f64,
}

impl Case {
    fn cells(&self, results: &Results<'_>) -> [Cell; 4] {
        let summary = &self.outcome(results).summary;
        let model = expected(&self.setting(), &self.path(), &self.sizes());
        Cause::ALL.map(|cause| Cell {
            counted: summary.timeouts.get(counted(cause)),
            expected: model.timeouts[cause as usize] * summary.flows as f64,
        })
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    let mut outside = 0;
    for (queue_pairs, arrivals) in ARRIVALS {
        for mechanism in MECHANISMS {
            let mut sums = [(0, 0.0); 4];
            for case in cases(results.effort(), arrivals, mechanism) {
                for (cause, cell) in case.cells(results).into_iter().enumerate() {
                    sums[cause].0 += cell.counted;
                    sums[cause].1 += cell.expected;
                    let test = count(cell.counted).expected(cell.expected);
                    outside += u64::from(!test.holds());
                    rows.push(vec![
                        format!("{queue_pairs}, {}", mechanism.name),
                        shown(case.packets()),
                        shown(case.beta),
                        Cause::ALL[cause].name().to_owned(),
                        shown(cell.expected),
                        format!(
                            "{}{}",
                            test.measured.text(test.unit, &test.band),
                            if test.holds() { "" } else { " ✗" }
                        ),
                    ]);
                    points.push((cause, cell.expected, cell.counted));
                }
            }
            for ((counted, expected), cause) in sums.into_iter().zip(Cause::ALL) {
                let what = format!("{}, {queue_pairs}, {}", cause.name(), mechanism.name);
                judgement.must(what, count(counted).expected(expected));
            }
        }
    }
    judgement.none(format!("single counts outside their interval, of {}", rows.len()), outside);
    judgement.table("| packets per flow | β | cause | expected | counted", rows);
    judgement.plot("j18", &figure(&points));
}

fn figure(points: &[(usize, f64, u64)]) -> Plot {
    let curve = |cause: usize| {
        let mut points: Vec<_> = points
            .iter()
            .filter(|point| point.0 == cause && point.2 > 0)
            .map(|point| (point.1, point.2 as f64))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve::marked(Cause::ALL[cause].name(), points)
    };
    let ends = [0.1, 1e5];
    let mut curves = vec![Curve::straight("as expected", ends.map(|end| (end, end)))];
    curves.extend((0..Cause::ALL.len()).map(curve));
    Plot {
        title: "Timeouts by run and cause".to_owned(),
        description: "Counted timeouts against the expectation of the exact model.".to_owned(),
        x: Axis::new("expected", Scale::Log, Unit::Number),
        y: Axis::new("counted", Scale::Log, Unit::Number),
        curves,
    }
}
