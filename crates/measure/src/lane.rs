//! Totals of one direction of a link.

use std::ops::AddAssign;

use crate::FlowRow;

/// Totals of one direction of a link over a whole run: a row of `links.parquet`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaneRow {
    /// Its index.
    pub lane: u32,
    /// Rate of the link.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ps: u64,
    /// Whether it has an impairment that may corrupt frames.
    pub is_corrupting: bool,
    /// Frames that crossed it, corrupted ones too.
    pub frames: u64,
    /// Their bytes, MAC header to FCS.
    pub bytes: u64,
    /// Time that their transmission took, with preambles and gaps.
    pub busy_ps: u64,
    /// Simulated time.
    pub simulated_ps: u64,
    /// Frames that it corrupted.
    pub corrupted_frames: u64,
    /// Frames that it lost because it had failed.
    pub failed_frames: u64,
    /// Frames that its port dropped because the buffer was full.
    pub dropped_frames: u64,
    /// Packets that the sending host retransmitted; 0 if a switch sends.
    pub host_retransmitted_packets: u64,
    /// Frames that its port marked with ECN CE.
    pub marked_frames: u64,
    /// Packets that its port trimmed to their headers.
    pub trimmed_packets: u64,
    /// Header-only packets that its port dropped, part of `dropped_frames`.
    pub dropped_headers: u64,
    /// PFC frames that paused or resumed its port.
    pub pfc_frames: u64,
    /// PFC frames to its port that the link corrupted.
    pub pfc_corrupted_frames: u64,
    /// Time that its port was paused, summed over classes.
    pub paused_ps: u64,
    /// Whether it is protected.
    pub is_protected: bool,
    /// Numbered frames of a protected link.
    pub protected_frames: u64,
    /// Frames that the protection retransmitted.
    pub link_retransmitted_frames: u64,
    /// Their bytes.
    pub link_retransmitted_bytes: u64,
    /// Control frames that the protection sent over this direction.
    pub link_control_frames: u64,
    /// Frames that the receiving end detected as missing.
    pub link_missed_frames: u64,
    /// Missing frames that arrived later.
    pub link_recovered_frames: u64,
    /// Missing frames that never arrived.
    pub link_lost_frames: u64,
    /// Flows whose packets or acknowledgements crossed it; `None` if the paths of flows are not known.
    pub flows: Option<LaneFlows>,
}

/// The flows that crossed a lane, as far as their paths are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaneFlows {
    /// Number of flows.
    pub count: u64,
    /// Time by which they took longer than alone, summed. A flow counts for every lane that it crossed.
    pub lost_ps: u64,
    /// Retransmission timers that fired for them.
    pub timeouts: u64,
}

impl LaneRow {
    fn sums(&mut self) -> [&mut u64; 21] {
        [
            &mut self.frames,
            &mut self.bytes,
            &mut self.busy_ps,
            &mut self.simulated_ps,
            &mut self.corrupted_frames,
            &mut self.failed_frames,
            &mut self.dropped_frames,
            &mut self.host_retransmitted_packets,
            &mut self.marked_frames,
            &mut self.trimmed_packets,
            &mut self.dropped_headers,
            &mut self.pfc_frames,
            &mut self.pfc_corrupted_frames,
            &mut self.paused_ps,
            &mut self.protected_frames,
            &mut self.link_retransmitted_frames,
            &mut self.link_retransmitted_bytes,
            &mut self.link_control_frames,
            &mut self.link_missed_frames,
            &mut self.link_recovered_frames,
            &mut self.link_lost_frames,
        ]
    }

    /// Fraction of the simulated time in which it transmitted.
    pub fn utilisation(&self) -> f64 {
        self.busy_ps as f64 / self.simulated_ps.max(1) as f64
    }
}

/// Adds the totals of the same lane in another run.
impl AddAssign for LaneRow {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.sums().into_iter().zip({ other }.sums()) {
            *mine += *theirs;
        }
        self.is_corrupting |= other.is_corrupting;
        if let (Some(mine), Some(theirs)) = (&mut self.flows, other.flows) {
            mine.count += theirs.count;
            mine.timeouts += theirs.timeouts;
            mine.lost_ps = mine.lost_ps.saturating_add(theirs.lost_ps);
        }
    }
}

impl LaneFlows {
    /// Adds a flow that crossed the lane.
    pub const fn add(&mut self, row: &FlowRow) {
        self.count += 1;
        self.lost_ps = self.lost_ps.saturating_add(row.fct().as_ps().saturating_sub(row.ideal_ps));
        self.timeouts += row.timeouts as u64;
    }
}
