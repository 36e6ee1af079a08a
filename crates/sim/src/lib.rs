//! The deterministic packet-level simulator.
//!
//! A scenario is built into a [`Simulation`]: switches and hosts joined by lanes (one direction of a link each),
//! applications on the hosts, and the protocol cores of `wiremend-proto` at both ends of every connection. It
//! runs in simulated picoseconds and shows what happens to an [`Observer`].
//!
//! ```text
//!  app ──post──► host ──NIC──► lane ~~~► switch ──port──► lane ~~~► host ──► responder ──► app
//!   ▲             ▲                                                   │
//!   └─completion──┴──────────────◄~~~ acknowledgements ◄──────────────┘
//! ```
//!
//! Where to look: `event` orders events; `frame` is what travels, and `link` moves it over lanes; `port` has frames wait
//! their turn; `protect` is the ends of links that mend their losses; `switch` forwards, balances, marks, trims, and
//! shares the memory of lossless ports; `host` is NIC, connections and their ends; `app` is what hosts do; `engine` is
//! what one thread owns and the course of time over all of them; `build` makes it all from a scenario; `observe` shows
//! frames and steps of a run, and writes frames of a link as the bytes that would be on it.
//!
//! The same scenario and seed give the same rows, counters and digest, on any number of threads, in any build.

mod app;
mod build;
mod engine;
mod event;
mod frame;
mod host;
mod link;
mod memory;
mod network;
mod observe;
mod port;
mod protect;
mod registry;
mod simulation;
mod switch;

pub use app::{Action, Application, Applications, Done, Ended, Post, Raw as RawFrame, Site};
pub use build::{BuildError, Files, Options, Phase, Plan, network, phases};
pub use engine::{Ending, Observer, Progress};
pub use frame::{Body, Frame, Header, HeaderId, Probe, Raw};
pub use host::HostCounters;
pub use link::LaneCounters;
pub use observe::{Capture, Captured};
pub use protect::EndCounters;
pub use registry::Registry;
pub use simulation::{Results, Simulation};
pub use switch::deadlock::{Deadlock, PauseInterval};
pub use switch::{PauseCounters, SwitchCounters};
