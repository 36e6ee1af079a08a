//! Arguments of `lab stalls` and `lab peer`, which compare `wiremend` with the RoCE of a kernel in guests.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::choice::choice;

/// Compare the stalls of a kernel's RoCE with those of the simulator
///
/// A guest with soft-RoCE and `wiremend peer` exchange WRITEs and READs of 4 KiB, one at a time, and lose frames at
/// random. The table has the times of messages by what they lost, with the kernel and in the simulator with the profile
/// `soft-roce`. A ping-pong has WRITEs of 1 KiB by both ends in turn.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend lab stalls
  wiremend lab stalls --part remedies --messages 300

It needs root or user namespaces, and some Debian packages; it lists those that are missing.")]
pub(crate) struct LabStalls {
    /// What to compare
    #[arg(long, default_value = "causes", value_parser = choice::<StallPart>())]
    pub(crate) part: StallPart,
    /// Messages with the kernel for each set-up and mix of losses
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub(crate) messages: u32,
    /// Seed of the losses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep captures and simulated scenarios in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Download the guest's kernel with apt-get first
    #[arg(long)]
    pub(crate) fetch: bool,
    /// Print all numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compare the speed of `wiremend peer` with that of a kernel's RoCE
///
/// Two guests measure WRITEs with soft-RoCE and perftest, and then with `wiremend peer` at both ends, over the same
/// cable.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend lab peer
  wiremend lab peer --rounds 5 --json

It needs root or user namespaces, and some Debian packages; it lists those that are missing.")]
pub(crate) struct LabPeer {
    /// Number of measurements; the results are medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Messages per latency measurement
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) messages: u32,
    /// Messages of 64 KiB per bandwidth measurement
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) bulk_messages: u32,
    /// Download the guests' kernel with apt-get first
    #[arg(long)]
    pub(crate) fetch: bool,
    /// Print all numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parts of the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StallPart {
    /// The kernel's waits by what was lost
    Causes,
    /// With dummies and copies
    Remedies,
    /// WRITEs of the kernel and of this end in turn
    PingPong,
}
