//! The responder: places packets by their headers, in any order, and returns the headers of trimmed packets.

use std::collections::{BTreeSet, VecDeque};

use wiremend_units::{Psn, QpNum, Time};

use super::config::{Config, FlowControl, Parameters, Tracking};
use super::counters::ReceiverCounters;
use super::packet::{
    Ack, Data, MissingReport, Packet, PayloadTarget, ReceiverProgress, RecountRequest, UNIT_MASK, widen,
};
use super::read_source::ReadSource;
use super::receive_bitmap::{BitResult, CHUNK_BYTES, ReceiveBitmap};
use super::receive_units::{ReceiveUnits, RoundStatus, UnitEnd};
use super::sums::SumsVerdict;
use crate::engine::{self, Expiry, Message, Op, Placement, RequestOutcome, ResponderCounters};
use crate::rc::inbound::{PacketShape, payload_fits};
use crate::sr::TrackingCost;

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Responder {
    units: ReceiveUnits,
    /// Arrived packets, if the tracking has bits.
    bitmap: Option<ReceiveBitmap>,
    /// Trimmed packets whose retransmission has not arrived; hints must not report them.
    returned: BTreeSet<u64>,
    /// Missing packets before this number were reported.
    reported_end: u64,
    /// One past the latest number that arrived.
    high: u64,
    /// Headers to return.
    bounced: VecDeque<Data>,
    reports: VecDeque<(u64, Report)>,
    ack_due: bool,
    messages: VecDeque<Message>,
    /// The sending half for the data of READs; `None` before the first.
    reads: Option<Box<ReadSource>>,
    progress: ReceiverProgress,
    /// Pulls granted, and in `pulls_owed` pulls owed since the last call of [`Self::take_pulls_owed`].
    pulls: u32,
    pulls_owed: u32,
    counters: ResponderCounters,
    dcp_counters: ReceiverCounters,
    peer: QpNum,
    first: Psn,
}

/// Limit of queued headers. Others are dropped, and the sender's timer recovers.
const BOUNCED_MAX: usize = 1 << 14;
/// Limit of reports for one probe; the next probe brings the others.
const REPORTS_MAX: usize = 8;

/// A report to the sender beside the progress.
#[derive(Clone, Copy, Debug)]
enum Report {
    Missing { map: u64 },
    Recount { round: u8 },
}

/// A valid data packet.
struct ParsedData {
    round: u8,
    shape: PacketShape,
    unit: u64,
    seq: u64,
}

impl Responder {
    /// Creates a responder that expects PSN `first`.
    pub fn new(config: &Config, peer: QpNum, first: Psn) -> Self {
        Self {
            units: ReceiveUnits::default(),
            bitmap: ReceiveBitmap::new(config.parameters.tracking),
            returned: BTreeSet::new(),
            reported_end: 0,
            high: 0,
            bounced: VecDeque::new(),
            reports: VecDeque::new(),
            ack_due: false,
            messages: VecDeque::new(),
            reads: None,
            progress: ReceiverProgress::default(),
            pulls: 0,
            pulls_owed: 0,
            counters: ResponderCounters::default(),
            dcp_counters: ReceiverCounters::default(),
            peer,
            first,
        }
    }
}

impl engine::Responder for Responder {
    type Config = Config;
    type Packet = Packet;

    fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> RequestOutcome {
        let data = match packet {
            Packet::Data(data) if !data.is_read_data() => data,
            _ => return self.on_reader(config, now, packet),
        };
        let Some(parsed) = self.parse(data) else { return self.ignore() };
        if data.is_trimmed() {
            return self.on_trimmed(config, data, &parsed);
        }
        if data.is_probe() {
            return self.on_probe(config, &parsed);
        }
        if !payload_fits(&config.base, parsed.shape, data.payload_len) {
            return self.ignore();
        }
        if config.parameters.flow_control != FlowControl::Window {
            self.pulls_owed += 1;
        }
        if parsed.unit < self.units.expected {
            self.progress.arrived = self.progress.arrived.wrapping_add(1);
            return self.on_duplicate();
        }
        let ahead = parsed.unit - self.units.expected;
        if ahead >= u64::from(config.parameters.units_max) || parsed.seq - self.units.first >= SPAN_MAX {
            return self.bounce_out_of_range(data);
        }
        if parsed.shape.op == Op::Read && !self.keep_read(config, data, &parsed) {
            return self.bounce_out_of_range(data);
        }
        let outcome = self.on_untrimmed(config, data, &parsed);
        if let Some(reads) = &mut self.reads {
            reads.start_before(config, now, self.units.expected);
        }
        outcome
    }

    #[inline]
    fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    #[inline]
    fn poll_message(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }

    fn poll_transmit(&mut self, config: &Config) -> Option<Packet> {
        if let Some(header) = self.bounced.pop_front() {
            return Some(Packet::Data(header));
        }
        let (dest_qp, progress) = (self.peer, self.progress);
        if let Some((seq, report)) = self.reports.pop_front() {
            self.counters.naks += 1;
            let psn = self.psn(seq);
            return Some(match report {
                Report::Missing { map } => Packet::Missing(MissingReport::new(dest_qp, psn, progress, map)),
                Report::Recount { round } => {
                    Packet::Recount(RecountRequest { dest_qp, psn, progress, round })
                }
            });
        }
        if !std::mem::take(&mut self.ack_due) {
            return self.reads.as_mut()?.poll_transmit(config);
        }
        self.counters.acks += 1;
        Some(Packet::Ack(Ack { dest_qp, psn: self.expected(), progress, pulls: self.pulls }))
    }

    #[inline]
    fn has_output(&self) -> bool {
        self.ack_due || !self.bounced.is_empty() || !self.reports.is_empty() || self.has_read_responses()
    }

    #[inline]
    fn has_read_responses(&self) -> bool {
        self.reads.as_ref().is_some_and(|reads| reads.has_output())
    }

    /// The timers of the data of READs.
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.reads.as_ref()?.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        if let Some(reads) = &mut self.reads {
            reads.on_timeout(now);
        }
    }

    /// Everything before this number arrived. Without bits, it is the first packet of the oldest incomplete
    /// unit.
    #[inline]
    fn expected(&self) -> Psn {
        self.psn(self.bitmap.as_ref().map_or(self.units.first, ReceiveBitmap::floor))
    }

    /// Always false: missing packets are not requested in order.
    fn nak_sent(&self) -> bool {
        false
    }

    fn counters(&self) -> ResponderCounters {
        self.counters
    }
}

impl Responder {
    /// Parses a packet; `None` if it is not a data packet of this connection.
    fn parse(&self, data: &Data) -> Option<ParsedData> {
        let shape = data.shape()?;
        let (unit, round) = data.unit();
        let unit = widen(self.units.expected, unit)?;
        let seq = widen(self.units.first, data.psn.distance(self.first) as u32)?;
        // Incomplete units have no numbers before the head's first one.
        let is_known = unit < self.units.expected || seq >= self.units.first;
        is_known.then_some(ParsedData { round, shape, unit, seq })
    }

    /// Handles a packet of a requester that receives the data of a READ: what a responder sends, or a header.
    fn on_reader(&mut self, config: &Config, now: Time, packet: &Packet) -> RequestOutcome {
        match &mut self.reads {
            Some(reads) if !packet.is_for_requester() => {
                reads.on_packet(config, now, packet);
                RequestOutcome::Accepted { placement: None, completed: None }
            }
            _ => self.ignore(),
        }
    }

    /// Keeps the request of a READ until all messages before it are complete. Returns false if there is no room.
    fn keep_read(&mut self, config: &Config, data: &Data, parsed: &ParsedData) -> bool {
        let reads = self.reads.get_or_insert_with(|| Box::new(ReadSource::new(self.peer, self.first)));
        reads.keep(config, parsed.unit, data.read_range())
    }

    /// Returns the last timeout of the data of READs since the last call.
    pub fn take_expiry(&mut self) -> Option<Expiry> {
        self.reads.as_mut()?.take_expiry()
    }

    /// The sending half for the data of READs.
    pub fn reads(&self) -> Option<&super::Requester> {
        self.reads.as_ref().map(|reads| reads.sender())
    }

    fn on_untrimmed(&mut self, config: &Config, data: &Data, parsed: &ParsedData) -> RequestOutcome {
        let ParsedData { round, shape, unit, seq } = *parsed;
        if self.units.unit(unit).enter_round(round) == RoundStatus::Stale && self.bitmap.is_none() {
            self.progress.arrived = self.progress.arrived.wrapping_add(1);
            self.dcp_counters.stale += 1;
            return self.on_duplicate();
        }
        let (mark, steps) = self.bitmap.as_mut().map_or((BitResult::New, 1), |bitmap| bitmap.set(seq));
        self.count_steps(steps);
        if mark == BitResult::OutOfRange {
            return self.bounce_out_of_range(data);
        }
        self.progress.arrived = self.progress.arrived.wrapping_add(1);
        if mark == BitResult::Duplicate {
            self.dcp_counters.duplicates += 1;
            return self.on_duplicate();
        }
        self.returned.remove(&seq);
        self.count_disorder(seq);
        self.counters.accepted += 1;
        let unit = self.units.unit(unit);
        unit.sums.add(seq);
        if data.ends_unit() {
            let imm = data.imm();
            let ends_message = shape.last;
            unit.end =
                Some(UnitEnd { last: seq, payload: data.payload_len, op: shape.op, imm, ends_message });
        }
        while self.head_is_complete(config) {
            self.complete_head(config.base.mtu);
            // The packet that requested an acknowledgement may have arrived long before the missing one.
            self.ack_due = true;
        }
        self.report_overtaken(config, seq);
        // A packet that fills a gap is acknowledged even without a request.
        self.ack_due |= data.ack_req() || seq + 1 < self.high;
        RequestOutcome::Accepted { placement: placement(data), completed: None }
    }

    fn head_is_complete(&mut self, config: &Config) -> bool {
        let Some((count, packets)) = self.units.head_count() else { return false };
        if let Some(bitmap) = &self.bitmap {
            return bitmap.floor() >= self.units.first + u64::from(packets);
        }
        if config.parameters.tracking == Tracking::Counter || count < packets {
            return count == packets;
        }
        match self.units.evaluate(self.units.first + u64::from(packets) - 1) {
            SumsVerdict::Complete => {
                self.dcp_counters.duplicates += u64::from(count - packets);
                true
            }
            SumsVerdict::Missing(_) => false,
            SumsVerdict::Unknown => {
                // A duplicate has made the count useless: it restarts.
                self.request_recount();
                false
            }
        }
    }

    fn complete_head(&mut self, mtu: u16) {
        let closed = self.units.complete_head(mtu);
        self.progress.expected_unit = self.units.expected as u32 & UNIT_MASK;
        if let Some(closed) = closed {
            let msn = self.units.messages as u32 & UNIT_MASK;
            let len = match &self.reads {
                Some(reads) if closed.op == Op::Read => reads.kept_len(self.units.expected - 1),
                _ => closed.len,
            };
            self.messages.push_back(Message { op: closed.op, len, imm: closed.imm, invalidate: None, msn });
        }
    }

    /// Acknowledges the present progress again.
    fn on_duplicate(&mut self) -> RequestOutcome {
        self.counters.duplicates += 1;
        self.ack_due = true;
        RequestOutcome::Duplicate
    }

    /// Returns the header of a trimmed packet to its sender.
    fn on_trimmed(&mut self, config: &Config, data: &Data, parsed: &ParsedData) -> RequestOutcome {
        if data.is_probe() {
            // A probe has no payload, but the sender should know that the path is congested.
            self.bounce(data);
            return RequestOutcome::Gap { nak: true };
        }
        self.dcp_counters.trimmed += 1;
        if config.parameters.flow_control != FlowControl::Window {
            self.pulls_owed += 1;
        }
        if parsed.unit < self.units.expected {
            // Nothing is missing, so no header is returned; the packet counts as arrived, like the one it
            // duplicates.
            self.progress.arrived = self.progress.arrived.wrapping_add(1);
            self.ack_due = true;
            return RequestOutcome::Gap { nak: false };
        }
        let fits = parsed.unit - self.units.expected < u64::from(config.parameters.units_max);
        if fits && parsed.seq - self.units.first < SPAN_MAX {
            let unit = self.units.unit(parsed.unit);
            if unit.enter_round(parsed.round) == RoundStatus::Current {
                unit.trimmed += 1;
            }
            if config.parameters.hints.is_some() && self.bitmap.is_some() {
                self.returned.insert(parsed.seq);
            }
            self.count_disorder(parsed.seq);
        }
        self.progress.trimmed = self.progress.trimmed.wrapping_add(1);
        self.bounce(data);
        RequestOutcome::Gap { nak: true }
    }

    /// Returns the header of a packet beyond the tracked range, so that the sender retries.
    fn bounce_out_of_range(&mut self, data: &Data) -> RequestOutcome {
        self.dcp_counters.out_of_range += 1;
        self.progress.trimmed = self.progress.trimmed.wrapping_add(1);
        self.bounce(data);
        RequestOutcome::Gap { nak: true }
    }

    fn bounce(&mut self, data: &Data) {
        if self.bounced.len() < BOUNCED_MAX {
            self.bounced.push_back(data.bounced(self.peer));
        } else {
            self.dcp_counters.headers_dropped += 1;
        }
    }

    fn ignore(&mut self) -> RequestOutcome {
        self.counters.ignored += 1;
        RequestOutcome::Ignored
    }

    fn count_steps(&mut self, steps: u32) {
        self.dcp_counters.tracked += 1;
        self.dcp_counters.steps += u64::from(steps);
        self.dcp_counters.steps_max = self.dcp_counters.steps_max.max(steps);
        let chunks = self.bitmap.as_ref().map_or(0, ReceiveBitmap::chunks);
        self.dcp_counters.chunks_max = self.dcp_counters.chunks_max.max(chunks);
    }

    fn count_disorder(&mut self, seq: u64) {
        if seq < self.high {
            self.dcp_counters.out_of_order += 1;
            self.dcp_counters.disorder_max = self.dcp_counters.disorder_max.max((self.high - seq) as u32);
        }
        self.high = self.high.max(seq + 1);
    }

    /// Pulls owed to the sender since the last call: one for each packet that arrived, complete or trimmed.
    /// The host grants them at the rate of its port.
    #[inline]
    pub fn take_pulls_owed(&mut self) -> u32 {
        std::mem::take(&mut self.pulls_owed)
    }

    /// Grants a pull, which is sent with the next acknowledgement.
    pub fn grant_pull(&mut self) {
        self.pulls = self.pulls.wrapping_add(1);
        self.ack_due = true;
    }

    /// Addresses that the next packets need, for hosts that prefetch.
    #[inline]
    pub fn next_addresses(&self) -> impl Iterator<Item = *const u8> {
        self.units.next_addresses()
    }

    /// Returns the cost of tracking.
    pub fn tracking_cost(&self) -> TrackingCost {
        TrackingCost {
            packets: self.dcp_counters.tracked,
            steps: self.dcp_counters.steps,
            peak_bytes: self.dcp_counters.chunks_max as u64 * CHUNK_BYTES as u64,
            disorder_max: u64::from(self.dcp_counters.disorder_max),
        }
    }

    /// Counters of trimming transports.
    pub fn dcp_counters(&self) -> &ReceiverCounters {
        &self.dcp_counters
    }

    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }
}

/// Sequence numbers that are unambiguous (IBA 9.7.2).
const SPAN_MAX: u64 = Psn::HALF as u64;

/// Loss hints: the receiver reports packets that were lost without a header, for example by corruption.
impl Responder {
    /// Reports packets that a received packet has overtaken by more than the allowance, once.
    fn report_overtaken(&mut self, config: &Config, seq: u64) {
        let Some(hints) = config.parameters.hints else { return };
        let limit = seq.saturating_sub(u64::from(hints.reorder_allowance));
        if let Some(bitmap) = &self.bitmap {
            let from = self.reported_end.max(bitmap.floor());
            if limit > from {
                self.report_holes(from, limit, false, usize::MAX);
                self.reported_end = limit;
            }
            if self.returned.first().is_some_and(|first| *first < limit) {
                self.returned = self.returned.split_off(&limit);
            }
            return;
        }
        let Some(head) = self.units.head() else { return };
        let Some(end) = head.end else { return };
        if !head.reported && head.trimmed == 0 && limit > end.last {
            self.report_head(&config.parameters, end.last);
        }
    }

    /// Handles a probe: packets before it have arrived or are lost.
    fn on_probe(&mut self, config: &Config, parsed: &ParsedData) -> RequestOutcome {
        self.dcp_counters.probes += 1;
        self.ack_due = true;
        let answered = RequestOutcome::Gap { nak: false };
        if parsed.unit != self.units.expected {
            return answered;
        }
        if let Some(bitmap) = &self.bitmap {
            let from = bitmap.floor();
            self.report_holes(from, parsed.seq + 1, true, REPORTS_MAX);
            return answered;
        }
        let unit = self.units.unit(parsed.unit);
        if unit.enter_round(parsed.round) == RoundStatus::Current {
            (unit.reported, unit.recount_requested) = (false, false);
            self.report_head(&config.parameters, parsed.seq);
        }
        answered
    }

    /// Reports the missing packets of `from..to`; without `all`, not those whose headers were returned.
    fn report_holes(&mut self, from: u64, to: u64, all: bool, max: usize) {
        let Some(bitmap) = &self.bitmap else { return };
        let returned = &self.returned;
        let mut holes =
            (from..to).filter(|seq| !bitmap.contains(*seq) && (all || !returned.contains(seq))).peekable();
        let mut reports = 0;
        while let Some(first) = holes.next() {
            if reports == max {
                break;
            }
            let (mut map, mut named) = (0, 1);
            while let Some(next) = holes.next_if(|seq| seq - first <= u64::from(u64::BITS)) {
                map |= 1 << (next - first - 1);
                named += 1;
            }
            self.dcp_counters.reported_missing += named;
            self.reports.push_back((first, Report::Missing { map }));
            reports += 1;
        }
    }

    /// Reports the missing packets of the head up to `last`, if the sums identify them; else requests a
    /// recount.
    fn report_head(&mut self, parameters: &Parameters, last: u64) {
        if last < self.units.first {
            return;
        }
        let verdict = match parameters.tracking {
            Tracking::Sums => self.units.evaluate(last),
            _ => SumsVerdict::Unknown,
        };
        match verdict {
            SumsVerdict::Missing([a, b]) => {
                let far = b - a > u64::from(u64::BITS);
                let map = if a == b || far { 0 } else { 1 << (b - a - 1) };
                self.reports.push_back((a, Report::Missing { map }));
                if far {
                    self.reports.push_back((b, Report::Missing { map: 0 }));
                }
                self.dcp_counters.reported_missing += 1 + u64::from(a != b);
                self.units.unit(self.units.expected).reported = true;
            }
            SumsVerdict::Unknown => self.request_recount(),
            SumsVerdict::Complete => {}
        }
    }

    /// Requests a recount, at most once per round.
    fn request_recount(&mut self) {
        let first = self.units.first;
        let unit = self.units.unit(self.units.expected);
        if !std::mem::replace(&mut unit.recount_requested, true) {
            let round = unit.round;
            self.dcp_counters.recounts += 1;
            self.reports.push_back((first, Report::Recount { round }));
        }
    }
}

fn placement(data: &Data) -> Option<Placement> {
    let len = data.payload_len;
    let place = match data.target() {
        PayloadTarget::Memory { address, .. } => Placement { addr: address, offset: 0, len },
        PayloadTarget::Buffer { number, offset } => Placement { addr: u64::from(number), offset, len },
    };
    (len > 0).then_some(place)
}
