//! READs and atomic operations that a responder executes: their responses, and the state to send them again.

use std::collections::VecDeque;

use wiremend_wire::{Opcode, RethRepr};

use super::responder::Reply;

/// The latest READs and atomic operations in order of their numbers, at most `reads_max`. A requester has no more in flight, so it
/// never requests an older one again.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    executions: VecDeque<Execution>,
    /// Index of the first READ with responses to send; the length of `executions` if there is none.
    active: usize,
}

#[derive(Clone, Debug)]
struct Execution {
    first: u64,
    packets: u32,
    /// The memory of a READ; the old value of an atomic operation is in its address.
    reth: RethRepr,
    msn: u32,
    is_atomic: bool,
    /// First response of this execution: the first packet, or the start of a restart.
    start: u64,
    /// Next response; `end()` when finished.
    next: u64,
    /// Acknowledgement of earlier requests, which is sent before the responses.
    preceding_reply: Option<Reply>,
}

/// A READ or atomic operation to execute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) first: u64,
    pub(super) reth: RethRepr,
    pub(super) msn: u32,
    pub(super) is_atomic: bool,
    /// A reply that waits to be sent before it.
    pub(super) preceding_reply: Option<Reply>,
}

/// The next packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Output {
    Reply(Reply),
    Response { seq: u64, opcode: Opcode, payload_len: u16, msn: u32, source: u64, key: u32 },
}

impl Execution {
    const fn end(&self) -> u64 {
        self.first + self.packets as u64
    }

    const fn is_active(&self) -> bool {
        self.next < self.end()
    }

    const fn offset(&self, seq: u64, mtu: u16) -> u32 {
        (seq - self.first) as u32 * mtu as u32
    }

    fn respond(&mut self, mtu: u16) -> Output {
        let (seq, msn, key) = (self.next, self.msn, self.reth.remote_key);
        self.next += 1;
        if self.is_atomic {
            let source = self.reth.address;
            return Output::Response {
                seq,
                opcode: Opcode::AtomicAcknowledge,
                payload_len: 0,
                msn,
                source,
                key,
            };
        }
        let opcode = match (seq == self.start, self.next == self.end()) {
            (true, true) => Opcode::ReadResponseOnly,
            (true, false) => Opcode::ReadResponseFirst,
            (false, false) => Opcode::ReadResponseMiddle,
            (false, true) => Opcode::ReadResponseLast,
        };
        let offset = self.offset(seq, mtu);
        let payload_len = (self.reth.dma_len - offset).min(mtu as u32) as u16;
        let source = self.reth.address.wrapping_add(offset as u64);
        Output::Response { seq, opcode, payload_len, msn, source, key }
    }
}

impl Reads {
    /// Adds a READ of `packets` packets, or an atomic operation.
    pub(super) fn push(&mut self, request: &Request, packets: u32, max: u32) {
        let Request { first, reth, msn, is_atomic, preceding_reply } = *request;
        self.executions.push_back(Execution {
            first,
            packets,
            reth,
            msn,
            is_atomic,
            start: first,
            next: first,
            preceding_reply,
        });
        if self.executions.len() > max as usize {
            // The acknowledgement that precedes it is not needed: the responses of later READs imply it.
            self.executions.pop_front();
            self.active = self.active.saturating_sub(1);
            self.skip_finished();
        }
    }

    /// Sets the old value of the latest atomic operation.
    pub(super) fn set_original(&mut self, original: u64) {
        if let Some(latest) = self.executions.back_mut().filter(|latest| latest.is_atomic) {
            latest.reth.address = original;
        }
    }

    /// Sends the saved result of an atomic operation again. Returns false if the operation is unknown.
    pub(super) fn replay(&mut self, seq: u64) -> bool {
        let is_it = |execution: &Execution| execution.is_atomic && execution.first == seq;
        let Some(index) = self.executions.iter().position(is_it) else { return false };
        self.executions[index].next = seq;
        self.active = self.active.min(index);
        true
    }

    /// Restarts a READ that is requested again from `seq` on. Its responses keep their position before those
    /// of later READs, which the requester will request again as well. Returns false if the READ is unknown
    /// or the range exceeds the original one.
    pub(super) fn restart(&mut self, seq: u64, reth: RethRepr, mtu: u16) -> bool {
        let contains =
            |execution: &Execution| !execution.is_atomic && (execution.first..execution.end()).contains(&seq);
        let Some(index) = self.executions.iter().position(contains) else { return false };
        let execution = &mut self.executions[index];
        let offset = execution.offset(seq, mtu);
        let rest = RethRepr {
            address: execution.reth.address.wrapping_add(offset as u64),
            remote_key: execution.reth.remote_key,
            dma_len: execution.reth.dma_len - offset,
        };
        if reth != rest {
            return false;
        }
        execution.start = seq;
        execution.next = seq;
        self.active = self.active.min(index);
        true
    }

    #[inline]
    pub(super) fn has_output(&self) -> bool {
        self.active < self.executions.len()
    }

    #[inline]
    pub(super) fn poll(&mut self, mtu: u16) -> Option<Output> {
        let execution = self.executions.get_mut(self.active)?;
        if let Some(reply) = execution.preceding_reply.take() {
            return Some(Output::Reply(reply));
        }
        let response = execution.respond(mtu);
        self.skip_finished();
        Some(response)
    }

    #[inline]
    fn skip_finished(&mut self) {
        while self.executions.get(self.active).is_some_and(|execution| !execution.is_active()) {
            self.active += 1;
        }
    }
}
