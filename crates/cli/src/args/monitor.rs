//! What watches ports: find links that corrupt, and say why links are slow.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use wiremend_monitor::{Name, Thresholds};
use wiremend_units::{Span, parse_probability};

/// Find links that corrupt, and say why links are slow
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor run --config /etc/wiremend/monitor.toml
  wiremend monitor control --config /etc/wiremend/planner.toml
  wiremend monitor record eth0 --for 60s > here.jsonl
  wiremend monitor replay here.jsonl
  wiremend monitor explain here.jsonl there.jsonl")]
pub(crate) struct Monitor {
    #[command(subcommand)]
    pub(crate) command: MonitorCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum MonitorCommand {
    Run(MonitorRun),
    Control(MonitorControl),
    Release(MonitorRelease),
    CheckConfig(MonitorCheck),
    Repaired(MonitorRepaired),
    Acl(MonitorAcl),
    Record(MonitorRecord),
    Replay(MonitorReplay),
    Explain(MonitorExplain),
}

/// Watch the ports of this machine, and protect links that corrupt
///
/// Reads the ports, tells the other ends of their links over Redis what it sees, and protects what this end
/// sends over links that corrupt, by relays that run here. By default it only observes: `mode = "act"` in
/// the file lets it act. Without Redis it goes on watching and leaves everything as it is.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor run --config /etc/wiremend/monitor.toml
  wiremend monitor run --config /etc/wiremend/monitor.toml --metrics-listen 9470 --log json
  wiremend monitor run --config monitor.toml --sysfs testdata/sys --for 1min"
)]
pub(crate) struct MonitorRun {
    #[command(flatten)]
    pub(crate) service: Service,
    /// Where the kernel's tree is
    #[arg(long, value_name = "DIR", default_value = "/sys")]
    pub(crate) sysfs: PathBuf,
    #[command(flatten)]
    pub(crate) place: super::operate::RunDir,
}

/// What runs until it is stopped: by which file, how long, and how it tells of itself.
#[derive(Args, Debug)]
pub(crate) struct Service {
    /// The file to go by
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Stop after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span)]
    pub(crate) duration: Option<Span>,
    /// How it says what happens
    #[arg(long, value_enum, default_value_t = Log::Text)]
    pub(crate) log: Log,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// How it looks to Prometheus.
#[derive(Args, Debug)]
pub(crate) struct Shown {
    /// Serve metrics for Prometheus at this port, of the loopback unless an address is given too
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = super::operate::parse_listen)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Serve metrics also to other machines, if --metrics-listen names such an address
    #[arg(long, requires = "metrics_listen")]
    pub(crate) metrics_public: bool,
    /// Write metrics to this file every 15 seconds, for the textfile collector of `node_exporter`
    #[arg(long, value_name = "FILE")]
    pub(crate) textfile: Option<PathBuf>,
}

/// Advise what to do about links that corrupt: drain, protect, wait
///
/// Knows the whole fabric, hears over Redis what all ports see, and says what should be done about each link that
/// corrupts so that every ToR keeps its ways to the top. Of several that run at once one leads. By default
/// daemons take it as advice: `mode = "act"` in the file binds those whose own mode is "advised". When more than one link in a
/// hundred turns bad within five minutes, it stops acting until `wiremend monitor release`.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor control --config /etc/wiremend/planner.toml
  wiremend monitor control --config /etc/wiremend/planner.toml --metrics-listen 9471 --log json"
)]
pub(crate) struct MonitorControl {
    #[command(flatten)]
    pub(crate) service: Service,
}

/// Let planners act again, after too much had turned bad at once
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor release --config /etc/wiremend/planner.toml")]
pub(crate) struct MonitorRelease {
    /// The file of a planner
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// How a daemon says what happens.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Log {
    /// Lines to read
    Text,
    /// A line of JSON each, with its time
    Json,
}

/// Look whether a file can be gone by, and say what it means
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor check-config /etc/wiremend/monitor.toml
  wiremend monitor check-config --planner /etc/wiremend/planner.toml")]
pub(crate) struct MonitorCheck {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// It is that of a planner
    #[arg(long)]
    pub(crate) planner: bool,
}

/// Say that the link at a port was repaired: it counts as clean from here on
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor repaired --config /etc/wiremend/monitor.toml eth0")]
pub(crate) struct MonitorRepaired {
    /// The file of the daemon at this end
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The port at this end
    #[arg(value_name = "PORT", required = true)]
    pub(crate) ports: Vec<Name>,
}

/// Print the Redis command that makes the user of a node
///
/// Each switch or host should have a user of its own, which writes under its own name alone. With one for all,
/// each could speak for every other.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor acl leaf-1 --password-file leaf-1.secret | redis-cli
  wiremend monitor acl planner --planner --password-file planner.secret | redis-cli"
)]
pub(crate) struct MonitorAcl {
    /// It is a planner, which writes advice and nothing else
    #[arg(long)]
    pub(crate) planner: bool,
    /// The switch or host
    #[arg(value_name = "NODE")]
    pub(crate) node: Name,
    /// The file that holds its password, and nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: PathBuf,
}

/// Write down what ports of this machine count, a line of JSON for each reading
///
/// Reads what the kernel, the driver (as `ethtool -S` does) and RDMA devices count, under one name for all
/// makers. Counters that cannot be read are said once and left out.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor record eth0 --for 60s > here.jsonl
  wiremend monitor record --node leaf-1 --every 5s --for 1h > leaf-1.jsonl"
)]
pub(crate) struct MonitorRecord {
    /// The ports [default: all that have a device behind them]
    #[arg(value_name = "IF")]
    pub(crate) interfaces: Vec<String>,
    /// What this machine is called in the record [default: its host name]
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Time between readings
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_every)]
    pub(crate) every: Span,
    /// Stop after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span)]
    pub(crate) duration: Option<Span>,
    /// Where the kernel's tree is
    #[arg(long, value_name = "DIR", default_value = "/sys")]
    pub(crate) sysfs: PathBuf,
}

/// Say what a daemon would have seen in records of ports
///
/// Goes through readings that were written down, by the time that they bear, and tells when a link would have
/// counted as corrupting or clean again: to try thresholds on the past, or to see why a daemon said what it did.
/// Exit status 1 if a port corrupts at the end.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor replay leaf-1.jsonl
  wiremend monitor replay leaf-1.jsonl --threshold 1e-6
  wiremend monitor replay leaf-1.jsonl spine-3.jsonl --json"
)]
pub(crate) struct MonitorReplay {
    /// Records of ports (`wiremend monitor record`), or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Loss from which a link counts as corrupting
    #[arg(long, value_name = "P", default_value = "1e-8", value_parser = parse_probability)]
    pub(crate) threshold: f64,
    /// Frames over which a loss is judged
    #[arg(long, value_name = "FRAMES", default_value_t = Thresholds::default().window_frames)]
    pub(crate) window: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say why a link is slow, from what both its ends count
///
/// Joins the counters of both ends and says for each link: corruption, congestion, reordering, configuration
/// or healthy, with the numbers that led there. Exit status 1 if a link is not healthy.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor explain here.jsonl there.jsonl
  wiremend monitor explain all.jsonl --link leaf-1:eth0=spine-3:eth7 --link leaf-1:eth1=spine-4:eth7
  wiremend monitor explain all.jsonl --link a:eth0=b:eth0 --json"
)]
pub(crate) struct MonitorExplain {
    /// Records of ports (`wiremend monitor record`), or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// A link, by its two ends; may be given several times [default: the only two ports there are]
    #[arg(long = "link", value_name = "NODE:PORT=NODE:PORT")]
    pub(crate) links: Vec<String>,
    /// Loss from which a link counts as corrupting
    #[arg(long, value_name = "P", default_value = "1e-8", value_parser = parse_probability)]
    pub(crate) threshold: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_span(text: &str) -> Result<Span, String> {
    text.parse::<Span>().map_err(|error| error.to_string())
}

fn parse_every(text: &str) -> Result<Span, String> {
    let every = parse_span(text)?;
    if every < Span::from_ms(10) {
        return Err("ports are read at most once in 10ms".to_owned());
    }
    Ok(every)
}
