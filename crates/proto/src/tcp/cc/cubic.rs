//! CUBIC (RFC 9438): the window is a cubic function of the time since the last loss.

use wiremend_units::{Span, Time};

use super::hystart::{CAUTIOUS_DIVISOR, Growth, HyStart};
use super::ticked::Ticked;
use super::{Controller, Delivered, Window};

/// CUBIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    start: HyStart,
    /// Where the curve is flat (`W_max`).
    plateau: u64,
    epoch: Option<Epoch>,
    /// The window before the last reduction (`cwnd_prior`).
    prior: u64,
    /// Remainder of the division by the window.
    rest: u64,
    /// As a kernel has it, if it has a clock that ticks.
    ticked: Option<Ticked>,
}

/// From the end of a reduction to the next.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Until the plateau (K), in microseconds.
    rise_us: u64,
    /// What Reno would have (`W_est`), and the remainder of its growth.
    reno: u64,
    reno_rest: u64,
}

/// C = 0.4 segments per cubed second, β = 0.7 (RFC 9438 §4.6, §5).
const C_TENTHS: i128 = 4;
const BETA_TENTHS: u64 = 7;
/// α = 3 (1 − β)/(1 + β) = 9/17 (RFC 9438 §4.3).
const RENO_GAIN: (u64, u64) = (9, 17);

impl Cubic {
    /// With a tick of zero as RFC 9438 says, else as Linux has it with such a clock.
    pub fn new(tick: Span) -> Self {
        let ticked = (tick > Span::ZERO).then(|| Ticked::new(tick));
        Self { ticked, ..Self::default() }
    }

    /// Growth in congestion avoidance (RFC 9438 §4.2 to §4.5).
    fn avoid(&mut self, window: &mut Window, ack: &Delivered, arrived: u64) {
        let plateau = &mut self.plateau;
        let epoch = self.epoch.get_or_insert_with(|| {
            let missing = plateau.saturating_sub(window.bytes);
            if missing == 0 {
                *plateau = window.bytes;
            }
            let rise_us = rise_us(missing, window.mss);
            if let Some(ticked) = &mut self.ticked {
                ticked.begin(window.bytes / window.mss);
            }
            Epoch { start: ack.now, rise_us, reno: window.bytes, reno_rest: 0 }
        });
        let since = ack.now.since(epoch.start);
        let ahead = since + ack.srtt.unwrap_or(Span::ZERO);
        if let Some(ticked) = &mut self.ticked {
            let target = || curve(self.plateau, epoch.rise_us, ahead, window.mss) / window.mss;
            let segments = window.bytes / window.mss;
            let grown = ticked.grow(ack.now, segments, [arrived, window.mss], self.prior > 0, target);
            window.bytes = (segments + grown) * window.mss;
            return;
        }
        // As fast as Reno from where Reno would have been reduced to, and once it is there, just as Reno.
        let gain = if epoch.reno >= self.prior { (1, 1) } else { RENO_GAIN };
        epoch.reno_rest += gain.0 * window.mss * arrived;
        let unit = gain.1 * window.bytes;
        epoch.reno += epoch.reno_rest / unit;
        epoch.reno_rest %= unit;
        if curve(self.plateau, epoch.rise_us, since, window.mss) < epoch.reno {
            window.bytes = window.bytes.max(epoch.reno);
            return;
        }
        let target = curve(self.plateau, epoch.rise_us, ahead, window.mss)
            .clamp(window.bytes, window.bytes + window.bytes / 2);
        self.rest += (target - window.bytes) * arrived;
        let grown = self.rest / window.bytes;
        self.rest %= window.bytes;
        window.bytes += grown;
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Delivered) {
        let mut arrived = ack.bytes;
        if window.in_slow_start() {
            match self.start.on_ack(ack) {
                Growth::Over => window.threshold = window.bytes,
                _ if !ack.limited => return,
                Growth::Full => arrived = window.slow_start(arrived),
                Growth::Cautious => arrived = window.slow_start(arrived / CAUTIOUS_DIVISOR),
            }
        }
        if ack.limited && arrived > 0 && !window.in_slow_start() {
            self.avoid(window, ack, arrived);
        }
    }

    /// RFC 9438 §4.6, §4.7.
    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        self.epoch = None;
        self.rest = 0;
        self.prior = window.bytes;
        if self.ticked.is_some() {
            let segments = window.bytes / window.mss;
            let is_less = window.bytes < self.plateau;
            self.plateau = window.mss * if is_less { Ticked::converged(segments) } else { segments };
            return Ticked::reduced(segments).max(2) * window.mss;
        }
        // Fast convergence: who has less than before makes room for others.
        self.plateau =
            if window.bytes < self.plateau { window.bytes * (10 + BETA_TENTHS) / 20 } else { window.bytes };
        (window.bytes * BETA_TENTHS / 10).max(2 * window.mss)
    }

    fn on_timeout(&mut self, _now: Time) {
        self.start = HyStart::default();
    }
}

/// K: how long the curve takes to rise by so many bytes, ∛(bytes / (mss · C)).
fn rise_us(bytes: u64, mss: u64) -> u64 {
    cube_root(bytes as u128 * 10 * US_CUBED as u128 / (mss as u128 * C_TENTHS as u128))
}

/// The curve at a time since the epoch began (RFC 9438 §4.2, figure 1).
fn curve(plateau: u64, rise_us: u64, since: Span, mss: u64) -> u64 {
    let off = (since.as_ns() / 1_000) as i128 - rise_us as i128;
    let more = off * off * off * C_TENTHS * mss as i128 / (10 * US_CUBED);
    (plateau as i128 + more).max(mss as i128) as u64
}

/// Cubed microseconds in a cubed second.
const US_CUBED: i128 = 1_000_000_000_000_000_000;

/// Rounded down.
fn cube_root(of: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..42).rev() {
        let next = root | 1 << bit;
        if next * next * next <= of {
            root = next;
        }
    }
    root as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    fn ack(now: Time, bytes: u64) -> Delivered {
        Delivered { now, bytes, srtt: Some(Span::from_ms(100)), limited: true, ..Delivered::default() }
    }

    #[test]
    fn roots_are_exact() {
        for of in [0, 1, 7, 8, 26, 27, 1_000_000, 999_999] {
            let root = cube_root(of) as u128;
            assert!(root.pow(3) <= of && (root + 1).pow(3) > of);
        }
    }

    /// RFC 9438 §4.2: K = ∛(`W_max` (1 − β)/C); for 1000 segments ∛750 = 9.0856 s. The window is back at `W_max` after K, and
    /// the curve is steep, flat, and steep again.
    #[test]
    fn the_window_follows_the_curve() {
        let mut cubic = Cubic::default();
        let mut window = Window { bytes: 1_000 * MSS, threshold: u64::MAX, mss: MSS };
        let reduced = cubic.on_congestion(Time::ZERO, &window, false);
        assert_eq!(reduced, 700 * MSS);
        (window.bytes, window.threshold) = (reduced, reduced);
        assert_eq!(rise_us(300 * MSS, MSS) / 100, 90_856);
        let mut at_ms = Vec::new();
        for round in 0..=150_u64 {
            let now = Time::ZERO + Span::from_ms(round * 100);
            let arrived = window.bytes;
            cubic.on_ack(&mut window, &ack(now, arrived));
            at_ms.push(window.bytes / MSS);
        }
        let expected = |seconds: f64| 1000.0 + 0.4 * (seconds - 9.0856).powi(3);
        for round in [1_usize, 30, 60, 90, 120, 150] {
            let (got, want) = (at_ms[round] as f64, expected((round as f64 + 1.0) / 10.0));
            assert!((got - want).abs() < 0.01 * want, "round {round}: {got} instead of {want}");
        }
    }

    /// RFC 9438 §4.3: over short round trips the window is Reno's, a segment in 17/9 round trips until the window before the loss.
    #[test]
    fn over_short_round_trips_it_is_as_fast_as_reno() {
        let mut cubic = Cubic::default();
        let mut window = Window { bytes: 100 * MSS, threshold: u64::MAX, mss: MSS };
        window.bytes = cubic.on_congestion(Time::ZERO, &window, false);
        window.threshold = window.bytes;
        let mut now = Time::ZERO;
        for _ in 0..34 {
            now += Span::from_us(30);
            let arrived = window.bytes;
            cubic.on_ack(&mut window, &Delivered { srtt: Some(Span::from_us(30)), ..ack(now, arrived) });
        }
        assert!((87 * MSS..=89 * MSS).contains(&window.bytes), "70 + 34 · 9/17 = 88, got {}", window.bytes);
    }

    /// RFC 9438 §4.7.
    #[test]
    fn a_smaller_window_than_before_makes_room() {
        let mut cubic = Cubic::default();
        let window = |segments: u64| Window { bytes: segments * MSS, threshold: 0, mss: MSS };
        cubic.on_congestion(Time::ZERO, &window(100), false);
        cubic.on_congestion(Time::ZERO, &window(80), false);
        assert_eq!(cubic.plateau, 68 * MSS);
    }
}
