//! The crates without system calls compile for a 32-bit target without an operating system: WebAssembly.

use anyhow::{Context, Result};

use crate::shell;
use crate::wasm;

/// Crates for browsers and other systems.
const CRATES: &[&str] = &["model", "fleet", "playground"];

/// Compiles the crates. `cargo check` would miss arithmetic overflows.
pub(super) fn check() -> Result<()> {
    let mut cargo = wasm::cargo("build").context(wasm::INSTALL)?;
    cargo.arg("--quiet").args(CRATES.iter().map(|name| format!("--package=wiremend-{name}")));
    // The output is never run.
    cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo.arg("--target-dir").arg(shell::target_dir()?.join("portable"));
    shell::run(&mut cargo)
}
