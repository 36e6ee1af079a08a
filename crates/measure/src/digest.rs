//! A hash of the results of a run that does not depend on their order.

use std::fmt;

use wiremend_units::mix;

use crate::FlowRow;

/// The sum of a 128-bit hash of every row and every counter, modulo 2¹²⁸.
///
/// Addition commutes, so threads add rows in any order and [merge](Self::merge) in any order. Unlike with
/// exclusive or, two equal items do not cancel. An item is a list of 64-bit words w₁…wₙ after a word for the
/// kind of item. Its hash passes two halves through the finaliser of `SplitMix64`, each with the other as
/// input:
///
/// ```text
/// a ← mix(a ⊕ w)        a₀ = kind
/// b ← mix(b + w ⊕ a⋘32) b₀ = mix(kind)
/// ```
///
/// The hash is a·2⁶⁴ + b after the last word. It detects bugs, not forgery.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RowDigest(u128);

const ROW: u64 = 1;
const COUNTER: u64 = 2;

/// Counters that were renamed, and their first names. Digests keep these, so that a renaming changes none.
const FIRST_NAMES: [(&str, &str); 3] =
    [("retransmission", "twice"), ("link.unbuffered", "link.unkept"), ("tcp.dsacks", "tcp.twice")];

impl RowDigest {
    /// The digest of no items.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Adds the fields of a flow's row, but for those that the scenario and the seed determine: class, connection and
    /// entropy.
    pub fn add_row(&mut self, row: &FlowRow) {
        let mut item = Item::new(ROW);
        item.word(row.flow);
        item.word(u64::from(row.src) << 32 | u64::from(row.dst));
        item.word(row.bytes);
        item.word(row.start_ps);
        item.word(row.end_ps);
        item.word(u64::from(row.delivered_ps.is_some()));
        item.word(row.delivered_ps.unwrap_or(0));
        item.word(row.ideal_ps);
        item.word(row.outcome as u64);
        item.word(u64::from(row.timeouts) << 32 | u64::from(row.naks));
        item.word(u64::from(row.retransmitted_packets));
        item.word(row.retransmitted_bytes);
        if let Some(tcp) = row.tcp {
            let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
            item.word(pair(tcp.link_recovered, tcp.sacked_bytes_max));
            item.word(pair(tcp.after_gap_bytes, tcp.unsent_bytes));
            item.word(pair(tcp.recoveries, tcp.spurious_recoveries));
            item.word(pair(tcp.tail_probes, tcp.dsacks));
        }
        self.0 = self.0.wrapping_add(item.hash());
    }

    /// Adds one counter of one entity: `("lane.tx_bytes", 17, 123_456)`. Each counter is added once, zeros
    /// too.
    pub fn add_counter(&mut self, name: &str, entity: u64, value: u64) {
        self.add_named(Item::of_counter(name), entity, value);
    }

    fn add_named(&mut self, mut item: Item, entity: u64, value: u64) {
        item.word(entity);
        item.word(value);
        self.0 = self.0.wrapping_add(item.hash());
    }

    /// Adds the items of another digest.
    pub fn merge(&mut self, other: &Self) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// The sum.
    pub const fn value(self) -> u128 {
        self.0
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for RowDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The names of counters that have been added. Hashing a name takes longer than the rest of its item, and the
/// counters of all entities have the same names in the same order.
#[derive(Clone, Default, Debug)]
pub(crate) struct CounterNames {
    known: Vec<(&'static str, Item)>,
    next: usize,
}

impl CounterNames {
    /// Adds one counter to a digest, as [`RowDigest::add_counter`] does.
    pub(crate) fn add(&mut self, digest: &mut RowDigest, name: &'static str, entity: u64, value: u64) {
        let is_known = |(known, _): &(&'static str, Item)| std::ptr::eq(*known, name);
        if !self.known.get(self.next).is_some_and(is_known) {
            self.next = self.known.iter().position(is_known).unwrap_or_else(|| {
                self.known.push((name, Item::of_counter(name)));
                self.known.len() - 1
            });
        }
        digest.add_named(self.known[self.next].1, entity, value);
        self.next += 1;
    }
}

/// The hash of one item while its words are added.
#[derive(Clone, Copy, Debug)]
struct Item {
    a: u64,
    b: u64,
}

impl Item {
    const fn new(kind: u64) -> Self {
        Self { a: kind, b: mix(kind) }
    }

    /// Returns a counter without its entity and value.
    fn of_counter(name: &str) -> Self {
        let first = FIRST_NAMES.iter().find(|(now, _)| *now == name);
        let name = first.map_or(name, |(_, first)| first);
        let mut item = Self::new(COUNTER);
        item.word(name.len() as u64);
        for chunk in name.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            item.word(u64::from_le_bytes(word));
        }
        item
    }

    const fn word(&mut self, word: u64) {
        self.a = mix(self.a ^ word);
        self.b = mix(self.b.wrapping_add(word) ^ self.a.rotate_left(32));
    }

    const fn hash(&self) -> u128 {
        (self.a as u128) << 64 | self.b as u128
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::TcpStats;
    use crate::flow::tests::row;

    fn digest(rows: impl IntoIterator<Item = FlowRow>) -> RowDigest {
        let mut digest = RowDigest::new();
        rows.into_iter().for_each(|row| digest.add_row(&row));
        digest
    }

    proptest! {
        #[test]
        fn order_and_partition_do_not_matter(
            mut rows in prop::collection::vec((any::<u64>(), 0..u64::MAX / 2), 0..40), cut in 0_usize..40,
        ) {
            let forward = digest(rows.iter().map(|&(flow, fct)| row(flow, fct)));
            rows.reverse();
            let cut = cut.min(rows.len());
            let mut parts = digest(rows[cut..].iter().map(|&(flow, fct)| row(flow, fct)));
            parts.merge(&digest(rows[..cut].iter().map(|&(flow, fct)| row(flow, fct))));
            prop_assert_eq!(forward, parts);
        }
    }

    #[test]
    fn every_field_of_a_row_counts() {
        let (base, plain) = (row(5, 77), TcpStats::default());
        let changed = [
            FlowRow { flow: 6, ..base },
            FlowRow { src: 4, ..base },
            FlowRow { dst: 8, ..base },
            FlowRow { bytes: 1, ..base },
            FlowRow { start_ps: 1, ..base },
            FlowRow { end_ps: 1, ..base },
            FlowRow { delivered_ps: None, ..base },
            FlowRow { delivered_ps: Some(0), ..base },
            FlowRow { ideal_ps: 1, ..base },
            FlowRow { outcome: crate::FlowOutcome::Stalled, ..base },
            FlowRow { timeouts: 1, ..base },
            FlowRow { naks: 1, ..base },
            FlowRow { retransmitted_packets: 1, ..base },
            FlowRow { retransmitted_bytes: 1, ..base },
            FlowRow { tcp: Some(plain), ..base },
            FlowRow { tcp: Some(TcpStats { link_recovered: 1, ..plain }), ..base },
            FlowRow { tcp: Some(TcpStats { sacked_bytes_max: 1, ..plain }), ..base },
            FlowRow { tcp: Some(TcpStats { after_gap_bytes: 1, ..plain }), ..base },
            FlowRow { tcp: Some(TcpStats { unsent_bytes: 1, ..plain }), ..base },
            FlowRow { tcp: Some(TcpStats { recoveries: 1, ..plain }), ..base },
            FlowRow { tcp: Some(TcpStats { spurious_recoveries: 1, ..plain }), ..base },
            FlowRow { tcp: Some(TcpStats { tail_probes: 1, ..plain }), ..base },
            FlowRow { tcp: Some(TcpStats { dsacks: 1, ..plain }), ..base },
        ];
        let mut seen = std::collections::BTreeSet::from([digest([base]).value()]);
        for row in changed {
            assert!(seen.insert(digest([row]).value()), "{row:?}");
        }
    }

    #[test]
    fn equal_items_do_not_cancel_and_counters_are_named() {
        assert_ne!(digest([row(1, 1), row(1, 1)]), RowDigest::new());
        let one = |name, entity, value| {
            let mut digest = RowDigest::new();
            digest.add_counter(name, entity, value);
            digest
        };
        assert_ne!(one("tx", 0, 1), one("tx", 1, 0));
        assert_ne!(one("tx", 0, 0), one("tx\0", 0, 0));
        assert_ne!(one("a name of many words", 0, 0), one("a name of many wordz", 0, 0));
    }

    #[test]
    fn names_that_are_known_change_no_digest() {
        let (mut names, mut cached, mut plain) =
            (CounterNames::default(), RowDigest::new(), RowDigest::new());
        let order = ["tx", "rx", "lost", "tx", "rx", "tx", "lost", "rx", "twice"];
        for (entity, name) in (0..).zip(order) {
            names.add(&mut cached, name, entity, entity * 7);
            plain.add_counter(name, entity, entity * 7);
        }
        assert_eq!((cached, names.known.len()), (plain, 4));
    }

    /// Results of different versions are compared by this text, so it must not change.
    #[test]
    fn the_digest_is_stable() {
        let mut digest = digest([row(1, 2), row(2, 3)]);
        digest.add_counter("lane.tx_bytes", 4, 1_106);
        assert_eq!(digest.to_string(), "8e29ce37574c3cd7b69a3015485299c0");
        assert_eq!(RowDigest::new().to_string(), "0".repeat(32));
    }
}
