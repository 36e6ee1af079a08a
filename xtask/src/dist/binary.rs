//! The binary that is given away: static, so that it runs on any Linux of its processor.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, command};

/// A static release build.
pub(super) struct Binary {
    pub(super) path: PathBuf,
    /// The target it was built for, as rustc calls it.
    pub(super) target: String,
}

impl Binary {
    /// Builds against musl where the toolchain has it, else against a static glibc.
    pub(super) fn build() -> Result<Self> {
        let host = host()?;
        ensure!(host.ends_with("-unknown-linux-gnu"), "packages are made on Linux, this is {host}");
        let musl = host.replace("-gnu", "-musl");
        let installed = shell::output(&mut command("rustup target list --installed")).unwrap_or_default();
        let target = if installed.lines().any(|target| target == musl) {
            musl
        } else {
            println!("without the target {musl} (`rustup target add {musl}`): static against glibc instead");
            host
        };
        let mut cargo = command("cargo build --quiet --release --package wiremend --target");
        // Lines of sources help a profiler; who gets the package has none. Names of functions stay, for backtraces.
        cargo.arg(&target).args(["--config", "profile.release.strip='debuginfo'"]);
        shell::run(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags()?))?;
        let path = shell::target_dir()?.join(&target).join("release").join("wiremend");
        ensure!(is_static(&path)?, "`{}` needs shared libraries", path.display());
        Ok(Self { path, target })
    }
}

/// Static, and without the paths of this machine. Separated in the way that allows spaces in paths.
fn flags() -> Result<String> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let remap = |from: &str, to: &str| format!("--remap-path-prefix={from}={to}");
    let (sources, crates) = (remap(&shell::root().display().to_string(), "wiremend"), remap(&home, "cargo"));
    Ok(["-Ctarget-feature=+crt-static", &sources, &crates].join("\u{1f}"))
}

fn is_static(path: &std::path::Path) -> Result<bool> {
    // ldd fails on what is not dynamic at all, and speaks on one stream or the other.
    let output = command("ldd").arg(path).output().context("cannot start `ldd`")?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    Ok(said.contains("statically linked") || said.contains("not a dynamic executable"))
}

fn host() -> Result<String> {
    let about = shell::output(&mut command("rustc --version --verbose"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it builds for")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_libraries_is_told_from_one_that_does_not() {
        // This test is itself such a program, unless it was built for musl.
        let own = std::env::current_exe().unwrap();
        assert_eq!(is_static(&own).unwrap(), cfg!(target_feature = "crt-static"));
    }
}
