//! The workloads of a scenario, as applications on hosts.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use wiremend_fabric::{SizeTable, WORKLOADS, flow_list};
use wiremend_measure::FlowRow;
use wiremend_proto::cc::Needs;
use wiremend_scenario::{
    App as Kind, FlowSet, Host, Pairs, Pattern, Placed as At, Scenario, Sizes as Named, Within, Workload,
};
use wiremend_units::{Bytes, FlowId, HostId, Rate, Span, Time, stream_seed};

use super::collective::Collective;
use super::{BuildError, Files};
use crate::app::{
    Applications, Cbr, DestinationPicker, EchoServer, FlowList, PingPong, PlacedApp, PlannedFlow, Poisson,
    PoissonConfig, RawFrame, Sizes, Stream, WorkloadContext,
};
use crate::engine::MemoryLimit;
use crate::network::{Network, purpose};
use crate::registry::Registry;

/// Maximum bytes of a RoCE message (IBA 9.4.3).
const MESSAGE_BYTES_MAX: u64 = 1 << 31;

pub(super) fn place(
    scenario: &Scenario,
    files: &dyn Files,
    net: &Network,
    memory: MemoryLimit,
    registry: &Registry,
) -> Result<Vec<(HostId, PlacedApp)>, BuildError> {
    check_listed_workloads(scenario)?;
    let mut placed = Vec::new();
    for (number, workload) in scenario.workloads.iter().enumerate() {
        let first_flow = FlowId(number as u64 * FlowRow::PER_WORKLOAD);
        let number = number as u64;
        let builder = AppBuilder { scenario, files, net, memory, registry, workload, first_flow, number };
        let protocol = super::tcp::protocol(workload, &scenario.transport, net);
        let (apps, count) = builder.apps()?;
        check_listed_flows(scenario, number, count)?;
        for (host, app) in apps {
            let class = workload.class_in(&scenario.transport);
            placed.push((host, PlacedApp { port: number as u16, class, protocol, app, done: false }));
        }
    }
    Ok(placed)
}

/// Refuses a listed flow of a workload that the scenario does not have.
fn check_listed_workloads(scenario: &Scenario) -> Result<(), BuildError> {
    let workloads = scenario.workloads.len() as u64;
    refuse_listed(
        scenario,
        |flow| flow / FlowRow::PER_WORKLOAD >= workloads,
        |flow| {
            let number = flow / FlowRow::PER_WORKLOAD;
            format!(
                "no flow {flow}: it would be of workload.{number}, and the scenario has {workloads} workloads"
            )
        },
    )
}

/// Refuses a listed flow that a workload does not have; `count` is `None` if the number of its flows depends on the run.
fn check_listed_flows(scenario: &Scenario, number: u64, count: Option<u64>) -> Result<(), BuildError> {
    let Some(count) = count else { return Ok(()) };
    let first = number * FlowRow::PER_WORKLOAD;
    let is_missing = |flow: u64| flow / FlowRow::PER_WORKLOAD == number && flow - first >= count;
    refuse_listed(scenario, is_missing, |flow| match count.checked_sub(1) {
        Some(last) => {
            let last = first + last;
            format!("no flow {flow}: workload.{number} has {count} flows, numbered from {first} to {last}")
        }
        None => format!("no flow {flow}: workload.{number} has no flows"),
    })
}

fn refuse_listed(
    scenario: &Scenario,
    is_missing: impl Fn(u64) -> bool,
    why: impl Fn(u64) -> String,
) -> Result<(), BuildError> {
    let Some(flows) = scenario.series.as_ref().and_then(|series| series.flows.as_ref()) else {
        return Ok(());
    };
    let FlowSet::Listed(listed) = &flows.value else { return Ok(()) };
    match listed.iter().find(|flow| is_missing(**flow)) {
        Some(flow) => Err(BuildError::at(flows.place, why(*flow))),
        None => Ok(()),
    }
}

/// Returns all traffic classes in use, ascending.
pub(super) fn classes(scenario: &Scenario, needs: Needs) -> Vec<u8> {
    let mut classes: Vec<_> =
        scenario.workloads.iter().map(|workload| workload.class_in(&scenario.transport)).collect();
    if needs.cnp_interval.is_some() {
        classes.extend(scenario.transport.cnp_class.map(Within::get));
    }
    classes.sort_unstable();
    classes.dedup();
    classes
}

struct AppBuilder<'a> {
    scenario: &'a Scenario,
    files: &'a dyn Files,
    net: &'a Network,
    memory: MemoryLimit,
    registry: &'a Registry,
    workload: &'a At<Workload>,
    first_flow: FlowId,
    number: u64,
}

impl AppBuilder<'_> {
    /// Returns the applications, and the number of their flows if it does not depend on the run.
    fn apps(&self) -> Result<(Applications, Option<u64>), BuildError> {
        match &self.workload.app {
            Kind::Poisson(kind) => {
                // Fewer if `duration` ends first.
                self.poisson(kind).map(|apps| (apps, kind.flows.map(Within::get)))
            }
            Kind::Flows(kind) => self.flows(kind),
            Kind::PingPong(kind) => self.ping_pong(kind),
            Kind::Stream(kind) => {
                let (src, dst) = self.ends(&kind.src, &kind.dst)?;
                let count = kind.count.map(wiremend_scenario::Within::get);
                let bytes = self.message(kind.message)?;
                let start = self.workload.start;
                let stream =
                    Stream::new(dst, bytes, u64::from(kind.depth.get()), count, self.first_flow, start);
                Ok((vec![(src, Box::new(stream))], count))
            }
            Kind::List(kind) => self.list(kind),
            Kind::Allreduce(kind) => Collective::allreduce(self.scenario, self.workload.place, kind)
                .map(|all| (self.collective(&all), Some(all.flow_numbers()))),
            Kind::Alltoall(kind) => Collective::alltoall(self.scenario, self.workload.place, kind)
                .map(|all| (self.collective(&all), Some(all.flow_numbers()))),
            Kind::Registered(registered) => {
                let site = WorkloadContext {
                    hosts: self.net.graph.host_count(),
                    start: self.workload.start,
                    first_flow: self.first_flow,
                    seed: stream_seed(self.net.seed, purpose::ARRIVALS, self.number << 32),
                };
                let apps = self.registry.make_workload(registered, site);
                let apps = apps.map_err(BuildError::setting(self.workload.place))?;
                if let Some((host, _)) = apps.iter().find(|(host, _)| host.0 >= site.hosts) {
                    let what = format!(
                        "`{}` puts an application on host {}; the network has {} hosts",
                        registered.0.name(),
                        host.0,
                        site.hosts
                    );
                    return Err(BuildError::at(self.workload.place, what));
                }
                Ok((apps, None))
            }
            Kind::Cbr(kind) => {
                let (src, dst) = self.ends(&kind.src, &kind.dst)?;
                let raw = RawFrame {
                    dst,
                    len: kind.frame.get(),
                    ttl: kind.ttl.get(),
                    class: self.workload.load_class(),
                    trimmable: kind.trimmable,
                };
                let stop = kind.stop.unwrap_or(Time::MAX);
                Ok((vec![(src, Box::new(Cbr::new(raw, kind.rate, self.workload.start, stop)))], Some(0)))
            }
        }
    }

    fn poisson(&self, kind: &wiremend_scenario::Poisson) -> Result<Applications, BuildError> {
        let sizes = self.sizes(&kind.sizes)?;
        let pairs = kind
            .endpoints()
            .pairs(&self.scenario.topology)
            .map_err(|(place, what)| BuildError::at(place, what))?;
        let sources = destinations(&pairs);
        let count = sources.len() as u64;
        let start = self.workload.start;
        let stop = kind.duration.map_or(Time::MAX, |duration| start.saturating_add(duration));
        let flows = kind.flows.map_or(u64::MAX, wiremend_scenario::Within::get);
        let mut apps = Applications::new();
        for (index, (source, pick)) in sources.into_iter().enumerate() {
            let index = index as u64;
            // The load refers to the source's link; of an incast, to the destination's link.
            let (loaded, share) =
                if kind.pattern == Pattern::Incast { (pick.first(), count) } else { (source, 1) };
            let rate = self.net.lanes[self.net.uplink(loaded).index()].rate;
            apps.push((
                source,
                Box::new(Poisson::new(PoissonConfig {
                    mean_gap: mean_gap(&sizes, kind.load.get(), rate, share),
                    sizes: sizes.clone(),
                    pick,
                    flows: if flows == u64::MAX {
                        flows
                    } else {
                        flows / count + u64::from(index < flows % count)
                    },
                    start,
                    stop,
                    first_flow: FlowId(self.first_flow.0 + index),
                    flow_step: count,
                    seed: stream_seed(self.net.seed, purpose::ARRIVALS, self.number << 32 | index),
                })),
            ));
        }
        Ok(apps)
    }

    fn flows(&self, kind: &wiremend_scenario::Flows) -> Result<(Applications, Option<u64>), BuildError> {
        let pairs = kind
            .endpoints()
            .pairs(&self.scenario.topology)
            .map_err(|(place, what)| BuildError::at(place, what))?;
        let bytes = self.message(kind.bytes)?;
        self.check_memory(pairs.len() * kind.count.get())?;
        let mut planned: BTreeMap<HostId, Vec<PlannedFlow>> = BTreeMap::new();
        let mut flow = self.first_flow;
        for (src, dst) in &pairs {
            for number in 0..kind.per_pair() {
                let round = number / kind.count.get();
                let start = self.workload.start.saturating_add(kind.every.unwrap_or_default() * round);
                planned.entry(src).or_default().push(PlannedFlow { flow, dst, bytes, start });
                flow.0 += 1;
            }
        }
        Ok((lists(planned), Some(flow.0 - self.first_flow.0)))
    }

    fn list(&self, kind: &wiremend_scenario::List) -> Result<(Applications, Option<u64>), BuildError> {
        let at = |what: String| BuildError::at(kind.file.place, what);
        let reader = self.files.open(&kind.file).map_err(at)?;
        let flows = flow_list::parse(reader, self.net.graph.host_count());
        let flows = flows.map_err(|error| at(format!("{}: {error}", kind.file.value)))?;
        let mut planned: BTreeMap<HostId, Vec<PlannedFlow>> = BTreeMap::new();
        for (number, flow) in flows.iter().enumerate() {
            let start = self.workload.start.saturating_add(flow.start.since(Time::ZERO));
            let (bytes, number) = (flow.bytes.get() as u32, FlowId(self.first_flow.0 + number as u64));
            planned.entry(flow.src).or_default().push(PlannedFlow {
                flow: number,
                dst: flow.dst,
                bytes,
                start,
            });
        }
        Ok((lists(planned), Some(flows.len() as u64)))
    }

    fn collective(&self, collective: &Collective) -> Applications {
        collective.apps(self.workload.start, self.first_flow)
    }

    fn ping_pong(
        &self,
        kind: &wiremend_scenario::PingPong,
    ) -> Result<(Applications, Option<u64>), BuildError> {
        let (src, dst) = self.ends(&kind.src, &kind.dst)?;
        let bytes = self.message(kind.bytes)?;
        let client = PingPong::new(dst, bytes, kind.iterations.get(), self.first_flow, self.workload.start);
        let apps: Applications = vec![(src, Box::new(client)), (dst, Box::new(EchoServer::new(bytes)))];
        Ok((apps, Some(kind.iterations.get())))
    }

    fn ends(&self, src: &At<Host>, dst: &At<Host>) -> Result<(HostId, HostId), BuildError> {
        let host = |host: &At<Host>| {
            self.scenario.topology.host(&host.value).map_err(|what| BuildError::at(host.place, what))
        };
        let ends = (host(src)?, host(dst)?);
        if ends.0 == ends.1 {
            return Err(BuildError::at(dst.place, "`src` and `dst` are the same host; they must differ"));
        }
        Ok(ends)
    }

    /// Rejects flows that start at the same time and do not fit into memory.
    fn check_memory(&self, flows: u64) -> Result<(), BuildError> {
        if self.memory.fits(0, flows) {
            return Ok(());
        }
        let need = Bytes::new(flows.saturating_mul(self.memory.flow_bytes));
        let what = format!(
            "{flows} concurrent flows need about {need} of memory and {} are free; choose fewer, or share connections by \
             transport.qp = \"per-pair\"",
            Bytes::new(self.memory.bytes_max),
        );
        Err(BuildError { place: self.workload.place, what, environment: true })
    }

    fn message(&self, bytes: Bytes) -> Result<u32, BuildError> {
        if bytes.get() > MESSAGE_BYTES_MAX {
            let what =
                format!("{bytes} is too long for a message; at most {}", Bytes::new(MESSAGE_BYTES_MAX));
            return Err(BuildError::at(self.workload.place, what));
        }
        Ok(bytes.get() as u32)
    }

    fn sizes(&self, sizes: &At<Named>) -> Result<Sizes, BuildError> {
        let at = |what: String| BuildError::at(sizes.place, what);
        match &sizes.value {
            Named::Fixed(bytes) => self.message(*bytes).map(Sizes::Fixed),
            Named::Table(name) => {
                if let Some(table) = SizeTable::named(name) {
                    Ok(Sizes::Table(Arc::new(table.clone())))
                } else {
                    let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
                    Err(at(wiremend_units::unknown_name("size table", name, &names)))
                }
            }
            Named::File(name) => {
                let text = read_sizes(self.files.open(name).map_err(at)?);
                let table =
                    text.and_then(|text| SizeTable::parse_csv(&text).map_err(|error| error.to_string()));
                Ok(Sizes::Table(Arc::new(table.map_err(|why| at(format!("{name}: {why}")))?)))
            }
        }
    }
}

/// Reads the text of a size table, with a limit.
fn read_sizes(reader: impl Read) -> Result<String, String> {
    const BYTES_MAX: u64 = 4 << 20;
    let mut text = String::new();
    let read = reader.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > BYTES_MAX {
        return Err(format!("the size table is too long; at most {BYTES_MAX} bytes"));
    }
    Ok(text)
}

fn lists(planned: BTreeMap<HostId, Vec<PlannedFlow>>) -> Applications {
    planned.into_iter().map(|(host, flows)| (host, Box::new(FlowList::new(flows)) as _)).collect()
}

/// Returns each source once, with its destinations. A host whose only destination is itself is no source.
fn destinations(pairs: &Pairs) -> Vec<(HostId, DestinationPicker)> {
    match pairs {
        Pairs::Product { src, dst } => {
            let all: Arc<[HostId]> = dst.as_slice().into();
            src.iter()
                .filter_map(|src| Some((*src, DestinationPicker::new(*src, Arc::clone(&all))?)))
                .collect()
        }
        Pairs::Listed(pairs) => {
            let mut sources: Vec<(HostId, Vec<HostId>)> = Vec::new();
            let mut places = BTreeMap::new();
            for (src, dst) in pairs {
                let place = *places.entry(*src).or_insert(sources.len());
                if place == sources.len() {
                    sources.push((*src, Vec::new()));
                }
                sources[place].1.push(*dst);
            }
            sources
                .into_iter()
                .filter_map(|(src, dst)| Some((src, DestinationPicker::new(src, dst.into())?)))
                .collect()
        }
    }
}

/// Returns the mean time between flows that loads a link of `rate` with `load`, shared by `sources`.
fn mean_gap(sizes: &Sizes, load: f64, rate: Rate, sources: u64) -> Span {
    let seconds = sizes.mean_bytes() * 8.0 * sources as f64 / (load * rate.bits_per_s() as f64);
    Span::from_ps((seconds * 1e12).max(1.0) as u64)
}
