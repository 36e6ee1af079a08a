//! `wiremend lab`: try things out between namespaces of this machine.

mod auto;
mod down;
mod roce;
mod shell;
mod tcp;
mod wire;

use std::fs;
use std::path::Path;

use wiremend_lab::chain::Knobs;
use wiremend_lab::{Lab as Laboratory, rights};
use wiremend_units::{Bytes, Span};

use crate::args::operate::{Lab, LabChain, LabCommand, LabMending};
use crate::commands::relay::care;
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

/// Sees to what may be missing before anything is built.
fn begin(out: Option<&Path>) -> Result<(), Failure> {
    if let Some(out) = out {
        fs::create_dir_all(out)
            .map_err(|error| Failure::Environment(format!("cannot make `{}`: {error}", out.display())))?;
    }
    rights::acquire()?;
    signals::catch()
}

/// A laboratory whose relays, wires and daemons are this program, and that ends with it.
fn laboratory() -> Laboratory {
    Laboratory { program: "/proc/self/exe".into(), stop: signals::stop() }
}

/// A chain as it was asked for, as fast as the machine.
fn knobs(asked: &LabChain, path_delay: Span) -> Knobs {
    Knobs { delay: asked.delay, path_delay, queue: asked.queue, ..mended(&asked.mending) }
}

/// A chain without delays and queues that is mended as was asked for.
fn mended(asked: &LabMending) -> Knobs {
    Knobs {
        rate: None,
        delay: Span::ZERO,
        path_delay: Span::ZERO,
        queue: Bytes::ZERO,
        seed: asked.seed,
        mode: care(asked.mode),
        copies: asked.copies,
    }
}
