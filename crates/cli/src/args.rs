//! What can be asked for.

pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod monitor;
pub(crate) mod operate;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use wiremend_scenario::Override;

use crate::failure::Failure;

/// The version with its commit.
pub(crate) const VERSION: &str = env!("WIREMEND_VERSION");

/// Commands by purpose; clap knows no groups of commands.
const HELP: &str = "\
{about}

Usage: wiremend [COMMAND]

Simulate:
  run          Run a scenario and compare its variants
  trace        Draw what happened to one flow, packet by packet
  repro        Measure what papers claim, and judge it
  list         List the scenarios that come with the program
  show         Print the file of a scenario, to copy and change

Explain:
  model        What corruption costs RDMA
  tune         Find the cheapest dummies and copies that reach a target
  check        Foresee deadlocks of a lossless network
  capture      Read frames that were captured on a link

Operate:
  fleet        Decide which corrupting links of a fabric to take out
  relay        Protect a link between two Linux machines
  lab          Try things out between namespaces of this machine
  monitor      Find links that corrupt, and say why links are slow
  completions  Print a script that completes commands in a shell
  man          Write the manual pages

Options:
{options}{after-help}";

const EXAMPLES: &str = "\
Examples:
  wiremend                                  the tour
  wiremend run tour --out results           the tour, with files and a page to look at
  wiremend show tour > mine.toml            a scenario to change
  wiremend run mine.toml --set topology.k=8
  wiremend trace nak                        a lost NAK, packet by packet
  wiremend model --beta 1e-3 --links 4      what corruption costs, and why
  wiremend capture decode link.pcapng       captured frames, a line each
  wiremend help run                         all about one command

Exit status: 0; 1 it ran and the answer is no; 2 bad input; 3 the machine lacks something; 130 after Ctrl-C.";

/// Keeps RDMA fast over links that corrupt packets: simulate, compare, explain.
#[derive(Parser, Debug)]
#[command(name = "wiremend", version = VERSION, help_template = HELP, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Run(Run),
    Trace(Trace),
    Repro(Repro),
    List(List),
    Show(Show),
    Model(Box<explain::Model>),
    Tune(Box<explain::Tune>),
    Check(explain::Check),
    Capture(Capture),
    Fleet(fleet::Fleet),
    Relay(operate::Relay),
    Lab(operate::Lab),
    Monitor(monitor::Monitor),
    Completions(Completions),
    Man(Man),
}

/// Run a scenario and compare its variants
///
/// Prints a table, a small plot of the slowest flows, and what they mean.
/// With --out it also writes these files, each whole or not at all:
///
///   summary.json    all numbers of the table and more
///   flows.parquet   a row for each flow, variants and seeds one after the other
///   flows.csv       the same as text, with --csv
///   series.csv      what links did over time, if the scenario asks for a series
///   report.html     everything to look at, in one file
///
/// Flows that fail (retries exhausted, time limit) are counted and named;
/// the exit status is 0 all the same.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend run tour
  wiremend run tour --seeds 10 --out results --csv
  wiremend run tour --set topology.k=8 --set workload.0.load=0.6
  wiremend run ping-pong --variant 1/1024 --json
  wiremend run nak --capture h0-tor=nak.pcapng
  wiremend show incast | wiremend run - --set topology.buffer=256KiB"
)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Run only this variant; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Vec<String>,
    /// Run each variant with so many seeds, one after the other from the first, and put the results together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: u64,
    /// Use at most so many threads: for runs side by side first, then within each. Results do not depend on it
    /// [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Write the results into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write flows.csv too
    #[arg(long, requires = "out")]
    pub(crate) csv: bool,
    /// Capture the frames of a link (such as h0-tor or edge0-0-agg0-1) in a pcapng file; may be given several times.
    /// Several variants or seeds have a file each, with their name in it
    #[arg(long, value_name = "LINK=FILE")]
    pub(crate) capture: Vec<CaptureRequest>,
    /// Print summary.json instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// A scenario, and what is different this time
#[derive(Args, Debug)]
pub(crate) struct Scenario {
    /// A name of `wiremend list`, a path to a .toml file, or - for stdin
    #[arg(value_name = "SCENARIO", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// Change a value, in all variants: a path such as transport.recovery or impair.0.rate; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Override>,
    /// Start all random streams from this seed instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Draw what happened to one flow, packet by packet
///
/// Nodes stand side by side and time runs downward: who sent what when, what was corrupted, which timer fired and why.
/// Long silences are cut out and marked.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend trace tail-packet
  wiremend trace twice --svg twice.svg
  wiremend trace tour --variant go-back-n --flow slowest
  wiremend trace nak --set 'workload.0.bytes=\"64KiB\"' --json")]
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
    /// Show at most so many steps; uneventful ones are left out first
    #[arg(long, value_name = "N", default_value_t = 240, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) steps: u32,
    /// Print the steps as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure what papers claim, and judge it
///
/// Each claim of the ledger is run here and now, its result set beside the paper's, and judged: reproduced, differs
/// (with the reason), or not reproduced. The exit status is 1 if a claim is not reproduced.
/// With --out it also writes these files, each whole or not at all:
///
///   gallery.html           every claim to look at, in one file
///   ledger.json            the same for programs
///   VALIDATION.md          the same as a document; not with --set
///   images/claims/*.svg    its figures
///   runs/*.json            what each run came to: after Ctrl-C, the same command goes on from there
///
/// --set asks what if: a value is changed in the scenarios of all runs, and the verdicts say what follows.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend repro V1
  wiremend repro V1 V2 --quick
  wiremend repro --all --out ledger
  wiremend repro J15 --out ledger --merge ledger/ledger.json
  wiremend repro --all --quick --json
  wiremend repro V1 --quick --set transport.recovery=go-back-n"
)]
pub(crate) struct Repro {
    /// Claims by their id; without any, they are listed
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// All claims
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
    /// Simulate less time and fewer points: the same judgement, less precisely
    #[arg(long)]
    pub(crate) quick: bool,
    /// Change a value in the scenarios of all runs; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Override>,
    /// Run so many simulations side by side. Results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Write the ledger into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Put what is measured into a ledger.json of before: other claims keep what they came to then
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with = "set")]
    pub(crate) merge: Option<PathBuf>,
    /// Print ledger.json
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the scenarios that come with the program, with the tables of flow sizes and the recovery schemes
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

/// Print the file of a scenario, to copy and change
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend show tour
  wiremend show incast > mine.toml")]
pub(crate) struct Show {
    /// A name of `wiremend list`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// Read frames that were captured on a link
#[derive(Args, Debug)]
// Without a command it is refused in one line, as everywhere, and not by the whole help.
#[command(
    arg_required_else_help = false,
    after_help = "\
Examples:
  wiremend capture decode link.pcapng
  tcpdump -U -w - -i eth0 udp port 4791 | wiremend capture decode -"
)]
pub(crate) struct Capture {
    #[command(subcommand)]
    pub(crate) command: CaptureCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CaptureCommand {
    Decode(Decode),
}

/// Print captured frames, a line each
///
/// RDMA frames with operation, queue pair, PSN, what is acknowledged, lengths, and whether the ICRC is right; others
/// with what they are, or why they cannot be read. Times are in nanoseconds since the first frame. How many there were
/// of each is told at the end, on stderr.
///
/// A file that is damaged is printed up to there; the exit status is 2.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend capture decode link.pcapng
  wiremend capture decode link.pcapng | grep NAK
  wiremend capture decode old.pcap --limit 20 --json")]
pub(crate) struct Decode {
    /// A pcap or pcapng file, or - for stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Stop after so many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Print a JSON object for each frame, in a line of its own
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a script that completes commands in a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend completions bash > /etc/bash_completion.d/wiremend
  wiremend completions fish > ~/.config/fish/completions/wiremend.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend man /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// The directory to write them into
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
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
        match text {
            "slowest" => Ok(Self::Slowest),
            _ => text.parse().map(Self::Number).map_err(|_| "a flow is a number or `slowest`".to_owned()),
        }
    }
}

/// The whole command line, for completions and manual pages.
pub(crate) fn command() -> clap::Command {
    Arguments::command()
}

/// The arguments of this process.
pub(crate) fn parse() -> Result<Arguments, Failure> {
    Arguments::try_parse().map_err(|error| match error.kind() {
        // Not an error: what was asked for is the text.
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            crate::terminal::written(error.print()).err().unwrap_or(Failure::Done)
        }
        _ => Failure::Input(one_line(&error.render().to_string())),
    })
}

/// What clap says over several lines, in one: what is wrong, what is meant, where to read on.
fn one_line(message: &str) -> String {
    let message = message.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.split("\n\nFor more information").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let lines: Vec<_> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    format!("{}; see --help", lines.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_finds_nothing_wrong_with_the_definition() {
        command().debug_assert();
    }

    #[test]
    fn the_help_lists_every_command_with_its_purpose_and_each_has_examples() {
        let mut all = command();
        all.build();
        for command in all.get_subcommands().filter(|command| command.get_name() != "help") {
            let about = command.get_about().expect("a command says what it is for").to_string();
            let line =
                format!("  {:<11}  {}", command.get_name(), about.split(',').next().unwrap_or_default());
            assert!(HELP.contains(&line), "`{line}` is not in the help");
            for command in std::iter::once(command).chain(command.get_subcommands()) {
                if command.get_name() != "help" {
                    let examples = command.get_after_help().expect("a command has examples").to_string();
                    assert!(examples.starts_with("Examples:\n  wiremend "), "{}", command.get_name());
                }
            }
        }
    }

    #[test]
    fn messages_of_clap_become_one_line() {
        let error = Arguments::try_parse_from(["wiremend", "run", "tour", "--sedes", "3"]).unwrap_err();
        let line = one_line(&error.render().to_string());
        assert!(line.starts_with("unexpected argument '--sedes' found; tip: "), "{line}");
        assert!(!line.contains('\n') && line.contains("'--seeds'"), "{line}");
    }
}
