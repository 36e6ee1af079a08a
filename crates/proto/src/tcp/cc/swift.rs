//! Swift (Kumar et al., SIGCOMM 2020) for TCP: the window grows while the delay is below a target.
//!
//! Algorithm 1 of the paper with the delay of each ACK and one window of at least one segment. Queue pairs have a Swift
//! of their own, which counts packets.

use wiremend_units::{Span, Time};

use super::{AckEvent, Controller, Window};

/// Swift's state.
#[derive(Clone, Copy, Debug)]
pub struct Swift {
    target: Span,
    rtt: Span,
    decreased_at: Option<Time>,
}

/// β and the largest decrease, in per cent (§3.2, §3.4).
const BETA: u64 = 80;
const DECREASE_MAX: u64 = 50;

impl Swift {
    /// A controller with this target delay, hosts included.
    pub fn new(target: Span) -> Self {
        Self { target, rtt: target, decreased_at: None }
    }

    /// Shrinks a window by a number of thousandths, at most once per round trip.
    fn decreased(&mut self, now: Time, window: &Window, thousandths: u64) -> u64 {
        if self.decreased_at.is_some_and(|at| now.since(at) < self.rtt) {
            return window.bytes;
        }
        self.decreased_at = Some(now);
        (window.bytes - window.bytes * thousandths / 1_000).max(window.mss)
    }
}

impl Controller for Swift {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let Some(rtt) = ack.rtt else { return };
        self.rtt = rtt;
        if rtt < self.target {
            if ack.cwnd_limited {
                // One segment for each window.
                window.bytes += (window.mss * ack.bytes / window.bytes.max(1)).min(window.mss);
            }
            return;
        }
        let excess = (rtt.as_ps() - self.target.as_ps()) * BETA * 10 / rtt.as_ps();
        window.bytes = self.decreased(ack.now, window, excess.min(DECREASE_MAX * 10));
    }

    /// A loss decreases the window by the maximum (§3.4).
    fn on_congestion(&mut self, now: Time, window: &Window, _marked: bool) -> u64 {
        self.decreased(now, window, DECREASE_MAX * 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(at_us: u64, rtt_us: u64, bytes: u64) -> AckEvent {
        AckEvent {
            now: Time::ZERO + Span::from_us(at_us),
            rtt: Some(Span::from_us(rtt_us)),
            bytes,
            cwnd_limited: true,
            ..AckEvent::default()
        }
    }

    #[test]
    fn the_window_follows_the_delay_and_halves_after_a_loss_once_per_round_trip() {
        let mut swift = Swift::new(Span::from_us(50));
        let mut window = Window { bytes: 100_000, threshold: u64::MAX, mss: 1_000 };
        for _ in 0..100 {
            swift.on_ack(&mut window, &ack(40, 40, 1_000));
        }
        assert!((100_900..=101_000).contains(&window.bytes), "one segment for a window: {}", window.bytes);
        // Twice the target: 0.8 · 1/2.
        let before = window.bytes;
        swift.on_ack(&mut window, &ack(100, 100, 1_000));
        assert_eq!(window.bytes, before - before * 400 / 1_000);
        swift.on_ack(&mut window, &ack(150, 100, 1_000));
        assert_eq!(window.bytes, before - before * 400 / 1_000, "once per round trip");
        let now = Time::ZERO + Span::from_us(300);
        let halved = swift.on_congestion(now, &window, false);
        assert_eq!(halved, window.bytes - window.bytes / 2);
    }
}
