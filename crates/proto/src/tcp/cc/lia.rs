//! LIA, the linked increase of MPTCP (RFC 6356): all subflows together take what one TCP would on the best
//! path.

use wiremend_units::{Span, Time};

use super::{AckEvent, Controller, Window};

/// LIA state of one subflow. Without a coupling it is Reno.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lia {
    coupling: Option<Coupling>,
    /// Pending growth of the window, in units of 1/[`Coupling::ONE`] byte.
    remainder: u64,
}

/// Combined state of all subflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coupling {
    /// Aggressiveness α in units of 1/[`Self::ONE`] (RFC 6356 §3, formula 2).
    pub alpha: u64,
    /// Sum of all windows in bytes.
    pub total: u64,
}

/// One subflow's part of the coupling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Window in bytes; in recovery the threshold, because PRR shrinks the window below it.
    pub window: u64,
    /// Smoothed round trip.
    pub rtt: Span,
}

impl Coupling {
    /// α = 1.
    pub const ONE: u64 = 1 << 16;

    /// Computes the coupling of all active subflows in integers (RFC 6356 §4.1): α = total · w / (Σ r · wᵢ /
    /// rᵢ)², with w and r of the subflow with the largest w / r². `None` without subflows.
    pub fn from_shares(shares: impl Iterator<Item = Share> + Clone) -> Option<Self> {
        // Bounds that keep a product of three factors within 128 bits.
        let bounded = |value: u64| value.clamp(1, 1 << 40) as u128;
        let parts = shares.map(|share| (bounded(share.window), bounded(share.rtt.as_ns())));
        let (best, rtt) = parts.clone().reduce(|best, part| {
            let better = part.0 * best.1 * best.1 > best.0 * part.1 * part.1;
            if better { part } else { best }
        })?;
        let total: u128 = parts.clone().map(|(window, _)| window).sum();
        let sum: u128 = parts.map(|(window, other)| rtt * window / other).sum();
        let alpha = (total * best * Self::ONE as u128 / (sum * sum).max(1)) as u64;
        Some(Self { alpha, total: total as u64 })
    }
}

impl Lia {
    /// Sets the coupling.
    #[inline]
    pub fn set_coupling(&mut self, coupling: Option<Coupling>) {
        self.coupling = coupling;
    }

    /// Last coupling.
    pub fn coupling(&self) -> Option<Coupling> {
        self.coupling
    }

    /// Congestion avoidance: the smaller of the linked increase and Reno's (RFC 6356 §3, formula 1).
    #[inline]
    fn congestion_avoidance(&mut self, window: &mut Window, arrived: u64) {
        let one = Coupling::ONE as u128;
        let step = arrived as u128 * window.mss as u128;
        let alone = step * one / window.bytes.max(1) as u128;
        let linked =
            self.coupling.map(|coupling| coupling.alpha as u128 * step / coupling.total.max(1) as u128);
        self.remainder += linked.map_or(alone, |linked| linked.min(alone)) as u64;
        window.bytes += self.remainder / Coupling::ONE;
        self.remainder %= Coupling::ONE;
    }
}

impl Controller for Lia {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if !ack.cwnd_limited {
            return;
        }
        let left = window.slow_start(ack.bytes);
        if left > 0 {
            self.congestion_avoidance(window, left);
        }
    }

    /// As Reno: RFC 6356 §3 changes only the increase.
    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        self.remainder = 0;
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
        Coupling::from_shares(shares.iter().copied()).unwrap().alpha as f64 / ONE
    }

    /// RFC 6356 §3, formula 2, compared with floating point.
    #[test]
    fn alpha_matches_the_formula() {
        let printed = |shares: &[Share]| {
            let parts: Vec<_> =
                shares.iter().map(|share| (share.window as f64, share.rtt.as_ns() as f64 / 1e9)).collect();
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
        assert_eq!(Coupling::from_shares(std::iter::empty()), None);
    }

    /// RFC 6356 §3: α is 1 for one subflow and 1/n for n equal ones: a loss halves only one of them.
    #[test]
    fn equal_subflows_grow_together_as_one() {
        assert!((alpha(&[share(50_000, 20)]) - 1.0).abs() < 1e-4);
        for count in 2..=8_u32 {
            let shares = vec![share(50_000, 20); count as usize];
            assert!((alpha(&shares) * f64::from(count) - 1.0).abs() < 1e-3, "of {count}");
        }
    }

    fn grown(coupling: Option<Coupling>, bytes: u64) -> u64 {
        let mut window = Window { bytes, threshold: bytes, mss: 1_000 };
        let mut lia = Lia::default();
        lia.set_coupling(coupling);
        (0..bytes / 1_000).for_each(|_| lia.congestion_avoidance(&mut window, 1_000));
        window.bytes - bytes
    }

    /// RFC 6356 §3, formula 1: a window of ACKs adds α · mss · w / total, and never more than one segment
    /// (goal 2).
    #[test]
    fn linked_increase_is_bounded_by_reno() {
        let two = Coupling::from_shares([share(100_000, 20); 2].into_iter());
        assert!((240..=250).contains(&grown(two, 100_000)), "{}", grown(two, 100_000));
        assert!((985..=1_000).contains(&grown(None, 100_000)), "{}", grown(None, 100_000));
        let eager = Coupling { alpha: 100 * Coupling::ONE, total: 200_000 };
        assert_eq!(grown(Some(eager), 100_000), grown(None, 100_000));
    }
}
