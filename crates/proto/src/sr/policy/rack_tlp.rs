//! RACK-TLP (RFC 8985): time instead of order tells what is lost, and a probe asks for a silent tail.
//!
//! A packet is lost if one sent later has arrived, and more than a round trip and a reordering window have passed since
//! it was sent. It needs the time of each packet, which is what it costs a NIC. The window is zero until
//! disorder is seen, then a quarter of the least round trip, and grows with each round trip in which a duplicate
//! arrived (§6.2.4). Duplicates are told by the responder, as DSACK does.
//!
//! There is no delayed acknowledgement here, so that the probe waits two smoothed round trips and no more (§7.2).
//! The retransmission timeout is that of RFC 6298 with [`Config::rto_low`] as its floor.

use std::collections::{BTreeSet, VecDeque};

use wiremend_units::{Span, Time};

use super::{Heard, RecoveryPolicy};
use crate::sr::board::Board;
use crate::sr::config::Config;

/// Packets that have to arrive behind a hole before it counts without seen disorder (§6.2.5, `DupThresh`).
const ENOUGH_BEHIND: u64 = 3;
/// Recoveries without a duplicate after which the reordering window is small again (§6.2.4).
const PERSIST: u8 = 16;

#[derive(Clone, Debug, Default)]
pub(in crate::sr) struct RackTlp {
    /// By number from `base` on: what is known of each packet that was sent.
    records: VecDeque<Record>,
    base: u64,
    /// Transmissions in the order of time; some have been overtaken by events.
    order: VecDeque<(Time, u64)>,
    /// Lost and not sent again.
    lost: BTreeSet<u64>,
    /// The packet sent last among those that have arrived, and its round trip.
    latest: (Time, u64),
    rtt: Span,
    rtt_min: Option<Span>,
    /// Smoothed round trip and its variation (RFC 6298), once there was a measurement.
    smooth: Option<(Span, Span)>,
    /// The number behind the highest that has arrived.
    forward: u64,
    disorder_seen: bool,
    /// The reordering window in quarters of the least round trip.
    quarters: u32,
    persist: u8,
    /// A duplicate has counted; others do when everything before this number has arrived.
    round_end: Option<u64>,
    recovery_end: Option<u64>,
    /// When a packet that has been waited for becomes lost.
    reorder_due: Option<Time>,
    probe_due: Option<Time>,
    /// The number of a probe that is to be sent, and that of one that was.
    probe: Option<u64>,
    probed: Option<u64>,
    pub(super) probes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    sent: Time,
    again: bool,
    arrived: bool,
}

impl RackTlp {
    /// What it keeps for each packet: its record, and its place in the order of time.
    pub(super) const PACKET_BYTES: u64 = (size_of::<Record>() + size_of::<(Time, u64)>()) as u64;

    fn record(&mut self, seq: u64) -> Option<&mut Record> {
        let index = seq.checked_sub(self.base)?;
        self.records.get_mut(index as usize)
    }

    /// A packet has arrived, which was not known (§6.2, steps 1 to 3).
    fn on_arrival(&mut self, now: Time, seq: u64) {
        let Some(record) = self.record(seq) else { return };
        if record.arrived {
            return;
        }
        record.arrived = true;
        let Record { sent, again, .. } = *record;
        self.lost.remove(&seq);
        let rtt = now.since(sent);
        if again && self.rtt_min.is_some_and(|least| rtt < least) {
            // The acknowledgement is that of an earlier transmission.
            return;
        }
        if !again {
            self.measure(rtt);
            self.disorder_seen |= seq < self.forward;
        }
        self.forward = self.forward.max(seq + 1);
        if (sent, seq) >= self.latest {
            self.latest = (sent, seq);
            self.rtt = rtt;
        }
    }

    /// RFC 6298 §2, with gains of an eighth and a quarter.
    fn measure(&mut self, rtt: Span) {
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        self.smooth = Some(match self.smooth {
            None => (rtt, rtt / 2),
            Some((smooth, variation)) => {
                let off = if rtt > smooth { rtt - smooth } else { smooth - rtt };
                ((smooth * 7 + rtt) / 8, (variation * 3 + off) / 4)
            }
        });
    }

    /// §6.2, step 4.
    fn reorder_window(&self, board: &Board) -> Span {
        if !self.disorder_seen && (self.recovery_end.is_some() || board.sacked() >= ENOUGH_BEHIND) {
            return Span::ZERO;
        }
        let Some((smooth, _)) = self.smooth else { return Span::ZERO };
        let least = self.rtt_min.unwrap_or(smooth);
        (least * u64::from(self.quarters.max(1)) / 4).min(smooth)
    }

    /// A duplicate shows that something was sent again in vain; at most one counts in a round trip.
    fn on_duplicate(&mut self, board: &Board, seq: Option<u64>) {
        // A probe is meant to be one.
        if seq.is_some() && seq == self.probed || self.round_end.is_some_and(|end| board.una < end) {
            return;
        }
        self.round_end = Some(board.next);
        self.quarters = self.quarters.max(1).saturating_add(1);
        self.persist = PERSIST;
    }

    fn leave_recovery(&mut self, board: &Board) {
        if self.recovery_end.is_none_or(|end| board.una < end) {
            return;
        }
        self.recovery_end = None;
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// §6.2, step 5. Transmissions are looked at in the order of time, so that the first one that is not lost ends it.
    fn detect(&mut self, board: &Board, now: Time) {
        self.reorder_due = None;
        let wait = self.rtt + self.reorder_window(board);
        while let Some(&(sent, seq)) = self.order.front() {
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
                self.lose(board, seq);
            }
            self.order.pop_front();
        }
    }

    fn lose(&mut self, board: &Board, seq: u64) {
        self.lost.insert(seq);
        self.recovery_end.get_or_insert(board.next);
    }

    /// A probe is due when nothing is heard of the tail for two round trips (§7.2).
    fn schedule_probe(&mut self, board: &Board, now: Time) {
        let quiet = self.recovery_end.is_none() && self.lost.is_empty() && board.sacked() == 0;
        let wanted = quiet && self.probed.is_none() && board.outstanding() > 0;
        let wait = self.smooth.filter(|_| wanted).map(|(smooth, _)| smooth * 2);
        self.probe_due = wait.map(|wait| now.saturating_add(wait));
    }
}

impl RecoveryPolicy for RackTlp {
    fn on_sent(&mut self, board: &Board, now: Time, seq: u64, again: bool) {
        if again {
            self.lost.remove(&seq);
            if let Some(record) = self.record(seq) {
                *record = Record { sent: now, again: true, arrived: false };
            }
            if self.probe.take() == Some(seq) {
                self.probed = Some(seq);
                self.probes += 1;
            }
        } else {
            self.records.push_back(Record { sent: now, again: false, arrived: false });
            self.schedule_probe(board, now);
        }
        self.order.push_back((now, seq));
    }

    fn on_heard(&mut self, _: &Config, board: &Board, now: Time, heard: &Heard) {
        for seq in heard.una_before..board.una {
            self.on_arrival(now, seq);
        }
        if let Some(seq) = heard.arrived.filter(|seq| *seq >= board.una) {
            self.on_arrival(now, seq);
        }
        if heard.said.duplicate {
            self.on_duplicate(board, heard.arrived);
        }
        let gone = (board.una - self.base) as usize;
        self.records.drain(..gone.min(self.records.len()));
        self.base = board.una;
        self.probed = self.probed.filter(|seq| *seq >= board.una);
        self.probe = self.probe.filter(|seq| *seq >= board.una);
        self.leave_recovery(board);
        self.detect(board, now);
        if board.una > heard.una_before || heard.is_news {
            self.schedule_probe(board, now);
        }
    }

    /// The oldest is lost, and what would be by its time (§6.3).
    fn on_expiry(&mut self, _: &Config, board: &Board, now: Time) {
        let wait = self.rtt + self.reorder_window(board);
        for seq in board.una..board.next {
            let late = self.record(seq).is_some_and(|record| {
                !record.arrived && (seq == board.una || record.sent.saturating_add(wait) <= now)
            });
            if late {
                self.lost.insert(seq);
            }
        }
        self.recovery_end = Some(board.next);
        (self.probe, self.probed, self.probe_due) = (None, None, None);
    }

    fn again(&self, board: &Board) -> Option<u64> {
        let lost = self.lost.first().copied().or(self.probe);
        lost.filter(|seq| *seq >= board.una && *seq < board.next)
    }

    fn rto(&self, config: &Config, _: &Board) -> Span {
        self.smooth
            .map_or(config.rto_high, |(smooth, variation)| (smooth + variation * 4).max(config.rto_low))
    }

    fn due(&self) -> Time {
        let due = [self.reorder_due, self.probe_due].into_iter().flatten().min();
        due.unwrap_or(Time::MAX)
    }

    fn on_timer(&mut self, _: &Config, board: &Board, now: Time) -> bool {
        if self.reorder_due.is_some_and(|due| due <= now) {
            self.detect(board, now);
        }
        if self.probe_due.is_none_or(|due| due > now) {
            return false;
        }
        self.probe_due = None;
        self.probe = (board.outstanding() > 0).then(|| board.next - 1);
        true
    }
}
