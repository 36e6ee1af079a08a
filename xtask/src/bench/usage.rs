//! CPU time, wall time and memory of a program.
//!
//! The kernel reports the usage of all finished children of a process together. So the measured program is
//! the only child of a new process (`xtask measure PROGRAM ARGS…`), which prints its usage and its output.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};

use crate::shell;

/// Usage of one run of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Usage {
    /// User and system time of all threads.
    pub(super) cpu_s: f64,
    pub(super) wall_s: f64,
    /// Largest resident memory.
    pub(super) peak_bytes: u64,
}

/// Runs a program in a separate process; returns its standard output and its usage.
pub(super) fn run_measured(program: &Command) -> Result<(String, Usage)> {
    let mut measure = Command::new(std::env::current_exe().context("our own program")?);
    measure.arg("measure").arg(program.get_program()).args(program.get_args()).current_dir(shell::root());
    let measured = shell::json(measure.stdin(Stdio::null()))?;
    let number = |key: &str| measured[key].as_f64().with_context(|| format!("measured without {key}"));
    let usage = Usage {
        cpu_s: number("cpu_s")?,
        wall_s: number("wall_s")?,
        peak_bytes: measured["peak_bytes"].as_u64().context("measured without peak_bytes")?,
    };
    Ok((measured["stdout"].as_str().context("measured without stdout")?.to_owned(), usage))
}

/// The `xtask measure` command: runs the program in `args` and prints the input of [`run_measured`].
pub(crate) fn measure(args: &[String]) -> Result<()> {
    let (program, args) = args.split_first().context("measure what?")?;
    println!("{}", measured(Command::new(program).args(args))?);
    Ok(())
}

fn measured(program: &mut Command) -> Result<Value> {
    let started = Instant::now();
    let stdout = shell::output(program.stdin(Stdio::null()))?;
    let wall_s = started.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("usage of a child")?;
    let cpu_us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    let peak_bytes = u64::try_from(usage.max_rss()).context("memory of a child")? * MAX_RSS_UNIT;
    ensure!(cpu_us >= 0, "a child took negative time");
    Ok(json!({
        "cpu_s": cpu_us as f64 / 1e6, "wall_s": wall_s, "peak_bytes": peak_bytes, "stdout": stdout,
    }))
}

/// Unit of `ru_maxrss`: KiB on Linux, bytes on macOS.
const MAX_RSS_UNIT: u64 = if cfg!(target_os = "macos") { 1 } else { 1024 };
