//! `wiremend monitor check-config`, and the reading of configuration files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use wiremend_monitor::planner::{FabricSource, NamedFabric, PlannerConfig};
use wiremend_monitor::redis::RedisServer;
use wiremend_monitor::{BadConfig, DaemonConfig, Name, Protector, RedisConfig};
use wiremend_units::Time;

use crate::args::monitor::MonitorCheck;
use crate::commands::fleet::{SkippedItem, load_tiers};
use crate::failure::{Answer, Failure};
use crate::input_file::{CONFIG_BYTES_MAX, read};
use crate::terminal;

const PASSWORD_BYTES_MAX: u64 = 512;

pub(super) fn run(args: &MonitorCheck) -> Result<Answer, Failure> {
    let text = if args.planner {
        let (config, topology, skipped) = load_planner(&args.config)?;
        check_secrets(&config.redis)?;
        server(&config.redis, &config.user)?;
        planner_meaning(&config, &topology, &skipped)
    } else {
        let config = load(&args.config)?;
        check_secrets(&config.redis)?;
        check_counter_files(&config)?;
        server(&config.redis, &config.node)?;
        meaning(&config)
    };
    terminal::print(&text)?;
    Ok(Answer::Yes)
}

pub(super) fn load(path: &Path) -> Result<DaemonConfig, Failure> {
    DaemonConfig::parse(&read(path, CONFIG_BYTES_MAX)?).map_err(|error| bad(path, &error))
}

/// Like [`load`], but `[redis]` may be missing.
pub(in crate::commands) fn load_local(path: &Path) -> Result<DaemonConfig, Failure> {
    DaemonConfig::parse_local(&read(path, CONFIG_BYTES_MAX)?).map_err(|error| bad(path, &error))
}

/// Reads the configuration of a planner and its fabric, and the items of the fabric's file that are skipped.
pub(in crate::commands) fn load_planner(
    path: &Path,
) -> Result<(PlannerConfig, NamedFabric, Vec<SkippedItem>), Failure> {
    let mut config =
        PlannerConfig::parse(&read(path, CONFIG_BYTES_MAX)?).map_err(|error| bad(path, &error))?;
    let fabric = std::mem::replace(&mut config.fabric, FabricSource::File(path.to_owned()));
    let (tiers, skipped) = match fabric {
        // The path is relative to the configuration file.
        FabricSource::File(file) => load_tiers(&path.parent().unwrap_or(Path::new("")).join(file))?,
        FabricSource::Inline(tiers) => (*tiers, Vec::new()),
    };
    let topology = NamedFabric::new(tiers, &config.relays)
        .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    Ok((config, topology, skipped))
}

fn bad(path: &Path, error: &BadConfig) -> Failure {
    let colon = if error.place.is_some() { ":" } else { ": " };
    Failure::Input(format!("{}{colon}{error}", path.display()))
}

/// Returns the Redis server, with the password and certificates from their files.
pub(in crate::commands) fn server(redis: &RedisConfig, user: &Name) -> Result<RedisServer, Failure> {
    let password = redis.password_file.as_deref().map(password).transpose()?;
    redis.server(user, password).map_err(|why| Failure::Environment(format!("TLS to Redis: {why}")))
}

/// Refuses a password or a private key that every user of this machine can read.
fn check_secrets(redis: &RedisConfig) -> Result<(), Failure> {
    let key = redis.tls.as_ref().and_then(|tls| tls.key_file.as_deref());
    [redis.password_file.as_deref(), key].into_iter().flatten().try_for_each(check_secret)
}

/// Refuses a file that every user of this machine can read.
pub(in crate::commands) fn check_secret(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let mode = mode(path).map_err(|error| Failure::Input(format!("{shown}: {error}")))?;
    if mode & 0o007 != 0 {
        let reason = format!(
            "{shown}: other users can read or change this secret (mode {:o}): chmod 600 {shown}",
            mode & 0o777
        );
        return Err(Failure::Input(reason));
    }
    Ok(())
}

/// Refuses a counter file that cannot be read, is stale, or does not have the port.
fn check_counter_files(config: &DaemonConfig) -> Result<(), Failure> {
    for (link, source) in config.links.iter().zip(&config.sources) {
        let Some((file, name)) = source.file(link.port.as_str()) else { continue };
        let mut file = file.open([name.clone()]);
        if file.read(&name, Time::ZERO, SystemTime::now()).is_none() {
            let reasons = file.take_messages().join("; ");
            return Err(Failure::Input(format!("link {}: source: {reasons}", link.port)));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn mode(path: &Path) -> std::io::Result<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::metadata(path)?.permissions().mode())
}

#[cfg(not(unix))]
fn mode(path: &Path) -> std::io::Result<u32> {
    fs::metadata(path).map(|_| 0o600)
}

/// A failed access to Redis.
pub(super) fn redis_failure(redis: &RedisConfig, why: &dyn std::fmt::Display) -> Failure {
    Failure::Environment(format!("Redis at {}: {why}", redis.address))
}

/// Reads a password from a file.
pub(super) fn password(path: &Path) -> Result<String, Failure> {
    let text = read(path, PASSWORD_BYTES_MAX)?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() || password.chars().any(|c| c.is_control() || c.is_whitespace()) {
        let shown = path.display();
        return Err(Failure::Input(format!("{shown}: the file must contain one word, the password")));
    }
    Ok(password.to_owned())
}

fn meaning(config: &DaemonConfig) -> String {
    let DaemonConfig { node, redis, thresholds, act, links, .. } = config;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "`{node}` {}; it publishes its observations in Redis at {}{}",
        act.mode.description(),
        redis.address,
        encrypted(redis)
    );
    let _ = writeln!(
        text,
        "a link counts as corrupting from a loss ratio of {:e} over {} frames, and as clean after {} frames without an error",
        thresholds.loss,
        thresholds.window_frames,
        thresholds.clean_frames()
    );
    for (link, source) in links.iter().zip(&config.sources) {
        let by = match link.protect {
            Protector::None => "not protected: no relay here",
            Protector::Relay => "protected by a relay while it corrupts",
        };
        let _ = write!(text, "  {}:{} - {}: {by}", node, link.port, link.peer);
        if let Some((file, name)) = source.file(link.port.as_str()) {
            let _ = write!(text, "; counters of `{name}` in {}", file.path().display());
        }
        text.push('\n');
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

fn planner_meaning(config: &PlannerConfig, topology: &NamedFabric, skipped: &[SkippedItem]) -> String {
    let PlannerConfig { user, redis, limits, .. } = config;
    let tiers = topology.tiers();
    let mut text = String::new();
    let does = if limits.binding {
        "monitors in mode \"advised\" apply the advice"
    } else {
        "the advice does not bind"
    };
    let _ = writeln!(text, "`{user}` advises, and {does}; Redis at {}{}", redis.address, encrypted(redis));
    let _ = writeln!(
        text,
        "{} links, {} ToRs that keep {} of their {} to the top tier; relays at {} ports",
        tiers.link_count(),
        tiers.tors().len(),
        limits.constraint,
        limits.count,
        topology.relay_count()
    );
    let _ = writeln!(
        text,
        "at most {} links are protected at the same time, {} per switch",
        limits.protected_max, limits.protected_per_switch_max
    );
    for item in skipped {
        let _ = writeln!(text, "skipped: {item}");
    }
    text
}
