//! The sending half: a sender for each subflow, and the stream that they share.

use wiremend_units::{QpNum, Span, Time, mix};

use super::Signal;
use crate::engine::{
    self, Arrival, Completion, Expiry, Purpose, Requester as _, RequesterCounters, Status, Transmit, Work,
};
use crate::tcp::cc::{Control, Coupling, Share, State};
use crate::tcp::segment::{Data, Segment, widen};
use crate::tcp::sender::Opening;
use crate::tcp::stream::{Piece, Stream};
use crate::tcp::{self, Config, Counters};

/// The sending half of a connection with several subflows.
#[derive(Clone, Debug)]
pub struct Sender {
    subflows: Vec<Subflow>,
    /// What was posted, in numbers of the data.
    stream: Stream,
    /// The first byte of the data that is not acknowledged, and the next one to be sent.
    una: u64,
    nxt: u64,
    /// When pacing lets a subflow take something, if that is all that is waited for.
    pace_at: Time,
    failed: Option<Status>,
    /// What subflows do not count.
    counters: RequesterCounters,
}

/// A subflow. The identifiers of its messages, each of which is a segment, are the numbers of their first bytes among the data.
#[derive(Clone, Debug)]
struct Subflow {
    sender: tcp::Sender,
    /// Its bytes from one to before another go again over other subflows.
    astray: u64,
    astray_end: u64,
}

pub(super) const SUBFLOW_BYTES: usize = size_of::<Subflow>();

/// A segment that may leave, and over which subflow.
#[derive(Clone, Copy, Debug)]
struct Plan {
    subflow: usize,
    /// The number of its first byte.
    data: u64,
    piece: Piece,
    /// The subflow that it was sent over already, and its end there.
    again: Option<(usize, u64)>,
}

impl Sender {
    /// A sender whose peer's end has this number. `random` is for what algorithms leave to chance.
    pub fn new(config: &Config, peer: QpNum, random: u64, subflows: u8) -> Self {
        let subflow = |number: u8| Subflow {
            sender: tcp::Sender::new(config, peer, mix(random ^ number as u64)),
            astray: 0,
            astray_end: 0,
        };
        Self {
            subflows: (0..subflows).map(subflow).collect(),
            stream: Stream::default(),
            una: 0,
            nxt: 0,
            pace_at: Time::MAX,
            failed: None,
            counters: RequesterCounters::default(),
        }
    }
}

impl engine::Requester for Sender {
    type Config = Config;
    type Packet = Segment;

    fn post(&mut self, config: &Config, now: Time, work: Work) {
        self.stream.push(work.id, work.len, &Counters::default());
        self.note_pace(config, now);
    }

    #[inline(never)]
    fn ready(&self, config: &Config, now: Time) -> bool {
        self.failed.is_none()
            && (self.subflows.iter().any(|subflow| subflow.sender.ready(config, now))
                || self.to_open().is_some()
                || self.plan(config, now).is_some())
    }

    #[inline(never)]
    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Segment>> {
        if self.failed.is_some() {
            return None;
        }
        let transmit = self.next_of_subflows(config, now).or_else(|| {
            let Some(number) = self.to_open() else {
                return self.plan(config, now).map(|plan| self.carry_out(config, now, plan));
            };
            let transmit = self.subflows[number].sender.open(config, now);
            Some(self.mapped(number, transmit))
        });
        self.note_pace(config, now);
        transmit.map(|transmit| transmit.map(Segment::Data))
    }

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> Option<Arrival> {
        let Segment::SubflowAck(said) = segment else {
            self.counters.ignored += 1;
            return None;
        };
        let (subflow, data) = (said.subflow, said.data);
        if subflow as usize >= self.subflows.len() {
            self.counters.ignored += 1;
            return None;
        }
        self.couple(subflow as usize);
        let subflow = &mut self.subflows[subflow as usize];
        subflow.sender.on_answer(config, now, &said.of_subflow());
        while subflow.sender.stream.pop_done().is_some() {}
        if subflow.sender.backoff == 0 {
            // It is heard of again, so that it can look after its own.
            subflow.astray_end = subflow.astray;
        }
        if let Some(ack) = widen(self.una, data).filter(|ack| *ack > self.una && *ack <= self.nxt) {
            self.una = ack;
            self.stream.acknowledge(ack, &Counters::default());
        }
        self.note_pace(config, now);
        None
    }

    #[inline(never)]
    fn next_timeout(&self) -> Option<Time> {
        if self.failed.is_some() {
            return None;
        }
        let timers = self.subflows.iter().filter_map(|subflow| subflow.sender.next_timeout());
        timers.chain((self.pace_at != Time::MAX).then_some(self.pace_at)).min()
    }

    #[inline(never)]
    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.failed.is_some() {
            return None;
        }
        let mut expiry = None;
        for (number, subflow) in self.subflows.iter_mut().enumerate() {
            if subflow.sender.next_timeout().is_none_or(|due| due > now) {
                continue;
            }
            if let Some(expired) = subflow.sender.on_timeout(config, now) {
                // All that is under way on it may go over others.
                subflow.astray = subflow.astray.max(subflow.sender.acknowledged());
                subflow.astray_end = subflow.sender.nxt;
                expiry = Some((number, expired));
                break;
            }
        }
        let expiry = expiry.map(|(number, expired)| {
            let usable = |subflow: &Subflow| !subflow.sender.is_error();
            let open = |subflow: &Subflow| usable(subflow) && subflow.sender.opening == Opening::Done;
            let over = !usable(&self.subflows[0]) && !self.subflows.iter().any(open);
            if over {
                self.failed = Some(Status::RetryExceeded);
            }
            let work = self.stream.oldest().unwrap_or(0);
            Expiry { work, fatal: over, path: number as u16, ..expired }
        });
        self.note_pace(config, now);
        expiry
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        if let Some((id, _)) = self.stream.pop_done() {
            return Some(Completion { id, status: Status::Success });
        }
        let status = self.failed?;
        let (id, _) = self.stream.pop_failed(&Counters::default())?;
        self.failed = Some(Status::Flushed);
        Some(Completion { id, status })
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.una == self.stream.end || self.is_error()
    }

    #[inline]
    fn is_error(&self) -> bool {
        self.failed.is_some()
    }

    /// Messages so far.
    #[inline]
    fn messages(&self) -> u64 {
        self.stream.posted
    }

    /// Segments sent so far, each counted once on each subflow.
    #[inline]
    fn next_number(&self) -> u64 {
        self.subflows.iter().map(|subflow| subflow.sender.next_number()).sum()
    }

    /// Bytes of the data acknowledged.
    #[inline]
    fn acknowledged(&self) -> u64 {
        self.una
    }

    fn counters(&self) -> RequesterCounters {
        let mut sum = self.counters;
        for of in self.subflows().map(tcp::Sender::counters) {
            sum.packets += of.packets;
            sum.retransmitted_packets += of.retransmitted_packets;
            sum.retransmitted_bytes += of.retransmitted_bytes;
            sum.timeouts += of.timeouts;
            sum.ignored += of.ignored;
        }
        sum
    }
}

impl Sender {
    /// What a subflow sends by itself: what is lost, and probes.
    fn next_of_subflows(&mut self, config: &Config, now: Time) -> Option<Transmit<Data>> {
        for number in 0..self.subflows.len() {
            let sender = &mut self.subflows[number].sender;
            if sender.ready(config, now)
                && let Some(transmit) = sender.next_data(config, now)
            {
                return Some(self.mapped(number, transmit));
            }
        }
        None
    }

    /// The first subflow, or one that joins it, if there is something to send.
    fn to_open(&self) -> Option<usize> {
        let wanted =
            |subflow: &Subflow| subflow.sender.opening == Opening::Wanted && !subflow.sender.is_error();
        if !self.subflows.iter().any(wanted) {
            return None;
        }
        let left =
            self.nxt < self.stream.end || (0..self.subflows.len()).any(|from| self.astray(from).is_some());
        if !left {
            return None;
        }
        let open = self.subflows.iter().any(|subflow| subflow.sender.opening == Opening::Done);
        let candidates = if open { self.subflows.len() } else { 1 };
        self.subflows[..candidates].iter().position(wanted)
    }

    /// What leaves next of what no subflow sends by itself.
    fn plan(&self, config: &Config, now: Time) -> Option<Plan> {
        let now_with_room = |from: Option<usize>, len: u16| {
            let place = self.nearest(|number, sender| {
                Some(number) != from && sender.room_at(config, len).is_some_and(|at| at <= now)
            });
            place.filter(|place| from.is_none() || self.subflows[*place].sender.backoff == 0)
        };
        for from in 0..self.subflows.len() {
            if let Some((data, end, piece)) = self.astray(from)
                && let Some(subflow) = now_with_room(Some(from), piece.len)
            {
                return Some(Plan { subflow, data, piece, again: Some((from, end)) });
            }
        }
        let piece = self.next_new(config)?;
        let subflow = now_with_room(None, piece.len)?;
        Some(Plan { subflow, data: self.nxt, piece, again: None })
    }

    /// Of those that will do, the subflow with the shortest round trip. One whose timer has expired gets nothing while there is another
    /// whose has not, even if that has no room.
    fn nearest(&self, will_do: impl Fn(usize, &tcp::Sender) -> bool) -> Option<usize> {
        let alive = |sender: &tcp::Sender| !sender.is_error() && sender.opening == Opening::Done;
        let sound = |sender: &tcp::Sender| alive(sender) && sender.backoff == 0;
        let any_sound = self.subflows.iter().any(|subflow| sound(&subflow.sender));
        let candidates = self.subflows.iter().map(|subflow| &subflow.sender).enumerate();
        let candidates = candidates
            .filter(|(number, sender)| (!any_sound || sender.backoff == 0) && will_do(*number, sender));
        candidates.min_by_key(|(_, sender)| sender.srtt().unwrap_or(Span::ZERO)).map(|(number, _)| number)
    }

    /// The next segment of a subflow that goes again over another: the number of its data, its end on the subflow, and itself.
    fn astray(&self, from: usize) -> Option<(u64, u64, Piece)> {
        let subflow = &self.subflows[from];
        let mut behind = subflow.astray;
        while behind < subflow.astray_end {
            let (data, end, piece) = subflow.sender.stream.piece_behind(behind)?;
            if data + piece.len as u64 > self.una && end <= subflow.astray_end {
                return Some((data, end, piece));
            }
            behind = end;
        }
        None
    }

    #[inline]
    fn next_new(&self, config: &Config) -> Option<Piece> {
        let piece = self.stream.next(self.nxt, config.mss)?;
        (self.nxt + piece.len as u64 <= self.una + config.receive_window as u64).then_some(piece)
    }

    fn carry_out(&mut self, config: &Config, now: Time, plan: Plan) -> Transmit<Data> {
        let Plan { subflow, data, piece, again } = plan;
        if let Some((from, end)) = again {
            self.subflows[from].astray = end;
            self.counters.retransmitted_packets += 1;
            self.counters.retransmitted_bytes += piece.len as u64;
        } else {
            self.nxt += piece.len as u64;
            self.stream.on_sent(self.nxt);
        }
        let more = self.next_new(config).is_some();
        let sender = &mut self.subflows[subflow].sender;
        sender.take(config, now, data, piece);
        sender.stream.more = more;
        let transmit = sender.next_data(config, now).expect("there was room");
        let transmit = self.mapped(subflow, transmit);
        match again {
            Some(_) => Transmit { purpose: Purpose::Again, copy: transmit.copy.max(1), ..transmit },
            None => transmit,
        }
    }

    /// A segment of a subflow, as one of the connection.
    fn mapped(&self, subflow: usize, transmit: Transmit<Data>) -> Transmit<Data> {
        let data = transmit.work;
        let signal = Signal { subflow: subflow as u8, data: data as u32 };
        let work = if data < self.una { 0 } else { self.stream.owner(data) };
        let packet = Data { signal: Some(signal), ..transmit.packet };
        Transmit { packet, work, offset: data as u32, path: subflow as u16, ..transmit }
    }

    /// Tells a subflow how all of them stand, if its algorithm wants to know.
    fn couple(&mut self, subflow: usize) {
        if !matches!(self.subflows[subflow].sender.control, Control::Lia(_)) {
            return;
        }
        let shares = self.subflows.iter().filter_map(|subflow| {
            let sender = &subflow.sender;
            let rtt = sender.srtt().filter(|_| !sender.is_error() && sender.opening == Opening::Done)?;
            let repairing = sender.recovery.state == State::Recovery;
            let window = if repairing { sender.window.threshold } else { sender.window.bytes };
            Some(Share { window, rtt })
        });
        let coupling = Coupling::of(shares);
        if let Control::Lia(lia) = &mut self.subflows[subflow].sender.control {
            lia.couple(coupling);
        }
    }

    /// Notes whether pacing is all that is waited for.
    fn note_pace(&mut self, config: &Config, now: Time) {
        let len = self.next_new(config).map(|piece| piece.len);
        let times = self.subflows.iter().filter_map(|subflow| subflow.sender.room_at(config, len?));
        self.pace_at = times.filter(|at| *at > now).min().unwrap_or(Time::MAX);
    }
}

impl Sender {
    /// Its subflows.
    pub fn subflows(&self) -> impl Iterator<Item = &tcp::Sender> {
        self.subflows.iter().map(|subflow| &subflow.sender)
    }

    /// The same, as only TCP counts.
    pub fn seen(&self) -> Counters {
        let own = Counters { reinjected: self.counters.retransmitted_packets as u32, ..Counters::default() };
        self.subflows().fold(own, |mut sum, of| {
            sum.add(of.seen());
            sum
        })
    }
}
