//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use wiremend_units::Span;

use super::ADVANCED;

/// Show the links of a fabric, or stored results, on a page
///
/// With --config: the links that corrupt, what is done about each and why, their history, and the capacity that is
/// left. It reads what monitors and planners store in Redis. The page only shows, unless operators have tokens
/// (--token-file, lines `NAME TOKEN`) or use the socket: then they can hold links, and the audit names them.
///
/// With --machine: the links of this machine, from its ports and relays, without Redis. With DIR: the runs and sweeps
/// in a folder side by side.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend serve results/
  wiremend serve --config /etc/wiremend/planner.toml --listen 9480 --token-file operators.secret
  wiremend serve --config /etc/wiremend/planner.toml --socket /run/wiremend/page.sock"
)]
#[command(group = ArgGroup::new("what").required(true).args(["results", "config", "machine"]))]
pub(crate) struct Serve {
    /// A folder with results of `wiremend run` and `wiremend sweep`, at any depth
    #[arg(value_name = "DIR")]
    pub(crate) results: Option<PathBuf>,
    /// Configuration file of a planner, with the fabric and the Redis server
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Configuration file of a daemon, of which `[redis]` may be missing
    #[arg(long, value_name = "FILE", conflicts_with = "token_file")]
    pub(crate) machine: Option<PathBuf>,
    /// Mount point of sysfs
    #[arg(long, value_name = "DIR", default_value = "/sys", requires = "machine", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) sysfs: PathBuf,
    /// Directory of the relays' sockets
    #[arg(long, value_name = "DIR", default_value = "/run/wiremend", requires = "machine", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) run_dir: PathBuf,
    /// Port or address:port of the page [default: 127.0.0.1:9480, with --socket none]
    #[arg(long, value_name = "PORT", value_parser = super::operate::parse_listen)]
    pub(crate) listen: Option<SocketAddr>,
    /// Allow --listen with an address that other machines reach, behind a proxy with TLS
    #[arg(long, requires = "listen")]
    pub(crate) public: bool,
    /// A name by which a proxy calls this page, such as fabric.example; repeatable
    #[arg(long, value_name = "HOST", requires = "listen")]
    pub(crate) host: Vec<String>,
    /// Listen on a Unix socket, for `ssh -L`; its users may act
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Operators who may act: lines `NAME TOKEN`
    #[arg(long, value_name = "FILE", conflicts_with = "results")]
    pub(crate) token_file: Option<PathBuf>,
    /// Stop after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) duration: Option<Span>,
    #[command(flatten)]
    pub(crate) log: super::log::LogOptions,
}

fn parse_span(text: &str) -> Result<Span, String> {
    text.parse::<Span>().map_err(|error| error.to_string())
}
