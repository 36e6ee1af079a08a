//! What a scenario says about moments of a run: pauses of ports.

use wiremend_units::{LaneId, Time};

use crate::port::Hold;

/// The pauses of one part's ports, in order of time.
#[derive(Default, Debug)]
pub(crate) struct Script {
    /// The next one last.
    pauses: Vec<ScriptedPause>,
}

/// A port that is told to hold a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScriptedPause {
    pub(crate) lane: LaneId,
    pub(crate) class: u8,
    pub(crate) hold: Hold,
}

impl ScriptedPause {
    /// When the port is told: just before, so that the hold includes its first instant.
    fn due(&self) -> Time {
        Time::from_ps(self.hold.from.as_ps().saturating_sub(Hold::NOTICE.as_ps()))
    }
}

impl Script {
    /// Those of one class of a lane must not meet.
    pub(crate) fn new(mut pauses: Vec<ScriptedPause>) -> Self {
        pauses.sort_unstable_by_key(|pause| std::cmp::Reverse((pause.hold.from, pause.lane, pause.class)));
        Self { pauses }
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        self.pauses.last().map(ScriptedPause::due)
    }

    pub(crate) fn pop_due(&mut self, now: Time) -> Option<ScriptedPause> {
        self.pauses.pop_if(|pause| pause.due() <= now)
    }
}
