//! Arguments of `sweep`: many cells of a study.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use super::ADVANCED;
use super::choice::choice;

/// Run a scenario over axes of values and seeds
///
/// STUDY is a TOML file: a scenario, axes of values, seeds. Each combination is a cell, named by the hash of what it
/// simulates. The same command continues a sweep that was stopped, and runs only new cells after a change of the study.
/// Workers on any number of machines share nothing but DIR. When all cells have run, DIR has:
///
///   cells.parquet   a row for each cell: parameters, seed, headline numbers, means over seeds with intervals
///   cells.csv       the same as text, if the study has `output.csv = true`
///   sweep.html      plots and a table
///
/// A cell that fails does not stop the others: it is listed with its message, the exit status is 1, and the same
/// command runs it again.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  wiremend sweep study.toml --out results
  wiremend sweep study.toml --out results --dry-run
  wiremend sweep study.toml --out results --on slurm

docs/guide/sweeps.md describes the study file and the results."
)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    pub(crate) command: Option<SweepCommand>,
    /// The study file
    #[arg(value_name = "STUDY", required = true)]
    pub(crate) study: Option<PathBuf>,
    /// The folder of plan and results
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    /// List the cells with predicted time and memory, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Hand the cells to a scheduler and return
    #[arg(long, value_name = "SCHEDULER", value_parser = choice::<Scheduler>(), conflicts_with_all = ["dry_run", "shard"])]
    pub(crate) on: Option<Scheduler>,
    /// Run the I-th of N parts, and do not collect: for schedulers that wiremend does not know
    #[arg(long, value_name = "I/N", conflicts_with = "dry_run")]
    pub(crate) shard: Option<Shard>,
    /// Run more than 100 000 cells
    #[arg(long)]
    pub(crate) yes: bool,
    /// Number of threads; does not change results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Number of tasks for the scheduler [default: about a quarter of an hour each]
    #[arg(long, value_name = "N", requires = "on", help_heading = ADVANCED, hide_short_help = true, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) tasks: Option<u16>,
    /// An option for sbatch or hq, such as --submit-option=--partition=long; repeatable
    #[arg(long, value_name = "OPTION", requires = "on", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) submit_option: Vec<String>,
    /// Python interpreter with the package `hyperqueue`, where there is no `hq`
    #[arg(long, value_name = "PROGRAM", requires = "on", help_heading = ADVANCED, hide_short_help = true, default_value = "python3")]
    pub(crate) python: PathBuf,
    #[command(flatten)]
    pub(crate) lease: Lease,
}

/// How long a silent worker keeps its cells.
#[derive(Args, Debug)]
pub(crate) struct Lease {
    /// Seconds without a heartbeat after which the cells of a worker on another machine are run by others
    #[arg(long, value_name = "SECONDS", default_value_t = 120, help_heading = ADVANCED, hide_short_help = true, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) lease: u64,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SweepCommand {
    Status(SweepStatus),
    Collect(SweepCollect),
    Work(SweepWork),
}

/// A scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Scheduler {
    /// An array job of Slurm
    Slurm,
    /// A job of `HyperQueue`
    Hyperqueue,
}

/// Print how far a sweep is
///
/// Prints how many cells have run, failed and are left, the predicted time of the rest, the workers, and the failed
/// cells with their messages. The exit status is 1 if cells failed.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend sweep status results
  wiremend sweep status results --json")]
pub(crate) struct SweepStatus {
    /// The folder of the sweep
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write the table and the page of a sweep
///
/// Cells that have not run have empty rows. The exit status is 1 if cells failed or have not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend sweep collect results")]
pub(crate) struct SweepCollect {
    /// The folder of the sweep
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// Run cells of a planned sweep
///
/// This is what tasks of a scheduler run. Without --job, it runs all cells that nobody else runs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend sweep work results
  wiremend sweep work results --job 1 --task 7")]
pub(crate) struct SweepWork {
    /// The folder of the sweep
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Number of a job that --on has submitted
    #[arg(long, value_name = "N")]
    pub(crate) job: Option<u32>,
    /// Number of a task of the job, from 0 [default: that in `HQ_TASK_ID`]
    #[arg(long, value_name = "N", requires = "job")]
    pub(crate) task: Option<usize>,
    /// Number of threads; does not change results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    #[command(flatten)]
    pub(crate) lease: Lease,
}

/// `I/N`, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shard {
    pub(crate) index: usize,
    pub(crate) count: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err("write I/N with I from 1 to N, such as 3/10".to_owned()),
        }
    }
}
