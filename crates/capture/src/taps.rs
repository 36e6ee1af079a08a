//! Which interfaces of a file form one tap.
//!
//! An interface that sees both directions of a pair of hosts is a tap. Two interfaces that see one direction
//! each are one tap together, as in captures of the simulator or of a port mirror.

use std::collections::BTreeMap;

use crate::record::{HostIndex, Table, TapIndex};

/// An interface of a file: the file, the interface of the file and the one of a Linux cooked header.
pub(crate) type InterfaceKey = (u32, u32, u32);

/// Most interfaces of all files together.
const INTERFACES_MAX: usize = 256;
/// Most pairs of hosts whose directions are remembered.
const PAIRS_MAX: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Taps {
    interfaces: BTreeMap<InterfaceKey, TapIndex>,
    names: Vec<String>,
    files: Vec<u32>,
    /// Directions that an interface has seen between two hosts: bit 0 from the lower one, bit 1 from the other.
    directions: BTreeMap<(HostIndex, HostIndex), BTreeMap<TapIndex, u8>>,
    merged: Table<(HostIndex, HostIndex, TapIndex), TapIndex>,
}

impl Taps {
    /// The index of an interface; `None` if there are too many.
    pub(crate) fn interface(&mut self, key: InterfaceKey, name: impl FnOnce() -> String) -> Option<TapIndex> {
        if let Some(index) = self.interfaces.get(&key) {
            return Some(*index);
        }
        if self.names.len() == INTERFACES_MAX {
            return None;
        }
        let index = TapIndex(self.names.len() as u16);
        self.interfaces.insert(key, index);
        self.names.push(name());
        self.files.push(key.0);
        Some(index)
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn name(&self, tap: TapIndex) -> &str {
        &self.names[usize::from(tap.0)]
    }

    pub(crate) fn file(&self, tap: TapIndex) -> u32 {
        self.files[usize::from(tap.0)]
    }

    /// Notes that a packet went between two hosts at an interface.
    pub(crate) fn note(&mut self, from: HostIndex, to: HostIndex, interface: TapIndex) {
        let pair = (from.min(to), from.max(to));
        if self.directions.len() == PAIRS_MAX && !self.directions.contains_key(&pair) {
            return;
        }
        let bit = if from <= to { 1 } else { 2 };
        *self.directions.entry(pair).or_default().entry(interface).or_default() |= bit;
    }

    /// The tap of packets between two hosts at an interface. The first answer for a pair is kept.
    pub(crate) fn tap(&mut self, from: HostIndex, to: HostIndex, interface: TapIndex) -> TapIndex {
        let pair = (from.min(to), from.max(to));
        let key = (pair.0, pair.1, interface);
        if let Some(tap) = self.merged.get(&key) {
            return *tap;
        }
        let tap = self.partner(pair, interface).map_or(interface, |partner| partner.min(interface));
        if self.merged.len() < 4 * PAIRS_MAX {
            self.merged.insert(key, tap);
        }
        tap
    }

    /// The interface of the same file with only the other direction, in order of their numbers.
    fn partner(&self, pair: (HostIndex, HostIndex), interface: TapIndex) -> Option<TapIndex> {
        let seen = self.directions.get(&pair)?;
        let mine = *seen.get(&interface)?;
        if mine == 3 {
            return None;
        }
        let file = self.file(interface);
        let with = |bits: u8| {
            seen.iter()
                .filter(move |(tap, seen)| **seen == bits && self.file(**tap) == file)
                .map(|(tap, _)| *tap)
        };
        let place = with(mine).position(|tap| tap == interface)?;
        with(3 - mine).nth(place)
    }
}
