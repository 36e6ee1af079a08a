//! `cargo xtask docs`: generated documents.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, call};

/// Shells with completions.
pub(crate) const SHELLS: &[&str] = &["bash", "zsh", "fish"];

/// Rewrites the reference pages, and writes man pages and completions to `target/docs`.
pub(crate) fn run() -> Result<()> {
    let program = shell::build("dev")?;
    shell::run(call(&program, "man --markdown").arg(shell::root().join("docs/reference")))?;
    println!("docs/reference");
    let directory = shell::target_dir()?.join("docs");
    write_pages(&program, &directory)?;
    println!("{}", directory.display());
    Ok(())
}

/// Writes man pages to `man1/` and completions to `completions/`.
pub(crate) fn write_pages(program: &Path, directory: &Path) -> Result<()> {
    let man = directory.join("man1");
    fs::create_dir_all(&man).with_context(|| format!("cannot create `{}`", man.display()))?;
    shell::run(call(program, "man").arg(&man))?;
    ensure!(man.join("wiremend.1").is_file(), "the program wrote no wiremend.1 to `{}`", man.display());
    let completions = directory.join("completions");
    fs::create_dir_all(&completions).with_context(|| format!("cannot create `{}`", completions.display()))?;
    for shell in SHELLS {
        let text = shell::output(&mut call(program, &format!("completions {shell}")))?;
        ensure!(text.contains("wiremend"), "completions for {shell} do not name the program");
        fs::write(completions.join(format!("wiremend.{shell}")), text)?;
    }
    Ok(())
}
