//! The arguments of the command line.

pub(crate) mod capture;
mod choice;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod lab_flows;
pub(crate) mod lab_guests;
pub(crate) mod log;
pub(crate) mod monitor;
pub(crate) mod operate;
mod option_file;
pub(crate) mod peer;
mod refusal;
pub(crate) mod serve;
pub(crate) mod sweep;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use wiremend_scenario::Override;

use self::choice::choice;
use crate::failure::Failure;

/// The version with its commit.
pub(crate) const VERSION: &str = env!("WIREMEND_VERSION");

/// Heading of options that `--help-all` shows and `--help` leaves out.
const ADVANCED: &str = "Advanced options";

/// Commands by purpose; clap has no groups of commands.
const HELP: &str = "\
{about}
Usage: wiremend [COMMAND]

Simulate:
  run          Run a scenario and compare its variants
  rerun        Repeat a run from its own files and compare the digests
  sweep        Run a scenario over axes of values and seeds
  trace        Draw the packets of one flow over time
  repro        Measure the claims of papers and judge them
  list         List the built-in scenarios
  show         Print the file of a built-in scenario

Explain:
  model        Compute what corruption costs RDMA
  tune         Find the cheapest dummies and copies that reach a target
  check        Find possible deadlocks of a lossless network
  capture      Decode captured frames, and explain why queue pairs stalled

Operate:
  relay        Protect a link between two Linux machines
  monitor      Find links that corrupt packets
  serve        Show the links of a fabric on a page
  fleet        Choose which corrupting links of a fabric to disable
  lab          Test relays and transports on this machine
  peer         Speak RoCE with a kernel or NIC at the other end

Set up:
  schema       Print the JSON schema of scenario files
  completions  Print a completion script for a shell
  man          Write the manual pages

Options:
{options}{after-help}";

const EXAMPLES: &str = "\
Examples:
  wiremend                         run the scenario `tour`
Exit status: 0 success, 1 negative result, 2 bad input, 3 missing resource, 130 after Ctrl-C.";

/// Keeps RDMA fast over links that corrupt packets: simulate, compare, explain, protect.
#[derive(Parser, Debug)]
#[command(name = "wiremend", version = VERSION, help_template = HELP, after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Print the common options and examples
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    help: Option<bool>,
    /// Print the description and all options
    #[arg(long, global = true, action = ArgAction::HelpLong)]
    help_all: Option<bool>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Run(Run),
    Rerun(Rerun),
    Sweep(Box<sweep::Sweep>),
    Trace(Trace),
    Repro(Repro),
    List(List),
    Show(Show),
    Model(Box<explain::Model>),
    Tune(Box<explain::Tune>),
    Check(explain::Check),
    Capture(capture::Capture),
    Relay(operate::Relay),
    Monitor(monitor::Monitor),
    Fleet(fleet::Fleet),
    Lab(operate::Lab),
    Peer(peer::Peer),
    Serve(serve::Serve),
    Schema(Schema),
    Completions(Completions),
    Man(Man),
}

/// Run a scenario and compare its variants
///
/// Prints a table, a small plot of the slowest flows, and the conclusions in sentences.
/// --out writes these files too, each complete or not at all:
///
///   summary.json    all numbers of the table and more
///   flows.parquet   one row per flow, in order of variant and seed
///   links.parquet   totals of each direction of a link
///   series.parquet  queues and counters over time, if the scenario has a table `series`
///                   and `flow_series.parquet`, rates of flows, if that table names flows
///   *.csv           the same tables as text, with --csv
///   report.html     table, plots and conclusions in one page
///
/// The run counts and lists flows that fail (retries exhausted, time limit);
/// they do not change the exit status. The exit status is 1 if a deadlock ended the run.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend run tour --seeds 10 --out results --csv
  wiremend run tour --set topology.k=8 --set workload.0.load=0.6
  wiremend show incast | wiremend run - --set topology.buffer=256KiB"
)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) quiet: Quiet,
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Run only this variant; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Vec<String>,
    /// Number of seeds per variant, counted up from the first; results are merged
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: u64,
    /// Number of threads; does not change results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Whether to skip simulated time in which the network only repeats a pattern; does not change results
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = choice::<FastForward>())]
    pub(crate) fast_forward: FastForward,
    /// Write the results into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the tables as CSV too
    #[arg(long, requires = "out")]
    pub(crate) csv: bool,
    /// Capture the frames of a link, such as h0-tor or edge0-0-agg0-1, in a pcapng file; repeatable. With several
    /// variants or seeds, each has its own file
    #[arg(long, value_name = "LINK=FILE")]
    pub(crate) capture: Vec<CaptureRequest>,
    /// Name the cause of each timeout in a comment of the captures, on the first request that follows it
    #[arg(long, requires = "capture")]
    pub(crate) truth: bool,
    /// Print summary.json instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Repeat a run from its own files and compare the digests
///
/// Reads the scenario of each variant, the seeds and copies of flow lists from the directory that `run --out` wrote,
/// and nothing else. The exit status is 1 if a digest differs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend run tour --out results && wiremend rerun results")]
pub(crate) struct Rerun {
    #[command(flatten)]
    pub(crate) quiet: Quiet,
    /// The output directory of a run
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Number of threads; does not change results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Whether to skip simulated time in which the network only repeats a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FastForward {
    /// Where it is exact
    Auto,
    /// Never
    Off,
}

impl FastForward {
    pub(crate) fn is_on(self) -> bool {
        self == Self::Auto
    }
}

/// Whether to show progress
#[derive(Args, Clone, Copy, Default, Debug)]
pub(crate) struct Quiet {
    /// Show no progress on stderr; without it a terminal shows a bar, and a log gets a line each minute
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// A scenario and the changes to it
#[derive(Args, Debug)]
pub(crate) struct Scenario {
    /// A name from `wiremend list`, a path to a .toml file, or - for stdin
    #[arg(value_name = "SCENARIO", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// Change a value in all variants, such as transport.recovery=irn or impair.0.rate=1e-4; repeatable
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Override>,
    /// Seed of all random streams [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Draw the packets of one flow over time
///
/// Nodes are columns and time runs downward. The drawing shows each packet, each corruption, and each timer that
/// expired with its cause. Long idle periods are cut out and marked. Below it, each part of the flow's completion time
/// is listed: serialisation, queueing, pauses, retransmission, timers and others.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend trace tail-packet
  wiremend trace twice --svg twice.svg --perfetto twice.perfetto-trace
  wiremend trace tour --variant go-back-n --flow slowest")]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// The flow: its number in flows.parquet, or `slowest`
    #[arg(long, value_name = "ID", default_value = "0")]
    pub(crate) flow: FlowChoice,
    /// The variant to run [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Write the drawing into this file instead of printing it as text
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the traffic of the whole network from the start of the flow to its end into this file too, for
    /// ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Maximum number of steps to show; uneventful ones are left out first
    #[arg(long, value_name = "N", default_value_t = 240, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) steps: u32,
    /// Print the steps as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure the claims of papers and judge them
///
/// Simulates each claim, compares the result with the paper and gives a verdict: reproduced, corrected,
/// explained, or not reproduced. The exit status is 1 if a claim is not reproduced.
/// --out writes these files too, each complete or not at all:
///
///   gallery.html           all claims with their figures, in one file
///   ledger.json            the results for programs
///   README.md, ID.md       an index and a page for each claim; not with --set
///   images/*.svg           the figures
///   runs/*.json            the outcome of each run: after Ctrl-C, the same command continues from there
///
/// --set changes a value in the scenarios of all runs. The verdicts then do not apply to the papers.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend repro V1 V2 --quick
  wiremend repro --all --out ledger
  wiremend repro V1 --quick --set transport.recovery=go-back-n"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Repro {
    #[command(flatten)]
    pub(crate) quiet: Quiet,
    /// Ids of claims; without any, the command lists all claims
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Run all claims
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
    /// Simulate less time and fewer points: same criteria, wider intervals
    #[arg(long)]
    pub(crate) quick: bool,
    /// Change a value in the scenarios of all runs; repeatable
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Override>,
    /// Number of simulations in parallel; does not change results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Write the ledger into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Add the results to those of this ledger.json: claims that are not measured now keep their results
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with = "set")]
    pub(crate) merge: Option<PathBuf>,
    /// Print the commands of the runs, one per line, and run nothing
    #[arg(long, conflicts_with_all = ["out", "json", "threads"])]
    pub(crate) commands: bool,
    /// Write README.md and ID.md for the results of this ledger.json, and run nothing
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with_all = ["ids", "all", "quick", "set", "merge", "commands", "json", "threads"])]
    pub(crate) pages: Option<PathBuf>,
    /// Print the results (ledger.json); without claims, print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the built-in scenarios, flow-size tables and recovery schemes
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend list
  wiremend list --json")]
pub(crate) struct List {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the file of a built-in scenario, as a start for one of your own
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend show tour
  wiremend show incast > mine.toml")]
pub(crate) struct Show {
    /// A name from `wiremend list`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// Print the JSON schema of scenario files, for editors that complete and check TOML
///
/// Editors with Taplo (such as VS Code with Even Better TOML) use the schema that the first line of a file names:
///
///   #:schema ./scenario.schema.json
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend schema > scenario.schema.json
  taplo check --schema file://$PWD/scenario.schema.json mine.toml"
)]
pub(crate) struct Schema {}

/// Print a completion script for a shell
///
/// Completes commands, options, and the names of built-in scenarios.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend completions bash > /etc/bash_completion.d/wiremend
  wiremend completions fish > ~/.config/fish/completions/wiremend.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_parser = choice::<clap_complete::Shell>())]
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend man /usr/local/share/man/man1
  wiremend man docs/reference --markdown")]
pub(crate) struct Man {
    /// The directory to write them into
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Write the reference of commands and scenario files in Markdown instead
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// `LINK=FILE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CaptureRequest {
    pub(crate) link: String,
    pub(crate) path: PathBuf,
}

impl std::str::FromStr for CaptureRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((link, path)) if !link.is_empty() && !path.is_empty() => {
                Ok(Self { link: link.to_owned(), path: path.into() })
            }
            _ => Err("write LINK=FILE such as h0-tor=link.pcapng".to_owned()),
        }
    }
}

/// Which flow to trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlowChoice {
    Number(u64),
    Slowest,
}

impl std::str::FromStr for FlowChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("slowest") {
            return Ok(Self::Slowest);
        }
        text.parse().map(Self::Number).map_err(|_| "a flow is a number or `slowest`".to_owned())
    }
}

/// The whole command line.
pub(crate) fn command() -> clap::Command {
    fn with_hints(command: clap::Command, path: &str) -> clap::Command {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let names: Vec<_> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
        // Some commands have nothing but commands below them.
        let has_options = command.get_arguments().any(|arg| !arg.is_global_set());
        let place = if names.is_empty() || has_options { "" } else { " COMMAND" };
        let hint = format!("{after}\n`{path}{place} --help-all` prints all options.");
        names.into_iter().fold(command.after_help(hint).after_long_help(after), |command, name| {
            let path = format!("{path} {name}");
            command.mut_subcommand(name, |inner| with_hints(inner, &path))
        })
    }
    with_hints(Arguments::command(), "wiremend")
}

/// The arguments of this process.
pub(crate) fn parse() -> Result<Arguments, Failure> {
    parse_words(std::env::args_os().collect())
}

/// Reads the option file of `relay run` again, with the options of this process's command line.
pub(crate) fn parse_again() -> Result<operate::RelayRun, Failure> {
    match parse()?.command {
        Some(Command::Relay(operate::Relay { command: operate::RelayCommand::Run(run) })) => Ok(*run),
        _ => unreachable!("the arguments of a process do not change"),
    }
}

fn parse_words(words: Vec<OsString>) -> Result<Arguments, Failure> {
    let all = command();
    let expanded = option_file::Expanded::new(&all, words)?;
    let matches = all.try_get_matches_from(&expanded.words);
    let mut arguments =
        matches.and_then(|matches| Arguments::from_arg_matches(&matches)).map_err(|error| {
            match error.kind() {
                // Not an error: the user asked for this text.
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    crate::terminal::written(error.print()).err().unwrap_or(Failure::Done)
                }
                _ => {
                    let words = expanded.words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
                    let refusal = refusal::rendered(&error, &words.collect::<Vec<_>>());
                    Failure::Input(expanded.place(refusal))
                }
            }
        })?;
    if let Some(Command::Relay(operate::Relay { command: operate::RelayCommand::Run(run) })) =
        &mut arguments.command
    {
        run.words = expanded.words;
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most lines of a screen that a short help may take.
    const SCREEN: usize = 40;

    #[test]
    fn clap_finds_nothing_wrong_with_the_definition() {
        command().debug_assert();
    }

    #[test]
    fn the_help_lists_every_command_with_its_purpose() {
        let mut all = command();
        all.build();
        for command in all.get_subcommands().filter(|command| command.get_name() != "help") {
            let about = command.get_about().expect("a command says what it is for").to_string();
            let line =
                format!("  {:<11}  {}", command.get_name(), about.split(',').next().unwrap_or_default());
            assert!(HELP.contains(&line), "`{line}` is not in the help");
        }
    }

    #[test]
    fn every_short_help_has_examples_and_fits_a_screen() {
        fn check(command: &mut clap::Command, path: &str) {
            let help = command.render_help().to_string();
            assert!(help.trim_end().ends_with(" --help-all` prints all options."), "{help}");
            assert!(help.lines().count() <= SCREEN, "{path}: {} lines\n{help}", help.lines().count());
            let examples = help.split("Examples:\n").nth(1).expect(path);
            let count = examples.lines().take_while(|line| line.starts_with("  ")).count();
            assert!((1..=3).contains(&count) && examples.contains(path), "{path}: {count} examples\n{help}");
            for inner in command.get_subcommands_mut().filter(|command| command.get_name() != "help") {
                let path = format!("{path} {}", inner.get_name());
                check(inner, &path);
            }
        }
        let mut all = command().term_width(100);
        all.build();
        check(&mut all, "wiremend");
    }

    #[test]
    fn advanced_options_are_in_the_long_help_only() {
        fn check(command: &clap::Command) {
            for arg in command.get_arguments() {
                let is_advanced = arg.get_help_heading() == Some(ADVANCED);
                assert_eq!(arg.is_hide_short_help_set(), is_advanced, "{} {arg}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }
}
