//! A network of a test's own: two hosts, two relays, and a link between them.
//!
//! ```text
//!   h1 ── l1 [relay 0] w1 ── w2 [relay 1] l2 ── h2
//! ```

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use wiremend_dataplane::net::{self, End, Interface, NetNs, Refused};
use wiremend_dataplane::sys::plain::PlainSocket;
use wiremend_dataplane::sys::sched;

use super::{PATIENCE, alone, eventually, skip};
use crate::program::{Ended, command, ended};

/// Runs the body of a test in an empty network of its own; says that it cannot, which is a failure where `CI` is set.
pub(crate) fn in_own_network(work: impl FnOnce() + Send) {
    let _alone = alone();
    match NetNs::new() {
        Ok(network) => {
            let inside = || {
                sched::pin(processor()).unwrap();
                work();
            };
            network.run(inside).unwrap();
        }
        Err(refused @ Refused::NotPermitted { .. }) => skip(&refused.to_string()),
        Err(refused) => panic!("{refused}"),
    }
}

/// The first that this thread may use. All that a test starts stays there: a virtual cable has a queue on each processor, and what a process
/// sends after it was moved to another one would overtake what it sent before.
fn processor() -> usize {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    list.split([',', '-']).next().unwrap().parse().unwrap()
}

/// Both hosts, and what their relays keep.
pub(crate) struct Chain {
    pub(crate) hosts: [PlainSocket; 2],
    directory: TempDir,
}

pub(crate) const LANS: [&str; 2] = ["l1", "l2"];
pub(crate) const LINKS: [&str; 2] = ["w1", "w2"];

impl Chain {
    /// The interfaces, up and silent.
    pub(crate) fn new() -> Self {
        for (a, b) in [("h1", "l1"), ("h2", "l2"), ("w1", "w2")] {
            net::new_veth(End::here(a), End::here(b)).unwrap();
        }
        for name in ["h1", "l1", "w1", "w2", "l2", "h2"] {
            if LINKS.contains(&name) {
                net::set_mtu(name, 1514).unwrap();
            }
            if name.starts_with('h') {
                net::silence(name).unwrap();
            }
            net::set_up(name, true).unwrap();
        }
        let hosts = ["h1", "h2"].map(|name| {
            let interface = Interface::await_running(name, PATIENCE).unwrap();
            PlainSocket::open(interface.index).unwrap()
        });
        for name in LANS.into_iter().chain(LINKS) {
            assert!(Interface::await_running(name, PATIENCE).unwrap().running);
        }
        Self { hosts, directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn run_dir(&self, end: usize) -> PathBuf {
        self.directory.path().join(end.to_string())
    }

    /// A call of `wiremend relay …` for one end.
    pub(crate) fn call(&self, end: usize, words: &[&str]) -> Command {
        let mut command = command();
        command.arg("relay").args(words).arg("--run-dir").arg(self.run_dir(end));
        command
    }

    /// What that came to.
    pub(crate) fn ask(&self, end: usize, words: &[&str]) -> Ended {
        ended(self.call(end, words).output().unwrap())
    }

    /// Starts a relay that is not refused, and waits until it answers.
    pub(crate) fn start(&self, end: usize, more: &[&str]) -> Relay {
        // A relay is taken for gone only after two seconds: one that waits for the processor is not.
        let patient = ["--rate", "100Mbps", "--give-up", "1s"];
        let words =
            [&["run", "--lan", LANS[end], "--link", LINKS[end], "--switch-offloads"], &patient[..]].concat();
        let log = self.directory.path().join(format!("log{end}"));
        let mut command = self.call(end, &[&words, more].concat());
        command.stderr(fs::File::create(&log).unwrap()).stdout(Stdio::null());
        let relay = Relay { supervisor: command.spawn().unwrap(), log };
        self.await_status(end, |_| true);
        relay
    }

    /// Both relays, which protect.
    pub(crate) fn start_both(&self) -> [Relay; 2] {
        let relays = [0, 1].map(|end| self.start(end, &["--active"]));
        self.await_protection();
        relays
    }

    /// Waits until both directions are protected. A direction that is idle finds out by its next frame that the other end has restarted.
    pub(crate) fn await_protection(&self) {
        for end in 0..2 {
            self.await_status(end, |status| {
                self.sent_once(end, 1 - end);
                self.sent_once(1 - end, end);
                status["sending"] == true && status["receiving"] == true
            });
        }
    }

    pub(crate) fn status(&self, end: usize) -> Option<Value> {
        let asked = self.ask(end, &["status", "--json"]);
        (asked.code == Some(0)).then(|| asked.json())
    }

    pub(crate) fn await_status(&self, end: usize, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = None;
        let found = eventually(|| {
            last = self.status(end);
            last.as_ref().is_some_and(&wanted)
        });
        assert!(found, "relay {end}: {last:#?}");
        last.unwrap()
    }

    /// The process that carries frames.
    pub(crate) fn carrier(&self, end: usize) -> u64 {
        self.await_status(end, |_| true)["pid"].as_u64().unwrap()
    }

    /// Whether a frame crosses from either host to the other.
    pub(crate) fn crosses(&self) -> bool {
        [[0, 1], [1, 0]].into_iter().all(|[from, to]| {
            let first = next_number();
            eventually(|| self.sent_since(from, to, first))
        })
    }

    /// Sends a frame of its own and looks for it for a moment.
    pub(crate) fn sent_once(&self, from: usize, to: usize) -> bool {
        self.sent_since(from, to, next_number())
    }

    /// Sends a frame and looks for a moment for it, or for one sent since the frame with this number.
    fn sent_since(&self, from: usize, to: usize, first: u32) -> bool {
        let last = next_number();
        if self.hosts[from].send(&numbered(last)).is_err() {
            return false;
        }
        while let Some(seen) = self.hosts[to].receive(Duration::from_millis(20)).unwrap() {
            if !seen.outgoing && (first..=last).any(|number| seen.frame == numbered(number)) {
                return true;
            }
        }
        false
    }
}

/// Of a frame, which no other has.
fn next_number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// A relay, which is asked to end with this value.
pub(crate) struct Relay {
    pub(crate) supervisor: Child,
    log: PathBuf,
}

impl Relay {
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Asks it to end, and says with which code it did.
    pub(crate) fn end(&mut self) -> Option<i32> {
        signal("TERM", self.id());
        self.supervisor.wait().unwrap().code()
    }

    /// The process that watches.
    pub(crate) fn id(&self) -> u64 {
        self.supervisor.id().into()
    }

    /// Kills both processes, as if in one moment: neither can do anything about the other.
    pub(crate) fn kill_with(&mut self, carrier: u64) {
        signal("STOP", self.id());
        signal("KILL", carrier);
        self.kill();
        assert!(eventually(|| !fs::exists(format!("/proc/{carrier}")).unwrap()));
    }

    pub(crate) fn kill(&mut self) {
        self.supervisor.kill().unwrap();
        self.supervisor.wait().unwrap();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if matches!(self.supervisor.try_wait(), Ok(None)) {
            signal("TERM", self.id());
            let _ = self.supervisor.wait();
        }
    }
}

pub(crate) fn signal(name: &str, process: u64) {
    let kill = Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status();
    assert!(kill.unwrap().success());
}

/// A frame from a host to the other one, with a number in it.
pub(crate) fn numbered(number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    frame.extend(number.to_be_bytes());
    frame.resize(100, 7);
    frame
}
