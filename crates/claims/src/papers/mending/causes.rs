//! J18: timeouts by cause, counted and computed.

use wiremend_model::Cause;

use super::path::{ALL, Arrivals, Case, DUMMY, Flows, Mechanism, NAK, NONE, REPEAT, TWICE};
use crate::papers::gao::{MTU, source};
use crate::prelude::*;

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
    judge,
    ..Claim::FORM
};

const MECHANISMS: [&Mechanism; 6] = [&NONE, &NAK, &TWICE, &DUMMY, &REPEAT, &ALL];
const ARRIVALS: [(&str, Arrivals); 2] =
    [("one queue pair per flow", Arrivals::Apart(1e-5)), ("one shared queue pair", Arrivals::Shared(1.0))];

/// Packets of a flow, number of flows, and β.
type Load = (u32, u32, [f64; 2]);

const QUICK: &[Load] = &[(8, 10_000, [0.01, 0.03])];
const FULL_APART: &[Load] =
    &[(1, 200_000, [0.01, 0.03]), (8, 100_000, [0.01, 0.03]), (64, 20_000, [0.003, 0.01])];
/// A next flow of one packet cannot reveal a gap if that packet is lost too; the model leaves this case out.
const FULL_SHARED: &[Load] =
    &[(4, 100_000, [0.01, 0.03]), (8, 100_000, [0.01, 0.03]), (64, 20_000, [0.003, 0.01])];

fn cases(effort: Effort, arrivals: Arrivals, mechanism: &'static Mechanism) -> Vec<Case> {
    let full = if matches!(arrivals, Arrivals::Apart(_)) { FULL_APART } else { FULL_SHARED };
    let mut cases = Vec::new();
    for &(packets, count, betas) in effort.choose(QUICK, full) {
        let flows = Flows::Bytes(packets * MTU);
        cases.extend(betas.map(|beta| Case { flows, count, arrivals, links: 4, beta, mechanism }));
    }
    cases
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut points: [Vec<(f64, f64)>; 4] = Default::default();
    let (mut outside, mut counts) = (0, 0);
    for (queue_pairs, arrivals) in ARRIVALS {
        for mechanism in MECHANISMS {
            let mut sums = [(0, 0.0); 4];
            for case in cases(results.effort(), arrivals, mechanism) {
                let (setting, name) = (case.setting(), format!("{queue_pairs}, {}", mechanism.name));
                for cause in Cause::ALL {
                    let (counted, expected) = setting.pair(results, cause);
                    let test = count(counted).expected(expected);
                    let sign = if test.holds() { "" } else { " ✗" };
                    let measured = format!("{}{sign}", test.measured.text(test.unit, &test.band));
                    let [packets, beta, expected_shown] = [case.packets(), case.beta, expected].map(shown);
                    judgement.row(&name, [&packets, &beta, &cause.name(), &expected_shown, &measured]);
                    outside += u64::from(!test.holds());
                    counts += 1;
                    sums[cause as usize].0 += counted;
                    sums[cause as usize].1 += expected;
                    if counted > 0 {
                        points[cause as usize].push((expected, counted as f64));
                    }
                }
            }
            for ((counted, expected), cause) in sums.into_iter().zip(Cause::ALL) {
                let what = format!("{}, {queue_pairs}, {}", cause.name(), mechanism.name);
                judgement.must(what, count(counted).expected(expected));
            }
        }
    }
    judgement.none(format!("single counts outside their interval, of {counts}"), outside);
    judgement.columns("| packets per flow | β | cause | expected | counted");
    let mut curves = vec![Curve::straight("as expected", [0.1, 1e5].map(|end| (end, end)))];
    for (cause, mut points) in Cause::ALL.into_iter().zip(points) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        curves.push(Curve::marked(cause.name(), points));
    }
    let [x, y] = ["expected", "counted"].map(|label| Axis::new(label, Scale::Log, Unit::Number));
    let description = "Counted timeouts against the expectation of the exact model.";
    judgement.plot("j18", &Plot::new("Timeouts by run and cause", description, x, y, curves));
}
