//! The buffer dependency graph.

use super::cycle::Successors;
use super::switch_lanes::{Slot, SwitchLanes};

/// The buffer dependency graph. A node is a lane between switches, that is, the ingress buffer at its end.
/// An edge leads from lane a to lane b if packets enter a switch on a and leave it on b: a drains only if b
/// does.
///
/// Each switch has a bit matrix with a row per incoming and a column per outgoing lane: a hundred thousand
/// links have tens of millions of edges, but these matrices take a few megabytes.
#[derive(Clone)]
pub(super) struct Dependencies<'m> {
    switch_lanes: &'m SwitchLanes,
    bits: Vec<u64>,
    /// Start of the row of a lane, by slot.
    rows: Vec<usize>,
}

/// Returns the size of all matrices in bytes.
pub(super) fn matrix_bytes(switch_lanes: &SwitchLanes) -> u64 {
    (0..switch_lanes.switch_count() as u32)
        .map(|switch| {
            let ports = switch_lanes.leaving(switch).len() as u64;
            ports.saturating_mul(ports.div_ceil(64) * 8)
        })
        .fold(0, u64::saturating_add)
}

impl<'m> Dependencies<'m> {
    pub(super) fn none(switch_lanes: &'m SwitchLanes) -> Self {
        let mut rows = vec![0; switch_lanes.lanes.len()];
        let mut end = 0;
        for switch in 0..switch_lanes.switch_count() as u32 {
            let leaving = switch_lanes.leaving(switch);
            let words = leaving.len().div_ceil(64);
            for slot in leaving {
                rows[switch_lanes.reverse[slot as usize] as usize] = end;
                end += words;
            }
        }
        Self { switch_lanes, bits: vec![0; end], rows }
    }

    /// Adds edges from `lane` to all lanes in `next`. Returns whether any edge is new.
    #[inline]
    pub(super) fn add(&mut self, lane: Slot, next: &[Slot]) -> bool {
        let row = self.rows[lane as usize];
        let start = self.switch_lanes.starts[self.switch_lanes.to[lane as usize] as usize];
        let mut new = 0;
        for slot in next {
            let place = (slot - start) as usize;
            let word = &mut self.bits[row + place / 64];
            let bit = 1 << (place % 64);
            new |= bit & !*word;
            *word |= bit;
        }
        new != 0
    }

    /// Adds edges from `lane` to the lanes in a mask.
    #[inline]
    pub(super) fn add_mask(&mut self, lane: Slot, mask: &[u64]) {
        let row = self.rows[lane as usize];
        for (word, mask) in self.bits[row..row + mask.len()].iter_mut().zip(mask) {
            *word |= mask;
        }
    }

    /// Returns the number of edges.
    pub(super) fn edge_count(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn row(&self, lane: Slot) -> &[u64] {
        let row = self.rows[lane as usize];
        let words = self.switch_lanes.leaving(self.switch_lanes.to[lane as usize]).len().div_ceil(64);
        &self.bits[row..row + words]
    }
}

impl Successors for Dependencies<'_> {
    fn node_count(&self) -> u32 {
        self.rows.len() as u32
    }

    fn next(&self, lane: Slot, from: u32) -> Option<(Slot, u32)> {
        let row = self.row(lane);
        let start = self.switch_lanes.starts[self.switch_lanes.to[lane as usize] as usize];
        let mut at = from as usize / 64;
        let mut word = row.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *row.get(at)?;
        }
        let place = at as u32 * 64 + word.trailing_zeros();
        Some((start + place, place + 1))
    }
}
