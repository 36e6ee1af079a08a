//! A complete scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::deadlock::Deadlock;
use crate::fail::Fail;
use crate::flow_set::FlowSet;
use crate::impair::Impair;
use crate::measure::Measure;
use crate::mend::Mend;
use crate::name::{Line, LinkSet};
use crate::pause::Pause;
use crate::protect::Protect;
use crate::quantity::Within;
use crate::route::Route;
use crate::switch::Switch;
use crate::topology::Topology;
use crate::transport::Transport;
use crate::value::{self, Placed, SchemaOf};
use crate::workload::Workload;

/// A network, its workloads and impairments: everything that a run needs except flow lists and size tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Title, in one line.
    pub title: Line,
    /// Purpose and expected result, in about three sentences.
    #[serde(default)]
    pub about: String,
    /// Seed of all random streams. The same seed gives the same run.
    #[serde(default = "seed")]
    pub seed: Seed,
    /// The network.
    pub topology: Placed<Topology>,
    /// Queueing and forwarding in switches.
    #[serde(default)]
    pub switch: Switch,
    /// The transport of connections.
    #[serde(default)]
    pub transport: Placed<Transport>,
    /// Dummies and copies that prevent timeouts.
    #[serde(default)]
    pub mend: Placed<Mend>,
    /// Settings of the simulator.
    #[serde(default)]
    pub engine: Engine,
    /// The end of a run.
    #[serde(default)]
    pub stop: Stop,
    /// Traffic of the hosts: at least one workload.
    #[serde(rename = "workload", default)]
    pub workloads: Vec<Placed<Workload>>,
    /// Impairments of links.
    #[serde(rename = "impair", default)]
    pub impairs: Vec<Placed<Impair>>,
    /// Failures of links and switches.
    #[serde(rename = "fail", default, skip_serializing_if = "Vec::is_empty")]
    pub fails: Vec<Placed<Fail>>,
    /// Scripted pauses of ports.
    #[serde(rename = "pause", default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Placed<Pause>>,
    /// Forwarding entries that override the shortest path.
    #[serde(rename = "route", default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Placed<Route>>,
    /// Detection of deadlocks.
    #[serde(default)]
    pub deadlock: Deadlock,
    /// Protection of links.
    #[serde(rename = "protect", default, skip_serializing_if = "Vec::is_empty")]
    pub protects: Vec<Placed<Protect>>,
    /// The time over which goodput is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Placed<Measure>>,
    /// Recording over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Variants of the scenario that one run compares.
    #[serde(rename = "variant", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) variants: Vec<VariantTable>,
}

/// A seed.
pub type Seed = Within<u64, 0, 0x7fff_ffff_ffff_ffff>;

fn seed() -> Seed {
    Within::fixed(1)
}

/// Settings of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Simulation of output ports; changes no result.
    pub ports: Ports,
    /// Order of events at the same time at a host or switch, for example that a frame arrives and that the port
    /// becomes free.
    pub ties: Ties,
}

/// Simulation of output ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ports {
    /// The fastest way that is exact for each port.
    #[default]
    Auto,
    /// Frame by frame at all ports: the same result, slower. A check of the simulator itself.
    Scheduled,
}

/// Order of events at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The seed decides each time, so that no port is favoured.
    #[default]
    Drawn,
    /// The seed decides once for the whole run. So traffic that repeats a pattern repeats it exactly, and a run can
    /// skip the repetitions (`--fast-forward`).
    Fixed,
}

/// The end of a run, if its flows do not end it earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Maximum simulated time. Flows that are unfinished then fail with the reason "time limit".
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub after: Span,
}

impl Default for Stop {
    fn default() -> Self {
        Self { after: Span::from_ms(60_000) }
    }
}

/// Recording of links and flows over time. Without this table nothing is recorded.
///
/// ```toml
/// [series]
/// every = "10us"
/// links = "switches"
/// flows = 8
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Interval between samples.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub every: Span,
    /// The recorded links.
    #[serde(default = "every_link")]
    pub links: Placed<LinkSet>,
    /// The flows whose throughput, rate and window are recorded: the first ones of each workload, or a list of flow
    /// numbers, as in `flows.parquet`. At most 1024. By default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Placed<FlowSet>>,
}

fn every_link() -> Placed<LinkSet> {
    Placed::without_place(LinkSet::All)
}

/// A variant: the scenario with some values changed. A run compares all variants; without any, there is one
/// called `base`.
///
/// A key of `set` is the path of a value; list elements are numbered from 0. A table is merged into the
/// existing table, unless it has a `kind`; everything else replaces the existing value. `--set` on the
/// command line uses the same paths and is applied last; it skips variants that lack the list element.
///
/// ```toml
/// [[variant]]
/// name = "go-back-n"
///
/// [[variant]]
/// name = "go-back-0"
/// set = { "transport.recovery" = "go-back-0", "workload.0.depth" = 1 }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VariantTable {
    /// Name in results; unique.
    pub(crate) name: Placed<Line>,
    /// Changed values.
    #[serde(default)]
    #[schemars(with = "std::collections::BTreeMap<String, Anything>")]
    pub(crate) set: toml::Table,
}

/// Any TOML value.
struct Anything;

impl JsonSchema for Anything {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Anything".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::Schema::from(true)
    }
}
