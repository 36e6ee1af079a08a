//! D6: timers alone, selective repeat, RACK-TLP and DCP with the same flows.

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D6",
    title: "DCP against timers alone and RACK-TLP",
    source: source("simulation #3"),
    paper: "RACK-TLP performs better than IRN, at the cost of a timestamp for each packet. DCP performs better than \
           both, and better than timers alone. The slides do not print the numbers of the figure",
    method: "256 hosts, 16 per rack, 100G and no PFC: WebSearch at load 0.4, and every 1 ms 128 hosts send 32 kB to \
             one, for 2 ms with two seeds (quick: 32 hosts, 24 to one, one seed), with one path for each connection \
             and with adaptive routing. Every scheme has 1 MB per port, 32 MB per switch as in the published \
             simulator, or one bandwidth-delay product, 130 kB: DCP trims where the others drop. Without congestion \
             control, with Swift, and for 1 MB with DCQCN with two sets of parameters (marks from 250 to 750 kB). \
             Compared are the median, the mean and the 99 % quantile of slowdowns, averaged over the seeds",
    note: "With the same memory, what decides is the number of hosts that send to one. With 24 senders, as in quick \
           runs, DCP is as fast as RACK-TLP with 1 MB per port, where nothing is dropped, and has a third of its 99 % \
           slowdown with 130 kB and adaptive routing. With 128 senders and no congestion control headers use nine \
           tenths of the congested link, packets of the incast are trimmed dozens of times, and DCP is slower than \
           timers alone; see D5 for a smaller weight. With Swift it has the lowest median of all, the 99 % slowdown of \
           RACK-TLP within 10 %, and a mean that is 16 to 28 % higher. RACK-TLP is better than IRN everywhere, as \
           printed. As published, a switch drops acknowledgements that meet a long queue, and no packet follows the \
           last one of a flow: the sender waits for its timer of 8 ms. With acknowledgements in the class of headers \
           no timer fires",
    judge,
    ..Claim::FORM
};

const TIMERS: &str = "timeout only";
const IRN: &str = "IRN";
const RACK: &str = "RACK-TLP";
const DCP: &str = "DCP";
const PUBLISHED: &str = "DCP as published";
const SCHEMES: [&str; 5] = [TIMERS, IRN, RACK, DCP, PUBLISHED];

const ONE_PATH: &str = "one path";
const ADAPTIVE: &str = "adaptive";
const PATHS: [&str; 2] = [ONE_PATH, ADAPTIVE];

/// Memory of a port: that of the paper's simulator, and one bandwidth-delay product.
const LARGE: &str = "1MB";
const BDP: &str = "130kB";

/// Congestion controls.
const NO_CONTROL: &str = "none";
const SWIFT: &str = "swift";
/// DCQCN with the parameters of its paper, and with those of a simulator that many papers use.
const DCQCN: [&str; 2] = ["dcqcn-paper", "hpcc-lineage"];
const CONTROLS: [&str; 3] = [SWIFT, DCQCN[0], DCQCN[1]];
/// Schemes that are compared with congestion control.
const CONTROLLED: [&str; 3] = [IRN, RACK, DCP];

/// Tolerated slowdown of DCP relative to RACK-TLP.
const RACK_TOLERANCE: f64 = 0.05;
const UNNECESSARY_MIN: f64 = 0.2;

fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    1..=effort.choose(1, 2)
}

/// Scheme, memory, path selection and congestion control.
#[derive(Clone, Copy)]
struct Setting {
    scheme: &'static str,
    place: Place,
    control: &'static str,
}

/// Memory of the ports and path selection.
#[derive(Clone, Copy)]
struct Place {
    port: &'static str,
    paths: &'static str,
}

impl Place {
    fn all() -> impl Iterator<Item = Self> {
        [LARGE, BDP].into_iter().flat_map(|port| PATHS.map(|paths| Self { port, paths }))
    }

    fn name(self) -> String {
        format!("{}, {}", self.port, self.paths)
    }

    fn controls(self) -> &'static [&'static str] {
        if self.port == LARGE { &CONTROLS } else { &CONTROLS[..1] }
    }

    /// In the order of the table.
    fn settings(self) -> impl Iterator<Item = Setting> {
        let plain = SCHEMES.map(|scheme| Setting { scheme, place: self, control: NO_CONTROL });
        let controlled = move |&control| CONTROLLED.map(|scheme| Setting { scheme, place: self, control });
        plain.into_iter().chain(self.controls().iter().flat_map(controlled))
    }
}

impl Setting {
    fn run(self, seed: u64, effort: Effort) -> Run {
        let Self { scheme, place: Place { port, paths }, control } = self;
        let run = Run::new("claims/recovery")
            .variant(format!("{scheme}, {paths}"))
            .set("topology.buffer", port)
            .set("transport.congestion", control)
            .seed(seed)
            .seconds(effort.choose(0.5, 4.0));
        let run =
            if [DCP, PUBLISHED].contains(&scheme) { run.set("switch.trim.threshold", port) } else { run };
        // Marks begin at a quarter of the buffer.
        let run = if DCQCN.contains(&control) {
            run.set("switch.ecn.kmin", "250kB").set("switch.ecn.kmax", "750kB").set("switch.ecn.pmax", 0.2)
        } else {
            run
        };
        match effort {
            Effort::Full => run,
            Effort::Quick => run
                .set("topology.leaves", 4)
                .set("topology.spines", 4)
                .set("topology.hosts_per_leaf", 8)
                .set("workload.1.src", "h8..h31"),
        }
    }
}

/// A scheme with path selection and congestion control, over all seeds.
struct Case<'a> {
    outcomes: Vec<&'a Outcome>,
}

impl<'a> Case<'a> {
    fn new(results: &'a Results<'_>, setting: Setting) -> Self {
        let effort = results.effort();
        let outcome = |seed| results.outcome(&setting.run(seed, effort));
        Self { outcomes: seeds(effort).map(outcome).collect() }
    }

    fn median(&self) -> f64 {
        self.averaged(|outcome| outcome.summary.slowdown.map_or(f64::INFINITY, |of| of.p50))
    }

    fn mean(&self) -> f64 {
        self.averaged(|outcome| outcome.summary.slowdown.map_or(f64::INFINITY, |of| of.mean))
    }

    fn at_99(&self) -> f64 {
        self.averaged(|outcome| outcome.summary.slowdown.map_or(f64::INFINITY, |of| of.p99))
    }

    fn averaged(&self, value: fn(&Outcome) -> f64) -> f64 {
        self.outcomes.iter().map(|outcome| value(outcome)).sum::<f64>() / self.outcomes.len() as f64
    }

    fn sum(&self, value: fn(&Outcome) -> u64) -> u64 {
        self.outcomes.iter().map(|outcome| value(outcome)).sum()
    }

    fn failed(&self) -> u64 {
        self.sum(|outcome| outcome.summary.flows - outcome.summary.finished)
    }

    fn timeouts(&self) -> u64 {
        self.sum(|outcome| outcome.summary.timeouts.total())
    }

    fn retransmitted(&self) -> u64 {
        self.sum(|outcome| outcome.summary.retransmitted_packets)
    }

    /// Congestion notifications that senders received.
    fn notified(&self) -> u64 {
        self.sum(|outcome| outcome.summary.congestion.cnps_received)
    }

    /// Share of the retransmitted packets that the receiver already had.
    fn unnecessary_share(&self) -> f64 {
        self.sum(|outcome| outcome.tracking.duplicates) as f64 / self.retransmitted().max(1) as f64
    }
}

type Measure = fn(&Case<'_>) -> f64;

const MEASURES: [(&str, Measure); 2] = [("mean", |case| case.mean()), ("99 %", |case| case.at_99())];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for place in Place::all() {
        without_control(judgement, results, place);
        for control in place.controls() {
            with_control(judgement, results, place, control);
        }
        let name = format!("d6-{}-{}", place.port.to_lowercase(), place.paths.replace(' ', "-"));
        judgement.plot(&name, &figure(results, place));
    }
    // With timers alone and with IRN every retransmission of a packet may meet a full queue, until the
    // retries are exhausted.
    for which in [RACK, DCP] {
        let selected = Place::all().flat_map(Place::settings).filter(|setting| setting.scheme == which);
        let failed = selected.map(|setting| Case::new(results, setting).failed());
        judgement.none(format!("flows that do not finish, {which}"), failed.sum());
    }
    judgement.table(
        "| median slowdown | mean | 99 % | failed | timeouts | retransmitted | unnecessary | trimmed | \
         acknowledgements dropped | notifications",
        Place::all().flat_map(Place::settings).map(|setting| row(results, setting)).collect(),
    );
}

fn without_control(judgement: &mut Judgement, results: &Results<'_>, place: Place) {
    let [timers, irn, rack, dcp, published] =
        SCHEMES.map(|scheme| Case::new(results, Setting { scheme, place, control: NO_CONTROL }));
    let paths = place.name();
    for (what, value) in MEASURES {
        let named = |name: &'static str, case: &Case<'_>| (name, number(value(case)));
        let name = format!("{what} of slowdowns, {paths}");
        let mut below = |lower, higher| judgement.must(name.clone(), ascending(&[lower, higher], 0.0));
        below(named(RACK, &rack), named(IRN, &irn));
        below(named(DCP, &dcp), named(IRN, &irn));
        below(named(DCP, &dcp), named(TIMERS, &timers));
        let order = ascending(&[named(DCP, &dcp), named(RACK, &rack)], RACK_TOLERANCE);
        judgement.printed(name.clone(), order);
        let order = ascending(&[named(PUBLISHED, &published), named(RACK, &rack)], RACK_TOLERANCE);
        judgement.printed(name, order);
    }
    judgement.none(format!("timeouts of DCP, {paths}"), dcp.timeouts());
    if place.paths == ADAPTIVE {
        let unnecessary_share = fraction(irn.unnecessary_share());
        judgement.must(
            format!("share of IRN's retransmissions that is unnecessary, {paths}"),
            unnecessary_share.at_least(UNNECESSARY_MIN),
        );
    }
}

fn with_control(judgement: &mut Judgement, results: &Results<'_>, place: Place, control: &'static str) {
    let [irn, rack, dcp] = CONTROLLED.map(|scheme| Case::new(results, Setting { scheme, place, control }));
    let paths = place.name();
    for (what, value) in MEASURES {
        let named = |name: &'static str, case: &Case<'_>| (name, number(value(case)));
        let what = format!("{what} of slowdowns, {paths}, {control}");
        let order = ascending(&[named(DCP, &dcp), named(RACK, &rack)], RACK_TOLERANCE);
        if control == SWIFT {
            judgement.must(what.clone(), ascending(&[named(RACK, &rack), named(IRN, &irn)], 0.0));
            judgement.must(what.clone(), ascending(&[named(DCP, &dcp), named(IRN, &irn)], 0.0));
            judgement.printed(what, order);
        } else {
            judgement.printed(what, order);
        }
    }
    if control == SWIFT {
        let named = |name: &'static str, case: &Case<'_>| (name, number(case.median()));
        let what = format!("median of slowdowns, {paths}, {control}");
        judgement.must(what, ascending(&[named(DCP, &dcp), named(RACK, &rack)], 0.0));
    }
    judgement.none(format!("timeouts of DCP, {paths}, {control}"), dcp.timeouts());
}

fn row(results: &Results<'_>, setting: Setting) -> Vec<String> {
    let case = Case::new(results, setting);
    let Setting { scheme, place, control } = setting;
    let control = if control == NO_CONTROL { String::new() } else { format!(", {control}") };
    vec![
        format!("{}, {scheme}{control}", place.name()),
        shown(case.median()),
        shown(case.mean()),
        shown(case.at_99()),
        human::count(case.failed()),
        human::count(case.timeouts()),
        human::count(case.retransmitted()),
        format!("{} %", human::percent(case.unnecessary_share())),
        human::count(case.sum(|outcome| outcome.summary.trims.trimmed)),
        human::count(case.sum(|outcome| outcome.summary.trims.acks_dropped)),
        human::count(case.notified()),
    ]
}

/// The first seed, without congestion control.
fn figure(results: &Results<'_>, place: Place) -> Plot {
    const QUANTILE_MIN: f64 = 0.5;
    let curve = |scheme: &'static str| {
        let setting = Setting { scheme, place, control: NO_CONTROL };
        slowest(scheme, Case::new(results, setting).outcomes[0], QUANTILE_MIN)
    };
    Plot {
        title: format!("The slower half of flows: web search and incast, {}", place.name()),
        description: "Cumulative distribution of completion times with five recovery schemes.".to_owned(),
        x: Axis::new("completion time", Scale::Log, Unit::TimeNs),
        y: Axis::new("flows that took at most this long", Scale::Tail, Unit::Percent)
            .with_range(QUANTILE_MIN, 0.997),
        curves: SCHEMES.map(curve).to_vec(),
    }
}
