//! Ports that waited for each other in a circle, and what was done about it.

use serde::{Deserialize, Serialize};

/// Counts of a run. All zero without lossless switches, but for what is seen of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Deadlocks {
    /// Deadlocks that an observer with full sight found.
    pub found: u64,
    /// Of these, those that ended before the run did.
    pub resolved: u64,
    /// When the first circle closed, in nanoseconds since the start of the run; the earliest of several seeds.
    pub closed_ns: Option<u64>,
    /// How long deadlocks stood, from closure until they were last seen, in nanoseconds.
    pub stood_ns: u64,
    /// Times that a watchdog called a storm.
    pub storms: u64,
    /// Of these, those while no deadlock stood.
    pub false_storms: u64,
    /// Frames that watchdogs dropped.
    pub flushed_frames: u64,
    /// Probes that ports sent or passed on.
    pub probes: u64,
    /// Probes that came back to the port that sent them: a circle each.
    pub proofs: u64,
    /// Of these, those while no deadlock stood.
    pub false_proofs: u64,
    /// Frames that were dropped for a circle that a probe proved.
    pub drained_frames: u64,
    /// Frames that lost their lossless class.
    pub demoted_frames: u64,
    /// Frames that a switch saw again.
    pub repeated_frames: u64,
    /// Of these, those that it dropped.
    pub looped_frames: u64,
    /// When a switch first called a loop because of frames that it saw again, in nanoseconds.
    pub repeat_alarm_ns: Option<u64>,
    /// When one first did because of frames whose TTL ended.
    pub expiry_alarm_ns: Option<u64>,
}

impl Deadlocks {
    /// Frames that remedies dropped.
    pub const fn dropped_frames(&self) -> u64 {
        self.flushed_frames + self.drained_frames + self.looped_frames
    }

    /// All of it by name, for the digest.
    pub fn named(&self) -> [(&'static str, u64); 13] {
        [
            ("deadlock.found", self.found),
            ("deadlock.resolved", self.resolved),
            ("deadlock.closed_ns", self.closed_ns.unwrap_or(0)),
            ("deadlock.stood_ns", self.stood_ns),
            ("deadlock.storms", self.storms),
            ("deadlock.flushed_frames", self.flushed_frames),
            ("deadlock.probes", self.probes),
            ("deadlock.proofs", self.proofs),
            ("deadlock.drained_frames", self.drained_frames),
            ("deadlock.demoted_frames", self.demoted_frames),
            ("deadlock.repeated_frames", self.repeated_frames),
            ("deadlock.repeat_alarm_ns", self.repeat_alarm_ns.unwrap_or(0)),
            ("deadlock.expiry_alarm_ns", self.expiry_alarm_ns.unwrap_or(0)),
        ]
    }
}

add_counters!(
    Deadlocks;
    sum found, resolved, stood_ns, storms, false_storms, flushed_frames, probes, proofs, false_proofs,
    drained_frames, demoted_frames, repeated_frames, looped_frames;
    first closed_ns, repeat_alarm_ns, expiry_alarm_ns
);

/// A deadlock by the names of its ports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeadlockFound {
    /// When the last port of the circle had to hold, in nanoseconds.
    pub closed_ns: u64,
    /// The traffic class.
    pub class: u8,
    /// The directions of links whose senders wait for each other: each for the next, and the last for the first.
    pub cycle: Vec<String>,
    /// Ports outside the circle that wait for it.
    pub waiting: u64,
    /// Of these, ports of hosts.
    pub waiting_hosts: u64,
    /// Whether it ended the run.
    pub ended_run: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_add_up_and_the_first_closure_counts() {
        let mut sum = Deadlocks { found: 1, closed_ns: Some(7), ..Deadlocks::default() };
        sum += Deadlocks { found: 1, closed_ns: Some(5), drained_frames: 3, ..Deadlocks::default() };
        sum += Deadlocks::default();
        assert_eq!((sum.found, sum.closed_ns, sum.dropped_frames()), (2, Some(5), 3));
    }
}
