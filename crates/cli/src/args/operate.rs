//! What operates real links: relays that protect them, and a laboratory.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use wiremend_units::{Bytes, Rate, Span, parse_probability};

/// Protect a link between two Linux machines
///
/// A relay stands at each end of a link that corrupts frames, between an interface on the side of hosts
/// (--lan) and one on the side of the link (--link), and masks the link's losses from everything that
/// crosses it. While it protects nothing, the kernel forwards by itself.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend relay run --lan eth1 --link eth2 --active
  wiremend relay status --watch
  wiremend relay set --copies 2
  wiremend relay restore --link eth2

docs/relay.md takes you from two interfaces to a protected link."
)]
pub(crate) struct Relay {
    #[command(subcommand)]
    pub(crate) command: RelayCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum RelayCommand {
    Run(Box<RelayRun>),
    Status(RelayStatus),
    /// Protect what a relay sends
    #[command(after_help = "\
Examples:
  wiremend relay activate
  wiremend relay activate --link eth2")]
    Activate(RelayWhich),
    /// End the protection of what a relay sends, without losing a frame
    #[command(after_help = "\
Examples:
  wiremend relay deactivate
  wiremend relay deactivate --link eth2")]
    Deactivate(RelayWhich),
    Set(RelaySet),
    Restore(RelayRestore),
}

/// Run a relay between two interfaces
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend relay run --lan eth1 --link eth2 --active --switch-offloads
  wiremend relay run --lan eth1 --link eth2 --mode non-blocking --copies 2 --metrics-listen 9469
  wiremend relay run --lan eth1 --link eth2 --class pcp=3:ordered --class dscp=46:non-blocking --mode off

It needs CAP_NET_RAW and CAP_NET_ADMIN. When it ends, or is killed, the kernel goes on forwarding; `wiremend relay
restore` gives the interfaces back.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct RelayRun {
    /// The interface on the side of hosts
    #[arg(long, value_name = "IF")]
    pub(crate) lan: String,
    /// The interface on the side of the link
    #[arg(long, value_name = "IF")]
    pub(crate) link: String,
    /// Protect from the start, instead of when told to
    #[arg(long)]
    pub(crate) active: bool,
    /// Whether frames wait for those before them; of frames that are of no class
    #[arg(long, value_enum, default_value_t = Mode::Ordered)]
    pub(crate) mode: Mode,
    /// Frames with this VLAN priority or DSCP are `ordered`, `non-blocking`, or not protected at all (`off`): pcp=3:off, dscp=24-31:ordered
    #[arg(long = "class", value_name = "WHICH:HOW")]
    pub(crate) classes: Vec<String>,
    /// Copies of each frame that is asked for [default: by the loss that is measured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub(crate) copies: Option<u8>,
    /// The loss that may remain
    #[arg(long, value_name = "P", default_value = "1e-8", value_parser = parse_probability)]
    pub(crate) target_loss: f64,
    /// How fast the link is [default: what its interface says]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// Room in the queue to the link
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub(crate) queue: Bytes,
    /// Frames handed to the link's interface in advance
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) handed: u32,
    /// The round trip is taken to be at least this [default: what recoveries take]
    #[arg(long, value_name = "TIME")]
    pub(crate) rtt_min: Option<Span>,
    /// A frame is waited for so long
    #[arg(long, value_name = "TIME", default_value = "20ms")]
    pub(crate) give_up: Span,
    /// How frames come in and go out
    #[arg(long, value_enum, default_value_t = PortChoice::Auto)]
    pub(crate) port: PortChoice,
    /// How to wait for frames
    #[arg(long, value_enum, default_value_t = PollMode::Sleep)]
    pub(crate) poll: PollMode,
    /// Stay on this processor
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<usize>,
    /// Another `EtherType` for the link's header; both ends must agree
    #[arg(long, value_name = "HEX", default_value = "88b5", value_parser = parse_ethertype)]
    pub(crate) ethertype: u16,
    /// This user may change things too, beside root
    #[arg(long, value_name = "UID")]
    pub(crate) user: Option<u32>,
    /// Serve metrics for Prometheus at this port, of the loopback unless an address is given too
    #[arg(long, value_name = "[ADDRESS:]PORT", num_args = 0..=1, default_missing_value = "9469", value_parser = parse_listen)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Serve metrics also to other machines, if --metrics-listen names such an address
    #[arg(long, requires = "metrics_listen")]
    pub(crate) metrics_public: bool,
    /// Switch off offloads that merge or cut frames; what they were is restored at the end
    #[arg(long)]
    pub(crate) switch_offloads: bool,
    /// Run on interfaces with priority flow control, which ends at a relay
    #[arg(long)]
    pub(crate) end_pfc: bool,
    /// Wait for interfaces that are down or have no carrier
    #[arg(long)]
    pub(crate) wait: bool,
    /// Give the interfaces back at the end, instead of letting the kernel go on forwarding
    #[arg(long)]
    pub(crate) release: bool,
    #[command(flatten)]
    pub(crate) place: RunDir,
    /// Carries frames itself; another process watches it
    #[arg(long, hide = true)]
    pub(crate) watched: bool,
}

/// Where relays and cables keep their sockets
#[derive(Args, Debug, Clone)]
pub(crate) struct RunDir {
    /// Where sockets are kept [default: /run/wiremend, or wiremend in `$XDG_RUNTIME_DIR`]
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
}

/// Which relay
#[derive(Args, Debug)]
pub(crate) struct RelayWhich {
    /// The relay of this link [default: the only one there is]
    #[arg(long, value_name = "IF")]
    pub(crate) link: Option<String>,
    #[command(flatten)]
    pub(crate) place: RunDir,
}

/// Give back the interfaces of a relay that does not run any more
///
/// Offloads, promiscuity and addresses are put back as they were before the first relay, and the kernel
/// forwards no longer.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend relay restore
  wiremend relay restore --link eth2 --forward"
)]
pub(crate) struct RelayRestore {
    /// Of the relay of this link [default: of all that do not run]
    #[arg(long, value_name = "IF")]
    pub(crate) link: Option<String>,
    /// Let the kernel go on forwarding, and put back offloads only
    #[arg(long)]
    pub(crate) forward: bool,
    #[command(flatten)]
    pub(crate) place: RunDir,
}

/// Show how a relay stands
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend relay status
  wiremend relay status --watch
  wiremend relay status --link eth2 --json")]
pub(crate) struct RelayStatus {
    #[command(flatten)]
    pub(crate) which: RelayWhich,
    /// Show it again every second, until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    pub(crate) watch: bool,
    /// Print all there is as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Change what a relay goes by
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend relay set --copies 2
  wiremend relay set --link eth2 --mode non-blocking --target-loss 1e-6
  wiremend relay set --class pcp=3:ordered --class dscp=0:off
  wiremend relay set --class none")]
pub(crate) struct RelaySet {
    #[command(flatten)]
    pub(crate) which: RelayWhich,
    /// Whether frames wait for those before them; of frames that are of no class
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Classes of frames as in `relay run`, in place of all there were; `none`: no classes
    #[arg(long = "class", value_name = "WHICH:HOW")]
    pub(crate) classes: Vec<String>,
    /// Copies of each frame that is asked for; 0: by the loss that is measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    pub(crate) copies: Option<u8>,
    /// The loss that may remain
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub(crate) target_loss: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Mode {
    /// Frames arrive in order
    Ordered,
    /// No frame waits for another
    NonBlocking,
    /// What is lost stays lost
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PortChoice {
    /// XDP where the driver hands frames over without copying, else packet sockets
    Auto,
    /// Packet sockets
    Packet,
    /// Past the kernel's stack, in the driver
    Xdp,
    /// Past the kernel's stack, with any driver
    XdpGeneric,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PollMode {
    /// Sleep until there is something
    Sleep,
    /// Never sleep: a processor of its own
    Busy,
}

/// Try things out between namespaces of this machine
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend lab tcp --loss 1e-3
  wiremend lab roce
  wiremend lab shell --loss 1e-2")]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum LabCommand {
    Tcp(Box<LabTcp>),
    Roce(Box<LabRoce>),
    Shell(Box<LabShell>),
    /// End labs that still run, and say which
    #[command(after_help = "\
Examples:
  wiremend lab down")]
    Down,
    Wire(Box<LabWire>),
    Auto(LabAuto),
}

/// Let daemons find a link that corrupts, protect it, and let it be after its repair
///
/// Builds the same chain as `lab tcp`, a Redis of its own, and a `wiremend monitor run` at each end that may
/// act. A transfer runs throughout. After two seconds the link begins to corrupt, and nobody tells the daemons;
/// later it is repaired, and somebody does. With --out it writes these files:
///
///   auto.svg    the transfer over time, and what was decided when
///   auto.json   all numbers
///
/// Exit status 1 if the link was not protected, or not let be.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab auto
  wiremend lab auto --loss 1e-2 --out results

It needs redis-server, and root or user namespaces; it touches nothing outside of its own networks."
)]
pub(crate) struct LabAuto {
    /// How fast the link is
    #[arg(long, value_name = "RATE", default_value = "200Mbps", value_parser = parse_lab_rate)]
    pub(crate) rate: Rate,
    #[command(flatten)]
    pub(crate) transfer: LabTransfer,
}

/// What a transfer over a chain meets, and what is kept of it
#[derive(Args, Debug)]
pub(crate) struct LabTransfer {
    /// The share of frames that are hit, in both directions
    #[arg(long, value_name = "P", default_value = "1e-3", value_parser = parse_probability)]
    pub(crate) loss: f64,
    /// How long a frame is under way between the link and host B: the rest of its path
    #[arg(long, value_name = "TIME", default_value = "4ms")]
    pub(crate) path_delay: Span,
    #[command(flatten)]
    pub(crate) chain: LabChain,
    /// Write a drawing and all numbers into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print all numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Send TCP over a link that corrupts, without and with protection
///
/// Builds host A, a relay, a wire, a relay and host B in networks of its own, and measures what TCP of this
/// kernel gets through: over the clean link, over one that corrupts, and over one that corrupts and is
/// protected. Then it lets one transfer see all three. With --out it writes these files:
///
///   goodput.svg   the transfer over time
///   tcp.json      all numbers
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab tcp --loss 1e-3
  wiremend lab tcp --loss 1e-2 --cc cubic --out results
  wiremend lab tcp --rate 100Mbps --delay 1ms --mode non-blocking

It needs root, or user namespaces; it touches nothing outside of its own networks."
)]
pub(crate) struct LabTcp {
    /// How fast the link is [default: 200Mbps, or half of what this machine carries if that is less]
    #[arg(long, value_name = "RATE", value_parser = parse_lab_rate)]
    pub(crate) rate: Option<Rate>,
    /// How long each transfer lasts; the one over time takes six times as long
    #[arg(long, value_name = "S", default_value = "2", value_parser = parse_seconds)]
    pub(crate) seconds: f64,
    /// How often everything is measured; medians are told
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Congestion controls [default: cubic and bbr, as far as the kernel has them]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) cc: Vec<String>,
    /// Only bulk transfers: no requests, and none over time
    #[arg(long)]
    pub(crate) bulk: bool,
    #[command(flatten)]
    pub(crate) transfer: LabTransfer,
}

/// Send RoCE over a link that corrupts, without and with protection
///
/// Puts two guests with Debian's own kernel and its soft-RoCE, emulated by QEMU, at the ends of a link, and has
/// perftest measure latency and bandwidth: over the clean link, over one that corrupts, and over one that
/// corrupts and is protected.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab roce --fetch
  wiremend lab roce --loss 1/256 --rounds 5
  wiremend lab roce --json

It needs root, or user namespaces, and some packages of Debian, which it names if they are missing."
)]
pub(crate) struct LabRoce {
    /// The share of frames that are hit, in both directions
    #[arg(long, value_name = "P", default_value = "1/128", value_parser = parse_probability)]
    pub(crate) loss: f64,
    /// How often everything is measured; medians are told
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Messages of each measurement of latency
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) messages: u32,
    /// Messages of 64 KiB of each measurement of bandwidth
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) bulk_messages: u32,
    #[command(flatten)]
    pub(crate) mending: LabMending,
    /// Download the guests' kernel with apt-get first
    #[arg(long)]
    pub(crate) fetch: bool,
    /// Print all numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Start a shell on a host behind a link that corrupts
///
/// Builds host A, a relay, a wire, a relay and host B in networks of its own and starts $SHELL, or a command,
/// on host A. When it ends, everything is gone.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab shell --loss 1e-2 --active
  wiremend lab shell --loss 0.1 -- ping -c 50 -i 0.02 198.18.0.2
  wiremend lab shell -- sh -c '$ON_B iperf3 -s -1 & sleep 1; iperf3 -c 198.18.0.2'

It needs root, or user namespaces; it touches nothing outside of its own networks."
)]
pub(crate) struct LabShell {
    /// The share of frames that are hit, in both directions
    #[arg(long, value_name = "P", default_value = "1e-3", value_parser = parse_probability)]
    pub(crate) loss: f64,
    /// Protect the link
    #[arg(long)]
    pub(crate) active: bool,
    /// How fast the link is
    #[arg(long, value_name = "RATE", default_value = "200Mbps", value_parser = parse_lab_rate)]
    pub(crate) rate: Rate,
    /// How long a frame is under way between the link and host B: the rest of its path
    #[arg(long, value_name = "TIME", default_value = "4ms")]
    pub(crate) path_delay: Span,
    #[command(flatten)]
    pub(crate) chain: LabChain,
    /// What to run on host A [default: $SHELL]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What the link of a lab is like
#[derive(Args, Debug, Clone)]
pub(crate) struct LabChain {
    /// How long a frame is under way on the link
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub(crate) delay: Span,
    /// Room before the link
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    pub(crate) queue: Bytes,
    #[command(flatten)]
    pub(crate) mending: LabMending,
}

/// How the link of a lab is mended, and its luck
#[derive(Args, Debug, Clone)]
pub(crate) struct LabMending {
    /// Whether frames wait for those before them, while they are protected
    #[arg(long, value_enum, default_value_t = Mode::Ordered)]
    pub(crate) mode: Mode,
    /// Copies of each frame that is asked for [default: by the loss that is measured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub(crate) copies: Option<u8>,
    /// Start all random streams from this seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Join two interfaces as a cable would, and corrupt what crosses it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend lab wire --a veth1 --b veth2 --rate 1Gbps --delay 5us --loss 1e-3
  wiremend lab wire --a veth1 --b veth2 --socket wire.sock &
  wiremend lab wire --change --socket wire.sock --loss 1e-2

A frame that is hit is dropped and counted, as its frame check would have it.")]
pub(crate) struct LabWire {
    /// One end
    #[arg(long, value_name = "IF", required_unless_present = "change")]
    pub(crate) a: Option<String>,
    /// The other end
    #[arg(long, value_name = "IF", required_unless_present = "change")]
    pub(crate) b: Option<String>,
    /// How fast it is [default: as fast as the machine]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// How long a frame is under way
    #[arg(long, value_name = "TIME", default_value = "0us")]
    pub(crate) delay: Span,
    /// Room before each direction
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    pub(crate) queue: Bytes,
    #[command(flatten)]
    pub(crate) ailment: LabAilment,
    /// Hit the frames of a protected link that this list names, a line each: `forth data 5 1` is frame 5
    /// from A to B, the first time that it is sent
    #[arg(long, value_name = "FILE", conflicts_with = "change")]
    pub(crate) faults: Option<PathBuf>,
    /// Write down the frames of a protected link that are hit, for --faults and for scenarios
    #[arg(long, value_name = "FILE", conflicts_with = "change")]
    pub(crate) record: Option<PathBuf>,
    /// The `EtherType` of the protected link's header, for --faults and --record
    #[arg(long, value_name = "HEX", default_value = "88b5", value_parser = parse_ethertype)]
    pub(crate) ethertype: u16,
    /// Start all random streams from this seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Listen here, to be changed while it runs
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Change what runs at --socket instead, and print its counts
    #[arg(long, requires = "socket")]
    pub(crate) change: bool,
    /// How to wait for frames
    #[arg(long, value_enum, default_value_t = PollMode::Sleep)]
    pub(crate) poll: PollMode,
}

/// What a cable does to frames
#[derive(Args, Debug, Clone)]
pub(crate) struct LabAilment {
    /// The share of frames that are hit, in both directions
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub(crate) loss: Option<f64>,
    /// The share of frames that are hit from B to A [default: that of --loss]
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub(crate) loss_back: Option<f64>,
    /// They are hit in bursts of so many, on average
    #[arg(long, value_name = "FRAMES")]
    pub(crate) burst: Option<f64>,
    /// The share of bits that are flipped
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub(crate) ber: Option<f64>,
    /// Every N-th frame is hit
    #[arg(long, value_name = "N")]
    pub(crate) every: Option<u64>,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.5..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a transfer lasts 0.5 to 3600 seconds".into()),
    }
}

fn parse_lab_rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    let allowed = Rate::from_bits_per_s(1_000_000)..=Rate::gbps(100);
    if allowed.contains(&rate) { Ok(rate) } else { Err("a link of the lab has 1Mbps to 100Gbps".into()) }
}

/// A port alone is one of the loopback.
pub(super) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => {
            text.parse().map_err(|_| "a port such as 9469, or an address with one, such as [::1]:9469".into())
        }
    }
}

fn parse_ethertype(text: &str) -> Result<u16, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    match u16::from_str_radix(digits, 16) {
        Ok(ethertype) if ethertype >= 0x600 => Ok(ethertype),
        _ => Err("an EtherType is hexadecimal and at least 0600, such as 88b5".into()),
    }
}
