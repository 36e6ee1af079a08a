//! From a scenario to parts that can run: what it asks for is judged ([`validate`]), laid out over the network and its parts ([`plan`]),
//! and made ([`assemble`]), which cannot fail.

mod assemble;
mod balance;
mod buffer;
mod collective;
mod congestion;
mod impair;
mod longest;
mod lossless;
mod pause;
mod plan;
mod protect;
mod remedy;
mod route;
mod selective;
mod tcp;
mod topology;
mod transport;
mod trim_switch;
mod trim_transport;
mod validate;
mod workload;

use wiremend_scenario::Place;
use wiremend_units::{BadSetting, FlowId, LinkId};

use crate::registry::Registry;
pub(crate) use assemble::Built;
pub use plan::Plan;
pub use route::{Phase, phases};
pub use topology::network;

/// How to run a scenario, besides what it says itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of every random stream.
    pub seed: u64,
    /// Threads at most; results do not depend on it.
    pub threads: usize,
    /// Make every port a scheduled one; results do not depend on it.
    pub scheduled: bool,
    /// Links whose frames an observer wants to see.
    pub captures: Vec<LinkId>,
    /// A flow to follow step by step, on one thread.
    pub trace: Option<FlowId>,
    /// Remember when ports had to hold.
    pub pauses: bool,
    /// Refuse or stop what would need more.
    pub memory_bytes_max: Option<u64>,
    /// What the scenario may name beside what this library has.
    pub registry: Registry,
}

impl Options {
    /// As plain as can be: one thread, nothing observed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            threads: 1,
            scheduled: false,
            captures: Vec::new(),
            trace: None,
            pauses: false,
            memory_bytes_max: None,
            registry: Registry::default(),
        }
    }
}

/// Why a scenario that reads well cannot be run, and where it says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildError {
    /// The place in the scenario.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub what: String,
    /// The machine lacks something, the scenario is fine.
    pub environment: bool,
}

impl BuildError {
    fn at(place: Place, what: impl Into<String>) -> Self {
        Self { place, what: what.into(), environment: false }
    }

    /// About a setting of what is registered, which the scenario names at that place.
    fn setting(place: Place) -> impl Fn(BadSetting) -> Self {
        move |bad| Self::at(Place::at_offset(bad.offset).or(place), bad.what)
    }
}

/// Where the files that a scenario names come from.
pub trait Files {
    /// Opens a file by the name in the scenario. The error says what is wrong, with the name.
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

    /// A scenario may come from elsewhere than a file that was checked: what a core cannot work with is refused, with its place.
    #[test]
    fn what_only_a_core_refuses_has_its_place() {
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
        assert!(Plan::new(&scenario, &NoFiles, &options).is_ok());
        let table = scenario.transport.value.tcp.as_mut().unwrap();
        table.value.delayed_ack = Span::from_ms(501);
        let place = table.place;
        let error = Plan::new(&scenario, &NoFiles, &options).err().unwrap();
        assert_eq!((error.place, error.environment), (place, false));
        assert!(error.what.contains("delayed_ack must be at most 500ms"), "{}", error.what);
        assert_ne!(place, Place::default(), "it stands in the text");
    }
}
