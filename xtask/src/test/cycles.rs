//! Modules of a crate depend on each other in one direction.
//!
//! Nodes are the modules of one folder; an edge is a path that starts with `crate::` or `super::`, from any
//! file below the one module to the other or below it. A re-exported name counts for the module that defines
//! it. A cycle with a folder is refused; files of one folder may use each other.
//!
//! Tests do not count. The file of a module and the modules below it may use each other as well: that file is
//! the interface of its folder, and its private items are visible below by the rules of the language.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::shell;

/// Names from the root of a crate to a module or to an item. The root itself has none.
type ModulePath = Vec<String>;
/// The siblings that each module of a folder uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Checks all crates.
pub(super) fn check() -> Result<()> {
    let crates = fs::read_dir(shell::root().join("crates")).context("no folder `crates`")?;
    let mut sources: Vec<_> = crates.flatten().map(|entry| entry.path().join("src")).collect();
    sources.push(shell::root().join("xtask/src"));
    sources.sort();
    let mut found = 0;
    for source in &sources {
        for (folder, cycle) in Modules::read(source)?.cycles() {
            println!("{}: {}", source.join(folder.join("/")).display(), cycle.join(" <-> "));
            found += 1;
        }
    }
    ensure!(found == 0, "{found} cycles");
    Ok(())
}

/// The modules of a crate with their source, without comments and tests.
#[derive(Default)]
struct Modules {
    texts: BTreeMap<ModulePath, String>,
}

impl Modules {
    /// Reads all source below the folder `source`.
    fn read(source: &Path) -> Result<Self> {
        let mut modules = Self::default();
        let mut tests = BTreeSet::new();
        modules.read_folder(source, &[], &mut tests)?;
        modules.texts.retain(|path, _| !tests.iter().any(|test: &ModulePath| path.starts_with(test)));
        Ok(modules)
    }

    fn read_folder(
        &mut self,
        folder: &Path,
        module: &[String],
        tests: &mut BTreeSet<ModulePath>,
    ) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let below = [module, std::slice::from_ref(&name)].concat();
            if path.is_dir() {
                self.read_folder(&path, &below, tests)?;
            } else if path.extension() == Some("rs".as_ref()) {
                let text =
                    fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
                let is_own = name == "mod" || module.is_empty() && ["lib", "main"].contains(&&*name);
                self.add(if is_own { module.to_vec() } else { below }, &text, tests);
            }
        }
        Ok(())
    }

    /// Adds a file; modules that it declares for tests only go to `tests`.
    fn add(&mut self, module: ModulePath, text: &str, tests: &mut BTreeSet<ModulePath>) {
        let (code, declared) = code(text);
        tests.extend(declared.into_iter().map(|name| [&module[..], &[name]].concat()));
        self.texts.entry(module).or_default().push_str(&code);
    }

    /// Cycles that contain a folder, each with the folder in which it is.
    fn cycles(&self) -> Vec<(ModulePath, Vec<String>)> {
        let mut by_folder = BTreeMap::<ModulePath, Uses>::new();
        for module in self.texts.keys().filter(|module| !module.is_empty()) {
            let (name, folder) = module.split_last().expect("it is not empty");
            by_folder.entry(folder.to_vec()).or_default().entry(name.clone()).or_default();
        }
        let imports = self.imports();
        for (module, text) in &self.texts {
            for target in paths(text, module).into_iter().filter_map(|path| self.resolve(path, &imports)) {
                let shared = module.iter().zip(&target).take_while(|(left, right)| left == right).count();
                if let (Some(user), Some(used)) = (module.get(shared), target.get(shared)) {
                    let uses = by_folder.entry(module[..shared].to_vec()).or_default();
                    uses.entry(user.clone()).or_default().insert(used.clone());
                }
            }
        }
        let mut found = Vec::new();
        for (folder, uses) in by_folder {
            let is_folder = |name: &String| {
                let module = [&folder[..], std::slice::from_ref(name)].concat();
                self.texts.keys().any(|other| other.len() > module.len() && other.starts_with(&module))
            };
            let refused = cycles(&uses).into_iter().filter(|cycle| cycle.iter().any(is_folder));
            found.extend(refused.map(|cycle| (folder.clone(), cycle)));
        }
        found
    }

    /// Names that each module imports, with the paths that they stand for.
    fn imports(&self) -> BTreeMap<ModulePath, ModulePath> {
        let mut imports = BTreeMap::new();
        for (module, text) in &self.texts {
            for tree in text.split(';').filter_map(|statement| Some(statement.rsplit_once("use ")?.1.trim()))
            {
                let is_child =
                    |name: &str| self.texts.contains_key(&[&module[..], &[name.to_owned()]].concat());
                let absolute = match identifier(tree) {
                    Some("crate" | "super" | "self") => expand(tree, module),
                    Some(name) if is_child(name) => expand(&format!("self::{tree}"), module),
                    _ => continue,
                };
                for path in absolute {
                    let Some(name) = path.last().cloned() else { continue };
                    imports.insert([&module[..], &[name]].concat(), path);
                }
            }
        }
        imports
    }

    /// The module in which the item at the end of a path is defined; none outside of the crate.
    fn resolve(
        &self,
        mut path: ModulePath,
        imports: &BTreeMap<ModulePath, ModulePath>,
    ) -> Option<ModulePath> {
        // An import that names itself, as macros do, must not go on forever.
        for _ in 0..IMPORTS_MAX {
            let depth = (0..=path.len()).rev().find(|depth| self.texts.contains_key(&path[..*depth]))?;
            let next =
                path.get(..=depth).and_then(|name| imports.get(name)).filter(|import| **import != path);
            match next {
                Some(import) => path = [import, &path[depth + 1..]].concat(),
                None => return Some(path[..depth].to_vec()),
            }
        }
        None
    }
}

/// Longest chain of imports that is followed.
const IMPORTS_MAX: usize = 16;

/// Removes comments and tests; returns the names of modules that exist only in tests as well.
fn code(text: &str) -> (String, Vec<String>) {
    let is_test = |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
    let (mut lines, mut code, mut tests) = (text.lines().peekable(), String::new(), Vec::new());
    while let Some(line) = lines.next() {
        if is_test(line) {
            let next = lines.peek().copied().unwrap_or_default();
            let next = next.trim_start_matches("pub(crate) ").strip_prefix("mod ");
            match next.map(|name| name.strip_suffix(';')) {
                // The tests of the file are at its end.
                Some(None) => break,
                Some(Some(name)) => {
                    tests.push(name.to_owned());
                    lines.next();
                }
                None => {}
            }
        } else if !line.trim_start().starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    (code, tests)
}

/// All paths of a text that start with `crate::` or `super::`, from the root of the crate.
fn paths(text: &str, module: &[String]) -> Vec<ModulePath> {
    let mut paths = Vec::new();
    for prefix in ["crate::", "super::"] {
        for (at, _) in text.match_indices(prefix) {
            // The second of `super::super::` belongs to the first.
            let is_start = !text[..at]
                .ends_with(|before: char| before == ':' || before == '_' || before.is_alphanumeric());
            if is_start {
                paths.extend(expand(&text[at..], module));
            }
        }
    }
    paths
}

/// Paths from the root of the crate for a path or a tree of imports in `module`.
fn expand(tree: &str, module: &[String]) -> Vec<ModulePath> {
    let (mut rest, mut path) = (tree, module.to_vec());
    while let Some(name) = identifier(rest) {
        rest = &rest[name.len()..];
        match name {
            "crate" => path.clear(),
            "self" => {}
            "super" => drop(path.pop()),
            name => path.push(name.to_owned()),
        }
        match rest.strip_prefix("::") {
            Some(after) => rest = after,
            None => return vec![path],
        }
    }
    match rest.strip_prefix('{') {
        Some(group) => members(group).into_iter().flat_map(|member| expand(member, &path)).collect(),
        None => vec![path],
    }
}

/// Members of a group, up to its closing brace.
fn members(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut members) = (0_u32, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                members.extend(Some(group[start..at].trim()).filter(|member| !member.is_empty()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    members
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

    fn modules(files: &[(&str, &str)]) -> Modules {
        let mut modules = Modules::default();
        for (path, text) in files {
            let module = path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            modules.add(module, text, &mut BTreeSet::new());
        }
        modules
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let cycles = modules(files).cycles();
        cycles.iter().map(|(folder, cycle)| format!("{}: {}", folder.join("/"), cycle.join(" "))).collect()
    }

    #[test]
    fn all_forms_of_paths_are_found() {
        let text = "use crate::{a::{B, C}, d, e::F};\nfn f(g: crate::g::H) { super::super::i::j() }\n";
        let module = ["x", "y", "z"].map(str::to_owned);
        let found: Vec<_> = paths(text, &module).iter().map(|path| path.join("/")).collect();
        assert_eq!(found, ["a/B", "a/C", "d", "e/F", "g/H", "x/i/j"]);
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        let text = "/// See [`crate::a`].\n#[cfg(test)]\nmod sample;\nuse crate::b;\n#[cfg(test)]\nmod tests {\n    use crate::c;\n}\n";
        let (code, tests) = code(text);
        assert_eq!((paths(&code, &[]), tests), (vec![vec!["b".to_owned()]], vec!["sample".to_owned()]));
    }

    #[test]
    fn a_cycle_with_a_folder_is_found_at_every_level() {
        let below = [("t/a", ""), ("t/a/x", "use super::super::b::B;"), ("t/b", "use crate::t::a::x::X;")];
        assert_eq!(found(&below), ["t: a b"]);
        assert_eq!(found(&below[..2]), <[&str; 0]>::default());
        let files = [("t/a", "use super::b::B;"), ("t/b", "use super::a::A;")];
        assert_eq!(found(&files), <[&str; 0]>::default());
    }

    #[test]
    fn a_re_exported_name_belongs_to_the_module_that_defines_it() {
        let files = [
            ("", "pub use t::A;"),
            ("t", "mod a;\nmod b;\npub use a::{A, C};\nuse std::fmt;\n"),
            ("t/a", "pub use x::A;\nuse super::b::B;"),
            ("t/a/x", "pub struct A;"),
            ("t/b", "use crate::A;"),
        ];
        assert_eq!(found(&files), ["t: a b"]);
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
