//! Arguments of `fleet`: whole fabrics.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use wiremend_fleet::{CapacityCount, LossDistribution, Policy, TraceGenerator};
use wiremend_units::{Rate, parse_probability};

use super::choice::choice;
use super::{ADVANCED, Quiet};

/// Choose which corrupting links of a fabric to disable
///
/// Simulates a year of a fabric whose links start to corrupt frames, under several policies, and plans which links
/// of a real fabric to drain.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend fleet run --constraint 0.75
  wiremend fleet plan state.csv --fabric fabric.csv
  wiremend fleet trace --seed 7 > year.csv

docs/operate/fleet.md describes the files and the output."
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

/// Simulate a year of a fabric under several policies
///
/// Policies: none, disable-all, corropt, linkguardian, linkguardian+corropt (as published), and
/// linkguardian+corropt-aware (its optimizer uses the loss and speed of protected links). A suffix gives the
/// fraction of pods with protection: linkguardian+corropt:0.5.
/// --out writes these files, each complete or not at all:
///
///   summary.json   the output of --json
///   series.csv     every state of the first seed
///   report.html    table, plots and conclusions in one page
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend fleet run --constraint 0.75 --policy corropt,linkguardian+corropt --out results
  wiremend fleet run --fabric fabric.csv --policy corropt --technicians 10
  wiremend fleet run --trace year.csv --from-day 4 --table paper --json"
)]
pub(crate) struct FleetRun {
    #[command(flatten)]
    pub(crate) quiet: Quiet,
    #[command(flatten)]
    pub(crate) fabric: Fabric,
    /// Fraction of its paths to the top tier that every ToR keeps
    #[arg(long, value_name = "FRACTION", default_value = "0.75", value_parser = parse_fraction)]
    pub(crate) constraint: f64,
    /// Read corruption events from a file of lines `time_s,link,loss_rate[,repair_s]`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "mttf", "losses", "causes", "both_ways", "exclude_repair"])]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) draw: Draw,
    /// Number of seeds, counted up from the first; results get confidence intervals
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: u64,
    /// Policies, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "corropt,linkguardian+corropt")]
    pub(crate) policy: Vec<Policy>,
    /// Loss and speed of protected links: paper; 25G, 100G, 400G, LG-100G (measured by this program); or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "paper", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: String,
    /// First day of averages, counted from 0; published traces have four days before their first event
    #[arg(long, value_name = "DAY", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=36_500), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) from_day: u64,
    /// Number of days in averages
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=36_500))]
    pub(crate) days: u64,
    /// Fraction of repairs that fail
    #[arg(long, value_name = "FRACTION", default_value = "0", value_parser = parse_probability, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) repairs_fail: f64,
    /// Highest number of simultaneous repairs; other links wait
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) technicians: Option<u32>,
    /// Number of seeds in parallel; does not change results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Write the results into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Plan which links to drain, from the current state of a fabric
///
/// Lists ToRs and pods that have too little capacity already, corrupting links to drain now, corrupting links that
/// must stay and why, links that can be drained after repairs, and the cost of waiting. Invalid items of both files
/// are listed, and the plan goes on without them.
///
/// Capacity is the bandwidth to the top tier: every ToR keeps its share when it sends alone, and every pod when all
/// its ToRs send. With --count paths it is CorrOpt's number of paths of each ToR, whatever their rates.
/// With --drain it only checks whether these links may be drained; the exit status is 1 if one may not.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend fleet plan state.csv --fabric fabric.csv --constraint 0.75
  wiremend fleet plan state.csv --fabric fabric.csv --drain tor-3-2:Ethernet49
  wiremend fleet plan state.json --fabric fabric.json --max-age 1h --out plan --json

docs/operate/fleet.md describes both file formats."
)]
pub(crate) struct FleetPlan {
    /// The state: a .csv or .json file, or - for CSV on stdin
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,
    #[command(flatten)]
    pub(crate) fabric: Fabric,
    /// Fraction of its capacity to the top tier that every ToR and pod keeps; both files may override it
    #[arg(long, value_name = "FRACTION", default_value = "0.75", value_parser = parse_fraction)]
    pub(crate) constraint: f64,
    /// How capacity is counted
    #[arg(long, value_name = "WHAT", default_value = "bandwidth", value_parser = choice::<Count>())]
    pub(crate) count: Count,
    /// Check this link: its number, or one end as SWITCH:PORT; repeatable, drained in this order
    #[arg(long, value_name = "LINK")]
    pub(crate) drain: Vec<String>,
    /// Maximum age of the state: 90s, 15m, 2h, 1d
    #[arg(long, value_name = "AGE", default_value = "15m", value_parser = parse_age)]
    pub(crate) max_age: u64,
    /// Current time, such as 2026-11-15T12:00:00Z [default: the clock]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) now: Option<i64>,
    /// Loss and speed of protected links: paper, 25G, 100G, 400G, LG-100G, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "paper", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: String,
    /// Utilization of links
    #[arg(long, value_name = "FRACTION", default_value = "0.3", value_parser = parse_fraction, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) load: f64,
    /// Write plan.json, pods.svg and report.html into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "drain")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How capacity is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Count {
    /// Maximum flow in bit/s
    Bandwidth,
    /// Number of paths
    Paths,
}

impl From<Count> for CapacityCount {
    fn from(count: Count) -> Self {
        match count {
            Count::Bandwidth => Self::Bandwidth,
            Count::Paths => Self::Paths,
        }
    }
}

/// Generate a random trace of links that start to corrupt
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
    /// Number of days
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=36_500))]
    pub(crate) days: u64,
    /// Write the trace into this file [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Measure the loss and speed of a protected link, as a table for `--table`
///
/// Simulates frames of 1518 B at line rate over one protected link, for loss ratios from 1e-6 to 1e-2. This command made
/// the built-in tables 25G, 100G and 400G.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend fleet table --rate 100Gbps > 100g.csv
  wiremend fleet table --rate 400Gbps --quick
  wiremend fleet table --rate 25Gbps --profile prototype")]
pub(crate) struct FleetTable {
    #[command(flatten)]
    pub(crate) quiet: Quiet,
    /// Rate of the link
    #[arg(long, value_name = "RATE", default_value = "100Gbps")]
    pub(crate) rate: Rate,
    /// Version of the protocol: `hardened` (ours) or `prototype` (the published switch program)
    #[arg(long, value_name = "NAME", default_value = "hardened", value_parser = choice::<TableProfile>())]
    pub(crate) profile: TableProfile,
    /// Simulate less time, with less precision
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of simulations in parallel; does not change results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Version of the measured protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TableProfile {
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
    /// ToRs of each pod of a facebook fabric [default: 48]
    #[arg(long, value_name = "N", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) tors: Option<u32>,
    /// Fabric switches of each pod of a facebook fabric, one per plane [default: 4]
    #[arg(long, value_name = "N", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) fabrics: Option<u32>,
    /// Spines of each plane of a facebook fabric [default: 48], or of a leaf-spine fabric [default: 16]
    #[arg(long, value_name = "N", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) spines: Option<u32>,
    /// Ports of each switch of a fat-tree [default: 16]
    #[arg(long, value_name = "N", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) k: Option<u32>,
    /// Leaves of a leaf-spine fabric [default: 64]
    #[arg(long, value_name = "N", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) leaves: Option<u32>,
    /// Rate of all links, if the file has none [default: 100Gbps]
    #[arg(long, value_name = "RATE", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) link_rate: Option<Rate>,
}

/// The distribution of corruption events
#[derive(Args, Debug)]
pub(crate) struct Draw {
    /// Seed of all random streams
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Mean time until a link corrupts, in hours
    #[arg(long, value_name = "HOURS", default_value = "10000", value_parser = parse_hours, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) mttf: f64,
    /// Distribution of loss ratios inside each published bucket
    #[arg(long, value_name = "HOW", default_value = "uniform", value_parser = choice::<Losses>(), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) losses: Losses,
    /// Draw a root cause for each event; some causes affect neighbouring links too
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) causes: bool,
    /// Fraction of events in both directions of a link; 0.082 in published measurements
    #[arg(long, value_name = "FRACTION", default_value = "0", value_parser = parse_probability, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) both_ways: f64,
    /// Draw no event for a link before it is repaired
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) exclude_repair: bool,
}

/// Distribution of loss ratios inside a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Losses {
    Uniform,
    LogUniform,
}

impl Draw {
    pub(crate) fn generator(&self) -> TraceGenerator {
        TraceGenerator {
            mttf_h: self.mttf,
            distribution: match self.losses {
                Losses::Uniform => LossDistribution::Uniform,
                Losses::LogUniform => LossDistribution::LogUniform,
            },
            exclude_repair: self.exclude_repair,
            causes: self.causes,
            both_directions_share: self.both_ways,
        }
    }
}

fn parse_fraction(text: &str) -> Result<f64, String> {
    let fraction: Option<f64> = text.parse().ok().filter(|fraction| *fraction > 0.0 && *fraction <= 1.0);
    fraction.ok_or_else(|| "expected a fraction above 0, at most 1, such as 0.75".to_owned())
}

fn parse_hours(text: &str) -> Result<f64, String> {
    let hours: Option<f64> = text.parse().ok().filter(|hours| (1.0..=1e9).contains(hours));
    hours.ok_or_else(|| "expected hours from 1 to 1e9".to_owned())
}

fn parse_age(text: &str) -> Result<u64, String> {
    let refuse = || "expected an age such as 90s, 15m, 2h or 1d".to_owned();
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
    time.ok_or_else(|| "expected a time such as 2026-11-15T12:00:00Z, or seconds since 1970".to_owned())
}
