//! Writer for an initramfs: cpio in the "newc" format (Linux, `driver-api/early-userspace/buffer-format`).

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// Writes files, and their parent directories before them.
pub(super) struct Archive<W> {
    sink: W,
    directories: BTreeSet<String>,
    entry_count: u32,
}

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LAST: &str = "TRAILER!!!";
const HEADER_BYTES: usize = 6 + 13 * 8;
const ALIGNMENT: usize = 4;

impl<W: Write> Archive<W> {
    pub(super) fn new(sink: W) -> Self {
        Self { sink, directories: BTreeSet::new(), entry_count: 0 }
    }

    pub(super) fn directory(&mut self, path: &str) -> io::Result<()> {
        let path = relative(path);
        self.parents(path)?;
        if self.directories.insert(path.to_owned()) {
            self.entry(path, DIRECTORY, &[])?;
        }
        Ok(())
    }

    pub(super) fn file(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = relative(path);
        self.parents(path)?;
        self.entry(path, PROGRAM, bytes)
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.entry(LAST, 0, &[])?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn parents(&mut self, path: &str) -> io::Result<()> {
        let parents: Vec<_> = Path::new(path).ancestors().skip(1).filter_map(Path::to_str).collect();
        for parent in parents.into_iter().rev().filter(|parent| !parent.is_empty()) {
            if self.directories.insert(parent.to_owned()) {
                self.entry(parent, DIRECTORY, &[])?;
            }
        }
        Ok(())
    }

    /// Writes an entry: a header of 8-digit hexadecimal numbers, then name and contents, padded to words.
    fn entry(&mut self, path: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let len =
            u32::try_from(bytes.len()).map_err(|_| io::Error::other(format!("`{path}` is too long")))?;
        self.entry_count += 1;
        let name_len = path.len() as u32 + 1;
        let (owner, group, links, time, device) = (0, 0, 1, 0, 0);
        let fields = [
            self.entry_count,
            mode,
            owner,
            group,
            links,
            time,
            len,
            device,
            device,
            device,
            device,
            name_len,
            0,
        ];
        self.sink.write_all(b"070701")?;
        for field in fields {
            write!(self.sink, "{field:08x}")?;
        }
        self.sink.write_all(path.as_bytes())?;
        self.zeros(1 + padding(HEADER_BYTES + path.len() + 1))?;
        self.sink.write_all(bytes)?;
        self.zeros(padding(bytes.len()))
    }

    fn zeros(&mut self, count: usize) -> io::Result<()> {
        self.sink.write_all(&[0; 1 + ALIGNMENT][..count])
    }
}

fn padding(len: usize) -> usize {
    len.next_multiple_of(ALIGNMENT) - len
}

fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_written_once_and_before_their_files() {
        let mut archive = Archive::new(Vec::new());
        archive.file("/lib/modules/a.ko", b"12345").unwrap();
        archive.file("/lib/b", b"").unwrap();
        archive.directory("/lib/modules").unwrap();
        archive.directory("proc").unwrap();
        let entries = entries(&archive.finish().unwrap());
        let names: Vec<_> =
            entries.iter().map(|(name, mode, bytes)| (name.as_str(), *mode, bytes.len())).collect();
        assert_eq!(
            names,
            [
                ("lib", DIRECTORY, 0),
                ("lib/modules", DIRECTORY, 0),
                ("lib/modules/a.ko", PROGRAM, 5),
                ("lib/b", PROGRAM, 0),
                ("proc", DIRECTORY, 0),
                (LAST, 0, 0)
            ]
        );
        assert_eq!(entries[2].2, b"12345");
    }

    #[test]
    fn contents_of_any_length_survive() {
        for len in 0..20 {
            let name = "n".repeat(len + 1);
            let bytes = vec![7; len];
            let mut archive = Archive::new(Vec::new());
            archive.file(&name, &bytes).unwrap();
            let written = archive.finish().unwrap();
            assert_eq!(entries(&written)[0], (name, PROGRAM, bytes));
            assert!(written.len().is_multiple_of(ALIGNMENT));
        }
    }

    fn entries(mut archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut found = Vec::new();
        while !archive.is_empty() {
            assert_eq!(&archive[..6], b"070701");
            let field = |at: usize| {
                let digits = std::str::from_utf8(&archive[6 + at * 8..14 + at * 8]).unwrap();
                u32::from_str_radix(digits, 16).unwrap()
            };
            let (mode, len, name_len) = (field(1), field(6) as usize, field(11) as usize);
            let name = String::from_utf8(archive[110..110 + name_len - 1].to_vec()).unwrap();
            assert_eq!(archive[110 + name_len - 1], 0);
            let start = (110 + name_len).div_ceil(4) * 4;
            found.push((name, mode, archive[start..start + len].to_vec()));
            archive = &archive[start + len.div_ceil(4) * 4..];
        }
        found
    }
}
