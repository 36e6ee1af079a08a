//! Programs and files of this machine that guests need.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::GuestError;
use super::kernel::Kernel;

/// Programs and files that guests need.
#[derive(Debug)]
pub struct GuestFiles {
    pub(super) qemu: PathBuf,
    /// Makes QEMU end with its parent.
    pub(super) setpriv: PathBuf,
    /// Shell and tools of the guest.
    pub(super) busybox: PathBuf,
    pub(super) programs: Vec<PathBuf>,
    /// Soft-RoCE provider of libibverbs: driver file and library.
    pub(super) provider: [PathBuf; 2],
    pub(super) kernel: Kernel,
}

const PROGRAMS: &[(&str, &str)] = &[
    ("ib_write_lat", "perftest"),
    ("ib_write_bw", "perftest"),
    ("ib_send_lat", "perftest"),
    ("ib_send_bw", "perftest"),
    ("ib_read_lat", "perftest"),
    ("ib_read_bw", "perftest"),
    ("ib_atomic_bw", "perftest"),
    ("ibv_rc_pingpong", "ibverbs-utils"),
    ("ip", "iproute2"),
    ("rdma", "iproute2"),
];
/// Programs that only tests use; they ask for their package.
const OPTIONAL: &[&str] = &["rping", "ucmatose"];
const PROVIDER: &str = "ibverbs-providers";
const DRIVER: &str = "/etc/libibverbs.d/rxe.driver";
const PROVIDERS: &str = "/usr/lib/x86_64-linux-gnu/libibverbs";

impl GuestFiles {
    pub(crate) fn find() -> Result<Self, GuestError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(GuestError::Architecture);
        }
        let mut missing = Missing::default();
        let qemu = missing.program("qemu-system-x86_64", "qemu-system-x86");
        let setpriv = missing.program("setpriv", "util-linux");
        let busybox = missing.program("busybox", "busybox-static");
        let mut programs: Vec<PathBuf> =
            PROGRAMS.iter().map(|(name, package)| missing.program(name, package)).collect();
        programs.extend(OPTIONAL.iter().filter_map(|name| on_path(name)));
        let driver = Some(PathBuf::from(DRIVER)).filter(|path| path.is_file());
        let provider = [
            missing.needed(driver, "soft-RoCE for verbs", PROVIDER),
            missing.needed(library(Path::new(PROVIDERS)), "soft-RoCE for verbs", PROVIDER),
        ];
        if !missing.what.is_empty() {
            return Err(GuestError::MissingFiles { what: missing.what, packages: missing.packages });
        }
        let kernel = Kernel::cached().ok_or(GuestError::NoKernel)?;
        Ok(Self { qemu, setpriv, busybox, programs, provider, kernel })
    }
}

#[derive(Default)]
struct Missing {
    what: Vec<String>,
    packages: Vec<&'static str>,
}

impl Missing {
    fn program(&mut self, name: &str, package: &'static str) -> PathBuf {
        self.needed(on_path(name), name, package)
    }

    fn needed(&mut self, found: Option<PathBuf>, what: &str, package: &'static str) -> PathBuf {
        found.unwrap_or_else(|| {
            if !self.what.iter().any(|one| one == what) {
                self.what.push(what.to_owned());
            }
            if !self.packages.contains(&package) {
                self.packages.push(package);
            }
            PathBuf::new()
        })
    }
}

/// Finds a program in `PATH` or in the directories of system programs.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(system).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Finds the provider library. Its name ends with a version.
fn library(directory: &Path) -> Option<PathBuf> {
    let mut files = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    files.find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("librxe-") && path.extension().is_some_and(|extension| extension == "so")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_files_are_listed_once_with_their_packages() {
        let mut missing = Missing::default();
        missing.program("no-such-program", "perftest");
        missing.program("nor-this", "perftest");
        missing.needed(None, "soft-RoCE for verbs", PROVIDER);
        missing.needed(None, "soft-RoCE for verbs", PROVIDER);
        missing.program("sh", "dash");
        let error = GuestError::MissingFiles { what: missing.what, packages: missing.packages };
        assert_eq!(
            error.to_string(),
            "guests need missing files: no-such-program, nor-this, soft-RoCE for verbs; install them with \
             `apt-get install --no-install-recommends perftest ibverbs-providers`"
        );
    }
}
