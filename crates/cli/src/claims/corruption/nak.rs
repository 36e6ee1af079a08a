//! J3: timeouts because a NAK is lost.

use wiremend_measure::TimeoutCause;
use wiremend_model::{Cause, Printed};

use super::long_flows::{figure, points, runs, table};
use super::source;
use crate::ledger::number::{count, shown};
use crate::ledger::{Claim, Finding, Judgement, Results};

pub(super) const CLAIM: Claim = Claim {
    id: "J3",
    title: "timeouts because a NAK is lost",
    source: source!("theorem 4"),
    paper: "A packet and the NAK that asks for it are both lost with probability P_NAK ≈ 0.06 L²β²ω²; with L = 2 and β = 0.01, \
            2.4e-5 ω²",
    method: "Long flows over links that all corrupt (ω = 1) in both directions, at several β; timeouts of this cause counted. \
             Reproduced if the Poisson interval of each count holds what the exact model expects of the frames' real sizes, and at \
             L = 2 and β = 0.01 the printed 2.4e-5 too",
    runs,
    judge,
};

fn printed(links: u32, beta: f64) -> f64 {
    Printed { beta, links: f64::from(links), omega: 1.0, mean_inverse: 1.0 }.nak(1)
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let mut measured = String::new();
    for point in points(results.effort()) {
        let (timeouts, packets) = (point.timeouts(results, TimeoutCause::Nak), point.packets(results));
        judgement.must(format!("finished flows, {}", point.name()), point.finished(results));
        let what = format!("timeouts of {} packets, {}", shown(packets), point.name());
        judgement.must(what, count(timeouts).expected(point.exact(Cause::Nak) * packets));
        if point.links == 2 && point.is_printed() {
            judgement.printed(
                "the same by 0.06 L²β²ω²",
                count(timeouts).expected(printed(2, 0.01) * packets),
                "The printed form is of first order",
            );
            measured =
                format!("{} a packet at L = 2, β = 0.01, ω = 1", shown(timeouts as f64 / packets.max(1.0)));
        }
    }
    let cause = (TimeoutCause::Nak, Cause::Nak);
    table(&mut judgement, results, cause, printed);
    judgement.plot("j3", &figure(results, cause, "Timeouts because a NAK is lost", printed));
    judgement.finding(
        measured,
        "Packet and NAK take opposite directions, each with corrupting links of its own, so that both factors have an L; an \
         answer of 66 B is hit 0.06 times as often as a packet",
    )
}
