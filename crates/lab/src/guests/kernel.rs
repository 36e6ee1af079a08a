//! The kernel of the guests: Debian's, as its package has it, with the modules that they load.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::modules::Modules;
use super::trouble::{Trouble, output};

/// A kernel in the cache.
#[derive(Debug)]
pub(crate) struct Kernel {
    directory: PathBuf,
}

/// What guests ask for by name; modules that these need come with them. `rdma_rxe` asks for the checksum only when it is used.
const MODULES: &[&str] =
    &["virtio_pci", "virtio_console", "virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm"];
/// A package that depends on the newest kernel there is.
const NEWEST: &str = "linux-image-amd64";
/// Another number for another list of modules: what an older version of the program has left does not count.
const LAYOUT: &str = "kernel-2";

impl Kernel {
    /// The one that was fetched, by this user or by root.
    pub(super) fn cached() -> Option<Self> {
        let mut kernels = caches().into_iter().map(|cache| Self { directory: cache.join(LAYOUT) });
        kernels.find(|kernel| kernel.image().is_file())
    }

    /// The file to boot.
    pub(super) fn image(&self) -> PathBuf {
        self.directory.join("vmlinuz")
    }

    /// Files of modules, in the order in which they are loaded.
    pub(super) fn modules(&self) -> Result<Vec<PathBuf>, Trouble> {
        let mut files = entries(&self.directory.join("modules"))?;
        files.sort();
        Ok(files)
    }
}

/// Downloads the newest kernel of this Debian by `apt-get`, and puts into the cache what guests need of it.
pub(crate) fn fetch() -> Result<(), Trouble> {
    let cache = caches().swap_remove(0);
    fs::create_dir_all(&cache).map_err(Trouble::file(&cache))?;
    let scratch = Scratch::new(cache.join(format!("{LAYOUT}.{}", std::process::id())))?;
    let package = newest()?;
    // Half of a file is never taken for a kernel: all of it is made aside, and then put in its place.
    output(Command::new("apt-get").args(["--quiet", "download", &package]).current_dir(&scratch.0))?;
    let deb = entries(&scratch.0)?
        .pop()
        .ok_or_else(|| Trouble::Unexpected(format!("no file for {package} came")))?;
    let (unpacked, wanted) = (scratch.0.join("unpacked"), scratch.0.join("wanted"));
    output(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&unpacked))?;
    gather(&unpacked, &wanted)?;
    let place = cache.join(LAYOUT);
    if place.exists() {
        fs::rename(&place, scratch.0.join("former")).map_err(Trouble::file(&place))?;
    }
    match fs::rename(&wanted, &place) {
        // Somebody else was as quick, and has brought the same.
        Err(_) if (Kernel { directory: place.clone() }).image().is_file() => Ok(()),
        outcome => outcome.map_err(Trouble::file(&place)),
    }
}

/// Where kernels may be, the best place first (XDG base directories): root keeps for all what can be had again.
fn caches() -> Vec<PathBuf> {
    let given = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let asked = given("XDG_CACHE_HOME");
    let own = given("HOME").map(|home| home.join(".cache"));
    let shared = PathBuf::from("/var/cache");
    let (first, second) = if is_root() { (Some(shared), own) } else { (own, Some(shared)) };
    [asked, first, second].into_iter().flatten().map(|cache| cache.join("wiremend")).collect()
}

/// Whose process this is can be seen by its directory.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The package with the kernel itself.
fn newest() -> Result<String, Trouble> {
    let text = output(Command::new("apt-cache").args(["depends", "--important", NEWEST]))?;
    depended_on(&String::from_utf8_lossy(&text)).map(str::to_owned).ok_or_else(|| {
        Trouble::Unexpected(format!(
            "apt knows no kernel that `{NEWEST}` depends on; `apt-get update` may help"
        ))
    })
}

fn depended_on(text: &str) -> Option<&str> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .filter(|name| name.starts_with("linux-image-"))
}

/// Kernel and modules out of a package.
fn gather(unpacked: &Path, wanted: &Path) -> Result<(), Trouble> {
    // Debian 13 has moved modules below `usr`.
    let places = ["lib/modules", "usr/lib/modules"].map(|place| unpacked.join(place));
    let unknown = || Trouble::Unexpected("the package has no modules of a kernel".to_owned());
    let all = places.iter().find(|place| place.is_dir()).ok_or_else(unknown)?;
    let release = entries(all)?.pop().ok_or_else(unknown)?;
    let name = release.file_name().and_then(|name| name.to_str()).ok_or_else(unknown)?;
    let modules = wanted.join("modules");
    fs::create_dir_all(&modules).map_err(Trouble::file(&modules))?;
    for (place, module) in Modules::below(&release)?.in_order(MODULES)?.iter().enumerate() {
        let path = modules.join(format!("{place:02}-{}.ko", module.name));
        fs::write(&path, &module.bytes).map_err(Trouble::file(&path))?;
    }
    let image = unpacked.join("boot").join(format!("vmlinuz-{name}"));
    fs::copy(&image, wanted.join("vmlinuz")).map_err(Trouble::file(&image))?;
    Ok(())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let entries = fs::read_dir(directory).map_err(Trouble::file(directory))?;
    entries.map(|entry| Ok(entry.map_err(Trouble::file(directory))?.path())).collect()
}

/// A directory for as long as it is used.
struct Scratch(PathBuf);

impl Scratch {
    fn new(path: PathBuf) -> Result<Self, Trouble> {
        fs::create_dir(&path).map_err(Trouble::file(&path))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is in a cache, and harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_what_its_package_depends_on() {
        let text = "linux-image-amd64\n  Depends: linux-image-6.1.0-54-amd64\n";
        assert_eq!(depended_on(text), Some("linux-image-6.1.0-54-amd64"));
        assert_eq!(depended_on("linux-image-amd64\n  Depends: <something>\n"), None);
        assert_eq!(depended_on(""), None);
    }
}
