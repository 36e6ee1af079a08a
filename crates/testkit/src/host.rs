//! One end: both engines with memory, and what was asked of them.

use std::collections::BTreeMap;

use wiremend_proto::dcp::Pulls;
use wiremend_proto::engine::{
    Arrival, Completion, Message, Op, Place, Requester as _, Responder as _, Status, Work,
};
use wiremend_units::mix;

use crate::protocol::{Placing, Protocol};

/// A message that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// What it was.
    pub op: Op,
    /// Its bytes, for SEND.
    pub bytes: Vec<u8>,
    /// Its length.
    pub len: u32,
    /// Its immediate data.
    pub imm: Option<u32>,
    /// Its number.
    pub msn: u32,
}

/// The payload of a packet.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    /// Of a request: which work, and where in its message.
    Request(u64, u32),
    /// Of a READ response.
    Response(Vec<u8>),
    /// Of a packet that no engine has sent.
    Forged,
}

/// One end.
pub struct Host<P: Protocol> {
    /// Sends what is posted here.
    pub requester: P::Requester,
    /// Takes what is posted at the other end.
    pub responder: P::Responder,
    pub(crate) pulls: Pulls<()>,
    /// The path by which the last request came.
    pub(crate) heard: u16,
    /// What the peer may read and write.
    pub(crate) memory: Vec<u8>,
    /// Works in posting order.
    pub(crate) posted: Vec<Work>,
    /// What READs brought.
    sinks: BTreeMap<u64, Vec<u8>>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) received: Vec<Received>,
    /// Receive buffers of SENDs that are arriving.
    buffers: BTreeMap<u64, Vec<u8>>,
    /// Payload bytes of requests that were put in their place, repetitions included.
    pub(crate) placed: u64,
    /// What went wrong with the order of bytes.
    disorder: Option<String>,
}

impl<P: Protocol> Host<P> {
    pub(crate) fn new(requester: P::Requester, responder: P::Responder) -> Self {
        Self {
            requester,
            responder,
            pulls: Pulls::new(),
            heard: 0,
            memory: Vec::new(),
            posted: Vec::new(),
            sinks: BTreeMap::new(),
            completions: Vec::new(),
            received: Vec::new(),
            buffers: BTreeMap::new(),
            placed: 0,
            disorder: None,
        }
    }

    pub(crate) fn post(&mut self, work: Work) {
        if work.op == Op::Read {
            self.sinks.insert(work.id, vec![0; work.len as usize]);
        }
        self.posted.push(work);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.requester.is_idle() && !self.responder.has_output()
    }

    /// The bytes of a READ response.
    pub(crate) fn fetch(&self, addr: u64, len: u16) -> Vec<u8> {
        let from = addr as usize;
        self.memory.get(from..from + len as usize).map_or_else(|| vec![0; len as usize], <[u8]>::to_vec)
    }

    /// Puts the bytes of a request where they belong.
    pub(crate) fn place(&mut self, placing: Placing, is_send: bool, place: Place, payload: &Payload) {
        self.placed += place.len as u64;
        let bytes = payload.bytes(place.len);
        let offset = place.offset as usize;
        if !is_send {
            let from = place.addr as usize + offset;
            match self.memory.get_mut(from..from + bytes.len()) {
                Some(memory) => memory.copy_from_slice(&bytes),
                None if matches!(payload, Payload::Forged) => {}
                None => self.disorder = Some(format!("write outside of memory at {from}")),
            }
            return;
        }
        let buffer = self.buffers.entry(place.addr).or_default();
        if offset == 0 && placing == Placing::Restarting {
            buffer.clear();
        }
        if offset != buffer.len() && placing != Placing::AnyOrder {
            let had = buffer.len();
            self.disorder.get_or_insert_with(|| format!("bytes at {offset} after {had} bytes of a message"));
        }
        buffer.resize(buffer.len().max(offset + bytes.len()), 0);
        buffer[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }

    /// Messages complete in order, so that the first buffer belongs to the first SEND with bytes.
    pub(crate) fn complete(&mut self, message: Message) {
        let Message { op, len, imm, msn } = message;
        let buffer = if op == Op::Send && len > 0 { self.buffers.pop_first() } else { None };
        let bytes = buffer.map_or(Vec::new(), |(_, bytes)| bytes);
        self.received.push(Received { op, bytes, len, imm, msn });
    }

    /// Puts the bytes of a READ response where they belong.
    pub(crate) fn arrive(&mut self, arrival: Arrival, payload: &Payload) {
        let bytes = payload.bytes(arrival.len);
        let from = arrival.offset as usize;
        let sink = self.sinks.get_mut(&arrival.work).and_then(|sink| sink.get_mut(from..from + bytes.len()));
        match sink {
            Some(sink) => sink.copy_from_slice(&bytes),
            None => self.disorder = Some(format!("read response for {arrival:?} outside of its buffer")),
        }
    }

    /// What is wrong at the two ends with the works that this one posted.
    pub(crate) fn check(&self, peer: &Self, placing: Placing) -> Result<(), String> {
        if let Some(disorder) = self.disorder.as_ref().or(peer.disorder.as_ref()) {
            return Err(disorder.clone());
        }
        let ids = |len: usize| self.posted.iter().take(len).map(|work| work.id);
        if !self.completions.iter().map(|completion| completion.id).eq(ids(self.completions.len())) {
            return Err("completions are not in the order of posting".to_owned());
        }
        self.check_statuses()?;
        let done = self.completions.iter().filter(|completion| completion.status == Status::Success).count();
        if peer.received.len() < done || peer.received.len() > self.posted.len() {
            let (received, posted) = (peer.received.len(), self.posted.len());
            return Err(format!("{received} messages arrived of {posted} posted and {done} completed"));
        }
        // Dummies are messages as well, of which nobody is told.
        let numbered = self.requester.counters().dummies == 0;
        for ((work, received), index) in self.posted.iter().zip(&peer.received).zip(0..) {
            if (received.op, received.len, received.imm) != (work.op, work.len, work.imm)
                || numbered && received.msn != index + 1
            {
                return Err(format!("{work:?} arrived as {received:?}"));
            }
            let completed = (index as usize) < done;
            if placing != Placing::Counted && (work.op != Op::Read || completed) {
                self.check_bytes(peer, work, received)?;
            }
        }
        Ok(())
    }

    /// Successes, then one failure, then what was flushed.
    fn check_statuses(&self) -> Result<(), String> {
        let mut failed = false;
        for completion in &self.completions {
            let right = match completion.status {
                Status::Success => !failed,
                Status::Flushed => failed,
                _ => !std::mem::replace(&mut failed, true),
            };
            if !right {
                return Err(format!("{completion:?} is out of place"));
            }
        }
        Ok(())
    }

    fn check_bytes(&self, peer: &Self, work: &Work, received: &Received) -> Result<(), String> {
        let bytes = match work.op {
            Op::Send => received.bytes.as_slice(),
            Op::Write => &peer.memory[work.addr as usize..][..work.len as usize],
            Op::Read => self.sinks[&work.id].as_slice(),
        };
        let wrong = bytes.iter().zip(0..).position(|(byte, at)| *byte != pattern(work.id, at));
        if bytes.len() == work.len as usize && wrong.is_none() {
            return Ok(());
        }
        Err(format!("{work:?}: byte {wrong:?} of {} is wrong", bytes.len()))
    }
}

impl Payload {
    fn bytes(&self, len: u16) -> Vec<u8> {
        match self {
            Self::Request(work, offset) => {
                (*offset..*offset + u32::from(len)).map(|at| pattern(*work, at)).collect()
            }
            Self::Response(bytes) => bytes.clone(),
            Self::Forged => vec![0xEE; len.into()],
        }
    }
}

/// The byte of a message at an offset: differs from message to message and from packet to packet, and from what memory
/// holds before.
pub(crate) fn pattern(id: u64, at: u32) -> u8 {
    (mix(id).wrapping_add((at as u64).wrapping_mul(0x9E37_79B9)) >> 13) as u8 | 1
}
