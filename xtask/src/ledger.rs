//! `cargo xtask ledger`: measures claims in full and writes `docs/validation`. The quick check of `cargo
//! xtask test` compares its verdicts with `docs/validation/ledger.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process;
use crate::shell::{self, call};

/// Pages, results and figures, from the top of the repository.
const PAGES: &str = "docs/validation";
const LEDGER: &str = "docs/validation/ledger.json";
const FIGURES: &str = "docs/validation/images";
/// The command that corrects the results.
const REMEDY: &str =
    "`cargo xtask ledger` measures all claims in full, `cargo xtask ledger ID…` some of them";

/// Measures all claims, or those named, in full; replaces results, figures and pages. Continues after an
/// interruption. With `--quick` results have quick effort, and replace only those by older criteria.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (is_quick, ids) = match args {
        [flag, ids @ ..] if flag == "--quick" => (true, ids),
        ids => (false, ids),
    };
    let program = shell::build("release")?;
    let directory = shell::target_dir()?.join("ledger");
    let mut repro = call(&program, "repro --out");
    repro.arg(&directory);
    if ids.is_empty() {
        repro.arg("--all");
    } else {
        repro.args(ids);
    }
    if !ids.is_empty() || is_quick {
        repro.arg("--merge").arg(shell::root().join(LEDGER));
    }
    if is_quick {
        repro.arg("--quick");
    }
    let status = repro.status().context("cannot start the program")?;
    // Status 1: the program ran, and a claim is not reproduced. The pages show it.
    ensure!(matches!(status.code(), Some(0 | 1)), "`{}` failed ({status})", shell::line(&repro));
    let ledger: Value = serde_json::from_str(&fs::read_to_string(directory.join("ledger.json"))?)?;
    let is_new = |claim: &Value| {
        claim["origin"]["version"] == ledger["version"] && claim["origin"]["command"] == ledger["command"]
    };
    replace_figures(&directory.join("images"), &figures(&ledger, is_new)?, &figures(&ledger, |_| true)?)?;
    fs::copy(directory.join("ledger.json"), shell::root().join(LEDGER)).context(LEDGER)?;
    write_pages(&program)?;
    println!("{PAGES}, and {}", directory.join("gallery.html").display());
    Ok(())
}

/// Writes the pages from the committed results, without a measurement.
pub(crate) fn run_pages() -> Result<()> {
    write_pages(&shell::build("dev")?)?;
    println!("{PAGES}");
    Ok(())
}

/// Removes all pages and has the program write them again.
fn write_pages(program: &Path) -> Result<()> {
    let directory = shell::root().join(PAGES);
    for entry in fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension() == Some("md".as_ref()) {
            fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
        }
    }
    let mut repro = call(program, "repro --pages");
    shell::run(repro.arg(shell::root().join(LEDGER)).arg("--out").arg(&directory))
}

/// Copies the figures `drawn` from `directory`, and removes those that are not in `names`.
fn replace_figures(directory: &Path, drawn: &BTreeSet<String>, names: &BTreeSet<String>) -> Result<()> {
    let figures = shell::root().join(FIGURES);
    fs::create_dir_all(&figures).with_context(|| format!("cannot create `{FIGURES}`"))?;
    for entry in fs::read_dir(&figures)? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| names.contains(name)) {
            fs::remove_file(entry.path()).context("cannot remove an old figure")?;
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

/// Time limit of the quick runs of all claims. They take less than two minutes on two cores.
const QUICK_TIME_MAX: Duration = Duration::from_hours(1);

/// Claims that time the kernel of this machine: their figures depend on its speed and load, so `cargo xtask lab`
/// judges them.
pub(crate) const REAL_TIME: &[&str] = &["W4", "W7", "W8", "W9"];

/// Claims whose misses are rare events, quantiles or maxima, which the few flows of a quick run do not have.
const RARE: &[&str] = &["J16", "L12", "D5", "V3"];

/// Measures all simulated claims with quick effort. Each must have its committed verdict.
pub(crate) fn check(program: &Path) -> Result<()> {
    compare(program, |id| !REAL_TIME.contains(&id))
}

/// Measures some of the committed claims with quick effort and compares their verdicts.
pub(crate) fn compare(program: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
    let text =
        fs::read_to_string(shell::root().join(LEDGER)).with_context(|| format!("{LEDGER}; {REMEDY}"))?;
    let committed: Value = serde_json::from_str(&text).context(LEDGER)?;
    let mut committed = verdicts(&committed)?;
    committed.retain(|id, _| is_wanted(id));
    let quick = verdicts(&quick_ledger(call(program, "repro --quick --json").args(committed.keys()))?)?;
    for (id, (verdict, why)) in &quick {
        println!(
            "{id:<4} {verdict}{}",
            if verdict == "reproduced" { String::new() } else { format!(": {why}") }
        );
    }
    let wrong = differences(&quick, &committed);
    for line in &wrong {
        println!("{line}");
    }
    ensure!(wrong.is_empty(), "{} verdicts differ from {LEDGER}", wrong.len());
    Ok(())
}

/// The JSON that the program prints, whether or not all claims are reproduced.
fn quick_ledger(command: &mut Command) -> Result<Value> {
    let output = process::output_within(command, QUICK_TIME_MAX)?;
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "`{}` failed ({})",
        shell::line(command),
        output.status
    );
    serde_json::from_slice(&output.stdout).context("the ledger as JSON")
}

/// Verdict and reason by claim.
type Verdicts = BTreeMap<String, (String, String)>;

fn verdicts(ledger: &Value) -> Result<Verdicts> {
    let claims = ledger["claims"].as_array().context("a ledger without claims")?;
    ensure!(!claims.is_empty(), "a ledger without claims");
    let text = |claim: &Value, field: &str| {
        claim[field].as_str().map(str::to_owned).with_context(|| format!("a claim without {field}"))
    };
    claims
        .iter()
        .map(|claim| Ok((text(claim, "id")?, (text(claim, "verdict")?, text(claim, "why")?))))
        .collect()
}

/// One line for each claim whose quick verdict differs from the committed one.
fn differences(quick: &Verdicts, committed: &Verdicts) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, (verdict, why)) in quick {
        match committed.get(id) {
            None => wrong.push(format!("{id}: missing in {LEDGER}; {REMEDY}")),
            Some((known, _)) if known == "not reproduced" && RARE.contains(&id.as_str()) => {}
            Some((known, _)) if known != verdict => {
                wrong.push(format!("{id}: `{known}` in {LEDGER}, `{verdict}` in a quick run ({why})"));
            }
            Some(_) => {}
        }
    }
    let unknown = committed.keys().filter(|id| !quick.contains_key(*id));
    wrong.extend(unknown.map(|id| format!("{id}: in {LEDGER}, but the program has no such claim; {REMEDY}")));
    wrong
}

/// File names of the figures of the claims that `wanted` selects.
fn figures(ledger: &Value, wanted: impl Fn(&Value) -> bool) -> Result<BTreeSet<String>> {
    let claims = ledger["claims"].as_array().context("a ledger without claims")?;
    let claims = claims.iter().filter(|claim| wanted(claim));
    let mut names = BTreeSet::new();
    for figure in claims.flat_map(|claim| claim["figures"].as_array().into_iter().flatten()) {
        let name = figure["name"].as_str().context("a figure without a name")?;
        ensure!(names.insert(format!("{name}.svg")), "two figures are called `{name}`");
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ledger(claims: &[(&str, &str)]) -> Verdicts {
        let claims: Vec<_> = claims
            .iter()
            .map(|(id, verdict)| json!({ "id": id, "verdict": verdict, "why": "reason" }))
            .collect();
        super::verdicts(&json!({ "claims": claims })).unwrap()
    }

    #[test]
    fn equal_verdicts_pass() {
        let claims = ledger(&[("V1", "reproduced"), ("J8", "differs"), ("X1", "reproduced")]);
        assert!(differences(&claims, &claims).is_empty());
    }

    #[test]
    fn each_difference_gives_one_line() {
        let committed = ledger(&[
            ("V1", "reproduced"),
            ("J8", "differs"),
            ("X1", "not reproduced"),
            ("J16", "not reproduced"),
        ]);
        let quick = ledger(&[
            ("J16", "reproduced"),
            ("V1", "differs"),
            ("V2", "reproduced"),
            ("X1", "not reproduced"),
        ]);
        assert_eq!(
            differences(&quick, &committed),
            [
                format!("V1: `reproduced` in {LEDGER}, `differs` in a quick run (reason)"),
                format!("V2: missing in {LEDGER}; {REMEDY}"),
                format!("J8: in {LEDGER}, but the program has no such claim; {REMEDY}"),
            ]
        );
    }

    #[test]
    fn a_ledger_without_claims_fails() {
        assert!(super::verdicts(&json!({ "claims": [] })).is_err());
        assert!(super::verdicts(&json!({ "claims": [{ "id": "V1" }] })).is_err());
    }

    #[test]
    fn two_figures_with_the_same_name_fail() {
        let claim = json!({ "figures": [{ "name": "v1" }] });
        let names = figures(&json!({ "claims": [claim] }), |_| true).unwrap();
        assert_eq!(names, BTreeSet::from(["v1.svg".to_owned()]));
        assert!(figures(&json!({ "claims": [claim, claim] }), |_| true).is_err());
    }
}
