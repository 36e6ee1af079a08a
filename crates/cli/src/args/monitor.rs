//! Arguments of `monitor`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use wiremend_monitor::redis::HoldRecord;
use wiremend_monitor::{Name, Thresholds};
use wiremend_units::{Span, parse_probability};

use super::ADVANCED;

/// Find links that corrupt packets, and explain slow links
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor run --config /etc/wiremend/monitor.toml
  wiremend monitor record eth0 --for 60s > here.jsonl
  wiremend monitor explain here.jsonl there.jsonl")]
pub(crate) struct Monitor {
    #[command(subcommand)]
    pub(crate) command: MonitorCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum MonitorCommand {
    Run(MonitorRun),
    Planner(MonitorPlanner),
    Release(MonitorRelease),
    CheckConfig(MonitorCheck),
    Status(MonitorStatus),
    Repaired(MonitorRepaired),
    Hold(MonitorHold),
    Unhold(MonitorUnhold),
    Acl(MonitorAcl),
    Record(MonitorRecord),
    Replay(MonitorReplay),
    Explain(MonitorExplain),
}

/// Watch the ports of this machine, and protect links that corrupt
///
/// Reads port counters, publishes its observations in Redis for the other ends of the links, and activates
/// the relays of this machine on links that corrupt. By default it only observes; `mode = "act"` in the
/// configuration lets it act. Without Redis it continues to observe and changes nothing.
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
    /// Path of sysfs
    #[arg(long, value_name = "DIR", default_value = "/sys", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) sysfs: PathBuf,
    #[command(flatten)]
    pub(crate) place: super::operate::RunDir,
}

/// A service: its configuration, run time, log and metrics
#[derive(Args, Debug)]
pub(crate) struct Service {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Stop after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span)]
    pub(crate) duration: Option<Span>,
    #[command(flatten)]
    pub(crate) log: super::log::LogOptions,
    #[command(flatten)]
    pub(crate) metrics: Prometheus,
}

/// Metrics for Prometheus
#[derive(Args, Debug)]
pub(crate) struct Prometheus {
    /// Serve Prometheus metrics on this port or address:port [default address: 127.0.0.1]
    #[arg(long, value_name = "PORT", value_parser = super::operate::parse_listen)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Allow --metrics-listen with an address that other machines reach
    #[arg(long, requires = "metrics_listen", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) metrics_public: bool,
    /// Write metrics to this file every 15 seconds, for the textfile collector of `node_exporter`
    #[arg(long, value_name = "FILE", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) textfile: Option<PathBuf>,
}

/// Run the planner of a fabric: advise for each corrupting link to drain, protect or wait
///
/// Reads the observations of all ports from Redis and publishes advice for each corrupting link, so that every ToR
/// keeps enough paths to the top tier. Of several planners one leads. By default the advice does not bind; `mode = "act"`
/// in the configuration binds monitors whose mode is "advised". If many nodes report failures within five minutes, the
/// planner stops acting until `wiremend monitor release`; if one node reports many links, it ignores that node.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor planner --config /etc/wiremend/planner.toml
  wiremend monitor planner --config new.toml --dry-run
  wiremend monitor planner --config /etc/wiremend/planner.toml --metrics-listen 9471 --log json"
)]
pub(crate) struct MonitorPlanner {
    #[command(flatten)]
    pub(crate) service: Service,
    /// Print how the advice would change with this configuration, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Let planners act again, after too many links turned bad at once
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor release --config /etc/wiremend/planner.toml")]
pub(crate) struct MonitorRelease {
    /// Configuration file of a planner
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// Check a configuration file and print its settings
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor check-config /etc/wiremend/monitor.toml
  wiremend monitor check-config --planner /etc/wiremend/planner.toml")]
pub(crate) struct MonitorCheck {
    /// Configuration file
    #[arg(value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The file configures a planner
    #[arg(long)]
    pub(crate) planner: bool,
}

/// Print the links of a fabric that corrupt, what is done about each, and why
///
/// Prints the table of `wiremend serve`, the highest loss first. The exit status is 1 if a link corrupts.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor status --config /etc/wiremend/planner.toml
  wiremend monitor status --config /etc/wiremend/planner.toml --watch"
)]
pub(crate) struct MonitorStatus {
    /// Configuration file of a planner, with the fabric and the Redis server
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Print JSON; with --watch one line for each change
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the table again twice a second, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// Maximum number of links in the table
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) rows: usize,
}

/// Report that the link at a port was repaired; it counts as clean from now on
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor repaired --config /etc/wiremend/monitor.toml eth0")]
pub(crate) struct MonitorRepaired {
    /// Configuration file of the monitor at this end
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Ports at this end
    #[arg(value_name = "PORT", required = true)]
    pub(crate) ports: Vec<Name>,
}

/// Leave links alone for a while: daemons and planners change nothing at them
///
/// With the configuration of a monitor, a target is a port of this node. With --planner, a target is a link by one of
/// its ends (NODE:PORT), all links of a node (NODE), or all links of a pod (pod:NAME). With --maintenance the links
/// also count as out of service, and their losses as no failure.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor hold --config /etc/wiremend/monitor.toml --for 2h --why 'new optics' eth0
  wiremend monitor hold --planner --config /etc/wiremend/planner.toml --for 4h --why 'recabling' --maintenance pod:7"
)]
pub(crate) struct MonitorHold {
    /// End the hold after this time, at most 30 days
    #[arg(long = "for", value_name = "TIME", value_parser = parse_hold)]
    pub(crate) length: Span,
    /// Why, for other operators
    #[arg(long, value_name = "TEXT", value_parser = parse_why)]
    pub(crate) why: String,
    /// The links are under maintenance: they count as out of service
    #[arg(long)]
    pub(crate) maintenance: bool,
    #[command(flatten)]
    pub(crate) which: HoldTargets,
}

/// End holds of links
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wiremend monitor unhold --config /etc/wiremend/monitor.toml eth0
  wiremend monitor unhold --planner --config /etc/wiremend/planner.toml pod:7")]
pub(crate) struct MonitorUnhold {
    #[command(flatten)]
    pub(crate) which: HoldTargets,
}

/// The links of a hold
#[derive(Args, Debug)]
pub(crate) struct HoldTargets {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The file configures a planner
    #[arg(long)]
    pub(crate) planner: bool,
    /// Ports of this node; with --planner NODE:PORT, NODE or pod:NAME
    #[arg(value_name = "TARGET", required = true)]
    pub(crate) targets: Vec<String>,
}

/// Print the Redis command that creates the user of a node
///
/// Give each switch or host its own user. A user can write only under the name of its node, so that no node can
/// publish records of another. The command contains only the hash of the password. It ends with ACL SAVE, for which
/// redis.conf needs an `aclfile`: without it users are gone after a restart of Redis.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor acl leaf-1 --password-file leaf-1.secret | redis-cli
  wiremend monitor acl planner --planner --password-file planner.secret | redis-cli
  wiremend monitor acl page --viewer --password-file page.secret | redis-cli"
)]
pub(crate) struct MonitorAcl {
    /// The node is a planner, which writes only advice
    #[arg(long)]
    pub(crate) planner: bool,
    /// The user only reads, for `wiremend serve` and `monitor status`
    #[arg(long, conflicts_with = "planner")]
    pub(crate) viewer: bool,
    /// The switch or host
    #[arg(value_name = "NODE")]
    pub(crate) node: Name,
    /// File that contains the password and nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: PathBuf,
}

/// Record the port counters of this machine, one line of JSON per reading
///
/// Reads counters of the kernel, the driver (as `ethtool -S` does) and RDMA devices, under the same names for all
/// vendors. Reports each counter that cannot be read once, and omits it.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  wiremend monitor record eth0 --for 60s > here.jsonl
  wiremend monitor record --node leaf-1 --every 5s --for 1h > leaf-1.jsonl"
)]
pub(crate) struct MonitorRecord {
    /// Ports [default: all physical ones]
    #[arg(value_name = "IF")]
    pub(crate) interfaces: Vec<String>,
    /// Name of this machine in the record [default: its host name]
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Time between readings
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_every)]
    pub(crate) every: Span,
    /// Stop after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span)]
    pub(crate) duration: Option<Span>,
    /// Path of sysfs
    #[arg(long, value_name = "DIR", default_value = "/sys", help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) sysfs: PathBuf,
}

/// Run the detector over recorded counters
///
/// Processes recorded readings in order of their timestamps and prints when each link counts as corrupting or as
/// clean again. Use it to try thresholds on past data, or to understand a decision of a monitor.
/// The exit status is 1 if a port corrupts at the end.
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
    /// Files of `wiremend monitor record`, or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Loss ratio from which a link counts as corrupting
    #[arg(long, value_name = "P", default_value = "1e-8", value_parser = parse_probability)]
    pub(crate) threshold: f64,
    /// Number of frames over which the loss ratio is measured
    #[arg(long, value_name = "FRAMES", default_value_t = Thresholds::default().window_frames)]
    pub(crate) window: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Explain why a link is slow, from the counters of both ends
///
/// Prints for each link the cause with the counters that show it: corruption, congestion, reordering,
/// configuration or healthy. The exit status is 1 if a link is not healthy.
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
    /// Files of `wiremend monitor record`, or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// A link by its two ends; repeatable [default: the only two ports in the files]
    #[arg(long = "link", value_name = "NODE:PORT=NODE:PORT")]
    pub(crate) links: Vec<String>,
    /// Loss ratio from which a link counts as corrupting
    #[arg(long, value_name = "P", default_value = "1e-8", value_parser = parse_probability)]
    pub(crate) threshold: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_span(text: &str) -> Result<Span, String> {
    text.parse::<Span>().map_err(|error| error.to_string())
}

fn parse_hold(text: &str) -> Result<Span, String> {
    let length = parse_span(text)?;
    if length < Span::from_ms(1_000) || length > Span::from_ms(HoldRecord::LENGTH_MAX_MS) {
        return Err("expected between 1s and 720h".to_owned());
    }
    Ok(length)
}

fn parse_why(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > HoldRecord::WHY_MAX || text.chars().any(char::is_control) {
        return Err(format!("expected 1 to {} bytes without control characters", HoldRecord::WHY_MAX));
    }
    Ok(text.to_owned())
}

fn parse_every(text: &str) -> Result<Span, String> {
    let every = parse_span(text)?;
    if every < Span::from_ms(10) {
        return Err("expected at least 10ms".to_owned());
    }
    Ok(every)
}
