//! Which buffer waits for which.

use super::cycle::Successors;
use super::mesh::{Mesh, Slot};

/// The buffer-dependency graph. A node is a lane between switches, that is, the ingress buffer at its end; an edge
/// leads from lane a to lane b if packets come into a switch by a and leave it by b: then a drains only if b does.
///
/// A matrix of bits for each switch, a row for each lane into it and a column for each lane out of it: a hundred
/// thousand links have tens of millions of edges, but the matrices of their switches fit into a few megabytes.
#[derive(Clone)]
pub(super) struct Dependencies<'m> {
    mesh: &'m Mesh,
    bits: Vec<u64>,
    /// Where the row of a lane starts, by slot.
    rows: Vec<usize>,
}

/// Bytes of the matrices of all switches.
pub(super) fn bytes_of(mesh: &Mesh) -> u64 {
    (0..mesh.switch_count() as u32)
        .map(|switch| {
            let ports = mesh.leaving(switch).len() as u64;
            ports.saturating_mul(ports.div_ceil(64) * 8)
        })
        .fold(0, u64::saturating_add)
}

impl<'m> Dependencies<'m> {
    pub(super) fn none(mesh: &'m Mesh) -> Self {
        let mut rows = vec![0; mesh.lanes.len()];
        let mut end = 0;
        for switch in 0..mesh.switch_count() as u32 {
            let leaving = mesh.leaving(switch);
            let words = leaving.len().div_ceil(64);
            for slot in leaving {
                rows[mesh.reverse[slot as usize] as usize] = end;
                end += words;
            }
        }
        Self { mesh, bits: vec![0; end], rows }
    }

    /// Packets come in by `lane` and leave by any of `next`, which all leave the switch at its end. Returns whether
    /// this was new.
    #[inline]
    pub(super) fn add(&mut self, lane: Slot, next: &[Slot]) -> bool {
        let row = self.rows[lane as usize];
        let start = self.mesh.starts[self.mesh.to[lane as usize] as usize];
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

    /// The same with a mask of the lanes that leave the switch.
    #[inline]
    pub(super) fn add_mask(&mut self, lane: Slot, mask: &[u64]) {
        let row = self.rows[lane as usize];
        for (word, mask) in self.bits[row..row + mask.len()].iter_mut().zip(mask) {
            *word |= mask;
        }
    }

    /// How many there are.
    pub(super) fn edge_count(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn row(&self, lane: Slot) -> &[u64] {
        let row = self.rows[lane as usize];
        let words = self.mesh.leaving(self.mesh.to[lane as usize]).len().div_ceil(64);
        &self.bits[row..row + words]
    }
}

impl Successors for Dependencies<'_> {
    fn node_count(&self) -> u32 {
        self.rows.len() as u32
    }

    fn next(&self, lane: Slot, from: u32) -> Option<(Slot, u32)> {
        let row = self.row(lane);
        let start = self.mesh.starts[self.mesh.to[lane as usize] as usize];
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
