//! One direction between the two ends: a port, and paths that take time, lose, double and overtake.

use wiremend_units::{Span, Time};

use crate::dice::Dice;

/// A direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From A to B.
    Forward,
    /// From B to A.
    Backward,
}

/// A packet as it leaves a port.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<P> {
    /// When.
    pub at: Time,
    /// Its headers.
    pub packet: P,
    /// It is the `nth` packet in this direction, counted from 1.
    pub nth: u64,
    /// How often its number was sent before, if it is a request.
    pub copy: u8,
    /// It is sent because something was lost, or seemed to be.
    pub again: bool,
    /// The path that it takes.
    pub path: u16,
    /// How far everything was acknowledged to its sender.
    pub acknowledged: u64,
}

/// What happens to a packet. A rule that only loses says `true` for what is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate<P> {
    /// It arrives in its turn.
    Arrives,
    /// It does not arrive.
    Lost,
    /// Others overtake it for so long.
    Late(Span),
    /// It arrives, and a copy of it later.
    Twice,
    /// A switch makes this of it.
    Altered(P),
}

impl<P> From<bool> for Fate<P> {
    fn from(is_lost: bool) -> Self {
        if is_lost { Self::Lost } else { Self::Arrives }
    }
}

/// What chance does to packets, in parts per million.
#[derive(Clone, Copy, Debug, Default)]
pub struct Luck {
    /// Lost.
    pub loss_ppm: u32,
    /// Delivered twice.
    pub duplicate_ppm: u32,
    /// Delayed, so that later packets overtake.
    pub reorder_ppm: u32,
}

/// What lies between a port and the other end.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// One way.
    pub delay: Span,
    /// A full packet takes so long on the narrowest link.
    pub spacing: Span,
    /// What would have to wait longer before that link finds no room.
    pub queue_max: Span,
    /// What chance does.
    pub luck: Luck,
}

impl Path {
    /// A path that is as wide as the port before it, and loses nothing.
    pub fn new(delay: Span) -> Self {
        Self { delay, spacing: Span::ZERO, queue_max: Span::from_ms(1_000), luck: Luck::default() }
    }
}

type Rule<P> = Box<dyn FnMut(&Sighting<P>) -> Fate<P>>;

/// One direction of the wire.
pub(crate) struct Lane<P> {
    /// A full packet occupies the port for so long.
    pub(crate) spacing: Span,
    pub(crate) free_at: Time,
    /// Paths, and when the narrowest link of each is free.
    pub(crate) paths: Vec<(Path, Time)>,
    pub(crate) sent: Vec<Sighting<P>>,
    pub(crate) lost: u64,
    rules: Vec<Rule<P>>,
    dice: Dice,
}

impl<P: Copy> Lane<P> {
    pub(crate) fn new(delay: Span, spacing: Span) -> Self {
        let paths = vec![(Path::new(delay), Time::ZERO)];
        let (sent, rules, dice) = (Vec::new(), Vec::new(), Dice::new(0));
        Self { spacing, free_at: Time::ZERO, paths, sent, lost: 0, rules, dice }
    }

    pub(crate) fn rule(&mut self, rule: Rule<P>) {
        self.rules.push(rule);
    }

    pub(crate) fn seed(&mut self, seed: u64) {
        self.dice = Dice::new(seed);
    }

    /// Takes a packet, which has `share` thousandths of the length of a full one; gives the times at which it arrives and what it
    /// is then: nothing if it is lost.
    pub(crate) fn carry(&mut self, sighting: Sighting<P>, share: u64) -> Vec<(Time, P)> {
        self.sent.push(sighting);
        // Every rule sees every packet: rules may count.
        let fates = self.rules.iter_mut().map(|rule| rule(&sighting));
        let fate =
            fates.fold(Fate::Arrives, |first, next| if let Fate::Arrives = first { next } else { first });
        self.free_at = sighting.at + self.spacing * share / 1_000;
        let count = self.paths.len();
        let (path, path_free_at) = &mut self.paths[usize::from(sighting.path) % count];
        let start = self.free_at.max(*path_free_at);
        let overflows = start.since(self.free_at) > path.queue_max;
        if !overflows {
            *path_free_at = start + path.spacing * share / 1_000;
        }
        if overflows || matches!(fate, Fate::Lost) || self.dice.chance_ppm(path.luck.loss_ppm) {
            self.lost += 1;
            return Vec::new();
        }
        let mut arrival = *path_free_at + path.delay;
        let step = self.spacing.max(path.spacing);
        let packet = if let Fate::Altered(packet) = fate { packet } else { sighting.packet };
        if let Fate::Late(by) = fate {
            arrival += by;
        }
        if self.dice.chance_ppm(path.luck.reorder_ppm) {
            arrival += step * (1 + self.dice.below(20)) + path.delay / 3;
        }
        if self.dice.chance_ppm(path.luck.duplicate_ppm) || matches!(fate, Fate::Twice) {
            let later = arrival + step * self.dice.below(50) + path.delay / 7;
            return vec![(arrival, packet), (later, packet)];
        }
        vec![(arrival, packet)]
    }
}
