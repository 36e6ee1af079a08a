//! The requester's half of READs: it receives their data.

use std::collections::VecDeque;

use wiremend_units::{Psn, QpNum, Span, Time};

use super::config::Config;
use super::packet::{Data, Packet, PayloadTarget, widen};
use super::responder::Responder;
use crate::engine::{ReadPlacement, RequestOutcome, Responder as _, Status, Work};

/// Posted READs that were not reported complete, and the receiving half for their data.
#[derive(Clone, Debug)]
pub(super) struct ReadSink {
    receiver: Responder,
    /// Identifier and length of each, oldest first.
    posted: VecDeque<(u64, u32)>,
    /// Totals of READs that were requested, whose data are complete, and that were reported so.
    requested: u64,
    complete: u64,
    reported: u64,
    /// Limit of READs that are requested and not complete.
    open_max: u64,
    /// Time of the last data, or of the first request since all were complete.
    active_at: Time,
    /// The peer retransmits no longer than this; `None`: it never stops.
    patience: Option<Span>,
}

impl ReadSink {
    pub(super) fn new(config: &Config, peer: QpNum, first: Psn) -> Self {
        let base = &config.base;
        let is_endless = base.retry_count == crate::rc::Config::RETRY_INFINITE;
        let timeouts = u64::from(base.retry_count) + 2;
        Self {
            receiver: Responder::new(config, peer, first),
            posted: VecDeque::new(),
            requested: 0,
            complete: 0,
            reported: 0,
            open_max: u64::from(base.reads_max),
            active_at: Time::ZERO,
            patience: base.timeout.filter(|_| !is_endless).map(|timeout| timeout * timeouts),
        }
    }

    pub(super) fn post(&mut self, work: &Work) {
        self.posted.push_back((work.id, work.len));
    }

    /// Returns whether no further READ may be requested.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.requested - self.complete >= self.open_max
    }

    pub(super) fn on_request_sent(&mut self, now: Time) {
        if self.requested == self.complete {
            self.active_at = now;
        }
        self.requested += 1;
    }

    /// Takes data, complete or trimmed. Returns where the payload goes, or why the connection fails.
    pub(super) fn on_data(
        &mut self,
        config: &Config,
        now: Time,
        data: &Data,
    ) -> Result<Option<ReadPlacement>, Status> {
        let Some((number, work, len)) = self.posted_read(data) else { return Ok(None) };
        let PayloadTarget::Buffer { offset, .. } = data.target() else { return Ok(None) };
        if u64::from(offset) + u64::from(data.payload_len) > u64::from(len) {
            return Err(Status::RemoteOperation);
        }
        self.active_at = now;
        let outcome = self.receiver.on_packet(config, now, &Packet::Data(data.as_send()));
        while let Some(message) = self.receiver.poll_message() {
            let expected = self.posted.get((self.complete - self.reported) as usize);
            if expected.is_none_or(|(_, len)| *len != message.len) {
                return Err(Status::RemoteOperation);
            }
            self.complete += 1;
        }
        let is_new = number >= self.reported && matches!(outcome, RequestOutcome::Accepted { .. });
        let has_payload = is_new && data.payload_len > 0;
        Ok(has_payload.then_some(ReadPlacement { work, offset, len: data.payload_len }))
    }

    /// Returns number, identifier and length of the READ that data are for. Data of a READ that was reported have no
    /// place, but the peer must get an acknowledgement.
    fn posted_read(&self, data: &Data) -> Option<(u64, u64, u32)> {
        let PayloadTarget::Buffer { number, .. } = data.target() else { return None };
        let number = widen(self.reported, number).filter(|number| *number < self.requested)?;
        let index = number.checked_sub(self.reported);
        let (work, len) = index.and_then(|index| self.posted.get(index as usize)).unwrap_or(&(0, u32::MAX));
        Some((number, *work, *len))
    }

    #[inline]
    pub(super) fn has_output(&self) -> bool {
        self.receiver.has_output()
    }

    pub(super) fn poll_transmit(&mut self, config: &Config) -> Option<Packet> {
        let mut packet = self.receiver.poll_transmit(config)?;
        match &mut packet {
            Packet::Data(data) => *data = data.into_read_data(),
            Packet::Ack(ack) => ack.progress = ack.progress.of_reader(),
            Packet::Missing(missing) => missing.progress = missing.progress.of_reader(),
            Packet::Recount(recount) => recount.progress = recount.progress.of_reader(),
        }
        Some(packet)
    }

    /// Returns whether the data of the oldest READ are complete; then it is reported.
    pub(super) fn take_complete(&mut self) -> bool {
        let is_complete = self.complete > self.reported;
        if is_complete {
            self.posted.pop_front();
            self.reported += 1;
        }
        is_complete
    }

    /// Time at which the peer has certainly stopped retransmitting.
    #[inline]
    pub(super) fn give_up_at(&self) -> Time {
        match self.patience {
            Some(patience) if self.requested > self.complete => self.active_at.saturating_add(patience),
            _ => Time::MAX,
        }
    }

    /// Identifier of the oldest READ whose data are not complete.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.posted.get((self.complete - self.reported) as usize).map(|(work, _)| *work)
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.oldest().is_none() && !self.receiver.has_output()
    }

    /// Packets of data that arrived.
    pub(super) fn packets(&self) -> u64 {
        self.receiver.counters().accepted
    }

    pub(super) const fn receiver(&self) -> &Responder {
        &self.receiver
    }
}
