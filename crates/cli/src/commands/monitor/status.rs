//! `wiremend monitor status`: the table of the page in a terminal.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use wiremend_dashboard::{Collector, FabricView};
use wiremend_monitor::redis::{PlannerStore, RedisError};

use super::config;
use crate::args::monitor::MonitorStatus;
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// Longest time without a new table while watching.
const TURN: Duration = Duration::from_millis(500);
/// Clears the screen and moves to its start.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

pub(super) fn run(args: &MonitorStatus) -> Result<Answer, Failure> {
    let (config, fabric, _) = config::load_planner(&args.config)?;
    let server = config::server(&config.redis, &config.user)?;
    let failed = |why: &dyn std::fmt::Display| config::redis_failure(&config.redis, why);
    let mut collector = Collector::new(&fabric);
    let mut read = || -> Result<PlannerStore, Failure> {
        let mut store = PlannerStore::open(&server).map_err(|why| failed(&why))?;
        collector.read_all(&mut store).map_err(|why| failed(&why))?;
        Ok(store)
    };
    let mut store = read()?;
    let mut view = collector.view();
    print(args, &view)?;
    if args.watch {
        signals::catch()?;
    }
    while args.watch && signals::caught().is_none() {
        collector.turn(&mut store, TURN).map_err(|why: RedisError| failed(&why))?;
        let next = collector.view();
        // Ages in the table count from the time of the view.
        if !args.json || (&next.summary, &next.links) != (&view.summary, &view.links) {
            print(args, &next)?;
        }
        view = next;
    }
    Ok(if view.summary.corrupting > 0 { Answer::No } else { Answer::Yes })
}

fn print(args: &MonitorStatus, view: &FabricView) -> Result<(), Failure> {
    let text = if args.json {
        let json = if args.watch { serde_json::to_string(view) } else { serde_json::to_string_pretty(view) };
        json.expect("plain values") + "\n"
    } else {
        let clear = if args.watch && io::stdout().is_terminal() { CLEAR } else { "" };
        format!("{clear}{}", view.text(args.rows))
    };
    terminal::print(&text)
}
