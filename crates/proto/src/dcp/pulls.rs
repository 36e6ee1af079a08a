//! Pulls of a NIC: one for every packet that came, at the rate at which the port can receive what they bring.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

/// What a NIC owes to its senders, in turns (NDP §3.2: one queue of pulls for all connections).
#[derive(Clone, Debug, Default)]
pub struct Pulls<T> {
    owed: VecDeque<T>,
    next_at: Time,
}

impl<T> Pulls<T> {
    /// Nothing is owed.
    pub fn new() -> Self {
        Self { owed: VecDeque::new(), next_at: Time::ZERO }
    }

    /// A connection is owed one more.
    pub fn push(&mut self, connection: T) {
        self.owed.push_back(connection);
    }

    /// The connection that is pulled for now, if the time has come; a full packet takes `spacing` on the port. Connections that are
    /// not `wanted` any more are forgotten.
    pub fn pop(&mut self, now: Time, spacing: Span, wanted: impl Fn(&T) -> bool) -> Option<T> {
        if now < self.next_at {
            return None;
        }
        let mut connection = self.owed.pop_front()?;
        while !wanted(&connection) {
            connection = self.owed.pop_front()?;
        }
        self.next_at = now.saturating_add(spacing);
        Some(connection)
    }

    /// When the next one is due; [`Time::MAX`]: none is owed.
    pub fn due(&self) -> Time {
        if self.owed.is_empty() { Time::MAX } else { self.next_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulls_leave_at_the_rate_of_the_port() {
        let mut pulls = Pulls::new();
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
        assert_eq!(pulls.pop(at, spacing, all), Some(2), "a pause is not caught up with a burst");
        assert_eq!(pulls.due(), Time::MAX);
        (3..6).for_each(|connection| pulls.push(connection));
        assert_eq!(
            pulls.pop(at + spacing, spacing, |connection| *connection > 4),
            Some(5),
            "others are gone"
        );
        assert_eq!(pulls.due(), Time::MAX);
    }
}
