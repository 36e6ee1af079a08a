//! Arguments of what is answered by reckoning: `model`, `tune` and `check`.

use std::num::NonZeroU8;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use wiremend_fabric::deadlock::Alpha;
use wiremend_model::Mend;
use wiremend_scenario::Override;
use wiremend_units::{Bytes, Rate, Span, parse_probability};

/// What corruption costs RDMA
///
/// How often a flow waits for its retransmission timer and why, how long that makes it, and what dummies and copies change
/// and cost. Exactly, and beside it as the corruption paper (Gao et al., JCST 2022) prints it.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = false,
    after_help = "\
Examples:
  wiremend model --beta 1e-3 --links 4
  wiremend model --beta 1/128 --bytes 1024B --next at-once --dummies 2 --nak-copies 1 --retransmission-copies 1
  wiremend model --beta 1e-3 --links 4 --workload datamining --dummies 2 --plot timeouts.svg
  wiremend model --alpha 1e-9 --links 6 --omega 0.01 --cdf mine.csv --mtu 4096 --json
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
    /// T: dummies wait so long for more data before they are sent
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) hold: Span,
    /// Draw the probability of a timeout against the corruption into this file
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

/// The links of the path
#[derive(Args, Debug)]
pub(crate) struct Link {
    /// A corrupting link loses a full frame with this probability; shorter frames less often
    #[arg(long, value_name = "B", value_parser = loss, conflicts_with_all = ["alpha", "drop"])]
    pub(crate) beta: Option<f64>,
    /// A corrupting link makes a bit wrong with this probability
    #[arg(long, value_name = "A", value_parser = loss, conflicts_with = "drop")]
    pub(crate) alpha: Option<f64>,
    /// A corrupting link loses every frame with this probability, however short
    #[arg(long, value_name = "P", value_parser = loss)]
    pub(crate) drop: Option<f64>,
    /// Links of the path that may corrupt, between the switches of the two hosts
    #[arg(long, value_name = "L", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=32))]
    pub(crate) links: u32,
    /// Links that may corrupt between a host and its own switch, where no copy helps
    #[arg(long, value_name = "L", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1))]
    pub(crate) access_links: u32,
    /// Probability that such a link does corrupt
    #[arg(long, value_name = "W", default_value = "1", value_parser = probability)]
    pub(crate) omega: f64,
}

/// The flows
#[derive(Args, Debug)]
pub(crate) struct Flows {
    /// Sizes of flows: a table of `wiremend list`
    #[arg(long, value_name = "NAME", default_value = "websearch", conflicts_with_all = ["cdf", "bytes"])]
    pub(crate) workload: String,
    /// Sizes of flows: a file of lines `size_bytes,cumulative_percent`
    #[arg(long, value_name = "FILE", conflicts_with = "bytes")]
    pub(crate) cdf: Option<PathBuf>,
    /// All flows have this size
    #[arg(long, value_name = "SIZE")]
    pub(crate) bytes: Option<Bytes>,
    /// Payload of a full packet
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = mtu)]
    pub(crate) mtu: u32,
    /// The operation that moves the data
    #[arg(long, value_name = "OP", default_value = "write")]
    pub(crate) operation: OperationChoice,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OperationChoice {
    Write,
    Send,
}

/// Times, and what comes behind a flow
#[derive(Args, Debug)]
pub(crate) struct Times {
    /// Retransmission timer
    #[arg(long, value_name = "TIME", default_value = "67.108864ms")]
    pub(crate) rto: Span,
    /// Round trip of a small packet
    #[arg(long, value_name = "TIME", default_value = "10us")]
    pub(crate) rtt: Span,
    /// Rate of the links
    #[arg(long, value_name = "RATE", default_value = "100Gbps")]
    pub(crate) rate: Rate,
    /// What comes next on the same queue pair: nothing before the timer fires, or a flow as soon as this one completes
    #[arg(long, value_name = "WHAT", default_value = "nothing", conflicts_with_all = ["gap", "load"])]
    pub(crate) next: NextChoice,
    /// Flows follow one another on the same queue pair, at random, after gaps of this mean
    #[arg(long, value_name = "TIME", conflicts_with = "load")]
    pub(crate) gap: Option<Span>,
    /// Flows arrive at random on one queue pair and fill this share of the link
    #[arg(long, value_name = "U", value_parser = load)]
    pub(crate) load: Option<f64>,
    /// Copies of a NAK make the sender repeat a packet each, or count once, or nobody knows and nothing relies on it
    /// [default: each; for tune: unknown]
    #[arg(long, value_name = "HOW")]
    pub(crate) rewind: Option<RewindChoice>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum NextChoice {
    Nothing,
    AtOnce,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum RewindChoice {
    Each,
    Once,
    Unknown,
}

/// What is done about it
#[derive(Args, Debug)]
pub(crate) struct MendArgs {
    /// Dummies behind each flow
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = few)]
    pub(crate) dummies: u32,
    /// Copies of each NAK that the responder's switch adds
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = few)]
    pub(crate) nak_copies: u32,
    /// Copies of each retransmission that the requester's switch adds
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = few)]
    pub(crate) retransmission_copies: u32,
    /// Repeats of each flow's last packet
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = few)]
    pub(crate) tail_repeat: u32,
}

impl MendArgs {
    pub(crate) fn get(&self) -> Mend {
        Mend {
            dummies: self.dummies,
            nak_copies: self.nak_copies,
            retransmission_copies: self.retransmission_copies,
            tail_repeat: self.tail_repeat,
        }
    }
}

/// From light, bit errors or counters to lost frames
///
/// Attenuation makes the eye close; then bits go wrong, some of which forward error correction mends; what is left loses
/// frames. Without a source it shows where each generation of links breaks.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend model phy
  wiremend model phy --attenuation 9 --plot attenuation.svg
  wiremend model phy --ber 1e-5 --frame 1102B
  wiremend model phy --corrected-bits 81234 --bits 3e12
  wiremend model phy --codewords 9.1e9,5.2e7,3.1e5,2200,17 --uncorrectable 0 --code rs544 --interleaved 2
  wiremend model phy --bad-frames 12 --frames 1e8")]
pub(crate) struct Phy {
    /// Optical attenuation, in dB
    #[arg(long, value_name = "DB", value_parser = decibel, conflicts_with_all = ["ber", "bits", "codewords", "frames"])]
    pub(crate) attenuation: Option<f64>,
    /// Bit error rate before forward error correction
    #[arg(long, value_name = "B", value_parser = probability, conflicts_with_all = ["bits", "codewords", "frames"])]
    pub(crate) ber: Option<f64>,
    /// Bits that were corrected (`rx_corrected_bits_phy`) …
    #[arg(long, value_name = "N", value_parser = count, requires = "bits")]
    pub(crate) corrected_bits: Option<f64>,
    /// … of so many that came (`rx_bits_phy`)
    #[arg(long, value_name = "N", value_parser = count, requires = "corrected_bits", conflicts_with_all = ["codewords", "frames"])]
    pub(crate) bits: Option<f64>,
    /// Codewords with 0, 1, 2, … wrong symbols
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = count, conflicts_with = "frames")]
    pub(crate) codewords: Vec<f64>,
    /// Codewords that could not be corrected
    #[arg(long, value_name = "N", value_parser = count, default_value = "0", requires = "codewords")]
    pub(crate) uncorrectable: f64,
    /// The code of these codewords
    #[arg(long, value_name = "CODE", default_value = "rs544")]
    pub(crate) code: CodeChoice,
    /// Codewords side by side: 1 up to 50G, 2 up to 400G, 4 beyond
    #[arg(long, value_name = "X", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) interleaved: u32,
    /// Frames with a wrong check (`rx_crc_errors_phy`) …
    #[arg(long, value_name = "N", value_parser = count, requires = "frames")]
    pub(crate) bad_frames: Option<f64>,
    /// … of so many that came
    #[arg(long, value_name = "N", value_parser = count, requires = "bad_frames")]
    pub(crate) frames: Option<f64>,
    /// Size of a frame, from MAC header to check
    #[arg(long, value_name = "SIZE", default_value = "1518B")]
    pub(crate) frame: Bytes,
    /// Attenuation at which a 10G link has a bit error rate of 1e-12, in dB
    #[arg(long, value_name = "DB", default_value = "11", value_parser = decibel)]
    pub(crate) budget: f64,
    /// Draw frame loss against attenuation into this file
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
/// All combinations are reckoned. Printed are the one that costs the fewest bytes, what each packet of it buys, and what
/// more or less money would get. The exit status is 1 if none reaches the target; then what can be reached is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend tune --beta 1e-3 --workload websearch --target-timeout 1e-6
  wiremend tune --beta 1e-3 --workload websearch --target-timeout 1e-6 --verify
  wiremend tune --beta 1e-3 --links 4 --workload google-rpc --target-p9999 100us
  wiremend tune --beta 1e-2 --bytes 4KiB --gap 1ms --hold-max 200us --target-timeout 1e-7 --json")]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) link: Link,
    #[command(flatten)]
    pub(crate) flows: Flows,
    #[command(flatten)]
    pub(crate) times: Times,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Dummies may wait so long for more data, if that saves some (T)
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) hold_max: Span,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whether it is simulated as well
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Simulate what was chosen and compare; the exit status is 1 unless that confirms it
    #[arg(long)]
    pub(crate) verify: bool,
    /// Simulate about as much as two quiet cores do in this time
    #[arg(long = "verify-for", value_name = "TIME", default_value = "30s", value_parser = effort, requires = "verify")]
    pub(crate) duration: Span,
    /// Begin the simulation's random streams here
    #[arg(long = "verify-seed", value_name = "SEED", default_value_t = 1, requires = "verify")]
    pub(crate) seed: u64,
    /// Write what was simulated into this file, for `wiremend run`
    #[arg(long = "verify-scenario", value_name = "FILE.toml", requires = "verify")]
    pub(crate) scenario: Option<PathBuf>,
}

/// What is wanted
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct TargetArgs {
    /// At most this probability of a timeout per flow
    #[arg(long = "target-timeout", value_name = "P", value_parser = probability)]
    pub(crate) timeout: Option<f64>,
    /// 99.9 % of the flows take at most this long
    #[arg(long = "target-p999", value_name = "TIME")]
    pub(crate) p999: Option<Span>,
    /// 99.99 % of the flows take at most this long
    #[arg(long = "target-p9999", value_name = "TIME")]
    pub(crate) p9999: Option<Span>,
}

/// Foresee deadlocks of a lossless network
///
/// With priority-based flow control a buffer that is full pauses the one before it. This examines which buffers wait for which on
/// the routes of a scenario, and lists those that wait in a circle: routing loops, with the least rate of packets that
/// makes a loop a deadlock and the time that takes, and circles in which all packets would arrive. Or it says that there
/// are none, and why.
///
/// Routes are all shortest ways. --fail also takes links down, one after the other, and examines the routes twice: while
/// only the switches at the link know, and after all have recomputed.
///
/// The exit status is 1 if there is a circle.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend check tour
  wiremend check tour --set topology.k=16 --fail 1
  wiremend check tour --override edge0-0:h0:agg0-0 --rate 2Gbps --alpha 1/16
  wiremend check deadlock --rate 5Gbps
  wiremend check mine.toml --override s1:h3:s0 --ttl 16 --json")]
pub(crate) struct Check {
    /// A name of `wiremend list`, a path to a .toml file, or - for stdin
    #[arg(value_name = "SCENARIO", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) scenario: String,
    /// Change a value: a path such as topology.k; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<Override>,
    /// The variant whose network is meant [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Take up to so many links between switches down, in all ways; alike links of a fat-tree or leaf–spine once
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=3))]
    pub(crate) fail: u32,
    /// Beside the routes of the scenario: at this switch, packets to this host (or to all hosts of this switch) leave for this neighbour; may be given
    /// several times
    #[arg(long = "override", value_name = "SWITCH:DEST:NEXT")]
    pub(crate) overrides: Vec<String>,
    /// Packets enter a loop at this rate [default: that of the loop's slowest link]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// Packets enter a loop with this TTL, 1 to 255
    #[arg(long, value_name = "N", default_value = "64", value_parser = ttl)]
    pub(crate) ttl: NonZeroU8,
    /// α: the share of the free buffer that an ingress queue may take before it pauses, 1/128 to 8
    #[arg(long, value_name = "A", default_value = "1/16")]
    pub(crate) alpha: Alpha,
    /// Buffer that the ports of a switch share, without headroom
    #[arg(long, value_name = "SIZE", default_value = "12MB", value_parser = shared_buffer)]
    pub(crate) buffer: Bytes,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn ttl(text: &str) -> Result<NonZeroU8, String> {
    text.parse().map_err(|_| "a TTL is a whole number from 1 to 255".to_owned())
}

fn shared_buffer(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error: wiremend_units::BadQuantity| error.to_string())?;
    if (1_000..=1_000_000_000_000).contains(&bytes.get()) {
        Ok(bytes)
    } else {
        Err("a switch shares 1kB to 1000GB".to_owned())
    }
}

/// Beyond, hardly anything gets through, and nothing here is meant for that.
const LOSS_MAX: f64 = 0.5;

fn probability(text: &str) -> Result<f64, String> {
    parse_probability(text).map_err(|error| error.to_string())
}

fn loss(text: &str) -> Result<f64, String> {
    let value = probability(text)?;
    if value > 0.0 && value <= LOSS_MAX {
        Ok(value)
    } else {
        Err(format!("a corrupting link corrupts more than nothing and at most {LOSS_MAX}"))
    }
}

fn effort(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: wiremend_units::BadQuantity| error.to_string())?;
    if (0.1..=86_400.0).contains(&span.as_secs_f64()) {
        Ok(span)
    } else {
        Err("from 100ms to 86400s are possible".to_owned())
    }
}

fn load(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("a load is a share of the link, above 0 and below 1, such as 0.6".to_owned()),
    }
}

fn few(text: &str) -> Result<u32, String> {
    let most = Mend::EACH_MAX;
    match text.parse() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(format!("a whole number from 0 to {most} is needed")),
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
        _ => Err("decibels from 0 to 60 are needed, such as 9.5".to_owned()),
    }
}

fn count(text: &str) -> Result<f64, String> {
    match text.replace('_', "").parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("a count is needed, such as 81234 or 3e12".to_owned()),
    }
}
