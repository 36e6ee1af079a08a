//! `wiremend lab`: try things out between namespaces of this machine.

mod down;
mod roce;
mod shell;
mod tcp;
mod wire;

use crate::args::operate::{Lab, LabCommand};
use crate::failure::{Answer, Failure};

pub(crate) fn run(asked: &Lab) -> Result<Answer, Failure> {
    match &asked.command {
        LabCommand::Roce(asked) => roce::run(asked),
        LabCommand::Tcp(asked) => tcp::run(asked),
        LabCommand::Shell(asked) => shell::run(asked),
        LabCommand::Down => down::run(),
        LabCommand::Wire(asked) => wire::run(asked),
    }
}
