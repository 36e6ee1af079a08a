//! The direction of the crates: each uses only what lies below it.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell;

/// Each crate of the workspace and the others it may use, from the ground up. What is missing here is not allowed.
const LAYERS: &[(&str, &[&str])] = &[
    ("wiremend-units", &[]),
    ("wiremend-wire", &["wiremend-units"]),
    ("wiremend-impair", &["wiremend-units"]),
    ("wiremend-measure", &["wiremend-units"]),
    ("wiremend-model", &[]),
    ("wiremend-fabric", &["wiremend-units"]),
    ("wiremend-fleet", &["wiremend-units", "wiremend-fabric"]),
    ("wiremend-scenario", &["wiremend-units"]),
    ("wiremend-proto", &["wiremend-units", "wiremend-wire"]),
    ("wiremend-testkit", &["wiremend-units", "wiremend-wire", "wiremend-impair", "wiremend-proto"]),
    (
        "wiremend-sim",
        &[
            "wiremend-units",
            "wiremend-wire",
            "wiremend-impair",
            "wiremend-measure",
            "wiremend-fabric",
            "wiremend-scenario",
            "wiremend-proto",
        ],
    ),
    ("wiremend-dataplane", &["wiremend-units", "wiremend-wire", "wiremend-impair", "wiremend-proto"]),
    ("wiremend-report", &["wiremend-units", "wiremend-measure"]),
    (
        "wiremend-monitor",
        &[
            "wiremend-units",
            "wiremend-measure",
            "wiremend-model",
            "wiremend-fabric",
            "wiremend-fleet",
            "wiremend-dataplane",
        ],
    ),
    (
        "wiremend-runner",
        &[
            "wiremend-units",
            "wiremend-measure",
            "wiremend-fabric",
            "wiremend-fleet",
            "wiremend-scenario",
            "wiremend-sim",
            "wiremend-report",
        ],
    ),
    (
        "wiremend-claims",
        &[
            "wiremend-units",
            "wiremend-wire",
            "wiremend-measure",
            "wiremend-model",
            "wiremend-fabric",
            "wiremend-fleet",
            "wiremend-scenario",
            "wiremend-proto",
            "wiremend-sim",
            "wiremend-report",
            "wiremend-monitor",
            "wiremend-runner",
        ],
    ),
    (
        "wiremend-lab",
        &[
            "wiremend-units",
            "wiremend-wire",
            "wiremend-measure",
            "wiremend-dataplane",
            "wiremend-report",
            "wiremend-monitor",
        ],
    ),
    (
        "wiremend",
        &[
            "wiremend-units",
            "wiremend-wire",
            "wiremend-impair",
            "wiremend-measure",
            "wiremend-model",
            "wiremend-fabric",
            "wiremend-fleet",
            "wiremend-scenario",
            "wiremend-proto",
            "wiremend-sim",
            "wiremend-dataplane",
            "wiremend-report",
            "wiremend-monitor",
            "wiremend-runner",
            "wiremend-claims",
            "wiremend-lab",
        ],
    ),
    ("xtask", &[]),
];

/// For tests of any crate.
const TESTS_MAY_USE: &str = "wiremend-testkit";

/// Compares what the manifests say with [`LAYERS`].
pub(super) fn check() -> Result<()> {
    let wrong = violations(&shell::metadata()?)?;
    if !wrong.is_empty() {
        bail!("{}", wrong.trim_end());
    }
    Ok(())
}

/// What does not fit, one line each.
fn violations(metadata: &Value) -> Result<String> {
    let mut wrong = String::new();
    for package in metadata["packages"].as_array().context("cargo metadata without packages")? {
        let name = package["name"].as_str().context("a package without name")?;
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            writeln!(wrong, "`{name}` has no place among the layers: {} lists them", file!())?;
            continue;
        };
        for dependency in package["dependencies"].as_array().context("a package without dependencies")? {
            // Only crates of the workspace have a path; the normal kind of dependency is null.
            let used = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"] == "dev" && used == TESTS_MAY_USE;
            if dependency["path"].is_string() && !allowed.contains(&used) && !for_tests {
                writeln!(wrong, "`{name}` may not use `{used}`: {} says what it may", file!())?;
            }
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_crate_uses_only_crates_listed_before_it() {
        for (at, (name, allowed)) in LAYERS.iter().enumerate() {
            for used in *allowed {
                assert!(LAYERS[..at].iter().any(|(below, _)| below == used), "{name} uses {used}");
            }
        }
    }

    #[test]
    fn a_dependency_upwards_is_refused() {
        let wrong = violations(&package("wiremend-wire", "wiremend-sim", &Value::Null)).unwrap();
        assert!(wrong.starts_with("`wiremend-wire` may not use `wiremend-sim`: "), "{wrong}");
        assert_eq!(violations(&package("wiremend-sim", "wiremend-wire", &Value::Null)).unwrap(), "");
    }

    #[test]
    fn the_test_kit_is_for_tests() {
        assert_eq!(violations(&package("wiremend-sim", "wiremend-testkit", &json!("dev"))).unwrap(), "");
        assert_ne!(violations(&package("wiremend-sim", "wiremend-testkit", &Value::Null)).unwrap(), "");
    }

    #[test]
    fn a_crate_nobody_placed_is_refused() {
        let wrong = violations(&package("wiremend-new", "wiremend-units", &Value::Null)).unwrap();
        assert!(wrong.starts_with("`wiremend-new` has no place"), "{wrong}");
    }

    fn package(name: &str, uses: &str, kind: &Value) -> Value {
        let outside = json!({"name": "serde", "kind": null});
        let inside = json!({"name": uses, "kind": kind, "path": "crates/x"});
        json!({"packages": [{"name": name, "dependencies": [outside, inside]}]})
    }
}
