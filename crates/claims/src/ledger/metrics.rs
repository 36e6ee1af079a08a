//! Values of an outcome that claims compare with bands. A time of flows is not a number if none has finished: no
//! band holds it.

use wiremend_measure::{Quantiles, TimeoutCause};

use super::Outcome;
use super::number::{Count, Number, Share, count, rate_bps, share, time_ns};

impl Outcome {
    /// A value of the completion times.
    pub(crate) fn fct(&self, of: impl Fn(&Quantiles) -> f64) -> Number {
        time_ns(self.summary.fct_ns.as_ref().map_or(f64::NAN, of))
    }

    /// Mean completion time.
    pub(crate) fn mean(&self) -> Number {
        self.fct(|fct| fct.mean)
    }

    /// Median of the completion times.
    pub(crate) fn median(&self) -> Number {
        self.fct(|fct| fct.p50)
    }

    /// 99 % of the flows took at most this long.
    pub(crate) fn p99(&self) -> Number {
        self.fct(|fct| fct.p99)
    }

    /// 99.9 % of the flows took at most this long.
    pub(crate) fn p999(&self) -> Number {
        self.fct(|fct| fct.p999)
    }

    /// Longest completion time.
    pub(crate) fn longest(&self) -> Number {
        self.fct(|fct| fct.max)
    }

    /// Flows that finished.
    pub(crate) fn finished(&self) -> Count {
        count(self.summary.finished)
    }

    /// Flows that did not finish.
    pub(crate) fn unfinished(&self) -> u64 {
        self.summary.flows - self.summary.finished
    }

    /// Timeouts of all causes.
    pub(crate) fn timeouts(&self) -> Count {
        count(self.summary.timeouts.total())
    }

    /// Timeouts of some causes.
    pub(crate) fn timeouts_by(&self, causes: &[TimeoutCause]) -> Count {
        count(causes.iter().map(|&cause| self.summary.timeouts.get(cause)).sum())
    }

    /// Payload of the finished flows divided by the time of the run.
    pub(crate) fn goodput(&self) -> Number {
        rate_bps(self.summary.whole_run_goodput_bps as f64)
    }

    /// Payload of the finished flows, in bytes.
    pub(crate) fn payload_bytes(&self) -> f64 {
        self.summary.whole_run_goodput_bps as f64 / 8.0 * self.summary.simulated_ns as f64 * 1e-9
    }

    /// Share of the frames of a lane that were corrupted.
    pub(crate) fn corrupted(&self, lane: &str) -> Share {
        let lane = self.lane(lane);
        share(lane.corrupted, lane.tx_frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_band_holds_a_time_if_no_flow_finished() {
        let nothing = Outcome::default();
        for value in [nothing.mean(), nothing.longest(), nothing.p999() / nothing.median()] {
            assert!(!value.at_least(0.0).holds() && !value.at_most(f64::INFINITY).holds());
            assert!(!value.between(0.0, f64::INFINITY).holds() && !value.near(0.0, 1.0).holds());
        }
        assert_eq!((nothing.unfinished(), nothing.corrupted("h0>tor").value()), (0, 0.0));
    }
}
