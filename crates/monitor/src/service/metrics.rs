//! Metrics of a daemon and of a planner in the Prometheus text format.
//!
//! Names follow the Prometheus conventions: base units, `_total` for counters, `_ratio` for shares, and the
//! label `device` as in `node_exporter`. A planner exports only links with advice, because a fabric has too
//! many healthy ones.

use wiremend_dataplane::metrics::Exposition;

use crate::daemon::{ActionCounts, Daemon};
use crate::frame_window::FrameSample;
use crate::planner::FabricSummary;
use crate::port_monitor::UnusedReadings;
use crate::redis::LinkAction;

/// Metrics of a daemon.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DaemonMetrics {
    /// Ports, in the order of the configuration.
    pub ports: Vec<PortMetrics>,
    /// Counts of actions.
    pub counts: ActionCounts,
    /// Whether the daemon holds the lease of its node.
    pub holds_lease: bool,
    /// Number of polls.
    pub polls: u64,
    /// Time spent reading ports.
    pub poll_seconds: f64,
    /// Whether there is a connection to Redis.
    pub connected: bool,
    /// Number of lost connections.
    pub disconnects: u64,
}

/// Metrics of a port.
#[derive(Clone, PartialEq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a gauge of its own")]
pub struct PortMetrics {
    /// All judged frames.
    pub total: FrameSample,
    /// Current loss ratio.
    pub loss: f64,
    /// Lower 99 % confidence bound of the loss ratio.
    pub loss_low: f64,
    /// Whether the link corrupts received frames.
    pub corrupting: bool,
    /// Whether the port has no carrier.
    pub down: bool,
    /// Whether its counters cannot be read.
    pub unread: bool,
    /// Whether an operator holds the link.
    pub held: bool,
    /// Whether the daemon at the other end is silent.
    pub peer_silent: bool,
    /// Copies per retransmission; 0 without protection.
    pub copies: u8,
    /// Readings without a sample.
    pub unused_readings: UnusedReadings,
    /// Expected loss ratio.
    pub expected_loss: Option<f64>,
    /// Whether the expected loss exceeds the threshold.
    pub corruption_expected: bool,
    /// Pre-FEC bit error ratio.
    pub bit_error_ratio: Option<f64>,
}

impl DaemonMetrics {
    /// Reads the metrics of a daemon. The caller adds those of polls and connections.
    pub fn from_daemon(daemon: &Daemon) -> Self {
        let port = |at: usize| {
            let (port, forecaster) = (daemon.port(at), daemon.forecaster(at));
            let estimate = port.estimate();
            PortMetrics {
                total: port.total(),
                loss: estimate.loss,
                loss_low: estimate.low,
                corrupting: port.is_corrupting(),
                down: daemon.is_down(at),
                unread: daemon.is_unread(at),
                held: daemon.is_held(at),
                peer_silent: daemon.is_peer_silent(at),
                copies: match daemon.action(at) {
                    Some(LinkAction::Protect { copies }) => *copies,
                    _ => 0,
                },
                unused_readings: port.unused_readings(),
                expected_loss: forecaster.forecast().map(|forecast| forecast.frame_loss),
                corruption_expected: forecaster.is_raised(),
                bit_error_ratio: forecaster.bit_error_ratio(),
            }
        };
        let ports = (0..daemon.link_count()).map(port).collect();
        Self { ports, counts: daemon.counts(), holds_lease: daemon.holds_lease(), ..Self::default() }
    }

    /// Renders the page. `devices` contains the port names.
    pub fn page(&self, version: &str, devices: &[String]) -> String {
        let mut page = Exposition::new();
        about(&mut page, version);
        self.whole(&mut page);
        let mut each = |name: &str, help: &str, value: &dyn Fn(&PortMetrics) -> Option<f64>| {
            let rows: Vec<(&String, f64)> = devices
                .iter()
                .zip(&self.ports)
                .filter_map(|(device, port)| Some((device, value(port)?)))
                .collect();
            if rows.is_empty() {
                return;
            }
            let name = format!("wiremend_monitor_{name}");
            page.family(&name, help);
            for (device, value) in rows {
                page.row(&name, &[("device", device)], value);
            }
        };
        let flag = |is: bool| Some(f64::from(u8::from(is)));
        each("receive_frames_total", "Received frames that were judged, good and corrupted.", &|port| {
            Some(port.total.frames as f64)
        });
        each("receive_corrupted_frames_total", "Received corrupted frames.", &|port| {
            Some(port.total.errors as f64)
        });
        each(
            "loss_ratio",
            "Ratio of corrupted frames to received frames, over the newest errors.",
            &|port| Some(port.loss),
        );
        each("loss_lower_bound_ratio", "Lower 99 % confidence bound of the loss ratio.", &|port| {
            Some(port.loss_low)
        });
        each("corrupting", "Whether the link corrupts received frames.", &|port| flag(port.corrupting));
        each("carrier", "Whether the port has a carrier.", &|port| flag(!port.down));
        each("port_unread", "Whether the counters of the port cannot be read.", &|port| flag(port.unread));
        each("held", "Whether an operator holds the link.", &|port| flag(port.held));
        each("peer_silent", "Whether the daemon at the other end is silent.", &|port| flag(port.peer_silent));
        each("protecting", "Whether sent frames are protected.", &|port| flag(port.copies > 0));
        each("protection_copies", "Copies per retransmission.", &|port| Some(f64::from(port.copies)));
        each(
            "expected_loss_ratio",
            "Expected loss ratio of frames, extrapolated from FEC counters.",
            &|port| port.expected_loss,
        );
        each("expected_corruption", "Whether the expected loss exceeds the threshold.", &|port| {
            port.expected_loss.and(flag(port.corruption_expected))
        });
        each("pre_fec_bit_error_ratio", "Ratio of bits corrected by FEC to received bits.", &|port| {
            port.bit_error_ratio
        });
        self.unused_readings(&mut page, devices);
        page.finish()
    }

    fn whole(&self, page: &mut Exposition) {
        let mut one = |name: &str, help: &str, value: f64| {
            page.one(&format!("wiremend_monitor_{name}"), help, &[], value);
        };
        let flag = |is: bool| f64::from(u8::from(is));
        one("polls_total", "Number of times that all ports were read.", self.polls as f64);
        one("poll_seconds_total", "Time spent reading ports.", self.poll_seconds);
        one("redis_connected", "Whether there is a connection to Redis.", flag(self.connected));
        one("redis_disconnects_total", "Number of lost connections to Redis.", self.disconnects as f64);
        one("lease_held", "Whether this daemon holds the lease of its node.", flag(self.holds_lease));
        one("actions_total", "Actions applied to links.", self.counts.actions as f64);
        one("action_failures_total", "Failed actions on links.", self.counts.failures as f64);
        let invalid = self.counts.invalid_records as f64;
        one("invalid_records_total", "Invalid records of other nodes.", invalid);
    }

    fn unused_readings(&self, page: &mut Exposition, devices: &[String]) {
        const NAME: &str = "wiremend_monitor_unused_readings_total";
        page.family(NAME, "Readings without a sample, by reason.");
        for (device, port) in devices.iter().zip(&self.ports) {
            let UnusedReadings { down, flapped, reset, unchanged } = port.unused_readings;
            for (reason, count) in
                [("down", down), ("flapped", flapped), ("reset", reset), ("unchanged", unchanged)]
            {
                page.row(NAME, &[("device", device), ("reason", reason)], count);
            }
        }
    }
}

/// Metrics of a planner.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PlannerMetrics {
    /// Whether it is the leader.
    pub leading: bool,
    /// Whether it is halted.
    pub halted: bool,
    /// Number of links of the fabric.
    pub links: u32,
    /// Counts of links by state.
    pub summary: FabricSummary,
    /// Number of nodes with failures within five minutes that halts the planner if exceeded.
    pub failing_nodes_max: usize,
    /// Nodes whose daemon is silent.
    pub silent_nodes: Vec<String>,
    /// Number of nodes that never had a daemon.
    pub unmonitored_nodes: usize,
    /// Whether there is a connection to Redis.
    pub connected: bool,
    /// Number of lost connections.
    pub disconnects: u64,
    /// Number of decisions that changed advice.
    pub decisions: u64,
    /// Links with advice.
    pub advised: Vec<AdvisedLinkMetrics>,
}

/// Metrics of a link with advice.
#[derive(Clone, PartialEq, Debug)]
pub struct AdvisedLinkMetrics {
    /// Node of its lower end.
    pub node: String,
    /// Port of its lower end.
    pub device: String,
    /// Its upper end.
    pub peer: String,
    /// Advised action.
    pub action: &'static str,
    /// Loss ratio of the worse direction.
    pub loss: f64,
}

impl PlannerMetrics {
    /// Renders the page.
    pub fn page(&self, version: &str) -> String {
        let mut page = Exposition::new();
        about(&mut page, version);
        let mut one = |name: &str, help: &str, value: f64| {
            page.one(&format!("wiremend_planner_{name}"), help, &[], value);
        };
        let flag = |is: bool| f64::from(u8::from(is));
        let FabricSummary { corrupting, down, drain, protect, wait, failing_nodes, held, distrusted_nodes } =
            self.summary;
        one("leading", "Whether this planner is the leader.", flag(self.leading));
        one(
            "halted",
            "Whether the planner is halted because too many links failed at once.",
            flag(self.halted),
        );
        one("links", "Links of the fabric.", f64::from(self.links));
        one("corrupting_links", "Corrupting links.", corrupting as f64);
        one("down_links", "Links without a carrier.", down as f64);
        one("drain_links", "Links to drain.", drain as f64);
        one("protected_links", "Links to protect.", protect as f64);
        one("waiting_links", "Corrupting links that can be neither drained nor protected.", wait as f64);
        one("held_links", "Links that operators hold.", held as f64);
        one("failing_nodes", "Nodes that reported failures within five minutes.", failing_nodes as f64);
        one(
            "failing_nodes_limit",
            "The planner halts above this number of failing nodes.",
            self.failing_nodes_max as f64,
        );
        one("distrusted_nodes", "Nodes that reported too many failures.", distrusted_nodes as f64);
        one("silent_nodes", "Nodes whose daemon is silent.", self.silent_nodes.len() as f64);
        one("unmonitored_nodes", "Nodes that never had a daemon.", self.unmonitored_nodes as f64);
        one("redis_connected", "Whether there is a connection to Redis.", flag(self.connected));
        one("redis_disconnects_total", "Number of lost connections to Redis.", self.disconnects as f64);
        one("decisions_total", "Decisions that changed advice.", self.decisions as f64);
        self.links(&mut page);
        self.silent(&mut page);
        page.finish()
    }

    /// A page lists at most a thousand silent nodes; the count is complete.
    fn silent(&self, page: &mut Exposition) {
        const NAME: &str = "wiremend_planner_node_silent";
        if self.silent_nodes.is_empty() {
            return;
        }
        page.family(NAME, "Nodes whose daemon is silent.");
        for node in self.silent_nodes.iter().take(1_000) {
            page.row(NAME, &[("node", node)], 1);
        }
    }

    fn links(&self, page: &mut Exposition) {
        const LOSS: &str = "wiremend_planner_link_loss_ratio";
        const ADVICE: &str = "wiremend_planner_link_advice";
        if self.advised.is_empty() {
            return;
        }
        page.family(LOSS, "Loss ratio of the worse direction of a link.");
        for AdvisedLinkMetrics { node, device, peer, loss, .. } in &self.advised {
            page.row(LOSS, &[("node", node), ("device", device), ("peer", peer)], loss);
        }
        page.family(ADVICE, "Advised action on a link.");
        for AdvisedLinkMetrics { node, device, peer, action, .. } in &self.advised {
            page.row(ADVICE, &[("node", node), ("device", device), ("peer", peer), ("advice", action)], 1);
        }
    }
}

fn about(page: &mut Exposition, version: &str) {
    page.one("wiremend_build_info", "Version of the program.", &[("version", version)], 1);
}
