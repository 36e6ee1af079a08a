//! Compiles for WebAssembly, by rustup's library for it or by Debian's compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, command};

/// The target.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's WebAssembly compiler, if rustup has no library for the target. It includes the library's source.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// How to install what is missing.
pub(crate) const INSTALL: &str = "no compiler for WebAssembly; install it with `rustup target add wasm32-unknown-unknown`, or on \
                       Debian with `apt-get install rustc-web cargo-web rust-web-src lld`";

pub(crate) fn is_installed() -> bool {
    cargo("build").is_some()
}

/// A task of cargo for the target; `None` without a compiler for it.
pub(crate) fn cargo(task: &str) -> Option<Command> {
    let library = shell::output(&mut command(&format!("rustc --print target-libdir --target {TARGET}")));
    let has_library = library.is_ok_and(|library| Path::new(library.trim()).is_dir());
    let mut cargo = if has_library { command(&format!("cargo {task}")) } else { debian_cargo(task)? };
    cargo.args(["--target", TARGET]);
    Some(cargo)
}

/// Debian's cargo, which compiles the library too.
fn debian_cargo(task: &str) -> Option<Command> {
    let root = shell::output(&mut command(&format!("{DEBIAN_RUSTC} --print sysroot"))).ok()?;
    let has_source = Path::new(root.trim()).join("lib/rustlib/src/rust/library/std").is_dir();
    let mut cargo = command(&format!("{DEBIAN_CARGO} {task} -Z build-std=std,panic_abort"));
    // The option is unstable, and the compiler of this cargo is not the one that runs xtask.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", DEBIAN_RUSTC).env("PATH", "/usr/bin:/bin");
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker());
    for name in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTUP_HOME"] {
        cargo.env_remove(name);
    }
    (has_source && Path::new(DEBIAN_CARGO).exists()).then_some(cargo)
}

/// The linker of the compiler that runs xtask, if it brings one: Debian's compiler has none.
fn linker() -> PathBuf {
    let brought = shell::output(&mut command("rustc --print target-libdir")).ok().and_then(|library| {
        let linker = Path::new(library.trim()).parent()?.join("bin/rust-lld");
        linker.is_file().then_some(linker)
    });
    brought.unwrap_or_else(|| "wasm-ld".into())
}
