//! `cargo xtask bench capture`: speed and memory of the explanation of a large capture.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::usage;
use crate::shell::{self, call, command};

/// 32 queue pairs and a gigabyte, with losses that end in NAKs and in timeouts.
const SCENARIO: &str = r#"
title = "a large capture"
[topology]
kind = "chain"
switches = 2
hosts_per_end = 1
[transport]
operation = "write"
timeout = 8
[[workload]]
kind = "flows"
pattern = "point-to-point"
bytes = "64KiB"
count = 32
every = "200us"
rounds = 480
[[impair]]
kind = "frames"
links = "s0-s1"
rate = "1e-4"
"#;
/// Limits: seconds for a gigabyte, and bytes.
const SECONDS_MAX: f64 = 4.0;
const BYTES_MAX: u64 = 100_000_000;

/// Measures and prints; fails if a limit is exceeded.
pub(super) fn run(program: &Path, repeat: u32) -> Result<()> {
    let folder = shell::target_dir()?.join("bench-capture");
    fs::create_dir_all(&folder).context("a folder for the capture")?;
    let (scenario, capture) = (folder.join("scenario.toml"), folder.join("large.pcapng"));
    fs::write(&scenario, SCENARIO)?;
    let line = format!("run {} --capture s0-s1={} --json", scenario.display(), capture.display());
    shell::output(&mut call(program, &line))?;
    let gigabytes = fs::metadata(&capture).context("the capture")?.len() as f64 / 1e9;
    let mut seconds = Vec::new();
    let mut peak_bytes = 0;
    for _ in 0..repeat {
        // Stalls end with exit status 1.
        let mut explain = command("sh -c");
        let line = format!("{} capture explain {} > {}", program.display(), capture.display(), "/dev/null");
        let (_, usage) = usage::run_measured(explain.arg(format!("{line}; test $? -eq 1")))?;
        seconds.push(usage.wall_s);
        peak_bytes = peak_bytes.max(usage.peak_bytes);
    }
    fs::remove_dir_all(&folder).context("cannot remove the capture")?;
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    println!(
        "explain: {gigabytes:.2} GB in {median:.2} s ({:.2} to {:.2} s), {:.2} GB/s, {:.1} MB",
        seconds[0],
        seconds[seconds.len() - 1],
        gigabytes / median,
        peak_bytes as f64 / 1e6
    );
    let per_gigabyte = median / gigabytes;
    ensure!(per_gigabyte <= SECONDS_MAX, "{per_gigabyte:.2} s for a gigabyte; at most {SECONDS_MAX} s");
    ensure!(peak_bytes <= BYTES_MAX, "{peak_bytes} bytes of memory; at most {BYTES_MAX}");
    Ok(())
}
