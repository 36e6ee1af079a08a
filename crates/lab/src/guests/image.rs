//! The root file system of a guest: programs, their libraries, modules and the init script.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Archive;
use super::error::GuestError;
use super::guest_files::GuestFiles;

/// Kernel and root file system, common to all guests.
#[derive(Debug)]
pub struct Image<'a> {
    pub(super) files: &'a GuestFiles,
    pub(super) root: PathBuf,
    /// Bytes of the file, which a guest has in memory twice.
    pub(super) bytes: u64,
}

/// The init script, and the script that executes commands.
const INIT: &str = include_str!("init.sh");
pub(super) const SERVE: &str = include_str!("serve.sh");
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

impl<'a> Image<'a> {
    /// Builds an image in a directory, which its owner removes.
    pub fn build(files: &'a GuestFiles, directory: &Path) -> Result<Self, GuestError> {
        Self::with(files, directory, None)
    }

    /// The same with one more program.
    pub(crate) fn with_program(
        files: &'a GuestFiles,
        directory: &Path,
        program: &Path,
    ) -> Result<Self, GuestError> {
        Self::with(files, directory, Some(program))
    }

    fn with(files: &'a GuestFiles, directory: &Path, program: Option<&Path>) -> Result<Self, GuestError> {
        let root = directory.join("guest.cpio");
        let file = File::create(&root).map_err(GuestError::file(&root))?;
        let mut archive = Archive::new(BufWriter::new(file));
        let mut put = |path: &str, bytes: &[u8]| archive.file(path, bytes).map_err(GuestError::file(&root));
        for (path, source) in contents(files, program)? {
            put(&path, &fs::read(&source).map_err(GuestError::file(&source))?)?;
        }
        put("/init", INIT.as_bytes())?;
        put("/serve", SERVE.as_bytes())?;
        for directory in ["/dev", "/proc", "/run", "/sys"] {
            archive.directory(directory).map_err(GuestError::file(&root))?;
        }
        archive.finish().map_err(GuestError::file(&root))?;
        let bytes = fs::metadata(&root).map_err(GuestError::file(&root))?.len();
        Ok(Self { files, root, bytes })
    }
}

fn contents(files: &GuestFiles, added: Option<&Path>) -> Result<BTreeMap<String, PathBuf>, GuestError> {
    let mut contents = BTreeMap::new();
    let mut put = |directory: &str, source: &Path| {
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        contents.insert(format!("{directory}/{name}"), source.to_owned());
    };
    put("/bin", &files.busybox);
    let programs = || files.programs.iter().map(PathBuf::as_path).chain(added);
    for program in programs() {
        put("/usr/bin", program);
    }
    for part in &files.provider {
        put(&part.parent().unwrap_or(Path::new("/")).to_string_lossy(), part);
    }
    for module in files.kernel.modules()? {
        put("/modules", &module);
    }
    let others = files.provider[1..].iter().chain([&files.busybox]).map(PathBuf::as_path);
    for file in programs().chain(others) {
        for library in libraries(file)? {
            // Programs name the loader by its full path, libraries by name.
            let is_loader = library.starts_with("/lib64");
            put(if is_loader { "/lib64" } else { LIBRARIES }, &library);
        }
    }
    // The C library loads it when a thread ends early, as those of `rping` do.
    let unwinder = Path::new(LIBRARIES).join("libgcc_s.so.1");
    if unwinder.is_file() {
        put(LIBRARIES, &unwinder);
    }
    Ok(contents)
}

/// Libraries of a program, including indirect ones, as the loader of this machine finds them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let output = Command::new("ldd").arg(program).output().map_err(GuestError::io("cannot run `ldd`"))?;
    // `ldd` fails for a static program.
    if !output.status.success() {
        return Ok(Vec::new());
    }
    parse_ldd(&String::from_utf8_lossy(&output.stdout)).map_err(|line| {
        GuestError::Unexpected(format!("`{}` needs a missing library: {line}", program.display()))
    })
}

/// Parses the output of `ldd`: `name => path (address)`, or a path alone. The vDSO has no path.
fn parse_ldd(text: &str) -> Result<Vec<PathBuf>, &str> {
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
    fn ldd_output_is_parsed() {
        let text = "\tlinux-vdso.so.1 (0x00007f52)\n\tlibmnl.so.0 => /lib/x86_64-linux-gnu/libmnl.so.0 (0x1)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f5)\n";
        let paths = ["/lib/x86_64-linux-gnu/libmnl.so.0", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(parse_ldd(text), Ok(paths.to_vec()));
        assert_eq!(parse_ldd("\tlibx.so => not found\n"), Err("libx.so => not found"));
        assert_eq!(parse_ldd("\tnot a dynamic executable\n"), Ok(Vec::new()));
    }
}
