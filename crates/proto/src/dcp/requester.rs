//! The requester: sends each packet with its memory position, and again when its header is returned.

use std::collections::VecDeque;

use wiremend_units::{Psn, QpNum, Span, Time};

use super::config::{Config, Parameters};
use super::counters::SenderCounters;
use super::credit::Credit;
use super::packet::{Data, Packet, ReceiverProgress, widen};
use super::read_sink::ReadSink;
use super::retrans_queue::{Entry, RetransQueue};
use super::send_units::SendUnits;
use crate::engine::{
    self, Completion, Expiry, Op, Purpose, ReadPlacement, RequesterCounters, Status, Transmit, Work,
};

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Requester {
    pub(super) units: SendUnits,
    pub(super) queue: RetransQueue,
    /// Units that are being resent.
    replays: VecDeque<u64>,
    pub(super) credit: Credit,
    /// The receiving half for the data of READs; `None` before the first.
    reads: Option<Box<ReadSink>>,
    /// Everything before this number has arrived.
    floor: u64,
    counters: RequesterCounters,
    pub(super) dcp_counters: SenderCounters,
    peer: QpNum,
    first: Psn,
    /// Time of the last probe.
    pub(super) last_probe: Time,
    /// Time since which nothing is in flight and the oldest unit waits for the host; its timers are stopped
    /// meanwhile.
    pub(super) held_since: Option<Time>,
    /// The timeout, and the quiet time before a probe.
    timeout: Option<Span>,
    pub(super) quiet_time: Option<Span>,
    /// Packets since the last one that requested an acknowledgement.
    since_ack_req: u32,
    /// Limit of outstanding packets set by congestion control.
    cc_window: u32,
    /// Whether a probe is to be sent.
    pub(super) probe_due: bool,
    /// Probes since the last response.
    pub(super) unanswered_probes: u8,
    /// Packets that had arrived at the last transmission. If none arrives, retransmissions do not restart the
    /// timer.
    arrived: u32,
    /// Rounds started by the timer, and in `recounts` by the receiver, since the last acknowledged unit.
    retries: u8,
    pub(super) recounts: u8,
    pub(super) failed: Option<Status>,
}

/// Limit of recounts without progress: a network that duplicates more packets is broken.
const RECOUNTS_MAX: u8 = 64;
/// Limit of the doublings of the wait before a probe.
pub(super) const PROBE_DOUBLINGS_MAX: u8 = 8;

impl Requester {
    /// Creates a requester whose packets start at PSN `first`.
    pub fn new(peer: QpNum, first: Psn) -> Self {
        Self {
            units: SendUnits::default(),
            queue: RetransQueue::default(),
            replays: VecDeque::new(),
            credit: Credit::default(),
            reads: None,
            floor: 0,
            counters: RequesterCounters::default(),
            dcp_counters: SenderCounters::default(),
            peer,
            first,
            last_probe: Time::ZERO,
            held_since: None,
            timeout: None,
            quiet_time: None,
            since_ack_req: 0,
            cc_window: u32::MAX,
            probe_due: false,
            unanswered_probes: 0,
            arrived: 0,
            retries: 0,
            recounts: 0,
            failed: None,
        }
    }
}

impl engine::Requester for Requester {
    type Config = Config;
    type Packet = Packet;

    fn post(&mut self, config: &Config, _now: Time, work: Work) {
        self.timeout = config.base.timeout;
        self.quiet_time = config.parameters.hints.and_then(|hints| hints.probe_after);
        if work.op == Op::Read {
            let reads =
                self.reads.get_or_insert_with(|| Box::new(ReadSink::new(config, self.peer, self.first)));
            reads.post(&work);
        }
        self.units.push(config, work);
    }

    #[inline]
    fn ready(&self, config: &Config, now: Time) -> bool {
        if self.failed.is_some() {
            return false;
        }
        if self.reads.as_ref().is_some_and(|reads| reads.has_output()) {
            return true;
        }
        let is_fetched = self.queue.is_ready(now);
        let has_packet = || is_fetched || !self.replays.is_empty() || self.has_new(&config.parameters);
        self.probe_due || self.is_urgent(config, now) || self.is_open(config) && has_packet()
    }

    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        if !self.ready(config, now) {
            return None;
        }
        if let Some(packet) = self.reads.as_mut().and_then(|reads| reads.poll_transmit(config)) {
            return Some(Transmit { packet, work: 0, offset: 0, copy: 0, path: 0, purpose: Purpose::New });
        }
        if std::mem::take(&mut self.probe_due)
            && let Some(probe) = self.probe(config, now)
        {
            return Some(probe);
        }
        let (is_open, fetch) = (self.is_open(config), &config.parameters.fetch);
        if (is_open || fetch.per_header)
            && let Some(entry) = self.queue.pop(fetch, now)
        {
            return Some(self.data(config, now, entry, Purpose::Retransmission));
        }
        if !is_open {
            return None;
        }
        if let Some(entry) = self.next_replay() {
            return Some(self.data(config, now, entry, Purpose::Retransmission));
        }
        if !self.has_new(&config.parameters) {
            return None;
        }
        let seq = self.units.next;
        if self.units.next_is_read()
            && let Some(reads) = &mut self.reads
        {
            reads.on_request_sent(now);
        }
        let (unit, _) = self.units.current()?;
        self.units.advance();
        Some(self.data(config, now, Entry { seq, unit }, Purpose::New))
    }

    fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> Option<ReadPlacement> {
        match packet {
            _ if self.failed.is_some() || !packet.is_for_requester() => self.counters.ignored += 1,
            Packet::Data(data) if data.is_read_data() => return self.on_read_data(config, now, data),
            Packet::Data(data) if data.shape().is_some() => self.on_returned(config, now, data),
            Packet::Data(_) => self.counters.ignored += 1,
            Packet::Ack(ack) => {
                if self.on_progress(config, now, &ack.progress, Some(ack.pulls)) {
                    let seq = widen(self.floor, ack.psn.distance(self.first) as u32);
                    let floor = seq.filter(|seq| *seq <= self.units.next);
                    self.floor = self.floor.max(floor.unwrap_or(0));
                    self.credit.on_floor(self.floor);
                }
            }
            Packet::Missing(missing) => {
                if self.on_progress(config, now, &missing.progress, None) {
                    self.on_missing(config, now, missing.psn, missing.map());
                }
            }
            Packet::Recount(recount) => {
                if self.on_progress(config, now, &recount.progress, None) {
                    self.on_recount(config, now, recount.psn, recount.round);
                }
            }
        }
        self.update_hold(config, now);
        None
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        if self.failed.is_some() {
            return None;
        }
        let mut next = self.queue.next_timeout();
        if let Some(reads) = &self.reads {
            next = next.min(reads.give_up_at());
        }
        if let Some(unit) = self.timed_unit() {
            next = next.min(after(unit.timer_start, self.timeout)).min(self.probe_at(unit.last_activity));
        }
        (next != Time::MAX).then_some(next)
    }

    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.failed.is_some() {
            return None;
        }
        self.queue.advance(&config.parameters.fetch, now);
        if self.reads.as_ref().is_some_and(|reads| reads.give_up_at() <= now) {
            return self.give_up_reads();
        }
        let oldest = *self.timed_unit()?;
        if now < after(oldest.timer_start, self.timeout) {
            if now >= self.probe_at(oldest.last_activity) {
                self.on_quiet(config, now);
            }
            return None;
        }
        self.counters.timeouts += 1;
        let expiry = Expiry {
            oldest: self.psn(self.floor.max(oldest.first)),
            resume: self.psn(oldest.first),
            end: self.psn(self.units.next),
            work: oldest.work,
            op: oldest.op,
            nak_received: self.counters.retransmitted_packets > 0,
            dummy: false,
            fatal: config.base.is_last_retry(self.retries),
            path: 0,
        };
        if expiry.fatal {
            self.fail(Status::RetryExceeded);
            return Some(expiry);
        }
        self.retries += 1;
        self.restart_timed_out(config, now);
        self.update_hold(config, now);
        Some(expiry)
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        let has_data = || self.reads.as_mut().is_some_and(|reads| reads.take_complete());
        // What was acknowledged behind a READ that has failed is flushed with it.
        if self.failed != Some(Status::Flushed)
            && let Some(id) = self.units.pop_done(has_data)
        {
            return Some(Completion { id, status: Status::Success });
        }
        let status = self.failed?;
        let id = self.units.pop_failed()?;
        self.failed = Some(Status::Flushed);
        Some(Completion { id, status })
    }

    #[inline]
    fn set_window(&mut self, window: u32) {
        self.cc_window = window;
    }

    #[inline]
    fn is_idle(&self) -> bool {
        let has_reads = || self.reads.as_ref().is_some_and(|reads| !reads.is_idle());
        self.units.oldest().is_none() && !has_reads() || self.is_error()
    }

    #[inline]
    fn is_error(&self) -> bool {
        self.failed.is_some()
    }

    #[inline]
    fn messages(&self) -> u64 {
        self.units.messages
    }

    /// Packets sent, copies included.
    #[inline]
    fn next_number(&self) -> u64 {
        self.credit.sent
    }

    /// Packets that arrived, complete or trimmed, or were written off: all packets sent except those in
    /// flight. The data of READs count too.
    #[inline]
    fn acknowledged(&self) -> u64 {
        let received = self.reads.as_ref().map_or(0, |reads| reads.packets());
        self.credit.sent - self.credit.in_flight() + received
    }

    #[inline]
    fn counters(&self) -> RequesterCounters {
        self.counters
    }
}

impl Requester {
    /// Packets that may be in flight now; `None` if the receiver pulls each.
    pub fn window(&self, config: &Config) -> Option<u64> {
        let is_window = config.parameters.flow_control == super::FlowControl::Window;
        is_window.then(|| u64::from(config.base.window.min(self.cc_window)))
    }

    /// Returns whether a returned header sends a packet now, whatever congestion control permits.
    #[inline]
    pub fn is_urgent(&self, config: &Config, now: Time) -> bool {
        config.parameters.fetch.per_header && self.queue.is_ready(now)
    }

    #[inline]
    pub(super) fn is_open(&self, config: &Config) -> bool {
        self.credit.is_open(config.parameters.flow_control, config.base.window.min(self.cc_window))
    }

    /// Returns whether the receiver has room for a new packet.
    #[inline]
    pub(super) fn has_new(&self, parameters: &Parameters) -> bool {
        let SendUnits { next, end_seq, .. } = self.units;
        next < end_seq
            && self.units.started() < parameters.units_max as usize
            && next - self.floor < parameters.tracking.span()
            && !self.reads.as_ref().is_some_and(|reads| reads.is_full() && self.units.next_is_read())
    }

    /// Returns the next packet of a unit that is being resent. Packets of it that were never sent follow as
    /// new ones.
    fn next_replay(&mut self) -> Option<Entry> {
        let number = *self.replays.front()?;
        let next = self.units.next;
        let unit = self.units.get_mut(number).expect("acknowledged units are not resent");
        let seq = unit.replay_next;
        unit.replay_next += 1;
        if unit.replay_next >= unit.end().min(next) {
            unit.replay_next = u64::MAX;
            self.replays.pop_front();
        }
        Some(Entry { seq, unit: number })
    }

    fn data(&mut self, config: &Config, now: Time, entry: Entry, purpose: Purpose) -> Transmit<Packet> {
        self.end_hold(now);
        let arrives = std::mem::replace(&mut self.arrived, self.credit.arrived()) != self.credit.arrived();
        let unit = self.units.get_mut(entry.unit).expect("the unit of a packet is not acknowledged");
        unit.last_activity = now;
        if purpose == Purpose::New || arrives {
            unit.timer_start = now;
        }
        let unit = *unit;
        self.credit.on_send();
        let (data, offset) = unit.packet(config, self.peer, self.psn(entry.seq), entry);
        self.since_ack_req += 1;
        let is_last = entry.seq + 1 == unit.end();
        // If packets are only counted, responses acknowledge complete units only.
        if purpose == Purpose::New && (is_last || config.parameters.tracking.has_bits()) {
            self.credit.mark(entry.seq + 1);
        }
        let ack_req = is_last
            || purpose == Purpose::Retransmission
            || self.since_ack_req >= config.base.ack_every
            || !self.is_open(config)
            || !self.has_new(&config.parameters);
        if ack_req {
            self.since_ack_req = 0;
        }
        self.counters.packets += 1;
        if purpose == Purpose::Retransmission {
            self.counters.retransmitted_packets += 1;
            self.counters.retransmitted_bytes += u64::from(data.payload_len);
        }
        let copy = unit.round.saturating_add(u8::from(purpose == Purpose::Retransmission && unit.round == 0));
        let packet = Packet::Data(data.with_ack_req(ack_req));
        Transmit { packet, work: unit.work, offset, copy, path: 0, purpose }
    }

    /// Builds a probe for the oldest unit: the header of its last transmitted packet. It travels in the data
    /// queue, after the packets that it probes for.
    fn probe(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        let unit = *self.units.oldest()?;
        let seq = unit.end().min(self.units.next).checked_sub(1).filter(|seq| *seq >= unit.first)?;
        self.last_probe = now;
        self.unanswered_probes = (self.unanswered_probes + 1).min(PROBE_DOUBLINGS_MAX);
        self.dcp_counters.probes += 1;
        self.counters.packets += 1;
        let entry = Entry { seq, unit: self.units.acknowledged };
        let (data, offset) = unit.packet(config, self.peer, self.psn(seq), entry);
        let packet = Packet::Data(data.as_probe().with_ack_req(true));
        Some(Transmit { packet, work: unit.work, offset, copy: unit.round, path: 0, purpose: Purpose::Dummy })
    }

    fn on_returned(&mut self, config: &Config, now: Time, data: &Data) {
        if data.is_probe() {
            self.unanswered_probes = self.unanswered_probes.saturating_sub(1);
            return;
        }
        self.dcp_counters.headers_returned += 1;
        self.credit.on_returned();
        let (number, round) = data.unit();
        let seq =
            widen(self.floor, data.psn.distance(self.first) as u32).filter(|seq| *seq < self.units.next);
        let entry = seq.zip(widen(self.units.acknowledged, number)).map(|(seq, unit)| Entry { seq, unit });
        let unit = entry.and_then(|entry| self.units.get_mut(entry.unit).map(|unit| (entry, unit)));
        match unit {
            // Packets of an earlier round are not needed.
            Some((entry, unit)) if unit.round == round && unit.contains(entry.seq) => {
                unit.last_activity = now;
                self.queue.push(&config.parameters.fetch, now, entry);
            }
            _ => self.counters.ignored += 1,
        }
    }

    /// Returns the packet of a PSN, if it was sent and its unit is not acknowledged.
    fn entry(&self, psn: Psn) -> Option<Entry> {
        let seq = widen(self.floor, psn.distance(self.first) as u32)?;
        self.units.owner(seq).map(|unit| Entry { seq, unit })
    }

    /// Handles data of a READ, complete or trimmed.
    fn on_read_data(&mut self, config: &Config, now: Time, data: &Data) -> Option<ReadPlacement> {
        let Some(reads) = &mut self.reads else {
            self.counters.ignored += 1;
            return None;
        };
        match reads.on_data(config, now, data) {
            Ok(placement) => placement,
            Err(status) => {
                self.fail(status);
                None
            }
        }
    }

    /// Gives up: the peer, which has the timer of the data, has stopped retransmitting them.
    fn give_up_reads(&mut self) -> Option<Expiry> {
        let work = self.reads.as_ref()?.oldest()?;
        self.counters.timeouts += 1;
        self.fail(Status::RetryExceeded);
        let end = self.psn(self.units.next);
        let (nak_received, dummy, fatal) = (false, false, true);
        Some(Expiry {
            oldest: end,
            resume: end,
            end,
            work,
            op: Op::Read,
            nak_received,
            dummy,
            fatal,
            path: 0,
        })
    }

    /// Handles the receiver's progress. Returns false if it is impossible.
    fn on_progress(
        &mut self,
        config: &Config,
        now: Time,
        progress: &ReceiverProgress,
        pulls: Option<u32>,
    ) -> bool {
        let Some(expected) = widen(self.units.acknowledged, progress.expected_unit) else {
            self.counters.ignored += 1;
            return false;
        };
        self.unanswered_probes = 0;
        self.credit.on_progress(progress, pulls);
        if self.units.acknowledge(expected) {
            self.on_acknowledged(config, now);
        }
        true
    }

    fn on_acknowledged(&mut self, config: &Config, now: Time) {
        let acknowledged = self.units.acknowledged;
        (self.retries, self.recounts) = (0, 0);
        self.probe_due = false;
        self.held_since = None;
        let first = self.units.oldest().map_or(self.units.end_seq, |unit| unit.first);
        self.floor = self.floor.max(first);
        if !self.queue.is_empty() {
            self.queue.retain(&config.parameters.fetch, now, |entry| entry.unit >= acknowledged);
        }
        self.replays.retain(|unit| *unit >= acknowledged);
        if first == self.units.next {
            self.credit.reset();
        }
    }

    /// Handles a report of packets that arrived neither complete nor trimmed.
    fn on_missing(&mut self, config: &Config, now: Time, psn: Psn, map: u64) {
        self.counters.naks += 1;
        let others = (0..u64::BITS).filter(|bit| map >> bit & 1 == 1).map(|bit| bit + 1);
        let mut lost = 0;
        for step in std::iter::once(0).chain(others) {
            let Some(entry) = self.entry(psn.ahead(step)) else { continue };
            let Some(unit) = self.units.get_mut(entry.unit) else { continue };
            let replayed = unit.replay_next <= entry.seq;
            if !replayed && !self.queue.contains(entry) {
                unit.last_activity = now;
                self.queue.push(&config.parameters.fetch, now, entry);
                lost += 1;
            }
        }
        self.dcp_counters.reported_missing += lost;
        self.credit.on_lost(lost);
    }

    /// Handles a recount request: a duplicate made the responder's count of the unit wrong, so all of it is resent.
    fn on_recount(&mut self, config: &Config, now: Time, psn: Psn, round: u8) {
        let current = self.entry(psn).filter(|entry| entry.unit == self.units.acknowledged);
        let unit = current.and_then(|entry| self.units.get_mut(entry.unit));
        if unit.is_none_or(|unit| unit.round != round) {
            self.counters.ignored += 1;
            return;
        }
        self.recounts += 1;
        if self.recounts > RECOUNTS_MAX {
            self.fail(Status::RetryExceeded);
            return;
        }
        self.counters.naks += 1;
        self.dcp_counters.recounts += 1;
        let number = self.units.acknowledged;
        self.restart(config, now, number);
        self.credit.reset();
    }

    /// Starts a new round of a unit: every packet of it that was sent is resent.
    pub(super) fn restart(&mut self, config: &Config, now: Time, number: u64) {
        let Some(unit) = self.units.get_mut(number) else { return };
        unit.round = unit.round.wrapping_add(1);
        (unit.last_activity, unit.timer_start) = (now, now);
        unit.replay_next = unit.first;
        self.queue.retain(&config.parameters.fetch, now, |entry| entry.unit != number);
        if !self.replays.contains(&number) {
            self.replays.push_back(number);
        }
    }
}

/// Results.
impl Requester {
    /// Addresses that the next response and the next new packet need, for hosts that prefetch.
    #[inline]
    pub fn next_addresses(&self) -> impl Iterator<Item = *const u8> {
        self.units.next_addresses()
    }

    /// Packets in flight.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.credit.in_flight() as u32
    }

    /// The receiving half for the data of READs.
    pub fn reads(&self) -> Option<&super::Responder> {
        self.reads.as_ref().map(|reads| reads.receiver())
    }

    /// Counters of trimming transports.
    pub fn dcp_counters(&self) -> SenderCounters {
        SenderCounters { fetches: self.queue.fetches, batch_max: self.queue.batch_max, ..self.dcp_counters }
    }

    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }
}

pub(super) fn after(time: Time, span: Option<Span>) -> Time {
    span.map_or(Time::MAX, |span| time.saturating_add(span))
}
