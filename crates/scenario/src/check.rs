//! What no value can know on its own.

use std::collections::{BTreeMap, BTreeSet};

use wiremend_units::{Bytes, Rate, Span, Time};

use crate::acceleration;
use crate::balance::Balance;
use crate::congestion::{Congestion, Dcqcn};
use crate::dcp;
use crate::ecn::Ecn;
use crate::error::Flaw;
use crate::impair::{Fault, Impair, Script};
use crate::lossless::Lossless;
use crate::name::{Host, Sizes};
use crate::pattern::{Endpoints, Misfit, Pattern, differ};
use crate::protect::{Profile, Protect, Scheme, SwitchKind};
use crate::quantity::{Limit, Pace};
use crate::recovery;
use crate::scenario::Scenario;
use crate::switch::Switch;
use crate::tcp;
use crate::topology::{CrossDc, Graph, Shape, Topology};
use crate::transport::Operation;
use crate::value::{Place, Placed};
use crate::workload::{App, Flows, Workload};
use wiremend_units::or_nearest;

/// Whether the parts of a scenario fit together.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Flaw> {
    let in_table =
        |place: Place| move |(inner, why): Misfit| Flaw { offset: inner.0.or(place.0), message: why };
    check_topology(&scenario.topology).map_err(in_table(scenario.topology.place))?;
    check_switch(&scenario.switch).map_err(in_table(Place(None)))?;
    if let Some(lossless) = &scenario.switch.lossless {
        check_lossless(scenario, lossless).map_err(in_table(lossless.place))?;
    }
    if let Some(ecn) = &scenario.switch.ecn {
        check_ecn(ecn).map_err(in_table(ecn.place))?;
    }
    recovery::check(&scenario.transport).map_err(in_table(Place(None)))?;
    dcp::check(&scenario.transport).map_err(in_table(Place(None)))?;
    if let Some(trim) = &scenario.switch.trim {
        trim.check(scenario).map_err(in_table(trim.place))?;
    }
    tcp::check(scenario).map_err(in_table(Place(None)))?;
    acceleration::check(&scenario.transport).map_err(in_table(Place(None)))?;
    check_congestion(scenario).map_err(in_table(scenario.transport.congestion.place))?;
    if scenario.workloads.is_empty() {
        let message = "nothing happens; add at least one [[workload]]".to_owned();
        return Err(Flaw { offset: None, message });
    }
    for workload in &scenario.workloads {
        check_workload(workload, &scenario.topology).map_err(in_table(workload.place))?;
        check_operation(workload, scenario.transport.operation).map_err(in_table(workload.place))?;
    }
    for impair in &scenario.impairs {
        check_impair(impair).map_err(in_table(impair.place))?;
    }
    check_mend(scenario).map_err(in_table(scenario.mend.place))?;
    for pause in &scenario.pauses {
        check_ends(pause.start, pause.stop).map_err(in_table(pause.place))?;
    }
    for route in &scenario.routes {
        check_ends(route.start, route.stop).map_err(in_table(route.place))?;
    }
    check_remedies(scenario)?;
    for protect in &scenario.protects {
        check_protect(protect).map_err(in_table(protect.place))?;
    }
    let mut names = BTreeSet::new();
    for variant in &scenario.variants {
        if !names.insert(&variant.name.value) {
            let message = format!("a second variant \"{}\"; names are unique", variant.name.as_str());
            return Err(Flaw { offset: variant.name.place.0, message });
        }
    }
    Ok(())
}

fn misfit(why: impl Into<String>) -> Result<(), Misfit> {
    Err((Place(None), why.into()))
}

/// A READ's request repeated would make the peer start over while it still answers.
fn check_mend(scenario: &Scenario) -> Result<(), Misfit> {
    let copies = scenario.mend.tail_copies.get() + scenario.mend.packet_copies.get();
    if copies > 0 && scenario.transport.operation == Operation::Read {
        return misfit("copies of the packets of a READ; use dummies, or another operation");
    }
    Ok(())
}

fn check_topology(topology: &Topology) -> Result<(), Misfit> {
    for rate in [Some(topology.rate), topology.host_rate, topology.switch_rate].into_iter().flatten() {
        check_rate(rate)?;
    }
    let latencies = [topology.switch_latency, topology.host_tx_latency, topology.host_rx_latency];
    let delays = [Some(topology.delay), topology.host_delay, topology.switch_delay].into_iter().flatten();
    delays.chain(latencies).try_for_each(check_delay)?;
    for unlike in &topology.unlike {
        if unlike.rate.is_none() && unlike.delay.is_none() {
            return Err((
                unlike.place,
                "links that are as all others; give `rate` or `delay` or both".to_owned(),
            ));
        }
        let (rate, delay) =
            (unlike.rate.map_or(Ok(()), check_rate), unlike.delay.map_or(Ok(()), check_delay));
        rate.and(delay).map_err(|(_, why)| (unlike.place, why))?;
    }
    match &topology.shape {
        Shape::Graph(graph) => check_graph(graph),
        Shape::CrossDc(both) => check_cross_dc(both),
        Shape::Pair(_) | Shape::Chain(_) | Shape::FatTree(_) | Shape::LeafSpine(_) => Ok(()),
    }
}

fn check_cross_dc(both: &CrossDc) -> Result<(), Misfit> {
    if let Some(links) = both.long_links.as_ref().filter(|links| links.get() > both.spines.get()) {
        let why = format!("{} long links of {} spines; at most one of each", links.get(), both.spines.get());
        return Err((links.place, why));
    }
    check_delay(both.long_delay)?;
    both.long_rate.map_or(Ok(()), check_rate)
}

/// On slower links a long message, or a queue that fits in memory, would take longer than 64 bits of picoseconds tell.
fn check_rate(rate: Rate) -> Result<(), Misfit> {
    const SLOWEST: Rate = Rate::from_bits_per_s(1_000_000);
    if rate < SLOWEST {
        return misfit(format!("a link of {rate} is too slow; at least {SLOWEST}"));
    }
    Ok(())
}

/// The longest path that a scenario can describe must be crossed within 64 bits of picoseconds.
fn check_delay(delay: Span) -> Result<(), Misfit> {
    const LONGEST: Span = Span::from_ms(10_000);
    if delay > LONGEST {
        return misfit(format!("a delay of {delay} is too long; at most {LONGEST}"));
    }
    Ok(())
}

fn check_graph(graph: &Graph) -> Result<(), Misfit> {
    const NODES_MAX: usize = 200_000;
    let nodes = graph.hosts.len() + graph.switches.len();
    if graph.hosts.len() < 2 || nodes > NODES_MAX {
        return misfit(format!(
            "a graph with {} hosts and {} switches; give at least 2 hosts and at most {NODES_MAX} nodes",
            graph.hosts.len(),
            graph.switches.len()
        ));
    }
    let mut numbers = BTreeMap::new();
    for name in graph.hosts.iter().chain(&graph.switches) {
        if numbers.insert(name.as_str(), numbers.len()).is_some() {
            return Err((name.place, format!("a second node `{}`; names are unique", name.as_str())));
        }
    }
    let known: Vec<&str> = numbers.keys().copied().collect();
    let mut degree = vec![0; nodes];
    let mut joined = Components::new(nodes);
    for link in &graph.links {
        let ends = link.ends.each_ref().map(|end| {
            numbers
                .get(end.as_str())
                .copied()
                .ok_or_else(|| (link.place, or_nearest("node", end.as_str(), &known)))
        });
        let [a, b] = ends;
        let (a, b) = (a?, b?);
        if a == b {
            return Err((
                link.place,
                format!("`{}` is linked to itself; ends differ", link.ends[0].as_str()),
            ));
        }
        let (rate, delay) = (link.rate.map_or(Ok(()), check_rate), link.delay.map_or(Ok(()), check_delay));
        rate.and(delay).map_err(|(_, why)| (link.place, why))?;
        degree[a] += 1;
        degree[b] += 1;
        joined.join(a, b);
    }
    for (number, host) in graph.hosts.iter().enumerate() {
        if degree[number] != 1 {
            let why = format!("host `{}` has {} links; each host has one", host.as_str(), degree[number]);
            return Err((host.place, why));
        }
        if joined.root(number) != joined.root(0) {
            let first = graph.hosts[0].as_str();
            return Err((
                host.place,
                format!("no path from `{first}` to `{}`; all hosts must be joined", host.as_str()),
            ));
        }
    }
    Ok(())
}

/// Which nodes reach each other: a forest whose trees are the connected parts.
struct Components {
    parent: Vec<usize>,
}

impl Components {
    fn new(nodes: usize) -> Self {
        Self { parent: (0..nodes).collect() }
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a] = b;
    }
}

fn check_switch(switch: &Switch) -> Result<(), Misfit> {
    if switch.flowlet_gap.is_some() && switch.balance.value != Balance::Flowlet {
        let why = "`flowlet_gap` is for balance = \"flowlet\"; set that, or leave it out";
        return Err((switch.balance.place, why.to_owned()));
    }
    let mut numbers = BTreeSet::new();
    for class in &switch.classes {
        let number = class.number.get();
        if !numbers.insert(number) {
            return Err((
                class.number.place,
                format!("a second entry for class {number}; each class has one"),
            ));
        }
    }
    Ok(())
}

/// One memory for all ports of a switch, and one word on when a neighbour may send.
fn check_lossless(scenario: &Scenario, lossless: &Lossless) -> Result<(), Misfit> {
    const CLASSES_MAX: usize = 8;
    let classes = &lossless.classes;
    let at_classes = |why: String| Err((classes.place, why));
    if classes.is_empty() {
        return at_classes(
            "no class is lossless; name at least one, or leave out [switch.lossless]".to_owned(),
        );
    }
    if classes.len() > CLASSES_MAX {
        return at_classes(format!("{} lossless classes; a link has at most {CLASSES_MAX}", classes.len()));
    }
    let mut numbers = BTreeSet::new();
    if let Some(twice) = classes.iter().find(|class| !numbers.insert(class.get())) {
        return at_classes(format!("class {} is named twice; name each once", twice.get()));
    }
    if scenario.topology.buffer.max().is_some() {
        return misfit(
            "the ports of a lossless switch share its buffer, and `topology.buffer` limits each of them; leave that out",
        );
    }
    check_delay(lossless.reaction)
}

/// A curve that rises, and marks something.
fn check_ecn(ecn: &Ecn) -> Result<(), Misfit> {
    if ecn.kmin > ecn.kmax {
        return misfit(format!(
            "`kmin` of {} is above `kmax` of {}; marking begins at `kmin` and is certain above `kmax`",
            ecn.kmin, ecn.kmax
        ));
    }
    if ecn.pmax.get() <= 0.0 {
        return misfit("a `pmax` of 0 marks nothing below `kmax`; give one above 0 and at most 1");
    }
    Ok(())
}

/// An algorithm, what it acts on, and parameters of no other.
fn check_congestion(scenario: &Scenario) -> Result<(), Misfit> {
    let transport = &scenario.transport;
    let congestion = &transport.congestion.value;
    let is_controlled = *congestion != Congestion::None;
    if is_controlled && transport.operation == Operation::Read {
        return misfit(
            "congestion control paces what a queue pair asks for, and the data of a READ are answers; use write or send",
        );
    }
    if is_controlled && transport.rate != Pace::Line {
        return misfit(
            "congestion control finds the rate of each queue pair; leave out `rate`, or `congestion`",
        );
    }
    if congestion.needs_marks() && scenario.switch.ecn.is_none() {
        return misfit("DCQCN acts on marks, and no switch makes any; add [switch.ecn]");
    }
    if let Some(dcqcn) = &transport.dcqcn {
        if !congestion.needs_marks() {
            let why = "parameters of DCQCN, which no queue pair follows; set congestion = \"dcqcn-paper\" or \"hpcc-lineage\"";
            return Err((dcqcn.place, why.to_owned()));
        }
        check_dcqcn(dcqcn, &scenario.topology).map_err(|(_, why)| (dcqcn.place, why))?;
    }
    if let Some(swift) = &transport.swift
        && *congestion != Congestion::Swift
    {
        let why = "parameters of Swift, which no queue pair follows; set congestion = \"swift\"";
        return Err((swift.place, why.to_owned()));
    }
    Ok(())
}

fn check_dcqcn(dcqcn: &Dcqcn, topology: &Topology) -> Result<(), Misfit> {
    const TIMER_MIN: Span = Span::from_ns(100);
    const GAIN_MIN: f64 = 1.0 / 65_536.0;
    for (name, timer) in [("alpha_timer", dcqcn.alpha_timer), ("increase_timer", dcqcn.increase_timer)] {
        if let Some(timer) = timer.filter(|timer| *timer < TIMER_MIN) {
            return misfit(format!("`{name}` of {timer} is too short; at least {TIMER_MIN}"));
        }
    }
    if let Some(gain) = dcqcn.gain.filter(|gain| gain.get() < GAIN_MIN) {
        return misfit(format!("a `gain` of {} never moves α; at least 1/65536", gain.get()));
    }
    if dcqcn.byte_counter.and_then(Limit::max) == Some(Bytes::ZERO) {
        return misfit("a `byte_counter` of zero has no end; give one above zero, or \"unlimited\"");
    }
    let line = topology.host_rate.unwrap_or(topology.rate);
    if let Some(floor) = dcqcn.min_rate.filter(|floor| *floor > line) {
        return misfit(format!(
            "a `min_rate` of {floor} is above the {line} of the hosts' links; give at most that"
        ));
    }
    Ok(())
}

/// Remedies for deadlocks are about lossless switches.
fn check_remedies(scenario: &Scenario) -> Result<(), Flaw> {
    let switch = &scenario.switch;
    let places = [
        ("watchdog", switch.watchdog.as_ref().map(|table| table.place)),
        ("demotion", switch.demotion.as_ref().map(|table| table.place)),
        ("probes", switch.probes.as_ref().map(|table| table.place)),
    ];
    let flaw = |place: Place, message: String| Err(Flaw { offset: place.0, message });
    let Some(lossless) = &switch.lossless else {
        return match places.into_iter().find_map(|(name, place)| Some((name, place?))) {
            Some((name, place)) => {
                flaw(place, format!("[switch.{name}] is for lossless switches; add [switch.lossless]"))
            }
            None => Ok(()),
        };
    };
    if let Some(watchdog) = &switch.watchdog
        && watchdog.detection < watchdog.poll * 2
    {
        let why = format!("`detection` is below two polls of {}; one look shows nothing", watchdog.poll);
        return flaw(watchdog.place, why);
    }
    if let Some(demotion) = &switch.demotion {
        if demotion.ttl_below.is_none() && demotion.bounces.is_none() {
            return flaw(demotion.place, "no frame is demoted; give `ttl_below` or `bounces`".to_owned());
        }
        let class = demotion.class.get();
        if lossless.mask() >> class & 1 != 0 {
            return flaw(
                demotion.class.place,
                format!("class {class} is lossless; demote to one that is not"),
            );
        }
    }
    Ok(())
}

fn check_workload(workload: &Workload, topology: &Topology) -> Result<(), Misfit> {
    match &workload.app {
        App::Poisson(poisson) => {
            if poisson.flows.is_none() && poisson.duration.is_none() {
                return misfit("flows would arrive without end; give `flows` or `duration` or both");
            }
            if poisson.duration.is_some_and(|duration| duration.as_ps() == 0) {
                return misfit("no flow arrives in a `duration` of zero; give one above zero");
            }
            if let Sizes::Fixed(bytes) = poisson.sizes.value {
                if bytes == Bytes::ZERO {
                    let why = "no number of empty flows makes a load; give a size above zero";
                    return Err((poisson.sizes.place, why.to_owned()));
                }
                check_message(bytes).map_err(|(_, why)| (poisson.sizes.place, why))?;
            }
            check_endpoints(poisson.endpoints(), topology)
        }
        App::Flows(flows) => check_flows(flows, topology),
        App::PingPong(app) => {
            check_message(app.bytes)?;
            check_two(topology, &app.src, &app.dst)
        }
        App::Stream(app) => {
            check_message(app.message)?;
            check_two(topology, &app.src, &app.dst)
        }
        App::Cbr(app) => {
            check_ends(workload.start, app.stop)?;
            check_two(topology, &app.src, &app.dst)
        }
        App::List(list) if list.file.trim().is_empty() => Err((
            list.file.place,
            "`file` is empty; name a built-in list or a path ending in .csv".to_owned(),
        )),
        App::List(_) | App::Registered(_) => Ok(()),
        App::Allreduce(app) => app.check(topology),
        App::Alltoall(app) => app.check(topology),
    }
}

/// The other side of a READ is not told of it, so that it would never reply.
fn check_operation(workload: &Workload, operation: Operation) -> Result<(), Misfit> {
    match (&workload.app, operation) {
        (App::PingPong(_), Operation::Read) => {
            misfit("nobody is told of a READ that could reply to it; use write or send for ping-pong")
        }
        (App::Allreduce(_) | App::Alltoall(_), Operation::Read) => misfit(
            "nobody is told of a READ that could go on with its data; use write or send for collectives",
        ),
        _ => Ok(()),
    }
}

/// Flows that begin together are all held at once, so that their number is bounded.
fn check_flows(flows: &Flows, topology: &Topology) -> Result<(), Misfit> {
    const FLOWS_MAX: u64 = 10_000_000;
    check_message(flows.bytes)?;
    if flows.pattern == Pattern::Uniform {
        return misfit(
            "`uniform` draws pairs as flows arrive; choose point-to-point, permutation, full-mesh or incast",
        );
    }
    if flows.every.is_some() != (flows.rounds.get() > 1) {
        return misfit(
            "flows that begin again and again need `every` and `rounds` above 1; give both, or none",
        );
    }
    let count = flows.endpoints().pairs(topology)?.len().saturating_mul(flows.per_pair());
    if count > FLOWS_MAX {
        return misfit(format!("{count} flows at once are too many; at most {FLOWS_MAX}"));
    }
    Ok(())
}

/// A message spans at most half of the sequence numbers (IBA 9.7.1).
fn check_message(bytes: Bytes) -> Result<(), Misfit> {
    const LONGEST: Bytes = Bytes::new(1 << 31);
    if bytes > LONGEST {
        return misfit(format!("a message of {bytes} is too long; at most 2GiB"));
    }
    Ok(())
}

fn check_endpoints(endpoints: Endpoints, topology: &Topology) -> Result<(), Misfit> {
    endpoints.pairs(topology).map(drop)
}

fn check_two(topology: &Topology, src: &Placed<Host>, dst: &Placed<Host>) -> Result<(), Misfit> {
    let found = |host: &Placed<Host>| topology.host(host).map_err(|why| (host.place, why));
    let (from, to) = (found(src)?, found(dst)?);
    let place = if dst.place == Place(None) { src.place } else { dst.place };
    differ(topology, from, to, place)
}

/// What starts and stops does so in this order.
fn check_ends(start: Time, stop: Option<Time>) -> Result<(), Misfit> {
    if stop.is_some_and(|stop| stop <= start) {
        return misfit("`stop` is not later than `start`; it ends after it starts");
    }
    Ok(())
}

fn check_protect(protect: &Protect) -> Result<(), Misfit> {
    check_ends(protect.start, protect.stop)?;
    if let Some(field) = protect.pointless() {
        let by = if let Scheme::Fec { .. } = protect.by { "error correction" } else { "retransmission" };
        return misfit(format!("`{field}` means nothing to {by}; leave it out"));
    }
    check_sample(protect)?;
    if protect.profile() == Profile::Paper {
        if !protect.unordered.is_empty() {
            return misfit("the prototype has one order for all classes; leave out `unordered`");
        }
        if protect.control_copies() != 1 {
            return misfit("the prototype sends each notification once; leave out `control_copies`");
        }
        if protect.rtt_min.is_some() {
            return misfit("the prototype measures no round trip; leave out `rtt_min`");
        }
    } else if protect.switch() == SwitchKind::Tofino {
        return misfit(
            "the hardened protocol keeps frames in memory, which a tofino has not; use switch = \"ideal\", or profile = \"paper\"",
        );
    }
    Ok(())
}

/// A sample must be able to show the loss that is looked for; those that are corrupted are remembered one by one.
fn check_sample(protect: &Protect) -> Result<(), Misfit> {
    const CORRUPTED_MAX: u64 = 1_000_000;
    const LOSS_MIN: f64 = 1e-15;
    if let Some(field) = protect.unmeasured() {
        return misfit(format!("`{field}` means nothing without `start_at_loss`; give both, or none"));
    }
    let (Some(loss), Some(sample)) = (protect.start_at_loss, protect.sample()) else { return Ok(()) };
    let (loss, over) = (loss.get(), sample.over);
    if loss < LOSS_MIN {
        return misfit(format!(
            "a loss of {loss:e} is too rare to be seen; `start_at_loss` is at least {LOSS_MIN:e}"
        ));
    }
    let least = (1.0 / loss).ceil() as u64;
    if over < least {
        return misfit(format!("{over} frames cannot show a loss of {loss:e}; `over` is at least {least}"));
    }
    if sample.corrupted > CORRUPTED_MAX {
        let most = (CORRUPTED_MAX as f64 / loss) as u64;
        return misfit(format!(
            "{over} frames are more than a loss of {loss:e} takes; `over` is at most {most}"
        ));
    }
    Ok(())
}

fn check_impair(impair: &Impair) -> Result<(), Misfit> {
    check_ends(impair.start, impair.stop)?;
    match &impair.fault {
        Fault::Bursts(bursts) => {
            let (loss, length) = (bursts.loss.get(), bursts.length.get());
            // Each burst is followed by at least one frame that passes.
            let most = length / (length + 1.0);
            if loss > most {
                return misfit(format!(
                    "a loss of {loss} is out of reach of bursts of {length} frames; at most {most:.4}"
                ));
            }
            Ok(())
        }
        Fault::IpId(id) => {
            let (mask, value) = (id.mask.get(), id.value.get());
            if value & !mask != 0 {
                return misfit(format!(
                    "value {value:#06x} never matches under mask {mask:#06x}; set no bit outside the mask"
                ));
            }
            Ok(())
        }
        Fault::Script(script) if script.rules.is_empty() && script.faults.is_none() => {
            misfit("a script without rules hits nothing; add a rule, or name a file of `faults`")
        }
        Fault::Script(Script { faults: Some(file), .. }) if file.trim().is_empty() => {
            Err((file.place, "`faults` is empty; name a file".to_owned()))
        }
        Fault::BitErrors(_)
        | Fault::Frames(_)
        | Fault::GilbertElliott(_)
        | Fault::Every(_)
        | Fault::Script(_)
        | Fault::Tilted(_)
        | Fault::Registered(_) => Ok(()),
    }
}
