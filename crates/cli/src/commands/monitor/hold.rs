//! `wiremend monitor hold` and `unhold`: operators keep daemons and planners from links.

use wiremend_dashboard::user_name;
use wiremend_monitor::redis::{HoldRecord, PlannerStore, Store};
use wiremend_monitor::{Name, PortName};

use super::config;
use crate::args::monitor::{HoldTargets, MonitorHold, MonitorUnhold};
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn hold(args: &MonitorHold) -> Result<Answer, Failure> {
    let length_ms = args.length.as_ns() / 1_000_000;
    let (why, maintenance) = (args.why.clone(), args.maintenance);
    let record = |now_ms: u64| HoldRecord {
        until_ms: now_ms.saturating_add(length_ms),
        why: why.clone(),
        maintenance,
    };
    let ports = write(&args.which, record)?;
    terminal::print_message(&format!("held for {}: {}", args.length, shown(&ports)));
    Ok(Answer::Yes)
}

pub(super) fn unhold(args: &MonitorUnhold) -> Result<Answer, Failure> {
    let ports = write(&args.which, |_| HoldRecord::ended())?;
    terminal::print_message(&format!("not held any more: {}", shown(&ports)));
    Ok(Answer::Yes)
}

/// The user who runs this program, for the audit stream.
fn operator() -> String {
    user_name(rustix::process::getuid().as_raw())
}

fn shown(ports: &[PortName]) -> String {
    match ports {
        [first, second, third, _, ..] => {
            format!("{first}, {second}, {third} and {} more ports", ports.len() - 3)
        }
        _ => ports.iter().map(PortName::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Writes a record, made from the server's time, for each port of the targets. Returns the ports.
fn write(which: &HoldTargets, record: impl Fn(u64) -> HoldRecord) -> Result<Vec<PortName>, Failure> {
    if which.planner {
        return write_planner(which, record);
    }
    let config = config::load(&which.config)?;
    let known: Vec<&str> = config.links.iter().map(|link| link.port.as_str()).collect();
    if let Some(unknown) = which.targets.iter().find(|target| !known.contains(&target.as_str())) {
        return Err(Failure::Input(wiremend_units::unknown_name("port", unknown, &known)));
    }
    let server = config::server(&config.redis, &config.node)?;
    let failed = |why: &dyn std::fmt::Display| config::redis_failure(&config.redis, why);
    let mut store = Store::open(&server, config.node.clone()).map_err(|why| failed(&why))?;
    let record = record(store.time_ms().map_err(|why| failed(&why))?);
    let mut ports = Vec::new();
    let author = operator();
    for target in &which.targets {
        let port: Name = target.parse().map_err(Failure::Input)?;
        store.put_hold(&port, &record, Some(&author)).map_err(|why| failed(&why))?;
        ports.push(PortName { node: config.node.clone(), port });
    }
    Ok(ports)
}

fn write_planner(which: &HoldTargets, record: impl Fn(u64) -> HoldRecord) -> Result<Vec<PortName>, Failure> {
    let (config, fabric, _) = config::load_planner(&which.config)?;
    let mut ports = Vec::new();
    for target in &which.targets {
        ports.extend(fabric.ports_of(target).map_err(|unknown| Failure::Input(unknown.to_string()))?);
    }
    let server = config::server(&config.redis, &config.user)?;
    let failed = |why: &dyn std::fmt::Display| config::redis_failure(&config.redis, why);
    let mut store = PlannerStore::open(&server).map_err(|why| failed(&why))?;
    let record = record(store.time_ms().map_err(|why| failed(&why))?);
    let holds: Vec<(PortName, HoldRecord)> =
        ports.iter().map(|port| (port.clone(), record.clone())).collect();
    store.put_holds(&holds, &operator()).map_err(|why| failed(&why))?;
    Ok(ports)
}
