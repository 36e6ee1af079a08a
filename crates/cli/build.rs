//! Puts the commit into the version, where there is one to be found.

use std::path::Path;
use std::process::Command;

fn main() {
    // The Python package uses this script too.
    println!("cargo:rerun-if-changed=Cargo.toml");
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let version = match git(&["rev-parse", "--short=9", "HEAD"]) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo:rustc-env=WIREMEND_VERSION={version}");
    // The log of HEAD changes with every commit and checkout. A path that is missing would mean a rebuild each time.
    if let Some(directory) = git(&["rev-parse", "--absolute-git-dir"]) {
        for name in ["HEAD", "logs/HEAD"] {
            let path = Path::new(&directory).join(name);
            if path.exists() {
                println!("cargo:rerun-if-changed={}", path.display());
            }
        }
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
