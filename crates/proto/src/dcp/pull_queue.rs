//! Pulls of a NIC: one for every packet that arrived, at the rate at which the port can receive the next
//! packets.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

/// Pulls that a NIC owes to its senders, in order (NDP §3.2: one pull queue for all connections).
#[derive(Clone, Debug, Default)]
pub struct PullQueue<T> {
    pending: VecDeque<T>,
    next_at: Time,
}

impl<T> PullQueue<T> {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self { pending: VecDeque::new(), next_at: Time::ZERO }
    }

    /// Adds a pull for a connection.
    pub fn push(&mut self, connection: T) {
        self.pending.push_back(connection);
    }

    /// Returns the connection whose pull is due; a full packet takes `spacing` on the port. Pulls of
    /// connections that are no longer `wanted` are dropped.
    pub fn pop(&mut self, now: Time, spacing: Span, wanted: impl Fn(&T) -> bool) -> Option<T> {
        if now < self.next_at {
            return None;
        }
        let mut connection = self.pending.pop_front()?;
        while !wanted(&connection) {
            connection = self.pending.pop_front()?;
        }
        self.next_at = now.saturating_add(spacing);
        Some(connection)
    }

    /// Time of the next pull; [`Time::MAX`] if there is none.
    pub fn due(&self) -> Time {
        if self.pending.is_empty() { Time::MAX } else { self.next_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulls_leave_at_the_rate_of_the_port() {
        let mut pulls = PullQueue::new();
        let spacing = Span::from_ns(80);
        assert_eq!(pulls.due(), Time::MAX);
        let at = Time::ZERO + Span::from_us(3);
        (0..3).for_each(|connection| pulls.push(connection));
        let all = |_: &i32| true;
        assert_eq!(pulls.pop(at, spacing, all), Some(0));
        assert_eq!(pulls.pop(at, spacing, all), None);
        assert_eq!(pulls.due(), at + spacing);
        assert_eq!(pulls.pop(at + spacing, spacing, all), Some(1));
        let at = at + spacing * 5;
        assert_eq!(pulls.pop(at, spacing, all), Some(2), "no burst follows an idle time");
        assert_eq!(pulls.due(), Time::MAX);
        (3..6).for_each(|connection| pulls.push(connection));
        assert_eq!(
            pulls.pop(at + spacing, spacing, |connection| *connection > 4),
            Some(5),
            "pulls of other connections are dropped"
        );
        assert_eq!(pulls.due(), Time::MAX);
    }
}
