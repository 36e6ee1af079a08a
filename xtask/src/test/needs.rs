//! What the checks need of the machine: looked for, and installed where asked.

use std::fmt::Write;

use anyhow::{Context, Result};

use super::portable;
use crate::Trouble;
use crate::shell::{self, command};

/// Something that must be there, why, and where it comes from.
struct Need {
    what: &'static str,
    why: &'static str,
    probe: Probe,
    from: Source,
}

/// How to tell whether it is there.
enum Probe {
    /// By a command that succeeds.
    Runs(&'static str),
    Holds(fn() -> bool),
}

#[derive(Clone, Copy)]
enum Source {
    /// Packages of Debian.
    Debian(&'static str),
    /// A component of the Rust toolchain.
    Toolchain(&'static str),
}

/// A program of a Debian package, which is there if a command succeeds.
const fn debian(what: &'static str, why: &'static str, probe: &'static str, package: &'static str) -> Need {
    Need { what, why, probe: Probe::Runs(probe), from: Source::Debian(package) }
}

/// The same of a component of the Rust toolchain.
const fn toolchain(what: &'static str, why: &'static str, probe: &'static str) -> Need {
    Need { what, why, probe: Probe::Runs(probe), from: Source::Toolchain(what) }
}

const NEEDS: &[Need] = &[
    debian("git", "lists the files to check", "git --version", "git"),
    debian("tshark", "reads the captures that runs write", "tshark --version", "tshark"),
    debian(
        "qemu",
        "runs guests with a kernel that speaks RoCE",
        "qemu-system-x86_64 --version",
        "qemu-system-x86",
    ),
    debian("busybox", "is what guests have of a system", "busybox true", "busybox-static"),
    debian("perftest", "measures RoCE in guests", "test -x /usr/bin/ib_write_lat", "perftest"),
    debian(
        "soft-RoCE",
        "is what perftest speaks in guests",
        "test -e /etc/libibverbs.d/rxe.driver",
        "ibverbs-providers",
    ),
    debian("iproute2", "sets up the network of guests", "rdma -V", "iproute2"),
    debian("redis", "is what daemons tell each other by", "redis-server --version", "redis-server"),
    debian(
        "prometheus",
        "brings promtool, which reads metrics and alert rules",
        "promtool --version",
        "prometheus",
    ),
    debian("openssl", "makes the certificates of a server that tests talk to", "openssl version", "openssl"),
    toolchain("rustfmt", "checks the format", "cargo fmt --version"),
    toolchain("clippy", "lints", "cargo clippy --version"),
    Need {
        what: "wasm32",
        why: "is the 32-bit target that portable crates compile for",
        probe: Probe::Holds(portable::has_toolchain),
        from: Source::Debian("rustc-web cargo-web rust-web-src"),
    },
];

/// Installs packages of Debian without questions, and without letting their services start.
const INSTALL_DEBIAN: &str = "sh xtask/install-debian.sh";

/// Sees to it that everything is there: installs what is missing, or says what that is.
pub(super) fn meet(install: bool) -> Result<(), Trouble> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    if !install {
        return Err(Trouble::Lacking(explain(&missing)));
    }
    let packages: Vec<_> = missing.iter().filter_map(|need| need.from.debian()).collect();
    if !packages.is_empty() {
        println!("== installing {}", packages.join(", "));
        let sudo = if is_root()? { "" } else { "sudo " };
        shell::run(&mut command(&format!("{sudo}{INSTALL_DEBIAN} {}", packages.join(" "))))?;
    }
    for need in &missing {
        if !matches!(need.from, Source::Debian(_)) {
            println!("== installing {}", need.what);
            shell::run(&mut command(&need.from.install_line()))?;
        }
    }
    let missing = self::missing();
    if missing.is_empty() { Ok(()) } else { Err(Trouble::Lacking(explain(&missing))) }
}

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !need.probe.holds()).collect()
}

fn explain(missing: &[&Need]) -> String {
    let mut text = String::from("the tests need what is not here:\n");
    for Need { what, why, from, .. } in missing {
        writeln!(text, "  {what:<12} {why}; get it by `{}`", from.install_line()).expect("text grows");
    }
    text + "`cargo xtask test --install` installs all of it"
}

impl Probe {
    fn holds(&self) -> bool {
        match self {
            Self::Runs(line) => shell::succeeds(&mut command(line)),
            Self::Holds(holds) => holds(),
        }
    }
}

impl Source {
    fn debian(self) -> Option<&'static str> {
        if let Self::Debian(package) = self { Some(package) } else { None }
    }

    fn install_line(self) -> String {
        match self {
            Self::Debian(package) => format!("apt-get install {package}"),
            Self::Toolchain(component) => format!("rustup component add {component}"),
        }
    }
}

fn is_root() -> Result<bool> {
    Ok(shell::output(&mut command("id -u")).context("who we are")?.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_the_way_to_get_it() {
        let need = |what| NEEDS.iter().find(|need| need.what == what).unwrap();
        let text = explain(&[need("tshark"), need("clippy")]);
        let [opening, tshark, clippy, closing] = text.lines().collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        assert_eq!(opening, "the tests need what is not here:");
        assert!(tshark.contains("captures") && tshark.ends_with("`apt-get install tshark`"), "{tshark}");
        assert!(clippy.ends_with("`rustup component add clippy`"), "{clippy}");
        assert!(closing.contains("--install"), "{closing}");
    }
}
