//! Frames that connections lost on links that had failed.

use std::collections::BTreeMap;

use wiremend_measure::FlowRow;
use wiremend_units::{HostId, Time};

/// A frame of a connection that a failed link lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FailedFrame {
    /// When it would have arrived.
    pub(crate) at: Time,
    pub(crate) requester: HostId,
    /// Number of the connection at its requester.
    pub(crate) serial: u32,
}

/// The lost frames of all connections of a run.
#[derive(Default, Debug)]
pub(crate) struct FailedFrames {
    /// By requester and number of the connection: when its frames were lost, ascending.
    times: BTreeMap<(u32, u32), Vec<u64>>,
}

impl FailedFrames {
    /// Adds the frames of a window of time, in any order. Windows follow each other.
    pub(crate) fn add(&mut self, mut lost: Vec<FailedFrame>) {
        lost.sort_unstable_by_key(|frame| frame.at);
        for FailedFrame { at, requester, serial } in lost {
            self.times.entry((requester.0, serial)).or_default().push(at.as_ps());
        }
    }

    /// Number of connections that lost frames.
    pub(crate) fn connections(&self) -> u64 {
        self.times.len() as u64
    }

    /// Returns how many frames the connection of a flow lost while the flow was open. All frames that were lost before
    /// its end have been added; later ones do not count.
    pub(crate) fn of_flow(&self, row: &FlowRow) -> Option<u32> {
        let connection = (row.src, row.connection?);
        let Some(times) = self.times.get(&connection) else { return Some(0) };
        let before = times.partition_point(|at| *at < row.start_ps);
        let until = times.partition_point(|at| *at <= row.end_ps);
        Some((until - before) as u32)
    }
}
