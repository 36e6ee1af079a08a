//! Pauses of ports that a scenario prescribes.

use wiremend_units::{LaneId, Time};

use crate::port::PauseWindow;

/// The scripted pauses of one node's ports, in order of time.
#[derive(Default, Debug)]
pub(crate) struct PauseScript {
    /// The next pause is last.
    pauses: Vec<ScriptedPause>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScriptedPause {
    pub(crate) lane: LaneId,
    pub(crate) class: u8,
    pub(crate) window: PauseWindow,
}

impl ScriptedPause {
    /// Returns the time of the event: just before the pause, so that the pause includes its first instant.
    fn due(&self) -> Time {
        Time::from_ps(self.window.from.as_ps().saturating_sub(PauseWindow::MIN_LEAD.as_ps()))
    }
}

impl PauseScript {
    /// Pauses of one class of a lane must not overlap.
    pub(crate) fn new(mut pauses: Vec<ScriptedPause>) -> Self {
        pauses.sort_unstable_by_key(|pause| std::cmp::Reverse((pause.window.from, pause.lane, pause.class)));
        Self { pauses }
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        self.pauses.last().map(ScriptedPause::due)
    }

    pub(crate) fn pop_due(&mut self, now: Time) -> Option<ScriptedPause> {
        self.pauses.pop_if(|pause| pause.due() <= now)
    }
}
