//! The ways of packets to one class of destinations, and what they make wait for what.

use super::check::Destination;
use super::dependency::Dependencies;
use super::mesh::{Mesh, Slot};

/// Destinations that every switch treats alike.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) destination: Destination,
    /// Where packets leave a switch instead of on a shortest way; nowhere if they are delivered there.
    pub(super) overrides: Vec<(u32, Vec<Slot>)>,
}

/// Shortest ways through a network some of whose links may have failed.
pub(super) struct Ways<'m> {
    mesh: &'m Mesh,
    /// Hosts on each switch.
    hosts: &'m [u32],
    /// Where lanes lead, by slot. A lane of a failed link leads back to where it starts: never nearer to anything.
    to: Vec<u32>,
    /// Hops to the edge switch that the search started from.
    hops: Vec<u32>,
    /// Switches in the order in which they were reached.
    order: Vec<u32>,
    /// Whether packets to the class come through a switch.
    carries: Vec<bool>,
    incoming: Vec<Slot>,
    leaving: Vec<Slot>,
    mask: Vec<u64>,
}

impl<'m> Ways<'m> {
    /// `dead` lanes are not used.
    pub(super) fn new(mesh: &'m Mesh, hosts: &'m [u32], dead: &[bool]) -> Self {
        let switches = mesh.switch_count();
        let mut to = mesh.to.clone();
        for (slot, _) in dead.iter().enumerate().filter(|(_, dead)| **dead) {
            to[slot] = mesh.to[mesh.reverse[slot] as usize];
        }
        Self {
            mesh,
            hosts,
            to,
            hops: vec![u32::MAX; switches],
            order: Vec::with_capacity(switches),
            carries: vec![false; switches],
            incoming: Vec::new(),
            leaving: Vec::new(),
            mask: Vec::new(),
        }
    }

    /// Hops from every switch to the one that the class hangs on.
    pub(super) fn search(&mut self, tor: u32) {
        self.hops.fill(u32::MAX);
        self.hops[tor as usize] = 0;
        self.order.clear();
        self.order.push(tor);
        let mut done = 0;
        while let Some(&switch) = self.order.get(done) {
            done += 1;
            let hops = self.hops[switch as usize] + 1;
            for &to in &self.to[range(self.mesh.leaving(switch))] {
                if self.hops[to as usize] == u32::MAX {
                    self.hops[to as usize] = hops;
                    self.order.push(to);
                }
            }
        }
    }

    /// Adds what packets on shortest ways to hosts of `tor` make wait for what. Two looks at every lane: one to search, one
    /// from the farthest switch to the nearest, where all lanes into a switch are known before those out of it matter.
    pub(super) fn add_shortest(&mut self, tor: u32, dependencies: &mut Dependencies<'_>) {
        self.search(tor);
        for (carries, hosts) in self.carries.iter_mut().zip(self.hosts) {
            *carries = *hosts > 0;
        }
        for place in (1..self.order.len()).rev() {
            let switch = self.order[place];
            if !self.carries[switch as usize] {
                continue;
            }
            self.look_around(switch);
            if self.leaving.len() < self.mask.len() {
                for &lane in &self.incoming {
                    dependencies.add(lane, &self.leaving);
                }
            } else {
                for &lane in &self.incoming {
                    dependencies.add_mask(lane, &self.mask);
                }
            }
        }
    }

    /// Sorts the lanes of a switch into those by which packets come and those by which they go.
    fn look_around(&mut self, switch: u32) {
        let leaving = self.mesh.leaving(switch);
        let (start, hops) = (leaving.start, self.hops[switch as usize]);
        self.incoming.clear();
        self.leaving.clear();
        self.mask.clear();
        self.mask.resize(leaving.len().div_ceil(64), 0);
        for slot in leaving {
            let to = self.to[slot as usize] as usize;
            // Of a lane to an unreached switch neither is true; the switch itself was reached.
            if self.hops[to] < hops {
                self.leaving.push(slot);
                self.mask[(slot - start) as usize / 64] |= 1 << ((slot - start) % 64);
                self.carries[to] = true;
            } else if self.hops[to] > hops && self.carries[to] && self.hops[to] != u32::MAX {
                self.incoming.push(self.mesh.reverse[slot as usize]);
            }
        }
    }

    /// The lanes of a switch that lead one hop nearer, after a search.
    pub(super) fn nearer(&self, switch: u32) -> impl Iterator<Item = Slot> {
        let hops = self.hops[switch as usize];
        let is_reached = hops != u32::MAX;
        self.mesh
            .leaving(switch)
            .filter(move |slot| is_reached && self.hops[self.to[*slot as usize] as usize] < hops)
    }

    /// Whether one of these switches has only dead lanes left of its shortest ways.
    pub(super) fn lose(&mut self, class: &Class, switches: &[u32], dead: &[bool]) -> bool {
        self.search(class.destination.tor.0);
        let is_lost = |switch: &u32| {
            let mut lanes = self.nearer(*switch).peekable();
            lanes.peek().is_some() && lanes.all(|slot| dead[slot as usize])
        };
        switches.iter().any(is_lost)
    }

    /// Where packets to a class leave each switch: by shortest ways, or where overrides send them.
    pub(super) fn next_hops(&mut self, class: &Class) -> Vec<Vec<Slot>> {
        self.search(class.destination.tor.0);
        let mut next: Vec<Vec<Slot>> =
            (0..self.mesh.switch_count() as u32).map(|switch| self.nearer(switch).collect()).collect();
        for (switch, lanes) in &class.overrides {
            // Into a failed link nothing is sent.
            let alive = lanes.iter().filter(|slot| self.to[**slot as usize] != *switch);
            next[*switch as usize] = alive.copied().collect();
        }
        next
    }

    /// Adds what packets make wait for what that leave each switch as `next` says, on whatever way. Returns whether any
    /// of it was new.
    pub(super) fn add(
        &mut self,
        class: &Class,
        next: &[Vec<Slot>],
        dependencies: &mut Dependencies<'_>,
    ) -> bool {
        let tor = class.destination.tor.0;
        // A switch whose only host is the destination has nothing to send to it.
        let sends = |switch: u32| self.hosts[switch as usize] > u32::from(switch == tor);
        let mut open: Vec<u32> = (0..self.hosts.len() as u32).filter(|switch| sends(*switch)).collect();
        self.carries.fill(false);
        for switch in &open {
            self.carries[*switch as usize] = true;
        }
        let mut is_new = false;
        while let Some(switch) = open.pop() {
            for &lane in &next[switch as usize] {
                let to = self.mesh.to[lane as usize] as usize;
                is_new |= dependencies.add(lane, &next[to]);
                if !std::mem::replace(&mut self.carries[to], true) {
                    open.push(to as u32);
                }
            }
        }
        is_new
    }
}

fn range(slots: std::ops::Range<Slot>) -> std::ops::Range<usize> {
    slots.start as usize..slots.end as usize
}
