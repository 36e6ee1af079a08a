//! The curves of the paper's figures: completion times of the same flows with eight sets of mechanisms.

use crate::papers::gao::bit_error_rate;
use crate::prelude::*;

/// Curves of the paper. The scenarios use the same names for their variants.
pub(super) const NO_LOSS: &str = "NoLoss";
pub(super) const NONE: &str = "None";
pub(super) const SINGLE: [&str; 4] = ["NAK", "Twice", "Dummy", "Repeat"];
pub(super) const ALL: &str = "All";
pub(super) const ALL_OPTIMIZED: &str = "AllOptimized";

/// Curves that the paper does not have: protected links, ordered and non-blocking, and mechanisms at both
/// hosts and links.
pub(super) const LINKS: &str = "Links";
pub(super) const LINKS_NB: &str = "LinksNb";
pub(super) const BOTH: &str = "Both";

/// The curves of the paper, in the order of its legend.
pub(super) const CURVES: [&str; 8] =
    [NO_LOSS, ALL, NONE, ALL_OPTIMIZED, SINGLE[0], SINGLE[1], SINGLE[2], SINGLE[3]];

/// Quantiles at which distributions are compared.
pub(super) const QUANTILES: [(&str, f64); 4] =
    [("median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("99.9 %", 0.999)];

/// Two distributions are close if their quantiles differ by at most this factor, half a decade.
pub(super) const TAIL_RATIO_MAX: f64 = 3.16;

pub(super) const QUICK_FLOWS: u32 = 250;
pub(super) const FULL_FLOWS: u32 = 10_000;

/// The retransmission timeout of code 14, in nanoseconds.
pub(super) const RTO_NS: f64 = 4096.0 * 16_384.0;

/// Traffic matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    PointToPoint,
    FullMesh,
}

/// Table of flow sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Table {
    WebSearch,
    DataMining,
}

impl Table {
    /// Name, name in scenarios, and mean number of packets per flow, to estimate the computing time.
    const fn parts(self) -> (&'static str, &'static str, f64) {
        match self {
            Self::WebSearch => ("WebSearch", "websearch", 1_670.0),
            Self::DataMining => ("DataMining", "datamining", 4_920.0),
        }
    }
}

/// A panel of a figure: flows over links that corrupt a full frame with probability `beta`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Panel {
    pub(super) mode: Mode,
    pub(super) table: Table,
    pub(super) beta: f64,
    pub(super) load: f64,
    pub(super) flows: u32,
    /// A change of the scenario.
    set: Option<(&'static str, &'static str)>,
}

impl Panel {
    pub(super) const fn new(mode: Mode, table: Table, flows: u32, beta: f64, load: f64) -> Self {
        Self { mode, table, beta, load, flows, set: None }
    }

    /// The same panel with a change of the scenario.
    pub(super) const fn set(self, change: (&'static str, &'static str)) -> Self {
        Self { set: Some(change), ..self }
    }

    /// The run of one curve.
    pub(super) fn run(&self, curve: &'static str) -> Run {
        let scenario = match self.mode {
            Mode::PointToPoint => "claims/fct",
            Mode::FullMesh => "claims/mesh",
        };
        let run = Run::new(scenario)
            .variant(curve)
            .set("workload.0.sizes", self.table.parts().1)
            .set("workload.0.load", self.load)
            .set("workload.0.flows", self.flows)
            .seconds(self.seconds(curve));
        let run = self.set.iter().fold(run, |run, (path, value)| run.set(path, value));
        // All β have the same flows, so they share the run without loss.
        if curve == NO_LOSS { run } else { run.set("impair.0.rate", bit_error_rate(self.beta)) }
    }

    pub(super) fn outcome<'a>(&self, results: &'a Results<'_>, curve: &'static str) -> &'a Outcome {
        results.outcome(&self.run(curve))
    }

    /// Name of the panel within its claim.
    pub(super) fn name(&self) -> String {
        format!("{}, β = {:e}, U = {}", self.table.parts().0, self.beta, self.load)
    }

    /// File name of its figure.
    pub(super) fn file(&self, claim: &str) -> String {
        format!("{claim}-{}-{:e}-u{:.0}", self.table.parts().1, self.beta, self.load * 100.0)
    }

    /// Whether there are many timeouts even in few flows.
    pub(super) fn is_lossy(&self) -> bool {
        self.beta > 9e-4
    }

    /// Whether bandwidth is the bottleneck in the paper.
    pub(super) fn is_overloaded(&self) -> bool {
        self.is_lossy() && self.load > 0.5
    }

    fn seconds(&self, curve: &str) -> f64 {
        // Measured computing time; a packet crosses about twelve links.
        const PER_PACKET: f64 = 1.1e-6;
        let retransmitted = match curve {
            NO_LOSS => 0.0,
            LINKS | BOTH => LINK_FRAMES,
            LINKS_NB => LINK_FRAMES + 4.0 * self.beta * FLIGHT,
            _ => 4.0 * self.beta * FLIGHT,
        };
        f64::from(self.flows) * self.table.parts().2 * PER_PACKET * (1.0 + retransmitted)
    }
}

/// Computing time of protected links relative to that of the flows, mostly for frames of the link protocol.
const LINK_FRAMES: f64 = 4.0;

/// Packets that go-back-N retransmits for a loss: those of a round trip of about 12.8 µs.
const FLIGHT: f64 = 145.0;

/// The axes of a distribution of `flows` flows.
pub(super) fn axes(flows: u32) -> Plot {
    Plot::new(
        String::new(),
        String::new(),
        Axis::new("completion time", Scale::Log, Unit::TimeNs),
        Axis::new("flows that took at most this long", Scale::Tail, Unit::Percent)
            .with_range(0.0, 1.0 - 1.0 / f64::from(flows)),
        Vec::new(),
    )
}

/// Checks that with all mechanisms the distribution is close to that without loss.
pub(super) fn check_close(judgement: &mut Judgement, results: &Results<'_>, panel: &Panel) {
    let [clean, all] = [NO_LOSS, ALL].map(|curve| panel.outcome(results, curve));
    for (what, quantile) in QUANTILES {
        let ratio = quantile_ns(all, quantile) / quantile_ns(clean, quantile);
        let what = format!("{what}, All divided by NoLoss, {}", panel.name());
        judgement.printed(what, number(ratio).at_most(TAIL_RATIO_MAX));
    }
}

/// Adds the distributions, on an axis of nines (90 %, 99 %, 99.9 %), and rows with quantiles, timeouts by cause and
/// the utilisation of the busiest link.
pub(super) fn figure_and_rows(
    judgement: &mut Judgement,
    results: &Results<'_>,
    panel: &Panel,
    claim: &str,
    curves: &[&'static str],
) {
    for curve in curves {
        let outcome = panel.outcome(results, curve);
        let [median, p90, p99, p999] = QUANTILES.map(|(_, quantile)| time_ns(quantile_ns(outcome, quantile)));
        let causes = TimeoutCause::ALL.map(|cause| (outcome.summary.timeouts.get(cause), cause.name()));
        let causes = causes.iter().filter(|(timeouts, _)| *timeouts > 0);
        let causes: Vec<_> = causes.map(|(timeouts, cause)| format!("{timeouts} {cause}")).collect();
        let causes = if causes.is_empty() { "none".to_owned() } else { causes.join(", ") };
        let busiest = fraction(outcome.busiest());
        judgement.row(format!("{}, {curve}", panel.name()), [&median, &p90, &p99, &p999, &causes, &busiest]);
    }
    judgement.columns("| median | 90 % | 99 % | 99.9 % | timeouts | busiest link");
    let plot = Plot {
        title: format!("Completion times: {}", panel.name()),
        description: "Cumulative distribution of completion times, with mechanisms and without.".to_owned(),
        curves: curves.iter().map(|curve| distribution(curve, panel.outcome(results, curve))).collect(),
        ..axes(panel.flows)
    };
    judgement.plot(&panel.file(claim), &plot);
}

/// Combinations of β and U, with β in the outer loop.
pub(super) fn panels(mode: Mode, table: Table, flows: u32, betas: &[f64], loads: &[f64]) -> Vec<Panel> {
    let panel = |beta: f64, load: f64| Panel::new(mode, table, flows, beta, load);
    betas.iter().flat_map(|&beta| loads.iter().map(move |&load| panel(beta, load))).collect()
}
