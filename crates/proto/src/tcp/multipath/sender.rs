//! The sender of MPTCP: one sender per subflow and the stream that they share.

use wiremend_units::{QpNum, Span, Time, mix};

use super::Dss;
use crate::engine::{
    self, Completion, Expiry, Purpose, ReadPlacement, Requester as _, RequesterCounters, Status, Transmit,
    Work,
};
use crate::tcp::cc::{Control, Coupling, RecoveryState, Share};
use crate::tcp::segment::{Data, Segment, widen};
use crate::tcp::sender::Handshake;
use crate::tcp::stream::{Piece, Stream};
use crate::tcp::{self, Config, Counters};

/// Sending end of an MPTCP connection.
#[derive(Clone, Debug)]
pub struct Sender {
    subflows: Vec<Subflow>,
    stream: Stream,
    /// First unacknowledged byte of the data and next byte to send.
    una: u64,
    nxt: u64,
    /// Expiry of the pacing timer; set only if nothing but pacing delays the next segment.
    pace_at: Time,
    failed: Option<Status>,
    /// Counters beyond those of the subflows.
    counters: RequesterCounters,
}

/// A subflow. Each of its messages is one segment, identified by its data sequence number.
#[derive(Clone, Debug)]
struct Subflow {
    sender: tcp::Sender,
    /// Range of subflow bytes to send again over other subflows.
    reinject_from: u64,
    reinject_end: u64,
}

pub(super) const SUBFLOW_BYTES: usize = size_of::<Subflow>();

/// A segment and the subflow to send it over.
#[derive(Clone, Copy, Debug)]
struct SegmentPlan {
    subflow: usize,
    data: u64,
    piece: Piece,
    /// For a reinjection: the subflow it was sent over before, and its end there.
    reinjected: Option<(usize, u64)>,
}

impl Sender {
    /// A sender to the connection `peer`. `random` seeds random choices of the algorithm.
    pub fn new(config: &Config, peer: QpNum, random: u64, subflows: u8) -> Self {
        let subflow = |number: u8| Subflow {
            sender: tcp::Sender::new(config, peer, mix(random ^ number as u64)),
            reinject_from: 0,
            reinject_end: 0,
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
        self.update_pacing_timer(config, now);
    }

    #[inline(never)]
    fn ready(&self, config: &Config, now: Time) -> bool {
        self.failed.is_none()
            && (self.subflows.iter().any(|subflow| subflow.sender.ready(config, now))
                || self.subflow_to_open().is_some()
                || self.plan(config, now).is_some())
    }

    #[inline(never)]
    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Segment>> {
        if self.failed.is_some() {
            return None;
        }
        let transmit = self.poll_subflows(config, now).or_else(|| {
            let Some(number) = self.subflow_to_open() else {
                return self.plan(config, now).map(|plan| self.send_planned(config, now, plan));
            };
            let transmit = self.subflows[number].sender.send_syn(config, now);
            Some(self.map_to_connection(number, transmit))
        });
        self.update_pacing_timer(config, now);
        transmit.map(|transmit| transmit.map(Segment::Data))
    }

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> Option<ReadPlacement> {
        let Segment::SubflowAck(ack) = segment else {
            self.counters.ignored += 1;
            return None;
        };
        let (subflow, data) = (ack.subflow, ack.data);
        if subflow as usize >= self.subflows.len() {
            self.counters.ignored += 1;
            return None;
        }
        self.set_coupling(subflow as usize);
        let subflow = &mut self.subflows[subflow as usize];
        subflow.sender.on_segment(config, now, &ack.without_dss());
        while subflow.sender.stream.pop_done().is_some() {}
        if subflow.sender.backoff == 0 {
            // The subflow works again and recovers its own losses.
            subflow.reinject_end = subflow.reinject_from;
        }
        if let Some(ack) = widen(self.una, data).filter(|ack| *ack > self.una && *ack <= self.nxt) {
            self.una = ack;
            self.stream.acknowledge(ack, &Counters::default());
        }
        self.update_pacing_timer(config, now);
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
                // Data in flight on this subflow may be sent over others.
                subflow.reinject_from = subflow.reinject_from.max(subflow.sender.acknowledged());
                subflow.reinject_end = subflow.sender.nxt;
                expiry = Some((number, expired));
                break;
            }
        }
        let expiry = expiry.map(|(number, expired)| {
            let usable = |subflow: &Subflow| !subflow.sender.is_error();
            let open =
                |subflow: &Subflow| usable(subflow) && subflow.sender.handshake_state == Handshake::Done;
            let over = !usable(&self.subflows[0]) && !self.subflows.iter().any(open);
            if over {
                self.failed = Some(Status::RetryExceeded);
            }
            let work = self.stream.oldest().unwrap_or(0);
            Expiry { work, fatal: over, path: number as u16, ..expired }
        });
        self.update_pacing_timer(config, now);
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

    #[inline]
    fn messages(&self) -> u64 {
        self.stream.posted
    }

    /// Segments sent over all subflows, without retransmissions.
    #[inline]
    fn next_number(&self) -> u64 {
        self.subflows.iter().map(|subflow| subflow.sender.next_number()).sum()
    }

    #[inline]
    fn acknowledged(&self) -> u64 {
        self.una
    }

    fn counters(&self) -> RequesterCounters {
        let mut sum = self.counters;
        for counters in self.subflows().map(tcp::Sender::counters) {
            sum.packets += counters.packets;
            sum.retransmitted_packets += counters.retransmitted_packets;
            sum.retransmitted_bytes += counters.retransmitted_bytes;
            sum.timeouts += counters.timeouts;
            sum.ignored += counters.ignored;
        }
        sum
    }
}

impl Sender {
    /// Returns a segment that a subflow must send by itself: a retransmission or a probe.
    fn poll_subflows(&mut self, config: &Config, now: Time) -> Option<Transmit<Data>> {
        for number in 0..self.subflows.len() {
            let sender = &mut self.subflows[number].sender;
            if sender.ready(config, now)
                && let Some(transmit) = sender.next_data(config, now)
            {
                return Some(self.map_to_connection(number, transmit));
            }
        }
        None
    }

    /// Returns the subflow to open next, if there is data to send: the first, then those that join.
    fn subflow_to_open(&self) -> Option<usize> {
        let wanted = |subflow: &Subflow| {
            subflow.sender.handshake_state == Handshake::Pending && !subflow.sender.is_error()
        };
        if !self.subflows.iter().any(wanted) {
            return None;
        }
        let left = self.nxt < self.stream.end
            || (0..self.subflows.len()).any(|from| self.next_reinjection(from).is_some());
        if !left {
            return None;
        }
        let open = self.subflows.iter().any(|subflow| subflow.sender.handshake_state == Handshake::Done);
        let candidates = if open { self.subflows.len() } else { 1 };
        self.subflows[..candidates].iter().position(wanted)
    }

    /// Chooses the next reinjection or new segment and its subflow.
    fn plan(&self, config: &Config, now: Time) -> Option<SegmentPlan> {
        let now_with_room = |from: Option<usize>, len: u16| {
            let place = self.best_subflow(|number, sender| {
                Some(number) != from && sender.send_time(config, len).is_some_and(|at| at <= now)
            });
            place.filter(|place| from.is_none() || self.subflows[*place].sender.backoff == 0)
        };
        for from in 0..self.subflows.len() {
            if let Some((data, end, piece)) = self.next_reinjection(from)
                && let Some(subflow) = now_with_room(Some(from), piece.len)
            {
                return Some(SegmentPlan { subflow, data, piece, reinjected: Some((from, end)) });
            }
        }
        let piece = self.next_new(config)?;
        let subflow = now_with_room(None, piece.len)?;
        Some(SegmentPlan { subflow, data: self.nxt, piece, reinjected: None })
    }

    /// Returns the usable subflow with the shortest round trip. Subflows whose timer has expired are left out
    /// while another works, even if that one has no room.
    fn best_subflow(&self, is_usable: impl Fn(usize, &tcp::Sender) -> bool) -> Option<usize> {
        let alive = |sender: &tcp::Sender| !sender.is_error() && sender.handshake_state == Handshake::Done;
        let healthy = |sender: &tcp::Sender| alive(sender) && sender.backoff == 0;
        let any_healthy = self.subflows.iter().any(|subflow| healthy(&subflow.sender));
        let candidates = self.subflows.iter().map(|subflow| &subflow.sender).enumerate();
        let candidates = candidates
            .filter(|(number, sender)| (!any_healthy || sender.backoff == 0) && is_usable(*number, sender));
        candidates.min_by_key(|(_, sender)| sender.srtt().unwrap_or(Span::ZERO)).map(|(number, _)| number)
    }

    /// Returns the next segment to reinject: its data sequence number, its end on the subflow, and the
    /// segment.
    fn next_reinjection(&self, from: usize) -> Option<(u64, u64, Piece)> {
        let subflow = &self.subflows[from];
        let mut behind = subflow.reinject_from;
        while behind < subflow.reinject_end {
            let (data, end, piece) = subflow.sender.stream.piece_at(behind)?;
            if data + piece.len as u64 > self.una && end <= subflow.reinject_end {
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

    fn send_planned(&mut self, config: &Config, now: Time, plan: SegmentPlan) -> Transmit<Data> {
        let SegmentPlan { subflow, data, piece, reinjected } = plan;
        if let Some((from, end)) = reinjected {
            self.subflows[from].reinject_from = end;
            self.counters.retransmitted_packets += 1;
            self.counters.retransmitted_bytes += piece.len as u64;
        } else {
            self.nxt += piece.len as u64;
            self.stream.on_sent(self.nxt);
        }
        let more = self.next_new(config).is_some();
        let sender = &mut self.subflows[subflow].sender;
        sender.take_piece(config, now, data, piece);
        sender.stream.has_more = more;
        let transmit = sender.next_data(config, now).expect("there was room");
        let transmit = self.map_to_connection(subflow, transmit);
        match reinjected {
            Some(_) => Transmit { purpose: Purpose::Retransmission, copy: transmit.copy.max(1), ..transmit },
            None => transmit,
        }
    }

    fn map_to_connection(&self, subflow: usize, transmit: Transmit<Data>) -> Transmit<Data> {
        let data = transmit.work;
        let dss = Dss { subflow: subflow as u8, data: data as u32 };
        let work = if data < self.una { 0 } else { self.stream.message_at(data) };
        let packet = Data { dss: Some(dss), ..transmit.packet };
        Transmit { packet, work, offset: data as u32, path: subflow as u16, ..transmit }
    }

    fn set_coupling(&mut self, subflow: usize) {
        if !matches!(self.subflows[subflow].sender.control, Control::Lia(_)) {
            return;
        }
        let shares = self.subflows.iter().filter_map(|subflow| {
            let sender = &subflow.sender;
            let rtt =
                sender.srtt().filter(|_| !sender.is_error() && sender.handshake_state == Handshake::Done)?;
            let repairing = sender.recovery.state == RecoveryState::Recovery;
            let window = if repairing { sender.window.threshold } else { sender.window.bytes };
            Some(Share { window, rtt })
        });
        let coupling = Coupling::from_shares(shares);
        if let Control::Lia(lia) = &mut self.subflows[subflow].sender.control {
            lia.set_coupling(coupling);
        }
    }

    /// Sets the pacing timer if nothing but pacing delays the next segment.
    fn update_pacing_timer(&mut self, config: &Config, now: Time) {
        let len = self.next_new(config).map(|piece| piece.len);
        let times = self.subflows.iter().filter_map(|subflow| subflow.sender.send_time(config, len?));
        self.pace_at = times.filter(|at| *at > now).min().unwrap_or(Time::MAX);
    }
}

impl Sender {
    /// All subflows.
    pub fn subflows(&self) -> impl Iterator<Item = &tcp::Sender> {
        self.subflows.iter().map(|subflow| &subflow.sender)
    }

    /// Sum of the TCP counters of all subflows.
    pub fn tcp_counters(&self) -> Counters {
        let own = Counters { reinjected: self.counters.retransmitted_packets as u32, ..Counters::default() };
        self.subflows().fold(own, |mut sum, subflow| {
            sum.add(subflow.tcp_counters());
            sum
        })
    }
}
