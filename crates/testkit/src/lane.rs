//! One direction between two hosts: a port, and paths with delay, loss, duplication and reordering.

use wiremend_units::{Span, Time};

use crate::random::Random;

/// A direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From A to B.
    Forward,
    /// From B to A.
    Backward,
}

/// A packet that left a port.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket<P> {
    /// Departure time.
    pub at: Time,
    /// Headers.
    pub packet: P,
    /// Number of the packet in this direction, from 1.
    pub nth: u64,
    /// Earlier transmissions of the same number, for a request.
    pub copy: u8,
    /// It is a retransmission.
    pub again: bool,
    /// Path it takes.
    pub path: u16,
    /// Cumulative acknowledgement of its sender at departure.
    pub acknowledged: u64,
}

/// What happens to a packet. A rule may return `true` for a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate<P> {
    /// It arrives in order.
    Arrives,
    /// It does not arrive.
    Lost,
    /// It arrives later by this time.
    Delayed(Span),
    /// It arrives, and a copy later.
    Duplicated,
    /// A switch replaces its headers.
    Altered(P),
}

impl<P> From<bool> for Fate<P> {
    fn from(is_lost: bool) -> Self {
        if is_lost { Self::Lost } else { Self::Arrives }
    }
}

/// Probabilities of random faults, in parts per million.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomFaults {
    /// Loss.
    pub loss_ppm: u32,
    /// Duplication.
    pub duplicate_ppm: u32,
    /// Delay, so that later packets overtake.
    pub reorder_ppm: u32,
}

/// A path from a port to the other host.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// One-way delay.
    pub delay: Span,
    /// Transmission time of a full packet on the narrowest link.
    pub spacing: Span,
    /// Longest wait for that link. A packet that would wait longer is dropped.
    pub queue_max: Span,
    /// Random faults.
    pub faults: RandomFaults,
}

impl Path {
    /// A path without faults, as fast as the port.
    pub fn new(delay: Span) -> Self {
        Self { delay, spacing: Span::ZERO, queue_max: Span::from_ms(1_000), faults: RandomFaults::default() }
    }
}

type Rule<P> = Box<dyn FnMut(&SentPacket<P>) -> Fate<P>>;

pub(crate) struct Lane<P> {
    /// Transmission time of a full packet at the port.
    pub(crate) spacing: Span,
    pub(crate) free_at: Time,
    /// Paths, and when the narrowest link of each is free.
    pub(crate) paths: Vec<(Path, Time)>,
    pub(crate) sent: Vec<SentPacket<P>>,
    pub(crate) lost: u64,
    rules: Vec<Rule<P>>,
    random: Random,
}

impl<P: Copy> Lane<P> {
    pub(crate) fn new(delay: Span, spacing: Span) -> Self {
        let paths = vec![(Path::new(delay), Time::ZERO)];
        let (sent, rules, random) = (Vec::new(), Vec::new(), Random::new(0));
        Self { spacing, free_at: Time::ZERO, paths, sent, lost: 0, rules, random }
    }

    pub(crate) fn rule(&mut self, rule: Rule<P>) {
        self.rules.push(rule);
    }

    pub(crate) fn seed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    /// Carries a packet that has `share` thousandths of a full packet's length. Returns each arrival and its
    /// headers; none if lost.
    pub(crate) fn carry(&mut self, sent: SentPacket<P>, share: u64) -> Vec<(Time, P)> {
        self.sent.push(sent);
        // Every rule sees every packet, because rules may count.
        let fates = self.rules.iter_mut().map(|rule| rule(&sent));
        let fate =
            fates.fold(Fate::Arrives, |first, next| if let Fate::Arrives = first { next } else { first });
        self.free_at = sent.at + self.spacing * share / 1_000;
        let count = self.paths.len();
        let (path, path_free_at) = &mut self.paths[usize::from(sent.path) % count];
        let start = self.free_at.max(*path_free_at);
        let overflows = start.since(self.free_at) > path.queue_max;
        if !overflows {
            *path_free_at = start + path.spacing * share / 1_000;
        }
        if overflows || matches!(fate, Fate::Lost) || self.random.chance_ppm(path.faults.loss_ppm) {
            self.lost += 1;
            return Vec::new();
        }
        let mut arrival = *path_free_at + path.delay;
        let step = self.spacing.max(path.spacing);
        let packet = if let Fate::Altered(packet) = fate { packet } else { sent.packet };
        if let Fate::Delayed(by) = fate {
            arrival += by;
        }
        if self.random.chance_ppm(path.faults.reorder_ppm) {
            arrival += step * (1 + self.random.below(20)) + path.delay / 3;
        }
        if self.random.chance_ppm(path.faults.duplicate_ppm) || matches!(fate, Fate::Duplicated) {
            let later = arrival + step * self.random.below(50) + path.delay / 7;
            return vec![(arrival, packet), (later, packet)];
        }
        vec![(arrival, packet)]
    }
}
