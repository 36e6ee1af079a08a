//! J3, J4, J6 and J7: timeouts because a NAK is lost, or a packet and its retransmission are, without and with
//! copies. Long flows, in which another packet follows nearly every lost packet.

use wiremend_model::{Cause, FlowSize, MendCounts, ModelSetting, NextFlow, PaperModel, Path, path};

use crate::cause::counted;
use crate::papers::gao::{PAPER_TOLERANCE, Setting, bit_error_rate, computed, probability, sizes, source};
use crate::prelude::*;

pub(super) const NAK: Claim = Claim {
    id: "J3",
    title: "timeouts because a NAK is lost",
    source: source("theorem 4"),
    paper: "A packet and its NAK are both lost with probability P_NAK ≈ 0.06 L²β²ω²; with L = 2 and β = 0.01 this is \
           2.4e-5 ω²",
    method: "Long flows over links that all corrupt (ω = 1) in both directions, at several β. Timeouts of this cause \
             are counted",
    note: "Packet and NAK take opposite directions, each with its own corrupting links, so that both factors contain \
           L; a NAK of 66 B is corrupted 0.06 times as often as a packet",
    judge: |judgement, results| LOST_NAK.judge(judgement, results),
    ..Claim::FORM
};

pub(super) const TWICE: Claim = Claim {
    id: "J4",
    title: "timeouts because a packet is lost twice",
    source: source("theorem 5"),
    paper: "A packet and its retransmission are both lost with probability P_twice ≈ Lβ²ω: from 1e-16 Lω to 1e-4 Lω \
           for β from 1e-8 to 1e-2",
    method: "Long flows over links that all corrupt (ω = 1), at several β, and a flow over each of many paths of two \
             links that corrupt with ω = 0.01, each direction for itself. Timeouts of this cause are counted; flows \
             over a path on which none can occur are not simulated. The theorem assumes Lω ≪ 1, so its formula is \
             checked at ω = 0.01",
    note: "A retransmission is lost as often as the packet. If all links corrupt, each repeat may be lost on any of \
           them, and L has the same power as β",
    judge: |judgement, results| LOST_TWICE.judge(judgement, results),
    ..Claim::FORM
};

pub(super) const NAK_COPIES: Claim = Claim {
    id: "J6",
    title: "copies of NAKs prevent timeouts",
    source: source("theorem 8 (the first of that number)"),
    paper: "If a switch sends each NAK N times, the packet and all N NAKs are lost with probability 0.06^N \
           L²β^(N+1)ω²; with N = 2, L = 2 and β = 0.01 this is 1.4e-8 ω²",
    method: "Long flows over links that all corrupt (ω = 1), and over paths on which each link corrupts with ω = 0.01 \
             as in J4, with β high enough to count timeouts. The responder's switch copies each NAK once, the \
             requester's switch copies retransmissions twice. The theorem assumes Lω ≪ 1, so its formula is checked \
             at ω = 0.01",
    note: "Copies of a NAK are lost independently of each other. If all links corrupt, each copy may be lost on each \
           link, and the probability is Lβ (Lδ)^N",
    judge: |judgement, results| LOST_NAK_COPIES.judge(judgement, results),
    ..Claim::FORM
};

pub(super) const TWICE_COPIES: Claim = Claim {
    id: "J7",
    title: "copies of retransmissions prevent timeouts",
    source: source("theorem 8 (the second of that number)"),
    paper: "If a switch sends each retransmission N times, the packet and all N retransmissions are lost with \
           probability Lβ^(N+1)ω; with N = 3, L = 2 and β = 0.01 this is 2e-8 ω",
    method: "Long flows over links that all corrupt (ω = 1), and over paths on which each link corrupts with ω = 0.01 \
             as in J4, with β high enough to count timeouts. The requester's switch copies each retransmission once \
             or twice. The theorem assumes Lω ≪ 1, so its formula is checked at ω = 0.01",
    note: "Copies of a retransmission are lost independently of each other. If all links corrupt, each repeat may be \
           lost on any of them, and L has the same power as β",
    judge: |judgement, results| LOST_RETRANSMISSIONS.judge(judgement, results),
    ..Claim::FORM
};

/// One of these claims: the cause of the timeouts, the points, and the printed formula.
struct Series {
    figure: &'static str,
    title: &'static str,
    cause: Cause,
    /// Paths on which all links corrupt, for quick and for full effort.
    points: [&'static [Point]; 2],
    /// Paths inside the assumption of the theorem, for which its formula is checked.
    fabrics: &'static [Fabric],
    formula: &'static str,
    printed: fn(&PaperModel, Point) -> f64,
    /// Relative error that the printed formula may have.
    part: f64,
    correction: &'static str,
}

const LOST_NAK: Series = Series {
    figure: "j3",
    title: "Timeouts because a NAK is lost",
    cause: Cause::Nak,
    points: [&[Point::bare(1, 10), Point::bare(2, 10), Point::bare(2, 30)], &FULL],
    fabrics: &[],
    formula: "0.06 L²β²ω²",
    printed: |model, point| model.nak(point.times().0),
    part: 0.0,
    correction: "The printed formula rounds the sizes: a NAK has 66 B and a packet 1086 B",
};
const LOST_TWICE: Series = Series {
    figure: "j4",
    title: "Timeouts because a packet is lost twice",
    cause: Cause::Retransmission,
    fabrics: &[fabric(Point::bare(2, 10), [50_000, 1_000_000])],
    formula: "Lβ²ω",
    printed: |model, point| model.twice(point.times().1),
    correction: "Some paths have two corrupting links, and each repeat may be lost on either",
    ..LOST_NAK
};
const LOST_NAK_COPIES: Series = Series {
    figure: "j6",
    title: "Timeouts because both of two NAKs are lost",
    points: [NAK_COPY_POINTS; 2],
    fabrics: &[fabric(Point::mended(2, 100, 1, 2), [2_000_000, 40_000_000])],
    formula: "0.06²L²β³ω²",
    part: PAPER_TOLERANCE,
    ..LOST_NAK
};
const LOST_RETRANSMISSIONS: Series = Series {
    figure: "j7",
    title: "Timeouts because all retransmissions are lost",
    points: [RETRANSMISSION_COPY_POINTS; 2],
    fabrics: &[
        fabric(Point::mended(2, 100, 0, 1), [25_000, 200_000]),
        fabric(Point::mended(2, 100, 0, 2), [25_000, 400_000]),
    ],
    formula: "Lβ^(N+1)ω",
    part: PAPER_TOLERANCE,
    ..LOST_TWICE
};

const FULL: [Point; 6] = [
    Point::bare(1, 3),
    Point::bare(1, 10),
    Point::bare(1, 30),
    Point::bare(2, 3),
    Point::bare(2, 10),
    Point::bare(2, 30),
];
/// Retransmissions are copied too, so that losing them does not end a connection before enough NAKs are
/// counted.
const NAK_COPY_POINTS: &[Point] = &[Point::mended(1, 100, 1, 2), Point::mended(4, 50, 1, 2)];
/// One and two copies: each retransmission is sent two or three times.
const RETRANSMISSION_COPY_POINTS: &[Point] =
    &[Point::mended(1, 100, 0, 1), Point::mended(1, 100, 0, 2), Point::mended(2, 50, 0, 2)];

impl Series {
    fn points(&self, effort: Effort) -> &'static [Point] {
        effort.choose(self.points[0], self.points[1])
    }

    /// Probability per packet by the printed formula.
    fn chance(&self, point: Point, beta: f64, omega: f64) -> f64 {
        let links = f64::from(point.links);
        (self.printed)(&PaperModel { beta, links, omega, mean_inverse: 1.0 }, point)
    }

    fn judge(&self, judgement: &mut Judgement, results: &Results<'_>) {
        let points = self.points(results.effort());
        for point in points {
            let (name, setting) = (point.name(), point.setting(results.effort()));
            let packets = point.packets(results);
            let (timeouts, exact) = setting.pair(results, self.cause);
            let printed = self.chance(*point, point.beta(), 1.0) * packets;
            judgement.must(format!("finished flows, {name}"), point.finished(results));
            let of_packets = format!("of {} packets, {name}", shown(packets));
            setting.agree(judgement, results, format!("timeouts {of_packets}"), self.cause);
            // With ω = 1 the paper has a figure for NAKs over two links.
            if self.fabrics.is_empty() && point.per_mille == 10 && point.links == 2 {
                let what = format!("{} {of_packets}", self.formula);
                let test = count(timeouts).about(printed, self.part);
                judgement.derived(what, test, self.correction, exact, 0.0);
            }
            let [packets, timeouts] = [packets as u64, timeouts].map(count);
            judgement.row(name, [&packets, &timeouts, &number(exact), &number(printed)]);
        }
        for fabric in self.fabrics {
            fabric.judge(judgement, results, self);
        }
        judgement.columns("path | packets | timeouts | exact formula | printed formula");
        judgement.plot(self.figure, &self.plot(results));
    }

    /// Timeouts per packet against β for each number of links, with both formulas.
    fn plot(&self, results: &Results<'_>) -> Plot {
        let points = self.points(results.effort());
        let mut kinds: Vec<Point> = points.to_vec();
        kinds.dedup_by_key(|point| (point.links, point.mend));
        let low = points.iter().map(|point| point.beta()).fold(1.0, f64::min) / 3.0;
        let high = points.iter().map(|point| point.beta()).fold(0.0, f64::max) * 1.5;
        let betas: Vec<f64> = (0..=12).map(|step| low * (high / low).powf(f64::from(step) / 12.0)).collect();
        let mut curves: Vec<Curve> = Vec::new();
        for kind in kinds {
            let name = kind_name(kind);
            let exact = |beta| {
                Setting { model: kind.model(beta), ..kind.setting(Effort::Full) }.exact(self.cause) / PACKETS
            };
            curves.push(computed(format!("{name}, exact"), &betas, exact));
            curves.push(computed(format!("{name}, as printed"), &betas, |beta| self.chance(kind, beta, 1.0)));
            let of_kind = points.iter().filter(|point| (point.links, point.mend) == (kind.links, kind.mend));
            let share = |point: &Point| {
                let timeouts = point.setting(results.effort()).counted(results, self.cause);
                (point.beta(), timeouts as f64 / point.packets(results).max(1.0))
            };
            curves.push(Curve::marked(format!("{name}, measured"), of_kind.map(share)));
        }
        let description = "Timeouts per packet against the corruption of a full packet on a link.";
        let (x, y) = (probability("packet corruption β"), probability("timeouts per packet"));
        Plot::new(self.title, description, x, y, curves)
    }
}

/// Packets of a flow.
const PACKETS: f64 = 1024.0;

/// A path, the corruption of its links, and the mechanisms.
#[derive(Clone, Copy)]
pub(super) struct Point {
    links: u32,
    /// β in thousandths.
    per_mille: u32,
    mend: MendCounts,
}

impl Point {
    const fn bare(links: u32, per_mille: u32) -> Self {
        Self { links, per_mille, mend: MendCounts::NONE }
    }

    pub(super) const fn mended(links: u32, per_mille: u32, nak_copies: u32, copies: u32) -> Self {
        Self { links, per_mille, mend: MendCounts::new(0, nak_copies, copies) }
    }

    /// β: probability that a link corrupts a full packet.
    pub(super) fn beta(self) -> f64 {
        f64::from(self.per_mille) / 1000.0
    }

    /// Number of transmissions of each NAK, and of each retransmission.
    fn times(self) -> (u32, u32) {
        (self.mend.nak_copies + 1, self.mend.retransmission_copies + 1)
    }

    fn name(self) -> String {
        format!("L = {}, β = {}", self.links, self.beta())
    }

    /// Flows of a run.
    fn flows(self, effort: Effort) -> u64 {
        if self.times() == (1, 1) { effort.choose(1_000, 12_000) } else { effort.choose(600, 8_000) }
    }

    /// All links corrupt, and another flow always follows.
    pub(super) fn setting(self, effort: Effort) -> Setting {
        let run = self.run(self.flows(effort)).set("impair.0.rate", bit_error_rate(self.beta()));
        let (path, sizes) = (Path::between_switches(self.links, 1.0), vec![FlowSize::fixed(1 << 20, 1024)]);
        Setting { run, model: self.model(self.beta()), path, sizes, messages: 1.0 }
    }

    fn run(self, flows: u64) -> Run {
        let loss = self.beta() * f64::from(self.links);
        let run = Run::new("claims/long-flows")
            .set("topology.switches", self.links + 1)
            .set("workload.0.count", flows)
            .seconds(flows as f64 * 1e-3 * (1.0 + 15.0 * loss) * f64::from(self.links + 2) / 3.0);
        let MendCounts { nak_copies, retransmission_copies, .. } = self.mend;
        let copies = [("nak_copies", nak_copies), ("retransmission_copies", retransmission_copies)];
        let copies = copies.into_iter().filter(|(_, copies)| *copies > 0);
        copies.fold(run, |run, (what, copies)| run.set(&format!("mend.{what}"), copies))
    }

    fn model(self, beta: f64) -> ModelSetting {
        let next = NextFlow { rescues: 1.0, follows: 1.0 };
        ModelSetting { next, ..ModelSetting::new(sizes(), beta, self.mend) }
    }

    /// Checks that all flows finished: the expectations are those of all flows.
    pub(super) fn finished(self, results: &Results<'_>) -> Test {
        self.setting(results.effort()).outcome(results).finished().is(self.flows(results.effort()))
    }

    /// Data packets of all finished flows.
    pub(super) fn packets(self, results: &Results<'_>) -> f64 {
        self.setting(results.effort()).outcome(results).summary.finished as f64 * PACKETS
    }
}

/// Paths of a fabric in which each link corrupts with probability ω, each direction independently.
struct Fabric {
    point: Point,
    /// Flows for quick and for full effort, one on each path.
    flows: [u64; 2],
}

/// Lω ≪ 1, the assumption of the theorems.
const OMEGA: f64 = 0.01;

const fn fabric(point: Point, flows: [u64; 2]) -> Fabric {
    Fabric { point, flows }
}

impl Fabric {
    /// A run of the flows on paths with these numbers of corrupting links for data and for NAKs.
    fn run(&self, flows: u64, corrupting: [u32; 2]) -> Run {
        let impair = |(links, direction): (u32, &str)| {
            let links: Vec<_> = (0..links).map(|link| format!("\"s{link}-s{}\"", link + 1)).collect();
            let (links, rate) = (links.join(", "), bit_error_rate(self.point.beta()));
            format!(
                "{{ kind = \"bit-errors\", links = [{links}], direction = \"{direction}\", rate = \"{rate}\" }}"
            )
        };
        let both = corrupting.into_iter().zip(["forward", "backward"]).filter(|(links, _)| *links > 0);
        let impairs: Vec<_> = both.map(impair).collect();
        self.point.run(flows).set("impair", format!("[{}]", impairs.join(", ")))
    }

    /// Counts the timeouts on all paths on which they can occur, in as many runs as there are kinds of paths.
    fn judge(&self, judgement: &mut Judgement, results: &Results<'_>, series: &Series) {
        let Self { point, flows } = self;
        let flows = results.effort().choose(flows[0], flows[1]) as f64;
        let share = path::binomial(point.links, OMEGA);
        let (mut timeouts, mut unfinished, mut simulated) = (0, 0, 0);
        for forward in 1..=point.links {
            // A NAK is lost only on a corrupting link.
            for backward in u32::from(series.cause == Cause::Nak)..=point.links {
                let of_kind = (flows * share[forward as usize] * share[backward as usize]).round() as u64;
                if of_kind > 0 {
                    let outcome = results.outcome(&self.run(of_kind, [forward, backward]));
                    timeouts += outcome.summary.timeouts.get(counted(series.cause));
                    unfinished += outcome.unfinished();
                    simulated += outcome.summary.finished;
                }
            }
        }
        let (times, packets) = (point.times(), flows * PACKETS);
        let copies = if series.cause == Cause::Nak { times.0 } else { times.1 };
        let sent = if copies == 1 { String::new() } else { format!(", sent {copies} times") };
        let name = format!("{}, ω = {OMEGA}{sent}", point.name());
        let exact =
            Setting { path: Path::between_switches(point.links, OMEGA), ..point.setting(Effort::Full) }
                .exact(series.cause)
                * flows;
        let printed = series.chance(*point, point.beta(), OMEGA) * packets;
        judgement.none(format!("flows that do not finish, {name}"), unfinished);
        let of_packets = format!("of {} packets, {name}", shown(packets));
        judgement.must(format!("timeouts {of_packets}"), count(timeouts).about(exact, ALLOTTED));
        let test = count(timeouts).about(printed, series.part);
        let what = format!("{} {of_packets}", series.formula);
        judgement.derived(what, test, series.correction, exact, ALLOTTED);
        let row = format!("{name}, {simulated} flows simulated");
        judgement.row(row, [&number(packets), &count(timeouts), &number(exact), &number(printed)]);
    }
}

/// Error of the expectation because each kind of paths gets a whole number of flows.
const ALLOTTED: f64 = 0.01;

fn kind_name(point: Point) -> String {
    let links = if point.links == 1 { "1 link".to_owned() } else { format!("{} links", point.links) };
    match point.times() {
        (1, 1) => links,
        (1, repeats) => format!("{links}, {repeats} retransmissions"),
        (naks, _) => format!("{links}, {naks} NAKs"),
    }
}
