//! `cargo xtask bench monitor`: a daemon with many ports, many daemons, and a planner of a large fabric.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::usage;
use crate::shell::{self, call, command};

/// Ports of the daemon, which it reads once a second for `WATCHED_S` seconds.
const PORTS: usize = 512;
const WATCHED_S: u32 = 20;
/// Limits of the daemon: a hundredth of a core, and bytes.
const CORE_MAX: f64 = 0.01;
const BYTES_MAX: u64 = 30_000_000;
/// Limit of the time from a detected loss to the command to the relay, 99th percentile.
const PROTECTED_S_MAX: f64 = 1.0;
/// Limit of the time from a record about a link to advice.
const ADVISED_S_MAX: f64 = 0.1;

/// Measures and prints; fails if a limit is exceeded.
pub(super) fn run(program: &Path) -> Result<()> {
    let mut missed = Vec::new();
    missed.extend(daemon(program)?);
    missed.extend(daemons_and_planner()?);
    ensure!(missed.is_empty(), "limits exceeded: {}", missed.join("; "));
    Ok(())
}

/// A daemon that reads all ports of a large switch, without Redis, which `bus` measures.
fn daemon(program: &Path) -> Result<Vec<String>> {
    let tree = shell::target_dir()?.join("bench-ports");
    let file = create_sysfs_tree(&tree)?;
    let line =
        format!("monitor run --config {} --sysfs {} --for {WATCHED_S}s", file.display(), tree.display());
    let (_, usage) = usage::run_measured(&call(program, &line))?;
    fs::remove_dir_all(&tree).context("cannot remove the tree of ports")?;
    let core = usage.cpu_s / usage.wall_s;
    println!(
        "a daemon with {PORTS} ports, read once a second: {:.2} % of a core, {:.1} MB",
        core * 100.0,
        usage.peak_bytes as f64 / 1e6
    );
    let mut missed = Vec::new();
    if core > CORE_MAX {
        missed.push(format!("a daemon takes {:.2} % of a core", core * 100.0));
    }
    if usage.peak_bytes > BYTES_MAX {
        missed.push(format!("a daemon takes {} bytes", usage.peak_bytes));
    }
    Ok(missed)
}

/// Creates a tree like `/sys` and a configuration with its ports.
fn create_sysfs_tree(tree: &Path) -> Result<PathBuf> {
    let mut text = "node = \"switch\"\n[redis]\naddress = \"/nowhere/redis.sock\"\n".to_owned();
    for port in 0..PORTS {
        let base = tree.join(format!("class/net/swp{port}"));
        fs::create_dir_all(base.join("statistics")).context("a tree of ports")?;
        let files = ["carrier", "carrier_changes", "statistics/rx_packets", "statistics/rx_crc_errors"];
        let more = ["tx_packets", "rx_length_errors", "rx_missed_errors", "tx_dropped"]
            .map(|name| format!("statistics/{name}"));
        for name in files.iter().map(|&name| name.to_owned()).chain(more) {
            fs::write(base.join(name), "1\n")?;
        }
        // Other counters, which the daemon must skip.
        for name in
            ["collisions", "multicast", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_over_errors"]
        {
            fs::write(base.join("statistics").join(name), "1\n")?;
        }
        fs::write(base.join("speed"), "400000\n")?;
        writeln!(text, "[[link]]\nport = \"swp{port}\"\npeer = \"host-{port}:eth0\"")?;
    }
    let file = tree.join("monitor.toml");
    fs::write(&file, text)?;
    Ok(file)
}

fn daemons_and_planner() -> Result<Vec<String>> {
    let output = shell::output(&mut command("cargo bench --quiet -p wiremend-monitor --bench redis_speed"))?;
    let mut lines = output.lines().map(serde_json::from_str::<Value>);
    let mut next = || lines.next().context("a measurement is missing")?.context("a measurement is no JSON");
    let (swarm, planner) = (next()?, next()?);
    let number = |line: &Value, key: &str| line[key].as_f64().with_context(|| format!("no {key} in {line}"));
    let (protected, actions) = (number(&swarm, "protected")?, number(&swarm, "actions")?);
    let daemons = number(&swarm, "daemons")?;
    let p99 = number(&swarm, "p99_s")?;
    println!(
        "{daemons} daemons and one Redis: {protected} links protected, {:.2} relay requests per link; median {:.0} ms, 99 % {:.0} ms, at most {:.0} ms",
        actions / protected,
        number(&swarm, "p50_s")? * 1e3,
        p99 * 1e3,
        number(&swarm, "max_s")? * 1e3
    );
    let (advised, repaired) = (number(&planner, "max_s")?, number(&planner, "repair_max_s")?);
    println!(
        "a planner of {} links, {} corrupting: reads all in {:.1} s; advice after {:.0} ms, at most {:.0} ms; after a repair at most {:.0} ms",
        planner["links"],
        planner["corrupting"],
        number(&planner, "start_s")?,
        number(&planner, "p50_s")? * 1e3,
        advised * 1e3,
        repaired * 1e3
    );
    let mut missed = Vec::new();
    if (protected * 2.0 - daemons).abs() > 0.5 || (actions - protected).abs() > 0.5 {
        missed.push(format!("{daemons} daemons protected {protected} links with {actions} relay requests"));
    }
    if p99 > PROTECTED_S_MAX {
        missed.push(format!("protection takes {p99:.2} s"));
    }
    if advised > ADVISED_S_MAX || repaired > ADVISED_S_MAX {
        missed.push(format!("advice takes {advised:.3} s, after a repair {repaired:.3} s"));
    }
    Ok(missed)
}
