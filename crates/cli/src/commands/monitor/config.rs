//! `wiremend monitor check-config`, and how files are read.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use wiremend_monitor::bus::Server;
use wiremend_monitor::control::{ControlConfig, FabricSource, Topology};
use wiremend_monitor::{BadConfig, Config, Name, Protect, RedisConfig};

use crate::args::monitor::MonitorCheck as Asked;
use crate::commands::fleet::load_tiers;
use crate::failure::{Answer, Failure};
use crate::terminal;

/// A longer file is none that anybody wrote.
const CONFIG_BYTES_MAX: u64 = 16 << 20;
const PASSWORD_BYTES_MAX: u64 = 512;

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let text = if asked.planner {
        let (config, topology) = load_planner(&asked.config)?;
        server(&config.redis, &config.user)?;
        planner_meaning(&config, &topology)
    } else {
        let config = load(&asked.config)?;
        server(&config.redis, &config.node)?;
        meaning(&config)
    };
    terminal::print(&text)?;
    Ok(Answer::Yes)
}

pub(super) fn load(path: &Path) -> Result<Config, Failure> {
    Config::parse(&read(path, CONFIG_BYTES_MAX)?).map_err(|error| bad(path, &error))
}

/// The file of a planner, and the fabric that it names.
pub(super) fn load_planner(path: &Path) -> Result<(ControlConfig, Topology), Failure> {
    let mut config =
        ControlConfig::parse(&read(path, CONFIG_BYTES_MAX)?).map_err(|error| bad(path, &error))?;
    let fabric = std::mem::replace(&mut config.fabric, FabricSource::File(path.to_owned()));
    let tiers = match fabric {
        // A name is meant as seen from the file in which it stands.
        FabricSource::File(file) => load_tiers(&path.parent().unwrap_or(Path::new("")).join(file))?,
        FabricSource::Here(tiers) => *tiers,
    };
    let topology = Topology::new(tiers, &config.relays)
        .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    Ok((config, topology))
}

fn bad(path: &Path, error: &BadConfig) -> Failure {
    let colon = if error.place.is_some() { ":" } else { ": " };
    Failure::Input(format!("{}{colon}{error}", path.display()))
}

/// The server that is meant, with the password and the certificates that are in files.
pub(super) fn server(redis: &RedisConfig, user: &Name) -> Result<Server, Failure> {
    let password = redis.password_file.as_deref().map(password).transpose()?;
    redis.server(user, password).map_err(|why| Failure::Environment(format!("TLS to Redis: {why}")))
}

/// What a file says, without the end of its line.
pub(super) fn password(path: &Path) -> Result<String, Failure> {
    let text = read(path, PASSWORD_BYTES_MAX)?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() || password.chars().any(|c| c.is_control() || c.is_whitespace()) {
        let shown = path.display();
        return Err(Failure::Input(format!("{shown}: a password is one word, alone in its file")));
    }
    Ok(password.to_owned())
}

fn read(path: &Path, bytes_max: u64) -> Result<String, Failure> {
    let shown = path.display();
    let refused = |why: &dyn std::fmt::Display| Failure::Input(format!("{shown}: {why}"));
    let length = fs::metadata(path).map_err(|error| refused(&error))?.len();
    if length > bytes_max {
        return Err(refused(&format!("longer than {bytes_max} bytes")));
    }
    fs::read_to_string(path).map_err(|error| refused(&error))
}

fn meaning(config: &Config) -> String {
    let Config { node, redis, thresholds, conduct, links, .. } = config;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "`{node}` {}; it tells others over Redis at {}{}",
        conduct.mode.description(),
        redis.address,
        encrypted(redis)
    );
    let _ = writeln!(
        text,
        "a link corrupts from a loss of {:e} on, judged over {} frames, and is clean again after {} without an error",
        thresholds.loss,
        thresholds.window_frames,
        thresholds.clean_frames()
    );
    for link in links {
        let by = match link.protect {
            Protect::None => "advice only: nothing here can protect it",
            Protect::Relay => "protected by a relay when it corrupts",
        };
        let _ = writeln!(text, "  {}:{} - {}: {by}", node, link.port, link.peer);
    }
    text
}

fn encrypted(redis: &RedisConfig) -> &'static str {
    match &redis.tls {
        Some(_) => ", encrypted",
        None if redis.address.starts_with('/') => "",
        None => ", NOT encrypted",
    }
}

fn planner_meaning(config: &ControlConfig, topology: &Topology) -> String {
    let ControlConfig { user, redis, limits, .. } = config;
    let tiers = topology.tiers();
    let mut text = String::new();
    let does = if limits.binding { "daemons that go by advice act" } else { "nobody has to" };
    let _ =
        writeln!(text, "`{user}` advises, and {does}; over Redis at {}{}", redis.address, encrypted(redis));
    let _ = writeln!(
        text,
        "{} links, {} ToRs that keep {} of their ways; relays stand at {} ports",
        tiers.link_count(),
        tiers.tors().len(),
        limits.constraint,
        topology.relay_count()
    );
    let _ = writeln!(
        text,
        "at most {} links are protected at once, {} of a switch",
        limits.protected_max, limits.protected_per_switch_max
    );
    text
}
