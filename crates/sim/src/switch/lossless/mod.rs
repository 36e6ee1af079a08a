//! Lossless switches: ports that share a buffer of [`proto::pfc`](wiremend_proto::pfc), and PFC frames
//! between neighbours.
//!
//! A frame that cannot leave immediately counts against its ingress port
//! ([`QueuedFrame::ingress`]) until its transmission starts. PFC frames leave a port
//! ahead of its queues and arrive like any frame, so they need no special rule between threads.
//! [`departures`] computes departure times, [`pfc`] sends and receives PFC frames, [`remedy`] resolves
//! deadlocks, and [`pause_report`] collects paused ports for their detection.

mod departures;
mod pause_report;
mod pause_state;
mod pfc;
mod remedy;

pub(crate) use pause_state::sum;
pub use pause_state::{PauseCounters, SwitchCounters};

use std::collections::BTreeSet;

use wiremend_proto::pfc::{Admission, Buffer};
use wiremend_units::{LaneId, Span, SwitchId, Time};

use super::Marking;
use super::deadlock::{DeadlockRemedies, PauseInterval};
use crate::frame::FrameId;
use crate::link::{Intake, Lanes};
use crate::memory::prefetch;
use crate::network::Network;
use crate::port::{Egress, PauseWindow, QueuedFrame};
use crate::protect::{LinkEnd, ProtectedId, Protection};
use pause_state::PauseState;

pub(crate) struct Lossless {
    switches: Vec<Switch>,
    /// The port that sends over each lane.
    by_lane: Vec<SwitchPort>,
    /// Index of each switch among those of this partition.
    by_switch: Vec<u32>,
    /// The PFC state of the sender over each lane, hosts included.
    pause_states: Vec<PauseState>,
    /// The lanes whose senders have received a PFC frame.
    lanes_with_pfc: BTreeSet<LaneId>,
    reaction: Span,
    /// Whether all frames of the network have one class, so that past departures can be computed when needed.
    lazy: bool,
    pub(crate) remedies: DeadlockRemedies,
    pub(super) protection: Protection,
}

/// A port of a switch of this partition.
#[derive(Clone, Copy)]
struct SwitchPort {
    switch: u32,
    port: u16,
}

struct Switch {
    id: SwitchId,
    buffer: Buffer,
    ports: Vec<LosslessPort>,
    /// The ports with queued frames.
    occupied: PortSet,
}

struct LosslessPort {
    /// The lane that the port sends over.
    lane: LaneId,
    pending: u8,
    kind: PortKind,
}

/// Where the frames of a port are queued.
enum PortKind {
    Scheduled(Box<Egress>),
    /// At an end of a protected link.
    Protected(ProtectedId),
}

/// A set of ports of a switch, one bit each.
struct PortSet(Vec<u64>);

/// Reasons why a port cannot fix the departure of a frame that finds the wire free.
impl LosslessPort {
    /// Frames are queued, or a class is or may be paused.
    const OCCUPIED: u8 = 1;
    /// A PFC frame or a probe waits to be sent.
    const CONTROL_PENDING: u8 = 2;
    /// A watchdog drops the frames of some class.
    const STORMING: u8 = 4;
    /// The end of a protected link decides what is sent next.
    const PROTECTED: u8 = 8;

    #[inline]
    fn has(&self, reason: u8) -> bool {
        self.pending & reason != 0
    }

    #[inline]
    fn set(&mut self, lanes: &mut Lanes, reason: u8) {
        self.pending |= reason;
        lanes.set_intake(self.lane, Intake::Queue);
    }

    #[inline]
    fn clear(&mut self, lanes: &mut Lanes, reason: u8) {
        self.pending &= !reason;
        if self.pending == 0 {
            lanes.set_intake(self.lane, Intake::ImmediateIfFree);
        }
    }

    #[inline]
    fn egress<'a>(&'a self, protection: &'a Protection) -> &'a Egress {
        match &self.kind {
            PortKind::Scheduled(egress) => egress,
            PortKind::Protected(id) => &protection.port(*id).egress,
        }
    }

    #[inline]
    fn egress_mut<'a>(&'a mut self, protection: &'a mut Protection) -> &'a mut Egress {
        match &mut self.kind {
            PortKind::Scheduled(egress) => egress,
            PortKind::Protected(id) => &mut protection.port_mut(*id).egress,
        }
    }
}

impl PortSet {
    fn insert(&mut self, port: u16) {
        self.0[usize::from(port) / 64] |= 1 << (port % 64);
    }

    fn remove(&mut self, port: u16) {
        self.0[usize::from(port) / 64] &= !(1 << (port % 64));
    }

    /// Returns the number of 64-bit words.
    fn word_count(&self) -> usize {
        self.0.len()
    }

    /// Returns the ports of a word as it is now.
    fn ports_in_word(&self, word: usize) -> impl Iterator<Item = u16> + use<> {
        let mut left = self.0[word];
        std::iter::from_fn(move || {
            let port = word as u32 * 64 + left.trailing_zeros();
            (left != 0).then(|| {
                left &= left - 1;
                port as u16
            })
        })
    }

    fn iter(&self) -> impl Iterator<Item = u16> {
        (0..self.word_count()).flat_map(|word| self.ports_in_word(word))
    }
}

impl SwitchPort {
    /// Not a port of this partition.
    const NONE: Self = Self { switch: u32::MAX, port: 0 };
}

impl Lossless {
    /// Returns an empty set with room for `switches`. `lazy`: all frames of the network have one class.
    pub(crate) fn new(
        net: &Network,
        switches: usize,
        reaction: Span,
        lazy: bool,
        protection: Protection,
    ) -> Self {
        let graph = &net.graph;
        Self {
            switches: Vec::with_capacity(switches),
            by_lane: vec![SwitchPort::NONE; graph.lane_count() as usize],
            by_switch: vec![u32::MAX; graph.switch_count() as usize],
            pause_states: vec![PauseState::NEW; graph.lane_count() as usize],
            lanes_with_pfc: BTreeSet::new(),
            reaction,
            lazy,
            remedies: DeadlockRemedies::default(),
            protection,
        }
    }

    /// Adds a switch of this partition. Its ports must be added in the order of their numbers.
    pub(crate) fn add(&mut self, id: SwitchId, buffer: Buffer) {
        self.by_switch[id.index()] = self.switches.len() as u32;
        self.switches.push(Switch { id, buffer, ports: Vec::new(), occupied: PortSet(Vec::new()) });
    }

    pub(crate) fn schedule(&mut self, lanes: &mut Lanes, switch: SwitchId, lane: LaneId, egress: Egress) {
        lanes.set_intake(lane, Intake::ImmediateIfFree);
        self.add_port(switch, LosslessPort { lane, pending: 0, kind: PortKind::Scheduled(Box::new(egress)) });
    }

    /// Adds the next port of a switch, at an end of a protected link.
    pub(crate) fn protect(&mut self, lanes: &mut Lanes, switch: SwitchId, egress: Egress, link_end: LinkEnd) {
        let lane = link_end.lane();
        let kind = PortKind::Protected(self.protection.add(lanes, egress, link_end, None));
        self.add_port(switch, LosslessPort { lane, pending: LosslessPort::PROTECTED, kind });
    }

    fn add_port(&mut self, switch: SwitchId, port: LosslessPort) {
        let number = self.by_switch[switch.index()];
        let switch = &mut self.switches[number as usize];
        self.by_lane[port.lane.index()] = SwitchPort { switch: number, port: switch.ports.len() as u16 };
        switch.ports.push(port);
        switch.occupied.0.resize(switch.ports.len().div_ceil(64), 0);
    }

    pub(crate) fn switch_counters(&self, switch: SwitchId) -> Option<SwitchCounters> {
        Some(SwitchCounters { switch, counts: *self.buffer(switch)?.counters() })
    }

    /// Returns the PFC counters of the sender over `lane` until `end`, if it got a PFC frame.
    pub(crate) fn pause_counters(&self, lane: LaneId, end: Time) -> Option<PauseCounters> {
        self.pause_states[lane.index()].counters(lane, end)
    }

    /// Returns how many classes the sender over `lane` must pause.
    pub(crate) fn paused_classes(&self, lane: LaneId, now: Time) -> u64 {
        self.pause_states[lane.index()].windows.iter().filter(|window| window.covers(now)).count() as u64
    }

    /// Returns the bytes that came to a switch of this partition over `lane` and are in its buffer.
    pub(crate) fn ingress_bytes(&self, lane: LaneId) -> Option<u64> {
        let at = self.by_lane[lane.reverse().index()];
        Some(self.switches.get(at.switch as usize)?.buffer.held_bytes(at.port).get())
    }

    /// Returns the pause of a class at the port that sends over a lane.
    pub(crate) fn pause_window(&self, lane: LaneId, class: u8) -> PauseWindow {
        self.pause_states[lane.index()].windows[usize::from(class)]
    }

    /// Returns the lanes whose senders have received a PFC frame.
    pub(crate) fn lanes_with_pfc(&self) -> &BTreeSet<LaneId> {
        &self.lanes_with_pfc
    }

    /// Returns the buffer of a switch, if it belongs to this partition.
    pub(crate) fn buffer(&self, switch: SwitchId) -> Option<&Buffer> {
        self.switches.get(self.by_switch[switch.index()] as usize).map(|switch| &switch.buffer)
    }

    /// Returns the queues of the port that sends over a lane, if it belongs to a switch of this partition.
    pub(crate) fn egress(&self, lane: LaneId) -> Option<&Egress> {
        let at = self.by_lane[lane.index()];
        let switch = self.switches.get(at.switch as usize)?;
        Some(switch.ports[usize::from(at.port)].egress(&self.protection))
    }

    pub(super) fn protected(&self, lane: LaneId) -> Option<ProtectedId> {
        let at = self.by_lane[lane.index()];
        match self.switches.get(at.switch as usize)?.ports[usize::from(at.port)].kind {
            PortKind::Protected(id) => Some(id),
            PortKind::Scheduled(_) => None,
        }
    }

    /// Returns the pause intervals of the sender over `lane` until `end`, as far as they were logged.
    pub(crate) fn pause_log(&self, lane: LaneId, end: Time) -> Vec<PauseInterval> {
        let Some(log) = &self.remedies.log else { return Vec::new() };
        let mut all: Vec<_> = log.intervals(lane).collect();
        for (class, window) in self.pause_states[lane.index()].windows.iter().enumerate() {
            let (class, until) = (class as u8, window.until.min(end));
            let is_known = all.iter().any(|one| (one.class, one.from) == (class, window.from));
            if until > window.from && !is_known {
                all.push(PauseInterval { lane, class, from: window.from, until });
            }
        }
        all
    }

    /// Prefetches the port of a lane, then (`is_next`) its queues.
    #[inline]
    pub(super) fn prefetch_queues(&self, lane: LaneId, is_next: bool) {
        let at = self.by_lane[lane.index()];
        let Some(switch) = self.switches.get(at.switch as usize) else { return };
        let port = &switch.ports[usize::from(at.port)];
        if !is_next {
            prefetch(port);
            prefetch(switch.buffer.queue_state(at.port, 0));
        } else if let PortKind::Scheduled(egress) = &port.kind {
            egress.prefetch();
        }
    }

    #[inline]
    fn port_mut(&mut self, at: SwitchPort) -> &mut LosslessPort {
        &mut self.switches[at.switch as usize].ports[usize::from(at.port)]
    }

    /// Handles a frame that arrives at a port.
    pub(super) fn on_frame(
        &mut self,
        lanes: &mut Lanes,
        marking: Option<&mut Marking>,
        now: Time,
        lane: LaneId,
        id: FrameId,
        ingress: u16,
    ) {
        let at = self.by_lane[lane.index()];
        self.catch_up(lanes, now, at);
        // A PFC frame leaves before a frame that arrives at the instant at which the port becomes free.
        self.send_pfc(lanes, now, at);
        let frame = lanes.frames.get(id);
        let (len, class) = (frame.len, frame.class());
        if marking.is_some() || lanes.has_telemetry() {
            let port = &self.switches[at.switch as usize].ports[usize::from(at.port)];
            let queue = lanes.transmit_left(now, lane) + port.egress(&self.protection).backlog_of(class);
            if let Some(marking) = marking {
                marking.on_frame(lanes, lane, id, queue);
            }
            lanes.record_queue(lane, id, queue);
        }
        if self.remedies.drops(lane, class) {
            lanes.drop_for_remedy(now, lane, id);
            self.remedies.counts.watchdog_dropped_frames += 1;
            return;
        }
        let busy_until = lanes.busy_until(lane);
        if let PortKind::Scheduled(egress) = &self.port_mut(at).kind
            && egress.is_free(now, class, busy_until)
        {
            lanes.transmit(now, lane, id);
            return;
        }
        if !self.switches[at.switch as usize].buffer.admits_without_effect(ingress, class, len) {
            self.catch_up_switch(lanes, now, at.switch);
        }
        let waiting = QueuedFrame::new(id, len, ingress, lanes.frame_time(lane, len));
        let switch = &mut self.switches[at.switch as usize];
        let was_pausing = switch.buffer.is_pausing();
        if switch.buffer.admit(ingress, class, len) == Admission::Dropped {
            lanes.drop_frame(now, lane, id);
        } else {
            self.admit(lanes, now, at, waiting, class);
        }
        self.after_buffer_change(lanes, now, at.switch, was_pausing);
    }

    /// Queues a frame that the buffer has admitted.
    fn admit(&mut self, lanes: &mut Lanes, now: Time, at: SwitchPort, waiting: QueuedFrame, class: u8) {
        let switch = &mut self.switches[at.switch as usize];
        let port = &mut switch.ports[usize::from(at.port)];
        match &mut port.kind {
            PortKind::Protected(id) => {
                let id = *id;
                self.protection.port_mut(id).egress.admit(now, waiting, class);
                self.send_next(lanes, now, at, id);
            }
            PortKind::Scheduled(egress) => {
                egress.admit(now, waiting, class);
                switch.occupied.insert(at.port);
                port.occupy(lanes, now);
                self.arm(lanes, now, at);
            }
        }
    }

    /// Handles a port that may have a frame or a PFC frame to send. Returns whether protected links have
    /// delivered frames.
    #[inline]
    pub(super) fn on_free(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) -> bool {
        let at = self.by_lane[lane.index()];
        if let PortKind::Protected(id) = self.port_mut(at).kind {
            self.protection.on_time(lanes, now, id);
            self.send_next(lanes, now, at, id);
            return !self.protection.delivered().is_empty();
        }
        self.catch_up(lanes, now, at);
        self.send_pfc(lanes, now, at);
        self.arm(lanes, now, at);
        false
    }

    /// Pauses or resumes a class at a port.
    pub(super) fn on_pause(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        lane: LaneId,
        class: u8,
        window: PauseWindow,
    ) {
        let at = self.by_lane[lane.index()];
        self.catch_up(lanes, now, at);
        let port = &mut self.switches[at.switch as usize].ports[usize::from(at.port)];
        match &mut port.kind {
            PortKind::Protected(id) => {
                let id = *id;
                self.protection.port_mut(id).egress.pause(class, window);
                self.send_next(lanes, now, at, id);
            }
            PortKind::Scheduled(egress) => {
                egress.pause(class, window);
                port.occupy(lanes, now);
                self.arm(lanes, now, at);
            }
        }
    }

    /// Handles a frame with a link header that came in by the port that sends over `lane`. A port without a
    /// link end discards it. Returns the frame if the switch must forward it next.
    pub(super) fn on_header(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        lane: LaneId,
        frame: FrameId,
    ) -> Option<FrameId> {
        let at = self.by_lane[lane.index()];
        let PortKind::Protected(id) = self.port_mut(at).kind else {
            lanes.discard_link_frame(frame);
            return None;
        };
        let delivered = self.protection.on_header(lanes, now, id, frame);
        self.send_next(lanes, now, at, id);
        delivered
    }

    /// Handles looped frames, PFC refreshes and watchdog polls of a switch that are due.
    pub(super) fn on_switch_timer(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        self.on_refresh(lanes, now, switch);
        while let Some(stepped) = self.protection.step_loopback(lanes, now, switch) {
            if let Some(id) = stepped.wakes {
                let at = self.by_lane[self.protection.port(id).link_end.lane().index()];
                self.send_next(lanes, now, at, id);
            }
        }
        self.protection.arm_loopback(lanes, now, switch);
    }

    /// Returns the transmission time of the queued frames of a class at a port.
    pub(super) fn backlog_of(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, class: u8) -> Span {
        let at = self.by_lane[lane.index()];
        self.catch_up(lanes, now, at);
        let port = &self.switches[at.switch as usize].ports[usize::from(at.port)];
        port.egress(&self.protection).backlog_of(class)
    }
}

impl LosslessPort {
    /// Marks the port as occupied: a frame is queued, or a class may be paused.
    fn occupy(&mut self, lanes: &mut Lanes, now: Time) {
        self.set(lanes, Self::OCCUPIED);
        // A frame that has waited until now does not start before now.
        let busy_until = &mut lanes.ports[self.lane.index()].busy_until;
        *busy_until = (*busy_until).max(now);
    }
}
