//! From a scenario to partitions: [`validate`] checks it, [`plan`] assigns it to partitions and ports, and
//! [`assemble`] makes the simulation, which cannot fail.

mod assemble;
mod balance;
mod buffer;
mod collective;
mod congestion;
mod deadlock;
mod fail;
mod impair;
mod longest_path;
mod lossless;
mod nic_profile;
mod pause;
mod plan;
mod protect;
mod route;
mod selective;
mod tcp;
mod terms;
mod topology;
mod transport;
mod trim_switch;
mod trim_transport;
mod validate;
mod window;
mod workload;

use wiremend_scenario::Place;
use wiremend_units::{BadSetting, FlowId, LinkId};

use crate::registry::Registry;
pub(crate) use assemble::AssembledRun;
pub use impair::impairments;
pub use lossless::smallest_shared_buffer;
pub use nic_profile::apply_profile;
pub use plan::SimulationPlan;
pub use route::{ForwardingPhase, forwarding_phases};
pub use topology::build_graph;
pub use validate::memory_estimate;

/// Options of a run beside its scenario.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub struct Options {
    /// The seed of every random stream.
    pub seed: u64,
    /// Maximum number of threads; results do not depend on it.
    pub threads: usize,
    /// Makes every port a scheduled one; results do not depend on it.
    pub scheduled_ports: bool,
    /// Handles all events in order of time instead of node by node; results do not depend on it.
    pub time_order: bool,
    /// Events after which it is reconsidered whether all threads simulate or the first one alone; tiny networks
    /// then have one thread. `None`: all threads simulate. Results do not depend on it.
    pub thread_choice_events: Option<u64>,
    /// Skips time in which the network only repeats a pattern: looks for one after this number of events for each lane
    /// and frame in flight, which is what looking costs. `None`: simulates everything. Results do not depend on it,
    /// except the number of events.
    pub fast_forward_events: Option<u64>,
    /// Links to capture.
    pub captures: Vec<LinkId>,
    /// A flow to trace. The run then has one thread.
    pub trace: Option<FlowId>,
    /// Whether the trace holds frames of other connections too.
    pub trace_others: bool,
    /// Whether to log pause intervals of ports.
    pub log_pauses: bool,
    /// Memory limit: a run that needs more is rejected or stopped.
    pub memory_bytes_max: Option<u64>,
    /// Algorithms, workloads and impairments that the scenario uses by name.
    pub registry: Registry,
}

impl Options {
    /// Returns the default options: one thread, nothing recorded.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            threads: 1,
            scheduled_ports: false,
            time_order: false,
            thread_choice_events: None,
            fast_forward_events: None,
            captures: Vec::new(),
            trace: None,
            trace_others: false,
            log_pauses: false,
            memory_bytes_max: None,
            registry: Registry::default(),
        }
    }
}

/// Why a valid scenario file cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildError {
    /// The place in the scenario.
    pub place: Place,
    /// The error message, with a suggestion.
    pub what: String,
    /// Whether the cause is the machine and not the scenario.
    pub environment: bool,
}

impl BuildError {
    fn at(place: Place, what: impl Into<String>) -> Self {
        Self { place, what: what.into(), environment: false }
    }

    /// Returns a converter for errors in the settings of a registered entry, which the scenario names at
    /// `place`.
    fn setting(place: Place) -> impl Fn(BadSetting) -> Self {
        move |bad| Self::at(Place::at_offset(bad.offset).or(place), bad.what)
    }
}

/// Source of the files that a scenario names.
pub trait Files {
    /// Opens a file by its name in the scenario. The error is a complete message with the name.
    fn open(&self, name: &str) -> Result<Box<dyn std::io::BufRead>, String>;
}

#[cfg(test)]
mod tests {
    use wiremend_units::Span;

    use super::*;

    struct NoFiles;

    impl Files for NoFiles {
        fn open(&self, name: &str) -> Result<Box<dyn std::io::BufRead>, String> {
            Err(format!("no file {name}"))
        }
    }

    /// A scenario value may come from a program and not from a checked file: the core rejects what it cannot
    /// use, with its place.
    #[test]
    fn an_error_of_the_core_has_its_place() {
        let text = r#"
            title = "a stream"
            [topology]
            kind = "pair"
            [transport]
            protocol = "tcp"
            [transport.tcp]
            delayed_ack = "1ms"
            [[workload]]
            kind = "ping-pong"
            src = 0
            dst = 1
            bytes = "64B"
            iterations = 1
        "#;
        let file = wiremend_scenario::load("test.toml", text, &[]).unwrap();
        let mut scenario = file.variants.into_iter().next().unwrap().scenario;
        let options = Options::new(1);
        assert!(SimulationPlan::new(&scenario, &NoFiles, &options).is_ok());
        let table = scenario.transport.value.tcp.as_mut().unwrap();
        table.value.delayed_ack = Span::from_ms(501);
        let place = table.place;
        let error = SimulationPlan::new(&scenario, &NoFiles, &options).err().unwrap();
        assert_eq!((error.place, error.environment), (place, false));
        assert!(error.what.contains("delayed_ack must be at most 500ms"), "{}", error.what);
        assert_ne!(place, Place::default(), "the error has a place in the text");
    }
}
