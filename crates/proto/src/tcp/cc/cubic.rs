//! CUBIC (RFC 9438): the window is a cubic function of the time since the last loss.

use wiremend_units::{Span, Time};

use super::hystart::{CSS_GROWTH_DIVISOR, Growth, HyStart};
use super::ticked_cubic::TickedCubic;
use super::{AckEvent, Controller, Window};

/// CUBIC state, with the names of RFC 9438.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    hystart: HyStart,
    /// Window before the last reduction, where the curve is flat (`W_max`).
    w_max: u64,
    epoch: Option<Epoch>,
    /// Window at the last reduction, without fast convergence (`cwnd_prior`).
    cwnd_prior: u64,
    remainder: u64,
    /// Linux's variant; used if the host's clock has a tick.
    ticked: Option<TickedCubic>,
}

/// The time from one reduction to the next.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// K: time until the curve reaches `W_max`, in microseconds.
    k_us: u64,
    /// `W_est`: the window that Reno would have, and the remainder of its growth.
    w_est: u64,
    w_est_remainder: u64,
}

/// C = 0.4 segments per cubed second, β = 0.7 (RFC 9438 §4.6, §5).
const C_TENTHS: i128 = 4;
const BETA_TENTHS: u64 = 7;
/// α = 3 (1 − β)/(1 + β) = 9/17 (RFC 9438 §4.3).
const RENO_GAIN: (u64, u64) = (9, 17);

impl Cubic {
    /// RFC 9438 with a tick of 0, Linux's variant otherwise.
    pub fn new(tick: Span) -> Self {
        let ticked = (tick > Span::ZERO).then(|| TickedCubic::new(tick));
        Self { ticked, ..Self::default() }
    }

    /// Congestion avoidance (RFC 9438 §4.2 to §4.5).
    fn congestion_avoidance(&mut self, window: &mut Window, ack: &AckEvent, arrived: u64) {
        let w_max = &mut self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let missing = w_max.saturating_sub(window.bytes);
            if missing == 0 {
                *w_max = window.bytes;
            }
            let k_us = k_us(missing, window.mss);
            if let Some(ticked) = &mut self.ticked {
                ticked.begin(window.bytes / window.mss);
            }
            Epoch { start: ack.now, k_us, w_est: window.bytes, w_est_remainder: 0 }
        });
        let since = ack.now.since(epoch.start);
        let ahead = since + ack.srtt.unwrap_or(Span::ZERO);
        if let Some(ticked) = &mut self.ticked {
            let target = || w_cubic(self.w_max, epoch.k_us, ahead, window.mss) / window.mss;
            let segments = window.bytes / window.mss;
            let grown = ticked.grow(ack.now, segments, [arrived, window.mss], self.cwnd_prior > 0, target);
            window.bytes = (segments + grown) * window.mss;
            return;
        }
        // RFC 9438 §4.3: α_cubic until `W_est` reaches `cwnd_prior`, then 1.
        let gain = if epoch.w_est >= self.cwnd_prior { (1, 1) } else { RENO_GAIN };
        epoch.w_est_remainder += gain.0 * window.mss * arrived;
        let unit = gain.1 * window.bytes;
        epoch.w_est += epoch.w_est_remainder / unit;
        epoch.w_est_remainder %= unit;
        if w_cubic(self.w_max, epoch.k_us, since, window.mss) < epoch.w_est {
            window.bytes = window.bytes.max(epoch.w_est);
            return;
        }
        let target = w_cubic(self.w_max, epoch.k_us, ahead, window.mss)
            .clamp(window.bytes, window.bytes + window.bytes / 2);
        self.remainder += (target - window.bytes) * arrived;
        let grown = self.remainder / window.bytes;
        self.remainder %= window.bytes;
        window.bytes += grown;
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let mut arrived = ack.bytes;
        if window.in_slow_start() {
            match self.hystart.on_ack(ack) {
                Growth::Over => window.threshold = window.bytes,
                _ if !ack.cwnd_limited => return,
                Growth::Full => arrived = window.slow_start(arrived),
                Growth::Conservative => arrived = window.slow_start(arrived / CSS_GROWTH_DIVISOR),
            }
        }
        if ack.cwnd_limited && arrived > 0 && !window.in_slow_start() {
            self.congestion_avoidance(window, ack, arrived);
        }
    }

    /// Multiplicative decrease and fast convergence (RFC 9438 §4.6, §4.7).
    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        self.epoch = None;
        self.remainder = 0;
        self.cwnd_prior = window.bytes;
        if self.ticked.is_some() {
            let segments = window.bytes / window.mss;
            let is_less = window.bytes < self.w_max;
            self.w_max = window.mss * if is_less { TickedCubic::converged(segments) } else { segments };
            return TickedCubic::reduced(segments).max(2) * window.mss;
        }
        // Fast convergence: a flow with a smaller window than before releases bandwidth to others.
        self.w_max =
            if window.bytes < self.w_max { window.bytes * (10 + BETA_TENTHS) / 20 } else { window.bytes };
        (window.bytes * BETA_TENTHS / 10).max(2 * window.mss)
    }

    fn on_timeout(&mut self, _now: Time) {
        self.hystart = HyStart::default();
    }
}

/// K: time in which the curve rises by `bytes`, ∛(bytes / (mss · C)).
fn k_us(bytes: u64, mss: u64) -> u64 {
    cube_root(bytes as u128 * 10 * US_CUBED as u128 / (mss as u128 * C_TENTHS as u128))
}

/// `W_cubic`: the curve at a time since the epoch began (RFC 9438 §4.2, figure 1).
fn w_cubic(w_max: u64, k_us: u64, since: Span, mss: u64) -> u64 {
    let off = (since.as_ns() / 1_000) as i128 - k_us as i128;
    let more = off * off * off * C_TENTHS * mss as i128 / (10 * US_CUBED);
    (w_max as i128 + more).max(mss as i128) as u64
}

/// Cubed microseconds in a cubed second.
const US_CUBED: i128 = 1_000_000_000_000_000_000;

fn cube_root(value: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..42).rev() {
        let next = root | 1 << bit;
        if next * next * next <= value {
            root = next;
        }
    }
    root as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    fn ack(now: Time, bytes: u64) -> AckEvent {
        AckEvent { now, bytes, srtt: Some(Span::from_ms(100)), cwnd_limited: true, ..AckEvent::default() }
    }

    #[test]
    fn cube_roots_are_exact() {
        for value in [0, 1, 7, 8, 26, 27, 1_000_000, 999_999] {
            let root = cube_root(value) as u128;
            assert!(root.pow(3) <= value && (root + 1).pow(3) > value);
        }
    }

    /// RFC 9438 §4.2: K = ∛(`W_max` (1 − β)/C); for 1000 segments ∛750 = 9.0856 s. After K the window is back
    /// at
    /// `W_max`.
    #[test]
    fn window_follows_the_cubic_curve() {
        let mut cubic = Cubic::default();
        let mut window = Window { bytes: 1_000 * MSS, threshold: u64::MAX, mss: MSS };
        let reduced = cubic.on_congestion(Time::ZERO, &window, false);
        assert_eq!(reduced, 700 * MSS);
        (window.bytes, window.threshold) = (reduced, reduced);
        assert_eq!(k_us(300 * MSS, MSS) / 100, 90_856);
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

    /// RFC 9438 §4.3: over short round trips the window is Reno's: one segment in 17/9 round trips.
    #[test]
    fn window_is_that_of_reno_over_short_round_trips() {
        let mut cubic = Cubic::default();
        let mut window = Window { bytes: 100 * MSS, threshold: u64::MAX, mss: MSS };
        window.bytes = cubic.on_congestion(Time::ZERO, &window, false);
        window.threshold = window.bytes;
        let mut now = Time::ZERO;
        for _ in 0..34 {
            now += Span::from_us(30);
            let arrived = window.bytes;
            cubic.on_ack(&mut window, &AckEvent { srtt: Some(Span::from_us(30)), ..ack(now, arrived) });
        }
        assert!((87 * MSS..=89 * MSS).contains(&window.bytes), "70 + 34 · 9/17 = 88, got {}", window.bytes);
    }

    /// RFC 9438 §4.7.
    #[test]
    fn fast_convergence_lowers_w_max() {
        let mut cubic = Cubic::default();
        let window = |segments: u64| Window { bytes: segments * MSS, threshold: 0, mss: MSS };
        cubic.on_congestion(Time::ZERO, &window(100), false);
        cubic.on_congestion(Time::ZERO, &window(80), false);
        assert_eq!(cubic.w_max, 68 * MSS);
    }
}
