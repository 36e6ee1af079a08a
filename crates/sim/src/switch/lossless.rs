//! Lossless switches: ports that share a buffer of [`proto::pfc`](wiremend_proto::pfc), and PFC frames between neighbours.
//!
//! All ports of such a switch are scheduled ones. A frame that cannot leave at once lies in the buffer under the port that it came in by
//! ([`Frame::ingress`]) until its transmission starts. What the buffer has to say leaves a port before all that waits there, and
//! arrives as any frame does, so threads need no other rule for it.

use wiremend_fabric::Graph;
use wiremend_measure::FlowControl;
use wiremend_proto::pfc::{self, Admission, Buffer, CLASSES};
use wiremend_units::{LaneId, Span, SwitchId, Time};
use wiremend_wire::Quanta;

use super::deadlock::{Care, PauseInterval};
use crate::event::Source;
use crate::frame::{Frame, FrameId, Header, Probe};
use crate::link::{Port, PortFlags, Wires};
use crate::memory::prefetch;
use crate::network::Network;
use crate::port::{Hold, Waiting};

/// The lossless switches of a part.
pub(crate) struct Lossless {
    /// By switch; those of other parts have none.
    switches: Vec<Option<Box<Switch>>>,
    /// The switch that sends over a lane and which of its ports that is, by lane; meaningless for hosts.
    senders: Vec<(SwitchId, u16)>,
    /// What the sender over a lane was told, by lane.
    told: Vec<Told>,
    reaction: Span,
    /// A protected port has let go of a frame while some neighbour had to wait.
    has_let_go: bool,
    /// What is done about deadlocks.
    pub(crate) care: Care,
}

struct Switch {
    buffer: Buffer,
    /// The lanes that it sends over, by port.
    lanes: Vec<LaneId>,
    /// The ports where something waits, a bit each.
    occupied: Vec<u64>,
}

impl Switch {
    fn occupy(&mut self, port: u16) {
        self.occupied[usize::from(port) / 64] |= 1 << (port % 64);
    }

    fn vacate(&mut self, port: u16) {
        self.occupied[usize::from(port) / 64] &= !(1 << (port % 64));
    }

    fn occupied_lanes(&self) -> impl Iterator<Item = LaneId> {
        let is_occupied = |port: usize| self.occupied[port / 64] >> (port % 64) & 1 != 0;
        self.lanes.iter().enumerate().filter(move |(port, _)| is_occupied(*port)).map(|(_, lane)| *lane)
    }
}

/// What a port was told by PFC frames.
#[derive(Clone, Copy)]
struct Told {
    received: u64,
    corrupted: u64,
    holds: [Hold; CLASSES],
    /// Time of holds before these.
    paused: [Span; CLASSES],
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

impl Lossless {
    pub(crate) fn new(net: &Network, reaction: Span) -> Self {
        let graph = &net.graph;
        let mut senders = vec![(SwitchId(0), 0); graph.lane_count() as usize];
        for switch in graph.switches() {
            for (port, lane) in graph.ports(graph.switch_node(switch)).iter().enumerate() {
                senders[lane.index()] = (switch, port as u16);
            }
        }
        Self {
            switches: graph.switches().map(|_| None).collect(),
            senders,
            told: vec![Told::NOTHING; graph.lane_count() as usize],
            reaction,
            has_let_go: false,
            care: Care::default(),
        }
    }

    pub(crate) fn add(&mut self, switch: SwitchId, buffer: Buffer, lanes: &[LaneId]) {
        self.switches[switch.index()] = Some(Box::new(Switch {
            buffer,
            lanes: lanes.to_vec(),
            occupied: vec![0; lanes.len().div_ceil(64)],
        }));
    }

    pub(crate) fn switch_counters(&self, switch: SwitchId) -> Option<SwitchCounters> {
        let of = self.switches[switch.index()].as_ref()?;
        Some(SwitchCounters { switch, counts: *of.buffer.counters() })
    }

    /// What the sender over `lane` was told until `end`, if anything.
    pub(crate) fn pause_counters(&self, lane: LaneId, end: Time) -> Option<PauseCounters> {
        let told = self.told[lane.index()];
        let paused = std::array::from_fn(|class| told.paused[class] + told.holds[class].lasted(end));
        let Told { received, corrupted, .. } = told;
        (received + corrupted > 0).then_some(PauseCounters { lane, received, corrupted, paused })
    }

    /// How many classes the sender over `lane` must hold.
    pub(crate) fn paused_classes(&self, lane: LaneId, now: Time) -> u64 {
        self.told[lane.index()].holds.iter().filter(|hold| hold.covers(now)).count() as u64
    }

    /// Bytes that came to a switch over `lane` and lie there.
    pub(crate) fn ingress_bytes(&self, lane: LaneId) -> Option<u64> {
        let (switch, port) = self.senders[lane.reverse().index()];
        Some(self.switches[switch.index()].as_ref()?.buffer.held(port).get())
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

    /// The lanes that a switch of this part sends over.
    pub(crate) fn lanes_of(&self, switch: SwitchId) -> &[LaneId] {
        self.switches[switch.index()].as_ref().map_or(&[], |of| &of.lanes)
    }

    /// The switch that sends over a lane and which of its ports that is.
    pub(crate) fn port_of(&self, lane: LaneId) -> (SwitchId, u16) {
        self.senders[lane.index()]
    }

    /// The memory of a switch, if it is one of this part.
    pub(crate) fn buffer(&self, switch: SwitchId) -> Option<&Buffer> {
        self.switches[switch.index()].as_ref().map(|of| &of.buffer)
    }

    /// The memory of the switch that sends over a lane.
    pub(crate) fn buffer_of(&mut self, lane: LaneId) -> &mut Buffer {
        &mut self.sender(lane).0.buffer
    }

    /// A frame that waited for a lane was given up; whether others still wait there.
    pub(crate) fn give_back(&mut self, lane: LaneId, ingress: u16, class: u8, len: u16, is_occupied: bool) {
        let (switch, port) = self.sender(lane);
        switch.buffer.release(ingress, class, len);
        if !is_occupied {
            switch.vacate(port);
        }
    }

    /// A frame leaves by a protected port.
    pub(crate) fn let_go(&mut self, lane: LaneId, ingress: u16, class: u8, len: u16) {
        let buffer = self.buffer_of(lane);
        let was_stopping = buffer.is_stopping();
        buffer.release(ingress, class, len);
        self.has_let_go |= was_stopping;
    }

    /// Whether that may have changed what a neighbour is to be told, once.
    pub(crate) fn take_let_go(&mut self) -> bool {
        std::mem::take(&mut self.has_let_go)
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

    /// What a frame that waits for a lane is counted under is needed soon.
    #[inline]
    pub(crate) fn prefetch(&self, lane: LaneId, ingress: u16, class: u8) {
        let (switch, _) = self.senders[lane.index()];
        if let Some(switch) = &self.switches[switch.index()] {
            prefetch(switch.buffer.place(ingress, class));
        }
    }

    /// The switch that sends over a lane and which of its ports that is.
    fn sender(&mut self, lane: LaneId) -> (&mut Switch, u16) {
        let (switch, port) = self.senders[lane.index()];
        (self.switches[switch.index()].as_mut().expect("a switch of this part"), port)
    }
}

impl Told {
    const NOTHING: Self =
        Self { received: 0, corrupted: 0, holds: [Hold::NONE; CLASSES], paused: [Span::ZERO; CLASSES] };

    fn note(&mut self, now: Time, class: usize, hold: Hold) {
        let old = self.holds[class];
        let new = old.followed_by(hold);
        if new.from != old.from {
            self.paused[class] += old.lasted(now);
        }
        self.holds[class] = new;
    }
}

impl Wires {
    /// Hands a frame to a port of a lossless switch.
    pub(crate) fn enqueue_lossless(&mut self, now: Time, lane: LaneId, id: FrameId) {
        self.catch_up(now, lane);
        // What is to be said is said before a frame that comes at the very instant at which the port falls free.
        self.speak(now, lane);
        self.mark_waiting(now, lane, id);
        let &Frame { len, class, ingress, .. } = self.frames.get(id);
        if self.lossless.as_ref().is_some_and(|lossless| lossless.care.drops(lane, class)) {
            self.drop_for_remedy(now, lane, id);
            self.lossless.as_mut().expect("a lossless switch").care.counts.flushed_frames += 1;
            return;
        }
        let port = &mut self.ports[lane.index()];
        let is_guarded = port.flags.has(PortFlags::GUARDED);
        let egress = self.egresses[lane.index()].as_mut().expect("a port with an egress");
        if !is_guarded && egress.is_free(now, class, port.busy_until) {
            self.transmit(now, lane, id);
            return;
        }
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        if !lossless.sender(lane).0.buffer.is_easy(ingress, class, len) {
            self.catch_up_all(now, lane);
        }
        let cost = self.cost(lane, len);
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let (switch, port) = lossless.sender(lane);
        let was_stopping = switch.buffer.is_stopping();
        if switch.buffer.admit(ingress, class, len) == Admission::Dropped {
            self.drop_frame(now, lane, id);
        } else if is_guarded {
            let egress = self.egresses[lane.index()].as_mut().expect("a port with an egress");
            egress.admit(now, Waiting { frame: id, len, ingress, cost }, class);
            self.pump(now, lane);
        } else {
            switch.occupy(port);
            let port = &mut self.ports[lane.index()];
            port.flags.set(PortFlags::OCCUPIED);
            // It did not wait before.
            port.busy_until = port.busy_until.max(now);
            let egress = self.egresses[lane.index()].as_mut().expect("a port with an egress");
            egress.admit(now, Waiting { frame: id, len, ingress, cost }, class);
            self.arm_lossless(now, lane);
        }
        self.after_change(now, lane, was_stopping);
    }

    /// A port of a lossless switch may have something to do: to start a frame, or to speak.
    pub(crate) fn on_lossless_free(&mut self, now: Time, lane: LaneId) {
        if self.ports[lane.index()].flags.has(PortFlags::GUARDED) {
            self.on_guard_time(now, lane);
            return;
        }
        self.catch_up(now, lane);
        self.speak(now, lane);
        self.arm_lossless(now, lane);
    }

    /// Holds a class at a port of a lossless switch, or lets it go.
    pub(crate) fn pause_lossless(&mut self, now: Time, lane: LaneId, class: u8, hold: Hold) {
        if self.ports[lane.index()].flags.has(PortFlags::GUARDED) {
            let egress = self.egresses[lane.index()].as_mut().expect("a port with an egress");
            egress.pause(class, hold);
            self.pump(now, lane);
            return;
        }
        self.catch_up(now, lane);
        let port = &mut self.ports[lane.index()];
        port.flags.set(PortFlags::OCCUPIED);
        // What has waited until now does not start before.
        port.busy_until = port.busy_until.max(now);
        let egress = self.egresses[lane.index()].as_mut().expect("a port with an egress");
        egress.pause(class, hold);
        self.arm_lossless(now, lane);
    }

    /// The last frame on a lane has arrived, or one was expected: what has left since then is under way.
    pub(crate) fn refill(&mut self, now: Time, lane: LaneId) {
        if self.ports[lane.index()].flags.has(PortFlags::OCCUPIED) {
            self.catch_up(now, lane);
            self.arm_lossless(now, lane);
        }
    }

    /// All departures of the past are settled, for whoever looks.
    pub(crate) fn catch_up_everywhere(&mut self, now: Time) {
        let Some(lossless) = &self.lossless else { return };
        let of_switch = |switch: &Option<Box<Switch>>| switch.as_ref()?.lanes.first().copied();
        for lane in lossless.switches.iter().filter_map(of_switch).collect::<Vec<_>>() {
            self.catch_up_all(now, lane);
        }
    }

    /// The same at one switch.
    pub(crate) fn catch_up_switch(&mut self, now: Time, switch: SwitchId) {
        let lossless = self.lossless.as_ref().expect("a lossless switch");
        if let Some(lane) = lossless.lanes_of(switch).first().copied() {
            self.catch_up_all(now, lane);
        }
    }

    /// Settles the departures before `now` of all ports of the switch that sends over `lane`.
    fn catch_up_all(&mut self, now: Time, lane: LaneId) {
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let (SwitchId(number), _) = lossless.senders[lane.index()];
        let words = lossless.sender(lane).0.occupied.len();
        for word in 0..words {
            let lossless = self.lossless.as_mut().expect("a lossless switch");
            let switch = lossless.switches[number as usize].as_mut().expect("a switch of this part");
            let mut ports = switch.occupied[word];
            while ports != 0 {
                let port = word * 64 + ports.trailing_zeros() as usize;
                ports &= ports - 1;
                let lossless = self.lossless.as_mut().expect("a lossless switch");
                let switch = lossless.switches[number as usize].as_mut().expect("a switch of this part");
                let lane = switch.lanes[port];
                self.catch_up(now, lane);
            }
        }
    }

    /// Settles the departures before `now` of a port: of frames that wait, each starts when the one before it has left and no
    /// hold keeps it. Those of the instant itself are left, so that all that happens at it counts, in whatever order.
    pub(crate) fn catch_up(&mut self, now: Time, lane: LaneId) {
        let index = lane.index();
        if !self.ports[index].flags.has(PortFlags::OCCUPIED) {
            return;
        }
        let mut was_stopping = false;
        loop {
            let free_at = self.ports[index].busy_until;
            let egress = self.egresses[index].as_mut().expect("a port with an egress");
            let Some(start) = egress.next_start(free_at) else { break };
            if start >= now {
                return self.announce_if(was_stopping, now, lane);
            }
            let (class, waiting) = egress.pop(start).expect("a port that names a start has a frame");
            self.depart(start, lane, waiting.frame, waiting.cost);
            let lossless = self.lossless.as_mut().expect("a lossless switch");
            let (switch, port) = lossless.sender(lane);
            was_stopping |= switch.buffer.is_stopping();
            switch.buffer.release(waiting.ingress, class, waiting.len);
            let egress = self.egresses[index].as_mut().expect("a port with an egress");
            if !egress.is_occupied() {
                switch.vacate(port);
            }
        }
        let egress = self.egresses[index].as_mut().expect("a port with an egress");
        if egress.is_quiet(now) {
            self.ports[index].flags.clear(PortFlags::OCCUPIED);
        }
        self.announce_if(was_stopping, now, lane);
    }

    #[inline]
    fn announce_if(&mut self, wanted: bool, now: Time, lane: LaneId) {
        if wanted {
            self.announce(now, lane);
        }
    }

    /// What the buffer has come to say is said. While some neighbour must wait, all ports come back at each departure, since each may
    /// let it go on.
    fn after_change(&mut self, now: Time, lane: LaneId, was_stopping: bool) {
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let (switch, _) = lossless.sender(lane);
        if !switch.buffer.has_words() {
            return;
        }
        if !was_stopping {
            let occupied: Vec<LaneId> = switch.occupied_lanes().collect();
            for lane in occupied {
                self.arm_lossless(now, lane);
            }
        }
        self.announce(now, lane);
    }

    /// Neighbours that must still wait are told again.
    #[cold]
    pub(crate) fn on_refresh(&mut self, now: Time, switch: SwitchId) {
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let of = lossless.switches[switch.index()].as_mut().expect("a switch of this part");
        of.buffer.on_timeout(now);
        let Some(lane) = of.lanes.first().copied() else { return };
        self.announce(now, lane);
        self.arm_refresh(now, lane);
        self.on_rounds(now, switch);
    }

    /// What a PFC frame that came over `lane` says, by class, if it is one: the holds that the port back has to obey.
    pub(crate) fn take_pfc(
        &mut self,
        now: Time,
        lane: LaneId,
        id: FrameId,
    ) -> Option<[Option<Hold>; CLASSES]> {
        let header = self.frames.get(id).header;
        let Some(Header::Pfc(classes)) = self.headers.get(header).copied() else { return None };
        self.headers.remove(header);
        self.frames.remove(id);
        let rate = self.rate(lane);
        let lossless = self.lossless.as_mut().expect("PFC frames come from lossless switches");
        let reaction = lossless.reaction;
        let hold = |quanta: Quanta| {
            if quanta == Quanta::RESUME {
                return Hold { from: now + Hold::NOTICE, until: now };
            }
            let from = now + reaction;
            Hold { from: from + Hold::NOTICE, until: from + quanta.span(rate) }
        };
        let mut holds = classes.map(|quanta| quanta.map(hold));
        let Lossless { told, care, .. } = &mut **lossless;
        let back = lane.reverse();
        let told = &mut told[back.index()];
        told.received += 1;
        for (class, hold) in holds.iter_mut().enumerate() {
            let Some(new) = *hold else { continue };
            let old = told.holds[class];
            told.note(now, class, new);
            care.on_told(now, back, class as u8, old, told.holds[class]);
            // A storm that is ignored stops nothing.
            if care.watchdog.as_ref().is_some_and(|watchdog| watchdog.overrides(back, class as u8)) {
                *hold = None;
            }
        }
        Some(holds)
    }

    /// What a frame that came over `lane` asks, if it does.
    pub(crate) fn take_probe(&mut self, id: FrameId) -> Option<Probe> {
        let header = self.frames.get(id).header;
        let Some(Header::Probe(probe)) = self.headers.get(header).copied() else { return None };
        self.headers.remove(header);
        self.frames.remove(id);
        Some(probe)
    }

    /// A PFC frame was corrupted.
    pub(crate) fn on_lost_pfc(&mut self, lane: LaneId) {
        let lossless = self.lossless.as_mut().expect("PFC frames come from lossless switches");
        lossless.told[lane.reverse().index()].corrupted += 1;
    }

    /// Sends what the port of `lane` has to say, if it has and the wire is free.
    pub(crate) fn speak(&mut self, now: Time, lane: LaneId) -> bool {
        let port = &mut self.ports[lane.index()];
        if !port.flags.has(PortFlags::SPEAKING) || port.busy_until > now {
            return false;
        }
        port.flags.clear(PortFlags::SPEAKING);
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let (switch, port) = lossless.sender(lane);
        let header = match switch.buffer.poll_transmit(now, port) {
            Some(classes) => Header::Pfc(classes),
            None => match lossless.care.probes.as_mut().and_then(|probes| probes.pop(lane)) {
                Some(probe) => Header::Probe(probe),
                None => return false,
            },
        };
        let header = self.headers.insert(header);
        let id = self.frames.insert(Frame { header, ..Frame::own() });
        self.transmit(now, lane, id);
        self.arm_refresh(now, lane);
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let (switch, port) = lossless.sender(lane);
        let has_copies = switch.buffer.is_due(port);
        if has_copies || lossless.care.probes.as_ref().is_some_and(|probes| probes.is_due(lane)) {
            self.ports[lane.index()].flags.set(PortFlags::SPEAKING);
        }
        true
    }

    /// Has the port of `lane` speak, now or when it falls free.
    pub(crate) fn say(&mut self, now: Time, lane: LaneId) {
        self.ports[lane.index()].flags.set(PortFlags::SPEAKING);
        self.speak(now, lane);
        self.arm_lossless(now, lane);
    }

    /// Has the ports speak of the switch that sends over `lane`, now or when they fall free.
    pub(crate) fn announce(&mut self, now: Time, lane: LaneId) {
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let (SwitchId(number), _) = lossless.senders[lane.index()];
        loop {
            let lossless = self.lossless.as_mut().expect("a lossless switch");
            let switch = lossless.switches[number as usize].as_mut().expect("a switch of this part");
            let Some(port) = switch.buffer.poll() else { return };
            let lane = switch.lanes[usize::from(port)];
            self.ports[lane.index()].flags.set(PortFlags::SPEAKING);
            self.catch_up(now, lane);
            let is_said = self.speak(now, lane);
            if !is_said || self.ports[lane.index()].flags.has(PortFlags::SPEAKING) {
                self.arm_lossless(now, lane);
            }
        }
    }

    /// Comes back when the port may speak; and when it may start a frame, or right after, so that all that happens at that instant
    /// counts. A lazy port need not: the arrival of what leaves comes back for it, unless a neighbour waits for what leaves here.
    fn arm_lossless(&mut self, now: Time, lane: LaneId) {
        let Port { busy_until, flags, .. } = self.ports[lane.index()];
        if flags.has(PortFlags::SPEAKING) {
            self.queue.arm_by(self.sources.tx(lane), busy_until.max(now));
        }
        if flags.has(PortFlags::GUARDED) {
            self.arm_guarded(now, lane);
            return;
        }
        if !flags.has(PortFlags::OCCUPIED) {
            return;
        }
        let egress = self.egresses[lane.index()].as_ref().expect("a port with an egress");
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let is_lazy = flags.has(PortFlags::LAZY) && !flags.has(PortFlags::MARKED);
        if (!is_lazy || lossless.sender(lane).0.buffer.is_stopping())
            && let Some(start) = egress.next_start(busy_until)
        {
            self.queue.arm_by(self.sources.tx(lane), (start + Hold::NOTICE).max(now));
        }
        if is_lazy
            && self.is_idle(lane)
            && let Some(end) = egress.next_end(busy_until)
        {
            self.queue.arm_by(Source(lane.0), self.arrival(lane, end).max(now));
        }
    }

    /// Comes back when the switch that sends over `lane` has to say something again. An earlier time that was asked for and
    /// has become idle comes first, and then leads here.
    fn arm_refresh(&mut self, now: Time, lane: LaneId) {
        let lossless = self.lossless.as_mut().expect("a lossless switch");
        let (switch, _) = lossless.senders[lane.index()];
        if let Some(due) = lossless.sender(lane).0.buffer.next_timeout() {
            self.queue.arm_by(self.sources.inside(switch), due.max(now));
        }
    }
}
