//! The deterministic packet-level simulator.
//!
//! A [`Simulation`] is built from a scenario. It has switches and hosts joined by lanes (one direction of a
//! link each), applications on the hosts, and the protocol cores of `wiremend-proto` at both ends of every
//! connection. Its time counts picoseconds. An [`Observer`] receives the events of the run.
//!
//! ```text
//!  app ──post──► host ──NIC──► lane ~~~► switch ──port──► lane ~~~► host ──► responder ──► app
//!   ▲             ▲                                                   │
//!   └─completion──┴──────────────◄~~~ acknowledgements ◄──────────────┘
//! ```
//!
//! Modules: `event` orders events. `frame` defines frames, and `link` moves them over lanes. `port` queues
//! frames. `protect` holds the ends of protected links. `switch` forwards, balances, marks and trims, and
//! shares the buffers of lossless switches. `host` has the NIC and the connections. `app` has the
//! applications. `engine` runs the partitions, one thread each. `build` makes all of it from a scenario.
//! `observe` captures and traces frames.
//!
//! The same scenario and seed give the same rows, counters and digest on any number of threads and in any
//! build.

mod app;
mod build;
mod engine;
mod event;
mod frame;
mod host;
mod lane_rows;
mod link;
mod memory;
mod network;
mod observe;
mod port;
mod protect;
mod registry;
mod simulation;
mod switch;

pub use app::{
    Action, Application, Applications, FlowResult, MessageResult, Post, RawFrame, WorkloadContext,
};
pub use build::{
    BuildError, Files, ForwardingPhase, Options, SimulationPlan, apply_profile, build_graph,
    forwarding_phases, impairments, memory_estimate, smallest_shared_buffer,
};
pub use engine::{EndReason, Observer, Progress};
pub use frame::{Body, Frame, Header, LossCause, Probe, TrimState};
pub use host::HostCounters;
pub use link::LaneCounters;
pub use network::{FlowPath, FlowPaths};
pub use observe::{Capture, CapturedFrame, FoundCause};
pub use protect::LinkEndCounters;
pub use registry::Registry;
pub use simulation::{Results, Simulation};
pub use switch::deadlock::{Deadlock, PauseInterval};
pub use switch::{PauseCounters, SwitchCounters};
