//! Configuration file of a daemon.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use wiremend_units::Span;

use crate::decision::{ActionConfig, LinkConfig, Protector, span_text};
use crate::detector::Thresholds;
use crate::name::{Name, PortName};
use crate::redis::{RedisServer, ServerAddress, TlsClient, TlsConfig, TlsFileError};
use crate::snapshot::RecordedSnapshot;
use crate::source::{CounterFile, CounterFileFormat, SonicCounters};

/// Configuration of a daemon.
#[derive(Clone, PartialEq, Debug)]
pub struct DaemonConfig {
    /// Name of this machine.
    pub node: Name,
    /// Time between readings.
    pub poll: Duration,
    /// Redis server and credentials.
    pub redis: RedisConfig,
    /// Thresholds of the corruption detector.
    pub thresholds: Thresholds,
    /// Mode and limits of actions.
    pub act: ActionConfig,
    /// Links of this node.
    pub links: Vec<LinkConfig>,
    /// Counter source of each link.
    pub sources: Vec<CounterSource>,
}

/// Redis server and credentials.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    /// `HOST:PORT`, or the path of a Unix socket.
    pub address: String,
    /// Redis user. Default: the node's name, if there is a password.
    pub user: Option<Name>,
    /// File that contains only the password.
    pub password_file: Option<PathBuf>,
    /// TLS settings; `None` for an unencrypted connection.
    pub tls: Option<TlsConfig>,
}

impl RedisConfig {
    /// Timeout of a Redis command.
    const TIMEOUT: Duration = Duration::from_secs(2);

    /// Checks that the settings are consistent.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.server_address().map_err(|reason| format!("[redis]: {reason}"))?;
        let Some(tls) = &self.tls else { return Ok(()) };
        tls.check(&self.address).map_err(|reason| format!("[redis.tls]: {reason}"))
    }

    fn server_address(&self) -> Result<ServerAddress, String> {
        self.address.parse()
    }

    /// Returns the server with its password. Loads the TLS certificates.
    pub fn server(&self, node: &Name, password: Option<String>) -> Result<RedisServer, TlsFileError> {
        let user = self.user.as_ref().unwrap_or(node);
        let address = self.server_address().expect("the configuration was checked");
        let login = password.map(|password| (user.as_str().to_owned(), password));
        let tls = self.tls.as_ref().map(|tls| TlsClient::load(tls, &self.address)).transpose()?;
        Ok(RedisServer { address, tls, login, timeout: Self::TIMEOUT })
    }
}

/// Source of the counters of a port.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CounterSource {
    /// The kernel and the driver.
    #[default]
    Sysfs,
    /// A switch that runs `SONiC`.
    Sonic {
        /// `HOST:PORT` or socket path of the switch's own Redis, never of `[redis]`.
        #[serde(default = "sonic_socket")]
        address: String,
        /// Name of the port on the switch. Default: `port` of this `[[link]]`.
        name: Option<String>,
    },
    /// A file of Prometheus text with the metrics of `node_exporter`.
    NodeExporter {
        /// The file.
        file: PathBuf,
        /// Value of the label `device`. Default: `port` of this `[[link]]`.
        device: Option<String>,
        /// Age from which the file is stale.
        #[serde(with = "span_text", default = "max_age")]
        max_age: Span,
    },
    /// A JSON file with the structure of `OpenConfig`.
    #[serde(rename = "openconfig")]
    OpenConfig {
        /// The file.
        file: PathBuf,
        /// Name of the interface. Default: `port` of this `[[link]]`.
        interface: Option<String>,
        /// Age from which the file is stale.
        #[serde(with = "span_text", default = "max_age")]
        max_age: Span,
    },
    /// A wire of the lab.
    Wire {
        /// Control socket of the wire.
        socket: PathBuf,
        /// Whether this port receives the frames of direction A to B.
        a_to_b: bool,
    },
}

/// A counter file, without the names of its ports.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CounterFileKey {
    path: PathBuf,
    format: CounterFileFormat,
    max_age: Span,
}

impl CounterFileKey {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a reader of these ports.
    pub fn open(self, names: impl IntoIterator<Item = String>) -> CounterFile {
        CounterFile::new(self.path, self.format, self.max_age, names)
    }
}

impl CounterSource {
    /// Returns the file, and the name of the port in it, if the counters of `port` are in a file.
    pub fn file(&self, port: &str) -> Option<(CounterFileKey, String)> {
        let (path, format, name, max_age) = match self {
            Self::NodeExporter { file, device, max_age } => {
                (file, CounterFileFormat::NodeExporter, device, *max_age)
            }
            Self::OpenConfig { file, interface, max_age } => {
                (file, CounterFileFormat::OpenConfig, interface, *max_age)
            }
            Self::Sysfs | Self::Sonic { .. } | Self::Wire { .. } => return None,
        };
        let name = name.clone().unwrap_or_else(|| port.to_owned());
        Some((CounterFileKey { path: path.clone(), format, max_age }, name))
    }

    fn check(&self, port: &str, redis: &RedisConfig) -> Result<(), String> {
        if let Self::Sonic { address, .. } = self {
            address.parse::<ServerAddress>()?;
            if *address == redis.address {
                return Err("the Redis of a switch cannot be the server of [redis]".to_owned());
            }
        }
        let Some((CounterFileKey { path, max_age, .. }, name)) = self.file(port) else { return Ok(()) };
        RecordedSnapshot::check_name(&name)
            .map_err(|reason| format!("`{}`: {reason}", name.escape_debug()))?;
        if !path.is_absolute() {
            return Err(format!("file: `{}` is not an absolute path", path.display()));
        }
        if !(Span::from_ms(1_000)..=Span::from_ms(24 * 3_600_000)).contains(&max_age) {
            return Err(format!("max_age: {max_age} is not between 1s and 24h"));
        }
        Ok(())
    }
}

/// Why a configuration is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadConfig {
    /// Line and column, from 1, if the error has a position.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what is allowed.
    pub reason: String,
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for BadConfig {}

impl DaemonConfig {
    /// Parses and checks a configuration.
    pub fn parse(text: &str) -> Result<Self, BadConfig> {
        parse_checked(text, |file: File| {
            let redis = file.redis.clone().ok_or("missing field `redis`")?;
            file.check(redis)
        })
    }

    /// Parses and checks a configuration of a machine whose records nobody shares: `[redis]` may be missing.
    pub fn parse_local(text: &str) -> Result<Self, BadConfig> {
        parse_checked(text, |file: File| {
            let none = RedisConfig { address: "/".to_owned(), user: None, password_file: None, tls: None };
            let redis = file.redis.clone().unwrap_or(none);
            file.check(redis)
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    node: Name,
    #[serde(default = "second")]
    poll: String,
    redis: Option<RedisConfig>,
    #[serde(default)]
    detect: Thresholds,
    #[serde(default)]
    act: ActionConfig,
    #[serde(rename = "link")]
    links: Vec<LinkEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    port: Name,
    peer: String,
    #[serde(default)]
    protect: Protector,
    #[serde(default)]
    source: CounterSource,
}

impl File {
    fn check(self, redis: RedisConfig) -> Result<DaemonConfig, String> {
        let poll: Span = self.poll.parse().map_err(|error| format!("poll: {error}"))?;
        if !(Span::from_ms(10)..=Span::from_ms(3_600_000)).contains(&poll) {
            return Err(format!("poll: {} is not between 10ms and 1h", self.poll));
        }
        self.detect.check().map_err(|error| format!("[detect]: {error}"))?;
        if !(1e-12..=0.1).contains(&self.act.target_loss) {
            return Err(format!(
                "[act]: a target_loss of {} is not between 1e-12 and 0.1",
                self.act.target_loss
            ));
        }
        let hours_24 = Span::from_ms(24 * 3_600_000);
        for (what, span) in [("hold_down", self.act.hold_down), ("manual_hold", self.act.manual_hold)] {
            if span > hours_24 {
                return Err(format!("[act]: a {what} of {span} is longer than 24h"));
            }
        }
        redis.check()?;
        let mut ports = BTreeSet::new();
        let mut peers = BTreeSet::new();
        let (mut links, mut sources) = (Vec::new(), Vec::new());
        for LinkEntry { port, peer, protect, source } in self.links {
            let peer: PortName = peer.parse().map_err(|reason| format!("link {port}: peer: {reason}"))?;
            if !ports.insert(port.clone()) {
                return Err(format!("link {port}: the port is already used by another link"));
            }
            if peer.node == self.node {
                return Err(format!("link {port}: peer {peer} is on this node too"));
            }
            if !peers.insert(peer.clone()) {
                return Err(format!("link {port}: peer {peer} is already used by another link"));
            }
            source.check(port.as_str(), &redis).map_err(|reason| format!("link {port}: source: {reason}"))?;
            links.push(LinkConfig { port, peer, protect });
            sources.push(source);
        }
        if links.is_empty() {
            return Err("no link to monitor; add a [[link]] with `port` and `peer`".to_owned());
        }
        let node = self.node;
        let poll = Duration::from_nanos(poll.as_ns());
        Ok(DaemonConfig { node, poll, redis, thresholds: self.detect, act: self.act, links, sources })
    }
}

fn sonic_socket() -> String {
    SonicCounters::SOCKET.to_owned()
}

fn max_age() -> Span {
    CounterFile::MAX_AGE
}

fn second() -> String {
    "1s".to_owned()
}

/// Parses TOML and applies the checks of the file type.
pub(crate) fn parse_checked<F: DeserializeOwned, C>(
    text: &str,
    check: impl FnOnce(F) -> Result<C, String>,
) -> Result<C, BadConfig> {
    let file = toml::from_str(text).map_err(|error| BadConfig {
        place: error.span().map(|span| place(text, span.start)),
        reason: error.message().trim().replace('\n', "; "),
    })?;
    check(file).map_err(|reason| BadConfig { place: None, reason })
}

fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::DaemonMode;

    const GOOD: &str = r#"
node = "leaf-1"

[redis]
address = "127.0.0.1:6379"

[act]
mode = "act"

[[link]]
port = "eth0"
peer = "spine-3:eth7"
protect = "relay"
"#;

    #[test]
    fn a_minimal_file_is_parsed() {
        let config = DaemonConfig::parse(GOOD).unwrap();
        assert_eq!((config.node.as_str(), config.poll), ("leaf-1", Duration::from_secs(1)));
        assert_eq!(config.act.mode, DaemonMode::Act);
        assert_eq!(config.links[0].peer.to_string(), "spine-3:eth7");
        assert_eq!(config.sources, [CounterSource::Sysfs]);
        assert_eq!(config.thresholds, Thresholds::default());
    }

    #[test]
    fn errors_have_a_position_and_a_reason() {
        for (from, to, message) in [
            ("mode = \"act\"", "mood = \"act\"", "8:1: unknown field `mood`"),
            ("\"act\"", "\"acts\"", "8:8: unknown variant `acts`"),
            ("leaf-1", "leaf 1", "2:8: `leaf 1` is not a valid name"),
            ("spine-3:eth7", "spine-3", "link eth0: peer: `spine-3` is not NODE:PORT"),
            ("spine-3:eth7", "leaf-1:eth7", "is on this node too"),
            ("[act]", "[detect]\nloss = 2.0\n[act]", "[detect]: a loss threshold of 2"),
            ("[act]", "[detect]\nwindow_frames = 10\n[act]", "too short"),
            ("[act]", "[act]\ntarget_loss = 1.0", "target_loss of 1"),
            ("node", "poll = \"1ms\"\nnode", "not between 10ms and 1h"),
            ("[act]", "[act]\nhold_down = \"soon\"", "8:13: "),
            ("[act]", "[act]\nmanual_hold = \"48h\"", "longer than 24h"),
            ("protect", "source = { node_exporter = {} }\nprotect", "missing field `file`"),
            (
                "protect",
                "source = { openconfig = { device = \"a\" } }\nprotect",
                "available keys: file, interface, max_age",
            ),
            (
                "protect",
                "source = { node_exporter = { file = \"x.prom\" } }\nprotect",
                "link eth0: source: file: `x.prom` is not an absolute path",
            ),
            (
                "protect",
                "source = { openconfig = { file = \"/x\", interface = \"\" } }\nprotect",
                "link eth0: source: ``: a name has 1 to 256 bytes",
            ),
            (
                "protect",
                "source = { openconfig = { file = \"/x\", max_age = \"1ms\" } }\nprotect",
                "link eth0: source: max_age: 1ms is not between 1s and 24h",
            ),
        ] {
            let error = DaemonConfig::parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(message), "`{message}` in {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let twice = format!("{GOOD}{}", &GOOD[GOOD.find("[[link]]").unwrap()..]);
        assert!(DaemonConfig::parse(&twice).unwrap_err().reason.contains("already used by another link"));
    }
}
