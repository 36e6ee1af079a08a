//! A whole scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::deadlock::Deadlock;
use crate::impair::Impair;
use crate::mend::Mend;
use crate::name::{Line, LinkSet};
use crate::pause::Pause;
use crate::protect::Protect;
use crate::quantity::Within;
use crate::route::Route;
use crate::switch::Switch;
use crate::topology::Topology;
use crate::transport::Transport;
use crate::value::{self, Placed, Shown};
use crate::workload::Workload;

/// A network, what its hosts do, and what goes wrong: all that a run needs but its flow lists and size tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is, in a line.
    pub title: Line,
    /// What it shows, in about three sentences.
    #[serde(default)]
    pub about: String,
    /// Where all random streams begin. The same seed gives the same run.
    #[serde(default = "seed")]
    pub seed: Seed,
    /// The network.
    pub topology: Placed<Topology>,
    /// What its switches do with frames that wait.
    #[serde(default)]
    pub switch: Switch,
    /// The reliable connection.
    #[serde(default)]
    pub transport: Placed<Transport>,
    /// What keeps losses from ending in timeouts.
    #[serde(default)]
    pub mend: Placed<Mend>,
    /// How the simulator works.
    #[serde(default)]
    pub engine: Engine,
    /// When a run ends.
    #[serde(default)]
    pub stop: Stop,
    /// What the hosts do: at least one thing.
    #[serde(rename = "workload", default)]
    pub workloads: Vec<Placed<Workload>>,
    /// What links do to frames.
    #[serde(rename = "impair", default)]
    pub impairs: Vec<Placed<Impair>>,
    /// Ports that are told to wait.
    #[serde(rename = "pause", default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Placed<Pause>>,
    /// Forwarding entries that are not the shortest way.
    #[serde(rename = "route", default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Placed<Route>>,
    /// How deadlocks are noticed.
    #[serde(default)]
    pub deadlock: Deadlock,
    /// Links that mend their own losses.
    #[serde(rename = "protect", default, skip_serializing_if = "Vec::is_empty")]
    pub protects: Vec<Placed<Protect>>,
    /// What is recorded over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Versions of the scenario that one run compares.
    #[serde(rename = "variant", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) variants: Vec<VariantTable>,
}

/// A seed.
pub type Seed = Within<u64, 0, 0x7fff_ffff_ffff_ffff>;

fn seed() -> Seed {
    Within::fixed(1)
}

/// How the simulator works; nothing here changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// How output ports are simulated.
    pub ports: Ports,
}

/// How output ports are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ports {
    /// The fastest way that does justice to each port.
    #[default]
    Auto,
    /// Frame by frame everywhere: the same result, more slowly. A check of the simulator itself.
    Scheduled,
}

/// When a run ends, if its flows do not end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// The longest simulated time. Flows that are still open then end with the reason "time limit".
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub after: Span,
}

impl Default for Stop {
    fn default() -> Self {
        Self { after: Span::from_ms(60_000) }
    }
}

/// What is recorded over time; nothing if the table is left out.
///
/// ```toml
/// [series]
/// every = "10us"
/// links = "switches"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The time from one point to the next.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub every: Span,
    /// The links that are recorded.
    #[serde(default = "every_link")]
    pub links: Placed<LinkSet>,
}

fn every_link() -> Placed<LinkSet> {
    Placed::nowhere(LinkSet::All)
}

/// A version of the scenario: the same but for some values. One run compares all versions; without any, there is
/// one called `base`.
///
/// A key of `set` is the path of a value, with list elements by number from 0. A table that is set is merged into
/// the one that is there, unless it names its `kind`; everything else replaces what is there. `--set` on the
/// command line takes the same paths and has the last word; where a version has no such list element, it does not
/// apply.
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
    /// What it is called in results; no two alike.
    pub(crate) name: Placed<Line>,
    /// What is different.
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
