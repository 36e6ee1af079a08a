//! Examples run, and fuzz targets compile.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::runner;
use crate::process;
use crate::shell::{self, call, command};

/// Time limit of an example. The longest takes a few seconds.
const EXAMPLE_TIME_MAX: Duration = Duration::from_mins(15);

/// Runs every example of the workspace in an empty directory.
pub(super) fn run() -> Result<()> {
    shell::run(&mut command(runner::BUILD))?;
    let target = shell::target_dir()?;
    let metadata = shell::metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let examples: Vec<_> = packages.iter().flat_map(examples_of).collect();
    ensure!(!examples.is_empty(), "no examples");
    let folder = target.join("examples");
    for example in examples {
        let program = target.join("test-release/examples").join(&example);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        let output = process::output_within(call(&program, "").current_dir(&folder), EXAMPLE_TIME_MAX)?;
        ensure!(output.status.success(), "`{example}` failed ({})", output.status);
        println!("{example}: {} lines", String::from_utf8_lossy(&output.stdout).lines().count());
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove `{}`", folder.display()))?;
    }
    Ok(())
}

fn examples_of(package: &Value) -> Vec<String> {
    let targets = package["targets"].as_array().into_iter().flatten();
    let examples = targets.filter(|target| target["kind"][0] == "example");
    examples.filter_map(|target| Some(target["name"].as_str()?.to_owned())).collect()
}

/// Compiles the fuzz targets, which are a separate workspace because fuzzing instruments all its crates.
pub(super) fn check_fuzzers() -> Result<()> {
    let mut cargo = command("cargo check --quiet --locked --bins --manifest-path fuzz/Cargo.toml");
    // Nothing is linked, so libFuzzer, which is C++, is not compiled.
    let target = shell::target_dir()?.join("fuzz");
    cargo.env("CUSTOM_LIBFUZZER_PATH", target.join("libfuzzer.a")).arg("--target-dir").arg(target);
    shell::run(&mut cargo)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn examples_are_selected_from_the_targets() {
        let targets = json!([{ "kind": ["lib"], "name": "a" }, { "kind": ["example"], "name": "b" }]);
        assert_eq!(examples_of(&json!({ "targets": targets })), ["b"]);
    }
}
