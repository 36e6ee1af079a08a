//! The responder: puts packets where they say they belong, in any order, and sends headers without payload back.

use std::collections::{BTreeSet, VecDeque};

use wiremend_units::{Psn, QpNum, Time};

use super::bits::{Bits, CHUNK_BYTES, Mark};
use super::config::{Config, Flow, Parameters, Tracking};
use super::counters::Receiver;
use super::inbox::{End, Inbox, Round};
use super::packet::{Ack, Data, Missing, Packet, Progress, Recount, Target, UNIT_MASK, widen};
use super::sums::Verdict;
use crate::engine::{self, Message, Outcome, Place, ResponderCounters};
use crate::rc::inbound::{Shape, payload_fits};
use crate::sr::Steps;

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Responder {
    inbox: Inbox,
    /// Where each packet has a bit.
    bits: Option<Bits>,
    /// Cut packets that did not come since, where hints must not name them.
    returned: BTreeSet<u64>,
    /// Before this number, what is missing was named.
    hinted: u64,
    /// Behind the latest number that came.
    high: u64,
    /// Headers on their way back.
    headers: VecDeque<Data>,
    reports: VecDeque<(u64, Report)>,
    acknowledge: bool,
    closed: VecDeque<Message>,
    progress: Progress,
    /// Pulls granted, and owed since the last look.
    pulls: u32,
    owed: u32,
    counters: ResponderCounters,
    seen: Receiver,
    peer: QpNum,
    first: Psn,
}

/// Headers that wait to be sent back at most; more are dropped, and the sender's timer sees to them.
const HEADERS_MAX: usize = 1 << 14;
/// Reports that one question is answered with at most; what else is missing, the next one brings.
const REPORTS_MAX: usize = 8;

/// What the sender is told beside the progress.
#[derive(Clone, Copy, Debug)]
enum Report {
    Missing { map: u64 },
    Recount { round: u8 },
}

/// A data packet that makes sense.
struct Arriving {
    round: u8,
    shape: Shape,
    unit: u64,
    seq: u64,
}

impl Responder {
    /// A responder that expects numbers from `first` on.
    pub fn new(config: &Config, peer: QpNum, first: Psn) -> Self {
        Self {
            inbox: Inbox::default(),
            bits: Bits::new(config.parameters.tracking),
            returned: BTreeSet::new(),
            hinted: 0,
            high: 0,
            headers: VecDeque::new(),
            reports: VecDeque::new(),
            acknowledge: false,
            closed: VecDeque::new(),
            progress: Progress::default(),
            pulls: 0,
            owed: 0,
            counters: ResponderCounters::default(),
            seen: Receiver::default(),
            peer,
            first,
        }
    }
}

impl engine::Responder for Responder {
    type Config = Config;
    type Packet = Packet;

    fn on_packet(&mut self, config: &Config, _now: Time, packet: &Packet) -> Outcome {
        let Packet::Data(data) = packet else { return self.ignore() };
        let Some(arriving) = self.read(data) else { return self.ignore() };
        if data.is_trimmed() {
            return self.on_cut(config, data, &arriving);
        }
        if data.is_probe() {
            return self.on_probe(config, &arriving);
        }
        if !payload_fits(&config.base, arriving.shape, data.payload_len) {
            return self.ignore();
        }
        if config.parameters.flow != Flow::Window {
            self.owed += 1;
        }
        if arriving.unit < self.inbox.expected {
            self.progress.arrived = self.progress.arrived.wrapping_add(1);
            return self.on_double();
        }
        let ahead = arriving.unit - self.inbox.expected;
        if ahead >= u64::from(config.parameters.units_max) || arriving.seq - self.inbox.first >= SPAN_MAX {
            return self.send_back(data);
        }
        self.on_whole(config, data, &arriving)
    }

    #[inline]
    fn has_messages(&self) -> bool {
        !self.closed.is_empty()
    }

    #[inline]
    fn poll_message(&mut self) -> Option<Message> {
        self.closed.pop_front()
    }

    fn poll_transmit(&mut self, _config: &Config) -> Option<Packet> {
        if let Some(header) = self.headers.pop_front() {
            return Some(Packet::Data(header));
        }
        let (dest_qp, progress) = (self.peer, self.progress);
        if let Some((seq, report)) = self.reports.pop_front() {
            self.counters.naks += 1;
            let psn = self.psn(seq);
            return Some(match report {
                Report::Missing { map } => Packet::Missing(Missing::new(dest_qp, psn, progress, map)),
                Report::Recount { round } => Packet::Recount(Recount { dest_qp, psn, progress, round }),
            });
        }
        if !std::mem::take(&mut self.acknowledge) {
            return None;
        }
        self.counters.acks += 1;
        Some(Packet::Ack(Ack { dest_qp, psn: self.expected(), progress, pulls: self.pulls }))
    }

    #[inline]
    fn has_output(&self) -> bool {
        self.acknowledge || !self.headers.is_empty() || !self.reports.is_empty()
    }

    /// Before this number everything came. Where packets are counted, the first of the oldest incomplete unit.
    #[inline]
    fn expected(&self) -> Psn {
        self.psn(self.bits.as_ref().map_or(self.inbox.first, Bits::floor))
    }

    /// Never: what is missing is not asked for in order.
    fn nak_sent(&self) -> bool {
        false
    }

    fn counters(&self) -> ResponderCounters {
        self.counters
    }
}

impl Responder {
    /// `None`: it is no data packet of this connection.
    fn read(&self, data: &Data) -> Option<Arriving> {
        let shape = data.shape()?;
        let (unit, round) = data.unit();
        let unit = widen(self.inbox.expected, unit)?;
        let seq = widen(self.inbox.first, data.psn.distance(self.first) as u32)?;
        // A unit that is not over has no numbers before the head's.
        let is_known = unit < self.inbox.expected || seq >= self.inbox.first;
        is_known.then_some(Arriving { round, shape, unit, seq })
    }

    fn on_whole(&mut self, config: &Config, data: &Data, arriving: &Arriving) -> Outcome {
        let Arriving { round, shape, unit, seq } = *arriving;
        if self.inbox.unit(unit).enter(round) == Round::Over && self.bits.is_none() {
            self.progress.arrived = self.progress.arrived.wrapping_add(1);
            self.seen.stale += 1;
            return self.on_double();
        }
        let (mark, steps) = self.bits.as_mut().map_or((Mark::New, 1), |bits| bits.set(seq));
        self.count_steps(steps);
        if mark == Mark::Beyond {
            return self.send_back(data);
        }
        self.progress.arrived = self.progress.arrived.wrapping_add(1);
        if mark == Mark::Double {
            self.seen.doubles += 1;
            return self.on_double();
        }
        self.returned.remove(&seq);
        self.note_order(seq);
        self.counters.accepted += 1;
        let unit = self.inbox.unit(unit);
        unit.sums.add(seq);
        if data.ends_unit() {
            let imm = data.imm();
            let closes = shape.last;
            unit.end = Some(End { last: seq, payload: data.payload_len, op: shape.op, imm, closes });
        }
        while self.head_is_complete(config) {
            self.close(config.base.mtu);
            // The packet that asked may have come long before the one that was missing.
            self.acknowledge = true;
        }
        self.hint(config, seq);
        // What fills a hole is news, whether or not its sender asked.
        self.acknowledge |= data.ack_req() || seq + 1 < self.high;
        Outcome::Accepted { place: place_of(data), completed: None }
    }

    fn head_is_complete(&mut self, config: &Config) -> bool {
        let Some((count, packets)) = self.inbox.head_count() else { return false };
        if let Some(bits) = &self.bits {
            return bits.floor() >= self.inbox.first + u64::from(packets);
        }
        if config.parameters.tracking == Tracking::Counter || count < packets {
            return count == packets;
        }
        match self.inbox.judge(self.inbox.first + u64::from(packets) - 1) {
            Verdict::Complete => {
                self.seen.doubles += u64::from(count - packets);
                true
            }
            Verdict::Missing(_) => false,
            Verdict::Unknown => {
                // Something came twice, and the count will never be right: it starts again.
                self.ask_recount();
                false
            }
        }
    }

    fn close(&mut self, mtu: u16) {
        let closed = self.inbox.close(mtu);
        self.progress.expected_unit = self.inbox.expected as u32 & UNIT_MASK;
        if let Some(closed) = closed {
            let msn = self.inbox.messages as u32 & UNIT_MASK;
            self.closed.push_back(Message { op: closed.op, len: closed.len, imm: closed.imm, msn });
        }
    }

    /// The sender is told how far things are.
    fn on_double(&mut self) -> Outcome {
        self.counters.duplicates += 1;
        self.acknowledge = true;
        Outcome::Duplicate
    }

    /// A switch had no room for the payload. The header goes back to where it came from.
    fn on_cut(&mut self, config: &Config, data: &Data, arriving: &Arriving) -> Outcome {
        if data.is_probe() {
            // It carried nothing, but its sender should know that the way is full.
            self.bounce(data);
            return Outcome::Gap { nak: true };
        }
        self.seen.cut += 1;
        if config.parameters.flow != Flow::Window {
            self.owed += 1;
        }
        if arriving.unit < self.inbox.expected {
            // Nothing is missing, and no header goes back: it counts as what it is a copy of.
            self.progress.arrived = self.progress.arrived.wrapping_add(1);
            self.acknowledge = true;
            return Outcome::Gap { nak: false };
        }
        let fits = arriving.unit - self.inbox.expected < u64::from(config.parameters.units_max);
        if fits && arriving.seq - self.inbox.first < SPAN_MAX {
            let unit = self.inbox.unit(arriving.unit);
            if unit.enter(arriving.round) == Round::Current {
                unit.cut += 1;
            }
            if config.parameters.hints.is_some() && self.bits.is_some() {
                self.returned.insert(arriving.seq);
            }
            self.note_order(arriving.seq);
        }
        self.progress.cut = self.progress.cut.wrapping_add(1);
        self.bounce(data);
        Outcome::Gap { nak: true }
    }

    /// There is no room to track it: the sender is to try again.
    fn send_back(&mut self, data: &Data) -> Outcome {
        self.seen.beyond += 1;
        self.progress.cut = self.progress.cut.wrapping_add(1);
        self.bounce(data);
        Outcome::Gap { nak: true }
    }

    fn bounce(&mut self, data: &Data) {
        if self.headers.len() < HEADERS_MAX {
            self.headers.push_back(data.bounced(self.peer));
        } else {
            self.seen.headers_dropped += 1;
        }
    }

    fn ignore(&mut self) -> Outcome {
        self.counters.ignored += 1;
        Outcome::Ignored
    }

    fn count_steps(&mut self, steps: u32) {
        self.seen.tracked += 1;
        self.seen.steps += u64::from(steps);
        self.seen.steps_max = self.seen.steps_max.max(steps);
        let chunks = self.bits.as_ref().map_or(0, Bits::chunks);
        self.seen.chunks_max = self.seen.chunks_max.max(chunks);
    }

    fn note_order(&mut self, seq: u64) {
        if seq < self.high {
            self.seen.out_of_order += 1;
            self.seen.disorder_max = self.seen.disorder_max.max((self.high - seq) as u32);
        }
        self.high = self.high.max(seq + 1);
    }

    /// Pulls that the sender is owed since the last call: one for each packet that came, whole or cut. The host grants them at
    /// the rate of its port.
    #[inline]
    pub fn take_owed(&mut self) -> u32 {
        std::mem::take(&mut self.owed)
    }

    /// Grants a pull, which goes out with the next acknowledgement.
    pub fn grant_pull(&mut self) {
        self.pulls = self.pulls.wrapping_add(1);
        self.acknowledge = true;
    }

    /// What tracking has cost.
    pub fn steps(&self) -> Steps {
        Steps {
            packets: self.seen.tracked,
            steps: self.seen.steps,
            peak_bytes: self.seen.chunks_max as u64 * CHUNK_BYTES as u64,
            disorder_max: u64::from(self.seen.disorder_max),
        }
    }

    /// What only a trimming transport sees.
    pub fn seen(&self) -> &Receiver {
        &self.seen
    }

    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }
}

/// Numbers that can be told apart (IBA 9.7.2).
const SPAN_MAX: u64 = Psn::HALF as u64;

/// What closes the gap that corruption leaves: the receiver names what vanished without a header.
impl Responder {
    /// A packet came. What it has passed by more than the allowance is named, once.
    fn hint(&mut self, config: &Config, seq: u64) {
        let Some(hints) = config.parameters.hints else { return };
        let limit = seq.saturating_sub(u64::from(hints.allowance));
        if let Some(bits) = &self.bits {
            let from = self.hinted.max(bits.floor());
            if limit > from {
                self.report_holes(from, limit, false, usize::MAX);
                self.hinted = limit;
            }
            if self.returned.first().is_some_and(|first| *first < limit) {
                self.returned = self.returned.split_off(&limit);
            }
            return;
        }
        let Some(head) = self.inbox.head() else { return };
        let Some(end) = head.end else { return };
        if !head.told && head.cut == 0 && limit > end.last {
            self.report_head(&config.parameters, end.last);
        }
    }

    /// The sender asks. Everything that should have come is there, or else on no way any more.
    fn on_probe(&mut self, config: &Config, arriving: &Arriving) -> Outcome {
        self.seen.probes += 1;
        self.acknowledge = true;
        let answered = Outcome::Gap { nak: false };
        if arriving.unit != self.inbox.expected {
            return answered;
        }
        if let Some(bits) = &self.bits {
            let from = bits.floor();
            self.report_holes(from, arriving.seq + 1, true, REPORTS_MAX);
            return answered;
        }
        let unit = self.inbox.unit(arriving.unit);
        if unit.enter(arriving.round) == Round::Current {
            (unit.told, unit.given_up) = (false, false);
            self.report_head(&config.parameters, arriving.seq);
        }
        answered
    }

    /// Names what is missing in `from..to`; without `all`, not what went back already.
    fn report_holes(&mut self, from: u64, to: u64, all: bool, max: usize) {
        let Some(bits) = &self.bits else { return };
        let returned = &self.returned;
        let mut holes =
            (from..to).filter(|seq| !bits.has(*seq) && (all || !returned.contains(seq))).peekable();
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
            self.seen.named += named;
            self.reports.push_back((first, Report::Missing { map }));
            reports += 1;
        }
    }

    /// Names what is missing of the head up to `last`, if its sums tell; else the unit has to come anew.
    fn report_head(&mut self, parameters: &Parameters, last: u64) {
        if last < self.inbox.first {
            return;
        }
        let verdict = match parameters.tracking {
            Tracking::Sums => self.inbox.judge(last),
            _ => Verdict::Unknown,
        };
        match verdict {
            Verdict::Missing([a, b]) => {
                let far = b - a > u64::from(u64::BITS);
                let map = if a == b || far { 0 } else { 1 << (b - a - 1) };
                self.reports.push_back((a, Report::Missing { map }));
                if far {
                    self.reports.push_back((b, Report::Missing { map: 0 }));
                }
                self.seen.named += 1 + u64::from(a != b);
                self.inbox.unit(self.inbox.expected).told = true;
            }
            Verdict::Unknown => self.ask_recount(),
            Verdict::Complete => {}
        }
    }

    /// Once in a round.
    fn ask_recount(&mut self) {
        let first = self.inbox.first;
        let unit = self.inbox.unit(self.inbox.expected);
        if !std::mem::replace(&mut unit.given_up, true) {
            let round = unit.round;
            self.seen.recounts += 1;
            self.reports.push_back((first, Report::Recount { round }));
        }
    }
}

fn place_of(data: &Data) -> Option<Place> {
    let len = data.payload_len;
    let place = match data.place() {
        Target::Memory { address, .. } => Place { addr: address, offset: 0, len },
        Target::Buffer { number, offset } => Place { addr: u64::from(number), offset, len },
    };
    (len > 0).then_some(place)
}
