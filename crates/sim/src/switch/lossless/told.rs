//! What PFC frames have told ports, and what lossless switches count.

use wiremend_fabric::Graph;
use wiremend_measure::FlowControl;
use wiremend_proto::pfc::{self, CLASSES};
use wiremend_units::{LaneId, Span, SwitchId, Time};

use crate::port::Hold;

/// What a port was told by PFC frames.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) received: u64,
    pub(super) corrupted: u64,
    pub(super) holds: [Hold; CLASSES],
    /// Time of holds before these.
    paused: [Span; CLASSES],
}

impl Told {
    pub(super) const NOTHING: Self =
        Self { received: 0, corrupted: 0, holds: [Hold::NONE; CLASSES], paused: [Span::ZERO; CLASSES] };

    /// What came of it until `end`, if it was anything.
    pub(super) fn counters(&self, lane: LaneId, end: Time) -> Option<PauseCounters> {
        let paused = std::array::from_fn(|class| self.paused[class] + self.holds[class].lasted(end));
        let &Self { received, corrupted, .. } = self;
        (received + corrupted > 0).then_some(PauseCounters { lane, received, corrupted, paused })
    }

    pub(super) fn note(&mut self, now: Time, class: usize, hold: Hold) {
        let old = self.holds[class];
        let new = old.followed_by(hold);
        if new.from != old.from {
            self.paused[class] += old.lasted(now);
        }
        self.holds[class] = new;
    }
}

/// What a lossless switch counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchCounters {
    /// The switch.
    pub switch: SwitchId,
    /// Its counts.
    pub counts: pfc::Counters,
}

/// What PFC frames did to the port that sends over a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseCounters {
    /// The lane.
    pub lane: LaneId,
    /// PFC frames that reached the port.
    pub received: u64,
    /// PFC frames to it that the link corrupted.
    pub corrupted: u64,
    /// How long it had to hold each class.
    pub paused: [Span; CLASSES],
}

impl PauseCounters {
    /// All of it by name, for the digest.
    pub(crate) fn named(&self) -> [(&'static str, u64); 3] {
        let paused: Span = self.paused.iter().fold(Span::ZERO, |sum, paused| sum + *paused);
        [
            ("pause.received", self.received),
            ("pause.corrupted", self.corrupted),
            ("pause.paused_ps", paused.as_ps()),
        ]
    }
}

/// What all switches did, and what became of it.
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
