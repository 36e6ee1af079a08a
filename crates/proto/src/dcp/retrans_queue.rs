//! `RetransQ`: the retransmissions of a NIC, stored in host memory (DCP, "Efficient HO-based
//! Retransmission").
//!
//! A returned header becomes an entry, which the NIC writes to host memory without waiting. To send, the NIC
//! reads entries and then their work requests: two round trips over `PCIe` for each batch. It reads the next
//! batch while it sends one. The payload read is part of every transmission.

use std::collections::VecDeque;

use wiremend_units::Time;

use super::config::RetransFetch;

/// A packet to retransmit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) seq: u64,
    /// Number of its unit.
    pub(super) unit: u64,
}

/// Bytes of an entry in host memory: unit, number and round, padded to a size that `PCIe` moves efficiently.
pub(super) const ENTRY_BYTES: usize = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct RetransQueue {
    waiting: VecDeque<Entry>,
    fetching: VecDeque<Entry>,
    /// Time at which the entries in `fetching` are available.
    fetched_at: Time,
    ready: VecDeque<Entry>,
    pub(super) fetches: u64,
    pub(super) batch_max: u32,
}

impl RetransQueue {
    /// Adds a packet to retransmit.
    pub(super) fn push(&mut self, fetch: &RetransFetch, now: Time, entry: Entry) {
        self.waiting.push_back(entry);
        self.advance(fetch, now);
    }

    /// Returns whether a packet is queued for retransmission.
    pub(super) fn contains(&self, entry: Entry) -> bool {
        [&self.waiting, &self.fetching, &self.ready].iter().any(|queue| queue.contains(&entry))
    }

    /// Returns whether any packet of a unit is queued.
    pub(super) fn has_unit(&self, unit: u64) -> bool {
        [&self.waiting, &self.fetching, &self.ready]
            .iter()
            .any(|queue| queue.iter().any(|entry| entry.unit == unit))
    }

    /// Takes the entries that were read, and starts the next read.
    pub(super) fn advance(&mut self, fetch: &RetransFetch, now: Time) {
        loop {
            if !self.fetching.is_empty() {
                if now < self.fetched_at {
                    return;
                }
                self.ready.append(&mut self.fetching);
            }
            if self.waiting.is_empty() || self.ready.len() >= fetch.batch as usize {
                return;
            }
            let batch = self.waiting.len().min(fetch.batch as usize);
            self.fetching.extend(self.waiting.drain(..batch));
            self.fetched_at = now.saturating_add(fetch.pcie_round_trip * 2);
            self.fetches += 1;
            self.batch_max = self.batch_max.max(batch as u32);
        }
    }

    /// Returns whether an entry is available.
    #[inline]
    pub(super) fn is_ready(&self, now: Time) -> bool {
        !self.ready.is_empty() || !self.fetching.is_empty() && self.fetched_at <= now
    }

    /// Returns the next available entry.
    pub(super) fn pop(&mut self, fetch: &RetransFetch, now: Time) -> Option<Entry> {
        self.advance(fetch, now);
        let entry = self.ready.pop_front();
        self.advance(fetch, now);
        entry
    }

    /// Time at which the present read completes.
    #[inline]
    pub(super) fn next_timeout(&self) -> Time {
        if self.fetching.is_empty() { Time::MAX } else { self.fetched_at }
    }

    /// Removes entries.
    pub(super) fn retain(&mut self, fetch: &RetransFetch, now: Time, keep: impl Fn(&Entry) -> bool) {
        for queue in [&mut self.waiting, &mut self.fetching, &mut self.ready] {
            queue.retain(&keep);
        }
        self.advance(fetch, now);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.fetching.is_empty() && self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use wiremend_units::Span;

    use super::*;

    /// Gb/s at which a long queue of packets of 1000 bytes is retransmitted over an infinitely fast port.
    fn retransmission_gbps(batch: u32) -> f64 {
        let fetch = RetransFetch { pcie_round_trip: Span::from_us(1), batch, per_header: false };
        let mut queue = RetransQueue::default();
        let entries = 10_000;
        for seq in 0..entries {
            queue.push(&fetch, Time::ZERO, Entry { seq, unit: 0 });
        }
        let (mut now, mut sent) = (Time::ZERO, 0);
        while sent < entries {
            while queue.pop(&fetch, now).is_some() {
                sent += 1;
            }
            now = if queue.is_empty() { now } else { queue.next_timeout() };
        }
        (entries * 8000) as f64 / now.since(Time::ZERO).as_ps() as f64 * 1e3
    }

    /// The paper's slides: two round trips per packet are 4 Gb/s.
    #[test]
    fn single_entries_limit_retransmission_to_4_gbps_and_batches_do_not() {
        assert!((retransmission_gbps(1) - 4.0).abs() < 0.01, "{}", retransmission_gbps(1));
        assert!((retransmission_gbps(16) - 64.0).abs() < 0.2, "{}", retransmission_gbps(16));
        assert!(retransmission_gbps(32) > 100.0);
    }

    #[test]
    fn entries_can_be_removed_while_they_are_read() {
        let fetch = RetransFetch { pcie_round_trip: Span::from_us(1), batch: 4, per_header: false };
        let mut queue = RetransQueue::default();
        let entry = |seq| Entry { seq, unit: seq / 10 };
        queue.push(&fetch, Time::ZERO, entry(3));
        queue.push(&fetch, Time::ZERO, entry(12));
        assert!(queue.contains(entry(3)) && queue.contains(entry(12)));
        let later = Time::ZERO + Span::from_us(5);
        queue.retain(&fetch, later, |entry| entry.unit > 0);
        assert_eq!(queue.pop(&fetch, later), None, "the read of the other entry starts now");
        assert_eq!(queue.pop(&fetch, later + Span::from_us(2)), Some(entry(12)));
        assert!(queue.is_empty());
    }
}
