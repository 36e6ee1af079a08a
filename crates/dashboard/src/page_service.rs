//! Serves the page: one thread reads records and answers questions, the thread of the server does the rest.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use tracing::{info, warn};
use wiremend_dataplane::event_loop::Heartbeat;
use wiremend_dataplane::http::{Publisher, Response, Server};
use wiremend_monitor::DaemonConfig;
use wiremend_monitor::planner::{LinkEnd, NamedFabric, PlannerLimits};
use wiremend_monitor::redis::{HoldRecord, PlannerStore, RedisError, RedisServer, UnusableServer};
use wiremend_monitor::service::{LocalNode, NodePaths};
use wiremend_units::LinkId;

use crate::capacity;
use crate::collector::Collector;
use crate::fabric_view::FabricView;
use crate::link_counters::LinkCounters;
use crate::local_records::LocalRecords;
use crate::operator::Operators;
use crate::site::{FabricSite, Guard, JOBS_MAX, Job, PageError, PageSockets, Question, json_response};

/// A page of a fabric.
pub struct PageService<'a> {
    /// The fabric.
    pub fabric: &'a NamedFabric,
    /// Limits of its planner.
    pub limits: PlannerLimits,
    /// Where its records are.
    pub source: PageSource<'a>,
    /// Where it listens; users of the Unix socket may act.
    pub sockets: PageSockets,
    /// Operators who act with a token.
    pub operators: Operators,
    /// Version of the program.
    pub version: &'static str,
}

/// Where the records of a fabric are.
pub enum PageSource<'a> {
    /// In Redis.
    Redis(RedisServer),
    /// On this machine, which shares them with nobody: its fabric is [`LocalNode::fabric`].
    Machine {
        /// The configuration of a daemon.
        config: &'a DaemonConfig,
        /// Where its files are.
        paths: NodePaths<'a>,
    },
}

/// Longest wait for changes. A question waits as long.
const TURN: Duration = Duration::from_millis(200);
/// Time between two events that tell the age of the data.
const TICK: Duration = Duration::from_secs(1);
/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_secs(1);
/// Number of events that are listed.
const EVENTS_MAX: usize = 500;

impl PageService<'_> {
    /// Serves until `stop` is set. Calls `started` with the address when the page can be opened.
    pub fn run(&self, stop: &AtomicBool, started: impl FnOnce(Option<SocketAddr>)) -> Result<(), PageError> {
        let local = match &self.source {
            PageSource::Redis(_) => None,
            PageSource::Machine { config, paths } => {
                let (node, missing) =
                    LocalNode::open(config, *paths).map_err(|why| PageError(why.to_string()))?;
                for why in missing {
                    warn!(event = "missing", "{why}");
                }
                Some(LocalRecords::new(node))
            }
        };
        let open = self.sockets.open()?;
        let (jobs, questions) = mpsc::sync_channel(JOBS_MAX);
        let site = Arc::new(FabricSite {
            guard: Guard::new(open.address, &self.sockets.hosts, self.operators.clone()),
            first: Mutex::new(Arc::from(&b""[..])),
            jobs,
            version: self.version,
            has_plan: local.is_none(),
        });
        let mut page = Page {
            setup: self,
            collector: Collector::new(self.fabric),
            store: None,
            local,
            site: Arc::clone(&site),
            publisher: None,
            rows: BTreeMap::new(),
            sequence: 0,
            summary: Value::Null,
            read: Heartbeat::start(),
            was_read: false,
            reason: Some("the records are not read yet".to_owned()),
        };
        page.publish_view();
        let server =
            Server::serve(open.listeners, "page", site).map_err(|error| PageError::unserved(&error))?;
        page.publisher = Some(server.publisher());
        started(open.address);
        page.run(stop, &questions);
        Ok(())
    }
}

/// The thread that reads records.
struct Page<'a> {
    setup: &'a PageService<'a>,
    collector: Collector<'a>,
    store: Option<PlannerStore>,
    local: Option<LocalRecords>,
    site: Arc<FabricSite>,
    publisher: Option<Publisher>,
    /// The rows that viewers have, as JSON.
    rows: BTreeMap<String, String>,
    /// Number of the last change.
    sequence: u64,
    summary: Value,
    /// When records were read last.
    read: Heartbeat,
    was_read: bool,
    /// Why the data are not current.
    reason: Option<String>,
}

impl Page<'_> {
    fn run(&mut self, stop: &AtomicBool, questions: &mpsc::Receiver<Job>) {
        let (tick, tried) = (Heartbeat::start(), Heartbeat::start());
        let mut is_first = true;
        while !stop.load(Ordering::Relaxed) {
            if self.store.is_none()
                && self.local.is_none()
                && (std::mem::take(&mut is_first) || tried.age() >= RETRY)
            {
                self.connect();
                tried.beat();
            }
            let changed = self.turn(questions);
            if changed {
                self.publish_change();
            }
            if tick.age() >= TICK {
                tick.beat();
                self.publish_tick();
            }
        }
    }

    fn connect(&mut self) {
        let mut open = || -> Result<PlannerStore, UnusableServer> {
            let PageSource::Redis(server) = &self.setup.source else {
                unreachable!("a machine without Redis has local records")
            };
            let mut store = PlannerStore::open(server)?;
            self.collector.read_all(&mut store)?;
            Ok(store)
        };
        match open() {
            Ok(store) => {
                self.store = Some(store);
                self.on_read();
                self.publish_change();
                info!(event = "connected", links = self.rows.len(), "the records are read");
                self.publish_tick();
            }
            Err(why) => self.on_failure(&format!("cannot use Redis: {why}")),
        }
    }

    /// Waits for changes or questions. Returns whether something may have changed.
    fn turn(&mut self, questions: &mpsc::Receiver<Job>) -> bool {
        let mut changed = false;
        if let Some(store) = &mut self.store {
            match self.collector.turn(store, TURN) {
                Ok(has_changed) => {
                    changed = has_changed;
                    self.on_read();
                }
                Err(why) => self.on_failure(&format!("Redis: {why}")),
            }
        } else {
            if let Some(local) = &mut self.local
                && local.turn(&mut self.collector)
            {
                changed = true;
                self.on_read();
            }
            if let Ok(job) = questions.recv_timeout(TURN) {
                changed |= self.answer(job);
            }
        }
        while let Ok(job) = questions.try_recv() {
            changed |= self.answer(job);
        }
        changed
    }

    fn on_read(&mut self) {
        self.read.beat();
        (self.was_read, self.reason) = (true, None);
    }

    fn on_failure(&mut self, why: &str) {
        if self.store.take().is_some() || self.reason.as_deref() != Some(why) {
            warn!(event = "redis", "{why}");
        }
        self.reason = Some(why.to_owned());
        self.publish_tick();
    }

    /// Answers a question. Returns whether something has changed.
    fn answer(&mut self, Job { question, later }: Job) -> bool {
        let is_act = matches!(question, Question::Hold { .. });
        let response = self.response(question);
        later.send(response.unwrap_or_else(|refused| refused));
        is_act
    }

    fn response(&mut self, question: Question) -> Result<Response, Response> {
        let (collector, limits) = (&self.collector, self.setup.limits);
        let fabric = collector.fabric();
        let link_of = |port: &str| {
            let end = port.parse().ok().and_then(|name| fabric.end(&name));
            let unknown = || Response::text("404 Not Found", "the fabric has no such port");
            end.map(|end| end.link).ok_or_else(unknown)
        };
        Ok(match question {
            Question::View => json_response("200 OK", &collector.view()),
            Question::ViewAt(at_ms) => json_response("200 OK", &collector.view_at(at_ms)),
            Question::Events => {
                let events = collector.history().newest_events(EVENTS_MAX);
                let rows: Vec<_> = events.into_iter().map(|event| event.row(fabric)).collect();
                json_response("200 OK", &rows)
            }
            Question::Map(pod) => json_response("200 OK", &capacity::map(collector, limits, pod.as_deref())),
            Question::Drain(port) => {
                json_response("200 OK", &capacity::drain_preview(collector, limits, link_of(&port)?))
            }
            Question::Link(port) => json_response("200 OK", &self.link(link_of(&port)?)),
            Question::Hold { port, seconds, why, maintenance, by } => {
                link_of(&port)?;
                let ports = fabric.ports_of(&port).expect("the port is known");
                let written = self.hold(&ports, seconds, &why, maintenance, &by);
                written.map_err(|why| Response::text("503 Service Unavailable", &why))?;
                let does = if seconds.is_some() { "holds" } else { "ends the hold of" };
                info!(event = "hold", port, by, held = seconds.is_some(), "{by} {does} {port}");
                json_response("200 OK", &json!({ "by": by }))
            }
        })
    }

    /// A link with its history and counters.
    fn link(&mut self, link: LinkId) -> Value {
        let now_ms = self.collector.now_ms();
        let mut counters = self.local.as_ref().map(|local| LinkCounters::new(local.counters(link), now_ms));
        if let Some(store) = &mut self.store {
            let read = self.collector.read_history(store, link);
            match read.and_then(|()| self.collector.read_counters(store, link)) {
                Ok(entries) => counters = Some(LinkCounters::new(entries, now_ms)),
                Err(RedisError::Refused(why)) => warn!(event = "counters", "counters of links: {why}"),
                Err(why) => self.on_failure(&format!("Redis: {why}")),
            }
        }
        let (collector, fabric) = (&self.collector, self.collector.fabric());
        let events: Vec<_> =
            collector.history().of_link(link).iter().map(|event| event.row(fabric)).collect();
        let relays = [false, true].map(|upper| fabric.has_relay(LinkEnd { link, upper }));
        json!({
            "row": collector.link(link), "watched": collector.is_watched(link), "relays": relays, "events": events,
            "counters": counters
        })
    }

    fn hold(
        &mut self,
        ports: &[wiremend_monitor::PortName],
        seconds: Option<u64>,
        why: &str,
        maintenance: bool,
        by: &str,
    ) -> Result<(), String> {
        if self.local.is_some() {
            return Err(
                "without Redis nothing is held; use `wiremend relay` for the relay of a port".to_owned()
            );
        }
        let store = self.store.as_mut().ok_or("not connected to Redis; nothing was changed")?;
        let mut write = || -> Result<(), RedisError> {
            let record = match seconds {
                Some(seconds) => {
                    let until_ms = store.time_ms()?.saturating_add(seconds * 1_000);
                    HoldRecord { until_ms, why: why.to_owned(), maintenance }
                }
                None => HoldRecord::ended(),
            };
            let holds: Vec<_> = ports.iter().map(|port| (port.clone(), record.clone())).collect();
            store.put_holds(&holds, by)?;
            // The messages of the write are there: the answer comes after its effect.
            self.collector.turn(store, Duration::ZERO).map(|_| ())
        };
        write().map_err(|why| {
            let text = why.to_string();
            if !matches!(why, RedisError::Refused(_)) {
                self.on_failure(&format!("Redis: {text}"));
            }
            text
        })
    }

    /// Sends the rows that differ from what viewers have.
    fn publish_change(&mut self) {
        let FabricView { at_ms, summary, links } = self.collector.view();
        let summary = json!(summary);
        let rows: BTreeMap<String, String> = links
            .iter()
            .map(|row| (row.link.clone(), serde_json::to_string(row).expect("plain values")))
            .collect();
        let gone: Vec<&String> = self.rows.keys().filter(|link| !rows.contains_key(*link)).collect();
        let changed: Vec<&str> = rows
            .iter()
            .filter(|(link, row)| self.rows.get(*link) != Some(row))
            .map(|(_, row)| row.as_str())
            .collect();
        if gone.is_empty() && changed.is_empty() && summary == self.summary {
            return;
        }
        self.sequence += 1;
        let event = format!(
            "event: change\ndata: {{\"sequence\":{},\"at_ms\":{at_ms},\"summary\":{summary},\"gone\":{},\"links\":[{}]}}\n\n",
            self.sequence,
            json!(gone),
            changed.join(",")
        );
        (self.rows, self.summary) = (rows, summary);
        self.publish_view();
        self.publish(event);
    }

    /// Sets the first event of new streams.
    fn publish_view(&mut self) {
        let rows: Vec<&str> = self.rows.values().map(String::as_str).collect();
        let event = format!(
            "event: view\ndata: {{\"sequence\":{},\"at_ms\":{},\"summary\":{},\"links\":[{}]}}\n\n{}",
            self.sequence,
            self.collector.now_ms(),
            self.summary,
            rows.join(","),
            self.tick()
        );
        *self.site.first.lock().unwrap_or_else(PoisonError::into_inner) = event.into_bytes().into();
    }

    fn publish_tick(&mut self) {
        if self.reason.is_some() {
            // The age grows: a new viewer must not see the age of the last change.
            self.publish_view();
        }
        self.publish(self.tick());
    }

    fn tick(&self) -> String {
        let age_ms = self.was_read.then(|| self.read.age().as_millis() as u64);
        let tick = json!({ "at_ms": self.collector.now_ms(), "age_ms": age_ms, "reason": self.reason });
        format!("event: tick\ndata: {tick}\n\n")
    }

    fn publish(&self, event: String) {
        if let Some(publisher) = &self.publisher {
            publisher.publish(event.into_bytes());
        }
    }
}
