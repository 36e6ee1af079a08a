//! Speed of daemons and of a planner with a real Redis. `cargo xtask bench monitor` runs it and checks the
//! limits.
//!
//! Prints two JSON objects: latencies of 2000 daemons, and latencies of a planner of 100 224 links.

use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wiremend_fabric::tiers::FabricShape;
use wiremend_monitor::planner::{LinkEnd, NamedFabric, PlannerEvent, PlannerLeader, PlannerLimits};
use wiremend_monitor::redis::{
    ChangeNotifier, LinkAction, Observation, PlannerStore, RedisConnection, RedisServer, ServerAddress, Store,
};
use wiremend_monitor::{
    ActionConfig, Daemon, DaemonMode, FecCounts, FrameCounts, FrameSample, LinkConfig, LossEstimate, Machine,
    Name, PortName, PortReading, Protector, RelayState, Thresholds,
};
use wiremend_units::{LinkId, Rate, Span, Time};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Links, each with a daemon at both ends.
const LINKS: usize = 1_000;
/// Threads that run the daemons.
const THREADS: usize = 20;
/// Time within which all links start to corrupt, and the timeout of the measurement.
const SPREAD: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_mins(1);
/// Links that corrupt before the measurement of the planner, and during it.
const CORRUPTING: u32 = 300;
const EVENTS: u32 = 100;

fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let redis = Redis::start(directory.path())?;
    println!("{}", measure_daemons(&redis.server)?);
    RedisConnection::open(&redis.server)?.call(&[b"FLUSHALL"])?;
    println!("{}", measure_planner(&redis.server)?);
    Ok(())
}

/// Measures the time from the first loss at a port to the request to the relay, over 2000 daemons.
fn measure_daemons(server: &RedisServer) -> Outcome<serde_json::Value> {
    let begun = now();
    let latencies = Arc::new(Mutex::new(Vec::new()));
    let actions = Arc::new(Mutex::new(0_u64));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (server, latencies, actions) = (server.clone(), Arc::clone(&latencies), Arc::clone(&actions));
            thread::spawn(move || -> Outcome<()> {
                let mut pairs: Vec<Pair> = (thread..LINKS)
                    .step_by(THREADS)
                    .map(|number| Pair::new(number, &server))
                    .collect::<Outcome<_>>()?;
                let begun = now();
                while pairs.iter().any(|pair| pair.protected.is_none()) && begun.elapsed() < TIMEOUT {
                    for pair in &mut pairs {
                        pair.run_once(begun)?;
                    }
                }
                // A duplicate request would be counted here.
                for pair in &mut pairs {
                    pair.run_once(begun)?;
                    *actions.lock().unwrap_or_else(PoisonError::into_inner) += u64::from(pair.spine.actions);
                    latencies.lock().unwrap_or_else(PoisonError::into_inner).extend(pair.latency());
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    let actions = *actions.lock().unwrap_or_else(PoisonError::into_inner);
    let mut latencies = latencies.lock().unwrap_or_else(PoisonError::into_inner).clone();
    latencies.sort_unstable();
    let at = |part: f64| latencies.get((latencies.len() as f64 * part) as usize).map(Duration::as_secs_f64);
    Ok(serde_json::json!({
        "daemons": 2 * LINKS, "protected": latencies.len(), "actions": actions,
        "p50_s": at(0.5), "p99_s": at(0.99), "max_s": latencies.last().map(Duration::as_secs_f64),
        "wall_s": begun.elapsed().as_secs_f64(),
    }))
}

/// Measures the time from an observation to stored advice.
fn measure_planner(server: &RedisServer) -> Outcome<serde_json::Value> {
    let tiers =
        FabricShape::Facebook { pods: 261, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100))?;
    let fabric = NamedFabric::new(tiers, &[])?;
    let links = fabric.tiers().link_count();
    let place = |number: u32| LinkId((number / 3 * 1_009 + number % 3 * 5) % links);
    for number in 0..CORRUPTING {
        publish_loss(server, &fabric, place(number), 1e-6 * f64::from(number % 97 + 1))?;
    }
    let mut store = PlannerStore::open(server)?;
    let mut leader = PlannerLeader::new(&fabric, PlannerLimits::default(), "bench".to_owned());
    let begun = now();
    let first = leader.run_once(clock(begun), &mut store, Duration::from_millis(1))?;
    let start_s = begun.elapsed().as_secs_f64();
    let mut latencies = Vec::new();
    for number in 0..EVENTS {
        let link = place(CORRUPTING + number);
        let seen = now();
        publish_loss(server, &fabric, link, 1e-4)?;
        loop {
            let events = leader.run_once(clock(begun), &mut store, Duration::from_millis(100))?;
            if events
                .iter()
                .any(|event| matches!(event, PlannerEvent::Advised { link: advised, .. } if *advised == link))
            {
                break;
            }
            if seen.elapsed() > TIMEOUT {
                return Err("no advice came".into());
            }
        }
        latencies.push(seen.elapsed());
    }
    // Repairs: the optimizer examines the links that had to stay.
    let mut repairs = Vec::new();
    for number in 0..EVENTS / 4 {
        let link = place(number);
        let seen = now();
        publish_loss(server, &fabric, link, 0.0)?;
        while !leader
            .run_once(clock(begun), &mut store, Duration::from_millis(100))?
            .iter()
            .any(|event| matches!(event, PlannerEvent::Advised { link: advised, .. } if *advised == link))
        {
            if seen.elapsed() > TIMEOUT {
                return Err("no advice came after a repair".into());
            }
        }
        repairs.push(seen.elapsed());
    }
    latencies.sort_unstable();
    repairs.sort_unstable();
    let seconds = |of: Option<&Duration>| of.map(Duration::as_secs_f64);
    Ok(serde_json::json!({
        "links": links, "corrupting": CORRUPTING, "advised_at_start": first.len(), "start_s": start_s,
        "p50_s": seconds(latencies.get(latencies.len() / 2)), "max_s": seconds(latencies.last()),
        "repair_max_s": seconds(repairs.last()),
    }))
}

fn publish_loss(server: &RedisServer, fabric: &NamedFabric, link: LinkId, loss: f64) -> Outcome<()> {
    let port = fabric.name(LinkEnd { link, upper: false });
    let mut store = Store::open(server, port.node.clone())?;
    let lease = store.lease("bench", Duration::from_mins(5))?.ok_or("another daemon holds the lease")?;
    let estimate =
        LossEstimate::from_sample(FrameSample { frames: 1_000_000_000, errors: (loss * 1e9) as u64 });
    let corrupting = Some(estimate).filter(|estimate| estimate.errors > 0);
    store.put(lease, &port.port, &Observation { corrupting, ..Observation::default() }, &port.node)?;
    Ok(())
}

/// A link with a daemon at each end.
struct Pair {
    leaf: NodeUnderTest,
    spine: NodeUnderTest,
    corrupts_at: Duration,
    seen: Option<Instant>,
    protected: Option<Instant>,
}

impl Pair {
    fn new(number: usize, server: &RedisServer) -> Outcome<Self> {
        let (leaf, spine) = (format!("leaf-{number}"), format!("spine-{number}"));
        Ok(Self {
            leaf: NodeUnderTest::new(&leaf, &spine, server)?,
            spine: NodeUnderTest::new(&spine, &leaf, server)?,
            corrupts_at: Duration::from_secs(1) + SPREAD * number as u32 / LINKS as u32,
            seen: None,
            protected: None,
        })
    }

    fn run_once(&mut self, begun: Instant) -> Outcome<()> {
        let is_bad = begun.elapsed() >= self.corrupts_at;
        // A link that starts to corrupt is read at once: the wait for the next poll is not measured.
        let begins = is_bad && self.seen.is_none();
        if begins {
            self.seen = Some(now());
        }
        self.leaf.bad = is_bad;
        self.leaf.run_once(begun, begins)?;
        self.spine.run_once(begun, false)?;
        if self.protected.is_none() && self.spine.action != LinkAction::Nothing {
            self.protected = Some(now());
        }
        Ok(())
    }

    fn latency(&self) -> Option<Duration> {
        Some(self.protected?.duration_since(self.seen?))
    }
}

/// A daemon and a machine with one port.
struct NodeUnderTest {
    daemon: Daemon,
    store: Store,
    notifier: ChangeNotifier,
    poll_at: Duration,
    frames: u64,
    errors: u64,
    bad: bool,
    action: LinkAction,
    actions: u32,
}

impl NodeUnderTest {
    fn new(node: &str, peer: &str, server: &RedisServer) -> Outcome<Self> {
        let name = |text: &str| text.parse::<Name>();
        let link = LinkConfig {
            port: name("eth0")?,
            peer: PortName { node: name(peer)?, port: name("eth0")? },
            protect: Protector::Relay,
        };
        let act = ActionConfig { mode: DaemonMode::Act, ..ActionConfig::default() };
        Ok(Self {
            daemon: Daemon::new(vec![link], Thresholds::default(), act, node.to_owned()),
            store: Store::open(server, name(node)?)?,
            notifier: ChangeNotifier::open(server, &name(node)?, &[name(peer)?])?,
            poll_at: Duration::ZERO,
            frames: 0,
            errors: 0,
            bad: false,
            action: LinkAction::Nothing,
            actions: 0,
        })
    }

    fn run_once(&mut self, begun: Instant, polls_now: bool) -> Outcome<()> {
        let notified = self.notifier.wait(Duration::from_micros(100))?;
        let polls = polls_now || begun.elapsed() >= self.poll_at;
        if !notified && !polls {
            return Ok(());
        }
        let mut port = NodeAtTime { at: clock(begun), node: self };
        if polls {
            port.node.poll_at = begun.elapsed() + Duration::from_secs(1);
            port.node.frames += 1_000_000;
            port.node.errors += if port.node.bad { 1_000 } else { 0 };
        }
        port.serve(polls, notified)
    }
}

/// A node at one time, as a machine.
struct NodeAtTime<'a> {
    at: Time,
    node: &'a mut NodeUnderTest,
}

impl NodeAtTime<'_> {
    fn serve(&mut self, polls: bool, notified: bool) -> Outcome<()> {
        let NodeUnderTest { daemon, store, frames, errors, action, actions, .. } = &mut *self.node;
        let counted = FrameCounts::GoodAndBad { good: *frames, bad: *errors };
        let reading =
            PortReading { at: self.at, up: true, carrier_changes: None, counted, fec: FecCounts::default() };
        let mut machine = Relay { reading, action, actions };
        if polls {
            daemon.read_ports(&mut machine);
        }
        daemon.sync(self.at, store, &mut machine, notified)?;
        Ok(())
    }
}

/// A port with a relay.
struct Relay<'a> {
    reading: PortReading,
    action: &'a mut LinkAction,
    actions: &'a mut u32,
}

impl Machine for Relay<'_> {
    fn read(&mut self, _: usize) -> Option<PortReading> {
        Some(self.reading)
    }

    fn relay_state(&mut self, _: usize) -> Result<RelayState, String> {
        Ok(RelayState { action: self.action.clone(), process: 1 })
    }

    fn apply(&mut self, _: usize, action: &LinkAction) -> Result<(), String> {
        *self.action = action.clone();
        *self.actions += 1;
        Ok(())
    }
}

/// A Redis server for this process.
struct Redis {
    child: Child,
    server: RedisServer,
}

impl Redis {
    fn start(directory: &Path) -> Outcome<Self> {
        let socket = directory.join("redis.sock");
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--maxclients", "10000", "--unixsocket"])
            .arg(&socket)
            .current_dir(directory)
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                format!("redis-server: {error}; install it with `apt-get install redis-server`")
            })?;
        let server = RedisServer {
            address: ServerAddress::Unix(socket),
            tls: None,
            login: None,
            timeout: Duration::from_secs(20),
        };
        let redis = Self { child, server };
        let begun = now();
        while RedisConnection::open(&redis.server).is_err() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("redis-server does not answer".into());
            }
            pause(Duration::from_millis(10));
        }
        Ok(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn clock(begun: Instant) -> Time {
    Time::ZERO.saturating_add(Span::from_ns(begun.elapsed().as_nanos() as u64 + 1))
}

#[expect(clippy::disallowed_methods, reason = "the benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the server needs some time to start")]
fn pause(time: Duration) {
    thread::sleep(time);
}
