//! Arguments of `lab flows`.

use std::path::PathBuf;

use clap::Args;
use wiremend_units::Span;

/// Compare short TCP flows of this kernel with those of the simulator
///
/// Builds the network of `lab tcp` without protection and with a long queue. Sends flows of one packet, 24 kB and
/// 2 MB from host A to host B, each over a new connection, with CUBIC. The wire drops one chosen segment of each
/// flow, once. The simulator sends the same flows over the same path, with the same losses and the kernel's clock
/// tick. Prints the completion times of both, until the last byte is acknowledged.
///
/// Before, it measures the time until a process of this machine reacts, over loopback. Hosts of the simulator have
/// delays of that shape. Their median is chosen so that flows of one packet agree at the median; it is the only value
/// that is chosen, and all other rows follow from it.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend lab flows
  wiremend lab flows --flows 100 --json
  wiremend lab flows --host-delay-out delay.toml

It needs root or user namespaces. It changes nothing outside its own namespaces."
)]
pub(crate) struct LabFlows {
    /// Number of flows of each size and loss
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(10..=1000))]
    pub(crate) flows: u32,
    /// Tick of this kernel's clock: 1 s divided by its `CONFIG_HZ`
    #[arg(long, value_name = "TIME", default_value = "4ms")]
    pub(crate) tick: Span,
    /// Only measure the delay of this host, and write it to FILE as a table [transport.host-delay]
    #[arg(long, value_name = "FILE")]
    pub(crate) host_delay_out: Option<PathBuf>,
    /// Print all numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
