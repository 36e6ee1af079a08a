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
//! Where to look: `queue` orders events; `wires` moves frames over lanes, and `egress` has them wait their turn;
//! `lossless` is the buffer that the ports of a switch share, and what it tells its neighbours; `deadlock` is about ports
//! that wait for each other;
//! `part` is what one thread owns and how a switch forwards; `host` is NIC, connections and their ends; `app` is
//! what hosts do; `run` is the course of time over all parts; `build` makes it all from a scenario;
//! `capture` writes frames of a link as the bytes that would be on it.
//!
//! The same scenario and seed give the same rows, counters and digest, on any number of threads, in any build.

mod app;
mod balance;
mod barrier;
mod build;
mod capture;
mod cause;
mod deadlock;
mod detour;
mod egress;
mod frame;
mod host;
mod ideal;
mod lossless;
mod mark;
mod network;
mod notice;
mod observe;
mod pages;
mod parities;
mod part;
mod pause;
mod port;
mod prefetch;
mod protect;
mod queue;
mod rare;
mod repeat;
mod ring;
mod run;
mod schedule;
mod script;
mod simulation;
mod source;
mod store;
mod trim;
mod wires;

pub use build::{BuildError, Files, Phase, network, phases};
pub use capture::Capture;
pub use deadlock::{Deadlock, PauseInterval, Probe};
pub use frame::{Frame, Kind};
pub use host::HostCounters;
pub use lossless::{PauseCounters, SwitchCounters};
pub use observe::Captured;
pub use protect::{EndCounters, Header, HeaderId};
pub use run::{Ending, Observer, Progress};
pub use simulation::{LaneCounters, Options, Results, Simulation};
