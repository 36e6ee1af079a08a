//! Host, relay, wire, relay, host, in a network namespace. Both relays and the wire are processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use wiremend_dataplane::control::send_request;
use wiremend_dataplane::net::offload::Offload;
use wiremend_dataplane::net::{self, Interface, SavedConfig, VethEnd};
use wiremend_dataplane::relay::{Request, SOCKET, Status};
use wiremend_dataplane::sys::raw::RawSocket;
use wiremend_dataplane::wire::{ImpairmentSettings, WireRequest, WireStatus};

use super::{PATIENCE, until};

/// The processes and their control sockets. All end when this value is dropped.
pub(crate) struct Line {
    directory: tempfile::TempDir,
    processes: Vec<Child>,
}

/// The ends of a line: `A` is at the start of the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    A,
    B,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The interface of the host.
    pub(crate) fn host(self) -> &'static str {
        ["host-a", "host-b"][self as usize]
    }

    /// The interface of the relay to the link.
    pub(crate) fn link(self) -> &'static str {
        ["link-a", "link-b"][self as usize]
    }

    fn lan(self) -> &'static str {
        ["lan-a", "lan-b"][self as usize]
    }
}

impl Line {
    /// Builds the line in the namespace of the calling thread, which must be new and outlive the line.
    pub(crate) fn build(relay_options: &str, wire_options: &str) -> Self {
        for (a, b) in [("host-a", "lan-a"), ("link-a", "wire-a"), ("wire-b", "link-b"), ("lan-b", "host-b")] {
            net::new_veth(VethEnd::here(a), VethEnd::here(b)).unwrap();
            for name in [a, b] {
                let inner = name.starts_with("link") || name.starts_with("wire");
                net::set_mtu(name, if inner { 1600 } else { 1500 }).unwrap();
                SavedConfig::read(name, &Offload::FOR_PACKET_SOCKET).unwrap().take_over().unwrap();
                net::disable_link_local(name).unwrap();
                net::set_up(name, true).unwrap();
            }
            for name in [a, b] {
                Interface::await_running(name, PATIENCE).unwrap();
            }
        }
        let mut line = Self { directory: tempfile::tempdir().unwrap(), processes: Vec::new() };
        let socket = line.wire_socket();
        line.start(&format!("lab wire --a wire-a --b wire-b --socket {} {wire_options}", socket.display()));
        for side in Side::BOTH {
            let place = line.directory.path().display();
            line.start(&format!(
                "relay run --lan {} --link {} --run-dir {place} {relay_options}",
                side.lan(),
                side.link()
            ));
        }
        until("all answer", || {
            line.wire_status().is_some() && Side::BOTH.iter().all(|side| line.status(*side).is_some())
        });
        line
    }

    /// Sets the impairment of the wire in both directions.
    pub(crate) fn impair(&self, impairment: ImpairmentSettings) {
        let request = WireRequest::Impair { a_to_b: Some(impairment), b_to_a: Some(impairment) };
        let _: WireStatus = send_request(&self.wire_socket(), &request).unwrap();
    }

    pub(crate) fn wire_status(&self) -> Option<WireStatus> {
        send_request(&self.wire_socket(), &WireRequest::Status).ok()
    }

    pub(crate) fn status(&self, side: Side) -> Option<Status> {
        let socket = self.directory.path().join(side.link()).join(SOCKET);
        send_request(&socket, &Request::Status).ok()
    }

    /// Returns the host on one side.
    #[expect(clippy::unused_self, reason = "there are hosts as long as there is a line")]
    pub(crate) fn host(&self, side: Side) -> RawSocket {
        RawSocket::open(Interface::by_name(side.host()).unwrap().index).unwrap()
    }

    /// Waits until both directions are protected.
    pub(crate) fn await_protection(&self) {
        until("both directions are protected", || {
            Side::BOTH.iter().all(|side| self.status(*side).is_some_and(|it| it.sending && it.receiving))
        });
    }

    /// Kills the process that forwards the frames of one relay.
    pub(crate) fn kill(&self, side: Side) {
        let pid = self.status(side).unwrap().pid;
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        assert!(killed.success());
    }

    /// Returns the memory of the forwarding process, in bytes.
    pub(crate) fn resident_bytes(&self, side: Side) -> u64 {
        let pid = self.status(side).unwrap().pid;
        let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
        statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }

    fn start(&mut self, arguments: &str) {
        let log =
            fs::File::create(self.directory.path().join(format!("log-{}", self.processes.len()))).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_wiremend"))
            .args(arguments.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.processes.push(child);
    }

    fn wire_socket(&self) -> PathBuf {
        Path::new(self.directory.path()).join("wire")
    }

    fn log(&self) -> String {
        (0..self.processes.len())
            .filter_map(|number| fs::read_to_string(self.directory.path().join(format!("log-{number}"))).ok())
            .collect()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.log());
        }
        for process in self.processes.iter_mut().rev() {
            // A signal stops a relay in order, so that it hands its ports to the kernel.
            let _ = Command::new("kill").arg(process.id().to_string()).status();
        }
        for process in &mut self.processes {
            let _ = process.wait();
        }
    }
}
