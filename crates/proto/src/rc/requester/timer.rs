//! The retransmission timer, as the NIC has it.

use wiremend_units::Time;

use super::{Requester, State};
use crate::rc::config::Config;

impl Requester {
    /// Time at which a retransmission timer expires that starts now.
    #[inline]
    pub(super) fn expiry_time(&self, config: &Config, now: Time) -> Time {
        let timeout = self.acceleration.timeout(config);
        timeout.map_or(Time::MAX, |timeout| config.profile.expiry(now, timeout))
    }

    /// Returns whether the timer runs although nothing is outstanding.
    #[inline]
    pub(super) fn timer_runs_on(&self, config: &Config) -> bool {
        config.profile.timer_runs_on && self.state == State::Open && self.deadline != Time::MAX
    }

    /// Handles the arrival of a response. A responder that answers at all restarts a timer that runs on, even if the
    /// answer changes nothing else.
    #[cold]
    pub(super) fn restart_timer(&mut self, config: &Config, now: Time) {
        if self.state == State::Open && self.flight.high > self.flight.una {
            self.deadline = self.expiry_time(config, now);
        }
    }

    /// Nothing is outstanding after a rewind: the timer starts with the first retransmission.
    pub(super) fn rewind(&mut self, to: u64) {
        self.flight.rewind(to);
        self.queue.rewind();
        self.reads = 0;
        self.copies_left = 0;
        self.state = State::Open;
        self.deadline = Time::MAX;
    }
}
