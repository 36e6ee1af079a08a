//! `wiremend serve --machine`: the links of one machine, without Redis.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::Browser;
use super::served::{looks, served};
use crate::shell;

/// A link goes bad: it appears with its loss, its page has the raw counters, and there is no map.
pub(super) fn run() -> Result<()> {
    let folder = shell::target_dir()?.join("test-output/machine");
    let _ = fs::remove_dir_all(&folder);
    for port in ["eth0", "eth1"] {
        count(&folder, port, 1_000_000, 0)?;
    }
    let config = folder.join("monitor.toml");
    let text = "node = \"leaf-1\"\npoll = \"50ms\"\n[[link]]\nport = \"eth0\"\npeer = \"spine-1:eth0\"\n\
                protect = \"relay\"\n[[link]]\nport = \"eth1\"\npeer = \"spine-2:eth0\"\n";
    fs::write(&config, text).context("the configuration")?;
    let (_page, address) = served(&[
        "--machine".as_ref(),
        config.as_os_str(),
        "--sysfs".as_ref(),
        folder.as_os_str(),
        "--run-dir".as_ref(),
        folder.join("run").as_os_str(),
    ])?;
    let url = |hash: &str| format!("http://{address}/{hash}");
    let viewer = Browser::start()?;
    viewer.show_as(1280, 900, false)?;
    viewer.open(&url("#/now"))?;
    viewer.wait_for("document.getElementById('status').textContent === 'Live'")?;
    viewer.wait_for("document.querySelectorAll('#links tbody tr').length === 2")?;
    viewer.wait_for("document.querySelector('nav a.plan').offsetParent === null")?;
    ensure!(
        viewer.run("return document.querySelector('[data-state=corrupting] b').textContent;")? == "0",
        "all clean"
    );
    count(&folder, "eth0", 1_500_000, 500)?;
    viewer.wait_for("document.querySelector('[data-state=corrupting] b').textContent === '1'")?;
    let text = viewer.run("return document.querySelector('#links tbody tr').innerText;")?;
    for part in ["leaf-1:eth0", "1.0e-3", "one end unknown", "the relay of this port does not answer"] {
        ensure!(text.as_str().is_some_and(|text| text.contains(part)), "`{part}` in {text}");
    }
    viewer.click("#links tbody a")?;
    viewer.wait_for("document.getElementById('verdict').textContent.includes('500 of 500500 frames')")?;
    viewer.wait_for("document.querySelector('#counters-table tbody')?.textContent.includes('rx_crc')")?;
    viewer.wait_for("cause.textContent.includes('nothing is known of spine-1:eth0')")?;
    let ends = viewer.run("return document.getElementById('ends').innerText;")?;
    ensure!(ends.as_str().is_some_and(|text| text.contains("does not answer")), "{ends}");
    viewer.wait_for("document.querySelectorAll('#events tbody tr').length >= 2")?;
    looks(&viewer, "machine", &url("#/now"), "document.querySelectorAll('#links tbody tr').length === 2")?;
    let errors = viewer.console_errors()?;
    ensure!(errors.is_empty(), "errors in the console: {errors:?}");
    Ok(())
}

/// Writes the counters of a port as sysfs has them.
fn count(sysfs: &Path, port: &str, good: u64, bad: u64) -> Result<()> {
    let base = sysfs.join("class/net").join(port);
    let statistics = base.join("statistics");
    fs::create_dir_all(&statistics).context("a folder of counters")?;
    let files = [
        (base.join("carrier"), "1".to_owned()),
        (base.join("operstate"), "up".to_owned()),
        (base.join("carrier_changes"), "1".to_owned()),
        (statistics.join("rx_crc_errors"), bad.to_string()),
        (statistics.join("rx_packets"), good.to_string()),
    ];
    for (file, text) in files {
        fs::write(&file, text + "\n").with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    Ok(())
}
