//! How fast daemons and a planner are over a real Redis: `cargo xtask bench monitor` runs it and judges.
//!
//! Prints two objects of JSON: what 2000 daemons take to tell each other, and what a planner of 100 224 links takes to advise.

use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wiremend_fabric::tiers::Shape;
use wiremend_monitor::bus::{Bell, Board, Connection, Doing, Place, Server, Sighting, Store};
use wiremend_monitor::control::{Chair, ControlEvent, End, Limits, Topology};
use wiremend_monitor::{
    Conduct, Counted, Daemon, Estimate, Fec, Link, Machine, Mode, Name, PortName, Protect, Reading, Sample,
    Thresholds,
};
use wiremend_units::{LinkId, Rate, Span, Time};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Links, each with a daemon at both ends.
const LINKS: usize = 1_000;
/// Threads that turn them.
const THREADS: usize = 20;
/// All links begin to corrupt within this time, and each is waited for no longer than the other.
const SPREAD: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_mins(1);
/// Links that corrupt before the planner is measured, and while it is.
const CORRUPTING: u32 = 300;
const EVENTS: u32 = 100;

fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let redis = Redis::start(directory.path())?;
    println!("{}", swarm(&redis.server)?);
    Connection::open(&redis.server)?.call(&[b"FLUSHALL"])?;
    println!("{}", planner(&redis.server)?);
    Ok(())
}

/// From a port that begins to see loss to a relay that is told, over 2000 daemons.
fn swarm(server: &Server) -> Outcome<serde_json::Value> {
    let begun = now();
    let latencies = Arc::new(Mutex::new(Vec::new()));
    let acts = Arc::new(Mutex::new(0_u64));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (server, latencies, acts) = (server.clone(), Arc::clone(&latencies), Arc::clone(&acts));
            thread::spawn(move || -> Outcome<()> {
                let mut pairs: Vec<Pair> = (thread..LINKS)
                    .step_by(THREADS)
                    .map(|number| Pair::new(number, &server))
                    .collect::<Outcome<_>>()?;
                let begun = now();
                while pairs.iter().any(|pair| pair.protected.is_none()) && begun.elapsed() < PATIENCE {
                    for pair in &mut pairs {
                        pair.turn(begun)?;
                    }
                }
                // What comes twice would show here.
                for pair in &mut pairs {
                    pair.turn(begun)?;
                    *acts.lock().unwrap_or_else(PoisonError::into_inner) += u64::from(pair.spine.acts);
                    latencies.lock().unwrap_or_else(PoisonError::into_inner).extend(pair.latency());
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    let acts = *acts.lock().unwrap_or_else(PoisonError::into_inner);
    let mut latencies = latencies.lock().unwrap_or_else(PoisonError::into_inner).clone();
    latencies.sort_unstable();
    let at = |part: f64| latencies.get((latencies.len() as f64 * part) as usize).map(Duration::as_secs_f64);
    Ok(serde_json::json!({
        "daemons": 2 * LINKS, "told": latencies.len(), "acts": acts,
        "p50_s": at(0.5), "p99_s": at(0.99), "max_s": latencies.last().map(Duration::as_secs_f64),
        "wall_s": begun.elapsed().as_secs_f64(),
    }))
}

/// From a word about a port to advice that stands.
fn planner(server: &Server) -> Outcome<serde_json::Value> {
    let tiers = Shape::Facebook { pods: 261, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100))?;
    let topology = Topology::new(tiers, &[])?;
    let links = topology.tiers().link_count();
    let place = |number: u32| LinkId((number / 3 * 1_009 + number % 3 * 5) % links);
    for number in 0..CORRUPTING {
        see(server, &topology, place(number), 1e-6 * f64::from(number % 97 + 1))?;
    }
    let mut board = Board::open(server)?;
    let mut chair = Chair::new(&topology, Limits::default(), "bench".to_owned());
    let begun = now();
    let first = chair.turn(clock(begun), &mut board, Duration::from_millis(1))?;
    let start_s = begun.elapsed().as_secs_f64();
    let mut latencies = Vec::new();
    for number in 0..EVENTS {
        let link = place(CORRUPTING + number);
        let seen = now();
        see(server, &topology, link, 1e-4)?;
        loop {
            let events = chair.turn(clock(begun), &mut board, Duration::from_millis(100))?;
            if events
                .iter()
                .any(|event| matches!(event, ControlEvent::Advised { link: of, .. } if *of == link))
            {
                break;
            }
            if seen.elapsed() > PATIENCE {
                return Err("no advice came".into());
            }
        }
        latencies.push(seen.elapsed());
    }
    // A repair: the optimizer looks at all that had to stay.
    let mut repairs = Vec::new();
    for number in 0..EVENTS / 4 {
        let link = place(number);
        let seen = now();
        see(server, &topology, link, 0.0)?;
        while !chair
            .turn(clock(begun), &mut board, Duration::from_millis(100))?
            .iter()
            .any(|event| matches!(event, ControlEvent::Advised { link: of, .. } if *of == link))
        {
            if seen.elapsed() > PATIENCE {
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

fn see(server: &Server, topology: &Topology, link: LinkId, loss: f64) -> Outcome<()> {
    let port = topology.name(End { link, upper: false });
    let mut store = Store::open(server, port.node.clone())?;
    let lease = store.lease("bench", Duration::from_mins(5))?.ok_or("somebody else speaks")?;
    let estimate = Estimate::of(Sample { frames: 1_000_000_000, errors: (loss * 1e9) as u64 });
    let corrupting = Some(estimate).filter(|estimate| estimate.errors > 0);
    store.put(lease, &port.port, &Sighting { corrupting, ..Sighting::default() }, &port.node)?;
    Ok(())
}

/// A link with a daemon at each end.
struct Pair {
    leaf: Site,
    spine: Site,
    corrupts_at: Duration,
    seen: Option<Instant>,
    protected: Option<Instant>,
}

impl Pair {
    fn new(number: usize, server: &Server) -> Outcome<Self> {
        let (leaf, spine) = (format!("leaf-{number}"), format!("spine-{number}"));
        Ok(Self {
            leaf: Site::new(&leaf, &spine, server)?,
            spine: Site::new(&spine, &leaf, server)?,
            corrupts_at: Duration::from_secs(1) + SPREAD * number as u32 / LINKS as u32,
            seen: None,
            protected: None,
        })
    }

    fn turn(&mut self, begun: Instant) -> Outcome<()> {
        let is_bad = begun.elapsed() >= self.corrupts_at;
        // One that begins to corrupt is read at once: the time until the next poll is not the bus's.
        let begins = is_bad && self.seen.is_none();
        if begins {
            self.seen = Some(now());
        }
        self.leaf.bad = is_bad;
        self.leaf.turn(begun, begins)?;
        self.spine.turn(begun, false)?;
        if self.protected.is_none() && self.spine.doing != Doing::Nothing {
            self.protected = Some(now());
        }
        Ok(())
    }

    fn latency(&self) -> Option<Duration> {
        Some(self.protected?.duration_since(self.seen?))
    }
}

/// A daemon, and a machine that has one port.
struct Site {
    daemon: Daemon,
    store: Store,
    bell: Bell,
    poll_at: Duration,
    frames: u64,
    errors: u64,
    bad: bool,
    doing: Doing,
    acts: u32,
}

impl Site {
    fn new(node: &str, peer: &str, server: &Server) -> Outcome<Self> {
        let name = |text: &str| text.parse::<Name>();
        let link = Link {
            port: name("eth0")?,
            peer: PortName { node: name(peer)?, port: name("eth0")? },
            protect: Protect::Relay,
        };
        let conduct = Conduct { mode: Mode::Act, ..Conduct::default() };
        Ok(Self {
            daemon: Daemon::new(vec![link], Thresholds::default(), conduct, node.to_owned()),
            store: Store::open(server, name(node)?)?,
            bell: Bell::open(server, &name(node)?)?,
            poll_at: Duration::ZERO,
            frames: 0,
            errors: 0,
            bad: false,
            doing: Doing::Nothing,
            acts: 0,
        })
    }

    fn turn(&mut self, begun: Instant, polls_now: bool) -> Outcome<()> {
        let rang = self.bell.rang(Duration::from_micros(100))?;
        let polls = polls_now || begun.elapsed() >= self.poll_at;
        if !rang && !polls {
            return Ok(());
        }
        let mut port = PortOf { at: clock(begun), site: self };
        if polls {
            port.site.poll_at = begun.elapsed() + Duration::from_secs(1);
            port.site.frames += 1_000_000;
            port.site.errors += if port.site.bad { 1_000 } else { 0 };
        }
        port.serve(polls, rang)
    }
}

/// A site at a moment, as a machine.
struct PortOf<'a> {
    at: Time,
    site: &'a mut Site,
}

impl PortOf<'_> {
    fn serve(&mut self, polls: bool, rang: bool) -> Outcome<()> {
        let Site { daemon, store, frames, errors, doing, acts, .. } = &mut *self.site;
        let counted = Counted::GoodAndBad { good: *frames, bad: *errors };
        let reading = Reading { at: self.at, up: true, carrier_changes: None, counted, fec: Fec::default() };
        let mut machine = Relay { reading, doing, acts };
        if polls {
            daemon.watch(&mut machine);
        }
        daemon.exchange(self.at, store, &mut machine, rang)?;
        Ok(())
    }
}

/// A relay that does as it is told, behind a port.
struct Relay<'a> {
    reading: Reading,
    doing: &'a mut Doing,
    acts: &'a mut u32,
}

impl Machine for Relay<'_> {
    fn read(&mut self, _: usize) -> Option<Reading> {
        Some(self.reading)
    }

    fn doing(&mut self, _: usize) -> Result<Doing, String> {
        Ok(self.doing.clone())
    }

    fn act(&mut self, _: usize, doing: &Doing) -> Result<(), String> {
        *self.doing = doing.clone();
        *self.acts += 1;
        Ok(())
    }
}

/// A real server, of this process alone.
struct Redis {
    child: Child,
    server: Server,
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
            .map_err(|error| format!("redis-server: {error}; `apt-get install redis-server` gets it"))?;
        let server =
            Server { place: Place::Unix(socket), tls: None, login: None, patience: Duration::from_secs(20) };
        let redis = Self { child, server };
        let begun = now();
        while Connection::open(&redis.server).is_err() {
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

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a server takes a moment to start")]
fn pause(time: Duration) {
    thread::sleep(time);
}
