//! A page of `wiremend serve`, and what every page must be.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};

use super::Browser;
use crate::shell;

/// A process that ends with the value.
pub(super) struct Ending(pub(super) Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `wiremend serve` with these arguments on a free port; returns its address.
pub(super) fn served(arguments: &[&OsStr]) -> Result<(Ending, String)> {
    let program = shell::build("test-release")?;
    let page = Command::new(program)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start `wiremend serve`")?;
    let mut page = Ending(page);
    let mut lines = BufReader::new(page.0.stderr.take().expect("stderr is a pipe")).lines();
    let address = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("the page is at http://")?.1.trim_end_matches('/').to_owned()));
    thread::spawn(move || lines.for_each(drop));
    Ok((page, address.context("the page names no address")?))
}

/// Opens a view light, dark and narrow: no serious finding of axe-core, nothing wider than the window. The pictures
/// are in `target/screenshots`.
pub(super) fn looks(viewer: &Browser, view: &str, url: &str, is_ready: &str) -> Result<()> {
    let folder = shell::target_dir()?.join("screenshots");
    fs::create_dir_all(&folder).context("cannot create the folder of screenshots")?;
    for (look, width, is_dark) in [("light", 1280, false), ("dark", 1280, true), ("narrow", 400, false)] {
        viewer.show_as(width, 900, is_dark)?;
        viewer.open("about:blank")?;
        viewer.open(url)?;
        viewer.wait_for(is_ready)?;
        viewer.screenshot(&folder.join(format!("{view}-{look}.png")))?;
        let faults = viewer.accessibility_faults()?;
        ensure!(faults.is_empty(), "{view}, {look}: {faults:?}");
        let wider = viewer.run("return document.documentElement.scrollWidth - innerWidth;")?;
        ensure!(wider.as_i64().is_some_and(|wider| wider <= 0), "{view}, {look}: {wider} px too wide");
    }
    Ok(())
}
