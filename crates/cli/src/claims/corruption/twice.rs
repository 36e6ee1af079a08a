//! J4: timeouts because a packet is lost twice.

use wiremend_measure::TimeoutCause;
use wiremend_model::{Cause, Printed};

use super::long_flows::{figure, points, runs, table};
use super::source;
use crate::ledger::number::{count, shown};
use crate::ledger::{Claim, Finding, Judgement, Results};

pub(super) const CLAIM: Claim = Claim {
    id: "J4",
    title: "timeouts because a packet is lost twice",
    source: source!("theorem 5"),
    paper: "A packet and its retransmission are both lost with probability P_twice ≈ Lβ²ω: from 1e-16 Lω to 1e-4 Lω for β from \
            1e-8 to 1e-2",
    method: "Long flows over links that all corrupt (ω = 1), at several β; timeouts of this cause counted. Reproduced if the \
             Poisson interval of each count holds what the exact model expects, and at β = 0.01 the printed form too, for one \
             link and for two",
    runs,
    judge,
};

fn printed(links: u32, beta: f64) -> f64 {
    Printed { beta, links: f64::from(links), omega: 1.0, mean_inverse: 1.0 }.twice(1)
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let mut shows = Vec::new();
    for point in points(results.effort()) {
        let (timeouts, packets) = (point.timeouts(results, TimeoutCause::Twice), point.packets(results));
        judgement.must(format!("finished flows, {}", point.name()), point.finished(results));
        let what = format!("timeouts of {} packets, {}", shown(packets), point.name());
        judgement.must(what, count(timeouts).expected(point.exact(Cause::Twice) * packets));
        if point.is_printed() {
            judgement.printed(
                format!("the same by Lβ²ω, L = {}", point.links),
                count(timeouts).expected(printed(point.links, point.beta()) * packets),
                "The printed form takes it that at most one link of a path corrupts. Where all do, the repeat meets them all \
                 again, and the probability is (Lβ)². With one link it is as printed",
            );
            shows.push(format!(
                "{} a packet on {}",
                shown(timeouts as f64 / packets.max(1.0)),
                link(point.links)
            ));
        }
    }
    let cause = (TimeoutCause::Twice, Cause::Twice);
    table(&mut judgement, results, cause, printed);
    judgement.plot("j4", &figure(results, cause, "Timeouts because a packet is lost twice", printed));
    judgement
        .finding(format!("at β = 0.01: {}", shows.join(", ")), "A repeat is lost as often as the packet was")
}

fn link(links: u32) -> String {
    if links == 1 { "1 link".to_owned() } else { format!("{links} links") }
}
