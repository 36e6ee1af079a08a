//! Arguments of the commands on captures.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::choice::choice;

/// Decode captured frames, and explain why queue pairs stalled
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend capture explain host.pcapng
  wiremend capture decode link.pcapng
  tcpdump -U -w - -i eth0 udp port 4791 | wiremend capture decode -")]
pub(crate) struct Capture {
    #[command(subcommand)]
    pub(crate) command: CaptureCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CaptureCommand {
    Decode(Decode),
    Explain(Explain),
}

/// Print captured frames, one per line
///
/// For RDMA frames: operation, queue pair, PSN, all headers, lengths, and whether the ICRC is right. For other
/// frames: their protocol, or why they cannot be parsed. Times are in nanoseconds since the first frame. A summary of
/// all kinds of frames follows on stderr.
///
/// Reads pcap and pcapng, also compressed with gzip or zstd; Ethernet, Linux cooked and raw IP; VLAN tags; VXLAN,
/// Geneve, GRE and ERSPAN.
///
/// A damaged file is printed up to the damage; the exit status is then 2.
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
    /// Stop after this number of frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Print one JSON object per line and frame
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say which queue pairs stalled, for how long, and why
///
/// Finds every request that was sent again although no NAK asked for it: the requester waited for its timer. Names the
/// cause (tail packet, tail ACK, NAK, retransmission, other), how sure it is (proof, strong, ambiguous with its
/// alternatives), where the loss was relative to the tap, and the frames that show it. Connections need not be captured
/// from their start.
///
/// Several files are several taps of the same traffic; so are the interfaces of a file. With two taps, a frame that
/// one has and the other lacks was lost between them.
///
/// Stalls end with exit status 1. A damaged file is explained up to the damage; the exit status is then 2.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend capture explain client.pcap.gz server.pcap.gz --all
  tcpdump -w - -i eth0 udp port 4791 | wiremend capture explain - --tap requester
  tshark -r host.pcapng -Y \"$(wiremend capture explain host.pcapng --filter)\"")]
#[expect(clippy::struct_excessive_bools, reason = "one for each option")]
pub(crate) struct Explain {
    /// Captures, or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where the tap is: at the end that sends requests, or elsewhere. Answers that pass a tap at the requester have
    /// arrived
    #[arg(long, value_name = "PLACE", default_value = "unknown", value_parser = choice::<TapPlace>())]
    pub(crate) tap: TapPlace,
    /// List recoveries without a timer too: NAKs, implied NAKs, RNR waits
    #[arg(long)]
    pub(crate) all: bool,
    /// Compare the causes with those in the comments of a capture that `wiremend run --capture --truth` wrote
    #[arg(long)]
    pub(crate) truth: bool,
    /// Print everything as JSON
    #[arg(long, conflicts_with_all = ["filter", "ladder"])]
    pub(crate) json: bool,
    /// Print a display filter for Wireshark that selects the frames that show the causes in the first file
    #[arg(long, conflicts_with = "ladder")]
    pub(crate) filter: bool,
    /// Draw the packets of this queue pair, as a number or as 0x and hexadecimal digits
    #[arg(long, value_name = "QP", value_parser = queue_pair)]
    pub(crate) ladder: Option<u32>,
    /// Steps of the drawing
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(10..=2000))]
    pub(crate) steps: u32,
    /// Write a page with summary, table and the drawing of the worst queue pair
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Where a tap is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TapPlace {
    Requester,
    Responder,
    Unknown,
}

fn queue_pair(text: &str) -> Result<u32, String> {
    let parsed = text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u32::from_str_radix(hex, 16));
    parsed
        .ok()
        .filter(|number| *number < 1 << 24)
        .ok_or_else(|| "a queue pair is a number below 2^24".to_owned())
}
