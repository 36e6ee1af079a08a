//! The receiving half: a receiver for each subflow, and one for the data that they bring.

use std::collections::{BTreeMap, VecDeque};

use wiremend_units::{Psn, QpNum, Time};

use super::Signal;
use crate::rc::{Message, Outcome, Packet};
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

    /// Takes a packet of the peer.
    #[inline(never)]
    pub fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> Outcome {
        let Some(Signal { subflow: number, data }) = Signal::read(packet) else { return Outcome::Ignored };
        let Some(subflow) = self.subflows.get_mut(number as usize) else { return Outcome::Ignored };
        self.heard = number;
        let before = subflow.receiver.received();
        let outcome = subflow.receiver.on_packet(config, now, packet);
        while subflow.receiver.poll_message().is_some() {}
        let (Outcome::Accepted { .. }, Some(Segment::Data(said))) = (outcome, Segment::read(packet)) else {
            return outcome;
        };
        if said.syn {
            return outcome;
        }
        let mapped = Data { seq: data, marked: false, cwr: false, ..said };
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

    /// When [`Self::on_timeout`] wants to be called.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.subflows.iter().filter_map(|subflow| subflow.receiver.next_timeout()).min()
    }

    /// The time for a delayed acknowledgement may have come.
    pub fn on_timeout(&mut self, now: Time) {
        self.subflows.iter_mut().for_each(|subflow| subflow.receiver.on_timeout(now));
    }

    /// Whether [`Self::poll_transmit`] would give a packet.
    #[inline]
    pub fn has_output(&self) -> bool {
        self.subflows.iter().any(|subflow| subflow.receiver.has_output())
    }

    /// The next acknowledgement, as things stand now; subflows take turns.
    #[inline(never)]
    pub fn poll_transmit(&mut self, config: &Config) -> Option<Packet> {
        let count = self.subflows.len();
        let turns = (1..=count).map(|step| (self.turn + step) % count);
        let next = turns.into_iter().find(|place| self.subflows[*place].receiver.has_output())?;
        self.turn = next;
        let packet = self.subflows[next].receiver.poll_transmit(config)?;
        Some(Signal { subflow: next as u8, data: self.data.received() as u32 }.on(packet))
    }

    /// Whether [`Self::poll_message`] would give a message.
    #[inline]
    pub fn has_messages(&self) -> bool {
        !self.done.is_empty()
    }

    /// The next message that is complete beyond the one that an outcome told of.
    pub fn poll_message(&mut self) -> Option<Message> {
        self.done.pop_front()
    }

    /// Bytes of the data that are there without a gap.
    #[inline]
    pub fn received(&self) -> u64 {
        self.data.received()
    }

    /// The first missing byte of the data, in the 24 bits of other transports' numbers.
    #[inline]
    pub fn expected(&self) -> Psn {
        self.data.expected()
    }

    /// A subflow holds something beyond a gap, and has said so.
    #[inline]
    pub fn nak_sent(&self) -> bool {
        self.subflows.iter().any(|subflow| subflow.receiver.nak_sent())
    }

    /// What tells the path of an answer from that of the segment which came last, as in [`crate::rc::Transmit::path`].
    pub fn apart(&self, answer: &Packet) -> u16 {
        Signal::read(answer).map_or(0, |signal| signal.subflow ^ self.heard).into()
    }

    /// The receiver of a subflow, if there is such.
    pub fn subflow(&self, number: u16) -> Option<&tcp::Receiver> {
        self.subflows.get(number as usize).map(|subflow| &subflow.receiver)
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
    let outcome = data.on_packet(config, now, &Segment::Data(mapped).packet(QpNum::default()));
    if let Outcome::Accepted { completed, .. } = outcome {
        done.extend(completed);
        done.extend(std::iter::from_fn(|| data.poll_message()));
        return true;
    }
    false
}
