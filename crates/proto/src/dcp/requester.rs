//! The requester: sends each packet with its own place, and again when its header comes back.

use std::collections::VecDeque;

use wiremend_units::{Psn, QpNum, Span, Time};

use super::config::{Config, Parameters};
use super::counters::Sender;
use super::credit::Credit;
use super::outgoing::{Outgoing, Unit};
use super::packet::{Data, Packet, Progress, UNIT_MASK, widen};
use super::retrans_queue::{Entry, RetransQueue};
use crate::engine::{self, Arrival, Completion, Expiry, Purpose, RequesterCounters, Status, Transmit, Work};

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Requester {
    outgoing: Outgoing,
    queue: RetransQueue,
    /// Units that are sent anew.
    replays: VecDeque<u64>,
    credit: Credit,
    /// Before this number, everything is there.
    floor: u64,
    counters: RequesterCounters,
    seen: Sender,
    peer: QpNum,
    first: Psn,
    /// When the last question was sent.
    asked: Time,
    /// Since when nothing is under way and the oldest unit waits here for its host to take it; its timers stand still then.
    held: Option<Time>,
    /// The timeout, and the quiet time before a question.
    timeout: Option<Span>,
    quiet: Option<Span>,
    /// Packets since the last one that asked for an acknowledgement.
    unasked: u32,
    /// Packets that congestion control lets be outstanding.
    allowed: u32,
    /// A question is to be sent.
    probe_due: bool,
    /// Questions since the last answer.
    unanswered: u8,
    /// Packets that had arrived when something was sent again last: where none does, the timer has to run.
    arrived: u32,
    /// Rounds that the timer started, and that the receiver asked for, since the last unit was acknowledged.
    retries: u8,
    recounts: u8,
    failed: Option<Status>,
}

/// Rounds that a receiver may ask for without progress: a network that doubles so many packets is broken.
const RECOUNTS_MAX: u8 = 64;
/// The wait before a question doubles as often at most.
const UNANSWERED_MAX: u8 = 8;

impl Requester {
    /// A requester that numbers its packets from `first`.
    pub fn new(peer: QpNum, first: Psn) -> Self {
        Self {
            outgoing: Outgoing::default(),
            queue: RetransQueue::default(),
            replays: VecDeque::new(),
            credit: Credit::default(),
            floor: 0,
            counters: RequesterCounters::default(),
            seen: Sender::default(),
            peer,
            first,
            asked: Time::ZERO,
            held: None,
            timeout: None,
            quiet: None,
            unasked: 0,
            allowed: u32::MAX,
            probe_due: false,
            unanswered: 0,
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
        self.quiet = config.parameters.hints.and_then(|hints| hints.probe_after);
        self.outgoing.push(config, work);
    }

    #[inline]
    fn ready(&self, config: &Config, now: Time) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let again = || self.queue.is_ready(now) || !self.replays.is_empty();
        self.probe_due || self.is_open(config) && (again() || self.has_new(&config.parameters))
    }

    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        if !self.ready(config, now) {
            return None;
        }
        if std::mem::take(&mut self.probe_due)
            && let Some(probe) = self.probe(config, now)
        {
            return Some(probe);
        }
        if !self.is_open(config) {
            return None;
        }
        if let Some(entry) = self.queue.pop(&config.parameters.fetch, now) {
            return Some(self.data(config, now, entry, Purpose::Again));
        }
        if let Some(entry) = self.next_replay() {
            return Some(self.data(config, now, entry, Purpose::Again));
        }
        if !self.has_new(&config.parameters) {
            return None;
        }
        let seq = self.outgoing.next;
        let (unit, _) = self.outgoing.current()?;
        self.outgoing.advance();
        Some(self.data(config, now, Entry { seq, unit }, Purpose::New))
    }

    fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> Option<Arrival> {
        match packet {
            _ if self.failed.is_some() => self.counters.ignored += 1,
            Packet::Data(data) if data.is_bounced() && data.shape().is_some() => {
                self.on_returned(config, now, data);
            }
            Packet::Data(_) => self.counters.ignored += 1,
            Packet::Ack(ack) => {
                if self.on_progress(config, now, &ack.progress, Some(ack.pulls)) {
                    let seq = widen(self.floor, ack.psn.distance(self.first) as u32);
                    let floor = seq.filter(|seq| *seq <= self.outgoing.next);
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
        self.note_hold(config, now);
        None
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        if self.failed.is_some() {
            return None;
        }
        let mut next = self.queue.next_timeout();
        if let Some(unit) = self.running() {
            next = next.min(after(unit.since, self.timeout)).min(self.probe_at(unit.touched));
        }
        (next != Time::MAX).then_some(next)
    }

    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.failed.is_some() {
            return None;
        }
        self.queue.advance(&config.parameters.fetch, now);
        let oldest = *self.running()?;
        if now < after(oldest.since, self.timeout) {
            if now >= self.probe_at(oldest.touched) {
                self.ask(config, now);
            }
            return None;
        }
        self.counters.timeouts += 1;
        let expiry = Expiry {
            oldest: self.psn(self.floor.max(oldest.first)),
            resume: self.psn(oldest.first),
            end: self.psn(self.outgoing.next),
            work: oldest.work,
            op: oldest.op,
            nak_received: self.counters.retransmitted_packets > 0,
            dummy: false,
            fatal: self.retries >= config.base.retry_count,
            path: 0,
        };
        if expiry.fatal {
            self.fail(Status::RetryExceeded);
            return Some(expiry);
        }
        self.retries += 1;
        self.restart_quiet(config, now);
        self.note_hold(config, now);
        Some(expiry)
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        if let Some(id) = self.outgoing.pop_done() {
            return Some(Completion { id, status: Status::Success });
        }
        let status = self.failed?;
        let id = self.outgoing.pop_failed()?;
        self.failed = Some(Status::Flushed);
        Some(Completion { id, status })
    }

    #[inline]
    fn allow(&mut self, window: u32) {
        self.allowed = window;
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.outgoing.oldest().is_none() || self.is_error()
    }

    #[inline]
    fn is_error(&self) -> bool {
        self.failed.is_some()
    }

    /// Work requests so far.
    #[inline]
    fn messages(&self) -> u64 {
        self.outgoing.messages
    }

    /// Packets sent, all copies: the number of the next one, as congestion control counts.
    #[inline]
    fn next_number(&self) -> u64 {
        self.credit.sent
    }

    /// Packets that came, whole or cut, or are given up: all that were sent but those under way.
    #[inline]
    fn acknowledged(&self) -> u64 {
        self.credit.sent - self.credit.in_flight()
    }

    #[inline]
    fn counters(&self) -> RequesterCounters {
        self.counters
    }
}

impl Requester {
    #[inline]
    fn is_open(&self, config: &Config) -> bool {
        self.credit.is_open(config.parameters.flow, config.base.window.min(self.allowed))
    }

    /// Whether a packet that was never sent may be, as far as the receiver's room goes.
    #[inline]
    fn has_new(&self, parameters: &Parameters) -> bool {
        let Outgoing { next, tail, .. } = self.outgoing;
        next < tail
            && self.outgoing.started() < parameters.units_max as usize
            && next - self.floor < parameters.tracking.span()
    }

    /// The next packet of a unit that is sent anew. What was never sent of it follows as new packets do.
    fn next_replay(&mut self) -> Option<Entry> {
        let number = *self.replays.front()?;
        let next = self.outgoing.next;
        let unit = self.outgoing.get_mut(number).expect("units that are done are not sent anew");
        let seq = unit.replay;
        unit.replay += 1;
        if unit.replay >= unit.end().min(next) {
            unit.replay = u64::MAX;
            self.replays.pop_front();
        }
        Some(Entry { seq, unit: number })
    }

    fn data(&mut self, config: &Config, now: Time, entry: Entry, purpose: Purpose) -> Transmit<Packet> {
        self.end_hold(now);
        let arrives = std::mem::replace(&mut self.arrived, self.credit.arrived()) != self.credit.arrived();
        let unit = self.outgoing.get_mut(entry.unit).expect("a packet is sent while its unit is not done");
        unit.touched = now;
        if purpose == Purpose::New || arrives {
            unit.since = now;
        }
        let unit = *unit;
        self.credit.on_send();
        let (data, offset) = unit.packet(config, self.peer, self.psn(entry.seq), entry);
        self.unasked += 1;
        let is_last = entry.seq + 1 == unit.end();
        // Where packets are counted, answers tell of whole units alone.
        if purpose == Purpose::New && (is_last || config.parameters.tracking.has_bits()) {
            self.credit.mark(entry.seq + 1);
        }
        let ask = is_last
            || purpose == Purpose::Again
            || self.unasked >= config.base.ack_every
            || !self.is_open(config)
            || !self.has_new(&config.parameters);
        if ask {
            self.unasked = 0;
        }
        self.counters.packets += 1;
        if purpose == Purpose::Again {
            self.counters.retransmitted_packets += 1;
            self.counters.retransmitted_bytes += u64::from(data.payload_len);
        }
        let copy = unit.round.saturating_add(u8::from(purpose == Purpose::Again && unit.round == 0));
        let packet = Packet::Data(data.with_ack_req(ask));
        Transmit { packet, work: unit.work, offset, copy, path: 0, purpose }
    }

    /// A question about the oldest unit: the header of the last of its packets that was sent, which carries nothing. It
    /// travels as data do, behind what it asks for.
    fn probe(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        let unit = *self.outgoing.oldest()?;
        let seq = unit.end().min(self.outgoing.next).checked_sub(1).filter(|seq| *seq >= unit.first)?;
        self.asked = now;
        self.unanswered = (self.unanswered + 1).min(UNANSWERED_MAX);
        self.seen.probes += 1;
        self.counters.packets += 1;
        let entry = Entry { seq, unit: self.outgoing.acknowledged };
        let (data, offset) = unit.packet(config, self.peer, self.psn(seq), entry);
        let packet = Packet::Data(data.probing().with_ack_req(true));
        Some(Transmit { packet, work: unit.work, offset, copy: unit.round, path: 0, purpose: Purpose::Dummy })
    }

    fn on_returned(&mut self, config: &Config, now: Time, data: &Data) {
        if data.is_probe() {
            self.unanswered = self.unanswered.saturating_sub(1);
            return;
        }
        self.seen.returned += 1;
        self.credit.on_returned();
        let (entry, (number, round)) = (self.entry(data.psn), data.unit());
        let current = entry.and_then(|entry| self.outgoing.get_mut(entry.unit).map(|unit| (entry, unit)));
        match current {
            // A round that is over needs no packets.
            Some((entry, unit)) if unit.round == round && entry.unit as u32 & UNIT_MASK == number => {
                unit.touched = now;
                self.queue.push(&config.parameters.fetch, now, entry);
            }
            _ => self.counters.ignored += 1,
        }
    }

    /// The packet behind a PSN, if it was sent and its unit is not done.
    fn entry(&self, psn: Psn) -> Option<Entry> {
        let seq = widen(self.floor, psn.distance(self.first) as u32)?;
        self.outgoing.owner(seq).map(|unit| Entry { seq, unit })
    }

    /// An answer tells how far the receiver is. False: it cannot be.
    fn on_progress(&mut self, config: &Config, now: Time, progress: &Progress, pulls: Option<u32>) -> bool {
        let Some(expected) = widen(self.outgoing.acknowledged, progress.expected_unit) else {
            self.counters.ignored += 1;
            return false;
        };
        self.unanswered = 0;
        self.credit.on_progress(progress, pulls);
        if self.outgoing.acknowledge(expected) {
            self.on_acknowledged(config, now);
        }
        true
    }

    fn on_acknowledged(&mut self, config: &Config, now: Time) {
        let acknowledged = self.outgoing.acknowledged;
        (self.retries, self.recounts) = (0, 0);
        self.probe_due = false;
        self.held = None;
        let first = self.outgoing.oldest().map_or(self.outgoing.tail, |unit| unit.first);
        self.floor = self.floor.max(first);
        if !self.queue.is_empty() {
            self.queue.retain(&config.parameters.fetch, now, |entry| entry.unit >= acknowledged);
        }
        self.replays.retain(|unit| *unit >= acknowledged);
        if first == self.outgoing.next {
            self.credit.start_over();
        }
    }

    /// The receiver names packets that neither came nor left a header.
    fn on_missing(&mut self, config: &Config, now: Time, psn: Psn, map: u64) {
        self.counters.naks += 1;
        let others = (0..u64::BITS).filter(|bit| map >> bit & 1 == 1).map(|bit| bit + 1);
        let mut vanished = 0;
        for step in std::iter::once(0).chain(others) {
            let Some(entry) = self.entry(psn.ahead(step)) else { continue };
            let Some(unit) = self.outgoing.get_mut(entry.unit) else { continue };
            let replayed = unit.replay <= entry.seq;
            if !replayed && !self.queue.contains(entry) {
                unit.touched = now;
                self.queue.push(&config.parameters.fetch, now, entry);
                vanished += 1;
            }
        }
        self.seen.named += vanished;
        self.credit.on_vanished(vanished);
    }

    /// Something came twice, and a count cannot be put right: the unit is counted anew.
    fn on_recount(&mut self, config: &Config, now: Time, psn: Psn, round: u8) {
        let current = self.entry(psn).filter(|entry| entry.unit == self.outgoing.acknowledged);
        let unit = current.and_then(|entry| self.outgoing.get_mut(entry.unit));
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
        self.seen.recounts += 1;
        let number = self.outgoing.acknowledged;
        self.restart(config, now, number);
        self.credit.start_over();
    }

    /// A new round of a unit: every packet of it that was sent is sent anew.
    fn restart(&mut self, config: &Config, now: Time, number: u64) {
        let Some(unit) = self.outgoing.get_mut(number) else { return };
        unit.round = unit.round.wrapping_add(1);
        (unit.touched, unit.since) = (now, now);
        unit.replay = unit.first;
        self.queue.retain(&config.parameters.fetch, now, |entry| entry.unit != number);
        if !self.replays.contains(&number) {
            self.replays.push_back(number);
        }
    }
}

/// Time.
impl Requester {
    /// The oldest unit, if its timers run.
    #[inline]
    fn running(&self) -> Option<&Unit> {
        self.outgoing.oldest().filter(|unit| unit.since != Time::MAX && self.held.is_none())
    }

    /// When the sender asks about a unit of which it heard last at `touched`. Who asks too early makes doubles, so that patience
    /// grows with the rounds that they cost.
    fn probe_at(&self, touched: Time) -> Time {
        let Some(quiet) = self.quiet else { return Time::MAX };
        if self.probe_due {
            return Time::MAX;
        }
        touched
            .max(self.asked)
            .saturating_add(quiet * (1 << (self.unanswered + self.recounts).min(UNANSWERED_MAX)))
    }

    /// The oldest unit was quiet for long. What of it waits here is not missing, so that a question would make doubles: it is asked
    /// about once all is sent, unless a full window keeps that from ever happening.
    fn ask(&mut self, config: &Config, now: Time) {
        if self.is_open(config) && self.oldest_is_due(&config.parameters) {
            if let Some(unit) = self.outgoing.get_mut(self.outgoing.acknowledged) {
                unit.touched = now;
            }
            return;
        }
        self.probe_due = true;
    }

    /// A host takes packets when congestion control and its port let it. Where nothing is under way meanwhile, no answer can be
    /// expected.
    fn note_hold(&mut self, config: &Config, now: Time) {
        let waits =
            self.credit.in_flight() == 0 && self.is_open(config) && self.oldest_is_due(&config.parameters);
        match self.held {
            None if waits => self.held = Some(now),
            Some(_) if !waits => self.end_hold(now),
            _ => {}
        }
    }

    /// Whether a packet of the oldest unit, which was begun, is to be sent.
    fn oldest_is_due(&self, parameters: &Parameters) -> bool {
        let Some(unit) = self.outgoing.oldest().filter(|unit| unit.since != Time::MAX) else { return false };
        let new = self.outgoing.next < unit.end() && self.has_new(parameters);
        new || unit.replay != u64::MAX || self.queue.has_unit(self.outgoing.acknowledged)
    }

    fn end_hold(&mut self, now: Time) {
        let Some(since) = self.held.take() else { return };
        let span = now.since(since);
        if let Some(unit) = self.outgoing.get_mut(self.outgoing.acknowledged) {
            unit.since = unit.since.saturating_add(span);
            unit.touched = unit.touched.saturating_add(span);
        }
    }

    /// Every unit that nothing was heard of for a timeout is sent anew: if a link was gone, they all were on it.
    fn restart_quiet(&mut self, config: &Config, now: Time) {
        let quiet = |unit: &Unit| after(unit.since, config.base.timeout) <= now;
        let numbers: Vec<u64> =
            self.outgoing.under_way().filter(|(_, unit)| quiet(unit)).map(|(number, _)| number).collect();
        for number in numbers {
            self.seen.restarts += 1;
            self.restart(config, now, number);
        }
        self.credit.start_over();
    }

    fn fail(&mut self, status: Status) {
        self.failed = Some(status);
        self.probe_due = false;
    }
}

/// What it has come to.
impl Requester {
    /// Packets under way.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.credit.in_flight() as u32
    }

    /// What only a trimming transport sees.
    pub fn seen(&self) -> Sender {
        Sender { fetches: self.queue.fetches, batch_max: self.queue.batch_max, ..self.seen }
    }

    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }
}

fn after(time: Time, span: Option<Span>) -> Time {
    span.map_or(Time::MAX, |span| time.saturating_add(span))
}
