//! A guest with soft-RoCE whose cable ends in a network namespace, with `wiremend peer` there.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wiremend_dataplane::net::{self, Address, NetError, NetNs};
use wiremend_dataplane::sys::{namespace, process};

use crate::chain::{self, Side};
use crate::directory::LabDirectory;
use crate::error::Error;
use crate::guests::perftest;
use crate::guests::{Guest, GuestConfig, GuestFiles, Image, Output, TapDevice};
use crate::lab::{Lab, POLL_INTERVAL};
use crate::privileges::net_error;

/// A guest, and the namespace at the other end of its cable.
pub(crate) struct GuestLink {
    guest: Guest,
    network: NetNs,
    place: LabDirectory,
    lab: Lab,
}

/// The interface in the namespace.
const TAP: &str = "tap0";
const PREFIX: u8 = 24;
/// On an idle machine the start takes ten seconds.
const START_LIMIT: Duration = Duration::from_mins(10);
const SHORT_LIMIT: Duration = Duration::from_mins(2);
/// A program of the guest that takes longer hangs.
const TOOL_LIMIT: Duration = Duration::from_mins(10);
/// perftest measures the speed of the CPU clock first, which sometimes fails on a busy machine.
const ATTEMPTS: u32 = 6;
/// Its TCP port.
const PORT: u16 = 18_515;

impl GuestLink {
    /// Starts a guest. The calling thread must outlive it.
    pub(crate) fn start(lab: &Lab, files: &GuestFiles) -> Result<Self, Error> {
        let place = LabDirectory::new()?;
        let network = NetNs::new().map_err(net_error)?;
        let create = || -> Result<File, NetError> {
            let tap = net::open_tap(TAP, false)?;
            net::loopback_up()?;
            net::set_mac(TAP, Side::A.mac().0)?;
            chain::prepare(TAP, chain::LAN_MTU)?;
            net::add_address(TAP, Address { ip: Side::A.address().into(), prefix: PREFIX })?;
            net::add_neighbour(TAP, Side::B.address().into(), Side::B.mac().0)?;
            Ok(tap)
        };
        let tap = network.run(create).and_then(|created| created).map_err(net_error)?;
        let image = Image::build(files, place.path())?;
        let config = GuestConfig {
            name: "guest",
            tap: TapDevice::Open(OwnedFd::from(tap)),
            address: Side::B.address(),
            mac: Side::B.mac(),
            directory: place.path(),
            stop: Arc::clone(&lab.stop),
        };
        let mut guest = Guest::start(&image, config)?;
        guest.wait_ready(START_LIMIT)?;
        Ok(Self { guest, network, place, lab: lab.clone() })
    }

    pub(crate) fn directory(&self) -> &Path {
        self.place.path()
    }

    /// Runs perftest in the guest as the client of `wiremend peer serve` with these options.
    pub(crate) fn call(&mut self, line: &str, options: &[String]) -> Result<(), Error> {
        let mut arguments: Vec<String> =
            ["peer", "serve", "--interface", TAP, "--clients", "1"].map(Into::into).into();
        arguments.extend_from_slice(options);
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let mut server = self.spawn(&arguments)?;
            self.await_listening(&mut server)?;
            let called = self.guest.run(&format!("{line} {}", Side::A.address()), TOOL_LIMIT);
            let Output { status, text } = called.inspect_err(|_| drop(server.kill()))?;
            if status == 0 {
                return self.ended(server, "peer serve");
            }
            // Both fail only if it has ended.
            let _ = server.kill();
            let _ = server.wait();
            last = text;
        }
        Err(Error::Environment(format!("`{line}` in the guest fails: {}", last.trim())))
    }

    /// Runs perftest in the guest as the server of a client of `wiremend peer`.
    pub(crate) fn serve(&mut self, line: &str, arguments: &[String]) -> Result<(), Error> {
        let started = self.guest.read(&format!("{line} >/run/server 2>&1 & echo $!"), SHORT_LIMIT)?;
        self.guest.read(perftest::AWAIT_SERVER, SHORT_LIMIT)?;
        let mut client = self.spawn(arguments)?;
        while client.try_wait().map_err(|error| Error::file(&error))?.is_none() {
            self.lab.pause(POLL_INTERVAL).inspect_err(|_| drop(client.kill()))?;
        }
        // A server that had a client ends by itself.
        self.guest.run(&format!("kill -KILL {}", started.trim()), SHORT_LIMIT)?;
        self.ended(client, "peer")
    }

    fn spawn(&self, arguments: &[String]) -> Result<Child, Error> {
        let start = || -> io::Result<Child> {
            let mut command = Command::new(&self.lab.program);
            command.arg0("wiremend").args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
            // Ctrl-C goes to this process, which terminates the child.
            command.stderr(File::create(self.log())?).process_group(0);
            process::terminate_with_parent(&mut command);
            namespace::start_in_network(&mut command, &self.network)?;
            command.spawn()
        };
        start().map_err(|error| Error::Environment(format!("cannot start `wiremend peer`: {error}")))
    }

    fn log(&self) -> std::path::PathBuf {
        self.directory().join("peer.log")
    }

    fn await_listening(&self, server: &mut Child) -> Result<(), Error> {
        let until = Instant::now() + SHORT_LIMIT;
        loop {
            if self.network.run(is_listening).map_err(net_error)? {
                return Ok(());
            }
            let ended = server.try_wait().map_err(|error| Error::file(&error))?.is_some();
            if ended || Instant::now() > until {
                let _ = server.kill();
                return Err(self.failed("peer serve"));
            }
            self.lab.pause(POLL_INTERVAL).inspect_err(|_| drop(server.kill()))?;
        }
    }

    /// Waits for a process, which must end well.
    fn ended(&self, mut child: Child, name: &str) -> Result<(), Error> {
        let status = child.wait().map_err(|error| Error::file(&error))?;
        if status.success() { Ok(()) } else { Err(self.failed(name)) }
    }

    fn failed(&self, name: &str) -> Error {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        Error::Environment(format!("`wiremend {name}` failed beside the guest: {}", log.trim()))
    }
}

/// Whether a server of this namespace listens at the port of perftest.
fn is_listening() -> bool {
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/thread-self/net/{name}")));
    let is_it = |line: &str| line.contains(&format!(":{PORT:04X} ")) && line.contains(" 0A ");
    tables.into_iter().flatten().any(|table| table.lines().any(is_it))
}
