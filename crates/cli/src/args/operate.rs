//! Arguments of the commands on real links: `relay` and `lab`.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use wiremend_units::{Bytes, Rate, Span, parse_probability};

use super::ADVANCED;
use super::choice::choice;
use super::lab_flows::LabFlows;
use super::lab_guests::{LabPeer, LabStalls};

/// Protect a link between two Linux machines
///
/// A relay runs at each end of a link that corrupts frames. It forwards between an interface towards the hosts
/// (--lan) and the interface of the link (--link), and retransmits frames that the link corrupts. While it does
/// not protect a direction, the kernel forwards that direction.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend relay run --lan eth1 --link eth2 --active
  wiremend relay status --watch
  wiremend relay restore --link eth2

docs/operate/relay.md is a guide from two interfaces to a protected link."
)]
pub(crate) struct Relay {
    #[command(subcommand)]
    pub(crate) command: RelayCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum RelayCommand {
    Run(Box<RelayRun>),
    Status(RelayStatus),
    /// Start to protect the frames that a relay sends
    #[command(after_help = "\
Examples:
  wiremend relay activate
  wiremend relay activate --link eth2")]
    Activate(RelayWhich),
    /// Stop protecting the frames that a relay sends, without losing one
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
  wiremend relay run --lan eth1 --link eth2 --active --disable-offloads
  wiremend relay run --lan eth1 --link eth2 --mode non-blocking --copies 2 --metrics-listen 9469
  wiremend relay run --lan eth1 --link eth2 --class pcp=3:ordered --mode off

It needs CAP_NET_RAW and CAP_NET_ADMIN. After it ends or is killed, the kernel forwards the frames;
`wiremend relay restore` resets the interfaces.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct RelayRun {
    /// The interface towards the hosts
    #[arg(long, value_name = "IF")]
    pub(crate) lan: String,
    /// The interface of the link
    #[arg(long, value_name = "IF")]
    pub(crate) link: String,
    /// File with options such as `mode = "ordered"`, which SIGHUP reads again
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Protect from the start [default: from `relay activate` on]
    #[arg(long)]
    pub(crate) active: bool,
    /// Protection of frames that no --class matches
    #[arg(long, default_value = "ordered", value_parser = choice::<Mode>())]
    pub(crate) mode: Mode,
    /// Protection of frames with this VLAN priority or DSCP, such as pcp=3:off or dscp=24-31:ordered; repeatable
    #[arg(long = "class", value_name = "MATCH:MODE")]
    pub(crate) classes: Vec<String>,
    /// Copies of each retransmitted frame [default: follows from the measured loss]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub(crate) copies: Option<u8>,
    /// Loss ratio that may remain after protection
    #[arg(long, value_name = "P", default_value = "1e-8", value_parser = parse_probability)]
    pub(crate) target_loss: f64,
    /// Rate of the link [default: as its interface reports]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// Disable offloads that merge or split frames; they are restored at the end
    #[arg(long)]
    pub(crate) disable_offloads: bool,
    /// Serve Prometheus metrics on this port or address:port [default: 127.0.0.1:9469]
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "9469", value_parser = parse_listen)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Wait for interfaces that are down or have no carrier
    #[arg(long)]
    pub(crate) wait: bool,
    /// Secret that both ends share
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Size of the queue to the link
    #[arg(long, value_name = "SIZE", default_value = "1MiB", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) queue: Bytes,
    /// Maximum number of frames in the transmit ring of the link's interface
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) device_frames: u32,
    /// Lower bound of the round-trip time [default: as measured by retransmissions]
    #[arg(long, value_name = "TIME", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) rtt_min: Option<Span>,
    /// Time after which the receiver stops waiting for a missing frame
    #[arg(long, value_name = "TIME", default_value = "20ms", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) give_up: Span,
    /// How frames are received and sent
    #[arg(long, default_value = "auto", value_parser = choice::<PortChoice>(), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) port: PortChoice,
    /// How to wait for frames
    #[arg(long, default_value = "sleep", value_parser = choice::<PollMode>(), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) poll: PollMode,
    /// Pin the relay to this CPU
    #[arg(long, value_name = "N", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) cpu: Option<usize>,
    /// `EtherType` of the link header; the same at both ends
    #[arg(long, value_name = "HEX", default_value = "88b5", value_parser = parse_ethertype, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) ethertype: u16,
    /// User who may change settings, besides root and the user that runs the relay
    #[arg(long, value_name = "USER", value_parser = parse_user, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) user: Option<u32>,
    /// Allow --metrics-listen with an address that other machines reach
    #[arg(long, requires = "metrics_listen", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) metrics_public: bool,
    /// Run on interfaces with priority flow control (PFC), although the relay does not forward PFC frames
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) allow_pfc: bool,
    /// Reset the interfaces at the end, so that the kernel does not forward
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) release: bool,
    #[command(flatten)]
    pub(crate) log: super::log::LogOptions,
    #[command(flatten)]
    pub(crate) place: RunDir,
    /// The words of the command line, with those of the file
    #[arg(skip)]
    pub(crate) words: Vec<OsString>,
    /// Forward frames in this process, which another process supervises
    #[arg(long, hide = true)]
    pub(crate) watched: bool,
}

/// Directory of the sockets of relays and wires
#[derive(Args, Debug, Clone)]
pub(crate) struct RunDir {
    /// Directory of control sockets [default: /run/wiremend, or wiremend in `$XDG_RUNTIME_DIR`]
    #[arg(long, value_name = "DIR", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) run_dir: Option<PathBuf>,
}

/// A running relay
#[derive(Args, Debug)]
pub(crate) struct RelayWhich {
    /// The relay of this link [default: the only one]
    #[arg(long, value_name = "IF")]
    pub(crate) link: Option<String>,
    #[command(flatten)]
    pub(crate) place: RunDir,
}

/// Reset the interfaces of a relay that has ended
///
/// Restores offloads, promiscuous mode and addresses as they were before the first relay, and stops the kernel's
/// forwarding between the interfaces.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend relay restore
  wiremend relay restore --link eth2 --forward"
)]
pub(crate) struct RelayRestore {
    /// The relay of this link [default: all that have ended]
    #[arg(long, value_name = "IF")]
    pub(crate) link: Option<String>,
    /// Restore offloads only; the kernel continues to forward
    #[arg(long)]
    pub(crate) forward: bool,
    #[command(flatten)]
    pub(crate) place: RunDir,
}

/// Show the state and counters of a relay
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend relay status
  wiremend relay status --watch
  wiremend relay status --link eth2 --json")]
pub(crate) struct RelayStatus {
    #[command(flatten)]
    pub(crate) which: RelayWhich,
    /// Update every second until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    pub(crate) watch: bool,
    /// Print all counters as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Change settings of a running relay
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend relay set --copies 2
  wiremend relay set --link eth2 --mode non-blocking --target-loss 1e-6
  wiremend relay set --class pcp=3:ordered --class dscp=0:off")]
pub(crate) struct RelaySet {
    #[command(flatten)]
    pub(crate) which: RelayWhich,
    /// Protection of frames that no class matches
    #[arg(long, value_parser = choice::<Mode>())]
    pub(crate) mode: Option<Mode>,
    /// Replace all classes, as in `relay run`; `none` removes them
    #[arg(long = "class", value_name = "MATCH:MODE")]
    pub(crate) classes: Vec<String>,
    /// Copies of each retransmitted frame; 0: follows from the measured loss
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    pub(crate) copies: Option<u8>,
    /// Loss ratio that may remain after protection
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub(crate) target_loss: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Mode {
    /// Retransmit; deliver frames in order
    Ordered,
    /// Retransmit; deliver each frame at once, so that retransmitted ones come late
    NonBlocking,
    /// Do not retransmit
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PortChoice {
    /// XDP if the driver supports zero copy, else packet sockets
    Auto,
    /// Packet sockets (`AF_PACKET`)
    Packet,
    /// `AF_XDP` in the driver
    Xdp,
    /// `AF_XDP` with any driver, slower
    XdpGeneric,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PollMode {
    /// Sleep until a frame or a timer is due
    Sleep,
    /// Poll without sleeping; takes a whole CPU
    Busy,
}

/// Test relays and transports on this machine, in network namespaces
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
    Stalls(LabStalls),
    Peer(LabPeer),
    Shell(Box<LabShell>),
    Auto(LabAuto),
    Flows(Box<LabFlows>),
    Wire(Box<LabWire>),
    /// Stop labs that still run, and list them
    #[command(after_help = "\
Examples:
  wiremend lab down")]
    Down,
}

/// Test that monitors detect a corrupting link, protect it, and stop after its repair
///
/// Builds the network of `lab tcp` with a Redis server and one `wiremend monitor run` at each end in mode "act".
/// A TCP transfer runs throughout. After two seconds the link starts to corrupt frames. Later the link is repaired
/// and the command reports the repair to the monitors. --out writes these files:
///
///   auto.svg    goodput over time with the monitors' actions
///   auto.json   all numbers
///
/// The exit status is 1 if the monitors did not protect the link, or did not stop after the repair.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab auto
  wiremend lab auto --loss 1e-2 --out results

It needs redis-server, and root or user namespaces. It changes nothing outside its own namespaces."
)]
pub(crate) struct LabAuto {
    /// Rate of the link
    #[arg(long, value_name = "RATE", default_value = "200Mbps", value_parser = parse_lab_rate)]
    pub(crate) rate: Rate,
    /// Serve the page of the link on this port or address:port, until Ctrl-C
    #[arg(long, value_name = "PORT", value_parser = parse_listen)]
    pub(crate) serve: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) transfer: LabTransfer,
}

/// The link of a transfer, and where results go
#[derive(Args, Debug)]
pub(crate) struct LabTransfer {
    /// Loss ratio of the link in each direction
    #[arg(long, value_name = "P", default_value = "1e-3", value_parser = parse_probability)]
    pub(crate) loss: f64,
    /// One-way delay between the link and host B
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

/// Measure TCP over a corrupting link, without and with protection
///
/// Builds host A, a relay, a wire, a relay and host B in network namespaces. Measures the goodput and latency of this
/// kernel's TCP over a clean link, a corrupting link, and a corrupting link that is protected. Then runs one
/// transfer through all three phases. --out writes these files:
///
///   goodput.svg   goodput of that transfer over time
///   tcp.json      all numbers
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab tcp --loss 1e-3
  wiremend lab tcp --loss 1e-2 --cc cubic --out results
  wiremend lab tcp --rate 100Mbps --delay 1ms --mode non-blocking

It needs root or user namespaces. It changes nothing outside its own namespaces."
)]
pub(crate) struct LabTcp {
    /// Rate of the link [default: 200Mbps, or half of the rate that this machine forwards if that is less]
    #[arg(long, value_name = "RATE", value_parser = parse_lab_rate)]
    pub(crate) rate: Option<Rate>,
    /// Length of each transfer in seconds; the one through all phases takes six times as long
    #[arg(long, value_name = "S", default_value = "2", value_parser = parse_seconds)]
    pub(crate) seconds: f64,
    /// Number of measurements; the results are medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Congestion controls [default: cubic and bbr, if the kernel has them]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) cc: Vec<String>,
    /// Measure bulk transfers only: no requests, no transfer through all phases
    #[arg(long)]
    pub(crate) bulk: bool,
    #[command(flatten)]
    pub(crate) transfer: LabTransfer,
}

/// Measure RoCE over a corrupting link, without and with protection
///
/// Connects two QEMU guests with Debian's kernel and its soft-RoCE driver by a link. perftest measures latency and
/// bandwidth in four states: a clean link whose relays are off, a clean link whose relays are on, a corrupting link
/// whose relays are off, and one whose relays are on and protect it.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab roce --fetch
  wiremend lab roce --loss 1/256 --rounds 5
  wiremend lab roce --json

It needs root or user namespaces, and some Debian packages; it lists those that are missing."
)]
pub(crate) struct LabRoce {
    /// Loss ratio of the link in each direction
    #[arg(long, value_name = "P", default_value = "1/128", value_parser = parse_probability)]
    pub(crate) loss: f64,
    /// Number of measurements; the results are medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Messages per latency measurement
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) messages: u32,
    /// Messages of 64 KiB per bandwidth measurement
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) bulk_messages: u32,
    #[command(flatten)]
    pub(crate) protection: LabProtection,
    /// Download the guests' kernel with apt-get first
    #[arg(long)]
    pub(crate) fetch: bool,
    /// Print all numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Start a shell on a host behind a corrupting link
///
/// Builds host A, a relay, a wire, a relay and host B in network namespaces and starts $SHELL, or a command, on host
/// A. Removes everything when the shell ends.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab shell --loss 1e-2 --active
  wiremend lab shell --loss 0.1 -- ping -c 50 -i 0.02 198.18.0.2
  wiremend lab shell -- sh -c '$ON_B iperf3 -s -1 & sleep 1; iperf3 -c 198.18.0.2'

It needs root or user namespaces. It changes nothing outside its own namespaces."
)]
pub(crate) struct LabShell {
    /// Loss ratio of the link in each direction
    #[arg(long, value_name = "P", default_value = "1e-3", value_parser = parse_probability)]
    pub(crate) loss: f64,
    /// Protect the link
    #[arg(long)]
    pub(crate) active: bool,
    /// Rate of the link
    #[arg(long, value_name = "RATE", default_value = "200Mbps", value_parser = parse_lab_rate)]
    pub(crate) rate: Rate,
    /// One-way delay between the link and host B
    #[arg(long, value_name = "TIME", default_value = "4ms")]
    pub(crate) path_delay: Span,
    #[command(flatten)]
    pub(crate) chain: LabChain,
    /// The command to run on host A [default: $SHELL]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The link of a lab
#[derive(Args, Debug, Clone)]
pub(crate) struct LabChain {
    /// One-way delay of the link
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub(crate) delay: Span,
    /// Size of the queue in front of the link
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    pub(crate) queue: Bytes,
    #[command(flatten)]
    pub(crate) protection: LabProtection,
}

/// The protection of the link of a lab, and the seed
#[derive(Args, Debug, Clone)]
pub(crate) struct LabProtection {
    /// Protection of frames, while the link is protected
    #[arg(long, default_value = "ordered", value_parser = choice::<Mode>())]
    pub(crate) mode: Mode,
    /// Copies of each retransmitted frame [default: follows from the measured loss]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub(crate) copies: Option<u8>,
    /// Seed of all random streams
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Connect two interfaces by an emulated wire that corrupts frames
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend lab wire --a veth1 --b veth2 --rate 1Gbps --delay 5us --loss 1e-3
  wiremend lab wire --a veth1 --b veth2 --socket wire.sock &
  wiremend lab wire --change --socket wire.sock --loss 1e-2

The wire drops and counts each corrupted frame, as a receiver does whose frame check fails.")]
pub(crate) struct LabWire {
    /// Interface at end A
    #[arg(long, value_name = "IF", required_unless_present = "change")]
    pub(crate) a: Option<String>,
    /// Interface at end B
    #[arg(long, value_name = "IF", required_unless_present = "change")]
    pub(crate) b: Option<String>,
    /// Rate of the wire [default: as fast as the machine]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// One-way delay
    #[arg(long, value_name = "TIME", default_value = "0us")]
    pub(crate) delay: Span,
    /// Size of the queue in front of each direction
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    pub(crate) queue: Bytes,
    #[command(flatten)]
    pub(crate) impairment: LabImpairment,
    /// Seed of all random streams
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Path of the control socket, for --change
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Change the impairment of the running wire at --socket, and print its counters
    #[arg(long, requires = "socket")]
    pub(crate) change: bool,
    /// Drop the frames of a protected link that this file lists, one per line: `forward data 5 1` is the first transmission
    /// of frame 5 from A to B
    #[arg(long, value_name = "FILE", conflicts_with = "change", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) faults: Option<PathBuf>,
    /// Record the dropped frames of a protected link, for --faults and for scenarios
    #[arg(long, value_name = "FILE", conflicts_with = "change", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) record: Option<PathBuf>,
    /// `EtherType` of the protected link's header, for --faults and --record
    #[arg(long, value_name = "HEX", default_value = "88b5", value_parser = parse_ethertype, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) ethertype: u16,
    /// How to wait for frames
    #[arg(long, default_value = "sleep", value_parser = choice::<PollMode>(), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) poll: PollMode,
}

/// The impairment of a wire
#[derive(Args, Debug, Clone)]
pub(crate) struct LabImpairment {
    /// Loss ratio in each direction
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub(crate) loss: Option<f64>,
    /// Loss ratio from B to A [default: that of --loss]
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub(crate) loss_back: Option<f64>,
    /// Mean number of consecutive frames that are lost
    #[arg(long, value_name = "FRAMES")]
    pub(crate) burst: Option<f64>,
    /// Bit error ratio
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub(crate) ber: Option<f64>,
    /// Drop every N-th frame
    #[arg(long, value_name = "N")]
    pub(crate) every: Option<u64>,
    /// Drop the first transmission of the segment with this byte of each TCP connection from A to B, from 0
    #[arg(long, value_name = "N")]
    pub(crate) tcp_byte: Option<u32>,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.5..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected 0.5 to 3600 seconds".into()),
    }
}

fn parse_lab_rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    let allowed = Rate::from_bits_per_s(1_000_000)..=Rate::gbps(100);
    if allowed.contains(&rate) { Ok(rate) } else { Err("expected a rate from 1Mbps to 100Gbps".into()) }
}

/// A port without an address is one of the loopback interface.
pub(super) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => {
            text.parse().map_err(|_| "a port such as 9469, or an address with one, such as [::1]:9469".into())
        }
    }
}

/// A user id, or a name in `/etc/passwd`.
fn parse_user(text: &str) -> Result<u32, String> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut rows = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = rows.find(|row| row[0] == text).and_then(|row| row.get(2)?.parse().ok());
    found.or_else(|| text.parse().ok()).ok_or_else(|| "no such user".to_owned())
}

fn parse_ethertype(text: &str) -> Result<u16, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    match u16::from_str_radix(digits, 16) {
        Ok(ethertype) if ethertype >= 0x600 => Ok(ethertype),
        _ => Err("an EtherType is hexadecimal and at least 0600, such as 88b5".into()),
    }
}
