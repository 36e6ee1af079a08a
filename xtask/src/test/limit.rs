//! A limit of time for what a check starts: a test that hangs fails, instead of keeping everybody waiting.

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::shell::{self, command};

/// Ends everything this process has started, and what that started, once the time is over.
pub(super) struct Limit {
    /// Says by its end that the time is not over yet.
    in_time: Sender<()>,
    watch: JoinHandle<bool>,
}

impl Limit {
    pub(super) fn start(time: Duration) -> Self {
        let (in_time, end) = mpsc::channel();
        let watch = thread::spawn(move || {
            let over = end.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if over {
                end_all(&descendants(std::process::id()));
            }
            over
        });
        Self { in_time, watch }
    }

    /// Stops watching, and says whether the time was over.
    pub(super) fn was_over(self) -> bool {
        drop(self.in_time);
        self.watch.join().expect("a watch does not panic")
    }
}

fn end_all(processes: &[u32]) {
    // The shell has its own `kill`; the program of that name is not on every machine.
    let list: Vec<_> = processes.iter().map(u32::to_string).collect();
    shell::succeeds(command("sh -c").arg(format!("kill -KILL {}", list.join(" "))));
}

/// The processes below one, as Linux lists them; none elsewhere, where there is no such list.
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
    use std::time::Instant;

    #[test]
    fn a_child_and_its_own_children_are_found_and_ended() {
        let started = Instant::now();
        let mut child = command("sh -c").arg("sleep 60 & sleep 60 & wait").spawn().unwrap();
        while descendants(child.id()).len() < 2 {
            assert!(started.elapsed() < Duration::from_secs(30), "no children of {}", child.id());
        }
        assert!(descendants(std::process::id()).contains(&child.id()));
        let below = descendants(child.id());
        // The shell first: with its children gone it would end by itself, and well.
        end_all(&[&[child.id()], below.as_slice()].concat());
        assert!(!child.wait().unwrap().success());
        assert!(started.elapsed() < Duration::from_mins(1));
    }

    #[test]
    fn what_is_done_in_time_is_left_alone() {
        assert!(!Limit::start(Duration::from_hours(1)).was_over());
    }
}
