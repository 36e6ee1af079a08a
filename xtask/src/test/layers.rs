//! Dependencies between crates match the table of `ARCHITECTURE.md`, and each crate uses only crates above it
//! there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell;

/// Entry of a row that uses all crates above it.
const ALL_ABOVE: &str = "all above";
/// Crate that tests of any crate may use.
const TESTS_MAY_USE: &str = "testkit";

/// The crates that each crate uses.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Compares the manifests with the table.
pub(super) fn check() -> Result<()> {
    let page =
        fs::read_to_string(shell::root().join("ARCHITECTURE.md")).context("cannot read ARCHITECTURE.md")?;
    let wrong = differences(&page, &graph(&shell::metadata()?)?);
    for line in &wrong {
        println!("{line}");
    }
    ensure!(wrong.is_empty(), "{} differences between manifests and ARCHITECTURE.md", wrong.len());
    Ok(())
}

/// Dependencies in the manifests. Crates have the names of their folders, as in the table.
fn graph(metadata: &Value) -> Result<Graph> {
    let mut graph = Graph::new();
    for package in metadata["packages"].as_array().context("cargo metadata without packages")? {
        let name = package["name"].as_str().context("a package without name")?;
        let mut uses = BTreeSet::new();
        for dependency in package["dependencies"].as_array().context("a package without dependencies")? {
            // Only workspace crates have a path; the kind of a normal dependency is null.
            let used = short(dependency["name"].as_str().unwrap_or_default());
            let is_for_tests = dependency["kind"] == "dev" && used == TESTS_MAY_USE;
            if dependency["path"].is_string() && !is_for_tests {
                uses.insert(used.to_owned());
            }
        }
        graph.insert(short(name).to_owned(), uses);
    }
    Ok(graph)
}

fn short(package: &str) -> &str {
    if package == "wiremend" { "cli" } else { package.strip_prefix("wiremend-").unwrap_or(package) }
}

/// Differences, one line each.
fn differences(page: &str, graph: &Graph) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut above: Vec<&str> = Vec::new();
    for (name, uses) in rows(page) {
        let Some(actual) = graph.get(name) else {
            wrong.push(format!("`{name}` is in the table but is not a crate"));
            continue;
        };
        let named: BTreeSet<_> = uses.split(", ").filter(|used| !used.is_empty()).collect();
        for used in actual {
            if uses != ALL_ABOVE && !named.contains(&**used) {
                wrong.push(format!("`{name}` uses `{used}`, which is not in its row"));
            } else if !above.contains(&&**used) {
                wrong.push(format!("`{name}` uses `{used}`, which is not above it"));
            }
        }
        let unused = named.iter().filter(|used| **used != ALL_ABOVE && !actual.contains(**used));
        wrong.extend(unused.map(|used| format!("`{name}` does not use `{used}`, which is in its row")));
        above.push(name);
    }
    let missing = graph.keys().filter(|name| !above.contains(&name.as_str()));
    wrong.extend(missing.map(|name| format!("`{name}` is not in the table of crates")));
    wrong
}

/// Name and uses of each row `| name | what it is | uses |`, with the name in backquotes.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let table = page.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let row = |line| {
        let cells: Vec<_> = str::split(line, '|').map(str::trim).collect();
        let [_, name, _, uses, _] = cells[..] else { return None };
        Some((name.strip_prefix('`')?.strip_suffix('`')?, uses))
    };
    table.map_while(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PAGE: &str = "\
text
| crate | what it is | uses |
|---|---|---|
| `units` | numbers | |
| `wire` | bytes | units |
| `cli` | commands | all above |

| other | table |
";

    fn graph_of(pairs: &[(&str, &[&str])]) -> Graph {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        pairs.iter().map(|(name, uses)| ((*name).to_owned(), owned(uses))).collect()
    }

    #[test]
    fn a_correct_table_passes() {
        let graph = graph_of(&[("units", &[]), ("wire", &["units"]), ("cli", &["wire"])]);
        assert_eq!(differences(PAGE, &graph), [""; 0]);
    }

    #[test]
    fn differences_to_the_table_are_reported() {
        let graph = graph_of(&[("units", &["wire"]), ("wire", &[]), ("cli", &[]), ("new", &[])]);
        assert_eq!(
            differences(PAGE, &graph),
            [
                "`units` uses `wire`, which is not in its row",
                "`wire` does not use `units`, which is in its row",
                "`new` is not in the table of crates",
            ]
        );
    }

    #[test]
    fn a_crate_uses_only_those_above_it() {
        let page = PAGE.replace("| numbers | |", "| numbers | wire |");
        let graph = graph_of(&[("units", &["wire"]), ("wire", &["units"]), ("cli", &[])]);
        assert_eq!(differences(&page, &graph), ["`units` uses `wire`, which is not above it"]);
    }

    #[test]
    fn tests_may_use_the_test_kit() {
        let package = |kind: Value| {
            let inside = json!({"name": "wiremend-testkit", "kind": kind, "path": "crates/testkit"});
            json!({"packages": [{"name": "wiremend-sim", "dependencies": [json!({"name": "serde"}), inside]}]})
        };
        assert!(graph(&package(json!("dev"))).unwrap()["sim"].is_empty());
        assert!(graph(&package(Value::Null)).unwrap()["sim"].contains("testkit"));
    }
}
