//! An open-loop load: frames of one size at a constant rate, without acknowledgements.

use wiremend_units::{Bytes, Rate, Time};

use super::{Action, Application, RawFrame};
use crate::frame::GAP_BYTES;

pub(crate) struct Cbr {
    frame: RawFrame,
    rate: Rate,
    start: Time,
    stop: Time,
    /// Frames sent. The time of each is computed from the start, so that rounding errors do not add up.
    sent: u64,
}

impl Cbr {
    pub(crate) fn new(frame: RawFrame, rate: Rate, start: Time, stop: Time) -> Self {
        Self { frame, rate, start, stop, sent: 0 }
    }
}

impl Application for Cbr {
    fn next_poll(&self) -> Time {
        if self.is_done() {
            return Time::MAX;
        }
        let bytes = Bytes::new((u64::from(self.frame.len) + GAP_BYTES) * self.sent);
        let due = self.start.saturating_add(self.rate.serialize(bytes));
        // The last poll is at the stop, so that the application is counted as done.
        due.min(self.stop)
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now >= self.stop {
            self.sent = u64::MAX;
            return;
        }
        self.sent += 1;
        actions.push(Action::Raw(self.frame));
    }

    fn is_done(&self) -> bool {
        self.sent == u64::MAX
    }
}
