//! Buffers of the prototype in a switch that has memory: what is kept is judged when what it waits for changes, and at no other time.
//!
//! Nothing turns here, so nothing is late by a turn, no loopback port is shared and no pipeline is taken. What is left of the prototype are
//! its registers, its slots, its one notification and its thresholds.

use std::cmp::Ordering;
use std::collections::VecDeque;

use wiremend_units::SwitchId;

use super::loopback::{Side, Turning};

/// Where a port of the prototype keeps frames.
pub(crate) enum Home {
    /// In the loop through the loopback port of this switch.
    Loopback(SwitchId),
    /// In memory of its own.
    Memory(Box<Memory>),
}

/// Frames that are kept, lowest number first.
#[derive(Default)]
pub(crate) struct Memory {
    tx: VecDeque<Turning>,
    rx: VecDeque<Turning>,
}

impl Home {
    pub(crate) fn memory() -> Self {
        Self::Memory(Box::default())
    }

    /// The frame that is judged next, if frames lie in memory.
    pub(super) fn first(&self, side: Side) -> Option<Turning> {
        match self {
            Self::Memory(memory) => memory.first(side),
            Self::Loopback(_) => None,
        }
    }

    /// That frame is gone.
    pub(super) fn remove_first(&mut self, side: Side) {
        if let Self::Memory(memory) = self {
            memory.side(side).pop_front();
        }
    }
}

impl Memory {
    /// Most come in the order of their numbers; what was sent again does not. Of the same number, the first stays first.
    pub(super) fn insert(&mut self, turning: Turning) {
        let buffer = self.side(turning.side);
        let later = |kept: &&Turning| kept.number.compare(turning.number) == Ordering::Greater;
        let behind = buffer.iter().rev().take_while(later).count();
        buffer.insert(buffer.len() - behind, turning);
    }

    fn first(&self, side: Side) -> Option<Turning> {
        if side == Side::Tx { self.tx.front() } else { self.rx.front() }.copied()
    }

    fn side(&mut self, side: Side) -> &mut VecDeque<Turning> {
        if side == Side::Tx { &mut self.tx } else { &mut self.rx }
    }
}
