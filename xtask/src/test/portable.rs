//! The crates without system calls compile for a 32-bit target without an operating system: WebAssembly.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{self, command};

const TARGET: &str = "wasm32-unknown-unknown";

/// Crates for browsers and other systems.
const CRATES: &[&str] =
    &["units", "wire", "impair", "proto", "measure", "model", "fabric", "fleet", "scenario", "sim", "report"];

/// Debian's WebAssembly compiler, if rustup has no library for the target. It includes the library's source.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Compiles the crates. `cargo check` would miss arithmetic overflows.
pub(super) fn check() -> Result<()> {
    let mut cargo = toolchain().context("no compiler for WebAssembly")?;
    cargo
        .args(["--quiet", "--target", TARGET])
        .args(CRATES.iter().map(|name| format!("--package=wiremend-{name}")));
    // The output is never run.
    cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo.arg("--target-dir").arg(shell::target_dir()?.join("portable"));
    shell::run(&mut cargo)
}

pub(super) fn has_toolchain() -> bool {
    toolchain().is_some()
}

/// `cargo build` for the target, with the library of rustup or of Debian's compiler.
fn toolchain() -> Option<Command> {
    let library =
        shell::output(&mut command(&format!("rustc --print target-libdir --target {TARGET}"))).ok()?;
    if Path::new(library.trim()).is_dir() {
        return Some(command("cargo build"));
    }
    let root = shell::output(&mut command(&format!("{DEBIAN_RUSTC} --print sysroot"))).ok()?;
    let has_source = Path::new(root.trim()).join("lib/rustlib/src/rust/library/std").is_dir();
    let mut cargo = command(&format!("{DEBIAN_CARGO} build -Z build-std=std,panic_abort"));
    // The option is unstable, and the compiler of this cargo is not the one that runs xtask.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", DEBIAN_RUSTC).env("PATH", "/usr/bin:/bin");
    for name in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTUP_HOME"] {
        cargo.env_remove(name);
    }
    (has_source && Path::new(DEBIAN_CARGO).exists()).then_some(cargo)
}
