//! The linked increase of subflows (LIA, RFC 6356): together they take what one connection would over the best of their paths.

use wiremend_units::{Span, Time};

use super::{Controller, Delivered, Window};

/// The linked increase of one subflow. Nobody couples a connection that is alone: then it is Reno.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lia {
    coupling: Option<Coupling>,
    /// Bytes that the window is still to grow by, in parts of [`Coupling::ONE`].
    rest: u64,
}

/// How the windows of all subflows stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coupling {
    /// How aggressive they are together, in parts of [`Self::ONE`] (RFC 6356 §3, formula 2).
    pub alpha: u64,
    /// The sum of their windows, in bytes.
    pub total: u64,
}

/// What a subflow adds to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Its window in bytes; while losses are repaired, its threshold, since the window then is what the repair leaves of it.
    pub window: u64,
    /// Its smoothed round trip.
    pub rtt: Span,
}

impl Coupling {
    /// One.
    pub const ONE: u64 = 1 << 16;

    /// Of all subflows that send, with the integers of RFC 6356 §4.1: α = total · w / (Σ r · wᵢ / rᵢ)², where w and r are those of the
    /// subflow with the largest w / r². `None`: there is no subflow.
    pub fn of(shares: impl Iterator<Item = Share> + Clone) -> Option<Self> {
        // Bounded by what a product of three has room for.
        let bounded = |of: u64| of.clamp(1, 1 << 40) as u128;
        let parts = shares.map(|share| (bounded(share.window), bounded(share.rtt.as_ns())));
        let (best, rtt) = parts.clone().reduce(|best, part| {
            let better = part.0 * best.1 * best.1 > best.0 * part.1 * part.1;
            if better { part } else { best }
        })?;
        let total: u128 = parts.clone().map(|(window, _)| window).sum();
        let sum: u128 = parts.map(|(window, of)| rtt * window / of).sum();
        let alpha = (total * best * Self::ONE as u128 / (sum * sum).max(1)) as u64;
        Some(Self { alpha, total: total as u64 })
    }
}

impl Lia {
    /// How things stand from now on.
    #[inline]
    pub fn couple(&mut self, coupling: Option<Coupling>) {
        self.coupling = coupling;
    }

    /// How things stood last.
    pub fn coupling(&self) -> Option<Coupling> {
        self.coupling
    }

    /// RFC 6356 §3, formula 1: the lesser of what all subflows together are due and of what Reno would add.
    #[inline]
    fn avoid(&mut self, window: &mut Window, arrived: u64) {
        let one = Coupling::ONE as u128;
        let step = arrived as u128 * window.mss as u128;
        let alone = step * one / window.bytes.max(1) as u128;
        let linked = self.coupling.map(|of| of.alpha as u128 * step / of.total.max(1) as u128);
        self.rest += linked.map_or(alone, |linked| linked.min(alone)) as u64;
        window.bytes += self.rest / Coupling::ONE;
        self.rest %= Coupling::ONE;
    }
}

impl Controller for Lia {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Delivered) {
        if !ack.limited {
            return;
        }
        let left = window.slow_start(ack.bytes);
        if left > 0 {
            self.avoid(window, left);
        }
    }

    /// As Reno (RFC 6356 §3: only the increase is another).
    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        self.rest = 0;
        (window.bytes / 2).max(2 * window.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: f64 = Coupling::ONE as f64;

    fn share(window: u64, rtt_us: u64) -> Share {
        Share { window, rtt: Span::from_us(rtt_us) }
    }

    fn alpha(shares: &[Share]) -> f64 {
        Coupling::of(shares.iter().copied()).unwrap().alpha as f64 / ONE
    }

    /// RFC 6356 §3, formula 2, against floating point.
    #[test]
    fn alpha_is_that_of_the_formula() {
        let printed = |shares: &[Share]| {
            let parts: Vec<_> =
                shares.iter().map(|of| (of.window as f64, of.rtt.as_ns() as f64 / 1e9)).collect();
            let total: f64 = parts.iter().map(|(window, _)| window).sum();
            let best = parts.iter().map(|(window, rtt)| window / (rtt * rtt)).fold(0.0, f64::max);
            let sum: f64 = parts.iter().map(|(window, rtt)| window / rtt).sum();
            total * best / (sum * sum)
        };
        for shares in [
            vec![share(100_000, 50)],
            vec![share(100_000, 50), share(100_000, 50)],
            vec![share(14_480, 10), share(3_000_000, 200), share(80_000, 37)],
            vec![share(1_448, 10_000), share(8_000_000, 12)],
        ] {
            let (ours, theirs) = (alpha(&shares), printed(&shares));
            assert!((ours / theirs - 1.0).abs() < 0.01, "{ours} and {theirs} of {shares:?}");
        }
        assert_eq!(Coupling::of(std::iter::empty()), None);
    }

    /// RFC 6356 §3: alone α is 1; n equal subflows have 1 / n: together they grow by an n-th of a segment in a round trip, since a loss halves but one of them.
    #[test]
    fn equal_subflows_share_the_increase_of_one() {
        assert!((alpha(&[share(50_000, 20)]) - 1.0).abs() < 1e-4);
        for count in 2..=8_u32 {
            let shares = vec![share(50_000, 20); count as usize];
            assert!((alpha(&shares) * f64::from(count) - 1.0).abs() < 1e-3, "of {count}");
        }
    }

    fn grown(coupling: Option<Coupling>, bytes: u64) -> u64 {
        let mut window = Window { bytes, threshold: bytes, mss: 1_000 };
        let mut lia = Lia::default();
        lia.couple(coupling);
        (0..bytes / 1_000).for_each(|_| lia.avoid(&mut window, 1_000));
        window.bytes - bytes
    }

    /// RFC 6356 §3, formula 1: a window that arrives adds α · mss · w / total, and never more than a segment (goal 2).
    #[test]
    fn a_window_grows_by_its_share_and_by_no_more_than_alone() {
        let two = Coupling::of([share(100_000, 20); 2].into_iter());
        assert!((240..=250).contains(&grown(two, 100_000)), "{}", grown(two, 100_000));
        assert!((985..=1_000).contains(&grown(None, 100_000)), "{}", grown(None, 100_000));
        let eager = Coupling { alpha: 100 * Coupling::ONE, total: 200_000 };
        assert_eq!(grown(Some(eager), 100_000), grown(None, 100_000));
    }
}
