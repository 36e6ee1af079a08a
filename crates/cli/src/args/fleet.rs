//! Arguments of what is asked about whole fabrics.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use wiremend_fleet::{Generator, Inside, Policy};
use wiremend_units::{Rate, parse_probability};

/// Decide which corrupting links of a fabric to take out
///
/// A year of a fabric whose links begin to corrupt frames, under several policies; and a plan for the state
/// that a real one is in.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    arg_required_else_help = false,
    after_help = "\
Examples:
  wiremend fleet run --constraint 0.75
  wiremend fleet plan state.csv --fabric fabric.csv
  wiremend fleet trace --seed 7 > year.csv

docs/fleet.md explains the files and the answers."
)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum FleetCommand {
    Run(Box<FleetRun>),
    Plan(Box<FleetPlan>),
    Trace(Box<FleetTrace>),
    Table(FleetTable),
}

/// Run a year of a fabric under several policies
///
/// Policies: none, disable-all, corropt, linkguardian, linkguardian+corropt (as published),
/// linkguardian+corropt-aware (an optimizer that knows what protection leaves). Behind a colon, the part of
/// the pods that have protection: linkguardian+corropt:0.5.
/// With --out it writes these files, each whole or not at all:
///
///   summary.json   what --json prints
///   series.csv     every state of the first seed
///   report.html    everything to look at, in one file
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend fleet run --fabric facebook --pods 261 --constraint 0.75 --policy corropt,linkguardian+corropt
  wiremend fleet run --constraint 0.5 --seeds 20 --out results
  wiremend fleet run --trace year.csv --from-day 4 --table paper --json
  wiremend fleet run --fabric fabric.csv --policy corropt --technicians 10"
)]
pub(crate) struct FleetRun {
    #[command(flatten)]
    pub(crate) fabric: Fabric,
    /// The part of its ways to the top that every ToR keeps
    #[arg(long, value_name = "PART", default_value = "0.75", value_parser = parse_part)]
    pub(crate) constraint: f64,
    /// Links that begin to corrupt, from a file: lines of `time_s,link,loss_rate[,repair_s]`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "mttf", "losses", "causes", "both_ways", "exclude_repair"])]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) draw: Draw,
    /// Run so many seeds, one after the other from the first, and say what chance leaves open
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: u64,
    /// What is done about them, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "corropt,linkguardian+corropt")]
    pub(crate) policy: Vec<Policy>,
    /// What protection leaves of loss and speed: paper; 25G, 100G, 400G, LG-100G (measured by this program); or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "paper", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: String,
    /// Averages begin with this day, counted from 0; published traces have four days before their first event
    #[arg(long, value_name = "DAY", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=36_500))]
    pub(crate) from_day: u64,
    /// Averages cover so many days
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=36_500))]
    pub(crate) days: u64,
    /// The part of repairs that change nothing
    #[arg(long, value_name = "PART", default_value = "0", value_parser = parse_probability)]
    pub(crate) repairs_fail: f64,
    /// At most so many links are under repair at once; others wait
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) technicians: Option<u32>,
    /// Run so many seeds side by side. Results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Write the results into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Plan which links to drain, from the state that a fabric is in
///
/// Says which ToRs have too few ways already, which of the links that corrupt should be drained now and which
/// have to stay and why, what can go as repairs return, and what waiting costs.
/// With --drain it only answers whether these links may go: the exit status is 1 if one may not.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend fleet plan state.csv --fabric fabric.csv --constraint 0.75
  wiremend fleet plan state.csv --fabric fabric.csv --drain tor-3-2:Ethernet49
  wiremend fleet plan state.json --fabric fabric.json --max-age 1h --out plan --json

docs/fleet.md has the formats of both files."
)]
pub(crate) struct FleetPlan {
    /// The state: a .csv or .json file, or - for CSV on stdin
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,
    #[command(flatten)]
    pub(crate) fabric: Fabric,
    /// The part of its ways to the top that every ToR keeps; the state may say another for some
    #[arg(long, value_name = "PART", default_value = "0.75", value_parser = parse_part)]
    pub(crate) constraint: f64,
    /// May this link be drained? A number, or an end as SWITCH:PORT; may be given several times, one after the other
    #[arg(long, value_name = "LINK")]
    pub(crate) drain: Vec<String>,
    /// Refuse a state that is older: 90s, 15m, 2h, 1d
    #[arg(long, value_name = "AGE", default_value = "15m", value_parser = parse_age)]
    pub(crate) max_age: u64,
    /// Take this for the present time, such as 2026-11-15T12:00:00Z [default: the clock]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) now: Option<i64>,
    /// What protection would leave of loss and speed: paper, 25G, 100G, 400G, LG-100G, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "paper", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: String,
    /// What links carry, as a part of their rate
    #[arg(long, value_name = "PART", default_value = "0.3", value_parser = parse_part)]
    pub(crate) load: f64,
    /// Write plan.json, pods.svg and report.html into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "drain")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Draw which links of a fabric begin to corrupt, and when
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend fleet trace --seed 7 > year.csv
  wiremend fleet trace --fabric fat-tree --k 16 --losses log-uniform --out year.csv
  wiremend fleet trace --causes --both-ways 0.082 --exclude-repair")]
pub(crate) struct FleetTrace {
    #[command(flatten)]
    pub(crate) fabric: Fabric,
    #[command(flatten)]
    pub(crate) draw: Draw,
    /// So many days
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=36_500))]
    pub(crate) days: u64,
    /// Write it into this file instead of printing it
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Measure what protection leaves of loss and speed, as a table for `--table`
///
/// Frames of 1518 B at line rate over one link that protects itself, simulated packet by packet, for losses from 1e-6 to 1e-2.
/// The tables 25G, 100G and 400G that come along were made by this command.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend fleet table --rate 100Gbps > 100g.csv
  wiremend fleet table --rate 400Gbps --quick
  wiremend fleet table --rate 25Gbps --by prototype")]
pub(crate) struct FleetTable {
    /// The rate of the link
    #[arg(long, value_name = "RATE", default_value = "100Gbps")]
    pub(crate) rate: Rate,
    /// Which protection: ours, or the published prototype register by register
    #[arg(long, value_name = "NAME", default_value = "hardened")]
    pub(crate) by: By,
    /// Simulate less time: less precise
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run so many simulations side by side. Results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Whose protection is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum By {
    Hardened,
    Prototype,
}

/// The fabric
#[derive(Args, Debug)]
pub(crate) struct Fabric {
    /// facebook, fat-tree, leaf-spine, or a .csv or .json file
    #[arg(long = "fabric", value_name = "NAME|FILE", default_value = "facebook", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) named: String,
    /// Pods of a facebook fabric [default: 261]
    #[arg(long, value_name = "N")]
    pub(crate) pods: Option<u32>,
    /// ToRs of each of its pods [default: 48]
    #[arg(long, value_name = "N")]
    pub(crate) tors: Option<u32>,
    /// Fabric switches of each of its pods, and planes [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) fabrics: Option<u32>,
    /// Spines of each of its planes [default: 48], or of a leaf-spine fabric [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) spines: Option<u32>,
    /// Ports of each switch of a fat-tree [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) k: Option<u32>,
    /// Leaves of a leaf-spine fabric [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) leaves: Option<u32>,
    /// The rate of all links, unless a file says it [default: 100Gbps]
    #[arg(long, value_name = "RATE")]
    pub(crate) link_rate: Option<Rate>,
}

/// How links begin to corrupt
#[derive(Args, Debug)]
pub(crate) struct Draw {
    /// Start all random streams from this seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The mean time until a link corrupts, in hours
    #[arg(long, value_name = "HOURS", default_value = "10000", value_parser = parse_hours)]
    pub(crate) mttf: f64,
    /// How losses lie inside the published buckets
    #[arg(long, value_name = "HOW", default_value = "uniform")]
    pub(crate) losses: Losses,
    /// Links fail for a reason, and some together with their neighbours
    #[arg(long)]
    pub(crate) causes: bool,
    /// The part of links that corrupt in both directions; 0.082 was seen
    #[arg(long, value_name = "PART", default_value = "0", value_parser = parse_probability)]
    pub(crate) both_ways: f64,
    /// A link can corrupt again only after a repair
    #[arg(long)]
    pub(crate) exclude_repair: bool,
}

/// How losses lie inside a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Losses {
    Uniform,
    LogUniform,
}

impl Draw {
    pub(crate) fn generator(&self) -> Generator {
        Generator {
            mttf_h: self.mttf,
            inside: match self.losses {
                Losses::Uniform => Inside::Uniform,
                Losses::LogUniform => Inside::LogUniform,
            },
            exclude_repair: self.exclude_repair,
            causes: self.causes,
            both_ways: self.both_ways,
        }
    }
}

fn parse_part(text: &str) -> Result<f64, String> {
    let part: Option<f64> = text.parse().ok().filter(|part| *part > 0.0 && *part <= 1.0);
    part.ok_or_else(|| "write a part above 0, at most 1, such as 0.75".to_owned())
}

fn parse_hours(text: &str) -> Result<f64, String> {
    let hours: Option<f64> = text.parse().ok().filter(|hours| (1.0..=1e9).contains(hours));
    hours.ok_or_else(|| "write hours, from 1 to 1e9".to_owned())
}

fn parse_age(text: &str) -> Result<u64, String> {
    let refuse = || "write an age such as 90s, 15m, 2h or 1d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(refuse)?;
    let scale = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(refuse()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale)).ok_or_else(refuse)
}

fn parse_time(text: &str) -> Result<i64, String> {
    let time = wiremend_fleet::plan::parse_timestamp(text);
    time.ok_or_else(|| "write a time such as 2026-11-15T12:00:00Z, or seconds since 1970".to_owned())
}
