//! Rules for Markdown pages: links and paths resolve, lines and pages are short, and documents link to the
//! glossary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::tree;
use crate::shell;

/// Longest line outside tables and code, in characters.
const LINE_CHARS_MAX: usize = 120;
/// Code hosts cut longer pages.
const PAGE_BYTES_MAX: usize = 60_000;
/// Folders whose paths are checked wherever a page names them in backquotes.
const FOLDERS: &[&str] =
    &["crates/", "docs/", "examples/", "scenarios/", "deploy/", "xtask/", "fuzz/", "python/", ".ci/"];

/// Documents without terms of our own, the list of documents and the glossary itself.
const WITHOUT_GLOSSARY: &[&str] = &["docs/README.md", "docs/glossary.md"];

/// Checks every Markdown page that is committed or about to be.
pub(super) fn check() -> Result<()> {
    let files: Vec<_> = tree::files()?
        .into_iter()
        .filter(|file| Path::new(file).extension() == Some("md".as_ref()))
        .collect();
    let mut wrong = Vec::new();
    for file in &files {
        let text = fs::read_to_string(shell::root().join(file)).with_context(|| file.clone())?;
        wrong.extend(faults(shell::root(), file, &text));
    }
    for line in &wrong {
        println!("{line}");
    }
    ensure!(wrong.is_empty(), "{} faults in Markdown pages", wrong.len());
    println!("{} pages", files.len());
    Ok(())
}

/// The faults of one page, a line each.
fn faults(root: &Path, file: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > PAGE_BYTES_MAX {
        found.push(format!("{file}: {} bytes; a page has at most {PAGE_BYTES_MAX}", text.len()));
    }
    let wants_glossary = file.starts_with("docs/") && !WITHOUT_GLOSSARY.contains(&file);
    if wants_glossary && !prose(text).any(|(_, line)| line.contains("](../glossary.md")) {
        found.push(format!("{file}: no link to the glossary"));
    }
    for (number, line) in prose(text) {
        let length = line.chars().count();
        if length > LINE_CHARS_MAX && !line.starts_with('|') && !line.starts_with("<!--") {
            found.push(format!("{file}:{number}: {length} characters; a line has at most {LINE_CHARS_MAX}"));
        }
        for target in links(line) {
            if let Some(fault) = broken_link(root, file, text, target) {
                found.push(format!("{file}:{number}: link `{target}`: {fault}"));
            }
        }
        for path in named_paths(line).filter(|path| !root.join(path).exists()) {
            found.push(format!("{file}:{number}: `{path}` does not exist"));
        }
    }
    found
}

/// Lines outside code fences, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    })
}

/// Targets of `[text](target)` outside of backquotes.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let outside = line.split('`').step_by(2);
    let targets = outside.flat_map(|part| part.split("](").skip(1));
    let whole = targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    // A backquoted text may stand inside the brackets: `[`name`](target)`.
    whole.filter(|target| !target.contains(' ') && !target.starts_with("http"))
}

fn broken_link(root: &Path, file: &str, text: &str, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let full = if path.is_empty() { root.join(file) } else { relative(root, file, path) };
    if !full.exists() {
        return Some("no such file".to_owned());
    }
    if anchor.is_empty() || full.extension() != Some("md".as_ref()) {
        return None;
    }
    let other = if path.is_empty() { text.to_owned() } else { fs::read_to_string(&full).unwrap_or_default() };
    (!anchors(&other).contains(anchor)).then(|| "no such heading".to_owned())
}

/// `path` as seen from the folder of `file`, without `..`.
fn relative(root: &Path, file: &str, path: &str) -> PathBuf {
    let mut full = root.join(file);
    full.pop();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => {
                full.pop();
            }
            other => full.push(other),
        }
    }
    full
}

/// Anchors that code hosts make of headings: lower case, spaces to hyphens, punctuation removed.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter_map(|(_, line)| line.strip_prefix('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().chars();
        let kept = kept.filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Paths of this tree in backquotes, without patterns.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| {
        FOLDERS.iter().any(|folder| text.starts_with(folder))
            && text.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c))
            && !text.chars().any(char::is_uppercase)
    };
    quoted.filter(is_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(text: &str) -> Vec<String> {
        faults(shell::root(), "docs/README.md", text)
    }

    #[test]
    fn a_page_with_links_and_paths_that_exist_has_no_fault() {
        let text =
            "# A b, c\n[top](#a-b-c) [map](../ARCHITECTURE.md#the-crates) `crates/proto` `crates/NAME`\n";
        assert_eq!(faults_of(text), Vec::<String>::new());
    }

    #[test]
    fn broken_links_missing_paths_and_long_lines_are_reported_with_their_line() {
        let text = "[a](gone.md)\n[b](#gone)\n`crates/gone`\n";
        assert_eq!(
            faults_of(text),
            [
                "docs/README.md:1: link `gone.md`: no such file",
                "docs/README.md:2: link `#gone`: no such heading",
                "docs/README.md:3: `crates/gone` does not exist",
            ]
        );
        assert_eq!(faults_of(&"x".repeat(121)).len(), 1);
        assert_eq!(faults_of(&format!("![{}](README.md)", "x".repeat(121))).len(), 1);
        assert_eq!(faults_of(&"x\n".repeat(PAGE_BYTES_MAX)).len(), 1);
    }

    #[test]
    fn a_document_without_a_link_to_the_glossary_is_reported() {
        let faults_in = |text: &str| faults(shell::root(), "docs/guide/model.md", text);
        assert_eq!(faults_in("text\n"), ["docs/guide/model.md: no link to the glossary"]);
        assert!(faults_in("[dummies](../glossary.md)\n").is_empty());
    }

    #[test]
    fn tables_and_code_may_be_wide() {
        let wide = "x".repeat(200);
        assert_eq!(faults_of(&format!("| {wide} |\n```\n{wide} [a](gone.md)\n```\n")), Vec::<String>::new());
    }
}
