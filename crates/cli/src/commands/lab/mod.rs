//! `wiremend lab`: tests in network namespaces of this machine.

mod auto;
mod down;
mod roce;
mod shell;
mod tcp;
mod wire;

use std::fs;
use std::path::Path;

use wiremend_lab::chain::ChainConfig;
use wiremend_lab::{Lab as Laboratory, privileges};
use wiremend_units::{Bytes, Span};

use crate::args::operate::{Lab, LabChain, LabCommand, LabMending};
use crate::commands::relay::protection_mode;
use crate::failure::{Answer, Failure};
use crate::signals;

pub(crate) fn run(asked: &Lab) -> Result<Answer, Failure> {
    match &asked.command {
        LabCommand::Auto(asked) => auto::run(asked),
        LabCommand::Roce(asked) => roce::run(asked),
        LabCommand::Tcp(asked) => tcp::run(asked),
        LabCommand::Shell(asked) => shell::run(asked),
        LabCommand::Down => down::run(),
        LabCommand::Wire(asked) => wire::run(asked),
    }
}

/// Creates the output directory and acquires privileges, before anything is built.
fn begin(out: Option<&Path>) -> Result<(), Failure> {
    if let Some(out) = out {
        fs::create_dir_all(out)
            .map_err(|error| Failure::Environment(format!("cannot create `{}`: {error}", out.display())))?;
    }
    privileges::acquire()?;
    signals::catch()
}

/// Returns a laboratory that runs this program as relay, cable and monitor, and stops with it.
fn laboratory() -> Laboratory {
    Laboratory { program: "/proc/self/exe".into(), stop: signals::stop() }
}

/// Returns the configuration of a chain without a rate limit.
fn knobs(asked: &LabChain, path_delay: Span) -> ChainConfig {
    ChainConfig { delay: asked.delay, path_delay, queue: asked.queue, ..mended(&asked.mending) }
}

/// Returns the configuration of a chain without delays and queues.
fn mended(asked: &LabMending) -> ChainConfig {
    ChainConfig {
        rate: None,
        delay: Span::ZERO,
        path_delay: Span::ZERO,
        queue: Bytes::ZERO,
        seed: asked.seed,
        mode: protection_mode(asked.mode),
        copies: asked.copies,
    }
}
