//! `cargo xtask ledger`: measures every claim in full, and writes what came out to `docs/VALIDATION.md`. What a check of the
//! tests holds against that page is here too.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::shell::{self, call};

/// The page, the same for programs, and where its figures are, from the top of the repository.
const PAGE: &str = "docs/VALIDATION.md";
const LEDGER: &str = "docs/ledger.json";
const FIGURES: &str = "docs/images/claims";
/// How to make it.
const REMEDY: &str = "`cargo xtask ledger` measures all claims in full and writes the page, `cargo xtask ledger ID…` some of them";

/// Measures all claims in full, or some, and writes the page and its figures. What was computed before an interruption is not
/// computed again.
pub(crate) fn run(ids: &[String]) -> Result<()> {
    let program = shell::build("release")?;
    let directory = shell::target_dir()?.join("ledger");
    let mut repro = call(&program, "repro --out");
    repro.arg(&directory);
    if ids.is_empty() {
        repro.arg("--all");
    } else {
        repro.args(ids).arg("--merge").arg(shell::root().join(LEDGER));
    }
    let status = repro.status().context("cannot start the program")?;
    // 1: it ran, and a claim is not reproduced. The page says so.
    ensure!(matches!(status.code(), Some(0 | 1)), "`{}` failed ({status})", shell::line(&repro));
    let ledger: Value = serde_json::from_str(&fs::read_to_string(directory.join("ledger.json"))?)?;
    let drawn_now = |claim: &Value| {
        claim["origin"]["version"] == ledger["version"] && claim["origin"]["command"] == ledger["command"]
    };
    replace_figures(
        &directory.join("images/claims"),
        &figures_of(&ledger, drawn_now)?,
        &figures_of(&ledger, |_| true)?,
    )?;
    fs::copy(directory.join("VALIDATION.md"), shell::root().join(PAGE)).context(PAGE)?;
    fs::copy(directory.join("ledger.json"), shell::root().join(LEDGER)).context(LEDGER)?;
    println!("{PAGE}, and {}", directory.join("gallery.html").display());
    ensure!(status.success(), "a claim is not reproduced");
    Ok(())
}

/// Figures that were drawn now take the place of those of before; those that no claim has are removed.
fn replace_figures(directory: &Path, drawn: &[String], names: &[String]) -> Result<()> {
    let figures = shell::root().join(FIGURES);
    fs::create_dir_all(&figures).with_context(|| format!("cannot create `{FIGURES}`"))?;
    for entry in fs::read_dir(&figures)? {
        let entry = entry?;
        if !names.iter().any(|name| entry.file_name().to_str() == Some(name)) {
            fs::remove_file(entry.path()).context("a figure of before")?;
        }
    }
    for name in drawn {
        let from = directory.join(name);
        fs::copy(&from, figures.join(name)).with_context(|| format!("figure `{}`", from.display()))?;
    }
    for name in names {
        ensure!(figures.join(name).exists(), "no figure `{name}`; {REMEDY}");
    }
    Ok(())
}

/// Measures all claims quickly: each must have the verdict that the page gives it, and none may be `not reproduced`.
pub(crate) fn check(program: &Path) -> Result<()> {
    let page = fs::read_to_string(shell::root().join(PAGE)).with_context(|| format!("{PAGE}; {REMEDY}"))?;
    ensure!(
        page.contains(" | full | ") && !page.contains(" | quick | "),
        "{PAGE} is not of a full run; {REMEDY}"
    );
    let quick = verdicts(&quick_ledger(&mut call(program, "repro --all --quick --json"))?)?;
    for (id, (verdict, why)) in &quick {
        println!(
            "{id:<4} {verdict}{}",
            if verdict == "reproduced" { String::new() } else { format!(": {why}") }
        );
    }
    let wrong = differences(&quick, &verdicts_of_page(&page));
    for line in &wrong {
        println!("{line}");
    }
    ensure!(wrong.is_empty(), "{} claims are not as {PAGE} says", wrong.len());
    Ok(())
}

/// What the program prints, whether or not all claims are reproduced.
fn quick_ledger(command: &mut Command) -> Result<Value> {
    let output =
        command.stderr(std::process::Stdio::inherit()).output().context("cannot start the program")?;
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "`{}` failed ({})",
        shell::line(command),
        output.status
    );
    serde_json::from_slice(&output.stdout).context("the ledger as JSON")
}

/// Verdict and reason of each claim.
fn verdicts(ledger: &Value) -> Result<BTreeMap<String, (String, String)>> {
    let claims = ledger["claims"].as_array().context("a ledger without claims")?;
    ensure!(!claims.is_empty(), "a ledger without claims");
    let of = |claim: &Value, field: &str| {
        claim[field].as_str().map(str::to_owned).with_context(|| format!("a claim without {field}"))
    };
    claims.iter().map(|claim| Ok((of(claim, "id")?, (of(claim, "verdict")?, of(claim, "why")?)))).collect()
}

/// The verdicts that the page shows: lines `| [V1](#v1) | reproduced | … |`.
fn verdicts_of_page(page: &str) -> BTreeMap<String, String> {
    let verdict = |line: &str| {
        let (id, rest) = line.strip_prefix("| [")?.split_once("](#")?;
        let (_, rest) = rest.split_once(") | ")?;
        let (verdict, _) = rest.split_once(" | ")?;
        Some((id.to_owned(), verdict.to_owned()))
    };
    page.lines().filter_map(verdict).collect()
}

/// What is wrong with the page, or with the program, one line each.
fn differences(quick: &BTreeMap<String, (String, String)>, page: &BTreeMap<String, String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, (verdict, why)) in quick {
        match page.get(id) {
            None => wrong.push(format!("{id}: missing in {PAGE}; {REMEDY}")),
            Some(shown) if shown != verdict => {
                wrong.push(format!("{id}: {PAGE} says `{shown}`, a quick run says `{verdict}` ({why})"));
            }
            Some(_) if verdict == "not reproduced" => wrong.push(format!("{id}: not reproduced ({why})")),
            Some(_) => {}
        }
    }
    let unknown = page.keys().filter(|id| !quick.contains_key(*id));
    wrong.extend(unknown.map(|id| format!("{id}: in {PAGE}, but no claim of the program; {REMEDY}")));
    wrong
}

/// The files of all figures of these claims.
fn figures_of(ledger: &Value, wanted: impl Fn(&Value) -> bool) -> Result<Vec<String>> {
    let claims = ledger["claims"].as_array().context("a ledger without claims")?;
    let claims = claims.iter().filter(|claim| wanted(claim));
    let figures = claims.flat_map(|claim| claim["figures"].as_array().into_iter().flatten());
    let mut names = Vec::new();
    for figure in figures {
        let name = figure["name"].as_str().context("a figure without a name")?;
        if names.contains(&format!("{name}.svg")) {
            bail!("two figures are called `{name}`");
        }
        names.push(format!("{name}.svg"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SHOWN: &str = "# Page\n\n| command |\n|---|\n| claim | verdict | about |\n| [V1](#v1) | reproduced | livelock |\n\
                         | [J8](#j8) | differs | dummies \\| repeats |\n| [X1](#x1) | not reproduced | odd |\n";

    fn quick(verdicts: &[(&str, &str)]) -> BTreeMap<String, (String, String)> {
        let claims: Vec<_> = verdicts
            .iter()
            .map(|(id, verdict)| json!({ "id": id, "verdict": verdict, "why": "so it is" }))
            .collect();
        super::verdicts(&json!({ "claims": claims })).unwrap()
    }

    #[test]
    fn a_page_that_says_the_same_is_right() {
        let page = verdicts_of_page(&SHOWN.replace("not reproduced", "reproduced"));
        assert!(
            differences(&quick(&[("V1", "reproduced"), ("J8", "differs"), ("X1", "reproduced")]), &page)
                .is_empty()
        );
    }

    #[test]
    fn each_difference_is_one_clear_line() {
        let page = verdicts_of_page(SHOWN);
        let now = quick(&[("V1", "differs"), ("V2", "reproduced"), ("X1", "not reproduced")]);
        let remedy = REMEDY;
        assert_eq!(
            differences(&now, &page),
            [
                "V1: docs/VALIDATION.md says `reproduced`, a quick run says `differs` (so it is)".to_owned(),
                format!("V2: missing in docs/VALIDATION.md; {remedy}"),
                "X1: not reproduced (so it is)".to_owned(),
                format!("J8: in docs/VALIDATION.md, but no claim of the program; {remedy}"),
            ]
        );
    }

    #[test]
    fn a_ledger_of_nothing_does_not_pass() {
        assert!(super::verdicts(&json!({ "claims": [] })).is_err());
        assert!(super::verdicts(&json!({ "claims": [{ "id": "V1" }] })).is_err());
    }

    #[test]
    fn figures_have_names_of_their_own() {
        let claim = json!({ "figures": [{ "name": "v1" }] });
        assert_eq!(figures_of(&json!({ "claims": [claim] }), |_| true).unwrap(), ["v1.svg"]);
        assert!(figures_of(&json!({ "claims": [claim, claim] }), |_| true).is_err());
    }
}
