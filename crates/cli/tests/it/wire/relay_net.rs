//! A network namespace per test: two hosts, two relays, and a link between them.
//!
//! ```text
//!   h1 ── l1 [relay 0] w1 ── w2 [relay 1] l2 ── h2
//! ```

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use wiremend_dataplane::net::{self, Interface, NetError, NetNs, VethEnd};
use wiremend_dataplane::sys::raw::RawSocket;
use wiremend_dataplane::sys::sched;

use super::{PATIENCE, alone, eventually, skip};
use crate::program::{Ended, command, ended};

/// Runs the body of a test in a new network namespace. Skips the test if that is not permitted; fails if `CI` is set.
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
        Err(refused @ NetError::NotPermitted { .. }) => skip(&refused.to_string()),
        Err(refused) => panic!("{refused}"),
    }
}

/// Returns the first CPU of this thread. All processes of a test stay on it: a veth pair has a queue per CPU, and frames that a process
/// sends after a migration would overtake earlier ones.
fn processor() -> usize {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    list.split([',', '-']).next().unwrap().parse().unwrap()
}

/// Both hosts and the directories of their relays.
pub(crate) struct Chain {
    pub(crate) hosts: [RawSocket; 2],
    directory: TempDir,
}

pub(crate) const LANS: [&str; 2] = ["l1", "l2"];
pub(crate) const LINKS: [&str; 2] = ["w1", "w2"];

impl Chain {
    /// Creates the interfaces, up and without IPv6 chatter.
    pub(crate) fn new() -> Self {
        for (a, b) in [("h1", "l1"), ("h2", "l2"), ("w1", "w2")] {
            net::new_veth(VethEnd::here(a), VethEnd::here(b)).unwrap();
        }
        for name in ["h1", "l1", "w1", "w2", "l2", "h2"] {
            if LINKS.contains(&name) {
                net::set_mtu(name, 1518).unwrap();
            }
            if name.starts_with('h') {
                net::disable_link_local(name).unwrap();
            }
            net::set_up(name, true).unwrap();
        }
        let hosts = ["h1", "h2"].map(|name| {
            let interface = Interface::await_running(name, PATIENCE).unwrap();
            RawSocket::open(interface.index).unwrap()
        });
        for name in LANS.into_iter().chain(LINKS) {
            assert!(Interface::await_running(name, PATIENCE).unwrap().running);
        }
        Self { hosts, directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn run_dir(&self, end: usize) -> PathBuf {
        self.directory.path().join(end.to_string())
    }

    /// Returns a call of `wiremend relay …` for one end.
    pub(crate) fn call(&self, end: usize, words: &[&str]) -> Command {
        let mut command = command();
        command.arg("relay").args(words).arg("--run-dir").arg(self.run_dir(end));
        command
    }

    /// Runs that call.
    pub(crate) fn ask(&self, end: usize, words: &[&str]) -> Ended {
        ended(self.call(end, words).output().unwrap())
    }

    /// Runs that call as another user, who may be unable to enter the folder of the program, but can run a copy of it.
    pub(crate) fn ask_as(&self, uid: u32, gid: u32, end: usize, words: &[&str]) -> Ended {
        let directory = self.directory.path();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        let copy = directory.join("wiremend");
        if !copy.exists() {
            fs::copy(env!("CARGO_BIN_EXE_wiremend"), &copy).unwrap();
        }
        let call = self.call(end, words);
        let variables = call.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut copied = Command::new(copy);
        copied.args(call.get_args()).envs(variables).uid(uid).gid(gid);
        ended(copied.output().unwrap())
    }

    /// Starts a relay and waits until it responds.
    pub(crate) fn start(&self, end: usize, more: &[&str]) -> Relay {
        // The relay declares the other end dead after two seconds, so that waiting for a CPU does not trigger it.
        let patient = ["--rate", "100Mbps", "--give-up", "1s"];
        let words =
            [&["run", "--lan", LANS[end], "--link", LINKS[end], "--disable-offloads"], &patient[..]].concat();
        let log = self.directory.path().join(format!("log{end}"));
        let mut command = self.call(end, &[&words, more].concat());
        command.stderr(fs::File::create(&log).unwrap()).stdout(Stdio::null());
        let relay = Relay { supervisor: command.spawn().unwrap(), log };
        self.await_status(end, |_| true);
        relay
    }

    /// Starts both relays with protection.
    pub(crate) fn start_both(&self) -> [Relay; 2] {
        let relays = [0, 1].map(|end| self.start(end, &["--active"]));
        self.await_protection();
        relays
    }

    /// Waits until both directions are protected. An idle direction detects a restart of the other end by its next frame.
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

    /// Returns the process that forwards frames.
    pub(crate) fn carrier(&self, end: usize) -> u64 {
        self.await_status(end, |_| true)["pid"].as_u64().unwrap()
    }

    /// Returns whether a frame crosses in each direction.
    pub(crate) fn crosses(&self) -> bool {
        [[0, 1], [1, 0]].into_iter().all(|[from, to]| {
            let first = next_number();
            eventually(|| self.sent_since(from, to, first))
        })
    }

    /// Sends a numbered frame and waits briefly for it.
    pub(crate) fn sent_once(&self, from: usize, to: usize) -> bool {
        self.sent_since(from, to, next_number())
    }

    /// Sends a frame and waits briefly for it, or for one sent after the frame with this number.
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

/// Returns a unique frame number.
fn next_number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// A running relay, which is stopped when this value is dropped.
pub(crate) struct Relay {
    pub(crate) supervisor: Child,
    log: PathBuf,
}

impl Relay {
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Stops it and returns its exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        signal("TERM", self.id());
        self.supervisor.wait().unwrap().code()
    }

    /// Returns the supervisor process.
    pub(crate) fn id(&self) -> u64 {
        self.supervisor.id().into()
    }

    /// Kills both processes at once, so that neither can react.
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

/// Returns a numbered frame from one host to the other.
pub(crate) fn numbered(number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    frame.extend(number.to_be_bytes());
    frame.resize(100, 7);
    frame
}
