//! One direction between the two ends: takes time, loses, doubles and overtakes.

use wiremend_proto::rc::Packet;
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

/// A packet as the lane sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<P = Packet> {
    /// Its headers.
    pub packet: P,
    /// It is the `nth` packet in this direction, counted from 1.
    pub nth: u64,
    /// How often its number was sent before, if it is a request.
    pub copy: u8,
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

type Rule<P> = Box<dyn FnMut(&Sighting<P>) -> bool>;

/// One direction of the wire.
pub(crate) struct Lane<P = Packet> {
    pub(crate) delay: Span,
    pub(crate) spacing: Span,
    pub(crate) free_at: Time,
    pub(crate) carried: u64,
    pub(crate) lost: u64,
    rules: Vec<Rule<P>>,
    luck: Luck,
    dice: Dice,
}

impl<P: Copy> Lane<P> {
    pub(crate) fn new(delay: Span, spacing: Span) -> Self {
        let (luck, dice) = (Luck::default(), Dice::new(0));
        Self { delay, spacing, free_at: Time::ZERO, carried: 0, lost: 0, rules: Vec::new(), luck, dice }
    }

    pub(crate) fn drop_if(&mut self, rule: Rule<P>) {
        self.rules.push(rule);
    }

    pub(crate) fn impair(&mut self, luck: Luck, seed: u64) {
        self.luck = luck;
        self.dice = Dice::new(seed);
    }

    /// Takes a packet at `now`; gives the times at which it arrives, none if it is lost.
    pub(crate) fn carry(&mut self, now: Time, packet: P, copy: u8) -> Vec<Time> {
        self.carried += 1;
        self.free_at = now + self.spacing;
        let sighting = Sighting { packet, nth: self.carried, copy };
        // Every rule sees every packet: rules may count.
        let scripted = self.rules.iter_mut().filter_map(|rule| rule(&sighting).then_some(())).count() > 0;
        if scripted || self.dice.chance_ppm(self.luck.loss_ppm) {
            self.lost += 1;
            return Vec::new();
        }
        let mut arrival = now + self.spacing + self.delay;
        if self.dice.chance_ppm(self.luck.reorder_ppm) {
            arrival += self.spacing * (1 + self.dice.below(20)) + self.delay / 3;
        }
        if self.dice.chance_ppm(self.luck.duplicate_ppm) {
            let later = arrival + self.spacing * self.dice.below(50) + self.delay / 7;
            return vec![arrival, later];
        }
        vec![arrival]
    }
}
