//! `wiremend monitor repaired`: reports the repair of a link.

use wiremend_monitor::redis::Store;

use super::config;
use crate::args::monitor::MonitorRepaired;
use crate::failure::{Answer, Failure};

pub(super) fn run(args: &MonitorRepaired) -> Result<Answer, Failure> {
    let config = config::load(&args.config)?;
    let ports: Vec<&str> = config.links.iter().map(|link| link.port.as_str()).collect();
    if let Some(unknown) = args.ports.iter().find(|port| !ports.contains(&port.as_str())) {
        return Err(Failure::Input(wiremend_units::unknown_name("port", unknown.as_str(), &ports)));
    }
    let server = config::server(&config.redis, &config.node)?;
    let address = &config.redis.address;
    let failed = |why: &dyn std::fmt::Display| Failure::Environment(format!("Redis at {address}: {why}"));
    let mut store = Store::open(&server, config.node.clone()).map_err(|why| failed(&why))?;
    for port in &args.ports {
        store.put_repair(port).map_err(|why| failed(&why))?;
    }
    Ok(Answer::Yes)
}
