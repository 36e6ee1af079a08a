//! Kills a process with all its descendants.

use std::fs;

use crate::shell::{self, command};

/// Kills a process and all processes below it.
pub(super) fn kill_tree(process: u32) {
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
