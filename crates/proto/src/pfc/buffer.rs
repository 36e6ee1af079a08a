//! Buffer of a switch, accounted by ingress port and class.

use wiremend_units::{Bytes, Span, Time};
use wiremend_wire::Quanta;

use super::config::{Config, ConfigError};
use super::counters::Counters;

/// Traffic classes of a link.
pub const CLASSES: usize = 8;

/// Pause times of a PFC frame by class; see [`wiremend_wire::Pause::Classes`].
pub type PauseTimes = [Option<Quanta>; CLASSES];

/// Buffer of a switch.
#[derive(Clone, Debug)]
pub struct Buffer {
    config: Config,
    shared_max: u64,
    shared: u64,
    /// By class, then by port, so that the one class usually in use is contiguous.
    queues: Vec<Queue>,
    /// Ports and classes whose neighbours are paused.
    paused: Vec<(u16, u8)>,
    ports: Vec<Port>,
    /// Ports with a PFC frame to send that were not yet returned by `poll`.
    pending_ports: Vec<u16>,
    counters: Counters,
}

/// Where a frame is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// In reserve or shared memory, below the threshold.
    BelowThreshold,
    /// In headroom, above the threshold.
    Headroom,
    /// Dropped.
    Dropped,
}

/// Bytes that arrived on one port in one class and have not left.
#[derive(Clone, Copy, Default, Debug)]
struct Queue {
    /// In reserve and shared memory.
    below: u64,
    headroom: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Port {
    /// Paused classes, one bit each.
    paused: u8,
    /// Classes with a change to send, one bit each.
    due: u8,
    /// Classes paused by the last PFC frame.
    announced_pause: u8,
    /// Classes resumed by the last PFC frame.
    resumed: u8,
    /// Copies of the last PFC frame still to send.
    repeats_left: u8,
    refresh_at: Time,
    /// Duration of a pause on this link.
    pause: Span,
}

impl Buffer {
    /// An empty buffer.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let port = |rate| Port { refresh_at: Time::MAX, pause: config.quanta.span(rate), ..Port::default() };
        Ok(Self {
            shared_max: config.shared()?.get(),
            shared: 0,
            queues: vec![Queue::default(); config.ports.len() * CLASSES],
            paused: Vec::new(),
            ports: config.ports.iter().map(|config| port(config.rate)).collect(),
            pending_ports: Vec::new(),
            counters: Counters::default(),
            config,
        })
    }

    /// Threshold for one ingress and class, in bytes above the reserve: t = α (m − m′).
    #[inline]
    pub fn threshold(&self) -> Bytes {
        Bytes::new(self.config.alpha.share_of(self.shared_max - self.shared))
    }

    /// Admits a frame that arrived on `port`. May pause the neighbour; see [`Buffer::poll`].
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
            Admission::BelowThreshold
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
        if admission != Admission::BelowThreshold && is_lossless && !self.is_paused(port, class) {
            self.ports[usize::from(port)].paused |= 1 << class;
            self.paused.push((port, class));
            self.schedule_pfc(port, 1 << class);
        }
        admission
    }

    /// Whether a frame would stay below the threshold and change no maximum. Excess bytes never turn a no
    /// into a yes, so a host may ask before it has released departed frames, and releases them before it
    /// relies on a no.
    #[inline]
    pub fn admits_without_effect(&self, port: u16, class: u8, len: u16) -> bool {
        let len = u64::from(len);
        let below = self.queues[self.index(port, class)].below;
        let over = (below + len).saturating_sub(self.reserve(class));
        self.paused.is_empty()
            && self.counters.held_bytes + len <= self.counters.held_bytes_max
            && over <= self.threshold().get()
            && len <= self.shared_max - self.shared
    }

    /// Whether a neighbour is paused, so that the exact time of departures matters.
    #[inline]
    pub fn is_pausing(&self) -> bool {
        !self.paused.is_empty()
    }

    /// Releases a frame that arrived on `port`. May resume neighbours of any port, because all share the free
    /// bytes.
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
        if !self.paused.is_empty() {
            self.resume_neighbours();
        }
    }

    /// Returns the memory that all ports share: without reserve and headroom.
    pub fn shared_max(&self) -> Bytes {
        Bytes::new(self.shared_max)
    }

    /// Returns a port with a PFC frame to send once its wire is free.
    pub fn poll(&mut self) -> Option<u16> {
        self.pending_ports.pop()
    }

    /// Whether [`Buffer::poll`] would return a port.
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.pending_ports.is_empty()
    }

    /// Whether a port has a PFC frame to send.
    #[inline]
    pub fn is_due(&self, port: u16) -> bool {
        let port = &self.ports[usize::from(port)];
        port.due != 0 || port.repeats_left != 0
    }

    /// Returns the PFC frame of a port whose wire is free.
    pub fn poll_transmit(&mut self, now: Time, port: u16) -> Option<PauseTimes> {
        if !self.is_due(port) {
            return None;
        }
        let state = &mut self.ports[usize::from(port)];
        let paused = state.paused;
        if state.due == 0 {
            // A copy: nothing has changed since the last frame.
            state.repeats_left -= 1;
        } else {
            // A class that was never paused needs no resume. A resume with copies outstanding is sent once
            // more.
            let missed = if state.repeats_left == 0 { 0 } else { state.resumed };
            let resumed = std::mem::take(&mut state.due) & !paused & state.announced_pause;
            state.resumed = (resumed | missed) & !paused;
            state.repeats_left = 0;
            if paused | state.resumed == 0 {
                return None;
            }
            state.repeats_left = self.config.copies - 1;
            let again = paused & state.announced_pause;
            state.announced_pause = paused;
            state.refresh_at = if paused == 0 { Time::MAX } else { now + state.pause / 2 };
            self.counters.pauses += u64::from((paused & !again).count_ones());
            self.counters.refreshes += u64::from(again.count_ones());
            self.counters.resumes += u64::from(resumed.count_ones());
        }
        self.counters.frames += 1;
        let (resumed, quanta) = (state.resumed, self.config.quanta);
        Some(std::array::from_fn(|class| match 1 << class {
            bit if paused & bit != 0 => Some(quanta),
            bit if resumed & bit != 0 => Some(Quanta::RESUME),
            _ => None,
        }))
    }

    /// When the host must call [`Buffer::on_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        self.ports.iter().map(|port| port.refresh_at).min().filter(|due| *due < Time::MAX)
    }

    /// Refreshes pauses.
    pub fn on_timeout(&mut self, now: Time) {
        for port in 0..self.ports.len() {
            if self.ports[port].refresh_at <= now {
                self.ports[port].refresh_at = Time::MAX;
                self.schedule_pfc(port as u16, self.ports[port].paused);
            }
        }
    }

    /// Bytes that arrived on `port` and have not left.
    pub fn held_bytes(&self, port: u16) -> Bytes {
        Bytes::new((0..CLASSES as u8).map(|class| self.held_class_bytes(port, class).get()).sum())
    }

    /// Bytes of a class that arrived on `port` and have not left.
    pub fn held_class_bytes(&self, port: u16, class: u8) -> Bytes {
        let queue = &self.queues[self.index(port, class)];
        Bytes::new(queue.below + queue.headroom)
    }

    /// State of a port and class, as an address to prefetch.
    #[inline]
    pub fn queue_state(&self, port: u16, class: u8) -> &impl Sized {
        &self.queues[self.index(port, class)]
    }

    /// Whether the neighbour of `port` is paused for a class.
    pub fn is_paused(&self, port: u16, class: u8) -> bool {
        self.ports[usize::from(port)].paused >> class & 1 != 0
    }

    /// Whether it would stay paused if no frame arrived and only `left` bytes of each port and class
    /// remained.
    pub fn stays_paused(&self, port: u16, class: u8, left: impl Fn(u16, u8) -> u64) -> bool {
        let places =
            (0..self.ports.len() as u16).flat_map(|port| (0..CLASSES as u8).map(move |class| (port, class)));
        let shared_by = |(port, class): (u16, u8)| {
            // Departures free headroom first.
            let below = self.queues[self.index(port, class)].below.min(left(port, class));
            below.saturating_sub(self.reserve(class))
        };
        let shared: u64 = places.map(shared_by).sum();
        let limit = self.config.alpha.share_of(self.shared_max - shared);
        let (reserve, offset) = (self.config.reserve.get(), self.config.resume_offset.get());
        let queue = &self.queues[self.index(port, class)];
        let stays = left(port, class);
        let headroom = queue.headroom.saturating_sub(queue.below + queue.headroom - stays);
        let below = queue.below.min(stays);
        self.is_paused(port, class) && !(headroom == 0 && below.saturating_sub(reserve) + offset <= limit)
    }

    /// Counters.
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

    fn schedule_pfc(&mut self, port: u16, classes: u8) {
        let state = &mut self.ports[usize::from(port)];
        if state.due == 0 && classes != 0 {
            self.pending_ports.push(port);
        }
        state.due |= classes;
    }

    /// Resumes every neighbour with empty headroom whose bytes are at least the offset below the threshold.
    fn resume_neighbours(&mut self) {
        let limit = self.threshold().get();
        let (reserve, offset) = (self.config.reserve.get(), self.config.resume_offset.get());
        let mut index = 0;
        while let Some((port, class)) = self.paused.get(index).copied() {
            let queue = self.queues[self.index(port, class)];
            if queue.headroom == 0 && queue.below.saturating_sub(reserve) + offset <= limit {
                self.ports[usize::from(port)].paused &= !(1 << class);
                self.paused.swap_remove(index);
                self.schedule_pfc(port, 1 << class);
            } else {
                index += 1;
            }
        }
    }
}
