//! Scenario files: text in, typed and checked values out.
//!
//! A scenario describes a run in TOML: a network, its workloads and impairments, and the variants to compare. This
//! crate parses such a text. It does not simulate, open files, or read a clock.
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
//! Steps from text to scenario:
//!
//! 1. The text is parsed into a tree whose nodes have a place in the text.
//! 2. Overrides (`--set`) and the changes of each variant are applied to copies of the tree. A value keeps its place
//!    when it moves; the place of an override is the override.
//! 3. Other spellings of enumerated names are replaced by the names.
//! 4. Tables with a `kind` get a form that serde reads without a buffer, and each tree is read into a [`Scenario`].
//!    Each type checks its own value, so that an [`Error`] points at the value itself.
//! 5. Checks of more than one value follow: whether hosts exist, a graph is connected, an end is after its start.
//!
//! An error is one line: file, line, column, reason, allowed values. Errors that are found later (a link or a flow
//! list does not exist) are reported by [`File::error`] at the [`Place`] of the value.
//!
//! The doc comments of the types are the reference pages, which [`reference()`] writes. [`schema_json`] returns the
//! same as a JSON schema for editors.

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
mod effective;
mod error;
mod fail;
mod flow_set;
mod host_delay;
mod impair;
mod load;
mod lossless;
mod measure;
mod mend;
mod name;
mod nic_profile;
mod pattern;
mod pause;
mod protect;
mod quantity;
mod recovery;
mod reference;
mod registered;
mod route;
mod scenario;
mod schema;
mod spelling;
mod switch;
mod tcp;
mod topology;
mod transport;
mod tree;
mod trim;
mod value;
mod window;
mod workload;

pub use acceleration::Acceleration;
pub use balance::Balance;
pub use buffer::Buffer;
pub use collective::{Algorithm, AllReduce, AllToAll, Groups, Members, Placement};
pub use congestion::{Congestion, Dcqcn, Swift};
pub use dcp::{Dcp, DcpRetransmit, DcpTracking};
pub use deadlock::{Deadlock, Demotion, LoopAction, Loops, Probes, StormAction, Watchdog};
pub use ecn::Ecn;
pub use effective::spelled;
pub use error::{Error, read_toml};
pub use fail::Fail;
pub use flow_set::{FlowCount, FlowSet};
pub use host_delay::{HostDelay, HostDelayQuantiles};
pub use impair::{
    BitErrors, Bursts, Direction, Every, Frames, GilbertElliott, Impair, ImpairmentKind, IpId, LinkFrame,
    PacketKind, Rule, Script, Tilted,
};
pub use load::{File, Override, Variant, load, load_with};
pub use lossless::Lossless;
pub use measure::Measure;
pub use mend::{DummiesWhen, Mend, Preset};
pub use name::{Host, HostRange, Hosts, Line, LinkSet, Name, Sizes, SwitchSet};
pub use nic_profile::{
    Acks, AfterLastAck, AfterNak, DummyReaction, Duplicates, NakSent, NicProfile, NicRequester, NicResponder,
    NicTimer, NoBuffer, OutOfOrder, ReadGap, RepeatedNaks, Retries, WrongIcrc,
};
pub use pattern::{Endpoints, Pairs, Pattern};
pub use pause::Pause;
pub use protect::{LossSample, Profile, Protect, Scheme, SwitchKind};
pub use quantity::{Alpha, BurstLength, Limit, Load, Pace, Probability, Within};
pub use recovery::{Recovery, RecoveryFamily, SelectiveRepeat, Tracking};
pub use reference::{ReferencePage, reference};
pub use registered::{Registered, RegisteredNames};
pub use route::Route;
pub use scenario::{Engine, Ports, Scenario, Seed, Series, Stop, Ties};
pub use schema::schema_json;
pub use switch::{ClassWeight, Switch};
pub use tcp::{Protocol, Tcp, TcpCongestion, TcpEcn, TcpReordering};
pub use topology::{
    Arity, Chain, CrossDc, FatTree, Graph, LeafSpine, Link, LinkOverride, Pair, Shape, Topology,
};
pub use transport::{FirstPsn, FrameSizes, Mtu, Operation, QueuePairs, Transport};
pub use trim::{Trim, TrimAcks, TrimWeight};
pub use value::{Place, Placed};
pub use window::{Window, WindowPackets};
pub use workload::{App, Cbr, Flows, List, PingPong, Poisson, Stream, Workload};
