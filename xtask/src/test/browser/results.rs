//! `wiremend serve DIR`: what a reader does with stored runs and sweeps, some of which are damaged or hostile.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Browser;
use super::served::{looks, served};
use crate::shell;

/// Compares runs, picks variants and a number of a sweep, opens a flow; light, dark, narrow.
pub(super) fn run() -> Result<()> {
    let folder = shell::target_dir()?.join("test-output/results");
    let _ = fs::remove_dir_all(&folder);
    store(&folder)?;
    let (_page, address) = served(&[folder.as_os_str()])?;
    let url = |path: &str| format!("http://{address}/{path}");
    let viewer = Browser::start()?;
    viewer.show_as(1280, 900, false)?;
    viewer.open(&url(""))?;
    let count =
        |selector: &str| viewer.run(&format!("return document.querySelectorAll('{selector}').length;"));
    ensure!(count("form input[name=v]")? == 6, "all variants can be picked");
    let warnings =
        viewer.run("return [...document.querySelectorAll('.bad')].map((one) => one.textContent).join();")?;
    let has = |text: &str| warnings.as_str().is_some_and(|all| all.contains(text));
    ensure!(
        has("broken: summary.json: ") && has("<img src=x>: "),
        "what cannot be read is named: {warnings}"
    );
    ensure!(count("img")? == 0 && count("script")? == 0, "names are text");

    println!("pick variants and a number");
    for variant in ["clean", "go-back-0", "links protected"] {
        viewer.run(&format!(
            "[...document.querySelectorAll('label')].find((one) => one.innerText.trim() === '{variant}').click();"
        ))?;
    }
    viewer.run("document.querySelector('details:has([name=n])').open = true;")?;
    viewer.click("input[name=n][value=fct_p99_ns]")?;
    viewer.click("form button")?;
    viewer.wait_for("location.search.includes('fct_p99_ns')")?;
    let text = viewer.run("return document.querySelector('main').textContent;")?;
    let text = text.as_str().context("a text")?;
    for part in
        ["tour: go-back-n, mended", "tail: base", "Busiest links, tail: base", "Size bins", "Sweep study"]
    {
        ensure!(text.contains(part), "`{part}` in {text}");
    }
    ensure!(!text.contains("tour: go-back-0"), "a variant that was not picked: {text}");
    let shown = viewer.run(
        "return [...document.querySelectorAll('figure svg')].map((one) => one.getAttribute('aria-label')).join();",
    )?;
    ensure!(
        shown.as_str().is_some_and(|all| all.contains("99th percentile of the completion time")),
        "{shown}"
    );

    println!("open the slowest flow, and one that does not exist");
    viewer.click("a[href^='/flow?of=tail']")?;
    viewer.wait_for("document.querySelector('.ladder svg')")?;
    let ladder = viewer.run("return document.querySelector('main').textContent;")?;
    ensure!(
        ladder.as_str().is_some_and(|text| text.contains("timer fires at 11: tail packet lost")),
        "{ladder}"
    );
    let flow = viewer.run("return location.href;")?;
    viewer.open(&url("flow?of=tail%230&flow=99"))?;
    viewer.wait_for("document.querySelector('.bad')?.textContent.includes('no flow 99')")?;

    println!("light, dark, narrow; axe-core");
    looks(&viewer, "results", &url(""), "document.querySelector('figure svg')")?;
    looks(&viewer, "results-sweep", &url("?v=none#sweeps"), "document.querySelector('section figure svg')")?;
    looks(&viewer, "flow", flow.as_str().context("an address")?, "document.querySelector('.ladder svg')")?;
    let errors = viewer.console_errors()?;
    ensure!(errors.is_empty(), "errors in the console: {errors:?}");
    Ok(())
}

/// Stores two runs and a sweep, and something broken.
fn store(folder: &Path) -> Result<()> {
    let program = shell::build("test-release")?;
    let wiremend = |arguments: &[&str], out: &str| {
        let mut command = Command::new(&program);
        shell::output(command.args(arguments).arg("--out").arg(folder.join(out))).map(drop)
    };
    let series = "series={every=\"100us\", flows=1}";
    wiremend(&["run", "tail-packet", "--set", series], "tail")?;
    wiremend(&["run", "tour", "--seeds", "2", "--set", "workload.0.flows=400"], "tour")?;
    fs::create_dir_all(folder).context("the folder")?;
    let study = folder.join("study.toml");
    let text = "name = \"dummies\"\nscenario = \"tour\"\nvariants = [\"go-back-n\"]\nseeds = 2\n\
                set = { \"workload.0.flows\" = 400 }\n[[axis]]\nname = \"dummies\"\npath = \"mend.dummies\"\n\
                values = [0, 1, 2]\n";
    fs::write(&study, text).context("the study")?;
    wiremend(&["sweep", &study.display().to_string()], "study")?;
    for (name, text) in [("broken", "{"), ("<img src=x>", "[]")] {
        fs::create_dir_all(folder.join(name)).context("a folder")?;
        fs::write(folder.join(name).join("summary.json"), text).context("a summary")?;
    }
    Ok(())
}
