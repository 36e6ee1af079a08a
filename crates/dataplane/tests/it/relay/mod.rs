//! Relays on real interfaces, each a thread with its own run directory.
//!
//! ```text
//!   h0 ── l0 [relay 0] w0 ── w1 [relay 1] l1 ── h1
//! ```

mod attacks;
mod checksums;
mod handover;
mod hosts;
mod mtu;
mod rules;
mod starts;

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};
use wiremend_dataplane::control::{ControlError, send_request};
use wiremend_dataplane::net::{self, Interface, VethEnd};
use wiremend_dataplane::relay::{ExitReason, InterfaceLease, Request, Service, Settings, Status};
use wiremend_dataplane::sys::sched;
use wiremend_units::{Rate, Span};

use crate::net::namespace::{TIME_LIMIT, in_own_namespace};

pub(crate) const LANS: [&str; 2] = ["l0", "l1"];
pub(crate) const LINKS: [&str; 2] = ["w0", "w1"];
pub(crate) const HOSTS: [&str; 2] = ["h0", "h1"];
/// MTU of the link: that of the LAN, a header and two VLAN tags.
pub(crate) const LINK_MTU: u32 = 1518;

/// Runs a test in a network namespace, alone and on one CPU: a veth pair has a queue per CPU, and frames that
/// a thread sends after a migration would overtake earlier ones.
pub(crate) fn in_own_network(work: impl FnOnce() + Send) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone: MutexGuard<'_, ()> = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    in_own_namespace(move || {
        sched::pin(0).unwrap();
        work();
    });
}

/// Creates the ports of both relays and the link. The hosts are in this namespace.
pub(crate) fn new_chain() {
    for (host, lan) in HOSTS.into_iter().zip(LANS) {
        net::new_veth(VethEnd::here(host), VethEnd::here(lan)).unwrap();
    }
    new_link();
    for name in HOSTS.into_iter().chain(LANS) {
        open(name);
    }
}

/// Creates the link.
pub(crate) fn new_link() {
    net::new_veth(VethEnd::here(LINKS[0]), VethEnd::here(LINKS[1])).unwrap();
    for name in LINKS {
        net::set_mtu(name, LINK_MTU).unwrap();
    }
    for name in LINKS {
        open(name);
    }
}

/// Brings an interface up. The host sends nothing on it by itself.
pub(crate) fn open(name: &str) {
    net::disable_link_local(name).unwrap();
    net::set_up(name, true).unwrap();
}

/// Waits until both ports of a relay can send.
pub(crate) fn await_ports(end: usize) {
    for name in [LANS[end], LINKS[end]] {
        Interface::await_running(name, TIME_LIMIT).unwrap();
    }
}

/// A relay, which is stopped when this value is dropped.
pub(crate) struct Relay {
    pub(crate) settings: Settings,
    stop: Arc<AtomicBool>,
    notices: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

/// Settings of a relay whose patience does not depend on a busy machine.
pub(crate) fn settings(end: usize) -> Settings {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let run_dir = format!("relay-{}-{number}", std::process::id());
    Settings {
        rate: Some(Rate::from_bits_per_s(100_000_000)),
        give_up: Span::from_ms(1000),
        disable_offloads: true,
        run_dir: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(run_dir),
        ..Settings::new(LANS[end], LINKS[end])
    }
}

/// Keeps the messages of a log.
struct Notices(Arc<Mutex<Vec<String>>>);

impl Subscriber for Notices {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut |field: &Field, value: &dyn Debug| {
            if field.name() == "message" {
                self.0.lock().unwrap().push(format!("{value:?}"));
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Relay {
    /// Starts a relay at one end and waits until it answers.
    pub(crate) fn start(end: usize, active: bool) -> Self {
        await_ports(end);
        Self::run(Settings { active, ..settings(end) })
    }

    /// Starts a relay with these settings, and again with larger buffers when the service asks for that.
    pub(crate) fn run(settings: Settings) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let lease = InterfaceLease::take(&settings, &|| false).unwrap();
        let notices = Arc::new(Mutex::new(Vec::new()));
        let (asked, with, told) = (Arc::clone(&stop), settings.clone(), Arc::clone(&notices));
        let thread = thread::spawn(move || {
            let _lease = lease;
            loop {
                let with = with.clone();
                let (asked, told) = (Arc::clone(&asked), Arc::clone(&told));
                // A service drops the capabilities of its thread.
                let service = thread::spawn(move || {
                    with_default(Notices(told), || {
                        Service::start(with).unwrap().run(|| asked.load(Ordering::Relaxed)).unwrap()
                    })
                });
                if service.join().unwrap() == ExitReason::Stopped {
                    break;
                }
            }
        });
        let relay = Self { settings, stop, notices, thread: Some(thread) };
        relay.await_status("it answers", |_| true);
        relay
    }

    pub(crate) fn try_ask(&self, request: &Request) -> Result<Status, ControlError> {
        send_request(&self.settings.socket(), request)
    }

    pub(crate) fn ask(&self, request: &Request) -> Status {
        self.try_ask(request).unwrap()
    }

    /// Polls the status until it is as wanted.
    pub(crate) fn await_status(&self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        for _ in 0..TIME_LIMIT.as_millis() / 5 {
            match self.try_ask(&Request::Status) {
                Ok(status) if wanted(&status) => return status,
                _ => thread::park_timeout(Duration::from_millis(5)),
            }
        }
        panic!("waited in vain until {what}: {:?}", self.try_ask(&Request::Status));
    }

    /// Waits until the operator is told something with these words.
    pub(crate) fn await_notice(&self, words: &str) {
        self.await_status(words, |_| self.notices.lock().unwrap().iter().any(|told| told.contains(words)));
    }

    /// Stops it in order. Returns what it has told its operator.
    pub(crate) fn stop(mut self) -> Vec<String> {
        self.end();
        self.notices.lock().unwrap().clone()
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.map(Result::unwrap);
        }
        let _ = std::fs::remove_dir_all(&self.settings.run_dir);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.end();
        }
    }
}

/// Waits until both directions are protected and have shown it.
pub(crate) fn await_protection(relays: &[Relay; 2]) {
    for relay in relays {
        relay.await_status("both directions are protected", |status| status.sending && status.receiving);
    }
}
