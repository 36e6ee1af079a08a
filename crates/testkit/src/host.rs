//! A host: requester, responder and memory, with the works posted to it.

use std::collections::BTreeMap;

use wiremend_proto::Packet;
use wiremend_proto::dcp::PullQueue;
use wiremend_proto::engine::{
    Completion, Message, Op, Placement, ReadPlacement, Requester as _, Responder as _, Status, Work,
};
use wiremend_units::mix;
use wiremend_wire::Opcode;

use crate::protocol::{PayloadOrder, Protocol};

/// A message that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedMessage {
    /// Operation.
    pub op: Op,
    /// Bytes of a SEND.
    pub bytes: Vec<u8>,
    /// Length in bytes.
    pub len: u32,
    /// Immediate data.
    pub imm: Option<u32>,
    /// Message sequence number.
    pub msn: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Payload {
    /// Request: work identifier and offset in its message.
    Request(u64, u32),
    Response(Vec<u8>),
    /// Packet that no engine has sent.
    Forged,
}

/// One host.
pub struct Host<P: Protocol> {
    /// Requester of the works posted here.
    pub requester: P::Requester,
    /// Responder to the works of the peer.
    pub responder: P::Responder,
    pub(crate) pulls: PullQueue<()>,
    /// Path of the last request that arrived.
    pub(crate) last_path: u16,
    /// Key of the last executed READ.
    last_read: Option<u32>,
    /// Memory that the peer may read and write.
    pub(crate) memory: Vec<u8>,
    pub(crate) posted: Vec<Work>,
    /// Results of READs by work.
    sinks: BTreeMap<u64, Vec<u8>>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) received: Vec<ReceivedMessage>,
    /// Receive buffers of incomplete SENDs.
    buffers: BTreeMap<u64, Vec<u8>>,
    /// Payload bytes written by requests, duplicates included.
    pub(crate) placed: u64,
    /// First violation of byte order or memory bounds.
    disorder: Option<String>,
}

impl<P: Protocol> Host<P> {
    pub(crate) fn new(requester: P::Requester, responder: P::Responder) -> Self {
        Self {
            requester,
            responder,
            pulls: PullQueue::new(),
            last_path: 0,
            last_read: None,
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

    pub(crate) fn fetch(&self, addr: u64, len: u16) -> Vec<u8> {
        let from = addr as usize;
        self.memory.get(from..from + len as usize).map_or_else(|| vec![0; len as usize], <[u8]>::to_vec)
    }

    /// Writes the payload of a request to memory or a receive buffer.
    pub(crate) fn place(
        &mut self,
        payload_order: PayloadOrder,
        is_send: bool,
        place: Placement,
        payload: &Payload,
    ) {
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
        if offset == 0 && payload_order == PayloadOrder::Restarting {
            buffer.clear();
        }
        if offset != buffer.len() && payload_order != PayloadOrder::AnyOrder {
            let had = buffer.len();
            self.disorder.get_or_insert_with(|| format!("bytes at {offset} after {had} bytes of a message"));
        }
        buffer.resize(buffer.len().max(offset + bytes.len()), 0);
        buffer[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }

    /// Returns whether an executed packet is a dummy. An empty READ is one if it repeats the key of the last READ, since
    /// each posted READ has its own.
    pub(crate) fn is_dummy(&mut self, packet: &Packet) -> bool {
        let Packet::Rc(request) = packet else { return packet.is_dummy() };
        if request.opcode != Opcode::ReadRequest {
            return packet.is_dummy();
        }
        let key = request.reth().map(|reth| reth.remote_key);
        std::mem::replace(&mut self.last_read, key) == key && packet.is_dummy()
    }

    /// Completes a message. Messages complete in order, so the first buffer belongs to the first SEND with
    /// bytes.
    pub(crate) fn complete(&mut self, message: Message) {
        let Message { op, len, imm, msn, invalidate: _ } = message;
        let buffer = if op == Op::Send && len > 0 { self.buffers.pop_first() } else { None };
        let bytes = buffer.map_or(Vec::new(), |(_, bytes)| bytes);
        self.received.push(ReceivedMessage { op, bytes, len, imm, msn });
    }

    pub(crate) fn arrive(&mut self, arrival: ReadPlacement, payload: &Payload) {
        let bytes = payload.bytes(arrival.len);
        let from = arrival.offset as usize;
        let sink = self.sinks.get_mut(&arrival.work).and_then(|sink| sink.get_mut(from..from + bytes.len()));
        match sink {
            Some(sink) => sink.copy_from_slice(&bytes),
            None => self.disorder = Some(format!("read response for {arrival:?} outside of its buffer")),
        }
    }

    /// Checks the works that this host posted at both ends.
    pub(crate) fn check(&self, peer: &Self, payload_order: PayloadOrder) -> Result<(), String> {
        if let Some(disorder) = self.disorder.as_ref().or(peer.disorder.as_ref()) {
            return Err(disorder.clone());
        }
        let ids = |len: usize| self.posted.iter().take(len).map(|work| work.id);
        if !self.completions.iter().map(|completion| completion.id).eq(ids(self.completions.len())) {
            return Err("completions are not in posting order".to_owned());
        }
        self.check_statuses()?;
        let done = self.completions.iter().filter(|completion| completion.status == Status::Success).count();
        if peer.received.len() < done || peer.received.len() > self.posted.len() {
            let (received, posted) = (peer.received.len(), self.posted.len());
            return Err(format!("{received} messages arrived; {posted} were posted and {done} completed"));
        }
        // Dummies take message numbers too, but are not reported.
        let numbered = self.requester.counters().dummies == 0;
        for ((work, received), index) in self.posted.iter().zip(&peer.received).zip(0..) {
            if (received.op, received.len, received.imm) != (work.op, work.len, work.imm)
                || numbered && received.msn != index + 1
            {
                return Err(format!("{work:?} arrived as {received:?}"));
            }
            let completed = (index as usize) < done;
            if payload_order != PayloadOrder::Counted && (work.op != Op::Read || completed) {
                self.check_bytes(peer, work, received)?;
            }
        }
        Ok(())
    }

    /// Checks the order of statuses: successes, one failure, flushed works.
    fn check_statuses(&self) -> Result<(), String> {
        let mut failed = false;
        for completion in &self.completions {
            let right = match completion.status {
                Status::Success => !failed,
                Status::Flushed => failed,
                _ => !std::mem::replace(&mut failed, true),
            };
            if !right {
                return Err(format!("{completion:?} is out of order"));
            }
        }
        Ok(())
    }

    fn check_bytes(&self, peer: &Self, work: &Work, received: &ReceivedMessage) -> Result<(), String> {
        let bytes = match work.op {
            Op::Send => received.bytes.as_slice(),
            Op::Write => &peer.memory[work.addr as usize..][..work.len as usize],
            Op::Read => self.sinks[&work.id].as_slice(),
            other => return Err(format!("{other:?} is not for these hosts")),
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

/// Byte of a message at an offset. It differs between messages, between packets and from initial memory.
pub(crate) fn pattern(id: u64, at: u32) -> u8 {
    (mix(id).wrapping_add((at as u64).wrapping_mul(0x9E37_79B9)) >> 13) as u8 | 1
}
