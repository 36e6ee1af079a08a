//! `wiremend serve`: the page of a fabric.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wiremend_dashboard::{Operators, PageError, PageService, PageSockets, PageSource, ResultsService};
use wiremend_monitor::planner::PlannerLimits;
use wiremend_monitor::service::{LocalNode, NodePaths};

use super::monitor::config;
use crate::args::VERSION;
use crate::args::serve::Serve;
use crate::failure::{Answer, Failure};
use crate::input_file::{CONFIG_BYTES_MAX, read};
use crate::{log, signals, terminal};

const PORT: u16 = 9480;

pub(super) fn run(args: &Serve) -> Result<Answer, Failure> {
    log::start(args.log);
    let default = (args.socket.is_none()).then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    let listen = args.listen.or(default);
    if let Some(address) = listen.filter(|address| !address.ip().is_loopback() && !args.public) {
        let why =
            format!("a page at {address} would be readable by other machines; add --public to allow that");
        return Err(Failure::Input(why));
    }
    let sockets = PageSockets { listen, socket: args.socket.clone(), hosts: args.host.clone() };
    let started = |address: Option<SocketAddr>| {
        let place = address.map_or_else(
            || args.socket.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
            |address| format!("http://{address}/"),
        );
        terminal::print_message(&format!("the page is at {place}"));
    };
    signals::catch()?;
    let stop = signals::stop();
    if let Some(duration) = args.duration {
        stop_after(Duration::from_nanos(duration.as_ns()), Arc::clone(&stop));
    }
    let served = match (&args.results, &args.config) {
        (Some(folder), _) => {
            if !folder.is_dir() {
                let why = format!("`{}` is not a directory; name a folder with results", folder.display());
                return Err(Failure::Input(why));
            }
            ResultsService { folder: folder.clone(), sockets, version: VERSION }.run(&stop, started)
        }
        (None, Some(config)) => serve_fabric(config, args.token_file.as_deref(), sockets, &stop, started)?,
        (None, None) => serve_machine(args, sockets, &stop, started)?,
    };
    served.map_err(|error| Failure::Environment(error.to_string()))?;
    Ok(Answer::Yes)
}

fn serve_fabric(
    config: &Path,
    token_file: Option<&Path>,
    sockets: PageSockets,
    stop: &AtomicBool,
    started: impl FnOnce(Option<SocketAddr>),
) -> Result<Result<(), PageError>, Failure> {
    let (config, fabric, skipped) = config::load_planner(config)?;
    for item in skipped {
        tracing::warn!(event = "skipped", "skipped: {item}");
    }
    let operators = match token_file {
        Some(file) => {
            config::check_secret(file)?;
            Operators::parse(&read(file, CONFIG_BYTES_MAX)?)
                .map_err(|why| Failure::Input(format!("{}:{why}", file.display())))?
        }
        None => Operators::default(),
    };
    let service = PageService {
        fabric: &fabric,
        limits: config.limits,
        source: PageSource::Redis(config::server(&config.redis, &config.user)?),
        sockets,
        operators,
        version: VERSION,
    };
    Ok(service.run(stop, started))
}

fn serve_machine(
    args: &Serve,
    sockets: PageSockets,
    stop: &AtomicBool,
    started: impl FnOnce(Option<SocketAddr>),
) -> Result<Result<(), PageError>, Failure> {
    let config = config::load_local(args.machine.as_ref().expect("one of three is required"))?;
    let fabric = LocalNode::fabric(&config)?;
    let service = PageService {
        fabric: &fabric,
        limits: PlannerLimits::default(),
        source: PageSource::Machine {
            config: &config,
            paths: NodePaths { sysfs: &args.sysfs, run_dir: &args.run_dir },
        },
        sockets,
        operators: Operators::default(),
        version: VERSION,
    };
    Ok(service.run(stop, started))
}

/// Sets the flag after this time, unless a signal does.
fn stop_after(duration: Duration, stop: Arc<AtomicBool>) {
    let end = Instant::now() + duration;
    thread::spawn(move || {
        while Instant::now() < end && !stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
        stop.store(true, Ordering::Relaxed);
    });
}
