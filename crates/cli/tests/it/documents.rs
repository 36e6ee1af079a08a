//! README and guide show commands and output of the program as they are.

use std::fs;
use std::path::Path;

use crate::program::{wiremend, wiremend_with};

fn page(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Texts of the code blocks of a page whose fence has this name.
fn blocks<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let fence = format!("```{name}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_readme_shows_the_table_of_the_tour() {
    let readme = page("README.md");
    let tables = blocks(&readme, "text");
    assert_eq!(tables.len(), 1);
    let printed = wiremend(&["run", "tour"]).ok();
    let printed: Vec<_> = printed.lines().map(str::trim_end).collect();
    for line in tables[0].lines() {
        assert!(
            printed.contains(&line),
            "README.md has `{line}`, the program prints\n{}",
            printed.join("\n")
        );
    }
}

#[test]
fn the_snippets_of_the_guide_make_a_scenario() {
    let guide = page("docs/guide/scenario.md");
    let snippets = blocks(&guide, "toml");
    assert!(snippets.len() >= 6, "{}", snippets.len());
    let text = format!("title = \"mine\"\n{}", snippets.join("\n"));
    let ended = wiremend_with(&text, &["run", "-", "--set", "workload.0.flows=50", "--json"]);
    assert_eq!(ended.json()["variants"].as_array().map(Vec::len), Some(4));
}

#[test]
fn the_study_of_the_guide_has_cells() {
    let guide = page("docs/guide/sweeps.md");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("study.toml");
    fs::write(&path, blocks(&guide, "toml")[0]).unwrap();
    let listed = wiremend(&["sweep", path.to_str().unwrap(), "--dry-run"]).ok();
    // Four losses, three numbers of dummies and five seeds, without dummies at the lowest loss.
    assert!(listed.contains("\n50 cells, 50 of them to run: about "), "{listed}");
}

#[test]
fn the_commands_of_the_readme_are_understood() {
    let readme = page("README.md");
    let commands = readme.split('`').skip(1).step_by(2).filter_map(|text| text.strip_prefix("wiremend "));
    let names: Vec<_> = commands.filter_map(|text| text.split(' ').next()).collect();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        wiremend(&[name, "--help"]).ok();
    }
}

#[test]
fn the_reference_pages_are_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    wiremend(&["man", path, "--markdown"]).ok();
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(
        files,
        ["cli-operate.md", "cli.md", "scenario-switches.md", "scenario-transport.md", "scenarios.md"]
    );
    for file in files {
        let (file, written) =
            (file.to_str().unwrap(), fs::read_to_string(directory.path().join(&file)).unwrap());
        assert!(
            page(&format!("docs/reference/{file}")) == written,
            "docs/reference/{file} is stale: cargo xtask docs"
        );
    }
}
