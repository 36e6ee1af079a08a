//! Arguments of `peer`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use wiremend_peer::DropRule;
use wiremend_units::{Bytes, Span};

use super::ADVANCED;
use super::choice::choice;

/// Speak RoCE with a kernel or NIC at the other end
///
/// An endpoint in user space with the protocol core of the simulator, on a packet socket. It connects to the programs
/// of perftest (`ib_write_bw` and others) and to `ibv_rc_pingpong`, as their server or client, with the remedies of
/// this project against lost packets, and with losses on purpose. By the connection manager it also connects to
/// `rping`, `ucmatose`, and perftest with -R.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend peer serve                                    # then: ib_write_bw -x 1 -F THIS_HOST
  wiremend peer write 198.18.0.2 --drop 'out data 40' --dummies 1 --pcap run.pcapng
  wiremend peer ping 198.18.0.2 --with rping             # a server there: rping -s

It needs root or CAP_NET_RAW. docs/operate/peer.md shows all tools."
)]
pub(crate) struct Peer {
    #[command(subcommand)]
    pub(crate) command: PeerCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PeerCommand {
    Serve(Box<PeerServe>),
    Write(Box<PeerClient>),
    Send(Box<PeerClient>),
    Read(Box<PeerClient>),
    Atomic(Box<PeerClient>),
    Ping(Box<PeerPing>),
    Probe(Box<PeerProbe>),
}

impl PeerCommand {
    /// The arguments of a client other than `ping`.
    pub(crate) fn client(&self) -> Option<&PeerClient> {
        match self {
            Self::Write(client) | Self::Send(client) | Self::Read(client) | Self::Atomic(client) => {
                Some(client)
            }
            Self::Serve(_) | Self::Ping(_) | Self::Probe(_) => None,
        }
    }
}

/// Take clients of perftest and of `ibv_rc_pingpong`
///
/// Clients do not say which test they run. Without --for the server takes what comes, which is right for
/// `ib_write_bw`, `ib_send_bw`, `ib_read_bw`, `ib_read_lat`, `ib_atomic_bw` and `ibv_rc_pingpong`, also with -R. With
/// --interface it also serves `rping` and `ucmatose`, which come by the connection manager to ports 7174 and 7471.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend peer serve
  wiremend peer serve --interface eth0                   # then: rping -c -a THIS_HOST -C 10 -v
  wiremend peer serve --for ib_write_lat --size 8B --iterations 300 --clients 1")]
pub(crate) struct PeerServe {
    /// The client's program, if the server must answer its messages
    #[arg(long = "for", value_name = "TOOL", value_parser = choice::<ServeFor>())]
    pub(crate) tool: Option<ServeFor>,
    /// The client runs with -b: send as many messages as it does. Needs --for `ib_write_bw`, `ib_send_bw` or
    /// `ib_read_bw`
    #[arg(long, short, requires = "tool")]
    pub(crate) bidirectional: bool,
    /// Length of the longest message; with -b, `ib_write_lat` and `ucmatose`, of all messages [default: 64KiB;
    /// ucmatose: 100B]
    #[arg(long, short, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Number of messages with -b, and of `ib_write_lat`, `ibv_rc_pingpong` and `ucmatose`, whose clients do not say
    /// when they end [default: as the program]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) iterations: Option<u64>,
    /// End after this number of clients
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) clients: Option<u64>,
    /// Address to listen at [default: all]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<IpAddr>,
    #[command(flatten)]
    pub(crate) common: PeerCommon,
}

/// Programs whose clients expect messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ServeFor {
    /// Takes WRITEs; with -b it writes as many
    #[value(name = "ib_write_bw")]
    WriteBw,
    /// Takes SENDs; with -b it sends as many
    #[value(name = "ib_send_bw")]
    SendBw,
    /// Answers READs; with -b it reads as many
    #[value(name = "ib_read_bw")]
    ReadBw,
    /// Answers each SEND
    #[value(name = "ib_send_lat")]
    SendLat,
    /// Writes first, and after each WRITE of the client
    #[value(name = "ib_write_lat")]
    WriteLat,
    /// Reads what the client names, and writes it back; at --port instead of 7174
    #[value(name = "rping")]
    Rping,
    /// Sends all messages, and takes as many; at --port instead of 7471
    #[value(name = "ucmatose")]
    Ucmatose,
}

/// Measure bandwidth with a server of perftest
///
/// The program there is `ib_write_bw`, `ib_send_bw`, `ib_read_bw` or `ib_atomic_bw`, or `wiremend peer serve`. Size
/// and number of messages must be the same at both ends.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend peer write 198.18.0.2 --iterations 1000
  wiremend peer read 198.18.0.2 --size 1MiB --drop 'in read-response 700'
  wiremend peer send 198.18.0.2 --drop 'out 1/128' --dummies 1 --nak-copies 1"
)]
pub(crate) struct PeerClient {
    /// Address of the server
    #[arg(value_name = "HOST")]
    pub(crate) host: IpAddr,
    /// Length of a message [default: 64KiB; atomic operations: 8B]
    #[arg(long, short, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Number of messages [default: as the program: 5000 WRITEs, 1000 others]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(5..))]
    pub(crate) iterations: Option<u64>,
    /// Messages in flight on each queue pair
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u64).range(1..=16_384))]
    pub(crate) depth: u64,
    /// Queue pairs, as -q of the server. Each sends all messages
    #[arg(long, short = 'q', value_name = "N", default_value_t = 1, conflicts_with = "by_hand", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) pairs: u16,
    /// The server sends as many messages, as -b there. Not for atomic operations
    #[arg(long, short, conflicts_with = "by_hand")]
    pub(crate) bidirectional: bool,
    /// Set up the queue pairs by the connection manager, as the server does with -R
    #[arg(long, conflicts_with = "by_hand")]
    pub(crate) cm: bool,
    #[command(flatten)]
    pub(crate) common: PeerCommon,
    /// Print all numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure latency with a server of perftest or `ibv_rc_pingpong`
///
/// One message at a time. As in perftest, the time of a SEND or WRITE is half of the round trip. A ping of `rping` is a
/// READ and a WRITE by the server, each named by a SEND; `ucmatose` sends all messages at once.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend peer ping 198.18.0.2
  wiremend peer ping 198.18.0.2 --with write --iterations 500 --drop 'out data 40' --dummies 1
  wiremend peer ping 198.18.0.2 --with pingpong")]
pub(crate) struct PeerPing {
    /// Address of the server
    #[arg(value_name = "HOST")]
    pub(crate) host: IpAddr,
    /// The operation, and so the program there
    #[arg(long, value_name = "WHAT", default_value = "send", value_parser = choice::<PingWith>())]
    pub(crate) with: PingWith,
    /// Length of a message [default: 2B; pingpong: 4KiB; rping: 64B; ucmatose: 100B]
    #[arg(long, short, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Number of messages [default: 1000; ucmatose: 10]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(5..))]
    pub(crate) iterations: Option<u64>,
    /// Set up the queue pair by the connection manager, as the server does with -R
    #[arg(long, conflicts_with = "by_hand")]
    pub(crate) cm: bool,
    #[command(flatten)]
    pub(crate) common: PeerCommon,
    /// Print all numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Find out how a NIC behaves, and write its profile for the simulator
///
/// Plays losses of each kind, duplicates, disorder, wrong checksums and silence against the programs `ib_send_lat` and
/// `ib_read_lat` on HOST, prints what the NIC does, and writes it as TOML for `transport.profile` of a scenario. It
/// first prints the commands to run on HOST.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend peer probe 198.18.0.2 --out nic.toml
  wiremend peer probe 198.18.0.2 --no-reads --pcap probe.pcapng

docs/guide/nic.md explains each finding."
)]
pub(crate) struct PeerProbe {
    /// Address of the NIC
    #[arg(value_name = "HOST")]
    pub(crate) host: IpAddr,
    /// Write the profile into this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The interface [default: the one that leads to HOST]
    #[arg(long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// TCP port here and of `ib_read_lat`; `ib_send_lat` with timeout code t listens at this port + t
    #[arg(long, short, value_name = "PORT", default_value_t = wiremend_peer::perftest::PORT, value_parser = clap::value_parser!(u16).range(1..=65_000))]
    pub(crate) port: u16,
    /// Path MTU: 256, 512, 1024, 2048 or 4096
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = parse_mtu)]
    pub(crate) mtu: u16,
    /// Longest wait for a program on HOST to start
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) wait: Span,
    /// Leave out what needs `ib_read_lat`: gaps in READ responses, missing receive buffers
    #[arg(long)]
    pub(crate) no_reads: bool,
    /// Write all frames into this pcapng file
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
}

/// Operations of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PingWith {
    /// `ib_send_lat`
    Send,
    /// `ib_write_lat`
    Write,
    /// `ib_read_lat`
    Read,
    /// `ibv_rc_pingpong`
    Pingpong,
    /// `rping -s`
    Rping,
    /// `ucmatose`
    Ucmatose,
}

/// Interface, connection, remedies and faults
#[derive(Args, Debug)]
pub(crate) struct PeerCommon {
    /// The interface [default: the one that leads to the peer]
    #[arg(long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// TCP port of the set-up, and port of the connection manager [default: 18515; rping: 7174; ucmatose: 7471]
    #[arg(long, short, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Set up by hand, without TCP: print own parameters on stderr, and read the peer's as such a line from stdin.
    /// `serve` then needs --interface
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) by_hand: bool,
    /// Largest path MTU: 256, 512, 1024, 2048 or 4096
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = parse_mtu)]
    pub(crate) mtu: u16,
    /// Retransmission timeout; 0s: never
    #[arg(long, value_name = "TIME", default_value = "67108864ns")]
    pub(crate) timeout: Span,
    /// Retries after timeouts before the connection fails: 0 to 7, or `inf`
    #[arg(long, value_name = "N", default_value = "7", value_parser = parse_retries)]
    pub(crate) retries: u8,
    /// End a connection on which nothing comes for this long: the other machine may have died
    #[arg(long, value_name = "TIME", default_value = "120s", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) silence: Span,
    /// Packets in flight
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=8_388_607), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) window: u32,
    /// Behave like this NIC: `soft-roce`, or a file as `peer probe` writes it
    #[arg(long, value_name = "PROFILE", conflicts_with = "window", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) profile: Option<String>,
    /// Dummies behind the last packet. Where the peer denies WRITEs, copies of the packet
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=16))]
    pub(crate) dummies: u8,
    /// Copies of the last packet
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=16), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) tail_copies: u8,
    /// Copies of each NAK
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=16))]
    pub(crate) nak_copies: u8,
    /// Copies of each packet that a NAK asks for
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=16))]
    pub(crate) resend_copies: u8,
    /// Drop frames at this end: `out data 5` (the fifth data packet), `in nak 1 3` (three NAKs), `out 1/128`; repeatable.
    /// Kinds: any, data, ack, nak, read-request, read-response, other (messages of connection managers)
    #[arg(long, value_name = "RULE")]
    pub(crate) drop: Vec<DropRule>,
    /// Drop frames as the impairments of this scenario do: forward is sent, backward is received, whatever the links
    #[arg(long, value_name = "SCENARIO", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) faults: Option<PathBuf>,
    /// Deliver or send frames twice, by a rule as in --drop
    #[arg(long, value_name = "RULE", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) double: Vec<DropRule>,
    /// Hold frames until the next one has passed, by a rule as in --drop
    #[arg(long, value_name = "RULE", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) delay: Vec<DropRule>,
    /// Seed of random drops, doubles and delays
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) seed: u64,
    /// DSCP of data packets
    #[arg(long, value_name = "N", default_value_t = 26, value_parser = clap::value_parser!(u8).range(0..=63), help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) dscp: u8,
    /// React to congestion notifications, and send them for marked packets (DCQCN), at this line rate
    #[arg(long, value_name = "RATE", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) dcqcn: Option<wiremend_units::Rate>,
    /// Write all frames into this pcapng file, dropped ones with a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
}

fn parse_mtu(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(mtu @ (256 | 512 | 1024 | 2048 | 4096)) => Ok(mtu),
        _ => Err("must be 256, 512, 1024, 2048 or 4096".to_owned()),
    }
}

fn parse_retries(text: &str) -> Result<u8, String> {
    match text.parse() {
        _ if text == "inf" => Ok(u8::MAX),
        Ok(retries @ 0..=7) => Ok(retries),
        _ => Err("must be 0 to 7, or `inf`".to_owned()),
    }
}
