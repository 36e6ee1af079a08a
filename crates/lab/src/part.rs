//! A part of a lab that is a process: the program `wiremend`, told to be a relay or a wire.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use wiremend_dataplane::control::{Request, Unanswered, ask};
use wiremend_dataplane::sys::{namespace, process};

use crate::error::Error;
use crate::lab::{LOOK, Lab};

/// A process inside a network, which can be asked over its socket. It ends with this value, and with the thread that made it.
#[derive(Debug)]
pub(crate) struct Part {
    name: &'static str,
    process: Child,
    socket: PathBuf,
    log: PathBuf,
    /// It was asked to end: asked twice, it would end at once and leave things behind.
    dismissed: bool,
    lab: Lab,
}

/// It answers within this, or does not work.
const START: Duration = Duration::from_mins(2);
/// It ends within this, or is killed.
const END: Duration = Duration::from_secs(30);
const LOG_TAIL_BYTES: usize = 300;

impl Part {
    /// Starts the program with these arguments. Its log is written into `directory`, and it will listen at `socket`.
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
            // Ctrl-C is for us, who then end it.
            command.stderr(File::create(&log)?).process_group(0);
            process::ends_with_parent(&mut command);
            namespace::start_in_network(&mut command, network)?;
            command.spawn()
        };
        let process =
            start().map_err(|error| Error::Environment(format!("cannot start the {name}: {error}")))?;
        Ok(Self { name, process, socket, log, dismissed: false, lab: lab.clone() })
    }

    /// Waits until it answers.
    pub(crate) fn await_ready<Q: Request, A: DeserializeOwned>(&mut self, question: &Q) -> Result<(), Error> {
        let until = Instant::now() + START;
        loop {
            let ended = self.process.try_wait().map_err(|error| Error::file(&error))?.is_some();
            match ask::<Q, A>(&self.socket, question) {
                Ok(_) => return Ok(()),
                Err(Unanswered::Absent(_)) if !ended && Instant::now() < until => self.lab.pause(LOOK)?,
                Err(why) => return Err(self.failed(&format!("does not start ({why:?})"))),
            }
        }
    }

    /// Asks it.
    pub(crate) fn ask<Q: Request, A: DeserializeOwned>(&self, question: &Q) -> Result<A, Error> {
        ask(&self.socket, question).map_err(|why| match why {
            Unanswered::Refused(why) => Error::Refused(why),
            Unanswered::Absent(error) => self.failed(&format!("does not answer ({error})")),
            Unanswered::Garbled(error) => self.failed(&format!("broke off ({error})")),
        })
    }

    /// What it has said.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    fn failed(&self, how: &str) -> Error {
        let log = fs::read(&self.log).unwrap_or_default();
        let said =
            String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_TAIL_BYTES)..]).trim().to_owned();
        let said = if said.is_empty() { "it said nothing".to_owned() } else { format!("it said: {said}") };
        Error::Environment(format!("the {} of the lab {how}; {said}", self.name))
    }

    /// Asks it to end, and does not wait.
    pub(crate) fn dismiss(&mut self) {
        if !std::mem::replace(&mut self.dismissed, true) {
            // It fails only if it has ended.
            let _ = process::terminate(self.process.id());
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.dismiss();
        let until = Instant::now() + END;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}
