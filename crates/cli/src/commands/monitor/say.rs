//! What a daemon says on stderr.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wiremend_monitor::bus::Doing;
use wiremend_monitor::{Config, Event, Verdict};

use crate::args::monitor::Log;
use crate::terminal;

/// Says what happens, to people or to programs.
pub(super) struct Voice<'a> {
    config: &'a Config,
    log: Log,
}

impl<'a> Voice<'a> {
    pub(super) fn new(config: &'a Config, log: Log) -> Self {
        Self { config, log }
    }

    pub(super) fn say(&self, events: &[Event]) {
        for event in events {
            match self.log {
                Log::Text => terminal::say(&self.text(event)),
                Log::Json => self.line(self.json(event)),
            }
        }
    }

    /// Says something that is about no link.
    pub(super) fn remark(&self, text: &str) {
        match self.log {
            Log::Text => terminal::say(text),
            Log::Json => self.line(json!({ "event": "remark", "text": text })),
        }
    }

    fn line(&self, mut value: Value) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        value["time_s"] = json!(now.as_secs_f64());
        value["node"] = json!(self.config.node);
        eprintln!("{value}");
    }

    fn json(&self, event: &Event) -> Value {
        let port = |link: &usize| &self.config.links[*link].port;
        match event {
            Event::Saw { link, verdict } => {
                let loss = match verdict {
                    Verdict::Raised(loss) | Verdict::Moved(loss) => Some(*loss),
                    Verdict::Cleared { .. } => None,
                };
                json!({ "event": "saw", "port": port(link), "corrupting": loss })
            }
            Event::Did { link, doing } => json!({ "event": "did", "port": port(link), "doing": doing }),
            Event::Failed { link, why } => json!({ "event": "failed", "port": port(link), "why": why }),
            Event::Ousted => json!({ "event": "ousted" }),
            Event::Nonsense(count) => json!({ "event": "nonsense", "count": count }),
        }
    }

    fn text(&self, event: &Event) -> String {
        match event {
            Event::Saw { link, verdict } => self.saw(*link, verdict),
            Event::Did { link, doing } => self.did(*link, doing),
            Event::Failed { link, why } => format!("{}: nothing was done: {why}", self.sent(*link)),
            Event::Ousted => {
                format!("another daemon speaks for `{}`; this one only watches", self.config.node)
            }
            Event::Nonsense(count) => format!("{count} others say what makes no sense; it is ignored"),
        }
    }

    fn saw(&self, link: usize, verdict: &Verdict) -> String {
        let port = &self.config.links[link].port;
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
