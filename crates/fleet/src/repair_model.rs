//! Random repair times and outcomes.

use crate::random::{Purpose, RandomStream};
use crate::trace_time::TraceSpan;

/// Parameters of repairs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RepairModel {
    /// Duration of a fast repair.
    pub fast_duration: TraceSpan,
    /// Duration of a slow repair.
    pub slow_duration: TraceSpan,
    /// Share of fast repairs.
    pub fast_share: f64,
    /// Share of repairs that fail: the link returns with its fault.
    pub failure_share: f64,
    /// Maximum number of links under repair at once; further links wait, out of service.
    pub technicians: Option<u32>,
}

/// Values of CorrOpt (Zhuo et al., SIGCOMM 2017): 80 % take two days, the others four, and none fails.
impl Default for RepairModel {
    fn default() -> Self {
        Self {
            fast_duration: TraceSpan::from_days(2),
            slow_duration: TraceSpan::from_days(4),
            fast_share: 0.8,
            failure_share: 0.0,
            technicians: None,
        }
    }
}

impl RepairModel {
    /// Draws duration and success of a repair. The draw depends only on event and attempt, so the same
    /// fault is equally hard to repair under every policy.
    pub(crate) fn draw(&self, seed: u64, event: u32, attempt: u32) -> (TraceSpan, bool) {
        let mut draws =
            RandomStream::new(seed, Purpose::RepairModel, u64::from(event) << 32 | u64::from(attempt));
        let duration = if draws.unit() < self.fast_share { self.fast_duration } else { self.slow_duration };
        (duration, draws.unit() >= self.failure_share)
    }
}
