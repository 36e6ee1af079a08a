//! The file that a daemon goes by.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use wiremend_units::Span;

use crate::agent::{Conduct, Link, Protect};
use crate::bus::{Place, Server, Tls, TlsConfig, Uncertified};
use crate::detector::Thresholds;
use crate::name::{Name, PortName};
use crate::source::Sonic;

/// What a daemon goes by.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// What this machine is called.
    pub node: Name,
    /// Time between readings.
    pub poll: Duration,
    /// Where Redis is; its password is in a file.
    pub redis: RedisConfig,
    /// What counts as corruption.
    pub thresholds: Thresholds,
    /// How far it goes by itself.
    pub conduct: Conduct,
    /// Its links.
    pub links: Vec<Link>,
    /// Where the counters of each link are.
    pub sources: Vec<CounterSource>,
}

/// Where Redis is.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    /// `HOST:PORT`, or the path of a socket.
    pub address: String,
    /// The user of its access control list; the node's name if left out and there is a password.
    pub user: Option<Name>,
    /// The file that holds the password, and nothing else.
    pub password_file: Option<PathBuf>,
    /// How to encrypt what is said; nothing is, if left out.
    pub tls: Option<TlsConfig>,
}

impl RedisConfig {
    /// How long a daemon waits for an answer.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// Whether what it says goes together.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.place().map_err(|why| format!("[redis]: {why}"))?;
        let Some(tls) = &self.tls else { return Ok(()) };
        tls.check(&self.address).map_err(|why| format!("[redis.tls]: {why}"))
    }

    fn place(&self) -> Result<Place, String> {
        self.address.parse()
    }

    /// The server, with the password that was in the file. Reads certificates, where there are to be such.
    pub fn server(&self, node: &Name, password: Option<String>) -> Result<Server, Uncertified> {
        let user = self.user.as_ref().unwrap_or(node);
        let place = self.place().expect("the file was checked");
        let login = password.map(|password| (user.as_str().to_owned(), password));
        let tls = self.tls.as_ref().map(|tls| Tls::load(tls, &self.address)).transpose()?;
        Ok(Server { place, tls, login, patience: Self::PATIENCE })
    }
}

/// Where the counters of a port are.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CounterSource {
    /// The kernel and the driver.
    #[default]
    Sysfs,
    /// A switch that runs `SONiC`.
    Sonic {
        /// `HOST:PORT` of the Redis that its chip's counters are in, or the path of a socket. Never the one of `[redis]`.
        #[serde(default = "sonic_socket")]
        address: String,
        /// What the switch calls the port; its name here if left out.
        name: Option<String>,
    },
    /// A cable of the laboratory: its socket, and the lane by which frames arrive here.
    Cable {
        /// The socket.
        socket: PathBuf,
        /// Whether they arrive by the way forth.
        forth: bool,
    },
}

/// Why a text is no configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadConfig {
    /// Line and column, from 1, if it is about a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what is allowed.
    pub why: String,
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for BadConfig {}

impl Config {
    /// Understands a text.
    pub fn parse(text: &str) -> Result<Self, BadConfig> {
        understand(text, File::check)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    node: Name,
    #[serde(default = "second")]
    poll: String,
    redis: RedisConfig,
    #[serde(default)]
    detect: Thresholds,
    #[serde(default)]
    act: Conduct,
    #[serde(rename = "link")]
    links: Vec<LinkEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    port: Name,
    peer: String,
    #[serde(default)]
    protect: Protect,
    #[serde(default)]
    source: CounterSource,
}

impl File {
    fn check(self) -> Result<Config, String> {
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
        self.redis.check()?;
        let mut ports = BTreeSet::new();
        let mut peers = BTreeSet::new();
        let (mut links, mut sources) = (Vec::new(), Vec::new());
        for LinkEntry { port, peer, protect, source } in self.links {
            let peer: PortName = peer.parse().map_err(|why| format!("link {port}: peer: {why}"))?;
            if !ports.insert(port.clone()) {
                return Err(format!("link {port}: this port has a link already"));
            }
            if peer.node == self.node {
                return Err(format!("link {port}: its other end {peer} is on this node too"));
            }
            if !peers.insert(peer.clone()) {
                return Err(format!("link {port}: its other end {peer} has a link already"));
            }
            if let CounterSource::Sonic { address, .. } = &source {
                address.parse::<Place>().map_err(|why| format!("link {port}: source: {why}"))?;
                if *address == self.redis.address {
                    return Err(format!(
                        "link {port}: source: counters are read from the Redis of a switch, which is not the one of [redis]"
                    ));
                }
            }
            links.push(Link { port, peer, protect });
            sources.push(source);
        }
        if links.is_empty() {
            return Err("there is no link to watch; add a [[link]] with `port` and `peer`".to_owned());
        }
        let (node, redis) = (self.node, self.redis);
        let poll = Duration::from_nanos(poll.as_ns());
        Ok(Config { node, poll, redis, thresholds: self.detect, conduct: self.act, links, sources })
    }
}

fn sonic_socket() -> String {
    Sonic::SOCKET.to_owned()
}

fn second() -> String {
    "1s".to_owned()
}

/// What a file says, if it keeps the rules for its text and those for its meaning.
pub(crate) fn understand<F: DeserializeOwned, C>(
    text: &str,
    check: impl FnOnce(F) -> Result<C, String>,
) -> Result<C, BadConfig> {
    let file = toml::from_str(text).map_err(|error| BadConfig {
        place: error.span().map(|span| place(text, span.start)),
        why: error.message().trim().replace('\n', "; "),
    })?;
    check(file).map_err(|why| BadConfig { place: None, why })
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
    use crate::agent::Mode;

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
    fn a_file_says_what_is_watched() {
        let config = Config::parse(GOOD).unwrap();
        assert_eq!((config.node.as_str(), config.poll), ("leaf-1", Duration::from_secs(1)));
        assert_eq!(config.conduct.mode, Mode::Act);
        assert_eq!(config.links[0].peer.to_string(), "spine-3:eth7");
        assert_eq!(config.sources, [CounterSource::Sysfs]);
        assert_eq!(config.thresholds, Thresholds::default());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (from, to, message) in [
            ("mode = \"act\"", "mood = \"act\"", "8:1: unknown field `mood`"),
            ("\"act\"", "\"acts\"", "8:8: unknown variant `acts`"),
            ("leaf-1", "leaf 1", "2:8: `leaf 1` is no name here"),
            ("spine-3:eth7", "spine-3", "link eth0: peer: `spine-3` is no NODE:PORT"),
            ("spine-3:eth7", "leaf-1:eth7", "is on this node too"),
            ("[act]", "[detect]\nloss = 2.0\n[act]", "[detect]: a loss threshold of 2"),
            ("[act]", "[detect]\nwindow_frames = 10\n[act]", "too short"),
            ("[act]", "[act]\ntarget_loss = 1.0", "target_loss of 1"),
            ("node", "poll = \"1ms\"\nnode", "not between 10ms and 1h"),
        ] {
            let error = Config::parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(message), "`{message}` in {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let twice = format!("{GOOD}{}", &GOOD[GOOD.find("[[link]]").unwrap()..]);
        assert!(Config::parse(&twice).unwrap_err().why.contains("has a link already"));
    }
}
