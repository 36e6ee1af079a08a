//! Modules of a crate depend on each other in one direction.
//!
//! Nodes are the top-level modules of a crate; an edge is a path that starts with `crate::`. Tests do not
//! count. A cycle with a folder is refused; files of one folder may use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::shell;

/// The modules that each module uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Checks all crates.
pub(super) fn check() -> Result<()> {
    let crates = fs::read_dir(shell::root().join("crates")).context("no folder `crates`")?;
    let mut sources: Vec<_> = crates.flatten().map(|entry| entry.path().join("src")).collect();
    sources.push(shell::root().join("xtask/src"));
    sources.sort();
    let mut found = 0;
    for source in &sources {
        for cycle in cycles_of(source)? {
            println!("{}: {}", source.display(), cycle.join(" <-> "));
            found += 1;
        }
    }
    ensure!(found == 0, "{found} cycles");
    Ok(())
}

/// Cycles of a crate that contain a folder.
fn cycles_of(source: &Path) -> Result<Vec<Vec<String>>> {
    let uses = uses(source)?;
    let is_folder = |module: &String| source.join(module).is_dir();
    Ok(cycles(&uses).into_iter().filter(|cycle| cycle.iter().any(is_folder)).collect())
}

fn uses(source: &Path) -> Result<Uses> {
    let mut texts = BTreeMap::<String, Vec<(usize, String)>>::new();
    read(source, source, &mut texts)?;
    let roots: Vec<_> = ["lib", "main"].iter().filter_map(|root| texts.remove(*root)).flatten().collect();
    let modules: BTreeSet<String> = texts.keys().cloned().collect();
    let owners = owners(&roots, &modules);
    let mut uses = Uses::new();
    for (module, texts) in &texts {
        let names = texts.iter().flat_map(|(depth, text)| names(text, *depth == 0));
        let used = names.filter_map(|name| modules.get(name).or_else(|| owners.get(name)));
        uses.insert(module.clone(), used.filter(|other| *other != module).cloned().collect());
    }
    Ok(uses)
}

/// All source below a folder, by top-level module, with the depth below it.
fn read(top: &Path, folder: &Path, texts: &mut BTreeMap<String, Vec<(usize, String)>>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            read(top, &path, texts)?;
        } else if path.extension() == Some("rs".as_ref()) {
            let below = path.strip_prefix(top).expect("it was found below").with_extension("");
            let mut parts: Vec<_> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if parts.len() > 1 && parts.last().is_some_and(|last| last == "mod") {
                parts.pop();
            }
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            texts.entry(parts[0].clone()).or_default().push((parts.len() - 1, code(&text)));
        }
    }
    Ok(())
}

/// Removes comments, and the tests at the end.
fn code(text: &str) -> String {
    let is_test = |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
    let mut lines = text.lines().peekable();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        if is_test(line) && lines.peek().is_some_and(|next| next.starts_with("mod ")) {
            break;
        }
        if !line.trim_start().starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

/// Names that the root of a crate re-exports, with their modules.
fn owners(roots: &[(usize, String)], modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for statement in roots.iter().flat_map(|(_, text)| text.split(';')) {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let Some((module, names)) = path.trim().trim_start_matches("crate::").split_once("::") else {
            continue;
        };
        if modules.contains(module) {
            let names =
                names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
            owners.extend(names.map(|name| (name.to_owned(), module.to_owned())));
        }
    }
    owners
}

/// First names of all paths from the root of the crate, including `super::` at the top level.
fn names(text: &str, is_top: bool) -> Vec<&str> {
    let mut names = Vec::new();
    for prefix in ["crate::", "super::"].into_iter().take(if is_top { 2 } else { 1 }) {
        for (at, _) in text.match_indices(prefix) {
            let rest = &text[at + prefix.len()..];
            match rest.strip_prefix('{') {
                Some(group) => names.extend(first_names(group)),
                None => names.extend(identifier(rest)),
            }
        }
    }
    names
}

/// First names of the paths in a group, up to its closing brace.
fn first_names(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut names) = (0_u32, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.extend(identifier(group[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// Groups of modules that reach each other.
fn cycles(uses: &Uses) -> Vec<Vec<String>> {
    let reached: BTreeMap<_, _> = uses.keys().map(|module| (module, reachable(uses, module))).collect();
    let mut cycles = Vec::new();
    let mut seen = BTreeSet::new();
    for module in uses.keys() {
        let mutual = |other: &&String| reached[module].contains(*other) && reached[*other].contains(module);
        let group: Vec<String> = uses.keys().filter(mutual).cloned().collect();
        if group.len() > 1 && seen.insert(group.clone()) {
            cycles.push(group);
        }
    }
    cycles
}

fn reachable<'a>(uses: &'a Uses, from: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        open.extend(uses[module].iter().filter(|next| reached.insert(*next)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_paths_from_the_root_are_found() {
        let text = "use crate::{a::{B, C}, d, e::F};\nfn f(g: crate::g::H) { super::i::j() }\n";
        assert_eq!(names(text, false), ["a", "d", "e", "g"]);
        assert_eq!(names(text, true), ["a", "d", "e", "g", "i"]);
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        let text = "/// See [`crate::a`].\nuse crate::b;\n#[cfg(test)]\nmod tests {\n    use crate::c;\n}\n";
        assert_eq!(names(&code(text), false), ["b"]);
    }

    #[test]
    fn re_exported_names_belong_to_their_module() {
        let roots = [(0, "mod a;\npub use a::{B, C};\nuse std::fmt;\n".to_owned())];
        let owners = owners(&roots, &BTreeSet::from(["a".to_owned()]));
        assert_eq!(owners.keys().collect::<Vec<_>>(), ["B", "C"]);
    }

    #[test]
    fn modules_that_reach_each_other_are_one_cycle() {
        let uses = |pairs: &[(&str, &[&str])]| -> Uses {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            pairs.iter().map(|(name, others)| ((*name).to_owned(), owned(others))).collect()
        };
        let around = uses(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])]);
        assert_eq!(cycles(&around), [["a", "b", "c"].map(str::to_owned).to_vec()]);
        assert!(cycles(&uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    }
}
