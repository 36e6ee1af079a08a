//! Pauses of ports that a scenario prescribes.

use wiremend_units::Time;

use crate::port::PortPause;

/// The scripted pauses of one node's ports, in order of time.
#[derive(Default, Debug)]
pub(crate) struct PauseScript {
    /// The next pause is last.
    pauses: Vec<PortPause>,
}

impl PauseScript {
    /// Pauses of one class of a lane must not overlap.
    pub(crate) fn new(mut pauses: Vec<PortPause>) -> Self {
        pauses.sort_unstable_by_key(|pause| std::cmp::Reverse((pause.window.from, pause.lane, pause.class)));
        Self { pauses }
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        self.pauses.last().map(PortPause::due)
    }

    pub(crate) fn pop_due(&mut self, now: Time) -> Option<PortPause> {
        self.pauses.pop_if(|pause| pause.due() <= now)
    }
}
