//! Checks of a scenario that concern more than one value.

use std::collections::{BTreeMap, BTreeSet};

use wiremend_units::{Bytes, Rate, Span, Time};

use crate::acceleration;
use crate::balance::Balance;
use crate::congestion::{Congestion, Dcqcn};
use crate::dcp;
use crate::ecn::Ecn;
use crate::error::LocatedError;
use crate::host_delay;
use crate::impair::{Impair, ImpairmentKind, Script};
use crate::lossless::Lossless;
use crate::measure::Measure;
use crate::mend;
use crate::name::{Host, Sizes};
use crate::nic_profile;
use crate::pattern::{CheckError, Endpoints, Pattern, differ};
use crate::protect::{Profile, Protect, Scheme, SwitchKind};
use crate::quantity::{Limit, Pace};
use crate::recovery;
use crate::scenario::Scenario;
use crate::switch::Switch;
use crate::tcp;
use crate::topology::{CrossDc, Graph, Shape, Topology};
use crate::transport::{self, Operation};
use crate::value::{Place, Placed};
use crate::workload::{App, Flows, Workload};
use wiremend_units::unknown_name;

/// Checks that the parts of a scenario fit together.
pub(crate) fn check(scenario: &Scenario) -> Result<(), LocatedError> {
    let in_table = |place: Place| {
        move |(inner, why): CheckError| LocatedError { offset: inner.0.or(place.0), message: why }
    };
    let in_itself = |why| (Place(None), why);
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
    transport::check(&scenario.transport).map_err(in_itself).map_err(in_table(scenario.transport.place))?;
    acceleration::check(&scenario.transport).map_err(in_table(Place(None)))?;
    host_delay::check(&scenario.transport).map_err(in_table(Place(None)))?;
    nic_profile::check(&scenario.transport).map_err(in_table(Place(None)))?;
    check_congestion(scenario).map_err(in_table(scenario.transport.congestion.place))?;
    if scenario.workloads.is_empty() {
        let message = "no workload; add at least one [[workload]]".to_owned();
        return Err(LocatedError { offset: None, message });
    }
    for workload in &scenario.workloads {
        check_workload(workload, &scenario.topology).map_err(in_table(workload.place))?;
        check_operation(workload, scenario.transport.operation).map_err(in_table(workload.place))?;
    }
    for impair in &scenario.impairs {
        check_impair(impair).map_err(in_table(impair.place))?;
    }
    mend::check(&scenario.mend, &scenario.transport)
        .map_err(in_itself)
        .map_err(in_table(scenario.mend.place))?;
    for fail in &scenario.fails {
        fail.check().map_err(in_table(fail.place))?;
        if fail.cache.is_some() && (scenario.switch.lossless.is_some() || !scenario.protects.is_empty()) {
            let why = "`cache` keeps no frames of lossless switches or with protected links; remove it, or \
                       [switch.lossless] and [[protect]]";
            return inconsistent(why).map_err(in_table(fail.place));
        }
    }
    for pause in &scenario.pauses {
        check_ends(pause.start, pause.stop).map_err(in_table(pause.place))?;
    }
    for route in &scenario.routes {
        check_ends(route.start, route.stop).map_err(in_table(route.place))?;
    }
    check_remedies(scenario)?;
    if let Some(measure) = &scenario.measure {
        check_measure(scenario, measure).map_err(in_table(measure.place))?;
    }
    for protect in &scenario.protects {
        check_protect(protect).map_err(in_table(protect.place))?;
    }
    let mut names = BTreeSet::new();
    for variant in &scenario.variants {
        if !names.insert(&variant.name.value) {
            let message = format!("duplicate variant \"{}\"; names must be unique", variant.name.as_str());
            return Err(LocatedError { offset: variant.name.place.0, message });
        }
    }
    Ok(())
}

fn inconsistent(why: impl Into<String>) -> Result<(), CheckError> {
    Err((Place(None), why.into()))
}

fn check_measure(scenario: &Scenario, measure: &Measure) -> Result<(), CheckError> {
    if measure.until <= measure.from {
        return inconsistent("`until` is not later than `from`; set a later time");
    }
    if measure.until > Time::ZERO + scenario.stop.after {
        let after = scenario.stop.after;
        return inconsistent(format!(
            "`until` is after the end of the run, {after} (stop.after); set an earlier time"
        ));
    }
    Ok(())
}

fn check_topology(topology: &Topology) -> Result<(), CheckError> {
    for rate in [Some(topology.rate), topology.host_rate, topology.switch_rate].into_iter().flatten() {
        check_rate(rate)?;
    }
    let latencies = [topology.switch_latency, topology.host_tx_latency, topology.host_rx_latency];
    let delays = [Some(topology.delay), topology.host_delay, topology.switch_delay].into_iter().flatten();
    delays.chain(latencies).try_for_each(check_delay)?;
    for changed in &topology.link_overrides {
        if changed.rate.is_none() && changed.delay.is_none() {
            return Err((
                changed.place,
                "no change for these links; set `rate` or `delay` or both".to_owned(),
            ));
        }
        let (rate, delay) =
            (changed.rate.map_or(Ok(()), check_rate), changed.delay.map_or(Ok(()), check_delay));
        rate.and(delay).map_err(|(_, why)| (changed.place, why))?;
    }
    match &topology.shape {
        Shape::Graph(graph) => check_graph(graph),
        Shape::CrossDc(both) => check_cross_dc(both),
        Shape::Pair(_) | Shape::Chain(_) | Shape::FatTree(_) | Shape::LeafSpine(_) => Ok(()),
    }
}

fn check_cross_dc(both: &CrossDc) -> Result<(), CheckError> {
    if let Some(links) = both.long_links.as_ref().filter(|links| links.get() > both.spines.get()) {
        let why =
            format!("{} long links for {} spines; at most one per spine", links.get(), both.spines.get());
        return Err((links.place, why));
    }
    check_delay(both.long_delay)?;
    both.long_rate.map_or(Ok(()), check_rate)
}

/// On slower links a long message, or a queue that fits in memory, would take longer than 64 bits of
/// picoseconds.
fn check_rate(rate: Rate) -> Result<(), CheckError> {
    const SLOWEST: Rate = Rate::from_bits_per_s(1_000_000);
    if rate < SLOWEST {
        return inconsistent(format!("a link of {rate} is too slow; at least {SLOWEST}"));
    }
    Ok(())
}

/// The longest path of any scenario must take less than 64 bits of picoseconds.
fn check_delay(delay: Span) -> Result<(), CheckError> {
    const LONGEST: Span = Span::from_ms(10_000);
    if delay > LONGEST {
        return inconsistent(format!("a delay of {delay} is too long; at most {LONGEST}"));
    }
    Ok(())
}

fn check_graph(graph: &Graph) -> Result<(), CheckError> {
    const NODES_MAX: usize = 200_000;
    let nodes = graph.hosts.len() + graph.switches.len();
    if graph.hosts.len() < 2 || nodes > NODES_MAX {
        return inconsistent(format!(
            "a graph with {} hosts and {} switches; give at least 2 hosts and at most {NODES_MAX} nodes",
            graph.hosts.len(),
            graph.switches.len()
        ));
    }
    let mut numbers = BTreeMap::new();
    for name in graph.hosts.iter().chain(&graph.switches) {
        if numbers.insert(name.as_str(), numbers.len()).is_some() {
            return Err((name.place, format!("duplicate node `{}`; names must be unique", name.as_str())));
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
                .ok_or_else(|| (link.place, unknown_name("node", end.as_str(), &known)))
        });
        let [a, b] = ends;
        let (a, b) = (a?, b?);
        if a == b {
            return Err((
                link.place,
                format!("`{}` is linked to itself; a link needs two different ends", link.ends[0].as_str()),
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
                format!("no path from `{first}` to `{}`; all hosts must be connected", host.as_str()),
            ));
        }
    }
    Ok(())
}

/// Connected components of a graph, as a forest.
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

fn check_switch(switch: &Switch) -> Result<(), CheckError> {
    if switch.flowlet_gap.is_some() && switch.balance.value != Balance::Flowlet {
        let why = "`flowlet_gap` needs balance = \"flowlet\"; set it, or remove `flowlet_gap`";
        return Err((switch.balance.place, why.to_owned()));
    }
    let mut numbers = BTreeSet::new();
    for class in &switch.classes {
        let number = class.number.get();
        if !numbers.insert(number) {
            return Err((
                class.number.place,
                format!("duplicate entry for class {number}; each class has one entry"),
            ));
        }
    }
    Ok(())
}

/// Checks the classes and that no other buffer limit applies.
fn check_lossless(scenario: &Scenario, lossless: &Lossless) -> Result<(), CheckError> {
    const CLASSES_MAX: usize = 8;
    let classes = &lossless.classes;
    let at_classes = |why: String| Err((classes.place, why));
    if classes.is_empty() {
        return at_classes("no lossless class; list at least one, or remove [switch.lossless]".to_owned());
    }
    if classes.len() > CLASSES_MAX {
        return at_classes(format!("{} lossless classes; a link has at most {CLASSES_MAX}", classes.len()));
    }
    let mut numbers = BTreeSet::new();
    if let Some(twice) = classes.iter().find(|class| !numbers.insert(class.get())) {
        return at_classes(format!("class {} is listed twice; list each once", twice.get()));
    }
    if scenario.topology.buffer.max().is_some() {
        return inconsistent(
            "the ports of a lossless switch share its buffer, so `topology.buffer` has no effect; remove it",
        );
    }
    check_delay(lossless.reaction)
}

/// Checks that the curve rises and marks frames.
fn check_ecn(ecn: &Ecn) -> Result<(), CheckError> {
    if ecn.kmin > ecn.kmax {
        return inconsistent(format!(
            "`kmin` of {} is above `kmax` of {}; marking starts at `kmin` and is certain above `kmax`",
            ecn.kmin, ecn.kmax
        ));
    }
    if ecn.pmax.get() <= 0.0 {
        return inconsistent("a `pmax` of 0 marks nothing below `kmax`; set a probability above 0");
    }
    Ok(())
}

/// Checks that the algorithm has its inputs, and that there are no parameters of another one.
fn check_congestion(scenario: &Scenario) -> Result<(), CheckError> {
    let transport = &scenario.transport;
    let congestion = &transport.congestion.value;
    let is_controlled = *congestion != Congestion::None;
    if is_controlled && transport.operation == Operation::Read {
        return inconsistent(
            "congestion control paces requests, and the data of a READ are responses; use write or send",
        );
    }
    if is_controlled && transport.rate != Pace::Line {
        return inconsistent(
            "congestion control sets the rate of each queue pair; remove `rate` or `congestion`",
        );
    }
    if congestion.needs_marks() && scenario.switch.ecn.is_none() {
        return inconsistent("DCQCN needs ECN marks; add [switch.ecn]");
    }
    if let Some(dcqcn) = &transport.dcqcn {
        if !congestion.needs_marks() {
            let why = "no queue pair uses DCQCN; set congestion = \"dcqcn-paper\" or \"hpcc-lineage\"";
            return Err((dcqcn.place, why.to_owned()));
        }
        check_dcqcn(dcqcn, &scenario.topology).map_err(|(_, why)| (dcqcn.place, why))?;
    }
    if let Some(swift) = &transport.swift
        && *congestion != Congestion::Swift
    {
        let why = "no queue pair uses Swift; set congestion = \"swift\"";
        return Err((swift.place, why.to_owned()));
    }
    Ok(())
}

fn check_dcqcn(dcqcn: &Dcqcn, topology: &Topology) -> Result<(), CheckError> {
    const TIMER_MIN: Span = Span::from_ns(100);
    const GAIN_MIN: f64 = 1.0 / 65_536.0;
    for (name, timer) in [("alpha_timer", dcqcn.alpha_timer), ("increase_timer", dcqcn.increase_timer)] {
        if let Some(timer) = timer.filter(|timer| *timer < TIMER_MIN) {
            return inconsistent(format!("`{name}` of {timer} is too short; at least {TIMER_MIN}"));
        }
    }
    if let Some(gain) = dcqcn.gain.filter(|gain| gain.get() < GAIN_MIN) {
        return inconsistent(format!("a `gain` of {} never changes α; at least 1/65536", gain.get()));
    }
    if dcqcn.byte_counter.and_then(Limit::max) == Some(Bytes::ZERO) {
        return inconsistent("a `byte_counter` of zero is invalid; set a size above zero, or \"unlimited\"");
    }
    let line = topology.host_rate.unwrap_or(topology.rate);
    if let Some(floor) = dcqcn.min_rate.filter(|floor| *floor > line) {
        return inconsistent(format!(
            "a `min_rate` of {floor} is above the {line} of the hosts' links; set at most that"
        ));
    }
    Ok(())
}

/// Checks that remedies for deadlocks have lossless switches.
fn check_remedies(scenario: &Scenario) -> Result<(), LocatedError> {
    let switch = &scenario.switch;
    let places = [
        ("watchdog", switch.watchdog.as_ref().map(|table| table.place)),
        ("demotion", switch.demotion.as_ref().map(|table| table.place)),
        ("probes", switch.probes.as_ref().map(|table| table.place)),
    ];
    let flaw = |place: Place, message: String| Err(LocatedError { offset: place.0, message });
    let Some(lossless) = &switch.lossless else {
        return match places.into_iter().find_map(|(name, place)| Some((name, place?))) {
            Some((name, place)) => {
                flaw(place, format!("[switch.{name}] needs lossless switches; add [switch.lossless]"))
            }
            None => Ok(()),
        };
    };
    if let Some(watchdog) = &switch.watchdog
        && watchdog.detection < watchdog.poll * 2
    {
        let why = format!("`detection` is below two polls of {}; set at least two polls", watchdog.poll);
        return flaw(watchdog.place, why);
    }
    if let Some(demotion) = &switch.demotion {
        if demotion.ttl_below.is_none() && demotion.bounces.is_none() {
            return flaw(
                demotion.place,
                "no frame would be demoted; set `ttl_below` or `bounces`".to_owned(),
            );
        }
        let class = demotion.class.get();
        if lossless.mask() >> class & 1 != 0 {
            return flaw(demotion.class.place, format!("class {class} is lossless; choose a lossy class"));
        }
    }
    Ok(())
}

fn check_workload(workload: &Workload, topology: &Topology) -> Result<(), CheckError> {
    match &workload.app {
        App::Poisson(poisson) => {
            if poisson.flows.is_none() && poisson.duration.is_none() {
                return inconsistent("flows would arrive without end; set `flows` or `duration` or both");
            }
            if poisson.duration.is_some_and(|duration| duration.as_ps() == 0) {
                return inconsistent("no flow arrives in a `duration` of zero; set a time above zero");
            }
            if let Sizes::Fixed(bytes) = poisson.sizes.value {
                if bytes == Bytes::ZERO {
                    let why = "empty flows create no load; set a size above zero";
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
        App::List(list) if list.file.trim().is_empty() => {
            Err((list.file.place, "`file` is empty; set a built-in list or a path ending in .csv".to_owned()))
        }
        App::List(_) | App::Registered(_) => Ok(()),
        App::Allreduce(app) => app.check(topology),
        App::Alltoall(app) => app.check(topology),
    }
}

/// The responder of a READ gets no notification, so it would never reply.
fn check_operation(workload: &Workload, operation: Operation) -> Result<(), CheckError> {
    match (&workload.app, operation) {
        (App::PingPong(_), Operation::Read) => inconsistent(
            "the responder of a READ gets no notification, so it cannot reply; use write or send for ping-pong",
        ),
        (App::Allreduce(_) | App::Alltoall(_), Operation::Read) => inconsistent(
            "the responder of a READ gets no notification, so it cannot continue; use write or send for collectives",
        ),
        _ => Ok(()),
    }
}

/// All flows that start together are in memory at once, so their number is bounded.
fn check_flows(flows: &Flows, topology: &Topology) -> Result<(), CheckError> {
    const FLOWS_MAX: u64 = 10_000_000;
    check_message(flows.bytes)?;
    if flows.pattern == Pattern::Uniform {
        return inconsistent(
            "`uniform` needs random arrivals; use point-to-point, permutation, full-mesh or incast",
        );
    }
    if flows.every.is_some() != (flows.rounds.get() > 1) {
        return inconsistent("repeated flows need `every` and `rounds` above 1; set both or neither");
    }
    let count = flows.endpoints().pairs(topology)?.len().saturating_mul(flows.per_pair());
    if count > FLOWS_MAX {
        return inconsistent(format!("{count} flows at once are too many; at most {FLOWS_MAX}"));
    }
    Ok(())
}

/// A message spans at most half of the sequence numbers (IBA 9.7.1).
fn check_message(bytes: Bytes) -> Result<(), CheckError> {
    const LONGEST: Bytes = Bytes::new(1 << 31);
    if bytes > LONGEST {
        return inconsistent(format!("a message of {bytes} is too long; at most 2GiB"));
    }
    Ok(())
}

fn check_endpoints(endpoints: Endpoints, topology: &Topology) -> Result<(), CheckError> {
    endpoints.pairs(topology).map(drop)
}

fn check_two(topology: &Topology, src: &Placed<Host>, dst: &Placed<Host>) -> Result<(), CheckError> {
    let found = |host: &Placed<Host>| topology.host(host).map_err(|why| (host.place, why));
    let (from, to) = (found(src)?, found(dst)?);
    let place = if dst.place == Place(None) { src.place } else { dst.place };
    differ(topology, from, to, place)
}

/// Checks that the end is after the start.
fn check_ends(start: Time, stop: Option<Time>) -> Result<(), CheckError> {
    if stop.is_some_and(|stop| stop <= start) {
        return inconsistent("`stop` is not later than `start`; set a later time");
    }
    Ok(())
}

fn check_protect(protect: &Protect) -> Result<(), CheckError> {
    check_ends(protect.start, protect.stop)?;
    if let Some(field) = protect.field_without_effect() {
        let by = if let Scheme::Fec { .. } = protect.by { "error correction" } else { "retransmission" };
        return inconsistent(format!("`{field}` has no effect with {by}; remove it"));
    }
    check_sample(protect)?;
    if protect.profile() == Profile::Prototype {
        if !protect.unordered.is_empty() {
            return inconsistent("the prototype has one order for all classes; remove `unordered`");
        }
        if protect.control_copies() != 1 {
            return inconsistent("the prototype sends each notification once; remove `control_copies`");
        }
        if protect.rtt_min.is_some() {
            return inconsistent("the prototype does not measure the round-trip time; remove `rtt_min`");
        }
    } else if protect.ack_queue.is_some() {
        return inconsistent("the hardened protocol always sends acknowledgements; remove `ack_queue`");
    } else if protect.switch() == SwitchKind::Tofino {
        return inconsistent(
            "the hardened protocol stores frames in memory, which a tofino lacks; use switch = \"ideal\", or profile = \"prototype\"",
        );
    }
    Ok(())
}

/// A sample must be long enough to show the loss; corrupted frames are stored one by one.
fn check_sample(protect: &Protect) -> Result<(), CheckError> {
    const CORRUPTED_MAX: u64 = 1_000_000;
    const LOSS_MIN: f64 = 1e-15;
    if let Some(field) = protect.field_without_start_at_loss() {
        return inconsistent(format!("`{field}` has no effect without `start_at_loss`; set both or neither"));
    }
    let (Some(loss), Some(sample)) = (protect.start_at_loss, protect.sample()) else { return Ok(()) };
    let (loss, frames) = (loss.get(), sample.frames);
    if loss < LOSS_MIN {
        return inconsistent(format!(
            "a loss of {loss:e} is too rare to measure; `start_at_loss` is at least {LOSS_MIN:e}"
        ));
    }
    let least = (1.0 / loss).ceil() as u64;
    if frames < least {
        return inconsistent(format!(
            "{frames} frames cannot show a loss of {loss:e}; `sample_frames` is at least {least}"
        ));
    }
    if sample.corrupted > CORRUPTED_MAX {
        let most = (CORRUPTED_MAX as f64 / loss) as u64;
        return inconsistent(format!(
            "{frames} frames are more than a loss of {loss:e} takes; `sample_frames` is at most {most}"
        ));
    }
    Ok(())
}

fn check_impair(impair: &Impair) -> Result<(), CheckError> {
    check_ends(impair.start, impair.stop)?;
    match &impair.kind {
        ImpairmentKind::Bursts(bursts) => {
            let (loss, length) = (bursts.loss.get(), bursts.length.get());
            // Each burst is followed by at least one frame that passes.
            let most = length / (length + 1.0);
            if loss > most {
                return inconsistent(format!(
                    "a loss of {loss} is impossible with bursts of {length} frames; at most {most:.4}"
                ));
            }
            Ok(())
        }
        ImpairmentKind::IpId(id) => {
            let (mask, value) = (id.mask.get(), id.value.get());
            if value & !mask != 0 {
                return inconsistent(format!(
                    "value {value:#06x} never matches under mask {mask:#06x}; set no bit outside the mask"
                ));
            }
            Ok(())
        }
        ImpairmentKind::Script(script) if script.rules.is_empty() && script.faults.is_none() => {
            inconsistent("a script without rules selects no frame; add a rule, or a file of `faults`")
        }
        ImpairmentKind::Script(Script { faults: Some(file), .. }) if file.trim().is_empty() => {
            Err((file.place, "`faults` is empty; set a path".to_owned()))
        }
        ImpairmentKind::BitErrors(_)
        | ImpairmentKind::Frames(_)
        | ImpairmentKind::GilbertElliott(_)
        | ImpairmentKind::Every(_)
        | ImpairmentKind::Script(_)
        | ImpairmentKind::Tilted(_)
        | ImpairmentKind::Registered(_) => Ok(()),
    }
}
