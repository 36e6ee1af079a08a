//! Disjoint intervals of time.

use wiremend_units::{Span, Time};

/// Intervals in ascending order. Each contains its start and not its end.
#[derive(Clone, Default, Debug)]
pub(super) struct Intervals {
    sorted: Vec<(Time, Time)>,
}

impl Intervals {
    /// Adds an interval that does not start before the last one, and merges the two if they meet.
    pub(super) fn push(&mut self, from: Time, until: Time) {
        match self.sorted.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ if from < until => self.sorted.push((from, until)),
            _ => {}
        }
    }

    /// Ends the last interval at `at`, if it is still open then.
    pub(super) fn end_at(&mut self, at: Time) {
        if let Some(last) = self.sorted.last_mut() {
            last.1 = last.1.min(at.max(last.0));
        }
    }

    /// Divides `from..until` into the time that the intervals cover and the rest.
    pub(super) fn divide(&self, from: Time, until: Time) -> (Span, Vec<(Time, Time)>) {
        let (mut covered, mut rest, mut at) = (Span::ZERO, Vec::new(), from);
        let first = self.sorted.partition_point(|(_, end)| *end <= from);
        for (start, end) in self.sorted[first..].iter().take_while(|(start, _)| *start < until) {
            let (start, end) = ((*start).max(at), (*end).min(until));
            if at < start {
                rest.push((at, start));
            }
            covered += end.since(start);
            at = at.max(end);
        }
        if at < until {
            rest.push((at, until));
        }
        (covered, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_time_and_the_rest_add_up() {
        let at = Time::from_ns;
        let mut intervals = Intervals::default();
        for (from, until) in [(5, 10), (8, 12), (20, 30), (40, 90)] {
            intervals.push(at(from), at(until));
        }
        intervals.end_at(at(50));
        intervals.end_at(at(60));
        assert_eq!(intervals.divide(at(0), at(4)), (Span::ZERO, vec![(at(0), at(4))]));
        let (covered, rest) = intervals.divide(at(6), at(45));
        assert_eq!(covered, Span::from_ns(6 + 10 + 5));
        assert_eq!(rest, [(at(12), at(20)), (at(30), at(40))]);
        assert_eq!(intervals.divide(at(22), at(22)), (Span::ZERO, vec![]));
    }
}
