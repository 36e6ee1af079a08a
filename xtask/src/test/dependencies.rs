//! Rules of `deny.toml` for dependencies: licences, sources, and one declaration per dependency.
//!
//! cargo-deny checks them if it is installed, with advisories. It takes minutes to compile, so otherwise the
//! same rules are checked here with `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use toml::Table;

use crate::shell::{self, command};

/// Checks the rules.
pub(super) fn check() -> Result<()> {
    if shell::succeeds(&mut command("cargo deny --version")) {
        return by_cargo_deny();
    }
    let rules = read("deny.toml")?;
    let packages = packages(&rules)?;
    let packages = &packages[..];
    let allowed = rules["licenses"]["allow"].as_array().context("deny.toml allows no licences")?;
    let allowed: Vec<_> = allowed.iter().filter_map(toml::Value::as_str).collect();
    let mut wrong = licences(packages, &allowed);
    wrong.extend(sources(packages));
    wrong.extend(declarations(packages)?);
    for line in &wrong {
        println!("{line}");
    }
    several_versions(packages);
    ensure!(wrong.is_empty(), "{} violations", wrong.len());
    println!("{} packages; advisories are not checked without cargo-deny", packages.len());
    Ok(())
}

/// The packages that our targets need. `cargo tree` selects features by target, `cargo metadata` has the
/// rest.
fn packages(rules: &Table) -> Result<Vec<Value>> {
    let targets = rules["graph"]["targets"].as_array().context("deny.toml names no targets")?;
    let mut needed = BTreeSet::new();
    for target in targets.iter().filter_map(toml::Value::as_str) {
        let line = format!("cargo tree --locked --workspace --all-features --prefix none --target {target}");
        let tree = shell::output(&mut command(&line))?;
        needed.extend(tree.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            Some(format!("{} {}", words.next()?, words.next()?.trim_start_matches('v')))
        }));
    }
    let metadata = shell::json(&mut command("cargo metadata --format-version 1 --locked"))?;
    let all = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let is_needed = |package: &&Value| {
        needed.contains(&format!("{} {}", text(package, "name"), text(package, "version")))
    };
    Ok(all.iter().filter(is_needed).cloned().collect())
}

/// The advisory database needs the network; without it the other rules are checked.
fn by_cargo_deny() -> Result<()> {
    shell::run(&mut command("cargo deny check --hide-inclusion-graph bans licenses sources"))?;
    if !shell::succeeds(&mut command("cargo deny fetch db")) {
        println!("skipped: the advisory database is not reachable");
        return Ok(());
    }
    shell::run(&mut command("cargo deny check advisories"))
}

fn read(path: &str) -> Result<Table> {
    let text = fs::read_to_string(shell::root().join(path)).with_context(|| format!("cannot read {path}"))?;
    text.parse().with_context(|| format!("{path} is not TOML"))
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

/// Packages with a licence that is not allowed, and allowed licences that no package has.
fn licences(packages: &[Value], allowed: &[&str]) -> Vec<String> {
    let refused = packages.iter().filter(|package| !is_allowed(text(package, "license"), allowed));
    let refused = refused.map(|package| {
        format!(
            "{} {}: licence `{}`",
            text(package, "name"),
            text(package, "version"),
            text(package, "license")
        )
    });
    let is_used = |licence: &&&str| {
        packages.iter().any(|package| words(text(package, "license")).any(|word| word == **licence))
    };
    let unused = allowed.iter().filter(|licence| !is_used(licence));
    refused.chain(unused.map(|licence| format!("deny.toml: nothing has the licence `{licence}`"))).collect()
}

fn words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split([' ', '/', '(', ')']).filter(|word| !word.is_empty())
}

/// Whether an SPDX expression can be satisfied: one side of each OR, both of each AND. Old manifests write
/// `/` for OR.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<_> = text.split_whitespace().collect();
    let mut rest = &tokens[..];
    any_of(&mut rest, allowed) == Some(true) && rest.is_empty()
}

/// `None` here and below: not an expression.
fn any_of(rest: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    let mut holds = all_of(rest, allowed)?;
    while take(rest, "OR") {
        holds |= all_of(rest, allowed)?;
    }
    Some(holds)
}

fn all_of(rest: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    let mut holds = one(rest, allowed)?;
    while take(rest, "AND") {
        holds &= one(rest, allowed)?;
    }
    Some(holds)
}

fn one(rest: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let holds = any_of(rest, allowed)?;
        return take(rest, ")").then_some(holds);
    }
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    // An exception only permits more.
    if take(rest, "WITH") {
        *rest = rest.split_first()?.1;
    }
    Some(allowed.contains(first))
}

/// Whether the next token is this one; consumes it.
fn take(rest: &mut &[&str], token: &str) -> bool {
    let is_next = rest.first() == Some(&token);
    if is_next {
        *rest = &rest[1..];
    }
    is_next
}

/// Packages from other sources than the registry and this repository.
fn sources(packages: &[Value]) -> Vec<String> {
    let registries: BTreeSet<_> = packages
        .iter()
        .map(|package| text(package, "source"))
        .filter(|source| source.starts_with("registry+"))
        .collect();
    let is_known =
        |source: &str| source.is_empty() || registries.first().is_some_and(|first| *first == source);
    let unknown = packages.iter().filter(|package| !is_known(text(package, "source")));
    unknown.map(|package| format!("{}: from `{}`", text(package, "name"), text(package, "source"))).collect()
}

/// Every dependency is declared once, in the workspace's manifest, with a version, and is used.
fn declarations(packages: &[Value]) -> Result<Vec<String>> {
    let manifest = read("Cargo.toml")?;
    let declared = manifest["workspace"]["dependencies"].as_table().context("no workspace.dependencies")?;
    let mut wrong = Vec::new();
    for (name, value) in declared {
        let version = value.as_str().or_else(|| value.get("version")?.as_str());
        if version.is_none_or(|version| version.contains('*')) && value.get("path").is_none() {
            wrong.push(format!("Cargo.toml: `{name}` has no version"));
        }
    }
    let mut used = BTreeSet::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let path = text(package, "manifest_path");
        let member: Table =
            fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?.parse()?;
        for (name, value) in dependencies(&member) {
            used.insert(name.clone());
            if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                wrong.push(format!("{path}: declare `{name}` in the workspace's Cargo.toml"));
            }
        }
    }
    // Our own crates are checked by the table of crates.
    let outside = declared.iter().filter(|(_, value)| value.get("path").is_none());
    let unused = outside.filter(|(name, _)| !used.contains(*name));
    wrong.extend(unused.map(|(name, _)| format!("Cargo.toml: nothing uses `{name}`")));
    Ok(wrong)
}

/// All dependencies of a manifest, including those of targets and tests.
fn dependencies(manifest: &Table) -> Vec<(&String, &toml::Value)> {
    const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(|targets| targets.values().filter_map(toml::Value::as_table));
    let tables = std::iter::once(manifest).chain(targets);
    let tables = tables.flat_map(|table| TABLES.iter().filter_map(|name| table.get(*name)?.as_table()));
    tables.flatten().collect()
}

/// Prints packages with several versions, which cost compile time.
fn several_versions(packages: &[Value]) {
    let mut versions = BTreeMap::<_, Vec<_>>::new();
    for package in packages {
        versions.entry(text(package, "name")).or_default().push(text(package, "version"));
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        println!("warning: {name} in versions {}", versions.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn licence_expressions_are_evaluated() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
        let met = [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ];
        let unmet = [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND GPL-3.0",
            "MIT OR",
            "(MIT",
            "MIT MIT",
        ];
        assert!(met.iter().all(|expression| is_allowed(expression, &allowed)));
        for expression in unmet {
            assert!(!is_allowed(expression, &allowed), "{expression}");
        }
    }

    #[test]
    fn unused_licences_are_reported() {
        let packages = [json!({ "name": "a", "version": "1.0.0", "license": "MIT OR Zlib" })];
        assert!(licences(&packages, &["MIT", "Zlib"]).is_empty());
        assert_eq!(licences(&packages, &["MIT", "ISC"]), ["deny.toml: nothing has the licence `ISC`"]);
        assert_eq!(licences(&packages, &["Zlib-x"]).len(), 2);
    }

    #[test]
    fn other_sources_than_the_registry_are_reported() {
        let package = |name: &str, source: Value| json!({ "name": name, "source": source });
        let packages = [
            package("own", Value::Null),
            package("usual", json!("registry+one")),
            package("forked", json!("git+elsewhere")),
            package("strange", json!("registry+other")),
        ];
        assert_eq!(sources(&packages), ["forked: from `git+elsewhere`", "strange: from `registry+other`"]);
    }

    #[test]
    fn dependencies_of_targets_and_tests_count() {
        let manifest: Table = "[dependencies]\na = \"1\"\n[dev-dependencies]\nb = { workspace = true }\n\
            [target.'cfg(unix)'.dependencies]\nc = \"2\"\n"
            .parse()
            .unwrap();
        let names: Vec<_> = dependencies(&manifest).into_iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }
}
