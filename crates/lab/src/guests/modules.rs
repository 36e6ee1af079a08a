//! Kernel modules and their loading order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{GuestError, output};

/// All modules below a directory such as `lib/modules/6.1.0-54-amd64`.
pub(super) struct Modules {
    files: BTreeMap<String, PathBuf>,
    builtin: BTreeSet<String>,
}

/// A module, uncompressed.
pub(super) struct Module {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Modules {
    pub(super) fn below(directory: &Path) -> Result<Self, GuestError> {
        let mut files = BTreeMap::new();
        gather(directory, &mut files)?;
        let list = directory.join("modules.builtin");
        let list = fs::read_to_string(&list).map_err(GuestError::file(&list))?;
        let builtin = list.lines().filter_map(|line| module_name(Path::new(line))).collect();
        Ok(Self { files, builtin })
    }

    /// Returns these modules and their dependencies, each after its dependencies.
    pub(super) fn in_order(&self, names: &[&str]) -> Result<Vec<Module>, GuestError> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for name in names {
            self.visit(name, &mut seen, &mut order)?;
        }
        Ok(order)
    }

    fn visit(
        &self,
        name: &str,
        seen: &mut BTreeSet<String>,
        order: &mut Vec<Module>,
    ) -> Result<(), GuestError> {
        if self.builtin.contains(name) || !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let missing = || GuestError::Unexpected(format!("the kernel has no module `{name}`"));
        let bytes = read(self.files.get(name).ok_or_else(missing)?)?;
        let damaged = || GuestError::Unexpected(format!("module `{name}` has no list of dependencies"));
        for dependency in dependencies(&bytes).ok_or_else(damaged)? {
            self.visit(&dependency, seen, order)?;
        }
        order.push(Module { name: name.to_owned(), bytes });
        Ok(())
    }
}

fn gather(directory: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), GuestError> {
    for entry in fs::read_dir(directory).map_err(GuestError::file(directory))? {
        let path = entry.map_err(GuestError::file(directory))?.path();
        if path.is_dir() {
            gather(&path, files)?;
        } else if let Some(name) = module_name(&path) {
            files.insert(name, path);
        }
    }
    Ok(())
}

/// Returns the module name of a file. File names may have hyphens in place of underscores.
fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".ko").or_else(|| name.strip_suffix(".ko.xz"))?;
    Some(stem.replace('-', "_"))
}

/// Reads a module. Recent Debian releases compress them.
fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    if path.extension().is_some_and(|extension| extension == "xz") {
        return output(Command::new("xz").args(["--decompress", "--stdout"]).arg(path));
    }
    fs::read(path).map_err(GuestError::file(path))
}

/// Dependencies of a module, from `depends=a,b` in its section `.modinfo`.
fn dependencies(module: &[u8]) -> Option<Vec<String>> {
    let mut texts = section(module, b".modinfo")?.split(|byte| *byte == 0);
    let list = texts.find_map(|text| text.strip_prefix(b"depends="))?;
    let list = std::str::from_utf8(list).ok()?;
    Some(list.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect())
}

/// Contents of a section of a 64-bit little-endian ELF file (System V ABI, chapter 4).
fn section<'a>(elf: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    const ELF_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
    if !elf.starts_with(ELF_64_LITTLE) {
        return None;
    }
    let table = number::<8>(elf, 0x28)?;
    let header_len = number::<2>(elf, 0x3a)?;
    let (count, names_index) = (number::<2>(elf, 0x3c)?, number::<2>(elf, 0x3e)?);
    let header = |index: usize| elf.get(table.checked_add(index * header_len)?..);
    let contents = |header: &[u8]| {
        let (offset, len) = (number::<8>(header, 0x18)?, number::<8>(header, 0x20)?);
        elf.get(offset..offset.checked_add(len)?)
    };
    let names = contents(header(names_index)?)?;
    let is_named = |header: &[u8]| {
        let name_start = number::<4>(header, 0)?;
        let found = names.get(name_start..)?.split(|byte| *byte == 0).next()?;
        Some(found == name)
    };
    let found = (0..count).filter_map(header).find(|header| is_named(header) == Some(true))?;
    contents(found)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes: &[u8; N] = bytes.get(at..)?.first_chunk()?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    #[test]
    fn modules_follow_their_dependencies_once() {
        let directory = tempdir().unwrap();
        let nested = directory.path().join("kernel/drivers");
        fs::create_dir_all(&nested).unwrap();
        for (file, dependencies) in [
            ("top.ko", "left-side,right,in-kernel"),
            ("left-side.ko", "base"),
            ("right.ko", "base"),
            ("base.ko", ""),
        ] {
            fs::write(nested.join(file), module(dependencies)).unwrap();
        }
        fs::write(directory.path().join("modules.builtin"), "kernel/lib/in-kernel.ko\n").unwrap();
        let modules = Modules::below(directory.path()).unwrap();
        let order = modules.in_order(&["right", "top", "in_kernel"]).unwrap();
        let names: Vec<_> = order.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["base", "right", "left_side", "top"]);
        assert_eq!(order[0].bytes, module(""));
        let missing = modules.in_order(&["none"]).err().unwrap().to_string();
        assert_eq!(missing, "the kernel has no module `none`");
    }

    #[test]
    fn damaged_modules_cause_no_panic_and_no_wrong_dependencies() {
        let whole = module("a");
        assert_eq!(dependencies(&whole), Some(vec!["a".to_owned()]));
        for len in 0..whole.len() {
            // A truncated module yields no dependencies or the right ones.
            let found = dependencies(&whole[..len]);
            assert!(found.is_none() || found == dependencies(&whole), "{len}: {found:?}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xFF;
            dependencies(&damaged);
        }
    }

    fn module(dependencies: &str) -> Vec<u8> {
        const HEADER: usize = 0x40;
        let names = b"\0.names\0.modinfo\0";
        let info = format!("license=GPL\0depends={dependencies}\0name=x\0");
        let mut elf = vec![0; HEADER];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf.extend(names);
        elf.extend(info.as_bytes());
        let table = elf.len();
        elf[0x28..0x30].copy_from_slice(&(table as u64).to_le_bytes());
        for (at, value) in [(0x3a, 0x40_u16), (0x3c, 2), (0x3e, 0)] {
            elf[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        for (name, start, len) in [(1_u32, HEADER, names.len()), (8, HEADER + names.len(), info.len())] {
            let mut header = [0; 0x40];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(start as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(len as u64).to_le_bytes());
            elf.extend(header);
        }
        elf
    }
}
