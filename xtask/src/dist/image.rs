//! The recipe of a container image, `deploy/container/Containerfile`.
//!
//! A container engine may be missing. So the last stage, which only copies files, is laid out here and its
//! program is run in it, without an engine. The first stage is the build that made the binary. Where an engine
//! answers, it builds and runs the image, too.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::place;
use crate::shell::{self, command};

/// The last stage of a recipe.
#[derive(Debug, Default)]
struct Stage {
    base: String,
    /// Files of the build stage or of the repository, and where they go.
    copied: Vec<(Vec<String>, String)>,
    entry: String,
}

/// Lays the image out in `dist` with this static binary and runs it there.
pub(super) fn check(dist: &Path, binary: &Path) -> Result<()> {
    let recipe = fs::read_to_string(shell::root().join("deploy/container/Containerfile"))?;
    let stage = last_stage(&recipe)?;
    ensure!(stage.base == "scratch", "the image must contain nothing else, its base is `{}`", stage.base);
    let top = dist.join("image");
    for (sources, to) in &stage.copied {
        for source in sources {
            let name = Path::new(source).file_name().context("a copy of everything")?;
            let target = top.join(to.trim_start_matches('/'));
            let target = if to.ends_with('/') { target.join(name) } else { target };
            let is_binary = source == "/src/target/release/wiremend";
            place(if is_binary { binary.to_owned() } else { shell::root().join(source) }.as_path(), &target)?;
        }
    }
    ensure!(top.join(stage.entry.trim_start_matches('/')).is_file(), "the image has no `{}`", stage.entry);
    if shell::output(&mut command("id -u"))?.trim() == "0" {
        let mut image = command("/usr/sbin/chroot");
        image.arg(&top).arg(&stage.entry).arg("--version").env_clear();
        ensure!(shell::output(&mut image)?.starts_with("wiremend "), "the image's program prints no version");
    } else {
        println!("skipped: only root can run a program in the layout of the image");
    }
    fs::remove_dir_all(&top).with_context(|| format!("cannot remove `{}`", top.display()))
}

/// Builds and runs the image with the first engine that answers, if any.
pub(super) fn build() -> Result<()> {
    let answers = |engine: &&str| shell::succeeds(&mut command(&format!("{engine} info")));
    let Some(engine) = ["podman", "docker"].into_iter().find(answers) else {
        println!("skipped: no container engine answers; the recipe was checked without one");
        return Ok(());
    };
    build_with(engine)
}

fn build_with(engine: &str) -> Result<()> {
    let build = "build --quiet --file deploy/container/Containerfile --tag wiremend:dist .";
    shell::run(&mut command(&format!("{engine} {build}")))?;
    let version = shell::output(&mut command(&format!("{engine} run --rm wiremend:dist --version")))?;
    ensure!(version.starts_with("wiremend "), "the image prints version `{}`", version.trim());
    Ok(())
}

/// Reads the instructions after the last `FROM`; refuses those that are not understood here.
fn last_stage(recipe: &str) -> Result<Stage> {
    let mut stage = Stage::default();
    let lines = recipe.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["FROM", base, ..] => stage = Stage { base: base.to_owned(), ..Stage::default() },
            // The build has its own test; only copies of its result matter here.
            ["WORKDIR" | "RUN", ..] if stage.base != "scratch" => {}
            ["USER", _] => {}
            ["COPY", ref sources @ .., to] => {
                let sources = sources.iter().filter(|word| !word.starts_with("--"));
                stage.copied.push((sources.map(ToString::to_string).collect(), to.to_owned()));
            }
            ["ENTRYPOINT", list] => {
                let list: Vec<String> = serde_json::from_str(list).context("ENTRYPOINT is no JSON list")?;
                stage.entry = list.into_iter().next().context("an empty ENTRYPOINT")?;
            }
            _ => bail!("this instruction is not known: {line}"),
        }
    }
    Ok(stage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::binary;

    fn recipe() -> String {
        fs::read_to_string(shell::root().join("deploy/container/Containerfile")).unwrap()
    }

    /// The image starts as laid out by the recipe, here with another static program.
    #[test]
    fn the_image_contains_what_its_program_needs() {
        let dist = shell::target_dir().unwrap().join(format!("image-test-{}", std::process::id()));
        fs::create_dir_all(&dist).unwrap();
        let program = dist.join("trial");
        binary::trial(&program);
        check(&dist, &program).unwrap();
        // A program that needs a library does not start there.
        assert!(
            check(&dist, &std::env::current_exe().unwrap()).is_err() || cfg!(target_feature = "crt-static")
        );
        fs::remove_dir_all(&dist).unwrap();
    }

    #[test]
    fn the_recipe_builds_with_the_declared_rust_and_names_existing_files() {
        let manifest: toml::Table =
            fs::read_to_string(shell::root().join("Cargo.toml")).unwrap().parse().unwrap();
        let rust = manifest["workspace"]["package"]["rust-version"].as_str().unwrap();
        let text = recipe();
        assert!(text.contains(&format!("FROM docker.io/library/rust:{rust}-alpine AS build\n")), "{rust}");
        let stage = last_stage(&text).unwrap();
        assert_eq!(stage.entry, "/usr/bin/wiremend");
        for source in stage.copied.iter().flat_map(|(sources, _)| sources) {
            assert!(source.starts_with("/src/") || shell::root().join(source).is_file(), "{source}");
        }
    }

    /// With a script in the place of an engine.
    #[test]
    fn an_engine_builds_and_runs_the_image() {
        let script = std::env::temp_dir().join(format!("engine-{}", std::process::id()));
        for (prints, good) in [("wiremend 1.2.3", true), ("sh: not found", false)] {
            let text =
                format!("case $1 in build) [ -f \"$4\" ] && [ -d \"$7\" ];; run) echo '{prints}';; esac\n");
            fs::write(&script, text).unwrap();
            assert_eq!(build_with(&format!("sh {}", script.display())).is_ok(), good, "{prints}");
        }
        fs::remove_file(&script).unwrap();
    }

    #[test]
    fn an_instruction_that_is_not_known_is_refused() {
        assert!(last_stage(&format!("{}RUN true\n", recipe())).is_err());
        assert!(last_stage("FROM a\nENTRYPOINT wiremend\n").is_err());
    }
}
