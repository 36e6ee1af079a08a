//! What the prototype has found missing and not received yet. Its registers do not know: this is for whoever measures.

use std::collections::VecDeque;

use wiremend_measure::Delays;
use wiremend_proto::link::paper::{Config, Signal, TICK};
use wiremend_units::{Span, Time};

/// Frames that are missing, oldest first.
pub(crate) struct Missing {
    open: VecDeque<(u16, Time)>,
    patience: Span,
    pub(crate) recovered: u64,
    /// Of these no copy comes any more.
    pub(crate) lost: u64,
    pub(crate) delays: Delays,
}

impl Missing {
    /// A copy comes before `ackNoTimeout` or not at all; twice that leaves no doubt.
    pub(crate) fn new(config: &Config) -> Self {
        let patience = TICK * (2 * u64::from(config.timeout_ticks));
        Self { open: VecDeque::new(), patience, recovered: 0, lost: 0, delays: Delays::default() }
    }

    pub(crate) fn on_arrival(&mut self, now: Time, signal: &Signal, notification: Option<&Signal>) {
        if let Signal::Data { number, again: true, .. } = *signal
            && let Some(at) = self.open.iter().position(|(seq, _)| *seq == number.seq)
            && let Some((_, since)) = self.open.remove(at)
        {
            self.recovered += 1;
            self.delays.add((now - since).as_ps() / 1_000);
        }
        if let Some(&Signal::Notification { hole_size, first_lost, .. }) = notification {
            let seqs = (0..u16::from(hole_size)).map(|place| first_lost.wrapping_add(place));
            self.open.extend(seqs.map(|seq| (seq, now)));
        }
    }

    pub(crate) fn on_time(&mut self, now: Time) {
        while self.open.pop_front_if(|(_, since)| since.saturating_add(self.patience) <= now).is_some() {
            self.lost += 1;
        }
    }
}
