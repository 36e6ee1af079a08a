//! The root file system of a guest: programs, their libraries, modules, and what it does first.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Archive;
use super::parts::Parts;
use super::trouble::Trouble;

/// What guests boot; all of them the same.
#[derive(Debug)]
pub(crate) struct Image<'a> {
    pub(super) parts: &'a Parts,
    /// The root file system.
    pub(super) root: PathBuf,
}

/// What a guest does first, and what it does from then on.
const INIT: &str = include_str!("init.sh");
pub(super) const SERVE: &str = include_str!("serve.sh");
/// Where the loader looks by itself.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

impl<'a> Image<'a> {
    /// Puts one together in a directory, whose owner removes it.
    pub(crate) fn build(parts: &'a Parts, directory: &Path) -> Result<Self, Trouble> {
        let root = directory.join("guest.cpio");
        let file = File::create(&root).map_err(Trouble::file(&root))?;
        let mut archive = Archive::new(BufWriter::new(file));
        let mut put = |path: &str, bytes: &[u8]| archive.file(path, bytes).map_err(Trouble::file(&root));
        for (path, source) in contents(parts)? {
            put(&path, &fs::read(&source).map_err(Trouble::file(&source))?)?;
        }
        put("/init", INIT.as_bytes())?;
        put("/serve", SERVE.as_bytes())?;
        for directory in ["/dev", "/proc", "/run", "/sys"] {
            archive.directory(directory).map_err(Trouble::file(&root))?;
        }
        archive.finish().map_err(Trouble::file(&root))?;
        Ok(Self { parts, root })
    }
}

/// Paths in the guest, and the files of this machine that come there.
fn contents(parts: &Parts) -> Result<BTreeMap<String, PathBuf>, Trouble> {
    let mut contents = BTreeMap::new();
    let mut put = |directory: &str, source: &Path| {
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        contents.insert(format!("{directory}/{name}"), source.to_owned());
    };
    put("/bin", &parts.busybox);
    for program in &parts.programs {
        put("/usr/bin", program);
    }
    for part in &parts.provider {
        put(&part.parent().unwrap_or(Path::new("/")).to_string_lossy(), part);
    }
    for module in parts.kernel.modules()? {
        put("/modules", &module);
    }
    let linked = parts.programs.iter().chain(&parts.provider[1..]).chain([&parts.busybox]);
    for file in linked {
        for library in libraries(file)? {
            // The loader is known to programs by its whole path, libraries by name.
            let is_loader = library.starts_with("/lib64");
            put(if is_loader { "/lib64" } else { LIBRARIES }, &library);
        }
    }
    Ok(contents)
}

/// The libraries that a program is linked with, and theirs, where this machine's loader finds them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let output = Command::new("ldd").arg(program).output().map_err(Trouble::io("cannot run `ldd`"))?;
    // A static program is told by failure.
    if !output.status.success() {
        return Ok(Vec::new());
    }
    listed(&String::from_utf8_lossy(&output.stdout))
        .map_err(|line| Trouble::Unexpected(format!("`{}` needs a library: {line}", program.display())))
}

/// What `ldd` lists: `name => path (address)`, or a path alone. What the kernel itself brings has no path.
fn listed(text: &str) -> Result<Vec<PathBuf>, &str> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let path = line.split_once(" => ").map_or(line, |(_, path)| path);
        if path.starts_with("not found") {
            return Err(line);
        }
        if path.starts_with('/') {
            found.push(PathBuf::from(path.split(" (").next().unwrap_or(path)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_what_ldd_says() {
        let text = "\tlinux-vdso.so.1 (0x00007f52)\n\tlibmnl.so.0 => /lib/x86_64-linux-gnu/libmnl.so.0 (0x1)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f5)\n";
        let paths = ["/lib/x86_64-linux-gnu/libmnl.so.0", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(listed(text), Ok(paths.to_vec()));
        assert_eq!(listed("\tlibx.so => not found\n"), Err("libx.so => not found"));
        assert_eq!(listed("\tnot a dynamic executable\n"), Ok(Vec::new()));
    }
}
