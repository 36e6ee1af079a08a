//! Programs that the checks need.

use std::fmt::Write;
use std::process::Command;

use anyhow::Result;

use super::browser;
use crate::TaskError;
use crate::python;
use crate::shell::{self, command};
use crate::wasm;

/// A required program, its use, and its source.
struct Need {
    what: &'static str,
    why: &'static str,
    probe: Probe,
    from: Source,
}

/// How to detect it.
enum Probe {
    /// A command that succeeds.
    Runs(&'static str),
    Holds(fn() -> bool),
}

#[derive(Clone, Copy)]
enum Source {
    /// Debian packages.
    Debian(&'static str),
    /// A component of the Rust toolchain.
    Toolchain(&'static str),
    /// Packages of `xtask/python.txt`, in the virtual environment of the tests.
    Python,
}

/// A program of a Debian package, detected by a command.
const fn debian(what: &'static str, why: &'static str, probe: &'static str, package: &'static str) -> Need {
    Need { what, why, probe: Probe::Runs(probe), from: Source::Debian(package) }
}

/// A component of the Rust toolchain, detected by a command.
const fn toolchain(what: &'static str, why: &'static str, probe: &'static str) -> Need {
    Need { what, why, probe: Probe::Runs(probe), from: Source::Toolchain(what) }
}

const NEEDS: &[Need] = &[
    debian("git", "lists the files to check", "git --version", "git"),
    debian("tshark", "reads the captures that runs write", "tshark --version", "tshark"),
    debian(
        "qemu",
        "runs guests with a kernel that supports RoCE",
        "qemu-system-x86_64 --version",
        "qemu-system-x86",
    ),
    debian("busybox", "is the user space of guests", "busybox true", "busybox-static"),
    debian("perftest", "measures RoCE in guests", "test -x /usr/bin/ib_write_lat", "perftest"),
    debian(
        "soft-RoCE",
        "is the RDMA provider of perftest in guests",
        "test -e /etc/libibverbs.d/rxe.driver",
        "ibverbs-providers",
    ),
    debian(
        "ibverbs-utils",
        "brings ibv_rc_pingpong, a client and server of RoCE in guests",
        "test -x /usr/bin/ibv_rc_pingpong",
        "ibverbs-utils",
    ),
    debian(
        "rdmacm-utils",
        "brings rping and ucmatose, clients and servers of the connection manager in guests",
        "test -x /usr/bin/rping",
        "rdmacm-utils",
    ),
    debian("iproute2", "sets up the network of guests", "rdma -V", "iproute2"),
    debian("redis", "connects the daemons", "redis-server --version", "redis-server"),
    debian(
        "prometheus",
        "brings promtool, which reads metrics and alert rules",
        "promtool --version",
        "prometheus",
    ),
    debian("valgrind", "counts instructions and cache misses", "valgrind --version", "valgrind"),
    debian("lintian", "checks the Debian package", "lintian --version", "lintian"),
    debian("systemd", "runs the units", "systemd-analyze --version", "systemd"),
    debian("udev", "shows interfaces to systemd", "udevadm --version", "udev"),
    debian("slurm", "runs sweeps as array jobs", "slurmctld -V", "slurm-wlm"),
    debian("munge", "authenticates the daemons of Slurm", "munged --version", "munge"),
    debian(
        "python3-venv",
        "installs Python packages for the tests",
        "python3 -m ensurepip --version",
        "python3-venv",
    ),
    debian("protoc", "reads traces for Perfetto", "protoc --version", "protobuf-compiler"),
    Need {
        what: "chromium",
        why: "opens the pages as a reader does",
        probe: Probe::Holds(browser::is_installed_or_unavailable),
        from: Source::Debian("chromium chromium-driver"),
    },
    debian("openssl", "creates certificates of a test server", "openssl version", "openssl"),
    toolchain("rustfmt", "checks the format", "cargo fmt --version"),
    toolchain("clippy", "lints", "cargo clippy --version"),
    Need {
        what: "wasm32",
        why: "is the target of the playground and of portable crates",
        probe: Probe::Holds(wasm::is_installed),
        from: Source::Debian("rustc-web cargo-web rust-web-src"),
    },
    Need {
        what: "Python packages",
        why: "draw the figure of the guide, run sweeps by HyperQueue, test the Python package, and judge pages",
        probe: Probe::Holds(has_python_packages),
        from: Source::Python,
    },
];

fn has_python_packages() -> bool {
    python::environment().is_ok_and(|environment| {
        let mut python = Command::new(environment.join("bin/python"));
        shell::succeeds(python.args([
            "-c",
            "import axe_core_python, hyperqueue, matplotlib, maturin, pandas, polars, pyarrow, pytest",
        ]))
    })
}

/// Installs Debian packages without questions and without starting services.
const INSTALL_DEBIAN: &str = "sh xtask/install-debian.sh";

/// Checks that all programs exist; installs missing ones, or lists them.
pub(super) fn check_or_install(install: bool) -> Result<(), TaskError> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    if !install {
        return Err(TaskError::MissingProgram(explain(&missing)));
    }
    let packages: Vec<_> = missing.iter().filter_map(|need| need.from.debian()).collect();
    if !packages.is_empty() {
        println!("== installing {}", packages.join(", "));
        let sudo = if shell::is_root()? { "" } else { "sudo " };
        shell::run(&mut command(&format!("{sudo}{INSTALL_DEBIAN} {}", packages.join(" "))))?;
    }
    for need in &missing {
        if !matches!(need.from, Source::Debian(_)) {
            println!("== installing {}", need.what);
        }
        match need.from {
            Source::Debian(_) => {}
            Source::Toolchain(_) => shell::run(&mut command(&need.from.install_line()))?,
            Source::Python => install_python_packages()?,
        }
    }
    let missing = self::missing();
    if missing.is_empty() { Ok(()) } else { Err(TaskError::MissingProgram(explain(&missing))) }
}

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !need.probe.holds()).collect()
}

fn explain(missing: &[&Need]) -> String {
    let mut text = String::from("missing programs:\n");
    for Need { what, why, from, .. } in missing {
        writeln!(text, "  {what:<12} {why}; install it with `{}`", from.install_line()).expect("text grows");
    }
    text + "`cargo xtask test --install` installs all of them"
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
            Self::Python => "cargo xtask test --install".to_owned(),
        }
    }
}

fn install_python_packages() -> Result<()> {
    let environment = python::environment()?;
    shell::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    shell::run(pip.arg(shell::root().join("xtask/python.txt")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_listed_with_the_install_command() {
        let need = |what| NEEDS.iter().find(|need| need.what == what).unwrap();
        let text = explain(&[need("tshark"), need("clippy")]);
        let [opening, tshark, clippy, closing] = text.lines().collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        assert_eq!(opening, "missing programs:");
        assert!(tshark.contains("captures") && tshark.ends_with("`apt-get install tshark`"), "{tshark}");
        assert!(clippy.ends_with("`rustup component add clippy`"), "{clippy}");
        assert!(closing.contains("--install"), "{closing}");
    }
}
