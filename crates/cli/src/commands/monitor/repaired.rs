//! `wiremend monitor repaired`: somebody cleaned the connector.

use wiremend_monitor::bus::Store;

use super::config;
use crate::args::monitor::MonitorRepaired as Asked;
use crate::failure::{Answer, Failure};

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let config = config::load(&asked.config)?;
    let ports: Vec<&str> = config.links.iter().map(|link| link.port.as_str()).collect();
    if let Some(unknown) = asked.ports.iter().find(|port| !ports.contains(&port.as_str())) {
        return Err(Failure::Input(wiremend_units::or_nearest("port", unknown.as_str(), &ports)));
    }
    let server = config::server(&config.redis, &config.node)?;
    let address = &config.redis.address;
    let unsaid = |why: &dyn std::fmt::Display| Failure::Environment(format!("Redis at {address}: {why}"));
    let mut store = Store::open(&server, config.node.clone()).map_err(|why| unsaid(&why))?;
    for port in &asked.ports {
        store.say_repaired(port).map_err(|why| unsaid(&why))?;
    }
    Ok(Answer::Yes)
}
