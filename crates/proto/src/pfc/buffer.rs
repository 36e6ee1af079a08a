//! The memory of a switch, counted by ingress and class.

use wiremend_units::{Bytes, Span, Time};
use wiremend_wire::Quanta;

use super::config::{Config, Unworkable};
use super::counters::Counters;

/// Traffic classes of a link.
pub const CLASSES: usize = 8;

/// What a PFC frame says, by class; see [`wiremend_wire::Pause::Classes`].
pub type Classes = [Option<Quanta>; CLASSES];

/// The memory of a switch.
#[derive(Clone, Debug)]
pub struct Buffer {
    config: Config,
    /// Bytes that all share, and how many of them are in use.
    shared_max: u64,
    shared: u64,
    /// By class, then by port: mostly one class is in use, and what is used lies together.
    queues: Vec<Queue>,
    /// The ports and classes whose neighbours must wait.
    stopped: Vec<(u16, u8)>,
    ports: Vec<Port>,
    /// Ports that have something to say and were not polled since.
    speaking: Vec<u16>,
    counters: Counters,
}

/// Where a frame lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Below the threshold.
    Below,
    /// Above it, in the headroom.
    Headroom,
    /// Nowhere: it is dropped.
    Dropped,
}

/// What came in by one port in one class and has not left.
#[derive(Clone, Copy, Default, Debug)]
struct Queue {
    /// In the reserve and in the shared part.
    below: u64,
    headroom: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Port {
    /// Classes with which the neighbour must wait, a bit each.
    stopped: u8,
    /// Classes of which the neighbour is to be told, a bit each.
    due: u8,
    /// Classes that it was last told to stop.
    told: u8,
    /// Classes that it was last told to go on with.
    resumed: u8,
    /// How often that is still to be said.
    owed: u8,
    /// When it is told again.
    refresh_at: Time,
    /// How long a pause lasts on this link.
    pause: Span,
}

impl Buffer {
    /// An empty memory.
    pub fn new(config: Config) -> Result<Self, Unworkable> {
        config.check()?;
        let port = |rate| Port { refresh_at: Time::MAX, pause: config.quanta.span(rate), ..Port::default() };
        Ok(Self {
            shared_max: config.shared()?.get(),
            shared: 0,
            queues: vec![Queue::default(); config.ports.len() * CLASSES],
            stopped: Vec::new(),
            ports: config.ports.iter().map(|of| port(of.rate)).collect(),
            speaking: Vec::new(),
            counters: Counters::default(),
            config,
        })
    }

    /// Bytes above the reserve that an ingress and class may have now: t = α (m − m′).
    #[inline]
    pub fn threshold(&self) -> Bytes {
        Bytes::new(self.config.alpha.of(self.shared_max - self.shared))
    }

    /// A frame has come in by `port`. Its neighbour may have to stop for it; see [`Buffer::poll`].
    #[inline]
    pub fn admit(&mut self, port: u16, class: u8, len: u16) -> Admission {
        let (index, len) = (self.index(port, class), u64::from(len));
        let (reserve, is_lossless) = (self.reserve(class), self.is_lossless(class));
        let threshold = self.threshold().get();
        let queue = &mut self.queues[index];
        let over = (queue.below + len).saturating_sub(reserve);
        let taken = over - queue.below.saturating_sub(reserve);
        let admission = if over <= threshold && taken <= self.shared_max - self.shared {
            queue.below += len;
            self.shared += taken;
            Admission::Below
        } else if is_lossless && queue.headroom + len <= self.config.ports[usize::from(port)].headroom.get() {
            queue.headroom += len;
            self.counters.headroom_bytes_max = self.counters.headroom_bytes_max.max(queue.headroom);
            Admission::Headroom
        } else {
            let dropped = &mut self.counters;
            *if is_lossless { &mut dropped.lossless_dropped } else { &mut dropped.lossy_dropped } += 1;
            Admission::Dropped
        };
        if admission != Admission::Dropped {
            self.counters.held_bytes += len;
            self.counters.held_bytes_max = self.counters.held_bytes_max.max(self.counters.held_bytes);
        }
        if admission != Admission::Below && is_lossless && !self.is_stopped(port, class) {
            self.ports[usize::from(port)].stopped |= 1 << class;
            self.stopped.push((port, class));
            self.speak(port, 1 << class);
        }
        admission
    }

    /// Whether a frame would lie below the threshold and leave every count of the most as it is. More bytes than there are never make
    /// a yes of a no, so a host may ask before it has told of all that left; it tells of all before it takes a no for one.
    #[inline]
    pub fn is_easy(&self, port: u16, class: u8, len: u16) -> bool {
        let len = u64::from(len);
        let below = self.queues[self.index(port, class)].below;
        let over = (below + len).saturating_sub(self.reserve(class));
        self.stopped.is_empty()
            && self.counters.held_bytes + len <= self.counters.held_bytes_max
            && over <= self.threshold().get()
            && len <= self.shared_max - self.shared
    }

    /// Whether some neighbour must wait: then it matters at which instant a frame leaves.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        !self.stopped.is_empty()
    }

    /// A frame that came in by `port` leaves. Neighbours may go on for it, of this port or of others: what is free is free
    /// to all.
    #[inline]
    pub fn release(&mut self, port: u16, class: u8, len: u16) {
        let (reserve, len) = (self.reserve(class), u64::from(len));
        let index = self.index(port, class);
        let queue = &mut self.queues[index];
        let above = queue.headroom.min(len);
        let shared = queue.below.saturating_sub(reserve).min(len - above);
        queue.headroom -= above;
        queue.below -= len - above;
        self.shared -= shared;
        self.counters.held_bytes -= len;
        if !self.stopped.is_empty() {
            self.let_go();
        }
    }

    /// A port that has something to say: it is to be asked when its wire is free.
    pub fn poll(&mut self) -> Option<u16> {
        self.speaking.pop()
    }

    /// Whether [`Buffer::poll`] would name a port.
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.speaking.is_empty()
    }

    /// Whether a port has something to say.
    #[inline]
    pub fn is_due(&self, port: u16) -> bool {
        let port = &self.ports[usize::from(port)];
        port.due != 0 || port.owed != 0
    }

    /// What a port says now, whose wire is free.
    pub fn poll_transmit(&mut self, now: Time, port: u16) -> Option<Classes> {
        if !self.is_due(port) {
            return None;
        }
        let state = &mut self.ports[usize::from(port)];
        let stopped = state.stopped;
        if state.due == 0 {
            // Nothing has changed since it was said.
            state.owed -= 1;
        } else {
            // Who was never told to stop need not be told to go on. Who may have missed it is told once more.
            let missed = if state.owed == 0 { 0 } else { state.resumed };
            let resumed = std::mem::take(&mut state.due) & !stopped & state.told;
            state.resumed = (resumed | missed) & !stopped;
            state.owed = 0;
            if stopped | state.resumed == 0 {
                return None;
            }
            state.owed = self.config.copies - 1;
            let again = stopped & state.told;
            state.told = stopped;
            state.refresh_at = if stopped == 0 { Time::MAX } else { now + state.pause / 2 };
            self.counters.pauses += u64::from((stopped & !again).count_ones());
            self.counters.refreshes += u64::from(again.count_ones());
            self.counters.resumes += u64::from(resumed.count_ones());
        }
        self.counters.frames += 1;
        let (resumed, quanta) = (state.resumed, self.config.quanta);
        Some(std::array::from_fn(|class| match 1 << class {
            bit if stopped & bit != 0 => Some(quanta),
            bit if resumed & bit != 0 => Some(Quanta::RESUME),
            _ => None,
        }))
    }

    /// When the host must call [`Buffer::on_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        self.ports.iter().map(|port| port.refresh_at).min().filter(|due| *due < Time::MAX)
    }

    /// Neighbours that still must wait are told again.
    pub fn on_timeout(&mut self, now: Time) {
        for port in 0..self.ports.len() {
            if self.ports[port].refresh_at <= now {
                self.ports[port].refresh_at = Time::MAX;
                self.speak(port as u16, self.ports[port].stopped);
            }
        }
    }

    /// Bytes that came in by `port` and have not left.
    pub fn held(&self, port: u16) -> Bytes {
        Bytes::new((0..CLASSES as u8).map(|class| self.held_in(port, class).get()).sum())
    }

    /// Bytes of a class that came in by `port` and have not left.
    pub fn held_in(&self, port: u16, class: u8) -> Bytes {
        let queue = &self.queues[self.index(port, class)];
        Bytes::new(queue.below + queue.headroom)
    }

    /// What is counted of a port and class: a place in memory that a host may want close before it is needed.
    #[inline]
    pub fn place(&self, port: u16, class: u8) -> &impl Sized {
        &self.queues[self.index(port, class)]
    }

    /// Whether the neighbour behind `port` must wait with a class.
    pub fn is_stopped(&self, port: u16, class: u8) -> bool {
        self.ports[usize::from(port)].stopped >> class & 1 != 0
    }

    /// Whether it would still have to if nothing more came and only `left` bytes of each port and class stayed.
    pub fn stays_stopped(&self, port: u16, class: u8, left: impl Fn(u16, u8) -> u64) -> bool {
        let places =
            (0..self.ports.len() as u16).flat_map(|port| (0..CLASSES as u8).map(move |class| (port, class)));
        let shared_by = |(port, class): (u16, u8)| {
            // What leaves gives headroom back first.
            let below = self.queues[self.index(port, class)].below.min(left(port, class));
            below.saturating_sub(self.reserve(class))
        };
        let shared: u64 = places.map(shared_by).sum();
        let limit = self.config.alpha.of(self.shared_max - shared);
        let (reserve, offset) = (self.config.reserve.get(), self.config.resume_offset.get());
        let queue = &self.queues[self.index(port, class)];
        let stays = left(port, class);
        let headroom = queue.headroom.saturating_sub(queue.below + queue.headroom - stays);
        let below = queue.below.min(stays);
        self.is_stopped(port, class) && !(headroom == 0 && below.saturating_sub(reserve) + offset <= limit)
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    #[inline]
    fn index(&self, port: u16, class: u8) -> usize {
        usize::from(class) * self.ports.len() + usize::from(port)
    }

    #[inline]
    fn is_lossless(&self, class: u8) -> bool {
        self.config.lossless >> class & 1 != 0
    }

    #[inline]
    fn reserve(&self, class: u8) -> u64 {
        if self.is_lossless(class) { self.config.reserve.get() } else { 0 }
    }

    fn speak(&mut self, port: u16, classes: u8) {
        let state = &mut self.ports[usize::from(port)];
        if state.due == 0 && classes != 0 {
            self.speaking.push(port);
        }
        state.due |= classes;
    }

    /// Every neighbour goes on whose headroom is empty and whose bytes are far enough below the threshold.
    fn let_go(&mut self) {
        let limit = self.threshold().get();
        let (reserve, offset) = (self.config.reserve.get(), self.config.resume_offset.get());
        let mut place = 0;
        while let Some((port, class)) = self.stopped.get(place).copied() {
            let queue = self.queues[self.index(port, class)];
            if queue.headroom == 0 && queue.below.saturating_sub(reserve) + offset <= limit {
                self.ports[usize::from(port)].stopped &= !(1 << class);
                self.stopped.swap_remove(place);
                self.speak(port, 1 << class);
            } else {
                place += 1;
            }
        }
    }
}
