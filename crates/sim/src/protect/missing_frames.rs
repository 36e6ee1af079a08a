//! Frames that the prototype has found missing and not received yet. Its registers do not have this; it is
//! for measurement.

use std::collections::VecDeque;

use wiremend_measure::DelayHistogram;
use wiremend_proto::link::prototype::{Config, PrototypeHeader, TICK};
use wiremend_units::{Span, Time};

/// Missing frames, oldest first.
pub(crate) struct MissingFrames {
    open: VecDeque<(u16, Time)>,
    give_up_after: Span,
    pub(crate) recovered: u64,
    /// Frames that were given up.
    pub(crate) lost: u64,
    pub(crate) delays: DelayHistogram,
}

impl MissingFrames {
    /// A copy arrives within `ackNoTimeout` or never; twice that time is certain.
    pub(crate) fn new(config: &Config) -> Self {
        let give_up_after = TICK * (2 * u64::from(config.timeout_ticks));
        Self {
            open: VecDeque::new(),
            give_up_after,
            recovered: 0,
            lost: 0,
            delays: DelayHistogram::default(),
        }
    }

    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        signal: &PrototypeHeader,
        notification: Option<&PrototypeHeader>,
    ) {
        if let PrototypeHeader::Data { number, retransmitted: true, .. } = *signal
            && let Some(at) = self.open.iter().position(|(seq, _)| *seq == number.seq)
            && let Some((_, since)) = self.open.remove(at)
        {
            self.recovered += 1;
            self.delays.add((now - since).as_ps() / 1_000);
        }
        if let Some(&PrototypeHeader::Notification { hole_size, first_lost, .. }) = notification {
            let seqs = (0..u16::from(hole_size)).map(|place| first_lost.wrapping_add(place));
            self.open.extend(seqs.map(|seq| (seq, now)));
        }
    }

    pub(crate) fn on_time(&mut self, now: Time) {
        while self.open.pop_front_if(|(_, since)| since.saturating_add(self.give_up_after) <= now).is_some() {
            self.lost += 1;
        }
    }
}
