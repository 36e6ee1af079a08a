//! One end: a queue pair with memory, and what was asked of it.

use std::collections::BTreeMap;

use wiremend_proto::engine::{Arrival, Completion, Message, Op, Place, Status, Work};
use wiremend_proto::rc::{Qp, Recovery};
use wiremend_units::mix;

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
}

/// One end.
pub(crate) struct Host {
    pub(crate) qp: Qp,
    /// What the peer may read and write.
    pub(crate) memory: Vec<u8>,
    /// Works in posting order.
    pub(crate) posted: Vec<Work>,
    /// What READs brought.
    sinks: BTreeMap<u64, Vec<u8>>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) received: Vec<Received>,
    /// The SEND that is arriving.
    assembling: Vec<u8>,
    /// Payload bytes of requests that were put in their place, repetitions included.
    pub(crate) placed: u64,
    /// What went wrong with the order of bytes.
    pub(crate) disorder: Option<String>,
}

impl Host {
    pub(crate) fn new(qp: Qp) -> Self {
        Self {
            qp,
            memory: Vec::new(),
            posted: Vec::new(),
            sinks: BTreeMap::new(),
            completions: Vec::new(),
            received: Vec::new(),
            assembling: Vec::new(),
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

    /// The bytes of a READ response.
    pub(crate) fn fetch(&self, addr: u64, len: u16) -> Vec<u8> {
        let from = addr as usize;
        self.memory.get(from..from + len as usize).map_or_else(|| vec![0; len as usize], <[u8]>::to_vec)
    }

    /// Puts the bytes of a request where they belong.
    pub(crate) fn place(&mut self, send: bool, place: Place, bytes: &[u8], recovery: Recovery) {
        self.placed += place.len as u64;
        let offset = place.offset as usize;
        if !send {
            let from = place.addr as usize + offset;
            match self.memory.get_mut(from..from + bytes.len()) {
                Some(memory) => memory.copy_from_slice(bytes),
                None => self.disorder = Some(format!("write outside of memory at {from}")),
            }
            return;
        }
        if offset == 0 && recovery == Recovery::GoBackZero {
            self.assembling.clear();
        }
        if offset != self.assembling.len() {
            let had = self.assembling.len();
            self.disorder.get_or_insert_with(|| format!("bytes at {offset} after {had} bytes of a message"));
        }
        self.assembling.extend_from_slice(bytes);
    }

    pub(crate) fn complete(&mut self, message: Message) {
        let bytes = if message.op == Op::Send { std::mem::take(&mut self.assembling) } else { Vec::new() };
        self.received.push(Received { op: message.op, bytes, len: message.len, imm: message.imm });
    }

    /// Puts the bytes of a READ response where they belong.
    pub(crate) fn arrive(&mut self, arrival: Arrival, bytes: &[u8]) {
        let from = arrival.offset as usize;
        let sink = self.sinks.get_mut(&arrival.work).and_then(|sink| sink.get_mut(from..from + bytes.len()));
        match sink {
            Some(sink) => sink.copy_from_slice(bytes),
            None => self.disorder = Some(format!("read response for {arrival:?} outside of its buffer")),
        }
    }

    /// What is wrong at the two ends with the works that this one posted.
    pub(crate) fn check(&self, peer: &Self) -> Result<(), String> {
        if let Some(disorder) = self.disorder.as_ref().or(peer.disorder.as_ref()) {
            return Err(disorder.clone());
        }
        let ids = |len: usize| self.posted.iter().take(len).map(|work| work.id);
        if !self.completions.iter().map(|completion| completion.id).eq(ids(self.completions.len())) {
            return Err("completions are not in the order of posting".to_owned());
        }
        self.check_statuses()?;
        let done = self.completions.iter().filter(|completion| completion.status == Status::Success).count();
        for work in &self.posted[..done] {
            self.check_memory(peer, work)?;
        }
        if peer.received.len() < done || peer.received.len() > self.posted.len() {
            let (received, posted) = (peer.received.len(), self.posted.len());
            return Err(format!("{received} messages arrived of {posted} posted and {done} completed"));
        }
        for (work, received) in self.posted.iter().zip(&peer.received) {
            check_message(work, received)?;
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

    fn check_memory(&self, peer: &Self, work: &Work) -> Result<(), String> {
        let region = work.addr as usize..work.addr as usize + work.len as usize;
        let bytes = match work.op {
            Op::Send => return Ok(()),
            Op::Write => &peer.memory[region],
            Op::Read => self.sinks[&work.id].as_slice(),
        };
        match bytes.iter().zip(0..).position(|(byte, at)| *byte != pattern(work.id, at)) {
            Some(at) => Err(format!("byte {at} of {work:?} is wrong")),
            None => Ok(()),
        }
    }
}

fn check_message(work: &Work, received: &Received) -> Result<(), String> {
    let right = received.op == work.op && received.len == work.len && received.imm == work.imm;
    let bytes_right = work.op != Op::Send
        || received.bytes.len() == work.len as usize
            && received.bytes.iter().zip(0..).all(|(byte, at)| *byte == pattern(work.id, at));
    if right && bytes_right { Ok(()) } else { Err(format!("{work:?} arrived as something else")) }
}

/// The bytes of a request.
pub(crate) fn payload(id: u64, offset: u32, len: u16) -> Vec<u8> {
    (offset..offset + len as u32).map(|at| pattern(id, at)).collect()
}

/// The byte of a message at an offset: differs from message to message and from packet to packet.
pub(crate) fn pattern(id: u64, at: u32) -> u8 {
    (mix(id).wrapping_add((at as u64).wrapping_mul(0x9E37_79B9)) >> 13) as u8
}
