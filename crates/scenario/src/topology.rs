//! The network: its shape, links and hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, HostId, Rate, Span};

use crate::name::{Host, Hosts, LinkSet, Name};
use crate::quantity::{Limit, Within};
use crate::value::{self, Placed, Refusal, Scalar, SchemaOf, Value, as_value};
use wiremend_units::unknown_name;

/// The network: hosts with one port each, output-queued switches, and full-duplex links.
///
/// `rate` and `delay` apply to all links. `host_…` and `switch_…` override them for links between a host and
/// a switch, and for links between two switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Topology {
    /// Shape of the network.
    #[serde(rename = "kind")]
    #[schemars(flatten)]
    pub shape: Shape,
    /// Rate of all links. All rates of links are at least 1 Mbps.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub rate: Rate,
    /// Propagation delay of all links. All delays and latencies are at most 10 s.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    pub delay: Span,
    /// Rate of links between a host and a switch. Default: `rate`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub host_rate: Option<Rate>,
    /// Delay of links between a host and a switch. Default: `delay`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub host_delay: Option<Span>,
    /// Rate of links between two switches. Default: `rate`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub switch_rate: Option<Rate>,
    /// Delay of links between two switches. Default: `delay`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub switch_delay: Option<Span>,
    /// Forwarding latency of a switch, from the last bit received to the earliest transmission.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub switch_latency: Span,
    /// Transmit latency of a host, from its decision to send to the first bit.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub host_tx_latency: Span,
    /// Receive latency of a host, from the last bit to the processing of the frame.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub host_rx_latency: Span,
    /// Size of the queue at each output port of a switch, in bytes; frames that do not fit are dropped.
    /// `[[switch.buffer]]` overrides it for single switches.
    pub buffer: Limit<Bytes>,
    /// Rates and delays of single links; if several entries match a link, the last one applies.
    #[serde(rename = "link", skip_serializing_if = "Vec::is_empty")]
    pub link_overrides: Vec<Placed<LinkOverride>>,
}

impl Default for Topology {
    fn default() -> Self {
        Self {
            shape: Shape::Pair(Pair {}),
            rate: Rate::gbps(100),
            delay: Span::from_us(1),
            host_rate: None,
            host_delay: None,
            switch_rate: None,
            switch_delay: None,
            switch_latency: Span::ZERO,
            host_tx_latency: Span::ZERO,
            host_rx_latency: Span::ZERO,
            buffer: Limit::Unlimited,
            link_overrides: Vec::new(),
        }
    }
}

/// Shape of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
pub enum Shape {
    /// Two hosts `h0` and `h1` at the switch `tor`.
    ///
    /// ```toml
    /// [topology]
    /// kind = "pair"
    /// delay = "100ns"
    /// ```
    Pair(Pair),
    /// A row of switches `s0`, `s1`, … with hosts at both ends: the first half of the hosts at the first
    /// switch, the second half at the last one.
    ///
    /// ```toml
    /// [topology]
    /// kind = "chain"
    /// switches = 3
    /// hosts_per_end = 4
    /// switch_rate = "40Gbps"
    /// ```
    Chain(Chain),
    /// The fat-tree of k-port switches of Al-Fares et al. (SIGCOMM 2008): k³/4 hosts, numbered by pod and
    /// then by edge switch. Switches are `edge0-0` and `agg0-0` (pod, number) and `core0`.
    ///
    /// ```toml
    /// [topology]
    /// kind = "fat-tree"
    /// k = 4
    /// ```
    FatTree(FatTree),
    /// Two layers: each leaf `leaf0`, … is connected to each spine `spine0`, …. Hosts are numbered by leaf.
    /// With fewer spines than hosts per leaf the network is oversubscribed.
    ///
    /// ```toml
    /// [topology]
    /// kind = "leaf-spine"
    /// leaves = 4
    /// spines = 2
    /// hosts_per_leaf = 8
    /// switch_rate = "400Gbps"
    /// ```
    LeafSpine(LeafSpine),
    /// Two data centres, each a leaf–spine network, joined by long links between spines; 100 km of fibre take
    /// 500 µs. Numbers of hosts, leaves and spines of the second continue those of the first. Spine i of the
    /// first is connected to spine i of the second: with 4 spines each, `spine0-spine4`.
    ///
    /// ```toml
    /// [topology]
    /// kind = "cross-dc"
    /// leaves = 4
    /// spines = 4
    /// hosts_per_leaf = 8
    /// long_delay = "5ms"
    /// ```
    CrossDc(CrossDc),
    /// Any network, given by its links. Each host has one link, and all hosts are connected.
    ///
    /// ```toml
    /// [topology]
    /// kind = "graph"
    /// hosts = ["a", "b"]
    /// switches = ["left", "right"]
    /// links = [
    ///   { ends = ["a", "left"] },
    ///   { ends = ["left", "right"], rate = "40Gbps", delay = "5us" },
    ///   { ends = ["right", "b"] },
    /// ]
    /// ```
    Graph(Graph),
}

/// Parameters of [`Shape::Pair`]: none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {}

/// Parameters of [`Shape::Chain`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Number of switches.
    pub switches: Within<u32, 1, 1000>,
    /// Hosts at each end.
    #[serde(default = "one_host")]
    pub hosts_per_end: Within<u32, 1, 1000>,
}

fn one_host() -> Within<u32, 1, 1000> {
    Within::fixed(1)
}

/// Parameters of [`Shape::FatTree`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Ports of a switch; there are k pods of k²/4 hosts.
    pub k: Arity,
}

/// Ports of a fat-tree's switch: even, from 2 to 128 (524 288 hosts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity(u32);

impl Arity {
    /// Returns the number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Value for Arity {
    fn expected() -> String {
        "an even number from 2 to 128".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["integer"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Integer(k @ 2..=128) if k % 2 == 0 => Ok(Self(*k as u32)),
            Scalar::Integer(k) => Err(format!("invalid k = {k}; expected {}", Self::expected()).into()),
            _ => Err(Refusal::Type),
        }
    }

    fn write(&self) -> Scalar {
        Scalar::Integer(self.0.into())
    }
}

as_value!(Arity);

/// Parameters of [`Shape::LeafSpine`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Switches with hosts.
    pub leaves: Within<u32, 1, 1024>,
    /// Switches that connect the leaves.
    pub spines: Within<u32, 1, 256>,
    /// Hosts at each leaf.
    pub hosts_per_leaf: Within<u32, 1, 256>,
}

/// Parameters of [`Shape::CrossDc`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossDc {
    /// Leaves of each data centre.
    pub leaves: Within<u32, 1, 1024>,
    /// Spines of each data centre.
    pub spines: Within<u32, 1, 256>,
    /// Hosts at each leaf.
    pub hosts_per_leaf: Within<u32, 1, 256>,
    /// Number of spines of each data centre that have a long link, from the first. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_links: Option<Placed<Within<u32, 1, 256>>>,
    /// Delay of a long link; 100 km of fibre take 500 µs.
    #[serde(default = "hundred_km", with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    pub long_delay: Span,
    /// Rate of a long link. Default: that of the other links between switches.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub long_rate: Option<Rate>,
}

fn hundred_km() -> Span {
    Span::from_us(500)
}

impl CrossDc {
    /// Returns the number of long links.
    pub fn long_links(&self) -> u32 {
        self.long_links.as_ref().map_or(self.spines.get(), |links| links.get())
    }
}

/// Rate or delay of single links, in a network of any shape.
///
/// ```toml
/// [topology]
/// kind = "leaf-spine"
/// leaves = 2
/// spines = 2
/// hosts_per_leaf = 4
///
/// [[topology.link]]
/// links = ["leaf0-spine1", "leaf1-spine1"]
/// rate = "10Gbps"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkOverride {
    /// The links.
    pub links: Placed<LinkSet>,
    /// Their rate, if it differs.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub rate: Option<Rate>,
    /// Their delay, if it differs.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub delay: Option<Span>,
}

/// Parameters of [`Shape::Graph`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Names of the hosts, in the order of their numbers.
    pub hosts: Vec<Placed<Name>>,
    /// Names of the switches.
    pub switches: Vec<Placed<Name>>,
    /// The links. A link is named by its ends, in this order: `a-left`.
    pub links: Vec<Placed<Link>>,
}

/// A link of a [`Graph`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Two nodes; forward is from the first to the second.
    #[schemars(with = "Vec<Name>", length(min = 2, max = 2))]
    pub ends: [Name; 2],
    /// Its rate. Default: that of its kind of link.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub rate: Option<Rate>,
    /// Its delay. Default: that of its kind of link.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub delay: Option<Span>,
}

impl Topology {
    /// Returns the number of hosts.
    pub fn host_count(&self) -> u32 {
        match &self.shape {
            Shape::Pair(_) => 2,
            Shape::Chain(chain) => 2 * chain.hosts_per_end.get(),
            Shape::FatTree(tree) => tree.k.get().pow(3) / 4,
            Shape::LeafSpine(layers) => layers.leaves.get() * layers.hosts_per_leaf.get(),
            Shape::CrossDc(both) => 2 * both.leaves.get() * both.hosts_per_leaf.get(),
            Shape::Graph(graph) => graph.hosts.len() as u32,
        }
    }

    /// Returns the name of a host: `h0`, `h1`, …, or the given name in a graph.
    pub fn host_name(&self, host: HostId) -> String {
        match &self.shape {
            Shape::Graph(graph) => graph.hosts[host.index()].as_str().to_owned(),
            _ => host.to_string(),
        }
    }

    /// Returns the number of a host, or an error if there is none.
    pub fn host(&self, host: &Host) -> Result<HostId, String> {
        let count = self.host_count();
        let found = match host {
            Host::Last => count.checked_sub(1),
            Host::Number(number) => Some(*number),
            Host::Name(name) => self.number_of(name),
        };
        found.filter(|number| *number < count).map(HostId).ok_or_else(|| self.no_such_host(host))
    }

    /// Returns the numbers of hosts in order, or an error if one does not exist.
    pub fn hosts(&self, hosts: &Hosts) -> Result<Vec<HostId>, String> {
        let Hosts::Ranges(ranges) = hosts else {
            return Ok((0..self.host_count()).map(HostId).collect());
        };
        let mut meant = Vec::new();
        for range in ranges {
            let (first, last) = (self.host(&range.first)?, self.host(&range.last)?);
            if first > last {
                let (first, last) = (self.host_name(first), self.host_name(last));
                return Err(format!("the range {first}..{last} is reversed; write {last}..{first}"));
            }
            meant.extend((first.0..=last.0).map(HostId));
        }
        Ok(meant)
    }

    fn number_of(&self, name: &str) -> Option<u32> {
        if let Shape::Graph(graph) = &self.shape {
            return graph.hosts.iter().position(|host| host.as_str() == name).map(|at| at as u32);
        }
        // Only the canonical spelling is a name: "h07" is not host 7.
        let number = name.strip_prefix('h')?.parse().ok()?;
        (HostId(number).to_string() == name).then_some(number)
    }

    fn no_such_host(&self, host: &Host) -> String {
        let wanted = match host {
            Host::Number(number) => number.to_string(),
            Host::Name(name) => name.clone(),
            Host::Last => "last".to_owned(),
        };
        match &self.shape {
            Shape::Graph(graph) => unknown_name(
                "host",
                &wanted,
                &graph.hosts.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
            ),
            _ => format!("unknown host `{wanted}`; the hosts are h0 to h{}", self.host_count() - 1),
        }
    }
}
