//! The receiving half: a receiver for each subflow, and one for the data that they bring.

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{Psn, QpNum, Time};

use super::Signal;
use crate::engine::{self, Message, Outcome, Responder as _, ResponderCounters};
use crate::tcp::segment::{Data, Segment, widen};
use crate::tcp::{self, Config};

/// The receiving half of a connection with several subflows.
#[derive(Clone, Debug)]
pub struct Receiver {
    subflows: Vec<Subflow>,
    /// Knows the data, whose segments it takes from subflows; nobody hears its acknowledgements.
    data: tcp::Receiver,
    done: VecDeque<Message>,
    /// The subflow that has spoken last.
    turn: usize,
    /// The one that was heard of last.
    heard: u8,
}

#[derive(Clone, Debug)]
struct Subflow {
    receiver: tcp::Receiver,
    /// Segments beyond a gap, by their number in the subflow.
    held: BTreeMap<u64, Data>,
}

pub(super) const SUBFLOW_BYTES: usize = size_of::<Subflow>();

impl Receiver {
    /// A receiver whose peer's end has this number.
    pub fn new(config: &Config, peer: QpNum, subflows: u8) -> Self {
        let receiver = tcp::Receiver::new(config, peer);
        let subflow = Subflow { receiver: receiver.clone(), held: BTreeMap::new() };
        Self {
            subflows: vec![subflow; subflows.into()],
            data: receiver,
            done: VecDeque::new(),
            turn: 0,
            heard: 0,
        }
    }
}

impl engine::Responder for Receiver {
    type Config = Config;
    type Packet = Segment;

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> Outcome {
        let Some(Signal { subflow: number, data }) = segment.signal() else { return Outcome::Ignored };
        let Some(subflow) = self.subflows.get_mut(number as usize) else { return Outcome::Ignored };
        self.heard = number;
        let before = subflow.receiver.received();
        let outcome = subflow.receiver.on_packet(config, now, segment);
        while subflow.receiver.poll_message().is_some() {}
        let (Outcome::Accepted { .. }, Segment::Data(said)) = (outcome, segment) else {
            return outcome;
        };
        if said.syn {
            return outcome;
        }
        let mapped = Data { seq: data, marked: false, cwr: false, ..*said };
        let in_order = subflow.receiver.received();
        let mut fresh = false;
        if in_order == before {
            let number = widen(before, said.seq).unwrap_or(0);
            subflow.held.insert(number, mapped);
            fresh = true;
        } else {
            fresh |= hand_over(&mut self.data, &mut self.done, config, now, mapped);
            while let Some(entry) = subflow.held.first_entry().filter(|entry| *entry.key() < in_order) {
                fresh |= hand_over(&mut self.data, &mut self.done, config, now, entry.remove());
            }
        }
        if !fresh {
            return Outcome::Duplicate;
        }
        if !self.done.is_empty() {
            // Its last byte may have come behind those of other subflows, of which nobody would hear for a while.
            self.subflows.iter_mut().for_each(|subflow| subflow.receiver.answer_now());
        }
        Outcome::Accepted { place: None, completed: self.done.pop_front() }
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
        let turns = (1..=count).map(|step| (self.turn + step) % count);
        let next = turns.into_iter().find(|place| self.subflows[*place].receiver.has_output())?;
        self.turn = next;
        let Some(Segment::Ack(ack)) = self.subflows[next].receiver.poll_transmit(config) else { return None };
        let signal = Signal { subflow: next as u8, data: self.data.received() as u32 };
        Some(Segment::SubflowAck(ack.on_subflow(signal)))
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

    /// The first missing byte of the data, in the 24 bits of other transports' numbers.
    #[inline]
    fn expected(&self) -> Psn {
        self.data.expected()
    }

    /// A subflow holds something beyond a gap, and has said so.
    #[inline]
    fn nak_sent(&self) -> bool {
        self.subflows.iter().any(|subflow| subflow.receiver.nak_sent())
    }

    fn standing(&self, path: u16) -> (Psn, bool) {
        match self.subflows.get(path as usize) {
            Some(subflow) => (subflow.receiver.expected(), subflow.receiver.nak_sent()),
            None => (self.expected(), self.nak_sent()),
        }
    }

    fn path_of(&self, answer: &Segment) -> u16 {
        answer.signal().map_or(0, |signal| signal.subflow ^ self.heard).into()
    }

    /// What its subflows have done and seen.
    fn counters(&self) -> ResponderCounters {
        self.subflows.iter().fold(ResponderCounters::default(), |sum, subflow| {
            let of = subflow.receiver.counters();
            ResponderCounters {
                accepted: sum.accepted + of.accepted,
                acks: sum.acks + of.acks,
                duplicates: sum.duplicates + of.duplicates,
                ahead: sum.ahead + of.ahead,
                ignored: sum.ignored + of.ignored,
                ..sum
            }
        })
    }
}

impl Receiver {
    /// Bytes of the data that are there without a gap.
    #[inline]
    pub fn received(&self) -> u64 {
        self.data.received()
    }
}

/// Data that are in order on their subflow take their place. Whether they were missing.
fn hand_over(
    data: &mut tcp::Receiver,
    done: &mut VecDeque<Message>,
    config: &Config,
    now: Time,
    mapped: Data,
) -> bool {
    let outcome = data.on_packet(config, now, &Segment::Data(mapped));
    if let Outcome::Accepted { completed, .. } = outcome {
        done.extend(completed);
        done.extend(std::iter::from_fn(|| data.poll_message()));
        return true;
    }
    false
}
