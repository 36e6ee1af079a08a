//! The receiver of MPTCP: one receiver per subflow and one for the data.

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{Psn, QpNum, Time};

use super::Dss;
use crate::engine::{self, Message, RequestOutcome, Responder as _, ResponderCounters};
use crate::tcp::segment::{Data, Segment, widen};
use crate::tcp::{self, Config};

/// Receiving end of an MPTCP connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    subflows: Vec<Subflow>,
    /// Reassembles the data. Its own ACKs are not used.
    data: tcp::Receiver,
    done: VecDeque<Message>,
    /// Subflow that sent the last ACK.
    last_polled: usize,
    /// Subflow of the last arrival.
    last_arrival: u8,
}

#[derive(Clone, Debug)]
struct Subflow {
    receiver: tcp::Receiver,
    /// Segments beyond a gap, by subflow sequence number.
    held: BTreeMap<u64, Data>,
}

pub(super) const SUBFLOW_BYTES: usize = size_of::<Subflow>();

impl Receiver {
    /// A receiver from the connection `peer`.
    pub fn new(config: &Config, peer: QpNum, subflows: u8) -> Self {
        let receiver = tcp::Receiver::new(config, peer);
        let subflow = Subflow { receiver: receiver.clone(), held: BTreeMap::new() };
        Self {
            subflows: vec![subflow; subflows.into()],
            data: receiver,
            done: VecDeque::new(),
            last_polled: 0,
            last_arrival: 0,
        }
    }
}

impl engine::Responder for Receiver {
    type Config = Config;
    type Packet = Segment;

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> RequestOutcome {
        let Some(Dss { subflow: number, data }) = segment.dss() else { return RequestOutcome::Ignored };
        let Some(subflow) = self.subflows.get_mut(number as usize) else { return RequestOutcome::Ignored };
        self.last_arrival = number;
        let before = subflow.receiver.received();
        let outcome = subflow.receiver.on_packet(config, now, segment);
        while subflow.receiver.poll_message().is_some() {}
        let (RequestOutcome::Accepted { .. }, Segment::Data(segment_data)) = (outcome, segment) else {
            return outcome;
        };
        if segment_data.syn {
            return outcome;
        }
        let map_to_connection = Data { seq: data, marked: false, cwr: false, ..*segment_data };
        let in_order = subflow.receiver.received();
        let mut fresh = false;
        if in_order == before {
            let number = widen(before, segment_data.seq).unwrap_or(0);
            subflow.held.insert(number, map_to_connection);
            fresh = true;
        } else {
            fresh |= deliver(&mut self.data, &mut self.done, config, now, map_to_connection);
            while let Some(entry) = subflow.held.first_entry().filter(|entry| *entry.key() < in_order) {
                fresh |= deliver(&mut self.data, &mut self.done, config, now, entry.remove());
            }
        }
        if !fresh {
            return RequestOutcome::Duplicate;
        }
        if !self.done.is_empty() {
            // The last bytes may have arrived on other subflows, whose ACKs would be delayed.
            self.subflows.iter_mut().for_each(|subflow| subflow.receiver.ack_now());
        }
        RequestOutcome::Accepted { placement: None, completed: self.done.pop_front() }
    }

    #[inline]
    fn has_messages(&self) -> bool {
        !self.done.is_empty()
    }

    fn poll_message(&mut self) -> Option<Message> {
        self.done.pop_front()
    }

    #[inline(never)]
    fn poll_transmit(&mut self, config: &Config) -> Option<Segment> {
        let count = self.subflows.len();
        let turns = (1..=count).map(|step| (self.last_polled + step) % count);
        let next = turns.into_iter().find(|place| self.subflows[*place].receiver.has_output())?;
        self.last_polled = next;
        let Some(Segment::Ack(ack)) = self.subflows[next].receiver.poll_transmit(config) else { return None };
        let dss = Dss { subflow: next as u8, data: self.data.received() as u32 };
        Some(Segment::SubflowAck(ack.with_dss(dss)))
    }

    #[inline]
    fn has_output(&self) -> bool {
        self.subflows.iter().any(|subflow| subflow.receiver.has_output())
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.subflows.iter().filter_map(|subflow| subflow.receiver.next_timeout()).min()
    }

    fn on_timeout(&mut self, now: Time) {
        self.subflows.iter_mut().for_each(|subflow| subflow.receiver.on_timeout(now));
    }

    /// Low 24 bits of the first missing byte of the data.
    #[inline]
    fn expected(&self) -> Psn {
        self.data.expected()
    }

    /// Whether a subflow holds bytes beyond a gap. It has reported them with SACK.
    #[inline]
    fn nak_sent(&self) -> bool {
        self.subflows.iter().any(|subflow| subflow.receiver.nak_sent())
    }

    fn path_state(&self, path: u16) -> (Psn, bool) {
        match self.subflows.get(path as usize) {
            Some(subflow) => (subflow.receiver.expected(), subflow.receiver.nak_sent()),
            None => (self.expected(), self.nak_sent()),
        }
    }

    fn response_path(&self, answer: &Segment) -> u16 {
        answer.dss().map_or(0, |dss| dss.subflow ^ self.last_arrival).into()
    }

    fn counters(&self) -> ResponderCounters {
        self.subflows.iter().fold(ResponderCounters::default(), |sum, subflow| {
            let counters = subflow.receiver.counters();
            ResponderCounters {
                accepted: sum.accepted + counters.accepted,
                acks: sum.acks + counters.acks,
                duplicates: sum.duplicates + counters.duplicates,
                out_of_sequence: sum.out_of_sequence + counters.out_of_sequence,
                ignored: sum.ignored + counters.ignored,
                ..sum
            }
        })
    }
}

impl Receiver {
    /// Bytes of the data received without a gap.
    #[inline]
    pub fn received(&self) -> u64 {
        self.data.received()
    }
}

/// Delivers a segment that is in order on its subflow. Returns whether its data were missing.
fn deliver(
    data: &mut tcp::Receiver,
    done: &mut VecDeque<Message>,
    config: &Config,
    now: Time,
    map_to_connection: Data,
) -> bool {
    let outcome = data.on_packet(config, now, &Segment::Data(map_to_connection));
    if let RequestOutcome::Accepted { completed, .. } = outcome {
        done.extend(completed);
        done.extend(std::iter::from_fn(|| data.poll_message()));
        return true;
    }
    false
}
