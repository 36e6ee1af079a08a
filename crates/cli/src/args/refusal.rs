//! Arguments that clap refuses, as one line in our words.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use wiremend_scenario::builtin;
use wiremend_units::unknown_name;

/// Why `words`, the arguments of this process, are refused, and which help to read.
pub(crate) fn rendered(error: &clap::Error, words: &[String]) -> String {
    let mut all = super::command();
    all.build();
    let (command, path) = deepest(&all, words);
    let help = format!("see `{path} --help`");
    let invalid = text(error, ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(error, ContextKind::InvalidSubcommand);
            if path == "wiremend" && builtin::get(&name).is_ok() {
                return format!("unknown command `{name}`; to run this scenario: wiremend run {name}");
            }
            format!("{}; {help}", unknown_name("command", &name, &commands(command)))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("`{path}` needs a command: {}; {help}", commands(command).join(", "))
        }
        ErrorKind::MissingRequiredArgument => format!("missing arguments: {invalid}; {help}"),
        ErrorKind::UnknownArgument => {
            let what = if invalid.starts_with('-') { "unknown option" } else { "unexpected argument" };
            let guess = match text(error, ContextKind::SuggestedArg) {
                near if near.is_empty() => String::new(),
                near => format!("did you mean `{near}`? "),
            };
            format!("{what} `{invalid}`; {guess}{help}")
        }
        _ => one_line(&error.render().to_string(), &help),
    }
}

/// The command that the words reach, and how it is called.
fn deepest<'c>(all: &'c Command, words: &[String]) -> (&'c Command, String) {
    let (mut command, mut path) = (all, "wiremend".to_owned());
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        let Some(inner) = command.find_subcommand(word) else { break };
        path = format!("{path} {word}");
        command = inner;
    }
    (command, path)
}

fn commands(command: &Command) -> Vec<&str> {
    command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect()
}

/// A part of an error; several are separated by commas.
fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

/// The lines of a message of clap in one, without its usage.
fn one_line(message: &str, help: &str) -> String {
    let message = message.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.split("\n\nFor more information").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let lines: Vec<_> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    format!("{}; {help}", lines.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn refusals_are_one_line_with_the_nearest_name() {
        for (line, expected) in [
            ("rnu", "unknown command `rnu`; did you mean `run`? allowed: run, rerun, sweep, "),
            ("RUN tour", "unknown command `RUN`; did you mean `run`? allowed: "),
            ("tour", "unknown command `tour`; to run this scenario: wiremend run tour"),
            ("relay rum", "unknown command `rum`; did you mean `run`? allowed: run, status, "),
            (
                "model phi",
                "unknown command `phi`; did you mean `phy`? allowed: phy; see `wiremend model --help`",
            ),
            ("monitor", "`wiremend monitor` needs a command: run, planner, "),
            (
                "fleet",
                "`wiremend fleet` needs a command: run, plan, trace, table; see `wiremend fleet --help`",
            ),
            (
                "run tour --sedes 3",
                "unknown option `--sedes`; did you mean `--seeds`? see `wiremend run --help`",
            ),
            ("list all", "unexpected argument `all`; see `wiremend list --help`"),
            ("relay run", "missing arguments: --lan <IF>, --link <IF>; see `wiremend relay run --help`"),
            (
                "relay set --mode orderd",
                "--mode: unknown value `orderd`; did you mean `ordered`? allowed: ordered, non-blocking, off; see",
            ),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let all = std::iter::once("wiremend".to_owned()).chain(words.iter().cloned());
            let error = crate::args::Arguments::try_parse_from(all).expect_err(line);
            let refusal = rendered(&error, &words);
            assert!(refusal.starts_with(expected) && !refusal.contains('\n'), "{line}: {refusal}");
        }
    }
}
