//! J4 and J7: timeouts because a packet and its retransmission are lost, without and with copies of
//! retransmissions.

use wiremend_model::{Cause, PaperModel};

use super::PAPER_TOLERANCE;
use super::long_flows::{Point, check, figure, table};
use super::nak::{bare_points, bare_runs};
use crate::cause::counted;
use crate::ledger::number::{count, shown};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};
use crate::papers::gao::source;

pub(super) const BARE: Claim = Claim {
    id: "J4",
    title: "timeouts because a packet is lost twice",
    source: source("theorem 5"),
    paper: "A packet and its retransmission are both lost with probability P_twice ≈ Lβ²ω: from 1e-16 Lω to 1e-4 Lω \
           for β from 1e-8 to 1e-2",
    method: "Long flows over links that all corrupt (ω = 1), at several β. Timeouts of this cause are counted. \
            Reproduced if the Poisson interval of each count contains the expectation of the exact model, and at β = \
            0.01 also that of the printed formula, for one link and for two",
    runs: bare_runs,
    judge: judge_bare,
};

pub(super) const COPIED: Claim = Claim {
    id: "J7",
    title: "copies of retransmissions prevent timeouts",
    source: source("theorem 8 (the second of that number)"),
    paper: "If a switch sends each retransmission N times, the packet and all N retransmissions are lost with \
           probability Lβ^(N+1)ω; with N = 3, L = 2 and β = 0.01 this is 2e-8 ω",
    method: "Long flows over links that all corrupt (ω = 1), with β high enough to count timeouts. The requester's \
            switch copies each retransmission once or twice. Reproduced if the Poisson interval of each count of \
            timeouts contains the expectation of the exact model and that of the printed formula, for one link and \
            for two",
    runs: copied_runs,
    judge: judge_copied,
};

const CAUSE: Cause = Cause::Retransmission;
/// One and two copies: each retransmission is sent two or three times.
const COPIES: &[Point] =
    &[Point::mended(1, 100, 0, 1), Point::mended(1, 100, 0, 2), Point::mended(2, 50, 0, 2)];
const MANY_LINKS: &str = "The printed formula assumes that at most one link of a path corrupts. If all corrupt, each \
                          repeat may be lost on any of them, and L has the same power as β. With one link the result \
                          is as printed";

fn copied_runs(effort: Effort) -> Vec<Run> {
    COPIES.iter().map(|point| point.run(effort)).collect()
}

fn printed(point: Point, beta: f64) -> f64 {
    PaperModel { beta, links: f64::from(point.links), omega: 1.0, mean_inverse: 1.0 }.twice(point.times().1)
}

fn judge_bare(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let points = bare_points(results.effort());
    check(&mut judgement, results, points, CAUSE);
    let mut shows = Vec::new();
    for point in points.iter().filter(|point| point.is_printed()) {
        let (timeouts, packets) =
            (point.summary(results).timeouts.get(counted(CAUSE)), point.packets(results));
        judgement.printed(
            format!("Lβ²ω of {} packets, {}", shown(packets), point.name()),
            count(timeouts).about(printed(*point, point.beta()) * packets, PAPER_TOLERANCE),
            MANY_LINKS,
        );
        shows.push(format!("{} per packet at {}", shown(timeouts as f64 / packets.max(1.0)), point.name()));
    }
    table(&mut judgement, results, points, CAUSE, printed);
    let title = "Timeouts because a packet is lost twice";
    judgement.plot("j4", &figure(results, points, CAUSE, title, printed));
    judgement.finding(shows.join(", "), "A retransmission is lost as often as the packet")
}

fn judge_copied(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    check(&mut judgement, results, COPIES, CAUSE);
    let mut shows = Vec::new();
    for point in COPIES {
        let (_, times) = point.times();
        let (timeouts, packets) =
            (point.summary(results).timeouts.get(counted(CAUSE)), point.packets(results));
        judgement.printed(
            format!("Lβ^(N+1)ω of {} packets, N = {times}, {}", shown(packets), point.name()),
            count(timeouts).about(printed(*point, point.beta()) * packets, PAPER_TOLERANCE),
            MANY_LINKS,
        );
        let share = shown(timeouts as f64 / packets.max(1.0));
        shows.push(format!("{share} per packet with N = {times}, {}", point.name()));
    }
    table(&mut judgement, results, COPIES, CAUSE, printed);
    let title = "Timeouts because all retransmissions are lost";
    judgement.plot("j7", &figure(results, COPIES, CAUSE, title, printed));
    judgement.finding(shows.join(", "), "Copies of a retransmission are lost independently of each other")
}
