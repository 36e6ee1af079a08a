//! RACK-TLP (RFC 8985): detects losses by time instead of order, and probes an unacknowledged tail.
//!
//! A packet is lost if a packet sent later has arrived, and more than a round trip and a reordering window
//! have passed since it was sent. A NIC therefore stores the transmission time of each packet. The window is
//! zero until reordering is seen, then a quarter of the minimum round trip, and it grows in each round trip
//! in which a duplicate arrived (§6.2.4). The responder reports duplicates, as DSACK does.
//!
//! There are no delayed acknowledgements, so the probe waits exactly two smoothed round trips (§7.2). The
//! retransmission timeout is that of RFC 6298 with [`Config::rto_low`] as its minimum.

use std::collections::{BTreeSet, VecDeque};

use wiremend_units::{Span, Time};

use super::{AckEvent, RecoveryPolicy};
use crate::sr::config::Config;
use crate::sr::scoreboard::Scoreboard;

/// Packets that arrive after a gap before it counts as a loss without observed reordering (§6.2.5).
const DUP_THRESH: u64 = 3;
/// Recoveries without a duplicate after which the reordering window is reset (§6.2.4).
const REO_WND_PERSIST: u8 = 16;

#[derive(Clone, Debug, Default)]
pub(in crate::sr) struct RackTlp {
    /// State of each packet sent, by number from `base` on.
    records: VecDeque<Record>,
    base: u64,
    /// Transmissions in order of time; some are obsolete.
    transmissions: VecDeque<(Time, u64)>,
    /// Lost packets that are not retransmitted yet.
    lost: BTreeSet<u64>,
    /// Time and number of the most recently sent packet that has arrived.
    latest: (Time, u64),
    rtt: Span,
    rtt_min: Option<Span>,
    /// Smoothed round trip time and its variation (RFC 6298), after the first measurement.
    smoothed: Option<(Span, Span)>,
    /// One past the highest number that has arrived.
    arrived_end: u64,
    reordering_seen: bool,
    /// Reordering window in quarters of the minimum round trip.
    reorder_quarters: u32,
    persist_left: u8,
    /// A duplicate was counted; the next one counts when everything before this number has arrived.
    round_end: Option<u64>,
    recovery_end: Option<u64>,
    /// Time at which the oldest unacknowledged transmission becomes lost.
    reorder_due: Option<Time>,
    probe_due: Option<Time>,
    /// Number of the next probe, and of the last probe sent.
    probe: Option<u64>,
    probed: Option<u64>,
    pub(super) probes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    sent: Time,
    retransmitted: bool,
    arrived: bool,
}

impl RackTlp {
    /// Bytes for each packet: its record and its entry in the order of time.
    pub(super) const PACKET_BYTES: u64 = (size_of::<Record>() + size_of::<(Time, u64)>()) as u64;

    fn record(&mut self, seq: u64) -> Option<&mut Record> {
        let index = seq.checked_sub(self.base)?;
        self.records.get_mut(index as usize)
    }

    /// Records a newly arrived packet (§6.2, steps 1 to 3).
    fn on_arrival(&mut self, now: Time, seq: u64) {
        let Some(record) = self.record(seq) else { return };
        if record.arrived {
            return;
        }
        record.arrived = true;
        let Record { sent, retransmitted, .. } = *record;
        self.lost.remove(&seq);
        let rtt = now.since(sent);
        if retransmitted && self.rtt_min.is_some_and(|minimum| rtt < minimum) {
            // The acknowledgement belongs to an earlier transmission.
            return;
        }
        if !retransmitted {
            self.measure(rtt);
            self.reordering_seen |= seq < self.arrived_end;
        }
        self.arrived_end = self.arrived_end.max(seq + 1);
        if (sent, seq) >= self.latest {
            self.latest = (sent, seq);
            self.rtt = rtt;
        }
    }

    /// Updates the smoothed round trip (RFC 6298 §2, gains 1/8 and 1/4).
    fn measure(&mut self, rtt: Span) {
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |minimum| minimum.min(rtt)));
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((smoothed, variation)) => {
                let deviation = if rtt > smoothed { rtt - smoothed } else { smoothed - rtt };
                ((smoothed * 7 + rtt) / 8, (variation * 3 + deviation) / 4)
            }
        });
    }

    /// Returns the reordering window (§6.2, step 4).
    fn reorder_window(&self, scoreboard: &Scoreboard) -> Span {
        if !self.reordering_seen && (self.recovery_end.is_some() || scoreboard.sacked() >= DUP_THRESH) {
            return Span::ZERO;
        }
        let Some((smoothed, _)) = self.smoothed else { return Span::ZERO };
        let minimum = self.rtt_min.unwrap_or(smoothed);
        (minimum * u64::from(self.reorder_quarters.max(1)) / 4).min(smoothed)
    }

    /// Widens the reordering window: a duplicate shows a spurious retransmission. At most one counts per
    /// round trip.
    fn on_duplicate(&mut self, scoreboard: &Scoreboard, seq: Option<u64>) {
        // A probe is expected to be a duplicate.
        if seq.is_some() && seq == self.probed || self.round_end.is_some_and(|end| scoreboard.una < end) {
            return;
        }
        self.round_end = Some(scoreboard.next);
        self.reorder_quarters = self.reorder_quarters.max(1).saturating_add(1);
        self.persist_left = REO_WND_PERSIST;
    }

    fn leave_recovery(&mut self, scoreboard: &Scoreboard) {
        if self.recovery_end.is_none_or(|end| scoreboard.una < end) {
            return;
        }
        self.recovery_end = None;
        self.persist_left = self.persist_left.saturating_sub(1);
        if self.persist_left == 0 {
            self.reorder_quarters = 1;
        }
    }

    /// Detects losses (§6.2, step 5) in the order of transmission; the first packet that is not lost ends the
    /// loop.
    fn detect_losses(&mut self, scoreboard: &Scoreboard, now: Time) {
        self.reorder_due = None;
        let wait = self.rtt + self.reorder_window(scoreboard);
        while let Some(&(sent, seq)) = self.transmissions.front() {
            let stale = self.record(seq).is_none_or(|record| record.arrived || record.sent != sent);
            if !stale {
                if (sent, seq) >= self.latest {
                    return;
                }
                let due = sent.saturating_add(wait);
                if due > now {
                    self.reorder_due = Some(due);
                    return;
                }
                self.mark_lost(scoreboard, seq);
            }
            self.transmissions.pop_front();
        }
    }

    fn mark_lost(&mut self, scoreboard: &Scoreboard, seq: u64) {
        self.lost.insert(seq);
        self.recovery_end.get_or_insert(scoreboard.next);
    }

    /// Schedules a probe two round trips from now, if the tail is unacknowledged (§7.2).
    fn schedule_probe(&mut self, scoreboard: &Scoreboard, now: Time) {
        let no_loss = self.recovery_end.is_none() && self.lost.is_empty() && scoreboard.sacked() == 0;
        let wanted = no_loss && self.probed.is_none() && scoreboard.outstanding() > 0;
        let wait = self.smoothed.filter(|_| wanted).map(|(smoothed, _)| smoothed * 2);
        self.probe_due = wait.map(|wait| now.saturating_add(wait));
    }
}

impl RecoveryPolicy for RackTlp {
    fn on_sent(&mut self, scoreboard: &Scoreboard, now: Time, seq: u64, retransmission: bool) {
        if retransmission {
            self.lost.remove(&seq);
            if let Some(record) = self.record(seq) {
                *record = Record { sent: now, retransmitted: true, arrived: false };
            }
            if self.probe.take() == Some(seq) {
                self.probed = Some(seq);
                self.probes += 1;
            }
        } else {
            self.records.push_back(Record { sent: now, retransmitted: false, arrived: false });
            self.schedule_probe(scoreboard, now);
        }
        self.transmissions.push_back((now, seq));
    }

    fn on_ack(&mut self, _: &Config, scoreboard: &Scoreboard, now: Time, event: &AckEvent) {
        for seq in event.una_before..scoreboard.una {
            self.on_arrival(now, seq);
        }
        if let Some(seq) = event.arrived.filter(|seq| *seq >= scoreboard.una) {
            self.on_arrival(now, seq);
        }
        if event.ack.duplicate {
            self.on_duplicate(scoreboard, event.arrived);
        }
        let released = (scoreboard.una - self.base) as usize;
        self.records.drain(..released.min(self.records.len()));
        self.base = scoreboard.una;
        self.probed = self.probed.filter(|seq| *seq >= scoreboard.una);
        self.probe = self.probe.filter(|seq| *seq >= scoreboard.una);
        self.leave_recovery(scoreboard);
        self.detect_losses(scoreboard, now);
        if scoreboard.una > event.una_before || event.newly_arrived {
            self.schedule_probe(scoreboard, now);
        }
    }

    /// Marks as lost the oldest packet and every packet that is overdue (§6.3).
    fn on_expiry(&mut self, _: &Config, scoreboard: &Scoreboard, now: Time) {
        let wait = self.rtt + self.reorder_window(scoreboard);
        for seq in scoreboard.una..scoreboard.next {
            let late = self.record(seq).is_some_and(|record| {
                !record.arrived && (seq == scoreboard.una || record.sent.saturating_add(wait) <= now)
            });
            if late {
                self.lost.insert(seq);
            }
        }
        self.recovery_end = Some(scoreboard.next);
        (self.probe, self.probed, self.probe_due) = (None, None, None);
    }

    fn next_retransmission(&self, scoreboard: &Scoreboard) -> Option<u64> {
        let lost = self.lost.first().copied().or(self.probe);
        lost.filter(|seq| *seq >= scoreboard.una && *seq < scoreboard.next)
    }

    fn rto(&self, config: &Config, _: &Scoreboard) -> Span {
        self.smoothed
            .map_or(config.rto_high, |(smoothed, variation)| (smoothed + variation * 4).max(config.rto_low))
    }

    fn next_timeout(&self) -> Time {
        let due = [self.reorder_due, self.probe_due].into_iter().flatten().min();
        due.unwrap_or(Time::MAX)
    }

    fn on_timer(&mut self, _: &Config, scoreboard: &Scoreboard, now: Time) -> bool {
        if self.reorder_due.is_some_and(|due| due <= now) {
            self.detect_losses(scoreboard, now);
        }
        if self.probe_due.is_none_or(|due| due > now) {
            return false;
        }
        self.probe_due = None;
        self.probe = (scoreboard.outstanding() > 0).then(|| scoreboard.next - 1);
        true
    }
}
