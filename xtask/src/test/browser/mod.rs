//! Tests of the pages in a real browser: headless Chromium, controlled by the protocol of the W3C.
//!
//! Each page has a file with what a person does on it.

mod machine;
mod playground;
mod results;
mod serve;
mod served;
mod webdriver;

use anyhow::{Context, Result};

use super::tally::Tally;
use crate::shell::{self, command};
use webdriver::Browser;

/// What a person does on a page.
type Page = (&'static str, fn() -> Result<()>);

const PAGES: &[Page] = &[
    ("wiremend serve", serve::run),
    ("wiremend serve --machine", machine::run),
    ("wiremend serve DIR", results::run),
    ("playground", playground::check),
];

/// Runs the tests of all pages. Without a browser they are skipped, except in continuous integration.
pub(super) fn check(tally: &mut Tally) -> Result<()> {
    if !is_installed() && std::env::var_os("CI").is_none() {
        println!("skipped: no Chromium; install it with `apt-get install chromium chromium-driver`");
        tally.skipped += PAGES.len() as u64;
        return Ok(());
    }
    for (name, page) in PAGES {
        page().with_context(|| format!("page `{name}`"))?;
        println!("{name}: ok");
        tally.passed += 1;
    }
    Ok(())
}

fn is_installed() -> bool {
    ["chromium --version", "chromedriver --version"].iter().all(|line| shell::succeeds(&mut command(line)))
}

/// Whether there is a browser, or no package of one.
pub(super) fn is_installed_or_unavailable() -> bool {
    let is_packaged = || {
        let shown = shell::output(&mut command("apt-cache policy chromium-driver"));
        shown.is_ok_and(|text| text.contains("Candidate:") && !text.contains("Candidate: (none)"))
    };
    is_installed() || std::env::var_os("CI").is_none() && !is_packaged()
}
