//! PFC state of ports, and counters of lossless switches.

use wiremend_fabric::Graph;
use wiremend_measure::FlowControl;
use wiremend_proto::pfc::{self, CLASSES};
use wiremend_units::{LaneId, Span, SwitchId, Time};

use crate::port::PauseWindow;

/// PFC state of a port.
#[derive(Clone, Copy)]
pub(super) struct PauseState {
    pub(super) received: u64,
    pub(super) corrupted: u64,
    pub(super) windows: [PauseWindow; CLASSES],
    /// Time paused before the current pauses.
    paused: [Span; CLASSES],
}

impl PauseState {
    pub(super) const NEW: Self = Self {
        received: 0,
        corrupted: 0,
        windows: [PauseWindow::NONE; CLASSES],
        paused: [Span::ZERO; CLASSES],
    };

    /// Returns the counters until `end`, if any PFC frame was received.
    pub(super) fn counters(&self, lane: LaneId, end: Time) -> Option<PauseCounters> {
        let paused = std::array::from_fn(|class| self.paused[class] + self.windows[class].elapsed(end));
        let &Self { received, corrupted, .. } = self;
        (received + corrupted > 0).then_some(PauseCounters { lane, received, corrupted, paused })
    }

    pub(super) fn update(&mut self, now: Time, class: usize, window: PauseWindow) {
        let old = self.windows[class];
        let new = old.followed_by(window);
        if new.from != old.from {
            self.paused[class] += old.elapsed(now);
        }
        self.windows[class] = new;
    }
}

/// Counters of a lossless switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchCounters {
    /// The switch.
    pub switch: SwitchId,
    /// Its buffer counters.
    pub counts: pfc::Counters,
}

/// PFC counters of the port that sends over a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseCounters {
    /// The lane.
    pub lane: LaneId,
    /// PFC frames received.
    pub received: u64,
    /// PFC frames to the port that the link corrupted.
    pub corrupted: u64,
    /// Time paused, by class.
    pub paused: [Span; CLASSES],
}

impl PauseCounters {
    /// Returns the counters by name, for the digest.
    pub(crate) fn named(&self) -> [(&'static str, u64); 3] {
        let paused: Span = self.paused.iter().fold(Span::ZERO, |sum, paused| sum + *paused);
        [
            ("pause.received", self.received),
            ("pause.corrupted", self.corrupted),
            ("pause.paused_ps", paused.as_ps()),
        ]
    }
}

pub(crate) fn sum(graph: &Graph, switches: &[SwitchCounters], pauses: &[PauseCounters]) -> FlowControl {
    let mut sum = FlowControl::default();
    for SwitchCounters { counts, .. } in switches {
        sum.pauses += counts.pauses;
        sum.refreshes += counts.refreshes;
        sum.resumes += counts.resumes;
        sum.frames += counts.frames;
        sum.lossless_dropped += counts.lossless_dropped;
        sum.lossy_dropped += counts.lossy_dropped;
        sum.buffer_bytes_max = sum.buffer_bytes_max.max(counts.held_bytes_max);
        sum.headroom_bytes_max = sum.headroom_bytes_max.max(counts.headroom_bytes_max);
    }
    for port in pauses {
        let paused_ns: u64 = port.paused.iter().map(|paused| paused.as_ns()).sum();
        sum.received += port.received;
        sum.corrupted += port.corrupted;
        sum.paused_ns += paused_ns;
        sum.paused_ports += u64::from(paused_ns > 0);
        sum.paused_hosts += u64::from(paused_ns > 0 && graph.lane_from(port.lane).0 < graph.host_count());
    }
    sum
}
