//! Options of `relay run` from a file: its keys are the long names of the options.
//!
//! The file becomes words of the command line, so it is checked like them. An option of the command line
//! replaces that of the file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::{Table, Value};
use wiremend_units::unknown_name;

use crate::failure::Failure;
use crate::input_file::{CONFIG_BYTES_MAX, read};

/// Options that a file cannot set.
const COMMAND_LINE_ONLY: [&str; 4] = ["config", "watched", "help", "help-all"];

/// The words of a command line with those of its option file.
pub(super) struct Expanded {
    pub(super) words: Vec<OsString>,
    /// The file, and the options that it sets.
    file: Option<(PathBuf, Vec<String>)>,
}

impl Expanded {
    /// Reads the option file that the words name, if any.
    pub(super) fn new(all: &Command, words: Vec<OsString>) -> Result<Self, Failure> {
        const COMMAND_WORDS: usize = 3;
        let unchanged = |words| Ok(Self { words, file: None });
        if !matches!(&words[..], [_, relay, run, ..] if relay == "relay" && run == "run") {
            return unchanged(words);
        }
        // What is wrong in the words is reported when all of them are known.
        let Ok(matches) = all.clone().ignore_errors(true).try_get_matches_from(&words) else {
            return unchanged(words);
        };
        let run = matches.subcommand_matches("relay").and_then(|relay| relay.subcommand_matches("run"));
        let path = run.and_then(|run| Some((run, run.try_get_one::<PathBuf>("config").ok()??.clone())));
        // A process that another one supervises has got the options of the file from it.
        let is_watched = |run: &ArgMatches| matches!(run.try_get_one::<bool>("watched"), Ok(Some(true)));
        let Some((run, path)) = path.filter(|(run, _)| !is_watched(run)) else {
            return unchanged(words);
        };
        let options = all.find_subcommand("relay").and_then(|relay| relay.find_subcommand("run"));
        let set = options_in(&path, options.expect("the words name it"), run)?;
        let (keys, file_words): (Vec<_>, Vec<_>) = set.into_iter().unzip();
        let (command, rest) = words.split_at(COMMAND_WORDS);
        let words = [command, &file_words.concat(), rest].concat();
        Ok(Self { words, file: Some((path, keys)) })
    }

    /// Names the file in a refusal that is about one of its options.
    pub(super) fn place(&self, refusal: String) -> String {
        match &self.file {
            Some((file, keys)) if keys.iter().any(|key| refusal.contains(&format!("--{key}"))) => {
                format!("{}: {refusal}", file.display())
            }
            _ => refusal,
        }
    }
}

/// Returns the options of the file that the command line does not set, with their words.
fn options_in(
    path: &Path,
    run: &Command,
    command_line: &ArgMatches,
) -> Result<Vec<(String, Vec<OsString>)>, Failure> {
    let text = read(path, CONFIG_BYTES_MAX)?;
    let refused = |why: String| Failure::Input(format!("{}: {why}", path.display()));
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let before = &text[..error.span().map_or(0, |span| span.start).min(text.len())];
        let (line, column) =
            (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1);
        Failure::Input(format!("{}:{line}:{column}: {}", path.display(), error.message().replace('\n', "; ")))
    })?;
    let can_set = |arg: &&Arg| arg.get_long().is_some_and(|long| !COMMAND_LINE_ONLY.contains(&long));
    let names: Vec<String> = run
        .get_arguments()
        .filter(can_set)
        .filter_map(|arg| Some(arg.get_long()?.replace('-', "_")))
        .collect();
    let mut options = Vec::new();
    for (key, value) in &table {
        let long = key.replace('_', "-");
        let Some(arg) = run.get_arguments().filter(can_set).find(|arg| arg.get_long() == Some(&long)) else {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(refused(unknown_name("option", key, &names)));
        };
        let words =
            words(arg, &long, value).map_err(|expected| refused(format!("{key}: expected {expected}")))?;
        let id = arg.get_id().as_str();
        if command_line.value_source(id) != Some(ValueSource::CommandLine) {
            options.push((long, words));
        }
    }
    Ok(options)
}

/// The words of an option; `Err` with the expected kind of value.
fn words(arg: &Arg, long: &str, value: &Value) -> Result<Vec<OsString>, &'static str> {
    let word = |value: &Value| match value {
        Value::String(text) => Ok(format!("--{long}={text}").into()),
        Value::Integer(number) => Ok(format!("--{long}={number}").into()),
        Value::Float(number) => Ok(format!("--{long}={number}").into()),
        _ => Err("a text or a number"),
    };
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(true)) => Ok(vec![format!("--{long}").into()]),
        (ArgAction::SetTrue, Value::Boolean(false)) => Ok(Vec::new()),
        (ArgAction::SetTrue, _) => Err("true or false"),
        (ArgAction::Append, Value::Array(values)) => values.iter().map(word).collect(),
        (ArgAction::Append, _) => Err("a list"),
        (_, value) => word(value).map(|word| vec![word]),
    }
}
