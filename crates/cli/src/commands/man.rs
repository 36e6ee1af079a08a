//! `wiremend man`: manual pages, one per command, and the reference in Markdown.

use std::fmt::Write;
use std::fs;

use clap_mangen::Man as Manual;
use wiremend_report::write_atomic;
use wiremend_scenario::reference;

use crate::args::{self, Man};
use crate::failure::{Answer, Failure};

pub(super) fn run(args: &Man) -> Result<Answer, Failure> {
    let directory = &args.directory;
    fs::create_dir_all(directory).map_err(|error| {
        Failure::Environment(format!("cannot create the directory `{}`: {error}", directory.display()))
    })?;
    let mut all = args::command();
    all.build();
    if args.markdown {
        let mut pages: Vec<_> = reference().into_iter().map(|page| (page.file, page.text)).collect();
        pages.extend(command_pages(&all));
        for (file, text) in pages {
            write_atomic(&directory.join(file), &text).map_err(|error| Failure::file(&error))?;
        }
        return Ok(Answer::Yes);
    }
    for command in with_parts(&all) {
        // clap_mangen leaves out the texts of options that the short help hides.
        let manual = Manual::new(command.clone().mut_args(|arg| arg.hide_short_help(false)));
        let mut page = Vec::new();
        let written = manual.render(&mut page);
        let path = directory.join(manual.get_filename());
        let written = written.and_then(|()| write_atomic(&path, &String::from_utf8_lossy(&page)));
        written.map_err(|error| Failure::file(&error))?;
    }
    Ok(Answer::Yes)
}

/// Returns a command and all commands below it.
fn with_parts(command: &clap::Command) -> Vec<&clap::Command> {
    let parts = command.get_subcommands().filter(|part| part.get_name() != "help");
    std::iter::once(command).chain(parts.flat_map(with_parts)).collect()
}

/// Width of help texts in the page.
const WIDTH: usize = 116;

/// Commands whose help has a page of its own.
const OPERATE: [&str; 5] = ["relay", "monitor", "serve", "fleet", "lab"];

/// The help of all commands, on two pages.
fn command_pages(all: &clap::Command) -> [(&'static str, String); 2] {
    let intro = |title: &str, other: &str| {
        format!(
            "# {title}\n\n<!-- Written by `cargo xtask docs` from the definitions of the options. -->\n\n\
             Terms are in the [glossary](../glossary.md).\n{other}\n\
             Every command has `--help` (or `-h`), which prints its common options and examples, and\n\
             `--help-all`, which prints the text below.\n"
        )
    };
    let here = "`relay`, `monitor`, `serve`, `fleet` and `lab` are [on a page of their own](cli-operate.md).";
    let mut page = intro("Command line", here);
    let mut operate = intro("Command line: operate", "The other commands are [here](cli.md).");
    for command in with_parts(all) {
        let name = command.get_bin_name().unwrap_or("wiremend");
        let is_operation = name.split(' ').nth(1).is_some_and(|first| OPERATE.contains(&first));
        let command = command.clone().mut_args(|arg| {
            let is_help = ["help", "help_all"].contains(&arg.get_id().as_str());
            if is_help { arg.hide(true) } else { arg }
        });
        let help = command.term_width(WIDTH).render_long_help().to_string();
        let lines: Vec<_> = help.lines().map(str::trim_end).collect();
        let page = if is_operation { &mut operate } else { &mut page };
        write!(page, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim()).expect("a string grows");
    }
    [("cli.md", page), ("cli-operate.md", operate)]
}
