//! The runs of J3 and J4: flows so long that a lost packet always has another behind it.

use wiremend_measure::TimeoutCause;
use wiremend_model::{Cause, Expected, FlowSize, Mend, Next, Path, Setting, expected};
use wiremend_report::human;
use wiremend_report::plot::{Curve, Plot};

use super::{bit_error_rate, computed, measured, probability, sizes};
use crate::ledger::number::{Test, count, shown};
use crate::ledger::{Effort, Judgement, Results, Run};

/// Packets of a flow.
pub(super) const PACKETS: f64 = 1024.0;

/// A path and how badly its links corrupt.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) links: u32,
    /// β in thousandths.
    per_mille: u32,
}

const QUICK: &[Point] = &[
    Point { links: 1, per_mille: 10 },
    Point { links: 2, per_mille: 10 },
    Point { links: 2, per_mille: 30 },
];
const FULL: &[Point] = &[
    Point { links: 1, per_mille: 3 },
    Point { links: 1, per_mille: 10 },
    Point { links: 1, per_mille: 30 },
    Point { links: 2, per_mille: 3 },
    Point { links: 2, per_mille: 10 },
    Point { links: 2, per_mille: 30 },
];

pub(super) fn points(effort: Effort) -> &'static [Point] {
    effort.choose(QUICK, FULL)
}

/// Flows of a run.
fn flows(effort: Effort) -> u64 {
    effort.choose(1_500, 12_000)
}

pub(super) fn runs(effort: Effort) -> Vec<Run> {
    points(effort).iter().map(|point| point.run(effort)).collect()
}

impl Point {
    /// β: what a link does to a full packet.
    pub(super) fn beta(self) -> f64 {
        f64::from(self.per_mille) / 1000.0
    }

    /// Whether the paper prints a number for this β, 0.01.
    pub(super) fn is_printed(self) -> bool {
        self.per_mille == 10
    }

    pub(super) fn name(self) -> String {
        format!("L = {}, β = {}", self.links, self.beta())
    }

    fn run(self, effort: Effort) -> Run {
        Run::of("claims/long-flows")
            .set("topology.switches", self.links + 1)
            .set("impair.0.rate", bit_error_rate(self.beta()))
            .set("workload.0.count", flows(effort))
            .seconds(effort.choose(1.5, 12.0) * (1.0 + 15.0 * self.beta() * f64::from(self.links)))
    }

    /// Whether all flows finished: what is expected is expected of all of them.
    pub(super) fn finished(self, results: &Results<'_>) -> Test {
        count(results.of(&self.run(results.effort())).summary.finished).is(flows(results.effort()))
    }

    /// How often timers fired for this cause.
    pub(super) fn timeouts(self, results: &Results<'_>, cause: TimeoutCause) -> u64 {
        results.of(&self.run(results.effort())).summary.timeouts.of(cause)
    }

    /// Data packets that were to be delivered.
    pub(super) fn packets(self, results: &Results<'_>) -> f64 {
        results.of(&self.run(results.effort())).summary.finished as f64 * PACKETS
    }

    /// Timeouts of a packet by the exact model: all links corrupt, and the next flow always follows.
    pub(super) fn exact(self, cause: Cause) -> f64 {
        expected_of(self.links, self.beta()).timeouts[cause as usize] / PACKETS
    }
}

fn expected_of(links: u32, beta: f64) -> Expected {
    let next = Next { rescues: 1.0, follows: 1.0 };
    let setting = Setting { next, ..Setting::new(sizes(), beta, Mend::NONE) };
    expected(&setting, &Path::between_switches(links, 1.0), &[FlowSize::only(1 << 20, 1024)])
}

/// What was counted at each point, with what the exact and the printed form expect.
pub(super) fn table(
    judgement: &mut Judgement,
    results: &Results<'_>,
    (counted, cause): (TimeoutCause, Cause),
    printed: impl Fn(u32, f64) -> f64,
) {
    let row = |point: &Point| {
        let packets = point.packets(results);
        let exact = point.exact(cause) * packets;
        let printed = printed(point.links, point.beta()) * packets;
        let timeouts = human::count(point.timeouts(results, counted));
        vec![point.name(), human::count(packets as u64), timeouts, shown(exact), shown(printed)]
    };
    let rows = points(results.effort()).iter().map(row).collect();
    judgement.table(&["path", "packets", "timeouts", "by the exact form", "as printed"], rows);
}

/// Probability of a cause against β, on one link and on two, with the paper's form.
pub(super) fn figure(
    results: &Results<'_>,
    (counted, cause): (TimeoutCause, Cause),
    title: &str,
    printed: impl Fn(u32, f64) -> f64,
) -> Plot {
    let betas: Vec<f64> = (0..=12).map(|step| 10_f64.powf(-3.0 + f64::from(step) / 8.0)).collect();
    let mut curves: Vec<Curve> = Vec::new();
    for links in [1, 2] {
        let link = if links == 1 { "1 link".to_owned() } else { format!("{links} links") };
        let exact = |beta| expected_of(links, beta).timeouts[cause as usize] / PACKETS;
        curves.push(computed(&format!("{link}, exact"), &betas, exact));
        curves.push(computed(&format!("{link}, as printed"), &betas, |beta| printed(links, beta)));
        let there = points(results.effort()).iter().filter(|point| point.links == links);
        let share = |point: &Point| point.timeouts(results, counted) as f64 / point.packets(results).max(1.0);
        curves.push(measured(&format!("{link}, measured"), there.map(|p| (p.beta(), share(p))).collect()));
    }
    Plot {
        title: title.to_owned(),
        description: "Timeouts of a packet against the corruption of a full packet on a link.".to_owned(),
        x: probability("packet corruption β"),
        y: probability("timeouts of a packet"),
        curves,
    }
}
