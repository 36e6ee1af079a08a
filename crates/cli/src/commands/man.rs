//! `wiremend man`: manual pages, one for each command.

use std::fs;

use clap_mangen::Man as Manual;
use wiremend_report::write_whole;

use crate::args::{self, Man};
use crate::failure::{Answer, Failure};

pub(super) fn run(asked: &Man) -> Result<Answer, Failure> {
    let directory = &asked.directory;
    fs::create_dir_all(directory).map_err(|error| {
        Failure::Environment(format!("cannot make the directory `{}`: {error}", directory.display()))
    })?;
    let mut all = args::command();
    all.build();
    for command in with_parts(&all) {
        let manual = Manual::new(command.clone());
        let mut page = Vec::new();
        let written = manual.render(&mut page);
        let path = directory.join(manual.get_filename());
        let written = written.and_then(|()| write_whole(&path, &String::from_utf8_lossy(&page)));
        written.map_err(|error| Failure::file(&error))?;
    }
    Ok(Answer::Yes)
}

/// A command and all below it.
fn with_parts(command: &clap::Command) -> Vec<&clap::Command> {
    let parts = command.get_subcommands().filter(|part| part.get_name() != "help");
    std::iter::once(command).chain(parts.flat_map(with_parts)).collect()
}
