//! `RetransQ`: what a NIC has to send again, kept in its host's memory (DCP, "Efficient HO-based Retransmission").
//!
//! A header that comes back becomes an entry; the NIC writes it to host memory and does not wait. To send, it reads entries, and
//! then the work requests that they belong to: two round trips over `PCIe`, for one entry or for a batch. While one batch
//! is being sent the next is read. The payload is read as for every packet, which is part of the sending.

use std::collections::VecDeque;

use wiremend_units::Time;

use super::config::Fetch;

/// A packet to send again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) seq: u64,
    /// Its unit.
    pub(super) unit: u64,
}

/// An entry in host memory: unit, number and round, padded to the least that `PCIe` moves well.
pub(super) const ENTRY_BYTES: usize = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct RetransQueue {
    waiting: VecDeque<Entry>,
    fetching: VecDeque<Entry>,
    /// When they are here.
    fetched_at: Time,
    ready: VecDeque<Entry>,
    pub(super) fetches: u64,
    pub(super) batch_max: u32,
}

impl RetransQueue {
    /// A packet has to be sent again.
    pub(super) fn push(&mut self, fetch: &Fetch, now: Time, entry: Entry) {
        self.waiting.push_back(entry);
        self.advance(fetch, now);
    }

    /// Whether a packet will be sent again anyway.
    pub(super) fn contains(&self, entry: Entry) -> bool {
        [&self.waiting, &self.fetching, &self.ready].iter().any(|queue| queue.contains(&entry))
    }

    /// Whether any packet of a unit will be sent again.
    pub(super) fn has_unit(&self, unit: u64) -> bool {
        [&self.waiting, &self.fetching, &self.ready]
            .iter()
            .any(|queue| queue.iter().any(|entry| entry.unit == unit))
    }

    /// Takes what has been read, and reads on.
    pub(super) fn advance(&mut self, fetch: &Fetch, now: Time) {
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
            self.fetched_at = now.saturating_add(fetch.round_trip * 2);
            self.fetches += 1;
            self.batch_max = self.batch_max.max(batch as u32);
        }
    }

    /// Whether an entry is here.
    #[inline]
    pub(super) fn is_ready(&self, now: Time) -> bool {
        !self.ready.is_empty() || !self.fetching.is_empty() && self.fetched_at <= now
    }

    /// The next entry, if one is here.
    pub(super) fn pop(&mut self, fetch: &Fetch, now: Time) -> Option<Entry> {
        self.advance(fetch, now);
        let entry = self.ready.pop_front();
        self.advance(fetch, now);
        entry
    }

    /// When something that is being read is here.
    #[inline]
    pub(super) fn next_timeout(&self) -> Time {
        if self.fetching.is_empty() { Time::MAX } else { self.fetched_at }
    }

    /// Forgets entries.
    pub(super) fn retain(&mut self, fetch: &Fetch, now: Time, keep: impl Fn(&Entry) -> bool) {
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

    /// Gb/s at which a long queue of packets of 1000 bytes is sent again, over a port that takes no time.
    fn crawl(batch: u32) -> f64 {
        let fetch = Fetch { round_trip: Span::from_us(1), batch };
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

    /// The slides: two round trips for one packet are 4 Gb/s.
    #[test]
    fn one_entry_at_a_time_crawls_at_4_gbps_and_batches_do_not() {
        assert!((crawl(1) - 4.0).abs() < 0.01, "{}", crawl(1));
        assert!((crawl(16) - 64.0).abs() < 0.2, "{}", crawl(16));
        assert!(crawl(32) > 100.0);
    }

    #[test]
    fn entries_can_be_forgotten_while_they_are_read() {
        let fetch = Fetch { round_trip: Span::from_us(1), batch: 4 };
        let mut queue = RetransQueue::default();
        let entry = |seq| Entry { seq, unit: seq / 10 };
        queue.push(&fetch, Time::ZERO, entry(3));
        queue.push(&fetch, Time::ZERO, entry(12));
        assert!(queue.contains(entry(3)) && queue.contains(entry(12)));
        let later = Time::ZERO + Span::from_us(5);
        queue.retain(&fetch, later, |entry| entry.unit > 0);
        assert_eq!(queue.pop(&fetch, later), None, "the read of the other one starts only now");
        assert_eq!(queue.pop(&fetch, later + Span::from_us(2)), Some(entry(12)));
        assert!(queue.is_empty());
    }
}
