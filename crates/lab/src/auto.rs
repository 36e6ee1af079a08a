//! The whole loop, without a human: a link begins to corrupt, daemons notice, relays protect it; it is repaired, and let be.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use wiremend_dataplane::sys::process;
use wiremend_monitor::bus::{Place as Server, Store};
use wiremend_report::lab::{Decision, Loop};

use crate::chain::{Chain, Hosts, Knobs};
use crate::error::Error;
use crate::lab::{LOOK, Lab};
use crate::part::Part;
use crate::tcp::bulk;

/// What is to be seen.
pub struct Auto {
    /// Frames that the link loses while it corrupts, as a share.
    pub loss: f64,
    /// The chain.
    pub knobs: Knobs,
}

const CORRUPTS: Duration = Duration::from_secs(2);
/// It corrupts no longer from here on, but not before it is protected.
const CURED: Duration = Duration::from_secs(6);
/// So much later somebody says that it is repaired, and again if it is not let be: what daemons read next would else be of the time before,
/// too.
const SAY: Duration = Duration::from_secs(3);
/// Not before it is let be.
const LASTS: Duration = Duration::from_secs(13);
/// What has not come about by then does not.
const GIVEN_UP: Duration = Duration::from_mins(3);
/// How often daemons are heard.
const HEAR: Duration = Duration::from_millis(100);
/// Redis answers within this, or does not work.
const START: Duration = Duration::from_mins(2);
/// The ports at which relays stand, and their nodes.
const ENDS: [(&str, &str); 2] = [(Loop::NODES[0], "link-a"), (Loop::NODES[1], "link-b")];

impl Auto {
    /// Sees it. `progress` is told the part of it that is done, as step 0.
    pub fn run(&self, lab: &Lab, progress: &dyn Fn(usize, f64)) -> Result<Loop, Error> {
        let chain = Chain::build(lab, &self.knobs, Hosts::Kernel)?;
        let directory = chain.directory();
        let redis = Redis::start(lab, directory)?;
        let daemons = [0, 1].map(|end| daemon(&chain, &redis, end));
        let daemons = daemons.into_iter().collect::<Result<Vec<Part>, Error>>()?;
        let mut course = Course::default();
        let stream = bulk::stream(&chain, "cubic", |passed| {
            progress(0, (passed.as_secs_f64() / LASTS.as_secs_f64()).min(1.0));
            let began = *course.began.get_or_insert_with(|| since_epoch().saturating_sub(passed));
            if course.corrupts.is_none() && passed >= CORRUPTS {
                chain.set_loss(self.loss)?;
                course.corrupts = Some(passed);
            }
            if passed >= course.heard + HEAR {
                course.heard = passed;
                course.hear(&decisions(&daemons, began)?);
            }
            if course.said.is_none() && passed >= CURED && course.protected_s.is_some() {
                chain.set_loss(0.0)?;
                course.said = Some(passed);
            }
            if course.let_be_s.is_none() && course.said.is_some_and(|said| passed >= said + SAY) {
                redis.say_repaired()?;
                course.said = Some(passed);
                course.repaired.get_or_insert(passed);
            }
            Ok(passed >= GIVEN_UP || passed >= LASTS && course.let_be_s.is_some())
        })?;
        let decisions = decisions(&daemons, course.began.unwrap_or_default())?;
        course.hear(&decisions);
        Ok(Loop {
            loss: self.loss,
            rate_bps: self.knobs.rate.map_or(0, wiremend_units::Rate::bits_per_s),
            corrupts_s: course.corrupts.unwrap_or_default().as_secs_f64(),
            repaired_s: course.repaired.unwrap_or_default().as_secs_f64(),
            noticed_s: decisions.iter().find(|one| is_sight(one)).map(|one| one.at_s),
            protected_s: course.protected_s,
            let_be_s: course.let_be_s,
            decisions,
            stream,
        })
    }
}

/// How far it is, after the start of the transfer.
#[derive(Default)]
struct Course {
    /// When that was, since 1970.
    began: Option<Duration>,
    corrupts: Option<Duration>,
    /// When it was last cured, or said to be.
    said: Option<Duration>,
    /// When it was first said to be repaired.
    repaired: Option<Duration>,
    /// When daemons were last heard.
    heard: Duration,
    protected_s: Option<f64>,
    let_be_s: Option<f64>,
}

impl Course {
    fn hear(&mut self, decisions: &[Decision]) {
        self.protected_s = last_of_both(decisions, |doing| doing.get("protects").is_some());
        self.let_be_s = last_of_both(decisions, |doing| doing == "nothing");
    }
}

fn is_sight(decision: &Decision) -> bool {
    decision.said["event"] == "saw" && !decision.said["corrupting"].is_null()
}

/// When the second of both nodes first did it.
fn last_of_both(decisions: &[Decision], is_meant: impl Fn(&Value) -> bool) -> Option<f64> {
    let first = |node: &str| {
        let of_node = |one: &&Decision| one.said["event"] == "did" && one.said["node"] == node;
        decisions.iter().filter(of_node).find(|one| is_meant(&one.said["doing"])).map(|one| one.at_s)
    };
    let [(a, _), (b, _)] = ENDS;
    Some(first(a)?.max(first(b)?))
}

fn decisions(daemons: &[Part], began: Duration) -> Result<Vec<Decision>, Error> {
    let mut decisions = Vec::new();
    for daemon in daemons {
        let log = fs::read_to_string(daemon.log()).map_err(|error| Error::file(&error))?;
        // The last line may be half of one.
        for line in log.rsplit_once('\n').map_or("", |(whole, _)| whole).lines() {
            let Ok(said) = serde_json::from_str::<Value>(line) else {
                return Err(Error::Environment(format!("a daemon of the lab fails: {line}")));
            };
            let at_s = said["time_s"].as_f64().unwrap_or(0.0) - began.as_secs_f64();
            decisions.push(Decision { at_s, said });
        }
    }
    decisions.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    Ok(decisions)
}

/// A daemon that may act, at one end. What arrives there is what the wire brings to that end.
fn daemon(chain: &Chain, redis: &Redis, end: usize) -> Result<Part, Error> {
    let ((node, port), (peer, peer_port)) = (ENDS[end], ENDS[1 - end]);
    let (address, wire) = (toml_text(&redis.socket), toml_text(chain.wire_socket()));
    let text = format!(
        "node = \"{node}\"\n[redis]\naddress = {address}\n[act]\nmode = \"act\"\n[[link]]\nport = \"{port}\"\n\
         peer = \"{peer}:{peer_port}\"\nprotect = \"relay\"\nsource = {{ cable = {{ socket = {wire}, forth = {} }} }}\n",
        end == 1
    );
    let directory = chain.directory();
    let file = directory.join(format!("{node}.toml"));
    fs::write(&file, text).map_err(|error| Error::file(&error))?;
    let name = if end == 0 { "daemon at A" } else { "daemon at B" };
    let (config, run_dir) = (file.to_string_lossy(), directory.to_string_lossy());
    let arguments = ["monitor", "run", "--log", "json", "--config", &config, "--run-dir", &run_dir];
    let arguments = arguments.map(str::to_owned);
    Part::start(chain.lab(), name, &arguments, chain.middle(), directory, file)
}

fn toml_text(path: &Path) -> String {
    // What is a string in JSON is one in TOML.
    Value::from(path.to_string_lossy()).to_string()
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A server of this lab alone, reached by a socket in its directory.
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
        process::ends_with_parent(&mut command);
        let child = command.spawn().map_err(|error| {
            Error::Environment(format!(
                "cannot start redis-server: {error}; `apt-get install redis-server` gets it"
            ))
        })?;
        let redis = Self { child, socket };
        let mut waited = Duration::ZERO;
        while let Err(why) = redis.store(0) {
            if waited > START {
                return Err(Error::Environment(format!("redis-server does not answer: {why}")));
            }
            lab.pause(LOOK)?;
            waited += LOOK;
        }
        Ok(redis)
    }

    /// What somebody does who cleaned the connectors.
    fn say_repaired(&self) -> Result<(), Error> {
        for (end, (_, port)) in ENDS.iter().enumerate() {
            let port = port.parse().expect("a plain name");
            let said = self
                .store(end)
                .map_err(|why| why.to_string())
                .and_then(|mut store| store.say_repaired(&port).map_err(|why| why.to_string()));
            said.map_err(|why| Error::Environment(format!("redis-server: {why}")))?;
        }
        Ok(())
    }

    fn store(&self, end: usize) -> Result<Store, wiremend_monitor::bus::Unfit> {
        let server = wiremend_monitor::bus::Server {
            place: Server::Unix(self.socket.clone()),
            tls: None,
            login: None,
            patience: Duration::from_mins(1),
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
