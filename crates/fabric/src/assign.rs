//! Assignment of the components of a network to threads.

use crate::graph::Graph;
use crate::partition::{Partition, weights};

impl Partition {
    /// Returns the part of each node, from 0 to `parts` − 1. Parts have about the same number of lanes, and
    /// neighbours stay together. A part can be empty if there are few components.
    ///
    /// Without the switches farthest from all hosts (cores, spines) a network splits into blocks (pods,
    /// leaves). Blocks stay whole if possible; the removed switches then fill the parts evenly. If one part
    /// becomes too heavy, the next tier is removed too, down to single components.
    pub fn assign(&self, graph: &Graph, parts: usize) -> Vec<u32> {
        assert!(parts > 0, "at least one part");
        let parts = parts.min(self.components as usize);
        let components = ComponentGraph::new(self, graph);
        let share = components.weights.iter().sum::<u64>().div_ceil(parts as u64);
        let farthest = components.tiers.iter().copied().filter(|tier| *tier != u32::MAX).max().unwrap_or(0);
        let mut best: Option<(u64, Vec<u32>)> = None;
        for blocks_below in (0..=farthest).rev() {
            let parts_of = components.share_out(blocks_below, parts);
            let heaviest = components.loads(&parts_of, parts).into_iter().max().unwrap_or(0);
            if best.as_ref().is_none_or(|(least, _)| heaviest < *least) {
                best = Some((heaviest, parts_of));
            }
            // An imbalance of an eighth costs less than splitting a pod.
            if heaviest * 8 <= share * 9 {
                break;
            }
        }
        let (_, parts_of) = best.expect("at least one tier was tried");
        self.component_of_node.iter().map(|component| parts_of[*component as usize]).collect()
    }
}

/// The graph of components.
struct ComponentGraph {
    weights: Vec<u64>,
    /// Neighbours of all components, by component; one entry per link.
    neighbours: Vec<u32>,
    starts: Vec<usize>,
    /// Hops from the nearest component with hosts.
    tiers: Vec<u32>,
    /// Components in breadth-first order, so that neighbours are close.
    order: Vec<u32>,
}

const UNASSIGNED: u32 = u32::MAX;

impl ComponentGraph {
    fn new(partition: &Partition, graph: &Graph) -> Self {
        let count = partition.components as usize;
        let mut pairs = Vec::new();
        for link in graph.links() {
            let (a, b) =
                (partition.component_of_node[link.a.index()], partition.component_of_node[link.b.index()]);
            if a != b {
                pairs.extend([(a, b), (b, a)]);
            }
        }
        pairs.sort_unstable();
        let starts = (0..=count)
            .map(|component| pairs.partition_point(|pair| (pair.0 as usize) < component))
            .collect();
        let mut components = Self {
            weights: weights(graph, &partition.component_of_node, partition.components),
            neighbours: pairs.into_iter().map(|pair| pair.1).collect(),
            starts,
            tiers: vec![u32::MAX; count],
            order: Vec::new(),
        };
        let mut with_hosts: Vec<u32> =
            graph.hosts().map(|host| partition.component_of_node[graph.host_node(host).index()]).collect();
        with_hosts.sort_unstable();
        with_hosts.dedup();
        components.tiers = components.hops_from(&with_hosts).0;
        components.order = components.hops_from(&[0]).1;
        // Unreachable components come last and carry nothing.
        let mut seen = vec![false; count];
        for component in &components.order {
            seen[*component as usize] = true;
        }
        components.order.extend((0..count as u32).filter(|component| !seen[*component as usize]));
        components
    }

    fn neighbours(&self, component: u32) -> &[u32] {
        &self.neighbours[self.starts[component as usize]..self.starts[component as usize + 1]]
    }

    /// Breadth-first search: returns the distance of each component and the order of visits.
    fn hops_from(&self, first: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let mut hops = vec![u32::MAX; self.weights.len()];
        let mut order = first.to_vec();
        for component in first {
            hops[*component as usize] = 0;
        }
        let mut done = 0;
        while let Some(&component) = order.get(done) {
            done += 1;
            for &next in self.neighbours(component) {
                if hops[next as usize] == u32::MAX {
                    hops[next as usize] = hops[component as usize] + 1;
                    order.push(next);
                }
            }
        }
        (hops, order)
    }

    /// Assigns blocks of connected components of the tiers below `blocks_below`, in `order`, in consecutive
    /// runs to the parts, then all other components one by one. With 0 each component is a block.
    fn share_out(&self, blocks_below: u32, parts: usize) -> Vec<u32> {
        let blocks = self.blocks(blocks_below);
        let block_weight = |block: &[u32]| block.iter().map(|one| self.weights[*one as usize]).sum::<u64>();
        let total: u64 = blocks.iter().map(|block| block_weight(block)).sum();
        let mut part_of = vec![UNASSIGNED; self.weights.len()];
        let mut before = 0;
        for block in &blocks {
            let weight = block_weight(block);
            // The part that contains the middle of the block.
            let part =
                ((2 * before + weight) * parts as u64 / (2 * total).max(1)).min(parts as u64 - 1) as u32;
            for component in block {
                part_of[*component as usize] = part;
            }
            before += weight;
        }
        self.fill_up(&mut part_of, parts);
        part_of
    }

    fn blocks(&self, blocks_below: u32) -> Vec<Vec<u32>> {
        if blocks_below == 0 {
            return self.order.iter().map(|component| vec![*component]).collect();
        }
        let inside = |component: u32| self.tiers[component as usize] < blocks_below;
        let mut taken = vec![false; self.weights.len()];
        let mut blocks = Vec::new();
        for &first in self.order.iter().filter(|component| inside(**component)) {
            if std::mem::replace(&mut taken[first as usize], true) {
                continue;
            }
            let mut block = vec![first];
            let mut done = 0;
            while let Some(&component) = block.get(done) {
                done += 1;
                for &next in self.neighbours(component) {
                    if inside(next) && !std::mem::replace(&mut taken[next as usize], true) {
                        block.push(next);
                    }
                }
            }
            blocks.push(block);
        }
        blocks
    }

    /// Assigns the remaining components, heaviest first, to the part with the least load; with equal loads,
    /// to the part with most of its neighbours.
    fn fill_up(&self, part_of: &mut [u32], parts: usize) {
        let mut loads = self.loads(part_of, parts);
        let mut rest: Vec<u32> =
            self.order.iter().copied().filter(|one| part_of[*one as usize] == UNASSIGNED).collect();
        rest.sort_by_key(|component| std::cmp::Reverse(self.weights[*component as usize]));
        for component in rest {
            let mut links = vec![0_u64; parts];
            for next in self.neighbours(component) {
                if let Some(count) = links.get_mut(part_of[*next as usize] as usize) {
                    *count += 1;
                }
            }
            let part =
                (0..parts).min_by_key(|part| (loads[*part], std::cmp::Reverse(links[*part]))).unwrap_or(0);
            part_of[component as usize] = part as u32;
            loads[part] += self.weights[component as usize];
        }
    }

    fn loads(&self, part_of: &[u32], parts: usize) -> Vec<u64> {
        let mut loads = vec![0; parts];
        for (part, weight) in part_of.iter().zip(&self.weights) {
            if let Some(load) = loads.get_mut(*part as usize) {
                *load += weight;
            }
        }
        loads
    }
}
