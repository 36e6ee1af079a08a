//! `wiremend monitor release`: somebody looked, and planners may act again.

use wiremend_monitor::bus::Board;

use super::config;
use crate::args::monitor::MonitorRelease as Asked;
use crate::failure::{Answer, Failure};

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let (config, _) = config::load_planner(&asked.config)?;
    let server = config::server(&config.redis, &config.user)?;
    let address = &config.redis.address;
    let unsaid = |why: &dyn std::fmt::Display| Failure::Environment(format!("Redis at {address}: {why}"));
    let mut board = Board::open(&server).map_err(|why| unsaid(&why))?;
    board.release("somebody looked").map_err(|why| unsaid(&why))?;
    Ok(Answer::Yes)
}
