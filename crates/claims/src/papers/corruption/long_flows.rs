//! The runs of J3, J4, J6 and J7: long flows, in which another packet follows nearly every lost packet.

use wiremend_measure::VariantSummary;
use wiremend_model::{Cause, FlowSize, MendCounts, ModelSetting, NextFlow, Path, cost, expected};
use wiremend_report::human;
use wiremend_report::plot::{Curve, Plot};

use super::{computed, measured, probability};
use crate::cause::counted;
use crate::ledger::number::{Test, count, shown};
use crate::ledger::{Effort, Judgement, Results, Run};
use crate::papers::gao::{bit_error_rate, sizes};

/// Packets of a flow.
const PACKETS: f64 = 1024.0;

/// A path, the corruption of its links, and the mechanisms.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) links: u32,
    /// β in thousandths.
    per_mille: u32,
    mend: MendCounts,
}

impl Point {
    pub(super) const fn bare(links: u32, per_mille: u32) -> Self {
        Self { links, per_mille, mend: MendCounts::NONE }
    }

    pub(super) const fn mended(
        links: u32,
        per_mille: u32,
        nak_copies: u32,
        retransmission_copies: u32,
    ) -> Self {
        Self { links, per_mille, mend: MendCounts::new(0, nak_copies, retransmission_copies) }
    }

    /// β: probability that a link corrupts a full packet.
    pub(super) fn beta(self) -> f64 {
        f64::from(self.per_mille) / 1000.0
    }

    /// Whether the paper prints a number for this β (0.01).
    pub(super) fn is_printed(self) -> bool {
        self.per_mille == 10
    }

    /// Number of transmissions of each NAK, and of each retransmission.
    pub(super) fn times(self) -> (u32, u32) {
        (self.mend.nak_copies + 1, self.mend.retransmission_copies + 1)
    }

    pub(super) fn name(self) -> String {
        format!("L = {}, β = {}", self.links, self.beta())
    }

    /// Flows of a run.
    fn flows(self, effort: Effort) -> u64 {
        match self.times() {
            (1, 1) => effort.choose(1_000, 12_000),
            _ => effort.choose(600, 8_000),
        }
    }

    pub(super) fn run(self, effort: Effort) -> Run {
        let loss = self.beta() * f64::from(self.links);
        let mut run = Run::new("claims/long-flows")
            .set("topology.switches", self.links + 1)
            .set("impair.0.rate", bit_error_rate(self.beta()))
            .set("workload.0.count", self.flows(effort))
            .seconds(effort.choose(1.0, 12.0) * (1.0 + 15.0 * loss) * f64::from(self.links + 2) / 3.0);
        let copies = [
            ("mend.nak_copies", self.mend.nak_copies),
            ("mend.retransmission_copies", self.mend.retransmission_copies),
        ];
        for (path, copies) in copies.into_iter().filter(|(_, copies)| *copies > 0) {
            run = run.set(path, copies);
        }
        run
    }

    pub(super) fn summary<'a>(self, results: &'a Results<'_>) -> &'a VariantSummary {
        &results.outcome(&self.run(results.effort())).summary
    }

    /// Checks that all flows finished: the expectations are those of all flows.
    pub(super) fn finished(self, results: &Results<'_>) -> Test {
        count(self.summary(results).finished).is(self.flows(results.effort()))
    }

    /// Data packets of all finished flows.
    pub(super) fn packets(self, results: &Results<'_>) -> f64 {
        self.summary(results).finished as f64 * PACKETS
    }

    /// Timeouts per packet by the exact model. All links corrupt, and another flow always follows.
    fn exact(self, cause: Cause) -> f64 {
        self.exact_at(self.beta(), cause)
    }

    fn exact_at(self, beta: f64, cause: Cause) -> f64 {
        let (setting, path, flows) = self.model(beta);
        expected(&setting, &path, &flows).timeouts[cause as usize] / PACKETS
    }

    /// Copied NAKs and retransmissions per packet, by the exact model.
    pub(super) fn exact_copied(self) -> (f64, f64) {
        let (setting, path, flows) = self.model(self.beta());
        let expectation = expected(&setting, &path, &flows);
        (expectation.naks / PACKETS, expectation.repeats / PACKETS)
    }

    /// Bytes of copies of NAKs and of retransmissions, as shares of the data.
    pub(super) fn exact_cost(self) -> (f64, f64) {
        let (setting, path, flows) = self.model(self.beta());
        let cost = cost(&setting, &path, &flows, 1.0);
        (cost.nak_copies.backward / cost.flow.forward, cost.retransmission_copies.forward / cost.flow.forward)
    }

    fn model(self, beta: f64) -> (ModelSetting, Path, [FlowSize; 1]) {
        let next = NextFlow { rescues: 1.0, follows: 1.0 };
        let setting = ModelSetting { next, ..ModelSetting::new(sizes(), beta, self.mend) };
        (setting, Path::between_switches(self.links, 1.0), [FlowSize::fixed(1 << 20, 1024)])
    }
}

/// Checks that all flows finish, and that the timeouts at each point agree with the exact model.
pub(super) fn check(judgement: &mut Judgement, results: &Results<'_>, points: &[Point], cause: Cause) {
    for point in points {
        let (timeouts, packets) =
            (point.summary(results).timeouts.get(counted(cause)), point.packets(results));
        judgement.must(format!("finished flows, {}", point.name()), point.finished(results));
        let what = format!("timeouts of {} packets, {}", shown(packets), point.name());
        judgement.must(what, count(timeouts).expected(point.exact(cause) * packets));
    }
}

/// Adds the counts of each point, with the expectations of the exact and of the printed formula.
pub(super) fn table(
    judgement: &mut Judgement,
    results: &Results<'_>,
    points: &[Point],
    cause: Cause,
    printed: impl Fn(Point, f64) -> f64,
) {
    let row = |point: &Point| {
        let packets = point.packets(results);
        let timeouts = human::count(point.summary(results).timeouts.get(counted(cause)));
        let [exact, printed] =
            [point.exact(cause), printed(*point, point.beta())].map(|chance| shown(chance * packets));
        vec![point.name(), human::count(packets as u64), timeouts, exact, printed]
    };
    let rows = points.iter().map(row).collect();
    judgement.table("path | packets | timeouts | exact formula | printed formula", rows);
}

/// Plots timeouts per packet against β for each number of links, with both formulas.
pub(super) fn figure(
    results: &Results<'_>,
    points: &[Point],
    cause: Cause,
    title: &str,
    printed: impl Fn(Point, f64) -> f64,
) -> Plot {
    let mut kinds: Vec<Point> = points.to_vec();
    kinds.dedup_by_key(|point| (point.links, point.mend));
    let low = points.iter().map(|point| point.beta()).fold(1.0, f64::min) / 3.0;
    let high = points.iter().map(|point| point.beta()).fold(0.0, f64::max) * 1.5;
    let betas: Vec<f64> = (0..=12).map(|step| low * (high / low).powf(f64::from(step) / 12.0)).collect();
    let mut curves: Vec<Curve> = Vec::new();
    for kind in kinds {
        let name = kind_name(kind);
        curves.push(computed(&format!("{name}, exact"), &betas, |beta| kind.exact_at(beta, cause)));
        curves.push(computed(&format!("{name}, as printed"), &betas, |beta| printed(kind, beta)));
        let of_kind = points.iter().filter(|point| (point.links, point.mend) == (kind.links, kind.mend));
        let share = |point: &Point| {
            let timeouts = point.summary(results).timeouts.get(counted(cause));
            (point.beta(), timeouts as f64 / point.packets(results).max(1.0))
        };
        curves.push(measured(&format!("{name}, measured"), of_kind.map(share).collect()));
    }
    Plot {
        title: title.to_owned(),
        description: "Timeouts per packet against the corruption of a full packet on a link.".to_owned(),
        x: probability("packet corruption β"),
        y: probability("timeouts per packet"),
        curves,
    }
}

fn kind_name(point: Point) -> String {
    let links = if point.links == 1 { "1 link".to_owned() } else { format!("{} links", point.links) };
    match point.times() {
        (1, 1) => links,
        (1, repeats) => format!("{links}, {repeats} retransmissions"),
        (naks, _) => format!("{links}, {naks} NAKs"),
    }
}
