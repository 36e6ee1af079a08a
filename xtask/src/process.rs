//! Runs programs with a time limit, and kills those that exceed it with all their descendants.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell::{self, command, format_duration};

/// Polling interval of a running program.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Runs a program to its end and returns its status and standard output. A program that runs longer than
/// `time_max` hangs: it is killed, which is an error.
pub(crate) fn output_within(command: &mut Command, time_max: Duration) -> Result<Output> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .with_context(|| format!("cannot start `{}`", shell::line(command)))?;
    let mut pipe = child.stdout.take().expect("stdout is a pipe");
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    });
    let status = wait(&mut child, time_max)?;
    let stdout = reader.join().expect("reading does not panic").context("output of a program")?;
    let Some(status) = status else {
        print!("{}", String::from_utf8_lossy(&stdout));
        bail!("`{}` hung: killed after {}", shell::line(command), format_duration(time_max));
    };
    Ok(Output { status, stdout, stderr: Vec::new() })
}

/// Waits for a process at most `time_max`; then kills it with its descendants and returns no status.
pub(crate) fn wait(child: &mut Child, time_max: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("waiting for a program")? {
            return Ok(Some(status));
        }
        if begun.elapsed() > time_max {
            kill_tree(child.id());
            child.wait().context("waiting for a program that was killed")?;
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Kills a process and all processes below it.
pub(crate) fn kill_tree(process: u32) {
    // The parent first: without its children it could exit successfully.
    let all: Vec<_> = std::iter::once(process).chain(descendants(process)).map(|id| id.to_string()).collect();
    // `kill` is a shell builtin; the program of that name is not on every machine.
    shell::succeeds(command("sh -c").arg(format!("kill -KILL {}", all.join(" "))));
}

/// Descendants of a process on Linux; none on other systems.
fn descendants(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect();
    let below = children.iter().flat_map(|child| descendants(*child)).collect::<Vec<_>>();
    [children, below].concat()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_hanging_process_is_killed_and_others_are_not() {
        let hung = output_within(&mut command("sleep 600"), Duration::from_millis(20)).unwrap_err();
        assert_eq!(hung.to_string(), "`sleep 600` hung: killed after 0.0 s");
        let ended = output_within(&mut command("echo done"), Duration::from_mins(5)).unwrap();
        assert!(ended.status.success() && ended.stdout == b"done\n");
    }

    #[test]
    fn a_process_ends_with_its_own_children() {
        let mut child = command("sh -c").arg("sleep 600 & sleep 600 & wait").spawn().unwrap();
        while descendants(child.id()).len() < 2 {
            std::thread::yield_now();
        }
        assert!(descendants(std::process::id()).contains(&child.id()));
        let below = descendants(child.id());
        kill_tree(child.id());
        assert!(!child.wait().unwrap().success());
        // A killed orphan disappears after its new parent has reaped it.
        let is_running = |id: &u32| {
            let status = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("status"));
            status.is_ok_and(|text| !text.contains("State:\tZ") && !text.contains("State:\tX"))
        };
        while below.iter().any(is_running) {
            std::thread::yield_now();
        }
    }
}
