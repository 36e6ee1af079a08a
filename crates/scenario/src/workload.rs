//! Traffic of the hosts.

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
use crate::value::{self, Placed, SchemaOf};

/// Traffic of hosts. A scenario has one or more of these tables, which run at the same time.
///
/// A host is referred to by its number, by its name (`"h3"`, or its name in a graph), or as `"last"`. Data
/// always flow from `src` to `dst`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Kind of traffic.
    #[serde(rename = "kind")]
    #[schemars(flatten)]
    pub app: App,
    /// Start time.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Time>")]
    pub start: Time,
    /// Traffic class of its packets and acknowledgements. Default: `transport.class`, and 0 for an open-loop
    /// load (`cbr`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Within<u8, 0, 7>>,
    /// Protocol of its connections. Default: `transport.protocol`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Subflows of its TCP connections. Default: `transport.tcp.subflows`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subflows: Option<Placed<Within<u8, 1, 8>>>,
}

impl Workload {
    /// Returns the class of its packets.
    pub fn class_in(&self, transport: &Transport) -> u8 {
        match &self.app {
            App::Cbr(_) => self.load_class(),
            _ => self.class.unwrap_or(transport.class).get(),
        }
    }

    /// Returns the class of an open-loop load.
    pub fn load_class(&self) -> u8 {
        self.class.map_or(0, Within::get)
    }
}

/// Kind of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
pub enum App {
    /// Flows that arrive as a Poisson process at a given load, with sizes drawn from a table. It ends after
    /// `flows` flows or after `duration`, whichever is first; at least one of them is given.
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
    /// Flows of one size that all start at `start`; with `every`, repeatedly.
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
    /// An incast that loads its destination by 10 %:
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
    /// Messages back and forth between two hosts: each sends its message when the other's has arrived. An
    /// iteration ends with the reply.
    ///
    /// ```toml
    /// [[workload]]
    /// kind = "ping-pong"
    /// bytes = "1024B"
    /// iterations = 10000
    /// ```
    PingPong(PingPong),
    /// Consecutive messages with a fixed number outstanding. Each message is a flow: with `transport.qp =
    /// "per-pair"` all share one queue pair, otherwise each has its own.
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
    /// Flows from a file with the columns `src,dst,bytes,start_ns`; hosts by number, and lines that start
    /// with `#` are comments.
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
    /// Open-loop frames at a constant rate to a sink that counts them: no acknowledgements, no
    /// retransmissions.
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
    /// All-reduce in groups of hosts, as in data-parallel training. A host sends the next step when it has
    /// received the data of the last one. Each message is a flow, all messages from one member to another
    /// share a queue pair, and a group's job is complete with its last message.
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
    /// All-to-all in groups of hosts, as in mixtures of experts: each member sends a part of its data to each
    /// other member, all at once. Flows, queue pairs and jobs are as in `allreduce`.
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
    /// A workload that a program registered.
    #[schemars(skip)]
    Registered(Registered),
}

/// Parameters of [`App::Poisson`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Flow sizes. Tables: `websearch`, `datamining`, `datamining-vl2`, `google-rpc`, `google-search-rpc`,
    /// `fb-hadoop`, `fb-kv`, `alibaba-storage`, `alibaba-ebs`. A path is relative to the scenario file; its
    /// columns are `size_bytes,cumulative_percent`.
    pub sizes: Placed<Sizes>,
    /// Payload bytes relative to the rate of a host's link: the link of each source, or of the one
    /// destination of an incast.
    pub load: Load,
    /// Total number of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Within<u64, 1, 1_000_000_000_000>>,
    /// Time after `start` when the last flow may start.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub duration: Option<Span>,
    /// Pairs of sources and destinations.
    #[serde(default)]
    pub pattern: Pattern,
    /// Sources. Default: depends on the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Placed<Hosts>>,
    /// Destinations. Default: depends on the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst: Option<Placed<Hosts>>,
}

impl Poisson {
    /// Returns the pattern and its hosts.
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
    #[schemars(with = "SchemaOf<Bytes>")]
    pub bytes: Bytes,
    /// Pairs of sources and destinations; not `"uniform"`.
    pub pattern: Pattern,
    /// Flows per pair.
    #[serde(default = "one_flow")]
    pub count: Within<u64, 1, 1_000_000_000>,
    /// Interval after which all flows start again, finished or not.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub every: Option<Span>,
    /// Number of times that all flows start; more than 1 only with `every`.
    #[serde(default = "one_round")]
    pub rounds: Within<u32, 1, 1_000_000>,
    /// Sources. Default: depends on the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Placed<Hosts>>,
    /// Destinations. Default: depends on the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst: Option<Placed<Hosts>>,
}

fn one_round() -> Within<u32, 1, 1_000_000> {
    Within::fixed(1)
}

impl Flows {
    /// Returns the number of flows per pair in all rounds.
    pub fn per_pair(&self) -> u64 {
        self.count.get() * u64::from(self.rounds.get())
    }

    /// Returns the pattern and its hosts.
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
    #[schemars(with = "SchemaOf<Bytes>")]
    pub bytes: Bytes,
    /// Number of round trips.
    pub iterations: Within<u64, 1, 1_000_000_000_000>,
    /// Host that sends first.
    #[serde(default = "first")]
    pub src: Placed<Host>,
    /// Host that replies.
    #[serde(default = "last")]
    pub dst: Placed<Host>,
}

/// Parameters of [`App::Stream`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Size of each message.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub message: Bytes,
    /// Number of messages that are posted and not yet completed.
    #[serde(default = "depth")]
    pub depth: Within<u32, 1, 65_536>,
    /// Total number of messages. Default: until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Within<u64, 1, 1_000_000_000_000>>,
    /// Requester: with WRITE and SEND it sends the data, with READ it receives them.
    #[serde(default = "first")]
    pub src: Placed<Host>,
    /// Responder.
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
    /// Name of a built-in file, or path relative to the scenario file. `start` is added to its times.
    pub file: Placed<String>,
}

/// Parameters of [`App::Cbr`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Rate on the wire, including preambles and gaps.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub rate: Rate,
    /// Frame size in bytes, from the MAC header to the frame check sequence.
    #[serde(default = "frame")]
    pub frame: Within<u16, 64, 9216>,
    /// Initial TTL.
    #[serde(default = "ttl")]
    pub ttl: Within<u8, 1, 255>,
    /// Whether switches may trim its frames: see [switch.trim](#switchtrim).
    #[serde(default)]
    pub trimmable: bool,
    /// End time. Default: the end of the run.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Time>")]
    pub stop: Option<Time>,
    /// Sender.
    #[serde(default = "first")]
    pub src: Placed<Host>,
    /// Receiver.
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
    Placed::without_place(Host::Number(0))
}

fn last() -> Placed<Host> {
    Placed::without_place(Host::Last)
}
