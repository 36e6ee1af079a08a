//! Log lines of the services: a text, and its facts as fields.

use std::fmt::Display;

use serde_json::{Value, json};
use tracing::{error, info, warn};

use crate::config::DaemonConfig;
use crate::daemon_event::DaemonEvent;
use crate::decision::LinkConfig;
use crate::detector::LinkVerdict;
use crate::forecast::ForecastChange;
use crate::planner::{NamedFabric, PlannerEvent};
use crate::redis::LinkAction;

/// The log of a node's daemon.
pub(super) struct NodeLog<'a> {
    config: &'a DaemonConfig,
}

impl<'a> NodeLog<'a> {
    pub(super) fn new(config: &'a DaemonConfig) -> Self {
        Self { config }
    }

    pub(super) fn write(&self, events: &[DaemonEvent]) {
        for event in events {
            self.write_one(event, &self.text(event));
        }
    }

    fn write_one(&self, event: &DaemonEvent, text: &str) {
        let node = self.config.node.as_str();
        let port = |link: usize| self.config.links[link].port.as_str();
        match event {
            DaemonEvent::VerdictChanged { link, verdict } => log_verdict(node, port(*link), verdict, text),
            DaemonEvent::ForecastChanged { link, change } => match change {
                ForecastChange::Raised(forecast) => {
                    let (port, expected_loss) = (port(*link), forecast.frame_loss);
                    warn!(event = "forecast", node, port, raised = true, expected_loss, "{text}");
                }
                ForecastChange::Cleared(forecast) => {
                    let (port, expected_loss) = (port(*link), forecast.frame_loss);
                    info!(event = "forecast", node, port, raised = false, expected_loss, "{text}");
                }
            },
            DaemonEvent::Acted { link, action } => {
                info!(event = "action", node, port = port(*link), copies = copies(action), "{text}");
            }
            DaemonEvent::ActionFailed { link, reason } => {
                error!(event = "action_failed", node, port = port(*link), reason, "{text}");
            }
            DaemonEvent::ChangedByHand { link, action, hold } => {
                let (port, hold_s) = (port(*link), hold.as_ns() / 1_000_000_000);
                info!(event = "changed_by_hand", node, port, copies = copies(action), hold_s, "{text}");
            }
            DaemonEvent::HoldChanged { link, why } => {
                info!(event = "hold", node, port = port(*link), held = why.is_some(), "{text}");
            }
            DaemonEvent::PeerSilent { link, silent: true } => {
                let peer = self.config.links[*link].peer.to_string();
                warn!(event = "peer_silent", node, port = port(*link), peer, silent = true, "{text}");
            }
            DaemonEvent::PeerSilent { link, silent: false } => {
                let peer = self.config.links[*link].peer.to_string();
                info!(event = "peer_silent", node, port = port(*link), peer, silent = false, "{text}");
            }
            DaemonEvent::PortUnread { link, unread: true } => {
                warn!(event = "port_unread", node, port = port(*link), unread = true, "{text}");
            }
            DaemonEvent::PortUnread { link, unread: false } => {
                info!(event = "port_unread", node, port = port(*link), unread = false, "{text}");
            }
            DaemonEvent::LeaseRefused => warn!(event = "lease_refused", node, "{text}"),
            DaemonEvent::InvalidRecords(count) => warn!(event = "invalid_records", node, count, "{text}"),
        }
    }

    fn text(&self, event: &DaemonEvent) -> String {
        match event {
            DaemonEvent::VerdictChanged { link, verdict } => {
                verdict_text(&self.config.links[*link].port, verdict)
            }
            DaemonEvent::ForecastChanged { link, change } => {
                forecast_text(&self.config.links[*link].port, change)
            }
            DaemonEvent::Acted { link, action } => self.action_text(*link, action),
            DaemonEvent::ActionFailed { link, reason } => {
                format!("{}: action failed: {reason}", self.direction(*link))
            }
            DaemonEvent::ChangedByHand { link, action, hold } => format!(
                "{}; changed by hand, so the daemon leaves it alone for {hold}; `wiremend monitor unhold` ends that",
                self.action_text(*link, action)
            ),
            DaemonEvent::HoldChanged { link, why } => match why {
                Some(why) => format!("{}: held: {why}", self.config.links[*link].port),
                None => format!("{}: the hold has ended", self.config.links[*link].port),
            },
            DaemonEvent::PeerSilent { link, silent } => {
                let LinkConfig { port, peer, .. } = &self.config.links[*link];
                if *silent {
                    format!(
                        "{port}: the daemon of {peer} is silent: its observations have expired, and protection stays as it is"
                    )
                } else {
                    format!("{port}: the daemon of {peer} reports again")
                }
            }
            DaemonEvent::PortUnread { link, unread } => {
                let state =
                    if *unread { "its counters cannot be read; the other ports go on" } else { "read again" };
                format!("{}: {state}", self.config.links[*link].port)
            }
            DaemonEvent::LeaseRefused => {
                format!("another daemon holds the lease of `{}`; this one only reads ports", self.config.node)
            }
            DaemonEvent::InvalidRecords(count) => {
                format!("ignored {count} invalid records of other nodes")
            }
        }
    }

    fn action_text(&self, link: usize, action: &LinkAction) -> String {
        let direction = self.direction(link);
        match action {
            LinkAction::Protect { copies } => {
                format!("{direction}: protected with {copies} copies per retransmission")
            }
            LinkAction::Nothing => format!("{direction}: not protected"),
            LinkAction::Decline { reason } => format!("{direction}: {reason}"),
        }
    }

    fn direction(&self, link: usize) -> String {
        format!("{} to {}", self.config.links[link].port, self.config.links[link].peer)
    }
}

fn log_verdict(node: &str, port: &str, verdict: &LinkVerdict, text: &str) {
    match verdict {
        LinkVerdict::Raised(estimate) => {
            let (loss, errors, frames) = (estimate.loss, estimate.errors, estimate.frames);
            warn!(event = "verdict", node, port, corrupting = true, loss, errors, frames, "{text}");
        }
        LinkVerdict::Moved(estimate) => {
            let (loss, errors, frames) = (estimate.loss, estimate.errors, estimate.frames);
            info!(event = "verdict", node, port, corrupting = true, loss, errors, frames, "{text}");
        }
        LinkVerdict::Cleared { clean_frames } => {
            info!(event = "verdict", node, port, corrupting = false, frames = clean_frames, "{text}");
        }
    }
}

/// Copies per retransmission; 0 without protection.
fn copies(action: &LinkAction) -> u8 {
    if let LinkAction::Protect { copies } = action { *copies } else { 0 }
}

/// Describes a verdict as text.
pub fn verdict_text(port: &impl Display, verdict: &LinkVerdict) -> String {
    match verdict {
        LinkVerdict::Raised(loss) => {
            let (errors, frames) = (loss.errors, loss.frames);
            format!("{port}: corrupts: {errors} of {frames} frames corrupted (loss {:.1e})", loss.loss)
        }
        LinkVerdict::Moved(loss) => format!("{port}: loss is now {:.1e}", loss.loss),
        LinkVerdict::Cleared { clean_frames } => {
            format!("{port}: clean after {clean_frames} frames without an error")
        }
    }
}

/// Describes a forecast as text.
pub fn forecast_text(port: &impl Display, change: &ForecastChange) -> String {
    match change {
        ForecastChange::Raised(forecast) => format!(
            "{port}: will corrupt: FEC counters of {} codewords predict a loss of {:.1e}",
            forecast.codewords, forecast.frame_loss
        ),
        ForecastChange::Cleared(forecast) => {
            format!("{port}: predicted loss fell to {:.1e}", forecast.frame_loss)
        }
    }
}

/// Describes a verdict as JSON.
pub fn verdict_json(verdict: &LinkVerdict) -> Value {
    let loss = match verdict {
        LinkVerdict::Raised(loss) | LinkVerdict::Moved(loss) => Some(*loss),
        LinkVerdict::Cleared { .. } => None,
    };
    json!({ "event": "verdict", "corrupting": loss })
}

/// Describes a forecast as JSON.
pub fn forecast_json(change: &ForecastChange) -> Value {
    let (ForecastChange::Raised(forecast) | ForecastChange::Cleared(forecast)) = change;
    let raised = matches!(change, ForecastChange::Raised(_));
    json!({ "event": "forecast", "raised": raised, "forecast": forecast })
}

/// The log of a planner.
pub(super) struct PlannerLog<'a> {
    fabric: &'a NamedFabric,
}

impl<'a> PlannerLog<'a> {
    pub(super) fn new(fabric: &'a NamedFabric) -> Self {
        Self { fabric }
    }

    pub(super) fn write(&self, events: &[PlannerEvent]) {
        for event in events {
            let text = self.text(event);
            match event {
                PlannerEvent::Leading => info!(event = "leading", "{text}"),
                PlannerEvent::Following => info!(event = "following", "{text}"),
                PlannerEvent::Advised { link, action, reason } => {
                    let link = self.fabric.tiers().link_name(*link);
                    info!(event = "advised", link, action = action.name(), reason, "{text}");
                }
                PlannerEvent::Halted(reason) => error!(event = "halted", reason, "{text}"),
                PlannerEvent::Distrusted(node) => {
                    error!(event = "distrusted", node = node.as_str(), "{text}");
                }
                PlannerEvent::NodeSilent { node, silent: true } => {
                    warn!(event = "node_silent", node = node.as_str(), silent = true, "{text}");
                }
                PlannerEvent::NodeSilent { node, silent: false } => {
                    info!(event = "node_silent", node = node.as_str(), silent = false, "{text}");
                }
                PlannerEvent::Released => info!(event = "released", "{text}"),
            }
        }
    }

    fn text(&self, event: &PlannerEvent) -> String {
        match event {
            PlannerEvent::Leading => "this planner is the leader".to_owned(),
            PlannerEvent::Following => "another planner is the leader; this one waits".to_owned(),
            PlannerEvent::Advised { link, action, reason } => {
                let name = self.fabric.tiers().link_name(*link).replace(' ', " - ");
                let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                format!("{name}: {}{because}", action.name())
            }
            PlannerEvent::Halted(reason) => format!("HALTED: {reason}"),
            PlannerEvent::Distrusted(node) => format!(
                "DISTRUSTED: {node} reported too many failures: check its counters, then run `wiremend monitor release`"
            ),
            PlannerEvent::NodeSilent { node, silent: true } => {
                format!("{node}: its daemon is silent; its observations have expired")
            }
            PlannerEvent::NodeSilent { node, silent: false } => format!("{node}: its daemon reports again"),
            PlannerEvent::Released => "an operator released the halt".to_owned(),
        }
    }
}
