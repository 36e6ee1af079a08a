//! Arguments of the commands that compute instead of simulate: `model`, `tune` and `check`.

use std::num::NonZeroU8;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use wiremend_fabric::deadlock::Alpha;
use wiremend_model::MendCounts;
use wiremend_scenario::Override;
use wiremend_units::{Bytes, Rate, Span, parse_probability};

use super::ADVANCED;
use super::choice::choice;

/// Compute what corruption costs RDMA
///
/// Computes how often a flow waits for its retransmission timer and why, the resulting completion time, and what dummies and
/// copies change and cost: exactly, and by the formulas of the corruption paper (Gao et al., JCST 2022).
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = false,
    after_help = "\
Examples:
  wiremend model --beta 1e-3 --links 4
  wiremend model --beta 1e-3 --links 4 --workload datamining --dummies 2 --plot timeouts.svg
  wiremend model phy --attenuation 9"
)]
pub(crate) struct Model {
    #[command(flatten)]
    pub(crate) link: Link,
    #[command(flatten)]
    pub(crate) flows: Flows,
    #[command(flatten)]
    pub(crate) times: Times,
    #[command(flatten)]
    pub(crate) mend: MendArgs,
    /// Time T between the last packet and its dummies
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) hold: Span,
    /// Plot the timeout probability over the loss ratio into this file
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<ModelCommand>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ModelCommand {
    Phy(Phy),
}

/// The links of a path
#[derive(Args, Debug)]
pub(crate) struct Link {
    /// Probability that a corrupting link loses a full frame; shorter frames are lost less often
    #[arg(long, value_name = "B", value_parser = loss, conflicts_with_all = ["alpha", "drop"])]
    pub(crate) beta: Option<f64>,
    /// Bit error ratio of a corrupting link
    #[arg(long, value_name = "A", value_parser = loss, conflicts_with = "drop", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) alpha: Option<f64>,
    /// Probability that a corrupting link loses a frame of any length
    #[arg(long, value_name = "P", value_parser = loss, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) drop: Option<f64>,
    /// Number of links between switches that may corrupt
    #[arg(long, value_name = "L", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=32))]
    pub(crate) links: u32,
    /// Number of links between a host and its switch that may corrupt; switches cannot copy packets before them
    #[arg(long, value_name = "L", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) access_links: u32,
    /// Probability ω that each of these links corrupts
    #[arg(long, value_name = "W", default_value = "1", value_parser = probability, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) omega: f64,
}

/// The flows
#[derive(Args, Debug)]
pub(crate) struct Flows {
    /// Flow sizes: a table from `wiremend list`
    #[arg(long, value_name = "NAME", default_value = "websearch", conflicts_with_all = ["cdf", "bytes"])]
    pub(crate) workload: String,
    /// Flow sizes: a file of lines `size_bytes,cumulative_percent`
    #[arg(long, value_name = "FILE", conflicts_with = "bytes")]
    pub(crate) cdf: Option<PathBuf>,
    /// One size for all flows
    #[arg(long, value_name = "SIZE")]
    pub(crate) bytes: Option<Bytes>,
    /// Payload of a full packet
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = mtu, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) mtu: u32,
    /// RDMA operation
    #[arg(long, value_name = "OP", default_value = "write", value_parser = choice::<OperationChoice>(), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) operation: OperationChoice,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OperationChoice {
    Write,
    Send,
}

/// Times, and the load of a queue pair
#[derive(Args, Debug)]
pub(crate) struct Times {
    /// Retransmission timeout
    #[arg(long, value_name = "TIME", default_value = "67.108864ms")]
    pub(crate) rto: Span,
    /// Round-trip time of a small packet
    #[arg(long, value_name = "TIME", default_value = "10us")]
    pub(crate) rtt: Span,
    /// Rate of the links
    #[arg(long, value_name = "RATE", default_value = "100Gbps", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) rate: Rate,
    /// Next flow on the same queue pair: none before the timer expires, or one as soon as this flow completes
    #[arg(long, value_name = "WHEN", default_value = "nothing", value_parser = choice::<NextChoice>(), conflicts_with_all = ["gap", "load"], help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) next: NextChoice,
    /// Mean of the random gaps between flows on one queue pair
    #[arg(long, value_name = "TIME", conflicts_with = "load", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) gap: Option<Span>,
    /// Load of the link by flows that arrive at random on one queue pair
    #[arg(long, value_name = "U", value_parser = load, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) load: Option<f64>,
    /// Reaction of the sender to copies of a NAK: it retransmits for each copy, or once. `unknown` relies on neither
    /// [default: each; for tune: unknown]
    #[arg(long, value_name = "HOW", value_parser = choice::<NakReactionChoice>(), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) nak_reaction: Option<NakReactionChoice>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum NextChoice {
    Nothing,
    AtOnce,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum NakReactionChoice {
    Each,
    Once,
    Unknown,
}

/// Dummies and copies
#[derive(Args, Debug)]
pub(crate) struct MendArgs {
    /// Dummies after each flow
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = few)]
    pub(crate) dummies: u32,
    /// Copies of each NAK, made by the responder's switch
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = few)]
    pub(crate) nak_copies: u32,
    /// Copies of each retransmission, made by the requester's switch
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = few)]
    pub(crate) retransmission_copies: u32,
    /// Copies of each flow's last packet
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = few, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) tail_copies: u32,
}

impl MendArgs {
    pub(crate) fn get(&self) -> MendCounts {
        MendCounts {
            dummies: self.dummies,
            nak_copies: self.nak_copies,
            retransmission_copies: self.retransmission_copies,
            tail_copies: self.tail_copies,
        }
    }
}

/// Compute the frame loss ratio from attenuation, bit errors or counters
///
/// Attenuation causes bit errors. Forward error correction corrects some of them, and the rest cause frame loss. Without
/// an input it shows the attenuation at which each generation of links fails.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend model phy --attenuation 9 --plot attenuation.svg
  wiremend model phy --corrected-bits 81234 --bits 3e12
  wiremend model phy --codewords 9.1e9,5.2e7,3.1e5,2200,17 --interleaved 2")]
pub(crate) struct Phy {
    /// Optical attenuation, in dB
    #[arg(long, value_name = "DB", value_parser = decibel, conflicts_with_all = ["ber", "bits", "codewords", "frames"])]
    pub(crate) attenuation: Option<f64>,
    /// Bit error ratio before forward error correction
    #[arg(long, value_name = "B", value_parser = probability, conflicts_with_all = ["bits", "codewords", "frames"])]
    pub(crate) ber: Option<f64>,
    /// Corrected bits (`rx_corrected_bits_phy`), with --bits
    #[arg(long, value_name = "N", value_parser = count, requires = "bits")]
    pub(crate) corrected_bits: Option<f64>,
    /// Received bits (`rx_bits_phy`)
    #[arg(long, value_name = "N", value_parser = count, requires = "corrected_bits", conflicts_with_all = ["codewords", "frames"])]
    pub(crate) bits: Option<f64>,
    /// Number of codewords with 0, 1, 2, … symbol errors
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = count, conflicts_with = "frames")]
    pub(crate) codewords: Vec<f64>,
    /// Number of uncorrectable codewords
    #[arg(long, value_name = "N", value_parser = count, default_value = "0", requires = "codewords")]
    pub(crate) uncorrectable: f64,
    /// FEC code of the codewords
    #[arg(long, value_name = "CODE", default_value = "rs544", value_parser = choice::<CodeChoice>())]
    pub(crate) code: CodeChoice,
    /// Number of interleaved codewords: 1 up to 50G, 2 up to 400G, 4 beyond
    #[arg(long, value_name = "X", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) interleaved: u32,
    /// Frames with CRC errors (`rx_crc_errors_phy`), with --frames
    #[arg(long, value_name = "N", value_parser = count, requires = "frames")]
    pub(crate) bad_frames: Option<f64>,
    /// Received frames
    #[arg(long, value_name = "N", value_parser = count, requires = "bad_frames")]
    pub(crate) frames: Option<f64>,
    /// Frame size from MAC header to frame check sequence
    #[arg(long, value_name = "SIZE", default_value = "1518B")]
    pub(crate) frame: Bytes,
    /// Attenuation at which a 10G link has a bit error ratio of 1e-12, in dB
    #[arg(long, value_name = "DB", default_value = "11", value_parser = decibel)]
    pub(crate) budget: f64,
    /// Plot the frame loss ratio over the attenuation into this file
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CodeChoice {
    Rs528,
    Rs544,
}

/// Find the cheapest dummies and copies that reach a target
///
/// Evaluates all combinations. Prints the one with the fewest extra bytes, the benefit of each of its packets, and the
/// results with more or fewer packets. If no combination reaches the target, prints the best one; the exit status is 1.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend tune --beta 1e-3 --workload websearch --target-timeout 1e-6
  wiremend tune --beta 1e-3 --workload websearch --target-timeout 1e-6 --verify
  wiremend tune --beta 1e-3 --links 4 --workload google-rpc --target-p9999 100us")]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) link: Link,
    #[command(flatten)]
    pub(crate) flows: Flows,
    #[command(flatten)]
    pub(crate) times: Times,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Longest time T between the last packet and its dummies; used only if it saves dummies
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) hold_max: Span,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The simulation of a recommendation
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Simulate the recommendation and compare; the exit status is 1 unless the simulation confirms it
    #[arg(long)]
    pub(crate) verify: bool,
    /// Amount of simulation, as the time that two idle cores would take
    #[arg(long = "verify-for", value_name = "TIME", default_value = "30s", value_parser = effort, requires = "verify", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) duration: Span,
    /// Seed of the simulation
    #[arg(long = "verify-seed", value_name = "SEED", default_value_t = 1, requires = "verify", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) seed: u64,
    /// Write the simulated scenario into this file, for `wiremend run`
    #[arg(long = "verify-scenario", value_name = "FILE.toml", requires = "verify", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) scenario: Option<PathBuf>,
}

/// The target
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct TargetArgs {
    /// Highest timeout probability per flow
    #[arg(long = "target-timeout", value_name = "P", value_parser = probability)]
    pub(crate) timeout: Option<f64>,
    /// Highest 99.9th percentile of the completion time
    #[arg(long = "target-p999", value_name = "TIME")]
    pub(crate) p999: Option<Span>,
    /// Highest 99.99th percentile of the completion time
    #[arg(long = "target-p9999", value_name = "TIME")]
    pub(crate) p9999: Option<Span>,
}

/// Find possible deadlocks of a lossless network
///
/// With priority-based flow control a full buffer pauses the buffers in front of it. This command computes which buffers
/// can wait for which on the routes of a scenario, and lists every cycle: routing loops, with the lowest rate of packets
/// that makes the loop a deadlock and the time that takes, and cycles without a loop. Without a cycle it explains why
/// there is none.
///
/// Routes are all shortest paths. --fail also takes links down, one after the other, and examines the routes twice: while
/// only the switches at the link have reacted, and after all switches have recomputed their routes.
///
/// The exit status is 1 if there is a cycle.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend check tour --set topology.k=16 --fail 1
  wiremend check tour --override edge0-0:h0:agg0-0 --rate 2Gbps --alpha 1/16
  wiremend check mine.toml --override s1:h3:s0 --ttl 16 --json")]
pub(crate) struct Check {
    /// A name from `wiremend list`, a path to a .toml file, or - for stdin
    #[arg(value_name = "SCENARIO", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) scenario: String,
    /// Change a value, such as topology.k=8; repeatable
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Override>,
    /// The variant to check [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Number of failed links between switches, in all combinations; of equivalent links in a fat-tree or leaf–spine only one is tested
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=3))]
    pub(crate) fail: u32,
    /// Add a route: this switch forwards packets for a host, or for all hosts of a switch, to this neighbour; repeatable
    #[arg(long = "override", value_name = "SWITCH:DEST:NEXT")]
    pub(crate) overrides: Vec<String>,
    /// Rate of packets that enter a loop [default: rate of the loop's slowest link]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// TTL of packets that enter a loop, 1 to 255 [default: the highest of the scenario's lossless traffic]
    #[arg(long, value_name = "N", value_parser = ttl)]
    pub(crate) ttl: Option<NonZeroU8>,
    /// α: factor of the free buffer that an ingress queue may take before it pauses its sender, 1/128 to 8 [default: the scenario's, or 1/16 without lossless classes]
    #[arg(long, value_name = "A")]
    pub(crate) alpha: Option<Alpha>,
    /// Shared buffer of a switch, without headroom and reserve [default: the smallest in the scenario, or 12MB without lossless classes]
    #[arg(long, value_name = "SIZE", value_parser = shared_buffer)]
    pub(crate) buffer: Option<Bytes>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn ttl(text: &str) -> Result<NonZeroU8, String> {
    text.parse().map_err(|_| "expected a whole number from 1 to 255".to_owned())
}

fn shared_buffer(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error: wiremend_units::BadQuantity| error.to_string())?;
    if (1_000..=1_000_000_000_000).contains(&bytes.get()) {
        Ok(bytes)
    } else {
        Err("expected a size from 1kB to 1000GB".to_owned())
    }
}

/// Highest loss ratio of a link: the formulas assume that most frames arrive.
const LOSS_MAX: f64 = 0.5;

fn probability(text: &str) -> Result<f64, String> {
    parse_probability(text).map_err(|error| error.to_string())
}

fn loss(text: &str) -> Result<f64, String> {
    let value = probability(text)?;
    if value > 0.0 && value <= LOSS_MAX {
        Ok(value)
    } else {
        Err(format!("expected a loss ratio above 0, at most {LOSS_MAX}"))
    }
}

fn effort(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: wiremend_units::BadQuantity| error.to_string())?;
    if (0.1..=86_400.0).contains(&span.as_secs_f64()) {
        Ok(span)
    } else {
        Err("expected a time from 100ms to 86400s".to_owned())
    }
}

fn load(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("expected a load above 0 and below 1, such as 0.6".to_owned()),
    }
}

fn few(text: &str) -> Result<u32, String> {
    let most = MendCounts::EACH_MAX;
    match text.parse() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(format!("expected a whole number from 0 to {most}")),
    }
}

fn mtu(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(mtu @ (256 | 512 | 1024 | 2048 | 4096)) => Ok(mtu),
        _ => Err("expected 256, 512, 1024, 2048 or 4096".to_owned()),
    }
}

fn decibel(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=60.0).contains(&value) => Ok(value),
        _ => Err("expected decibels from 0 to 60, such as 9.5".to_owned()),
    }
}

fn count(text: &str) -> Result<f64, String> {
    match text.replace('_', "").parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a count such as 81234 or 3e12".to_owned()),
    }
}
