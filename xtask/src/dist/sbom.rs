//! The software bill of materials: a `CycloneDX` 1.5 document of all crates in the binary.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toml::Table;

use crate::shell::{self, command};

/// Describes the binary for a target. `epoch` is the time of the commit in seconds since 1970.
pub(super) fn describe(target: &str, epoch: &str) -> Result<Value> {
    let tree = shell::output(&mut command(&format!(
        "cargo tree --locked --package wiremend --edges normal --prefix none --format {{p}} --target {target}"
    )))?;
    let metadata = shell::json(&mut command(&format!(
        "cargo metadata --format-version 1 --locked --filter-platform {target}"
    )))?;
    let lock = fs::read_to_string(shell::root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let lock: Table = lock.parse().context("Cargo.lock is not TOML")?;
    let time = shell::output(&mut command(&format!("date --utc --date=@{epoch} +%Y-%m-%dT%H:%M:%SZ")))?;
    document(&in_binary(&tree), &metadata, &checksums(&lock), time.trim())
}

/// `name@version` of each package of `cargo tree`.
fn in_binary(tree: &str) -> BTreeSet<String> {
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{}@{}", words.next()?, words.next()?.trim_start_matches('v')))
    };
    tree.lines().filter_map(package).collect()
}

/// SHA-256 of the sources of each package, from the lock file.
fn checksums(lock: &Table) -> BTreeMap<String, String> {
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let entry = |package: &toml::Value| {
        let text = |key: &str| Some(package.get(key)?.as_str()?.to_owned());
        Some((format!("{}@{}", text("name")?, text("version")?), text("checksum")?))
    };
    packages.filter_map(entry).collect()
}

fn document(
    wanted: &BTreeSet<String>,
    metadata: &Value,
    checksums: &BTreeMap<String, String>,
    time: &str,
) -> Result<Value> {
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let key =
        |package: &Value| Some(format!("{}@{}", package["name"].as_str()?, package["version"].as_str()?));
    // By id of cargo.
    let mut keys = BTreeMap::new();
    let mut components = BTreeMap::new();
    for package in packages {
        let key = key(package).context("a package without name or version")?;
        if !wanted.contains(&key) {
            continue;
        }
        keys.insert(package["id"].as_str().unwrap_or_default(), key.clone());
        components.insert(key.clone(), component(package, &key, checksums.get(&key)));
    }
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata without dependencies")?;
    let mut dependencies = Vec::new();
    for node in nodes {
        let Some(key) = keys.get(node["id"].as_str().unwrap_or_default()) else { continue };
        let normal = |dep: &&Value| {
            dep["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        };
        let deps = node["deps"].as_array().into_iter().flatten().filter(normal);
        let used: BTreeSet<String> =
            deps.filter_map(|dep| keys.get(dep["pkg"].as_str()?)).map(|key| purl(key)).collect();
        dependencies.push(json!({ "ref": purl(key), "dependsOn": used }));
    }
    dependencies.sort_by_key(|entry| entry["ref"].to_string());
    let own = components.keys().find(|key| key.starts_with("wiremend@")).cloned();
    let mut own = components.remove(&own.context("no package `wiremend`")?).expect("found above");
    own["type"] = json!("application");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": time, "component": own },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies,
    }))
}

fn component(package: &Value, key: &str, checksum: Option<&String>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(key),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(key),
    });
    if let Some(license) = package["license"].as_str() {
        // Older crates separate licences by a slash, which is not SPDX.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// Package URL.
fn purl(key: &str) -> String {
    format!("pkg:cargo/{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the real workspace: complete, with licences and hashes, and every reference resolves.
    #[test]
    fn the_bill_lists_every_crate_of_the_binary() {
        let bill = describe("x86_64-unknown-linux-gnu", "0").unwrap();
        assert_eq!(bill["metadata"]["timestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(bill["metadata"]["component"]["name"], "wiremend");
        let components = bill["components"].as_array().unwrap();
        let names: BTreeSet<_> = components.iter().filter_map(|one| one["name"].as_str()).collect();
        for name in ["wiremend-proto", "ring", "rustls", "serde", "tracing-subscriber"] {
            assert!(names.contains(name), "{name}");
        }
        // Only for tests, and of another platform.
        assert!(!names.contains("proptest") && !names.contains("windows-sys"), "{names:?}");
        for one in components {
            assert!(one["licenses"][0]["expression"].is_string(), "{one}");
            let own = one["name"].as_str().unwrap().starts_with("wiremend-");
            assert_eq!(own, one["hashes"].is_null(), "{one}");
        }
        let mut known: BTreeSet<_> = components.iter().map(|one| one["bom-ref"].as_str().unwrap()).collect();
        assert_eq!(known.len(), components.len());
        known.insert(bill["metadata"]["component"]["bom-ref"].as_str().unwrap());
        let dependencies = bill["dependencies"].as_array().unwrap();
        assert_eq!(dependencies.len(), known.len());
        for entry in dependencies {
            let used = entry["dependsOn"].as_array().unwrap().iter().chain([&entry["ref"]]);
            used.for_each(|one| assert!(known.contains(one.as_str().unwrap()), "{one}"));
        }
    }
}
