//! What a run will cost, from the size of its scenario.

use wiremend_fabric::SizeTable;
use wiremend_scenario::{App, Scenario, Shape, Sizes, Workload};
use wiremend_sim::memory_estimate;

/// Predicted cost of a run. Losses, congestion and timers are left out, so a prediction is right within a factor of a
/// few; measured runs of the same kind correct it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

/// CPU time of a run besides its packets, of a link, of a flow, and of a packet on a link with its acknowledgement.
const RUN_S: f64 = 1e-4;
const LINK_S: f64 = 1e-6;
const FLOW_S: f64 = 3e-6;
const HOP_S: f64 = 2e-7;
/// Packets of a run whose workload says nothing about its size, such as a list in a file.
const PACKETS_UNKNOWN: f64 = 1e5;
/// Most flows and frames of a host in flight.
const FLOWS_OPEN_PER_HOST: f64 = 32.0;
const FRAMES_OPEN_PER_HOST: f64 = 512.0;
/// Histograms and results of a run.
const RESULT_BYTES: u64 = 2 << 20;

impl Estimate {
    /// Predicts the cost of a run on one thread.
    pub fn new(scenario: &Scenario) -> Self {
        let hosts = f64::from(scenario.topology.host_count());
        let (mut flows, mut packets) = (0.0, 0.0);
        for workload in &scenario.workloads {
            let (more_flows, bytes) = volume(scenario, workload);
            flows += more_flows;
            packets += bytes.map_or(PACKETS_UNKNOWN, |bytes| bytes / f64::from(scenario.transport.mtu.get()));
        }
        packets = packets.max(flows);
        let hops = packets * hops(scenario);
        let frames = packets.min(hosts * FRAMES_OPEN_PER_HOST);
        let open = flows.min(hosts * FLOWS_OPEN_PER_HOST);
        let network = memory_estimate(scenario, 0, 0);
        let cpu_s = RUN_S + network as f64 / 800.0 * LINK_S + flows * FLOW_S + hops * HOP_S;
        let memory_bytes = memory_estimate(scenario, frames as u64, open as u64).saturating_add(RESULT_BYTES);
        Self { cpu_s, memory_bytes }
    }
}

/// Returns the number of flows and their bytes; `None` if the scenario does not say.
fn volume(scenario: &Scenario, workload: &Workload) -> (f64, Option<f64>) {
    let topology = &scenario.topology;
    let hosts = f64::from(topology.host_count());
    let until_stop = |start: wiremend_units::Time| {
        scenario.stop.after.as_ps().saturating_sub(start.as_ps()) as f64 * 1e-12
    };
    let rate_bytes = topology.rate.bits_per_s() as f64 / 8.0;
    match &workload.app {
        App::Poisson(app) => {
            let mean = match &app.sizes.value {
                Sizes::Table(name) => SizeTable::named(name).map(SizeTable::mean),
                Sizes::Fixed(bytes) => Some(bytes.get() as f64),
                Sizes::File(_) => None,
            };
            let mean = mean.unwrap_or(1e5);
            let lasts = app.duration.map_or(f64::INFINITY, |span| span.as_ps() as f64 * 1e-12);
            let arriving = lasts.min(until_stop(workload.start)) * app.load.get() * hosts * rate_bytes / mean;
            let flows = app.flows.map_or(arriving, |flows| arriving.min(flows.get() as f64));
            (flows, Some(flows * mean))
        }
        App::Flows(app) => {
            let pairs = app.endpoints().pairs(topology).map_or(0, |pairs| pairs.len());
            let flows = pairs as f64 * app.per_pair() as f64;
            (flows, Some(flows * app.bytes.get() as f64))
        }
        App::PingPong(app) => {
            let messages = 2.0 * app.iterations.get() as f64;
            (messages, Some(messages * app.bytes.get() as f64))
        }
        App::Stream(app) => {
            let whole = until_stop(workload.start) * rate_bytes;
            let bytes =
                app.count.map_or(whole, |count| whole.min(count.get() as f64 * app.message.get() as f64));
            (bytes / (app.message.get() as f64).max(1.0), Some(bytes))
        }
        App::Cbr(app) => {
            let end = app.stop.map_or(scenario.stop.after.as_ps(), wiremend_units::Time::as_ps);
            let lasts = end.saturating_sub(workload.start.as_ps()) as f64 * 1e-12;
            let bytes = lasts * app.rate.bits_per_s() as f64 / 8.0;
            let frames = bytes / f64::from(app.frame.get());
            (0.0, Some(frames * f64::from(scenario.transport.mtu.get())))
        }
        // Each member sends about its data twice around a ring, or once to all others.
        App::Allreduce(app) => (2.0 * hosts * hosts, Some(2.0 * hosts * app.bytes.get() as f64)),
        App::Alltoall(app) => (hosts * hosts, Some(hosts * app.bytes.get() as f64)),
        App::List(_) | App::Registered(_) => (0.0, None),
    }
}

/// Mean number of links on a path.
fn hops(scenario: &Scenario) -> f64 {
    match &scenario.topology.shape {
        Shape::Pair(_) => 2.0,
        Shape::Chain(chain) => f64::from(chain.switches.get()) + 1.0,
        Shape::FatTree(_) => 5.5,
        Shape::LeafSpine(_) => 3.8,
        Shape::CrossDc(_) => 5.0,
        Shape::Graph(_) => 4.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;

    fn estimate(name: &str, sets: &[&str]) -> Estimate {
        let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
        Estimate::new(&Input::load(name, &sets).unwrap().file.scenario)
    }

    /// Every scenario of the library has a finite prediction, and more work costs more.
    #[test]
    fn predictions_grow_with_the_work() {
        for name in wiremend_scenario::builtin::names() {
            let Estimate { cpu_s, memory_bytes } = estimate(name, &[]);
            assert!(cpu_s.is_finite() && cpu_s > 0.0 && memory_bytes > 0, "{name}: {cpu_s} {memory_bytes}");
        }
        let small = estimate("tour", &["workload.0.flows=100"]);
        let large = estimate("tour", &["workload.0.flows=10000"]);
        assert!(large.cpu_s > 20.0 * small.cpu_s, "{small:?} {large:?}");
        let wide = estimate("tour", &["workload.0.flows=100", "topology.k=16"]);
        assert!(wide.memory_bytes > 5 * small.memory_bytes, "{small:?} {wide:?}");
    }
}
