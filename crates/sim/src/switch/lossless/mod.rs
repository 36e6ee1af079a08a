//! Lossless switches: ports that share a buffer of [`proto::pfc`](wiremend_proto::pfc), and PFC frames between neighbours.
//!
//! A frame that cannot leave at once lies in the buffer under the port that it came in by ([`Frame::ingress`](crate::frame::Frame::ingress)) until its transmission
//! starts. What the buffer has to say leaves a port before all that waits there, and arrives as any frame does, so threads need no
//! other rule for it. [`settle`] is when frames leave, [`pfc`] what is said to neighbours, [`remedy`] what is done about deadlocks.

mod pfc;
mod remedy;
mod settle;
mod told;

pub(crate) use told::sum;
pub use told::{PauseCounters, SwitchCounters};

use wiremend_proto::pfc::{Admission, Buffer};
use wiremend_units::{LaneId, Span, SwitchId, Time};

use super::Marking;
use super::deadlock::{Care, PauseInterval};
use crate::frame::FrameId;
use crate::link::{Intake, Lanes};
use crate::memory::prefetch;
use crate::network::Network;
use crate::port::{Egress, Hold, Waiting};
use crate::protect::{Guard, ProtectedId, Protection};
use told::Told;

/// The lossless switches of a part.
pub(crate) struct Lossless {
    switches: Vec<Switch>,
    /// The port that sends over a lane, by lane.
    by_lane: Vec<At>,
    /// The place of a switch among those of this part, by switch.
    by_switch: Vec<u32>,
    /// What the sender over a lane was told, by lane; hosts are told too.
    told: Vec<Told>,
    reaction: Span,
    /// All frames of the network are of one class, so that departures of the past may be settled when somebody asks.
    lazy: bool,
    /// What is done about deadlocks.
    pub(crate) care: Care,
    pub(super) protection: Protection,
}

/// A port of a switch of this part.
#[derive(Clone, Copy)]
struct At {
    switch: u32,
    port: u16,
}

struct Switch {
    id: SwitchId,
    buffer: Buffer,
    ports: Vec<LosslessPort>,
    /// The ports where something waits.
    occupied: PortSet,
}

struct LosslessPort {
    /// The lane that it sends over.
    lane: LaneId,
    pending: u8,
    outlet: Outlet,
}

/// Where frames wait.
enum Outlet {
    Scheduled(Box<Egress>),
    /// At an end of a protected link.
    Protected(ProtectedId),
}

/// Ports of a switch, a bit each.
struct PortSet(Vec<u64>);

/// What keeps a port from settling a departure when a frame comes to a free wire.
impl LosslessPort {
    /// Something waits, or a class is or may be held.
    const OCCUPIED: u8 = 1;
    /// It has something to say to its neighbour.
    const SPEAKING: u8 = 2;
    /// A watchdog throws away what comes for some class.
    const STORMING: u8 = 4;
    /// The end of a link says who is next on its wire.
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
            lanes.set_intake(self.lane, Intake::SettleIfFree);
        }
    }

    #[inline]
    fn egress<'a>(&'a self, protection: &'a Protection) -> &'a Egress {
        match &self.outlet {
            Outlet::Scheduled(egress) => egress,
            Outlet::Protected(id) => &protection.port(*id).egress,
        }
    }

    #[inline]
    fn egress_mut<'a>(&'a mut self, protection: &'a mut Protection) -> &'a mut Egress {
        match &mut self.outlet {
            Outlet::Scheduled(egress) => egress,
            Outlet::Protected(id) => &mut protection.port_mut(*id).egress,
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

    /// Those of the first 64 ports, of the next 64, and so on.
    fn word_count(&self) -> usize {
        self.0.len()
    }

    /// The ports of a word as it is now.
    fn of_word(&self, word: usize) -> impl Iterator<Item = u16> + use<> {
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
        (0..self.word_count()).flat_map(|word| self.of_word(word))
    }
}

impl At {
    /// Not a port of this part.
    const ELSEWHERE: Self = Self { switch: u32::MAX, port: 0 };
}

impl Lossless {
    /// Room for so many switches; `lazy`: all frames of the network are of one class.
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
            by_lane: vec![At::ELSEWHERE; graph.lane_count() as usize],
            by_switch: vec![u32::MAX; graph.switch_count() as usize],
            told: vec![Told::NOTHING; graph.lane_count() as usize],
            reaction,
            lazy,
            care: Care::default(),
            protection,
        }
    }

    /// Adds a switch of this part, whose ports come in the order of their numbers.
    pub(crate) fn add(&mut self, id: SwitchId, buffer: Buffer) {
        self.by_switch[id.index()] = self.switches.len() as u32;
        self.switches.push(Switch { id, buffer, ports: Vec::new(), occupied: PortSet(Vec::new()) });
    }

    /// Adds the next port of a switch.
    pub(crate) fn schedule(&mut self, lanes: &mut Lanes, switch: SwitchId, lane: LaneId, egress: Egress) {
        lanes.set_intake(lane, Intake::SettleIfFree);
        self.add_port(switch, LosslessPort { lane, pending: 0, outlet: Outlet::Scheduled(Box::new(egress)) });
    }

    /// Adds the next port of a switch, at an end of a protected link.
    pub(crate) fn protect(&mut self, lanes: &mut Lanes, switch: SwitchId, egress: Egress, guard: Guard) {
        let lane = guard.lane();
        let outlet = Outlet::Protected(self.protection.add(lanes, egress, guard));
        self.add_port(switch, LosslessPort { lane, pending: LosslessPort::PROTECTED, outlet });
    }

    fn add_port(&mut self, switch: SwitchId, port: LosslessPort) {
        let number = self.by_switch[switch.index()];
        let switch = &mut self.switches[number as usize];
        self.by_lane[port.lane.index()] = At { switch: number, port: switch.ports.len() as u16 };
        switch.ports.push(port);
        switch.occupied.0.resize(switch.ports.len().div_ceil(64), 0);
    }

    pub(crate) fn switch_counters(&self, switch: SwitchId) -> Option<SwitchCounters> {
        Some(SwitchCounters { switch, counts: *self.buffer(switch)?.counters() })
    }

    /// What the sender over `lane` was told until `end`, if anything.
    pub(crate) fn pause_counters(&self, lane: LaneId, end: Time) -> Option<PauseCounters> {
        self.told[lane.index()].counters(lane, end)
    }

    /// How many classes the sender over `lane` must hold.
    pub(crate) fn paused_classes(&self, lane: LaneId, now: Time) -> u64 {
        self.told[lane.index()].holds.iter().filter(|hold| hold.covers(now)).count() as u64
    }

    /// Bytes that came to a switch of this part over `lane` and lie there.
    pub(crate) fn ingress_bytes(&self, lane: LaneId) -> Option<u64> {
        let at = self.by_lane[lane.reverse().index()];
        Some(self.switches.get(at.switch as usize)?.buffer.held(at.port).get())
    }

    /// What holds a class at the port that sends over a lane.
    pub(crate) fn hold(&self, lane: LaneId, class: u8) -> Hold {
        self.told[lane.index()].holds[usize::from(class)]
    }

    /// Lanes whose senders were ever told something.
    pub(crate) fn told_lanes(&self) -> impl Iterator<Item = LaneId> {
        let told = self.told.iter().enumerate().filter(|(_, told)| told.received > 0);
        told.map(|(lane, _)| LaneId(lane as u32))
    }

    /// The memory of a switch, if it is one of this part.
    pub(crate) fn buffer(&self, switch: SwitchId) -> Option<&Buffer> {
        self.switches.get(self.by_switch[switch.index()] as usize).map(|of| &of.buffer)
    }

    /// The queues of the port that sends over a lane, if it belongs to a switch of this part.
    pub(crate) fn egress(&self, lane: LaneId) -> Option<&Egress> {
        let at = self.by_lane[lane.index()];
        let switch = self.switches.get(at.switch as usize)?;
        Some(switch.ports[usize::from(at.port)].egress(&self.protection))
    }

    pub(super) fn protected(&self, lane: LaneId) -> Option<ProtectedId> {
        let at = self.by_lane[lane.index()];
        match self.switches.get(at.switch as usize)?.ports[usize::from(at.port)].outlet {
            Outlet::Protected(id) => Some(id),
            Outlet::Scheduled(_) => None,
        }
    }

    /// When the sender over `lane` had to hold something until `end`, as far as it was logged.
    pub(crate) fn pause_log(&self, lane: LaneId, end: Time) -> Vec<PauseInterval> {
        let Some(log) = &self.care.log else { return Vec::new() };
        let mut all: Vec<_> = log.of(lane).collect();
        for (class, hold) in self.told[lane.index()].holds.iter().enumerate() {
            let (class, until) = (class as u8, hold.until.min(end));
            let is_known = all.iter().any(|one| (one.class, one.from) == (class, hold.from));
            if until > hold.from && !is_known {
                all.push(PauseInterval { lane, class, from: hold.from, until });
            }
        }
        all
    }

    /// A frame of that class, which came in by `ingress`, comes to the port of a lane: what it touches is needed soon.
    #[inline]
    pub(super) fn prefetch(&self, lane: LaneId, ingress: u16, class: u8) {
        let at = self.by_lane[lane.index()];
        if let Some(switch) = self.switches.get(at.switch as usize) {
            if let Outlet::Scheduled(egress) = &switch.ports[usize::from(at.port)].outlet {
                prefetch(&**egress);
            }
            prefetch(switch.buffer.place(ingress, class));
        }
    }

    #[inline]
    fn port_mut(&mut self, at: At) -> &mut LosslessPort {
        &mut self.switches[at.switch as usize].ports[usize::from(at.port)]
    }

    /// A frame comes to a port.
    pub(super) fn on_frame(
        &mut self,
        lanes: &mut Lanes,
        marking: Option<&mut Marking>,
        now: Time,
        lane: LaneId,
        id: FrameId,
    ) {
        let at = self.by_lane[lane.index()];
        self.catch_up(lanes, now, at);
        // What is to be said is said before a frame that comes at the very instant at which the port falls free.
        self.send_pfc(lanes, now, at);
        let frame = lanes.frames.get(id);
        let (len, class, ingress) = (frame.len, frame.class(), frame.ingress);
        if marking.is_some() || lanes.has_telemetry() {
            let port = &self.switches[at.switch as usize].ports[usize::from(at.port)];
            let queue = lanes.leaving(now, lane) + port.egress(&self.protection).backlog_of(class);
            if let Some(marking) = marking {
                marking.on_frame(lanes, lane, id, queue);
            }
            lanes.note_queue(lane, id, queue);
        }
        if self.care.drops(lane, class) {
            lanes.drop_for_remedy(now, lane, id);
            self.care.counts.flushed_frames += 1;
            return;
        }
        let busy_until = lanes.busy_until(lane);
        if let Outlet::Scheduled(egress) = &self.port_mut(at).outlet
            && egress.is_free(now, class, busy_until)
        {
            lanes.transmit(now, lane, id);
            return;
        }
        if !self.switches[at.switch as usize].buffer.is_easy(ingress, class, len) {
            self.catch_up_switch(lanes, now, at.switch);
        }
        let waiting = Waiting { frame: id, len, ingress, cost: lanes.cost(lane, len) };
        let switch = &mut self.switches[at.switch as usize];
        let was_stopping = switch.buffer.is_stopping();
        if switch.buffer.admit(ingress, class, len) == Admission::Dropped {
            lanes.drop_frame(now, lane, id);
        } else {
            self.admit(lanes, now, at, waiting, class);
        }
        self.after_change(lanes, now, at.switch, was_stopping);
    }

    /// A frame that has room in the buffer waits at a port.
    fn admit(&mut self, lanes: &mut Lanes, now: Time, at: At, waiting: Waiting, class: u8) {
        let switch = &mut self.switches[at.switch as usize];
        let port = &mut switch.ports[usize::from(at.port)];
        match &mut port.outlet {
            Outlet::Protected(id) => {
                let id = *id;
                self.protection.port_mut(id).egress.admit(now, waiting, class);
                self.pump(lanes, now, at, id);
            }
            Outlet::Scheduled(egress) => {
                egress.admit(now, waiting, class);
                switch.occupied.insert(at.port);
                port.occupy(lanes, now);
                self.arm(lanes, now, at);
            }
        }
    }

    /// A port may have something to do: to start a frame, or to speak. Whether links have handed something on.
    #[inline]
    pub(super) fn on_free(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId) -> bool {
        let at = self.by_lane[lane.index()];
        if let Outlet::Protected(id) = self.port_mut(at).outlet {
            self.protection.on_time(lanes, now, id);
            self.pump(lanes, now, at, id);
            return !self.protection.delivered().is_empty();
        }
        self.catch_up(lanes, now, at);
        self.send_pfc(lanes, now, at);
        self.arm(lanes, now, at);
        false
    }

    /// Holds a class at a port, or lets it go.
    pub(super) fn on_pause(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, class: u8, hold: Hold) {
        let at = self.by_lane[lane.index()];
        self.catch_up(lanes, now, at);
        let port = &mut self.switches[at.switch as usize].ports[usize::from(at.port)];
        match &mut port.outlet {
            Outlet::Protected(id) => {
                let id = *id;
                self.protection.port_mut(id).egress.pause(class, hold);
                self.pump(lanes, now, at, id);
            }
            Outlet::Scheduled(egress) => {
                egress.pause(class, hold);
                port.occupy(lanes, now);
                self.arm(lanes, now, at);
            }
        }
    }

    /// A frame with a link header has come in by the port that sends over `lane`. To a port without an end it means nothing.
    pub(super) fn on_header(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, frame: FrameId) {
        let at = self.by_lane[lane.index()];
        match self.port_mut(at).outlet {
            Outlet::Protected(id) => {
                self.protection.on_header(lanes, now, id, frame);
                self.pump(lanes, now, at, id);
            }
            Outlet::Scheduled(_) => lanes.throw_away(frame),
        }
    }

    /// In a switch a buffered frame comes round, or neighbours are to be told again to wait.
    pub(super) fn on_inside(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        self.on_refresh(lanes, now, switch);
        while let Some(turned) = self.protection.turn(lanes, now, switch) {
            if let Some(id) = turned.wakes {
                let at = self.by_lane[self.protection.port(id).guard.lane().index()];
                self.pump(lanes, now, at, id);
            }
        }
        self.protection.arm_loopback(lanes, now, switch);
    }

    /// The time that what waits of a class at a port will take.
    pub(super) fn backlog_of(&mut self, lanes: &mut Lanes, now: Time, lane: LaneId, class: u8) -> Span {
        let at = self.by_lane[lane.index()];
        self.catch_up(lanes, now, at);
        let port = &self.switches[at.switch as usize].ports[usize::from(at.port)];
        port.egress(&self.protection).backlog_of(class)
    }
}

impl LosslessPort {
    /// Something waits here from now on, or a class may have to.
    fn occupy(&mut self, lanes: &mut Lanes, now: Time) {
        self.set(lanes, Self::OCCUPIED);
        // What has waited until now does not start before.
        let busy_until = &mut lanes.ports[self.lane.index()].busy_until;
        *busy_until = (*busy_until).max(now);
    }
}
