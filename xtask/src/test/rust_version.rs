//! No dependency needs a newer Rust than the declared version.
//!
//! Clippy checks functions of the standard library (`incompatible_msrv`).

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{self, command};

/// Compares the versions that packages need with the declared one.
pub(super) fn check() -> Result<()> {
    let metadata = shell::json(&mut command("cargo metadata --format-version 1 --locked"))?;
    let packages = metadata["packages"].as_array().context("cargo metadata without packages")?;
    let declared = declared(packages)?;
    let newer: Vec<_> = packages.iter().filter(|package| wanted(package) > declared).collect();
    for package in &newer {
        println!("{} {} needs Rust {}", package["name"], package["version"], package["rust_version"]);
    }
    ensure!(newer.is_empty(), "{} packages need more than Rust {}.{}", newer.len(), declared.0, declared.1);
    Ok(())
}

/// The version that all our packages declare.
fn declared(packages: &[Value]) -> Result<(u32, u32)> {
    let mut own = packages.iter().filter(|package| package["source"].is_null()).map(wanted);
    let declared = own.next().context("no package of our own")?;
    ensure!(
        declared > (0, 0) && own.all(|other| other == declared),
        "packages declare several versions of Rust, or none"
    );
    Ok(declared)
}

/// Major and minor version; zero if a package declares none.
fn wanted(package: &Value) -> (u32, u32) {
    let mut parts =
        package["rust_version"].as_str().unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_compare_by_number() {
        let package = |version: &str| json!({ "source": null, "rust_version": version });
        assert!(wanted(&package("1.100")) > wanted(&package("1.95.1")));
        assert_eq!(wanted(&json!({})), (0, 0));
        assert_eq!(declared(&[package("1.95"), package("1.95.0")]).unwrap(), (1, 95));
        assert!(declared(&[package("1.95"), json!({ "source": null })]).is_err());
    }
}
