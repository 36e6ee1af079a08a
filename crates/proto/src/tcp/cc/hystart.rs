//! `HyStart++`: leaves slow start when the round trip grows (RFC 9406).

use wiremend_units::Span;

use super::AckEvent;

/// `HyStart++` state.
#[derive(Clone, Copy, Debug, Default)]
pub struct HyStart {
    /// The round ends when this byte is acknowledged.
    round_end: u64,
    last_min: Option<Span>,
    now_min: Option<Span>,
    samples: u32,
    /// Conservative slow start: its baseline round trip and the rounds since it began.
    css: Option<(Span, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    Full,
    /// A quarter of full growth.
    Conservative,
    Over,
}

const SAMPLES: u32 = 8;
const THRESHOLD_MIN: Span = Span::from_ms(4);
const THRESHOLD_MAX: Span = Span::from_ms(16);
const DIVISOR: u64 = 8;
/// Growth divisor of conservative slow start.
pub(super) const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

impl HyStart {
    /// Handles an ACK in slow start (RFC 9406 §4.2).
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Growth {
        if ack.una > self.round_end {
            self.round_end = ack.nxt;
            (self.last_min, self.now_min, self.samples) = (self.now_min, None, 0);
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    return Growth::Over;
                }
            }
        }
        if let Some(rtt) = ack.rtt {
            self.now_min = Some(self.now_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        let (Some(now), Some(last)) = (self.now_min, self.last_min) else { return self.growth() };
        if self.samples < SAMPLES {
            return self.growth();
        }
        match self.css {
            // The round trip fell again: the exit was spurious.
            Some((base, _)) if now < base => self.css = None,
            Some(_) => {}
            None => {
                let threshold = (last / DIVISOR).max(THRESHOLD_MIN).min(THRESHOLD_MAX);
                if now >= last + threshold {
                    self.css = Some((now, 0));
                }
            }
        }
        self.growth()
    }

    fn growth(&self) -> Growth {
        if self.css.is_some() { Growth::Conservative } else { Growth::Full }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(start: &mut HyStart, number: u64, rtt_ms: u64) -> Vec<Growth> {
        let ack = |nth: u64| AckEvent {
            bytes: 1_000,
            rtt: Some(Span::from_ms(rtt_ms)),
            una: number * 10_000 + 1 + nth * 1_000,
            nxt: (number + 1) * 10_000,
            cwnd_limited: true,
            ..AckEvent::default()
        };
        (0..9).map(|nth| start.on_ack(&ack(nth))).collect()
    }

    /// RFC 9406 §4.2: eight samples, a rise of 1/8 but at least 4 ms, five conservative rounds.
    #[test]
    fn rising_round_trip_ends_slow_start() {
        let mut start = HyStart::default();
        assert!(round(&mut start, 0, 40).iter().all(|growth| *growth == Growth::Full));
        assert!(round(&mut start, 1, 44).iter().all(|growth| *growth == Growth::Full), "below the threshold");
        let risen = round(&mut start, 2, 50);
        assert_eq!((risen[6], risen[7]), (Growth::Full, Growth::Conservative), "with the eighth sample");
        (3..7).for_each(|number| assert_eq!(round(&mut start, number, 50)[8], Growth::Conservative));
        assert_eq!(round(&mut start, 7, 50)[0], Growth::Over);
    }

    #[test]
    fn spurious_exit_resumes_slow_start() {
        let mut start = HyStart::default();
        round(&mut start, 0, 40);
        assert_eq!(round(&mut start, 1, 50)[8], Growth::Conservative);
        assert_eq!(round(&mut start, 2, 41)[8], Growth::Full);
    }
}
