//! Configuration file of a planner.

use std::path::PathBuf;

use serde::Deserialize;
use wiremend_fabric::tiers::{NamedTierLink, Tiers, TiersBuilder};
use wiremend_fleet::CapacityCount;
use wiremend_units::Rate;

use crate::config::{BadConfig, RedisConfig, parse_checked};
use crate::decision::Protector;
use crate::name::{Name, PortName};
use crate::planner::advisor::PlannerLimits;

/// Configuration of a planner.
#[derive(Debug)]
pub struct PlannerConfig {
    /// Redis user. Default: `planner`.
    pub user: Name,
    /// Redis server and credentials.
    pub redis: RedisConfig,
    /// The fabric.
    pub fabric: FabricSource,
    /// Ports with a relay: `NODE:PORT`, or `NODE` for all ports of a node.
    pub relays: Vec<String>,
    /// Limits of the advice.
    pub limits: PlannerLimits,
}

/// Where the fabric is defined.
#[derive(Debug)]
pub enum FabricSource {
    /// In a file in the format of `wiremend fleet plan`.
    File(PathBuf),
    /// In the planner's configuration file.
    Inline(Box<Tiers>),
}

impl PlannerConfig {
    /// Parses and checks a configuration.
    pub fn parse(text: &str) -> Result<Self, BadConfig> {
        parse_checked(text, File::check)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fabric: Option<PathBuf>,
    #[serde(default)]
    relays: Vec<String>,
    redis: RedisConfig,
    #[serde(default)]
    plan: Plan,
    #[serde(default)]
    act: Act,
    #[serde(default, rename = "switch")]
    switches: Vec<SwitchEntry>,
    #[serde(default, rename = "link")]
    links: Vec<LinkEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Plan {
    constraint: f64,
    count: Count,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Count {
    #[default]
    Bandwidth,
    Paths,
}

impl Default for Plan {
    fn default() -> Self {
        Self { constraint: PlannerLimits::default().constraint, count: Count::default() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Act {
    mode: PlannerMode,
    protected_per_switch_max: usize,
    protected_max: usize,
}

impl Default for Act {
    fn default() -> Self {
        let PlannerLimits { protected_per_switch_max, protected_max, .. } = PlannerLimits::default();
        Self { mode: PlannerMode::Observe, protected_per_switch_max, protected_max }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PlannerMode {
    #[default]
    Observe,
    Act,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchEntry {
    name: Name,
    level: u32,
    pod: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    a: String,
    b: String,
    #[serde(default = "full_rate")]
    rate: String,
    lag: Option<String>,
    cable: Option<String>,
    #[serde(default)]
    protect: Protector,
}

fn full_rate() -> String {
    "100Gbps".to_owned()
}

impl File {
    fn check(self) -> Result<PlannerConfig, String> {
        self.redis.check()?;
        let constraint = self.plan.constraint;
        if !(constraint > 0.0 && constraint <= 1.0) {
            return Err(format!("[plan]: a constraint of {constraint} is not above 0 and at most 1"));
        }
        let limits = PlannerLimits {
            binding: self.act.mode == PlannerMode::Act,
            constraint,
            count: match self.plan.count {
                Count::Bandwidth => CapacityCount::Bandwidth,
                Count::Paths => CapacityCount::Paths,
            },
            protected_per_switch_max: self.act.protected_per_switch_max,
            protected_max: self.act.protected_max,
        };
        let mut relays = self.relays;
        let fabric = match self.fabric {
            Some(_) if !(self.switches.is_empty() && self.links.is_empty()) => {
                return Err("the fabric is defined twice: use `fabric` or [[switch]] and [[link]], not both"
                    .to_owned());
            }
            Some(file) => FabricSource::File(file),
            None => FabricSource::Inline(Box::new(inline_fabric(&self.switches, &self.links, &mut relays)?)),
        };
        let user = self.redis.user.clone().unwrap_or_else(|| "planner".parse().expect("a plain name"));
        Ok(PlannerConfig { user, redis: self.redis, fabric, relays, limits })
    }
}

fn inline_fabric(
    switches: &[SwitchEntry],
    links: &[LinkEntry],
    relays: &mut Vec<String>,
) -> Result<Tiers, String> {
    if links.is_empty() {
        return Err(
            "the fabric is missing: set `fabric` to its file, or add [[switch]] and [[link]]".to_owned()
        );
    }
    let mut parts = TiersBuilder::default();
    for SwitchEntry { name, level, pod } in switches {
        parts
            .switch(name.as_str(), *level, pod.as_deref())
            .map_err(|fault| format!("switch {name}: {fault}"))?;
    }
    for LinkEntry { a, b, rate, lag, cable, protect } in links {
        let refused = |reason: &dyn std::fmt::Display| format!("link {a} - {b}: {reason}");
        let ends: [PortName; 2] = [
            a.parse::<PortName>().map_err(|reason| refused(&reason))?,
            b.parse::<PortName>().map_err(|reason| refused(&reason))?,
        ];
        let rate: Rate = rate.parse().map_err(|reason| refused(&reason))?;
        let end = |at: usize| (ends[at].node.as_str(), ends[at].port.as_str());
        parts
            .link(&NamedTierLink {
                ends: [end(0), end(1)],
                rate,
                lag: lag.as_deref(),
                cable: cable.as_deref(),
            })
            .map_err(|fault| refused(&fault))?;
        if *protect == Protector::Relay {
            relays.extend(ends.iter().map(PortName::to_string));
        }
    }
    parts.build().map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
relays = ["leaf-1"]

[redis]
address = "127.0.0.1:6379"

[[switch]]
name = "leaf-1"
level = 0

[[switch]]
name = "spine-3"
level = 1

[[link]]
a = "leaf-1:eth0"
b = "spine-3:eth7"
protect = "relay"
"#;

    #[test]
    fn a_fabric_can_be_defined_inline() {
        let config = PlannerConfig::parse(GOOD).unwrap();
        let FabricSource::Inline(tiers) = &config.fabric else { panic!("{config:?}") };
        assert_eq!(tiers.link_count(), 1);
        assert_eq!(config.relays, ["leaf-1", "leaf-1:eth0", "spine-3:eth7"]);
        assert!(!config.limits.binding, "advice is not binding by default");
    }

    #[test]
    fn invalid_files_have_a_reason() {
        for (from, to, message) in [
            ("relays", "relay", "unknown field `relay`"),
            (
                "[redis]",
                "fabric = \"a.csv\"
            [redis]",
                "not both",
            ),
            ("[redis]", "[plan]\nconstraint = 0.0\n[redis]", "a constraint of 0"),
            (
                "[redis]",
                "[act]
            mode = \"start\"
            [redis]",
                "unknown variant `start`",
            ),
            ("spine-3:eth7", "spine-4:eth7", "spine-4"),
            ("spine-3:eth7", "spine-3", "is not NODE:PORT"),
        ] {
            let error = PlannerConfig::parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(message), "`{message}` in {error}");
        }
    }
}
