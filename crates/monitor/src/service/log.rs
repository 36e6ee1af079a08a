//! What a service says while it runs, to people or to programs.

use std::fmt::Display;

use serde_json::{Value, json};

use crate::bus::Doing;
use crate::config::Config;
use crate::control::{ControlEvent, Topology};
use crate::daemon::Event;
use crate::detector::Verdict;
use crate::foresight::Foreseen;
use crate::name::Name;

/// Who is told what happens.
#[derive(Clone, Copy)]
pub enum Log<'a> {
    /// People: a line each.
    Text(&'a dyn Fn(&str)),
    /// Programs: an object each.
    Json(&'a dyn Fn(Value)),
}

/// What the daemon of a node says.
pub(super) struct NodeLog<'a> {
    config: &'a Config,
    log: Log<'a>,
}

impl<'a> NodeLog<'a> {
    pub(super) fn new(config: &'a Config, log: Log<'a>) -> Self {
        Self { config, log }
    }

    pub(super) fn say(&self, events: &[Event]) {
        for event in events {
            match self.log {
                Log::Text(say) => say(&self.text(event)),
                Log::Json(say) => say(self.of_node(self.json(event))),
            }
        }
    }

    /// Says something that is about no link.
    pub(super) fn remark(&self, text: &str) {
        match self.log {
            Log::Text(say) => say(text),
            Log::Json(say) => say(self.of_node(json!({ "event": "remark", "text": text }))),
        }
    }

    fn of_node(&self, mut value: Value) -> Value {
        value["node"] = json!(self.config.node);
        value
    }

    fn json(&self, event: &Event) -> Value {
        let port = |link: &usize| &self.config.links[*link].port;
        match event {
            Event::Saw { link, verdict } => of_port(verdict_json(verdict), port(link)),
            Event::Foresaw { link, foreseen } => of_port(foreseen_json(foreseen), port(link)),
            Event::Did { link, doing } => json!({ "event": "did", "port": port(link), "doing": doing }),
            Event::Failed { link, why } => json!({ "event": "failed", "port": port(link), "why": why }),
            Event::Ousted => json!({ "event": "ousted" }),
            Event::Nonsense(count) => json!({ "event": "nonsense", "count": count }),
        }
    }

    fn text(&self, event: &Event) -> String {
        match event {
            Event::Saw { link, verdict } => verdict_text(&self.config.links[*link].port, verdict),
            Event::Foresaw { link, foreseen } => foreseen_text(&self.config.links[*link].port, foreseen),
            Event::Did { link, doing } => self.did(*link, doing),
            Event::Failed { link, why } => format!("{}: nothing was done: {why}", self.sent(*link)),
            Event::Ousted => {
                format!("another daemon speaks for `{}`; this one only watches", self.config.node)
            }
            Event::Nonsense(count) => format!("{count} others say what makes no sense; it is ignored"),
        }
    }

    fn did(&self, link: usize, doing: &Doing) -> String {
        let sent = self.sent(link);
        match doing {
            Doing::Protects { copies } => format!("{sent}: protected, {copies} copies of what is lost"),
            Doing::Nothing => format!("{sent}: let be"),
            Doing::Abstains { why } => format!("{sent}: {why}"),
        }
    }

    fn sent(&self, link: usize) -> String {
        format!("{} to {}", self.config.links[link].port, self.config.links[link].peer)
    }
}

/// What a port sees.
pub fn verdict_text(port: &impl Display, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Raised(loss) => {
            let (errors, frames) = (loss.errors, loss.frames);
            format!("{port}: corrupts, {errors} of {frames} frames arrived broken ({:.1e})", loss.loss)
        }
        Verdict::Moved(loss) => format!("{port}: now loses {:.1e}", loss.loss),
        Verdict::Cleared { clean_frames } => {
            format!("{port}: clean, {clean_frames} frames without an error")
        }
    }
}

/// What is to come at a port.
pub fn foreseen_text(port: &impl Display, foreseen: &Foreseen) -> String {
    match foreseen {
        Foreseen::Raised(forecast) => format!(
            "{port}: will corrupt; error correction of {} codewords lets expect a loss of {:.1e}",
            forecast.codewords, forecast.frame_loss
        ),
        Foreseen::Cleared(forecast) => {
            format!("{port}: no more to be expected than {:.1e}", forecast.frame_loss)
        }
    }
}

/// What a port sees, for programs.
pub fn verdict_json(verdict: &Verdict) -> Value {
    let loss = match verdict {
        Verdict::Raised(loss) | Verdict::Moved(loss) => Some(*loss),
        Verdict::Cleared { .. } => None,
    };
    json!({ "event": "saw", "corrupting": loss })
}

/// What is to come at a port, for programs.
pub fn foreseen_json(foreseen: &Foreseen) -> Value {
    let (Foreseen::Raised(forecast) | Foreseen::Cleared(forecast)) = foreseen;
    let raised = matches!(foreseen, Foreseen::Raised(_));
    json!({ "event": "foresaw", "raised": raised, "forecast": forecast })
}

fn of_port(mut value: Value, port: &Name) -> Value {
    value["port"] = json!(port);
    value
}

/// What a planner says.
pub(super) struct PlannerLog<'a> {
    topology: &'a Topology,
    log: Log<'a>,
}

impl<'a> PlannerLog<'a> {
    pub(super) fn new(topology: &'a Topology, log: Log<'a>) -> Self {
        Self { topology, log }
    }

    pub(super) fn say(&self, events: &[ControlEvent]) {
        for event in events {
            match self.log {
                Log::Text(say) => say(&self.text(event)),
                Log::Json(say) => say(self.json(event)),
            }
        }
    }

    pub(super) fn remark(&self, text: &str) {
        match self.log {
            Log::Text(say) => say(text),
            Log::Json(say) => say(json!({ "event": "remark", "text": text })),
        }
    }

    fn text(&self, event: &ControlEvent) -> String {
        match event {
            ControlEvent::Leads => "this planner leads".to_owned(),
            ControlEvent::Follows => "another planner leads; this one waits".to_owned(),
            ControlEvent::Advised { link, action, why } => {
                let name = self.topology.tiers().link_name(*link).replace(' ', " - ");
                let because = if why.is_empty() { String::new() } else { format!(": {why}") };
                format!("{name}: {}{because}", action.name())
            }
            ControlEvent::Halted(why) => format!("STOPPED: {why}"),
            ControlEvent::Released => "goes on: somebody said so".to_owned(),
        }
    }

    fn json(&self, event: &ControlEvent) -> Value {
        match event {
            ControlEvent::Leads => json!({ "event": "leads" }),
            ControlEvent::Follows => json!({ "event": "follows" }),
            ControlEvent::Advised { link, action, why } => {
                let name = self.topology.tiers().link_name(*link);
                json!({ "event": "advised", "link": name, "action": action, "why": why })
            }
            ControlEvent::Halted(why) => json!({ "event": "halted", "why": why }),
            ControlEvent::Released => json!({ "event": "released" }),
        }
    }
}
