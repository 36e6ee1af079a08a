//! Routes of packets to one class of destinations, and their buffer dependencies.

use super::check::Destination;
use super::dependencies::Dependencies;
use super::switch_lanes::{Slot, SwitchLanes};

/// A class of destinations with its overrides.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) destination: Destination,
    /// By switch: lanes that replace the shortest paths; empty if packets are delivered there.
    pub(super) overrides: Vec<(u32, Vec<Slot>)>,
}

/// Shortest paths through a network with failed links.
pub(super) struct ShortestPaths<'m> {
    switch_lanes: &'m SwitchLanes,
    /// Number of hosts of each switch.
    hosts: &'m [u32],
    /// Destination switch by slot. A failed lane leads back to its start: it is never closer.
    to: Vec<u32>,
    /// Hops to the edge switch at which the search started.
    hops: Vec<u32>,
    /// Switches in the order of visits.
    order: Vec<u32>,
    /// Whether packets of the class pass through a switch.
    carries: Vec<bool>,
    incoming: Vec<Slot>,
    leaving: Vec<Slot>,
    mask: Vec<u64>,
}

impl<'m> ShortestPaths<'m> {
    /// Creates the search without the `dead` lanes.
    pub(super) fn new(switch_lanes: &'m SwitchLanes, hosts: &'m [u32], dead: &[bool]) -> Self {
        let switches = switch_lanes.switch_count();
        let mut to = switch_lanes.to.clone();
        for (slot, _) in dead.iter().enumerate().filter(|(_, dead)| **dead) {
            to[slot] = switch_lanes.to[switch_lanes.reverse[slot] as usize];
        }
        Self {
            switch_lanes,
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

    /// Computes the hops from every switch to the switch of the class.
    pub(super) fn search(&mut self, tor: u32) {
        self.hops.fill(u32::MAX);
        self.hops[tor as usize] = 0;
        self.order.clear();
        self.order.push(tor);
        let mut done = 0;
        while let Some(&switch) = self.order.get(done) {
            done += 1;
            let hops = self.hops[switch as usize] + 1;
            for &to in &self.to[range(self.switch_lanes.leaving(switch))] {
                if self.hops[to as usize] == u32::MAX {
                    self.hops[to as usize] = hops;
                    self.order.push(to);
                }
            }
        }
    }

    /// Adds the dependencies of packets on shortest paths to hosts of `tor`. Each lane is visited twice: in
    /// the search, and then from the farthest switch to the nearest, so that all lanes into a switch are
    /// known before its outgoing lanes.
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
            self.classify_lanes(switch);
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

    /// Classifies the lanes of a switch into incoming and outgoing lanes of the class.
    fn classify_lanes(&mut self, switch: u32) {
        let leaving = self.switch_lanes.leaving(switch);
        let (start, hops) = (leaving.start, self.hops[switch as usize]);
        self.incoming.clear();
        self.leaving.clear();
        self.mask.clear();
        self.mask.resize(leaving.len().div_ceil(64), 0);
        for slot in leaving {
            let to = self.to[slot as usize] as usize;
            // A lane to an unreached switch is neither.
            if self.hops[to] < hops {
                self.leaving.push(slot);
                self.mask[(slot - start) as usize / 64] |= 1 << ((slot - start) % 64);
                self.carries[to] = true;
            } else if self.hops[to] > hops && self.carries[to] && self.hops[to] != u32::MAX {
                self.incoming.push(self.switch_lanes.reverse[slot as usize]);
            }
        }
    }

    /// Iterates over the lanes of a switch that lead one hop closer, after a search.
    pub(super) fn lanes_closer(&self, switch: u32) -> impl Iterator<Item = Slot> {
        let hops = self.hops[switch as usize];
        let is_reached = hops != u32::MAX;
        self.switch_lanes
            .leaving(switch)
            .filter(move |slot| is_reached && self.hops[self.to[*slot as usize] as usize] < hops)
    }

    /// Returns whether all shortest lanes of any of these switches are dead.
    pub(super) fn any_switch_loses(&mut self, class: &Class, switches: &[u32], dead: &[bool]) -> bool {
        self.search(class.destination.tor.0);
        let is_lost = |switch: &u32| {
            let mut lanes = self.lanes_closer(*switch).peekable();
            lanes.peek().is_some() && lanes.all(|slot| dead[slot as usize])
        };
        switches.iter().any(is_lost)
    }

    /// Returns the next hops of a class at each switch: shortest paths or overrides.
    pub(super) fn next_hops(&mut self, class: &Class) -> Vec<Vec<Slot>> {
        self.search(class.destination.tor.0);
        let mut next: Vec<Vec<Slot>> = (0..self.switch_lanes.switch_count() as u32)
            .map(|switch| self.lanes_closer(switch).collect())
            .collect();
        for (switch, lanes) in &class.overrides {
            // Nothing is sent into a failed link.
            let alive = lanes.iter().filter(|slot| self.to[**slot as usize] != *switch);
            next[*switch as usize] = alive.copied().collect();
        }
        next
    }

    /// Adds the dependencies of packets that follow the next hops in `next`. Returns whether any is new.
    pub(super) fn add(
        &mut self,
        class: &Class,
        next: &[Vec<Slot>],
        dependencies: &mut Dependencies<'_>,
    ) -> bool {
        let tor = class.destination.tor.0;
        // A switch whose only host is the destination sends nothing to it.
        let sends = |switch: u32| self.hosts[switch as usize] > u32::from(switch == tor);
        let mut open: Vec<u32> = (0..self.hosts.len() as u32).filter(|switch| sends(*switch)).collect();
        self.carries.fill(false);
        for switch in &open {
            self.carries[*switch as usize] = true;
        }
        let mut is_new = false;
        while let Some(switch) = open.pop() {
            for &lane in &next[switch as usize] {
                let to = self.switch_lanes.to[lane as usize] as usize;
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
