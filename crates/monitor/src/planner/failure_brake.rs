//! Halts the planner when many nodes report failures within minutes, and distrusts a single node that
//! reports many: faulty counters are then likely.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wiremend_units::{Span, SwitchId, Time};

use crate::redis::HaltRecord;

/// Counts the nodes that report failures, and the failures that each reports.
///
/// A node counts once for the halt, however many of its links it reports. So one node with faulty counters
/// or lies does not stop the planner of a fabric.
#[derive(Clone, Debug)]
pub struct FailureBrake {
    nodes_max: usize,
    /// Accepted failures within the window, by time.
    failures: VecDeque<(Time, SwitchId)>,
    by_node: BTreeMap<SwitchId, usize>,
    distrusted: BTreeSet<SwitchId>,
    on: bool,
}

/// What a failure changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BrakeChange {
    /// Nothing.
    None,
    /// Its node is distrusted from now on.
    Distrusted,
    /// The planner is halted from now on.
    Halted,
}

impl FailureBrake {
    /// Time window of the counts.
    pub const WINDOW: Span = Span::from_ms(300_000);
    /// Number of nodes that may report failures within the window, as a share of all links.
    pub const SHARE_MAX: f64 = 0.01;
    /// Number of nodes that may report failures in a fabric of any size.
    pub const NODES_MIN: usize = 3;
    /// Share of its links that one node may report within the window.
    pub const NODE_SHARE_MAX: f64 = 0.25;
    /// Number of links that any node may report: a cable of two links, and one more.
    pub const NODE_LINKS_MIN: usize = 3;

    /// Creates the brake for a fabric with this number of links.
    pub fn new(links: u32) -> Self {
        let share = (f64::from(links) * Self::SHARE_MAX).floor() as usize;
        Self {
            nodes_max: share.max(Self::NODES_MIN),
            failures: VecDeque::new(),
            by_node: BTreeMap::new(),
            distrusted: BTreeSet::new(),
            on: false,
        }
    }

    /// Returns how many nodes may report failures within [`Self::WINDOW`].
    pub fn nodes_max(&self) -> usize {
        self.nodes_max
    }

    /// Returns how many failures a node with this number of links may report within [`Self::WINDOW`].
    pub fn node_links_max(links: u32) -> usize {
        ((f64::from(links) * Self::NODE_SHARE_MAX).floor() as usize).max(Self::NODE_LINKS_MIN)
    }

    /// Returns the number of nodes with failures within the window.
    pub fn failing_nodes(&mut self, now: Time) -> usize {
        while let Some(&(at, node)) = self.failures.front()
            && at.saturating_add(Self::WINDOW) < now
        {
            self.failures.pop_front();
            if let Some(count) = self.by_node.get_mut(&node) {
                *count -= 1;
                if *count == 0 {
                    self.by_node.remove(&node);
                }
            }
        }
        self.by_node.len()
    }

    /// Counts a failure that a node with this number of links reports.
    pub fn on_failure(&mut self, now: Time, node: SwitchId, links: u32) -> BrakeChange {
        self.failing_nodes(now);
        let count = self.by_node.entry(node).or_default();
        if *count >= Self::node_links_max(links) {
            let is_new = self.distrusted.insert(node);
            if self.distrusted.len() > HaltRecord::NODES_MAX {
                self.distrusted.remove(&node);
                return self.halt();
            }
            return if is_new { BrakeChange::Distrusted } else { BrakeChange::None };
        }
        *count += 1;
        self.failures.push_back((now, node));
        if self.by_node.len() > self.nodes_max { self.halt() } else { BrakeChange::None }
    }

    fn halt(&mut self) -> BrakeChange {
        if std::mem::replace(&mut self.on, true) { BrakeChange::None } else { BrakeChange::Halted }
    }

    /// Returns whether the brake is set. It stays set until an operator releases it.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Iterates over the nodes whose new failures do not count until an operator releases them.
    pub fn distrusted(&self) -> impl ExactSizeIterator<Item = SwitchId> + '_ {
        self.distrusted.iter().copied()
    }

    /// Returns whether a node is distrusted.
    pub fn is_distrusted(&self, node: SwitchId) -> bool {
        self.distrusted.contains(&node)
    }

    /// Sets the state that an earlier planner stored, or that an operator released. A release clears the
    /// counts.
    pub fn set(&mut self, on: bool, distrusted: impl IntoIterator<Item = SwitchId>) {
        self.on = on;
        self.distrusted = distrusted.into_iter().collect();
        if !on && self.distrusted.is_empty() {
            self.failures.clear();
            self.by_node.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Time {
        Time::ZERO.saturating_add(Span::from_ms(second * 1_000))
    }

    #[test]
    fn many_nodes_with_failures_set_the_brake() {
        let mut brake = FailureBrake::new(1_000);
        for number in 0..10 {
            assert_eq!(brake.on_failure(second(1), SwitchId(number), 4), BrakeChange::None);
        }
        assert_eq!(brake.on_failure(second(2), SwitchId(10), 4), BrakeChange::Halted, "the eleventh node");
        assert_eq!(brake.on_failure(second(3), SwitchId(11), 4), BrakeChange::None, "reported once");
        assert!(brake.is_on());
        assert_eq!(brake.failing_nodes(second(1_000)), 0);
        assert!(brake.is_on(), "the brake stays set");
        brake.set(false, []);
        assert_eq!(brake.on_failure(second(1_001), SwitchId(0), 4), BrakeChange::None);
    }

    #[test]
    fn occasional_failures_do_not_set_the_brake() {
        let mut brake = FailureBrake::new(100_224);
        let failure = |number: u64| brake.on_failure(second(number), SwitchId(number as u32 % 5_000), 48);
        assert!((0..10_000).map(failure).all(|change| change == BrakeChange::None));
    }

    /// Four lies of one node, or four hundred, stop only that node.
    #[test]
    fn one_node_does_not_stop_the_fabric() {
        let mut brake = FailureBrake::new(16);
        let changes: Vec<BrakeChange> =
            (0..400).map(|at| brake.on_failure(second(at / 10), SwitchId(1), 4)).collect();
        assert_eq!(
            changes.iter().filter(|change| **change == BrakeChange::Distrusted).count(),
            1,
            "told once"
        );
        assert_eq!(changes[3], BrakeChange::Distrusted, "the fourth of four links");
        assert!(!brake.is_on() && brake.is_distrusted(SwitchId(1)));
        assert_eq!(brake.on_failure(second(50), SwitchId(2), 4), BrakeChange::None, "others are believed");
        brake.set(false, []);
        assert!(!brake.is_distrusted(SwitchId(1)));
    }

    /// A switch with many ports may lose a card.
    #[test]
    fn a_large_switch_may_report_a_quarter_of_its_links() {
        let mut brake = FailureBrake::new(100_000);
        assert!((0..16).all(|_| brake.on_failure(second(1), SwitchId(1), 64) == BrakeChange::None));
        assert_eq!(brake.on_failure(second(1), SwitchId(1), 64), BrakeChange::Distrusted);
    }
}
