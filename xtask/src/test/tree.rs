//! Rules for committed files: no machine-specific paths, no unfinished work, no long files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, command};

/// Forbidden texts and the reason. They are split, because this file is committed too.
const BANNED: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("../sha", "red"), "a path outside of the repository"),
    (concat!("TO", "DO"), "do it, or leave it out"),
    (concat!("FIX", "ME"), "fix it"),
];

/// Most lines of a source file.
const LINES_MAX: usize = 600;

/// Checks every file that is committed or about to be.
pub(super) fn check() -> Result<()> {
    let mut wrong = Vec::new();
    let files = files()?;
    for file in &files {
        // Binary files and deleted files are skipped.
        let Ok(text) = fs::read_to_string(shell::root().join(file)) else { continue };
        wrong.extend(banned(file, &text));
        if Path::new(file).extension() != Some("rs".as_ref()) {
            continue;
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            wrong.push(format!("{file}: {lines} lines, at most {LINES_MAX} are accepted"));
        }
    }
    for line in &wrong {
        println!("{line}");
    }
    ensure!(wrong.is_empty(), "{} violations", wrong.len());
    println!("{} files", files.len());
    Ok(())
}

/// Paths of all files that git has or would add.
pub(super) fn files() -> Result<Vec<String>> {
    // The clone may belong to another user; listing it is harmless.
    let mut git =
        command("git -c safe.directory=* ls-files -z --cached --others --exclude-standard --deduplicate");
    let list = shell::output(&mut git).context("the list of files")?;
    let files: Vec<_> = list.split_terminator('\0').map(str::to_owned).collect();
    ensure!(!files.is_empty(), "git lists no files");
    Ok(files)
}

/// Lines of a file with forbidden texts.
fn banned(file: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (what, why) in BANNED.iter().filter(|(what, _)| line.contains(what)) {
            found.push(format!("{file}:{number}: `{what}`: {why}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_texts_are_found_with_their_line() {
        let text = format!("fine\n// {}: later\n", BANNED[2].0);
        assert_eq!(banned("a.rs", &text), [format!("a.rs:2: `{}`: {}", BANNED[2].0, BANNED[2].1)]);
        assert!(banned("a.rs", "a network\nwork/flows\nto do\n").is_empty());
    }

    #[test]
    fn this_file_is_among_those_checked() {
        assert!(files().unwrap().iter().any(|path| path == file!()), "{}", file!());
    }
}
