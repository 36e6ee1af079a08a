//! `wiremend list`: what there is to run and to choose from.

use serde::Serialize;
use wiremend_fabric::WORKLOADS;
use wiremend_scenario::{Recovery, builtin};

use crate::args::List;
use crate::failure::{Answer, Failure};
use crate::terminal;

#[derive(Serialize)]
struct Listed {
    scenarios: Vec<Line>,
    sizes: Vec<Line>,
    recovery: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    what: String,
}

pub(super) fn run(asked: &List) -> Result<Answer, Failure> {
    let listed = Listed {
        scenarios: builtin::list().into_iter().map(|(name, title)| Line { name, what: title }).collect(),
        sizes: WORKLOADS.iter().map(|table| Line { name: table.name, what: table.what.to_owned() }).collect(),
        recovery: Recovery::ALL.iter().map(recovery).collect(),
    };
    if asked.json {
        let json = serde_json::to_string_pretty(&listed).expect("a list is plain values");
        terminal::print(&format!("{json}\n"))?;
        return Ok(Answer::Yes);
    }
    let mut text = String::new();
    section(&mut text, "Scenarios (wiremend run NAME, wiremend show NAME)", &listed.scenarios);
    section(&mut text, "\nTables of flow sizes (sizes = \"NAME\")", &listed.sizes);
    section(&mut text, "\nLoss recovery (transport.recovery = \"NAME\")", &listed.recovery);
    terminal::print(&text)?;
    Ok(Answer::Yes)
}

/// A scheme, as scenarios call it, and when it wins.
fn recovery(scheme: &Recovery) -> Line {
    let [name, does, wins] = scheme.told();
    Line { name, what: format!("{does}; wins when {wins}") }
}

fn section(text: &mut String, heading: &str, lines: &[Line]) {
    use std::fmt::Write as _;
    let width = lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "{heading}");
    for Line { name, what } in lines {
        let _ = writeln!(text, "  {name:<width$}  {what}");
    }
}
