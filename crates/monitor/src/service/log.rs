//! Log lines of the services, as text or JSON.

use std::fmt::Display;

use serde_json::{Value, json};

use crate::config::DaemonConfig;
use crate::daemon_event::DaemonEvent;
use crate::decision::LinkConfig;
use crate::detector::LinkVerdict;
use crate::forecast::ForecastChange;
use crate::name::Name;
use crate::planner::{NamedFabric, PlannerEvent};
use crate::redis::LinkAction;

/// Output of the log.
#[derive(Clone, Copy)]
pub enum Log<'a> {
    /// One line of text per event.
    Text(&'a dyn Fn(&str)),
    /// One JSON object per event.
    Json(&'a dyn Fn(Value)),
}

/// The log of a node's daemon.
pub(super) struct NodeLog<'a> {
    config: &'a DaemonConfig,
    log: Log<'a>,
}

impl<'a> NodeLog<'a> {
    pub(super) fn new(config: &'a DaemonConfig, log: Log<'a>) -> Self {
        Self { config, log }
    }

    pub(super) fn write(&self, events: &[DaemonEvent]) {
        for event in events {
            match self.log {
                Log::Text(write) => write(&self.text(event)),
                Log::Json(write) => write(self.with_node(self.json(event))),
            }
        }
    }

    /// Writes a message that is not about a link.
    pub(super) fn message(&self, text: &str) {
        match self.log {
            Log::Text(write) => write(text),
            Log::Json(write) => write(self.with_node(json!({ "event": "message", "text": text }))),
        }
    }

    fn with_node(&self, mut value: Value) -> Value {
        value["node"] = json!(self.config.node);
        value
    }

    fn json(&self, event: &DaemonEvent) -> Value {
        let port = |link: &usize| &self.config.links[*link].port;
        match event {
            DaemonEvent::VerdictChanged { link, verdict } => with_port(verdict_json(verdict), port(link)),
            DaemonEvent::ForecastChanged { link, change } => with_port(forecast_json(change), port(link)),
            DaemonEvent::Acted { link, action } => {
                json!({ "event": "action", "port": port(link), "action": action })
            }
            DaemonEvent::ActionFailed { link, reason } => {
                json!({ "event": "action_failed", "port": port(link), "reason": reason })
            }
            DaemonEvent::ChangedByHand { link, action, hold } => {
                let hold_s = hold.as_ns() / 1_000_000_000;
                json!({ "event": "changed_by_hand", "port": port(link), "action": action, "hold_s": hold_s })
            }
            DaemonEvent::HoldChanged { link, why } => {
                json!({ "event": "hold", "port": port(link), "why": why })
            }
            DaemonEvent::PeerSilent { link, silent } => {
                let peer = &self.config.links[*link].peer;
                json!({ "event": "peer_silent", "port": port(link), "peer": peer.to_string(), "silent": silent })
            }
            DaemonEvent::PortUnread { link, unread } => {
                json!({ "event": "port_unread", "port": port(link), "unread": unread })
            }
            DaemonEvent::LeaseRefused => json!({ "event": "lease_refused" }),
            DaemonEvent::InvalidRecords(count) => json!({ "event": "invalid_records", "count": count }),
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

fn with_port(mut value: Value, port: &Name) -> Value {
    value["port"] = json!(port);
    value
}

/// The log of a planner.
pub(super) struct PlannerLog<'a> {
    fabric: &'a NamedFabric,
    log: Log<'a>,
}

impl<'a> PlannerLog<'a> {
    pub(super) fn new(fabric: &'a NamedFabric, log: Log<'a>) -> Self {
        Self { fabric, log }
    }

    pub(super) fn write(&self, events: &[PlannerEvent]) {
        for event in events {
            match self.log {
                Log::Text(write) => write(&self.text(event)),
                Log::Json(write) => write(self.json(event)),
            }
        }
    }

    pub(super) fn message(&self, text: &str) {
        match self.log {
            Log::Text(write) => write(text),
            Log::Json(write) => write(json!({ "event": "message", "text": text })),
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

    fn json(&self, event: &PlannerEvent) -> Value {
        match event {
            PlannerEvent::Leading => json!({ "event": "leading" }),
            PlannerEvent::Following => json!({ "event": "following" }),
            PlannerEvent::Advised { link, action, reason } => {
                let name = self.fabric.tiers().link_name(*link);
                json!({ "event": "advised", "link": name, "action": action, "reason": reason })
            }
            PlannerEvent::Halted(reason) => json!({ "event": "halted", "reason": reason }),
            PlannerEvent::Distrusted(node) => json!({ "event": "distrusted", "node": node }),
            PlannerEvent::NodeSilent { node, silent } => {
                json!({ "event": "node_silent", "node": node, "silent": silent })
            }
            PlannerEvent::Released => json!({ "event": "released" }),
        }
    }
}
