//! `wiremend monitor explain`: the cause of a slow link.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_monitor::{
    CounterGrowth, Explanation, LinkSide, LossEstimate, SlowLinkCause, Thresholds, explain,
};

use super::records::{Port, Readings, check_growth, read, shown};
use crate::args::monitor::MonitorExplain;
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(args: &MonitorExplain) -> Result<Answer, Failure> {
    let thresholds = Thresholds { loss: args.threshold, ..Thresholds::default() };
    thresholds.check().map_err(|error| Failure::Input(format!("--threshold: {error}")))?;
    let readings = read(&args.files)?;
    let links = links(&args.links, &readings)?;
    let growth =
        |port: &Port| CounterGrowth::over(readings[port].iter().map(|(at, snapshot)| (*at, snapshot)));
    let explained: Vec<Explained> = links
        .into_iter()
        .map(|(a, b)| {
            let explanation = explain(&growth(&a), &growth(&b), &thresholds);
            Explained { a: shown(&a), b: shown(&b), explanation }
        })
        .collect();
    let text = if args.json { format!("{:#}\n", json(&explained)) } else { text(&explained) };
    terminal::print(&text)?;
    let healthy = explained.iter().all(|link| link.explanation.cause == SlowLinkCause::Healthy);
    Ok(if healthy { Answer::Yes } else { Answer::No })
}

struct Explained {
    a: String,
    b: String,
    explanation: Explanation,
}

impl Explained {
    fn name(&self, end: LinkSide) -> &str {
        match end {
            LinkSide::A => &self.a,
            LinkSide::B => &self.b,
        }
    }
}

fn links(args: &[String], readings: &Readings) -> Result<Vec<(Port, Port)>, Failure> {
    let links = if args.is_empty() { vec![only_two(readings)?] } else { named(args, readings)? };
    for (a, b) in &links {
        for port in [a, b] {
            check_growth(port, &readings[port])?;
        }
    }
    Ok(links)
}

fn only_two(readings: &Readings) -> Result<(Port, Port), Failure> {
    let ports: Vec<&Port> = readings.keys().collect();
    let [a, b] = ports[..] else {
        let names: Vec<String> = ports.iter().take(8).map(|port| shown(port)).collect();
        return Err(Failure::Input(format!(
            "{} ports ({}{}) instead of the two ends of a link; name the links with --link NODE:PORT=NODE:PORT",
            ports.len(),
            names.join(", "),
            if ports.len() > names.len() { ", …" } else { "" },
        )));
    };
    Ok((a.clone(), b.clone()))
}

fn named(args: &[String], readings: &Readings) -> Result<Vec<(Port, Port)>, Failure> {
    let names: Vec<String> = readings.keys().map(shown).collect();
    let port = |link: &str, name: &str| {
        let found = readings.keys().find(|port| shown(port) == name).cloned();
        found.ok_or_else(|| {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            Failure::Input(format!("--link {link}: {}", wiremend_units::unknown_name("port", name, &known)))
        })
    };
    args.iter()
        .map(|link| {
            let (a, b) = link.split_once('=').filter(|(a, b)| a != b).ok_or_else(|| {
                Failure::Input(format!(
                    "--link {link}: write NODE:PORT=NODE:PORT, such as leaf-1:eth0=spine-3:eth7"
                ))
            })?;
            Ok((port(link, a)?, port(link, b)?))
        })
        .collect()
}

fn text(links: &[Explained]) -> String {
    let mut text = String::new();
    for link in links {
        let Explanation { cause, reasons, loss_to_a, loss_to_b } = &link.explanation;
        let _ = writeln!(text, "{} - {}: {cause}", link.a, link.b);
        for reason in reasons {
            let _ = writeln!(text, "  {:<13} at {}: {}", reason.cause, link.name(reason.end), reason.text);
        }
        for (end, loss) in [(LinkSide::B, loss_to_b), (LinkSide::A, loss_to_a)] {
            let _ = writeln!(text, "  {:<13} to {}: {}", "loss", link.name(end), lost(loss.as_ref()));
        }
    }
    text
}

fn lost(loss: Option<&LossEstimate>) -> String {
    match loss {
        None => "unknown; this end does not count bad frames".to_owned(),
        Some(LossEstimate { errors: 0, frames, high, .. }) => {
            format!("0 of {frames} frames; at most {high:.1e} with 99 % confidence")
        }
        Some(LossEstimate { errors, frames, loss, low, high }) => {
            format!("{errors} of {frames} frames: {loss:.1e}, between {low:.1e} and {high:.1e}")
        }
    }
}

fn json(links: &[Explained]) -> Value {
    let link = |link: &Explained| {
        json!({
            "a": link.a,
            "b": link.b,
            "cause": link.explanation.cause,
            "reasons": link.explanation.reasons,
            "loss_to_a": link.explanation.loss_to_a,
            "loss_to_b": link.explanation.loss_to_b,
        })
    };
    json!({ "links": links.iter().map(link).collect::<Vec<_>>() })
}
