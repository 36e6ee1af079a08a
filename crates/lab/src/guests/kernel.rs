//! The kernel of the guests: Debian's package, with the modules that guests load.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{GuestError, output};
use super::modules::Modules;

#[derive(Debug)]
pub(crate) struct Kernel {
    directory: PathBuf,
}

/// Modules to load, without their dependencies. `rdma_rxe` requests the checksum module only when it is used.
const MODULES: &[&str] =
    &["virtio_pci", "virtio_console", "virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm"];
/// The meta package that depends on the newest kernel.
const NEWEST: &str = "linux-image-amd64";
/// Cache directory. Its number changes with the list of modules, which invalidates older caches.
const LAYOUT: &str = "kernel-2";

impl Kernel {
    pub(super) fn cached() -> Option<Self> {
        let mut kernels = caches().into_iter().map(|cache| Self { directory: cache.join(LAYOUT) });
        kernels.find(|kernel| kernel.image().is_file())
    }

    pub(super) fn image(&self) -> PathBuf {
        self.directory.join("vmlinuz")
    }

    pub(super) fn modules(&self) -> Result<Vec<PathBuf>, GuestError> {
        let mut files = entries(&self.directory.join("modules"))?;
        files.sort();
        Ok(files)
    }
}

/// Downloads the newest Debian kernel with `apt-get` and caches the files that guests need.
pub(crate) fn fetch() -> Result<(), GuestError> {
    let cache = caches().swap_remove(0);
    fs::create_dir_all(&cache).map_err(GuestError::file(&cache))?;
    let scratch = Scratch::new(cache.join(format!("{LAYOUT}.{}", std::process::id())))?;
    let package = newest()?;
    // Build everything in a scratch directory and rename it, so that the cache is never incomplete.
    output(Command::new("apt-get").args(["--quiet", "download", &package]).current_dir(&scratch.0))?;
    let deb = entries(&scratch.0)?
        .pop()
        .ok_or_else(|| GuestError::Unexpected(format!("apt-get downloaded no file for {package}")))?;
    let (unpacked, selected) = (scratch.0.join("unpacked"), scratch.0.join("selected"));
    output(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&unpacked))?;
    gather(&unpacked, &selected)?;
    let place = cache.join(LAYOUT);
    if place.exists() {
        fs::rename(&place, scratch.0.join("former")).map_err(GuestError::file(&place))?;
    }
    match fs::rename(&selected, &place) {
        // Another process has cached the same kernel meanwhile.
        Err(_) if (Kernel { directory: place.clone() }).image().is_file() => Ok(()),
        outcome => outcome.map_err(GuestError::file(&place)),
    }
}

/// Cache directories in order of preference (XDG base directories). Root uses the shared one.
fn caches() -> Vec<PathBuf> {
    let given = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let arguments = given("XDG_CACHE_HOME");
    let own = given("HOME").map(|home| home.join(".cache"));
    let shared = PathBuf::from("/var/cache");
    let (first, second) = if is_root() { (Some(shared), own) } else { (own, Some(shared)) };
    [arguments, first, second].into_iter().flatten().map(|cache| cache.join("wiremend")).collect()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn newest() -> Result<String, GuestError> {
    let text = output(Command::new("apt-cache").args(["depends", "--important", NEWEST]))?;
    parse_dependency(&String::from_utf8_lossy(&text)).map(str::to_owned).ok_or_else(|| {
        GuestError::Unexpected(format!("apt finds no kernel for `{NEWEST}`; try `apt-get update`"))
    })
}

fn parse_dependency(text: &str) -> Option<&str> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .filter(|name| name.starts_with("linux-image-"))
}

fn gather(unpacked: &Path, selected: &Path) -> Result<(), GuestError> {
    // Debian 13 has the modules below `usr`.
    let places = ["lib/modules", "usr/lib/modules"].map(|place| unpacked.join(place));
    let unknown = || GuestError::Unexpected("the package has no kernel modules".to_owned());
    let all = places.iter().find(|place| place.is_dir()).ok_or_else(unknown)?;
    let release = entries(all)?.pop().ok_or_else(unknown)?;
    let name = release.file_name().and_then(|name| name.to_str()).ok_or_else(unknown)?;
    let modules = selected.join("modules");
    fs::create_dir_all(&modules).map_err(GuestError::file(&modules))?;
    for (place, module) in Modules::below(&release)?.in_order(MODULES)?.iter().enumerate() {
        let path = modules.join(format!("{place:02}-{}.ko", module.name));
        fs::write(&path, &module.bytes).map_err(GuestError::file(&path))?;
    }
    let image = unpacked.join("boot").join(format!("vmlinuz-{name}"));
    fs::copy(&image, selected.join("vmlinuz")).map_err(GuestError::file(&image))?;
    Ok(())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let entries = fs::read_dir(directory).map_err(GuestError::file(directory))?;
    entries.map(|entry| Ok(entry.map_err(GuestError::file(directory))?.path())).collect()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(path: PathBuf) -> Result<Self, GuestError> {
        fs::create_dir(&path).map_err(GuestError::file(&path))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the cache is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_kernel_is_a_dependency_of_the_meta_package() {
        let text = "linux-image-amd64\n  Depends: linux-image-6.1.0-54-amd64\n";
        assert_eq!(parse_dependency(text), Some("linux-image-6.1.0-54-amd64"));
        assert_eq!(parse_dependency("linux-image-amd64\n  Depends: <something>\n"), None);
        assert_eq!(parse_dependency(""), None);
    }
}
