//! `wiremend list`: built-in scenarios, flow-size tables and recovery schemes.

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

pub(super) fn run(args: &List) -> Result<Answer, Failure> {
    let listed = Listed {
        scenarios: builtin::list().into_iter().map(|(name, title)| Line { name, what: title }).collect(),
        sizes: WORKLOADS.iter().map(|table| Line { name: table.name, what: table.what.to_owned() }).collect(),
        recovery: Recovery::ALL.iter().map(recovery).collect(),
    };
    if args.json {
        let json = serde_json::to_string_pretty(&listed).expect("a list is plain values");
        terminal::print(&format!("{json}\n"))?;
        return Ok(Answer::Yes);
    }
    let mut text = String::new();
    section(&mut text, "Scenarios (wiremend run NAME, wiremend show NAME)", &listed.scenarios);
    section(&mut text, "\nFlow-size tables (sizes = \"NAME\")", &listed.sizes);
    section(&mut text, "\nLoss recovery (transport.recovery = \"NAME\")", &listed.recovery);
    terminal::print(&text)?;
    Ok(Answer::Yes)
}

/// A recovery scheme: its name, behaviour, and the conditions under which it is best.
fn recovery(scheme: &Recovery) -> Line {
    let [name, behaviour, best] = scheme.description();
    Line { name, what: format!("{behaviour}; best when {best}") }
}

fn section(text: &mut String, heading: &str, lines: &[Line]) {
    use std::fmt::Write as _;
    let width = lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "{heading}");
    for Line { name, what } in lines {
        let _ = writeln!(text, "  {name:<width$}  {what}");
    }
}
