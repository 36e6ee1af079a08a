//! Automatic protection: a link starts to corrupt, daemons detect it, relays protect it until it is repaired.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use wiremend_dataplane::sys::process;
use wiremend_monitor::redis::{ServerAddress, Store};
use wiremend_report::lab::{AutoRun, Decision};

use crate::chain::{Chain, ChainConfig, HostKind};
use crate::error::Error;
use crate::lab::{Lab, POLL_INTERVAL};
use crate::lab_process::LabProcess;
use crate::tcp::bulk;

/// Settings of a run.
pub struct AutoProtection {
    /// Loss rate of the link while it corrupts.
    pub loss: f64,
    /// Configuration of the chain.
    pub chain: ChainConfig,
    /// Address of a page of the link. With it the run ends when the lab's stop flag is set.
    pub page: Option<SocketAddr>,
}

/// Times of a run, from the start of the transfer.
struct Schedule {
    corrupts: Duration,
    /// Earliest time at which corruption ends; the link must be protected before.
    repair: Duration,
    /// Minimum duration. The run ends after protection has ended.
    duration_min: Duration,
}

/// A run that nobody watches.
const ALONE: Schedule = Schedule {
    corrupts: Duration::from_secs(2),
    repair: Duration::from_secs(6),
    duration_min: Duration::from_secs(13),
};
/// With a page: a person opens it while the link is clean, and looks at the protected link.
const WATCHED: Schedule = Schedule {
    corrupts: Duration::from_secs(20),
    repair: Duration::from_secs(50),
    duration_min: Duration::from_mins(1),
};
/// Interval of the repair reports, the first this long after corruption ended: earlier readings of the
/// daemons still include the corruption.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);
const TIME_LIMIT: Duration = Duration::from_mins(3);
const LOG_INTERVAL: Duration = Duration::from_millis(100);
const START_LIMIT: Duration = Duration::from_mins(2);
/// Nodes and link ports of the two relays.
const ENDS: [(&str, &str); 2] = [(AutoRun::NODES[0], "link-a"), (AutoRun::NODES[1], "link-b")];

impl AutoProtection {
    /// Runs it. Calls `progress` with step 0 and the finished share.
    pub fn run(&self, lab: &Lab, progress: &dyn Fn(usize, f64)) -> Result<AutoRun, Error> {
        let chain = Chain::build(lab, &self.chain, HostKind::Kernel)?;
        let directory = chain.directory();
        let redis = Redis::start(lab, directory)?;
        let daemons = [0, 1].map(|end| daemon(&chain, &redis, end));
        let daemons = daemons.into_iter().collect::<Result<Vec<LabProcess>, Error>>()?;
        let _page = self.page.map(|address| page(&chain, &redis, address)).transpose()?;
        let Schedule { corrupts, repair, duration_min } = if self.page.is_some() { WATCHED } else { ALONE };
        let mut state = LoopProgress::default();
        let stream = bulk::stream(&chain, "cubic", |passed| {
            progress(0, (passed.as_secs_f64() / duration_min.as_secs_f64()).min(1.0));
            let began = *state.began.get_or_insert_with(|| since_epoch().saturating_sub(passed));
            if state.corrupts.is_none() && passed >= corrupts {
                chain.set_loss(self.loss)?;
                state.corrupts = Some(passed);
            }
            if passed >= state.logs_read + LOG_INTERVAL {
                state.logs_read = passed;
                state.update(&decisions(&daemons, began)?);
            }
            if state.reported_at.is_none() && passed >= repair && state.protected_s.is_some() {
                chain.set_loss(0.0)?;
                state.reported_at = Some(passed);
            }
            if state.unprotected_s.is_none()
                && state.reported_at.is_some_and(|at| passed >= at + REPORT_INTERVAL)
            {
                redis.report_repair()?;
                state.reported_at = Some(passed);
                state.repaired.get_or_insert(passed);
            }
            Ok(passed >= TIME_LIMIT || passed >= duration_min && state.unprotected_s.is_some())
        })?;
        while self.page.is_some() && lab.pause(POLL_INTERVAL).is_ok() {}
        let decisions = decisions(&daemons, state.began.unwrap_or_default())?;
        state.update(&decisions);
        Ok(AutoRun {
            loss: self.loss,
            rate_bps: self.chain.rate.map_or(0, wiremend_units::Rate::bits_per_s),
            corrupts_s: state.corrupts.unwrap_or_default().as_secs_f64(),
            repaired_s: state.repaired.unwrap_or_default().as_secs_f64(),
            detected_s: decisions.iter().find(|one| one.is_detection()).map(|one| one.at_s),
            protected_s: state.protected_s,
            unprotected_s: state.unprotected_s,
            decisions,
            stream,
        })
    }
}

/// Progress of the run. Times count from the start of the transfer.
#[derive(Default)]
struct LoopProgress {
    /// Start of the transfer, since 1970.
    began: Option<Duration>,
    corrupts: Option<Duration>,
    /// When corruption ended, or a repair was last reported.
    reported_at: Option<Duration>,
    /// When a repair was first reported.
    repaired: Option<Duration>,
    logs_read: Duration,
    protected_s: Option<f64>,
    unprotected_s: Option<f64>,
}

impl LoopProgress {
    fn update(&mut self, decisions: &[Decision]) {
        self.protected_s = last_of_both(decisions, |copies| copies > 0);
        self.unprotected_s = last_of_both(decisions, |copies| copies == 0);
    }
}

/// Time at which the later of the two nodes first acted with such a number of copies.
fn last_of_both(decisions: &[Decision], matches: impl Fn(u64) -> bool) -> Option<f64> {
    let first = |node: &str| {
        let mut of_node = decisions.iter().filter(|one| one.entry["node"] == node);
        of_node.find(|one| one.copies().is_some_and(&matches)).map(|one| one.at_s)
    };
    let [(a, _), (b, _)] = ENDS;
    Some(first(a)?.max(first(b)?))
}

fn decisions(daemons: &[LabProcess], began: Duration) -> Result<Vec<Decision>, Error> {
    let mut decisions = Vec::new();
    for daemon in daemons {
        let log = fs::read_to_string(daemon.log()).map_err(|error| Error::file(&error))?;
        // The last line may be incomplete.
        for line in log.rsplit_once('\n').map_or("", |(whole, _)| whole).lines() {
            let Ok(entry) = serde_json::from_str::<Value>(line) else {
                return Err(Error::Environment(format!("a daemon of the lab failed: {line}")));
            };
            let Some(time_s) = entry["timestamp"].as_str().and_then(second_of_day) else {
                return Err(Error::Environment(format!(
                    "a line without a time in the log of a daemon: {line}"
                )));
            };
            // A run may pass midnight.
            let since = (time_s - began.as_secs_f64()).rem_euclid(DAY_S);
            let at_s = if since < DAY_S / 2.0 { since } else { since - DAY_S };
            decisions.push(Decision { at_s, entry });
        }
    }
    decisions.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    Ok(decisions)
}

const DAY_S: f64 = 86_400.0;

/// Seconds since midnight of a time such as `2026-11-19T03:34:57.123456Z`.
fn second_of_day(timestamp: &str) -> Option<f64> {
    let (_, time) = timestamp.strip_suffix('Z')?.split_once('T')?;
    time.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))
}

/// Starts a daemon in the mode `act` at one end. Its counters are those of the wire towards that end.
fn daemon(chain: &Chain, redis: &Redis, end: usize) -> Result<LabProcess, Error> {
    let ((node, port), (peer, peer_port)) = (ENDS[end], ENDS[1 - end]);
    let (address, wire) = (toml_text(&redis.socket), toml_text(chain.wire_socket()));
    let text = format!(
        "node = \"{node}\"\n[redis]\naddress = {address}\n[act]\nmode = \"act\"\n[[link]]\nport = \"{port}\"\n\
         peer = \"{peer}:{peer_port}\"\nprotect = \"relay\"\nsource = {{ wire = {{ socket = {wire}, a_to_b = {} }} }}\n",
        end == 1
    );
    let directory = chain.directory();
    let file = directory.join(format!("{node}.toml"));
    fs::write(&file, text).map_err(|error| Error::file(&error))?;
    let name = if end == 0 { "daemon at A" } else { "daemon at B" };
    let (config, run_dir) = (file.to_string_lossy(), directory.to_string_lossy());
    let arguments = ["monitor", "run", "--log", "json", "--config", &config, "--run-dir", &run_dir];
    let arguments = arguments.map(str::to_owned);
    LabProcess::start(chain.lab(), name, &arguments, chain.middle(), directory, file)
}

/// Starts a planner and the page of the link, in the network of this process.
fn page(chain: &Chain, redis: &Redis, address: SocketAddr) -> Result<[LabProcess; 2], Error> {
    let directory = chain.directory();
    let [(a, a_port), (b, b_port)] = ENDS;
    let text = format!(
        "relays = [\"{a}\", \"{b}\"]\n[redis]\naddress = {}\n[[switch]]\nname = \"{a}\"\nlevel = 0\n\
         [[switch]]\nname = \"{b}\"\nlevel = 1\n[[link]]\na = \"{a}:{a_port}\"\nb = \"{b}:{b_port}\"\n",
        toml_text(&redis.socket)
    );
    let file = directory.join("planner.toml");
    fs::write(&file, text).map_err(|error| Error::file(&error))?;
    let config = file.to_string_lossy();
    let listen = address.to_string();
    let start = |name, arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let network = File::open("/proc/thread-self/ns/net").map_err(|error| Error::file(&error))?;
        LabProcess::start(chain.lab(), name, &arguments, network, directory, file.clone())
    };
    Ok([
        start("planner", &["monitor", "planner", "--config", &config])?,
        start("page", &["serve", "--config", &config, "--listen", &listen])?,
    ])
}

fn toml_text(path: &Path) -> String {
    // A JSON string is a TOML string.
    Value::from(path.to_string_lossy()).to_string()
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A private Redis server, with a socket in the directory of the lab.
struct Redis {
    child: Child,
    socket: PathBuf,
}

impl Redis {
    fn start(lab: &Lab, directory: &Path) -> Result<Self, Error> {
        let socket = directory.join("redis");
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&socket);
        command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.process_group(0);
        process::terminate_with_parent(&mut command);
        let child = command.spawn().map_err(|error| {
            Error::Environment(format!(
                "cannot start redis-server: {error}; install it with `apt-get install redis-server`"
            ))
        })?;
        let redis = Self { child, socket };
        let mut waited = Duration::ZERO;
        while let Err(why) = redis.store(0) {
            if waited > START_LIMIT {
                return Err(Error::Environment(format!("redis-server does not answer: {why}")));
            }
            lab.pause(POLL_INTERVAL)?;
            waited += POLL_INTERVAL;
        }
        Ok(redis)
    }

    /// Reports a repair of the link at both ends, as an operator does after cleaning the connectors.
    fn report_repair(&self) -> Result<(), Error> {
        for (end, (_, port)) in ENDS.iter().enumerate() {
            let port = port.parse().expect("a plain name");
            let reported = self
                .store(end)
                .map_err(|why| why.to_string())
                .and_then(|mut store| store.put_repair(&port).map_err(|why| why.to_string()));
            reported.map_err(|why| Error::Environment(format!("redis-server: {why}")))?;
        }
        Ok(())
    }

    fn store(&self, end: usize) -> Result<Store, wiremend_monitor::redis::UnusableServer> {
        let server = wiremend_monitor::redis::RedisServer {
            address: ServerAddress::Unix(self.socket.clone()),
            tls: None,
            login: None,
            timeout: Duration::from_mins(1),
        };
        Store::open(&server, ENDS[end].0.parse().expect("a plain name"))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
