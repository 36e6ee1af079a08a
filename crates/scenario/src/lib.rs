//! Scenario files: text in, typed and checked values out.
//!
//! A scenario says in TOML what a run is: a network, what its hosts do, what goes wrong on its links, and the
//! versions of all this that are to be compared. This crate understands such a text; it simulates nothing, opens no
//! file and knows no clock.
//!
//! ```
//! let text = r#"
//!     title = "one flow over a lossy link"
//!     [topology]
//!     kind = "pair"
//!     [[workload]]
//!     kind = "flows"
//!     pattern = "point-to-point"
//!     bytes = "1MB"
//!     [[impair]]
//!     kind = "frames"
//!     links = "hosts"
//!     rate = "1e-3"
//! "#;
//! let sets = ["transport.recovery=go-back-0".parse()?];
//! let file = wiremend_scenario::load("lossy.toml", text, &sets)?;
//! assert_eq!(file.variants[0].name, "base");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The way of a text:
//!
//! 1. It is parsed into a tree whose nodes know where they stand.
//! 2. Overrides (`--set`) and the changes of each variant are put into copies of the tree. A value keeps its place
//!    when it moves; an override's place is the override.
//! 3. Tables with a `kind` are brought into a form that serde reads without a buffer, and each tree is read into
//!    [`Scenario`]. Values refuse what they cannot be, so that an [`Error`] points at the value itself.
//! 4. What no value can know on its own is checked: whether hosts exist, a graph is whole, a window ends after it
//!    starts.
//!
//! An error is one line: file, line, column, what is wrong, what is allowed. What can only be known later (whether a
//! link or a flow list exists) is reported by [`File::error`] at the [`Place`] that the value remembers.
//!
//! The doc comments of the types are the reference page: [`reference()`] writes it, and [`schema_json`] gives the same
//! as a JSON schema for editors.

mod acceleration;
mod balance;
mod buffer;
pub mod builtin;
mod check;
mod collective;
mod congestion;
mod dcp;
mod deadlock;
mod ecn;
mod error;
mod impair;
mod load;
mod lossless;
mod mend;
mod name;
mod pattern;
mod pause;
mod protect;
mod quantity;
mod recovery;
mod reference;
mod registered;
mod route;
mod scenario;
mod switch;
mod tcp;
mod topology;
mod transport;
mod tree;
mod trim;
mod value;
mod workload;

pub use acceleration::Acceleration;
pub use balance::Balance;
pub use buffer::Buffer;
pub use collective::{Algorithm, AllReduce, AllToAll, Groups, Members, Placement};
pub use congestion::{Congestion, Dcqcn, Swift};
pub use dcp::{Dcp, DcpTracking};
pub use deadlock::{Deadlock, Demotion, LoopAction, Loops, Probes, StormAction, Watchdog};
pub use ecn::Ecn;
pub use error::Error;
pub use impair::{
    BitErrors, Bursts, Direction, Every, Fault, Frames, GilbertElliott, Impair, IpId, LinkFrame, PacketKind,
    Rule, Script, Tilted,
};
pub use load::{File, Override, Variant, load, load_with};
pub use lossless::Lossless;
pub use mend::{DummiesWhen, Mend, Preset};
pub use name::{Host, HostRange, Hosts, Line, LinkSet, Name, Sizes, SwitchSet};
pub use pattern::{Endpoints, Pairs, Pattern};
pub use pause::Pause;
pub use protect::{Profile, Protect, Sample, Scheme, SwitchKind};
pub use quantity::{Alpha, BurstLength, Limit, Load, Pace, Probability, Within};
pub use recovery::{Family, Recovery, SelectiveRepeat, Tracking};
pub use reference::{reference, schema_json};
pub use registered::{Names, Registered};
pub use route::Route;
pub use scenario::{Engine, Ports, Scenario, Seed, Series, Stop};
pub use switch::{Class, Switch};
pub use tcp::{Protocol, Tcp, TcpCongestion, TcpEcn, TcpReordering};
pub use topology::{Arity, Chain, CrossDc, FatTree, Graph, LeafSpine, Link, Pair, Shape, Topology, Unlike};
pub use transport::{Mtu, Operation, QueuePairs, Transport};
pub use trim::{Trim, TrimAcks, TrimWeight};
pub use value::{Place, Placed};
pub use workload::{App, Cbr, Flows, List, PingPong, Poisson, Stream, Workload};
