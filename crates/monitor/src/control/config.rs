//! The file that a planner goes by.

use std::path::PathBuf;

use serde::Deserialize;
use wiremend_fabric::tiers::{NamedTierLink, Parts, Tiers};
use wiremend_units::Rate;

use crate::agent::Protect;
use crate::config::{BadConfig, RedisConfig, understand};
use crate::control::controller::Limits;
use crate::name::{Name, PortName};

/// What a planner goes by.
#[derive(Debug)]
pub struct ControlConfig {
    /// Who asks Redis; `planner` if left out.
    pub user: Name,
    /// Where Redis is.
    pub redis: RedisConfig,
    /// The fabric.
    pub fabric: FabricSource,
    /// Ports with a relay: `NODE:PORT`, or all of a node.
    pub relays: Vec<String>,
    /// How far it goes.
    pub limits: Limits,
}

/// Where the fabric is written down.
#[derive(Debug)]
pub enum FabricSource {
    /// In a file, as `wiremend fleet plan` reads it.
    File(PathBuf),
    /// Here.
    Here(Box<Tiers>),
}

impl ControlConfig {
    /// Understands a text.
    pub fn parse(text: &str) -> Result<Self, BadConfig> {
        understand(text, File::check)
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
}

impl Default for Plan {
    fn default() -> Self {
        Self { constraint: Limits::default().constraint }
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
        let Limits { protected_per_switch_max, protected_max, .. } = Limits::default();
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
    cable: Option<String>,
    #[serde(default)]
    protect: Protect,
}

fn full_rate() -> String {
    "100Gbps".to_owned()
}

impl File {
    fn check(self) -> Result<ControlConfig, String> {
        self.redis.check()?;
        let constraint = self.plan.constraint;
        if !(constraint > 0.0 && constraint <= 1.0) {
            return Err(format!("[plan]: a constraint of {constraint} is not above 0 and at most 1"));
        }
        let limits = Limits {
            binding: self.act.mode == PlannerMode::Act,
            constraint,
            protected_per_switch_max: self.act.protected_per_switch_max,
            protected_max: self.act.protected_max,
        };
        let mut relays = self.relays;
        let fabric = match self.fabric {
            Some(_) if !(self.switches.is_empty() && self.links.is_empty()) => {
                return Err("the fabric is in a file and here too; leave one".to_owned());
            }
            Some(file) => FabricSource::File(file),
            None => FabricSource::Here(Box::new(here(&self.switches, &self.links, &mut relays)?)),
        };
        let user = self.redis.user.clone().unwrap_or_else(|| "planner".parse().expect("a plain name"));
        Ok(ControlConfig { user, redis: self.redis, fabric, relays, limits })
    }
}

fn here(switches: &[SwitchEntry], links: &[LinkEntry], relays: &mut Vec<String>) -> Result<Tiers, String> {
    if links.is_empty() {
        return Err(
            "there is no fabric; name its file by `fabric`, or add [[switch]] and [[link]]".to_owned()
        );
    }
    let mut parts = Parts::default();
    for SwitchEntry { name, level, pod } in switches {
        parts
            .switch(name.as_str(), *level, pod.as_deref())
            .map_err(|fault| format!("switch {name}: {fault}"))?;
    }
    for LinkEntry { a, b, rate, cable, protect } in links {
        let refused = |why: &dyn std::fmt::Display| format!("link {a} - {b}: {why}");
        let ends: [PortName; 2] = [
            a.parse::<PortName>().map_err(|why| refused(&why))?,
            b.parse::<PortName>().map_err(|why| refused(&why))?,
        ];
        let rate: Rate = rate.parse().map_err(|why| refused(&why))?;
        let end = |at: usize| (ends[at].node.as_str(), ends[at].port.as_str());
        parts
            .link(&NamedTierLink { ends: [end(0), end(1)], rate, cable: cable.as_deref() })
            .map_err(|fault| refused(&fault))?;
        if *protect == Protect::Relay {
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
    fn a_small_fabric_stands_in_the_file() {
        let config = ControlConfig::parse(GOOD).unwrap();
        let FabricSource::Here(tiers) = &config.fabric else { panic!("{config:?}") };
        assert_eq!(tiers.link_count(), 1);
        assert_eq!(config.relays, ["leaf-1", "leaf-1:eth0", "spine-3:eth7"]);
        assert!(!config.limits.binding, "it advises unless told otherwise");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, message) in [
            ("relays", "relay", "unknown field `relay`"),
            ("[redis]", "fabric = \"a.csv\"\n[redis]", "leave one"),
            ("[redis]", "[plan]\nconstraint = 0.0\n[redis]", "a constraint of 0"),
            ("[redis]", "[act]\nmode = \"go\"\n[redis]", "unknown variant `go`"),
            ("spine-3:eth7", "spine-4:eth7", "spine-4"),
            ("spine-3:eth7", "spine-3", "no NODE:PORT"),
        ] {
            let error = ControlConfig::parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(message), "`{message}` in {error}");
        }
    }
}
