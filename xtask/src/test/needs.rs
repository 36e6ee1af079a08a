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

const NEEDS: &[Need] = &[
    Need {
        what: "git",
        why: "lists the files to check",
        probe: Probe::Runs("git --version"),
        from: Source::Debian("git"),
    },
    Need {
        what: "tshark",
        why: "reads the captures that runs write",
        probe: Probe::Runs("tshark --version"),
        from: Source::Debian("tshark"),
    },
    Need {
        what: "qemu",
        why: "runs guests with a kernel that speaks RoCE",
        probe: Probe::Runs("qemu-system-x86_64 --version"),
        from: Source::Debian("qemu-system-x86"),
    },
    Need {
        what: "busybox",
        why: "is what guests have of a system",
        probe: Probe::Runs("busybox true"),
        from: Source::Debian("busybox-static"),
    },
    Need {
        what: "perftest",
        why: "measures RoCE in guests",
        probe: Probe::Runs("test -x /usr/bin/ib_write_lat"),
        from: Source::Debian("perftest"),
    },
    Need {
        what: "soft-RoCE",
        why: "is what perftest speaks in guests",
        probe: Probe::Runs("test -e /etc/libibverbs.d/rxe.driver"),
        from: Source::Debian("ibverbs-providers"),
    },
    Need {
        what: "iproute2",
        why: "sets up the network of guests",
        probe: Probe::Runs("rdma -V"),
        from: Source::Debian("iproute2"),
    },
    Need {
        what: "redis",
        why: "is what daemons tell each other by",
        probe: Probe::Runs("redis-server --version"),
        from: Source::Debian("redis-server"),
    },
    Need {
        what: "prometheus",
        why: "brings promtool, which reads metrics and alert rules",
        probe: Probe::Runs("promtool --version"),
        from: Source::Debian("prometheus"),
    },
    Need {
        what: "openssl",
        why: "makes the certificates of a server that tests talk to",
        probe: Probe::Runs("openssl version"),
        from: Source::Debian("openssl"),
    },
    Need {
        what: "rustfmt",
        why: "checks the format",
        probe: Probe::Runs("cargo fmt --version"),
        from: Source::Toolchain("rustfmt"),
    },
    Need {
        what: "clippy",
        why: "lints",
        probe: Probe::Runs("cargo clippy --version"),
        from: Source::Toolchain("clippy"),
    },
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
