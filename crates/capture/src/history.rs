//! The requests that a tap has seen of one flow, in order of their PSNs.

use std::collections::VecDeque;

use wiremend_wire::Opcode;

use crate::record::Record;

/// A request and its transmissions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) psn: i64,
    /// Number of PSNs: more than one for a READ.
    pub(crate) span: u32,
    pub(crate) op: Opcode,
    pub(crate) ack_request: bool,
    /// First transmission that the tap has seen.
    pub(crate) frame: u64,
    pub(crate) ns: i64,
    /// Time of the last transmission.
    pub(crate) last_ns: i64,
    /// IP identification of the last transmission.
    pub(crate) ip_id: u16,
    pub(crate) times: u32,
}

/// Requests of one flow: those outstanding and some before.
#[derive(Default)]
pub(crate) struct History {
    sent: VecDeque<Sent>,
}

/// Requests of one flow that are kept; the oldest are forgotten.
const KEPT_MAX: usize = 4096;
/// Acknowledged requests that are kept: they may be sent again if the acknowledgement is lost.
const ACKNOWLEDGED_MAX: usize = 512;
/// The same while all flows together keep many.
const ACKNOWLEDGED_MAX_WHEN_FULL: usize = 4;
/// Requests of all flows that are kept before they are kept more briefly.
const ALL_KEPT_MAX: usize = 400_000;

impl History {
    /// The request that covers a PSN.
    pub(crate) fn covering(&self, psn: i64) -> Option<&Sent> {
        let at = self.sent.partition_point(|sent| sent.psn <= psn).checked_sub(1)?;
        let sent = &self.sent[at];
        (psn < sent.psn + i64::from(sent.span)).then_some(sent)
    }

    /// The request with exactly this PSN.
    pub(crate) fn at(&mut self, psn: i64) -> Option<&mut Sent> {
        let at = self.sent.binary_search_by_key(&psn, |sent| sent.psn).ok()?;
        self.sent.get_mut(at)
    }

    /// The neighbours of a PSN that was not seen.
    pub(crate) fn around(&self, psn: i64) -> (Option<&Sent>, Option<&Sent>) {
        let at = self.sent.partition_point(|sent| sent.psn < psn);
        (at.checked_sub(1).and_then(|before| self.sent.get(before)), self.sent.get(at))
    }

    pub(crate) fn last(&self) -> Option<&Sent> {
        self.sent.back()
    }

    /// Requests with a PSN from `from` on.
    pub(crate) fn since(&self, from: i64) -> impl Iterator<Item = &Sent> {
        let at = self.sent.partition_point(|sent| sent.psn + i64::from(sent.span) <= from);
        self.sent.range(at..)
    }

    /// Adds a request that was not seen before. `all` counts the requests of all flows.
    pub(crate) fn add(&mut self, psn: i64, span: u32, record: &Record, una: i64, all: &mut usize) {
        let sent = Sent {
            psn,
            span,
            op: record.op,
            ack_request: record.ack_request,
            frame: record.frame,
            ns: record.time_ns,
            last_ns: record.time_ns,
            ip_id: record.ip_id,
            times: 1,
        };
        let at = self.sent.partition_point(|sent| sent.psn < psn);
        self.sent.insert(at, sent);
        *all += 1;
        let is_full = *all > ALL_KEPT_MAX;
        let acknowledged_max = if is_full { ACKNOWLEDGED_MAX_WHEN_FULL } else { ACKNOWLEDGED_MAX };
        let total_max = if is_full { 2 * ACKNOWLEDGED_MAX_WHEN_FULL } else { KEPT_MAX };
        while self.sent.len() > total_max
            || self.sent.get(acknowledged_max).is_some_and(|sent| sent.psn + i64::from(sent.span) <= una)
        {
            self.sent.pop_front();
            *all -= 1;
        }
    }
}
