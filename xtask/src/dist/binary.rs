//! The released binary: static, so that it runs on any Linux of its architecture.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, command};

/// A static release build.
pub(super) struct Binary {
    pub(super) path: PathBuf,
    /// Target triple of the build.
    pub(super) target: String,
}

impl Binary {
    /// Builds with musl if the toolchain has it, otherwise with a static glibc.
    pub(super) fn build() -> Result<Self> {
        let host = host()?;
        ensure!(host.ends_with("-unknown-linux-gnu"), "packages can be built only on Linux, this is {host}");
        let musl = host.replace("-gnu", "-musl");
        let installed = shell::output(&mut command("rustup target list --installed")).unwrap_or_default();
        let target = if installed.lines().any(|target| target == musl) {
            musl
        } else {
            println!(
                "target {musl} is not installed (`rustup target add {musl}`): building with static glibc instead"
            );
            host
        };
        let mut cargo = command("cargo build --quiet --release --package wiremend --target");
        // Debug information is useless without the sources. Function names stay, for backtraces.
        cargo.arg(&target).args(["--config", "profile.release.strip='debuginfo'"]);
        shell::run(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags()?))?;
        let path = shell::target_dir()?.join(&target).join("release").join("wiremend");
        ensure!(is_static(&path)?, "`{}` needs shared libraries", path.display());
        Ok(Self { path, target })
    }
}

/// Flags for a static binary without the paths of this machine, separated so that paths may contain spaces.
fn flags() -> Result<String> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let remap = |from: &str, to: &str| format!("--remap-path-prefix={from}={to}");
    let (sources, crates) = (remap(&shell::root().display().to_string(), "wiremend"), remap(&home, "cargo"));
    Ok(["-Ctarget-feature=+crt-static", &sources, &crates].join("\u{1f}"))
}

fn is_static(path: &std::path::Path) -> Result<bool> {
    // ldd fails on static binaries, and prints to stdout or stderr.
    let output = command("ldd").arg(path).output().context("cannot start `ldd`")?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    Ok(text.contains("statically linked") || text.contains("not a dynamic executable"))
}

fn host() -> Result<String> {
    let about = shell::output(&mut command("rustc --version --verbose"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc prints no host target")?.to_owned())
}

/// Compiles a static program that prints a version, built like the released one, for tests of packages.
#[cfg(test)]
pub(super) fn trial(path: &std::path::Path) {
    let source = path.with_extension("rs");
    std::fs::write(&source, "fn main() { println!(\"wiremend 1.2.3\") }\n").unwrap();
    let mut rustc = command("rustc -Ctarget-feature=+crt-static -Cstrip=debuginfo --crate-name wiremend");
    shell::run(rustc.arg(&source).arg("-o").arg(path)).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_and_dynamic_programs_are_distinguished() {
        // This test program is dynamic, unless it was built for musl.
        let own = std::env::current_exe().unwrap();
        assert_eq!(is_static(&own).unwrap(), cfg!(target_feature = "crt-static"));
    }
}
