//! `wiremend repro`: the ledger of claims.

use std::fmt::Write as _;

use serde_json::json;

use crate::args::Repro;
use crate::claims::{self, Claim, Effort, Finding, Verdict};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

pub(super) fn run(asked: &Repro) -> Result<Answer, Failure> {
    signals::catch()?;
    let chosen = choose(asked)?;
    let effort = if asked.quick { Effort::Quick } else { Effort::Full };
    if chosen.is_empty() {
        terminal::print(&listed(asked.json))?;
        return Ok(Answer::Yes);
    }
    let mut findings = Vec::new();
    for claim in &chosen {
        let finding = (claim.measure)(effort)?;
        if !asked.json {
            terminal::print(&told(claim, &finding))?;
        }
        findings.push(finding);
    }
    if asked.json {
        let claims: Vec<_> =
            chosen.iter().zip(&findings).map(|(claim, finding)| entry(claim, finding)).collect();
        terminal::print(&format!("{:#}\n", json!({ "claims": claims })))?;
    }
    let is_yes = findings.iter().all(|finding| finding.verdict != Verdict::NotReproduced);
    Ok(if is_yes { Answer::Yes } else { Answer::No })
}

fn choose(asked: &Repro) -> Result<Vec<&'static Claim>, Failure> {
    if asked.all {
        return Ok(claims::ALL.iter().collect());
    }
    let find = |id: &String| {
        claims::ALL.iter().find(|claim| claim.id.eq_ignore_ascii_case(id)).ok_or_else(|| {
            let known: Vec<_> = claims::ALL.iter().map(|claim| claim.id).collect();
            Failure::Input(wiremend_scenario::or_nearest("claim", id, &known))
        })
    };
    asked.ids.iter().map(find).collect()
}

fn entry(claim: &Claim, finding: &Finding) -> serde_json::Value {
    json!({
        "id": claim.id,
        "verdict": finding.verdict.name(),
        "paper": claim.paper,
        "measured": finding.measured,
        "why": finding.why,
    })
}

fn listed(is_json: bool) -> String {
    if is_json {
        let claims: Vec<_> = claims::ALL
            .iter()
            .map(|claim| json!({ "id": claim.id, "source": claim.source, "paper": claim.paper }))
            .collect();
        return format!("{:#}\n", json!({ "claims": claims }));
    }
    let mut text = String::from("Claims (wiremend repro ID…, or --all)\n");
    for claim in claims::ALL {
        let _ = writeln!(text, "  {}  {} ({})", claim.id, claim.title, claim.source);
    }
    text
}

fn told(claim: &Claim, finding: &Finding) -> String {
    let width = terminal::stdout().width.min(100);
    let paragraph = |heading: &str, text: &str| {
        let lines = terminal::wrapped(text, width - 12);
        let mut shown = String::new();
        for (number, line) in lines.lines().enumerate() {
            let left = if number == 0 { heading } else { "" };
            let _ = writeln!(shown, "  {left:<8}  {line}");
        }
        shown
    };
    let mut text = format!("{} {}: {}\n", claim.id, claim.title, finding.verdict.name());
    text.push_str(&paragraph("paper", &format!("{} ({})", claim.paper, claim.source)));
    text.push_str(&paragraph("method", claim.method));
    text.push_str(&paragraph("measured", &finding.measured));
    text.push_str(&paragraph("why", &finding.why));
    text.push('\n');
    text
}
