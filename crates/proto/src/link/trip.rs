//! How long an answer takes, by how long answers took (RFC 6298).

use std::hash::Hasher;

use wiremend_units::Span;

use super::fingerprint::Print;

/// The mean of how long answers took and their mean deviation from it, later ones weighing more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Trip {
    mean_ps: u64,
    /// Nothing was measured while it is 0 along with the mean.
    deviation_ps: u64,
}

/// Nothing is waited for that long.
const MEAN_PS_MAX: u64 = Span::from_ms(1000).as_ps();

impl Trip {
    /// Whether it says anything.
    pub(super) fn is_known(&self) -> bool {
        self.mean_ps > 0
    }

    pub(super) fn mean(&self) -> Span {
        Span::from_ps(self.mean_ps)
    }

    pub(super) fn deviation(&self) -> Span {
        Span::from_ps(self.deviation_ps)
    }

    /// One took so long. A single one that is far off, because a process was not woken, counts for no more than twice what was reckoned
    /// with: if it is the rule from here on, that doubles.
    pub(super) fn add(&mut self, took: Span) {
        let took_ps = took.as_ps().max(1);
        if !self.is_known() {
            (self.mean_ps, self.deviation_ps) = (took_ps, took_ps / 2);
            return;
        }
        let took_ps = took_ps.min(2 * (self.mean_ps + 4 * self.deviation_ps)).min(MEAN_PS_MAX);
        self.deviation_ps = self.deviation_ps - self.deviation_ps / 4 + self.mean_ps.abs_diff(took_ps) / 4;
        self.mean_ps = (self.mean_ps - self.mean_ps / 8 + took_ps / 8).max(1);
    }

    /// One had to be asked for again, so nobody knows which of the two it answers (Karn). As the first may have been on its way, patience grows
    /// a little: who was too impatient is so a few times only, and who lost something is hardly more patient for it.
    pub(super) fn add_unknown(&mut self) {
        self.mean_ps = (self.mean_ps + self.mean_ps / 8).min(MEAN_PS_MAX);
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Print<H>) {
        print.add((self.mean_ps, self.deviation_ps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_settles_where_answers_are_and_widens_when_they_vary() {
        let mut trip = Trip::default();
        assert!(!trip.is_known());
        for _ in 0..100 {
            trip.add(Span::from_us(20));
        }
        let off = trip.mean().as_ps().abs_diff(Span::from_us(20).as_ps());
        assert!(off < 100 && trip.deviation() < Span::from_ns(10), "{trip:?}");
        trip.add(Span::from_us(1300));
        assert!(reckoned(&trip) < Span::from_us(50), "{trip:?}, one that was late changes little");
        for _ in 0..6 {
            trip.add(Span::from_us(1300));
        }
        assert!(reckoned(&trip) > Span::from_us(1300), "{trip:?}, but soon a rule is known as one");
    }

    #[test]
    fn who_always_asks_too_early_becomes_patient() {
        let mut trip = Trip::default();
        trip.add_unknown();
        assert!(!trip.is_known());
        trip.add(Span::from_us(20));
        for _ in 0..1000 {
            trip.add_unknown();
        }
        assert!(trip.mean() > Span::from_us(1000), "{trip:?}");
    }

    fn reckoned(trip: &Trip) -> Span {
        trip.mean() + trip.deviation() * 4
    }
}
