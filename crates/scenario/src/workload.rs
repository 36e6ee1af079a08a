//! What the hosts do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Rate, Span, Time};

use crate::collective::{AllReduce, AllToAll};
use crate::name::{Host, Hosts, Sizes};
use crate::pattern::{Endpoints, Pattern};
use crate::quantity::{Load, Within};
use crate::registered::Registered;
use crate::tcp::Protocol;
use crate::transport::Transport;
use crate::value::{self, Placed, Shown};

/// Something that hosts do. A scenario has one or more of these tables, and they go on side by side.
///
/// A host is named by its number, by its name (`"h3"`, or as a graph calls it) or as `"last"`. Data always flow
/// from `src` to `dst`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// What it is.
    #[serde(rename = "kind")]
    #[schemars(flatten)]
    pub app: App,
    /// When it begins.
    #[serde(default, with = "value")]
    #[schemars(with = "Shown<Time>")]
    pub start: Time,
    /// Traffic class of its packets and their acknowledgements; if left out, `transport.class`. An open-loop load (`cbr`) has
    /// a class of its own, 0 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Within<u8, 0, 7>>,
    /// What its connections speak; if left out, `transport.protocol`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Subflows of its TCP connections; if left out, `transport.tcp.subflows`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subflows: Option<Placed<Within<u8, 1, 8>>>,
}

impl Workload {
    /// The class of its packets.
    pub fn class_in(&self, transport: &Transport) -> u8 {
        match &self.app {
            App::Cbr(_) => self.load_class(),
            _ => self.class.unwrap_or(transport.class).get(),
        }
    }

    /// The class of an open-loop load.
    pub fn load_class(&self) -> u8 {
        self.class.map_or(0, Within::get)
    }
}

/// What hosts do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
pub enum App {
    /// Flows that arrive at random (a Poisson process), with sizes drawn from a table, at a load. It ends with
    /// the last of `flows`, or after `duration`, whatever comes first; at least one of them is given.
    ///
    /// ```toml
    /// [[workload]]
    /// kind = "poisson"
    /// sizes = "websearch"
    /// load = 0.5
    /// flows = 10000
    /// ```
    ///
    /// ```toml
    /// [[workload]]
    /// kind = "poisson"
    /// sizes = "64KiB"
    /// load = 0.3
    /// duration = "10ms"
    /// pattern = "point-to-point"
    /// src = "h0"
    /// dst = "last"
    /// ```
    Poisson(Poisson),
    /// Flows of one size that all begin at `start`; with `every`, again and again.
    ///
    /// ```toml
    /// [[workload]]
    /// kind = "flows"
    /// bytes = "1MB"
    /// pattern = "incast"
    /// dst = "h0"
    /// src = "h1..last"
    /// ```
    ///
    /// An incast that loads its destination by a tenth:
    ///
    /// ```toml
    /// [topology]
    /// kind = "fat-tree"
    /// k = 8
    /// rate = "100Gbps"
    ///
    /// [[workload]]
    /// kind = "flows"
    /// bytes = "64kB"
    /// pattern = "incast"
    /// every = "650us"
    /// rounds = 10
    /// ```
    Flows(Flows),
    /// Messages to and fro between two hosts: each side sends its message once the one of the other has arrived,
    /// and the next iteration begins when the reply has come.
    ///
    /// ```toml
    /// [[workload]]
    /// kind = "ping-pong"
    /// bytes = "1024B"
    /// iterations = 10000
    /// ```
    PingPong(PingPong),
    /// Messages one after the other, with some always under way. Each is a flow: with `transport.qp = "per-pair"` all
    /// of them share one queue pair, otherwise each has its own.
    ///
    /// ```toml
    /// [[workload]]
    /// kind = "stream"
    /// src = "h0"
    /// dst = "h1"
    /// message = "4MB"
    /// depth = 4
    /// count = 100
    /// ```
    Stream(Stream),
    /// Flows from a file with the columns `src,dst,bytes,start_ns`; hosts by number, lines that begin with `#` are
    /// comments.
    ///
    /// ```toml
    /// [topology]
    /// kind = "fat-tree"
    /// k = 4
    ///
    /// [[workload]]
    /// kind = "list"
    /// file = "bench/ws50-k4.csv"
    /// ```
    List(List),
    /// Frames at a constant rate to a sink that counts them: no acknowledgement, no retransmission.
    ///
    /// ```toml
    /// [[workload]]
    /// kind = "cbr"
    /// src = "h0"
    /// dst = "h1"
    /// rate = "10Gbps"
    /// frame = 1000
    /// start = "1ms"
    /// stop = "2ms"
    /// ```
    Cbr(Cbr),
    /// Groups of hosts that sum what each of them has until all have the sum, as data-parallel training does. A host sends the next step when it
    /// has the data of the last one. Each message is a flow, all messages from one member to another share a queue pair of their own,
    /// and a group's job is complete when its last message is.
    ///
    /// ```toml
    /// [topology]
    /// kind = "leaf-spine"
    /// leaves = 4
    /// spines = 4
    /// hosts_per_leaf = 4
    ///
    /// [[workload]]
    /// kind = "allreduce"
    /// bytes = "30MB"
    /// groups = 4
    /// placement = "strided"
    /// ```
    Allreduce(AllReduce),
    /// Groups of hosts in which each member sends a part of what it has to each other one, all at once, as mixtures of experts do. Flows,
    /// queue pairs and jobs are those of `allreduce`.
    ///
    /// ```toml
    /// [topology]
    /// kind = "fat-tree"
    /// k = 4
    ///
    /// [[workload]]
    /// kind = "alltoall"
    /// bytes = "10MB"
    /// groups = ["h0..h3", "h4, h6, h8"]
    /// ```
    Alltoall(AllToAll),
    /// One that a program has registered.
    #[schemars(skip)]
    Registered(Registered),
}

/// Parameters of [`App::Poisson`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Sizes of the flows. Tables: `websearch`, `datamining`, `datamining-vl2`, `google-rpc`, `google-search-rpc`,
    /// `fb-hadoop`, `fb-kv`, `alibaba-storage`, `alibaba-ebs`. A path is relative to the scenario file; its columns
    /// are `size_bytes,cumulative_percent`.
    pub sizes: Placed<Sizes>,
    /// Payload bytes over the rate of a host's link: the link of each source, or of the one destination of an
    /// incast.
    pub load: Load,
    /// Flows in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Within<u64, 1, 1_000_000_000_000>>,
    /// No flow begins later than this after `start`.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub duration: Option<Span>,
    /// Who sends to whom.
    #[serde(default)]
    pub pattern: Pattern,
    /// Sources; if left out, as the pattern says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Placed<Hosts>>,
    /// Destinations; if left out, as the pattern says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst: Option<Placed<Hosts>>,
}

impl Poisson {
    /// Who sends to whom.
    pub fn endpoints(&self) -> Endpoints<'_> {
        Endpoints { pattern: self.pattern, src: self.src.as_ref(), dst: self.dst.as_ref() }
    }
}

/// Parameters of [`App::Flows`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// Size of each flow.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Bytes>")]
    pub bytes: Bytes,
    /// Who sends to whom; not `"uniform"`.
    pub pattern: Pattern,
    /// Flows of each pair.
    #[serde(default = "one_flow")]
    pub count: Within<u64, 1, 1_000_000_000>,
    /// The time after which all of them begin anew, finished or not.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub every: Option<Span>,
    /// How many times they begin in all; more than once only with `every`.
    #[serde(default = "one_round")]
    pub rounds: Within<u32, 1, 1_000_000>,
    /// Sources; if left out, as the pattern says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Placed<Hosts>>,
    /// Destinations; if left out, as the pattern says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst: Option<Placed<Hosts>>,
}

fn one_round() -> Within<u32, 1, 1_000_000> {
    Within::fixed(1)
}

impl Flows {
    /// Flows of each pair in all rounds.
    pub fn per_pair(&self) -> u64 {
        self.count.get() * u64::from(self.rounds.get())
    }

    /// Who sends to whom.
    pub fn endpoints(&self) -> Endpoints<'_> {
        Endpoints { pattern: self.pattern, src: self.src.as_ref(), dst: self.dst.as_ref() }
    }
}

fn one_flow() -> Within<u64, 1, 1_000_000_000> {
    Within::fixed(1)
}

/// Parameters of [`App::PingPong`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PingPong {
    /// Size of each message.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Bytes>")]
    pub bytes: Bytes,
    /// How many times to and fro.
    pub iterations: Within<u64, 1, 1_000_000_000_000>,
    /// Who begins.
    #[serde(default = "first")]
    pub src: Placed<Host>,
    /// Who replies.
    #[serde(default = "last")]
    pub dst: Placed<Host>,
}

/// Parameters of [`App::Stream`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Size of each message.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub message: Bytes,
    /// Messages that are posted and not yet completed.
    #[serde(default = "depth")]
    pub depth: Within<u32, 1, 65_536>,
    /// Messages in all; if left out, the stream ends with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Within<u64, 1, 1_000_000_000_000>>,
    /// Who asks for the transfers: with WRITE and SEND the data leave here, with READ they arrive.
    #[serde(default = "first")]
    pub src: Placed<Host>,
    /// The other end.
    #[serde(default = "last")]
    pub dst: Placed<Host>,
}

fn depth() -> Within<u32, 1, 65_536> {
    Within::fixed(4)
}

/// Parameters of [`App::List`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The file: the name of a built-in one, or a path relative to the scenario file. `start` is added to its
    /// times.
    pub file: Placed<String>,
}

/// Parameters of [`App::Cbr`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Bits per second on the wire: frames with their preamble and gap.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Rate>")]
    pub rate: Rate,
    /// Size of each frame in bytes, from the MAC header to the frame check sequence.
    #[serde(default = "frame")]
    pub frame: Within<u16, 64, 9216>,
    /// Time to live.
    #[serde(default = "ttl")]
    pub ttl: Within<u8, 1, 255>,
    /// Whether switches may trim its frames: see [switch.trim](#switchtrim).
    #[serde(default)]
    pub trimmable: bool,
    /// When it ends; if left out, with the run.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Time>")]
    pub stop: Option<Time>,
    /// Who sends.
    #[serde(default = "first")]
    pub src: Placed<Host>,
    /// Who counts.
    #[serde(default = "last")]
    pub dst: Placed<Host>,
}

fn frame() -> Within<u16, 64, 9216> {
    Within::fixed(1024)
}

fn ttl() -> Within<u8, 1, 255> {
    Within::fixed(64)
}

fn first() -> Placed<Host> {
    Placed::nowhere(Host::Number(0))
}

fn last() -> Placed<Host> {
    Placed::nowhere(Host::Last)
}
