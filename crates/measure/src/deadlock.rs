//! Deadlocks of lossless switches and their remedies.

use serde::{Deserialize, Serialize};

/// Counters of a run. All zero without lossless switches, except for those of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeadlockCounts {
    /// Deadlocks that the global detector found.
    pub found: u64,
    /// Deadlocks that ended before the run.
    pub resolved: u64,
    /// When the first cycle closed, in nanoseconds since the start of the run; the earliest of several seeds.
    pub closed_ns: Option<u64>,
    /// Total duration of deadlocks, from closure until they were last detected, in nanoseconds.
    pub duration_ns: u64,
    /// PFC storms that watchdogs detected.
    pub storms: u64,
    /// Detected storms while there was no deadlock.
    pub false_storms: u64,
    /// Frames that watchdogs dropped.
    pub watchdog_dropped_frames: u64,
    /// Probes that ports sent or forwarded.
    pub probes: u64,
    /// Probes that returned to the port that sent them: each shows a cycle.
    pub probe_detections: u64,
    /// Returned probes while there was no deadlock.
    pub false_probe_detections: u64,
    /// Frames dropped because a probe returned.
    pub probe_dropped_frames: u64,
    /// Frames that were moved from their lossless class to a lossy one.
    pub demoted_frames: u64,
    /// Frames that reached a switch again.
    pub returned_frames: u64,
    /// Frames that a switch dropped because they reached it again.
    pub loop_dropped_frames: u64,
    /// When a switch first reported a loop because of returned frames, in nanoseconds.
    pub return_alarm_ns: Option<u64>,
    /// When a switch first reported a loop because of expired TTLs.
    pub ttl_alarm_ns: Option<u64>,
}

impl DeadlockCounts {
    /// Frames that remedies dropped.
    pub const fn dropped_frames(&self) -> u64 {
        self.watchdog_dropped_frames + self.probe_dropped_frames + self.loop_dropped_frames
    }

    /// All counters with their names in the digest.
    pub fn named(&self) -> [(&'static str, u64); 13] {
        [
            ("deadlock.found", self.found),
            ("deadlock.resolved", self.resolved),
            ("deadlock.closed_ns", self.closed_ns.unwrap_or(0)),
            ("deadlock.stood_ns", self.duration_ns),
            ("deadlock.storms", self.storms),
            ("deadlock.flushed_frames", self.watchdog_dropped_frames),
            ("deadlock.probes", self.probes),
            ("deadlock.proofs", self.probe_detections),
            ("deadlock.drained_frames", self.probe_dropped_frames),
            ("deadlock.demoted_frames", self.demoted_frames),
            ("deadlock.repeated_frames", self.returned_frames),
            ("deadlock.repeat_alarm_ns", self.return_alarm_ns.unwrap_or(0)),
            ("deadlock.expiry_alarm_ns", self.ttl_alarm_ns.unwrap_or(0)),
        ]
    }
}

add_counters!(
    DeadlockCounts;
    sum found, resolved, duration_ns, storms, false_storms, watchdog_dropped_frames, probes, probe_detections, false_probe_detections,
    probe_dropped_frames, demoted_frames, returned_frames, loop_dropped_frames;
    first closed_ns, return_alarm_ns, ttl_alarm_ns
);

/// A deadlock with the names of its ports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeadlockReport {
    /// When the last port of the cycle was paused, in nanoseconds.
    pub closed_ns: u64,
    /// The traffic class.
    pub class: u8,
    /// Link directions whose senders wait for each other: each for the next, the last for the first.
    pub cycle: Vec<String>,
    /// Ports outside the cycle that wait for it.
    pub blocked_ports: u64,
    /// Ports of hosts among these.
    pub blocked_hosts: u64,
    /// Whether the deadlock ended the run.
    pub ended_run: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_added_and_the_first_closure_counts() {
        let mut sum = DeadlockCounts { found: 1, closed_ns: Some(7), ..DeadlockCounts::default() };
        sum += DeadlockCounts {
            found: 1,
            closed_ns: Some(5),
            probe_dropped_frames: 3,
            ..DeadlockCounts::default()
        };
        sum += DeadlockCounts::default();
        assert_eq!((sum.found, sum.closed_ns, sum.dropped_frames()), (2, Some(5), 3));
    }
}
