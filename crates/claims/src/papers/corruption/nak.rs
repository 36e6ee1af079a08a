//! J3 and J6: timeouts because a NAK is lost, without and with copies of NAKs.

use wiremend_model::{Cause, PaperModel};

use super::PAPER_TOLERANCE;
use super::long_flows::{Point, check, figure, table};
use crate::cause::counted;
use crate::ledger::number::{count, shown};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};
use crate::papers::gao::source;

pub(super) const BARE: Claim = Claim {
    id: "J3",
    title: "timeouts because a NAK is lost",
    source: source("theorem 4"),
    paper: "A packet and its NAK are both lost with probability P_NAK ≈ 0.06 L²β²ω²; with L = 2 and β = 0.01 this is \
           2.4e-5 ω²",
    method: "Long flows over links that all corrupt (ω = 1) in both directions, at several β. Timeouts of this cause \
            are counted. Reproduced if the Poisson interval of each count contains the expectation of the exact model \
            with the real frame sizes, and at L = 2 and β = 0.01 also the printed 2.4e-5",
    runs: bare_runs,
    judge: judge_bare,
};

pub(super) const COPIED: Claim = Claim {
    id: "J6",
    title: "copies of NAKs prevent timeouts",
    source: source("theorem 8 (the first of that number)"),
    paper: "If a switch sends each NAK N times, the packet and all N NAKs are lost with probability 0.06^N \
           L²β^(N+1)ω²; with N = 2, L = 2 and β = 0.01 this is 1.4e-8 ω²",
    method: "Long flows over links that all corrupt (ω = 1), with β high enough to count timeouts. The responder's \
            switch copies each NAK once, the requester's switch copies retransmissions twice. Reproduced if the \
            Poisson interval of each count of timeouts contains the expectation of the exact model and that of the \
            printed formula, for one link and for four",
    runs: copied_runs,
    judge: judge_copied,
};

const CAUSE: Cause = Cause::Nak;
const QUICK: &[Point] = &[Point::bare(1, 10), Point::bare(2, 10), Point::bare(2, 30)];
const FULL: &[Point] = &[
    Point::bare(1, 3),
    Point::bare(1, 10),
    Point::bare(1, 30),
    Point::bare(2, 3),
    Point::bare(2, 10),
    Point::bare(2, 30),
];
/// Retransmissions are copied too, so that losing them does not end a connection before enough NAKs are
/// counted.
const COPIES: &[Point] = &[Point::mended(1, 100, 1, 2), Point::mended(4, 50, 1, 2)];

/// The points without mechanisms, which J4 shares.
pub(super) fn bare_points(effort: Effort) -> &'static [Point] {
    effort.choose(QUICK, FULL)
}

pub(super) fn bare_runs(effort: Effort) -> Vec<Run> {
    bare_points(effort).iter().map(|point| point.run(effort)).collect()
}

fn copied_runs(effort: Effort) -> Vec<Run> {
    COPIES.iter().map(|point| point.run(effort)).collect()
}

fn printed(point: Point, beta: f64) -> f64 {
    PaperModel { beta, links: f64::from(point.links), omega: 1.0, mean_inverse: 1.0 }.nak(point.times().0)
}

fn judge_bare(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let points = bare_points(results.effort());
    check(&mut judgement, results, points, CAUSE);
    let mut measured = String::new();
    for point in points.iter().filter(|point| point.links == 2 && point.is_printed()) {
        let (timeouts, packets) =
            (point.summary(results).timeouts.get(counted(CAUSE)), point.packets(results));
        judgement.printed(
            format!("0.06 L²β²ω² of {} packets", shown(packets)),
            count(timeouts).about(printed(*point, point.beta()) * packets, PAPER_TOLERANCE),
            "The printed formula is an approximation of first order",
        );
        measured =
            format!("{} per packet at L = 2, β = 0.01, ω = 1", shown(timeouts as f64 / packets.max(1.0)));
    }
    table(&mut judgement, results, points, CAUSE, printed);
    let title = "Timeouts because a NAK is lost";
    judgement.plot("j3", &figure(results, points, CAUSE, title, printed));
    judgement.finding(
        measured,
        "Packet and NAK take opposite directions, each with its own corrupting links, so that both factors contain L; \
         a NAK of 66 B is corrupted 0.06 times as often as a packet",
    )
}

fn judge_copied(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    check(&mut judgement, results, COPIES, CAUSE);
    let mut shows = Vec::new();
    for point in COPIES {
        let (timeouts, packets) =
            (point.summary(results).timeouts.get(counted(CAUSE)), point.packets(results));
        judgement.printed(
            format!("0.06²L²β³ω² of {} packets, {}", shown(packets), point.name()),
            count(timeouts).about(printed(*point, point.beta()) * packets, PAPER_TOLERANCE),
            "The printed formula counts the links on the path of the NAKs once, as if at most one of them corrupted. \
             If all corrupt, each copy may be lost on each link, and the probability is Lβ (Lδ)^N. With one link the \
             result is as printed",
        );
        shows.push(format!("{} per packet at {}", shown(timeouts as f64 / packets.max(1.0)), point.name()));
    }
    table(&mut judgement, results, COPIES, CAUSE, printed);
    let title = "Timeouts because both of two NAKs are lost";
    judgement.plot("j6", &figure(results, COPIES, CAUSE, title, printed));
    judgement.finding(shows.join(", "), "Copies of a NAK are lost independently of each other")
}
