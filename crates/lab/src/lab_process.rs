//! A process of a lab: the program `wiremend` as a relay, a wire or a daemon.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use wiremend_dataplane::control::{ControlError, Request, send_request};
use wiremend_dataplane::sys::{namespace, process};

use crate::error::Error;
use crate::lab::{Lab, POLL_INTERVAL};
/// A process in a network namespace, with a control socket. It ends with this value or its parent thread.
#[derive(Debug)]
pub(crate) struct LabProcess {
    name: &'static str,
    process: Child,
    socket: PathBuf,
    log: PathBuf,
    /// Whether it was terminated. A second SIGTERM would end it without cleaning up.
    terminated: bool,
    lab: Lab,
}

const START_LIMIT: Duration = Duration::from_mins(2);
/// Time after SIGTERM until it is killed.
const TERMINATION_LIMIT: Duration = Duration::from_secs(30);
const LOG_TAIL_BYTES: usize = 300;

impl LabProcess {
    /// Starts the program with these arguments. It writes its log to `directory` and listens at `socket`.
    pub(crate) fn start(
        lab: &Lab,
        name: &'static str,
        arguments: &[String],
        network: impl AsFd,
        directory: &Path,
        socket: PathBuf,
    ) -> Result<Self, Error> {
        let log = directory.join(format!("{name}.log"));
        let start = || -> io::Result<Child> {
            let mut command = Command::new(&lab.program);
            command.arg0("wiremend").args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
            // Ctrl-C goes to this process, which terminates the child.
            command.stderr(File::create(&log)?).process_group(0);
            process::terminate_with_parent(&mut command);
            namespace::start_in_network(&mut command, network)?;
            command.spawn()
        };
        let process =
            start().map_err(|error| Error::Environment(format!("cannot start the {name}: {error}")))?;
        Ok(Self { name, process, socket, log, terminated: false, lab: lab.clone() })
    }

    pub(crate) fn await_ready<Q: Request, A: DeserializeOwned>(&mut self, request: &Q) -> Result<(), Error> {
        let until = Instant::now() + START_LIMIT;
        loop {
            let ended = self.process.try_wait().map_err(|error| Error::file(&error))?.is_some();
            match send_request::<Q, A>(&self.socket, request) {
                Ok(_) => return Ok(()),
                Err(ControlError::Unreachable(_)) if !ended && Instant::now() < until => {
                    self.lab.pause(POLL_INTERVAL)?;
                }
                Err(ControlError::Unreachable(error)) => {
                    return Err(self.failed(&format!("does not start ({error})")));
                }
                Err(ControlError::InvalidResponse(reason) | ControlError::Refused(reason)) => {
                    return Err(self.failed(&format!("does not start ({reason})")));
                }
            }
        }
    }

    pub(crate) fn request<Q: Request, A: DeserializeOwned>(&self, request: &Q) -> Result<A, Error> {
        send_request(&self.socket, request).map_err(|why| match why {
            ControlError::Refused(why) => Error::Refused(why),
            ControlError::Unreachable(error) => self.failed(&format!("does not answer ({error})")),
            ControlError::InvalidResponse(error) => self.failed(&format!("broke off ({error})")),
        })
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns an error that quotes the end of the log.
    pub(crate) fn failed(&self, how: &str) -> Error {
        let log = fs::read(&self.log).unwrap_or_default();
        let tail =
            String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_TAIL_BYTES)..]).trim().to_owned();
        let tail = if tail.is_empty() {
            "its log is empty".to_owned()
        } else {
            format!("its log ends with: {tail}")
        };
        Error::Environment(format!("the {} of the lab {how}; {tail}", self.name))
    }

    /// Sends SIGTERM and does not wait.
    pub(crate) fn terminate(&mut self) {
        if !std::mem::replace(&mut self.terminated, true) {
            // Fails only if it has ended.
            let _ = process::terminate(self.process.id());
        }
    }
}

impl Drop for LabProcess {
    fn drop(&mut self) {
        self.terminate();
        let until = Instant::now() + TERMINATION_LIMIT;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
