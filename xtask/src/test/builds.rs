//! Checks on the program as it is built: the quick ledger, and the same digests from both ends of optimisation.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::runner;
use crate::ledger;
use crate::shell::{self, call, command};

/// A run with losses, in several variants, short enough for a debug build.
const SMALL_RUN: &str = "run tour --set workload.0.flows=300 --threads 2 --json";

/// Every claim has the verdict that `docs/VALIDATION.md` gives it.
pub(super) fn check_ledger() -> Result<()> {
    ledger::check(&optimised()?)
}

/// A debug build computes what an optimised one does.
pub(super) fn compare_digests() -> Result<()> {
    let optimised = digests_by(&optimised()?)?;
    let debug = digests_by(&shell::build("dev")?)?;
    for (variant, digest) in &optimised {
        println!("{digest} {variant}");
    }
    ensure!(optimised == debug, "the debug build says {debug:?}");
    Ok(())
}

/// The program as the tests were run on it. Building it alone would choose other features of its dependencies, and
/// so compile most of them again.
fn optimised() -> Result<PathBuf> {
    shell::run(&mut command(runner::BUILD))?;
    let program = shell::target_dir()?.join("test-release").join("wiremend");
    ensure!(program.is_file(), "no test of the command line built `{}`", program.display());
    Ok(program)
}

fn digests_by(program: &Path) -> Result<Vec<(String, String)>> {
    let summary = shell::json(&mut call(program, SMALL_RUN))?;
    digests(&summary).with_context(|| format!("summary of `{SMALL_RUN}`"))
}

/// Name and digest of each variant.
fn digests(summary: &Value) -> Result<Vec<(String, String)>> {
    let variants = summary["variants"].as_array().context("no variants")?;
    ensure!(!variants.is_empty(), "no variants");
    let pair = |variant: &Value| {
        Some((variant["name"].as_str()?.to_owned(), variant["digest"].as_str()?.to_owned()))
    };
    variants.iter().map(|variant| pair(variant).context("a variant without name or digest")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digests_are_read_with_the_names_of_their_variants() {
        let summary = json!({"variants": [{"name": "a", "digest": "01"}, {"name": "b", "digest": "02"}]});
        assert_eq!(digests(&summary).unwrap(), [("a".into(), "01".into()), ("b".into(), "02".into())]);
    }

    #[test]
    fn a_summary_without_digests_does_not_pass_as_equal() {
        for summary in [json!({}), json!({"variants": []}), json!({"variants": [{"name": "a"}]})] {
            assert!(digests(&summary).is_err(), "{summary}");
        }
    }
}
