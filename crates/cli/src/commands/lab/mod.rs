//! `wiremend lab`: tests in network namespaces of this machine.

mod auto;
mod down;
mod flows;
mod peer;
mod roce;
mod shell;
mod stalls;
mod tcp;
mod wire;

use std::fs;
use std::path::Path;

use wiremend_lab::chain::ChainConfig;
use wiremend_lab::privileges;
use wiremend_units::{Bytes, Span};

use crate::args::operate::{Lab, LabChain, LabCommand, LabProtection};
use crate::commands::relay::protection_mode;
use crate::failure::{Answer, Failure};
use crate::signals;

pub(crate) fn run(args: &Lab) -> Result<Answer, Failure> {
    match &args.command {
        LabCommand::Auto(args) => auto::run(args),
        LabCommand::Roce(args) => roce::run(args),
        LabCommand::Peer(args) => peer::run(args),
        LabCommand::Stalls(args) => stalls::run(args),
        LabCommand::Tcp(args) => tcp::run(args),
        LabCommand::Flows(args) => flows::run(args),
        LabCommand::Shell(args) => shell::run(args),
        LabCommand::Down => down::run(),
        LabCommand::Wire(args) => wire::run(args),
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

/// Returns a lab that runs this program as relay, wire and monitor, and stops with it.
fn lab() -> wiremend_lab::Lab {
    wiremend_lab::Lab { program: "/proc/self/exe".into(), stop: signals::stop() }
}

/// Returns the configuration of a chain without a rate limit.
fn chain_config(args: &LabChain, path_delay: Span) -> ChainConfig {
    ChainConfig { delay: args.delay, path_delay, queue: args.queue, ..protection_config(&args.protection) }
}

/// Returns the configuration of a chain without delays and queues.
fn protection_config(args: &LabProtection) -> ChainConfig {
    ChainConfig {
        rate: None,
        delay: Span::ZERO,
        path_delay: Span::ZERO,
        queue: Bytes::ZERO,
        seed: args.seed,
        mode: protection_mode(args.mode),
        copies: args.copies,
    }
}
