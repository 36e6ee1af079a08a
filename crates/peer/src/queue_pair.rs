//! A queue pair with its addresses, posted work and receive buffers.

use std::collections::VecDeque;

use wiremend_proto::cc::dcqcn::CnpLimiter;
use wiremend_proto::cc::{Controller, Dcqcn};
use wiremend_proto::engine::{Op, Requester as _, RequesterCounters, Responder as _, ResponderCounters};
use wiremend_proto::rc::{Config, Packet, Qp};
use wiremend_units::{Psn, QpNum, Time};

use crate::path::Path;
use crate::region::{Access, Slice};

/// A queue pair of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PairId(pub(crate) QpNum);

impl PairId {
    /// The number that packets to this queue pair carry.
    pub const fn number(self) -> QpNum {
        self.0
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// Headers below the transport.
    pub path: Path,
    /// The peer's queue pair.
    pub pair: QpNum,
    /// First PSN of the peer's requests.
    pub first_psn: Psn,
}

/// Work to post.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// Identifier of the caller; the completion has it.
    pub id: u64,
    /// Operation.
    pub op: Op,
    /// Where the data come from, or where they go.
    pub local: Slice,
    /// Remote address; unused by SEND.
    pub address: u64,
    /// Remote key; for SEND with invalidate, the key to invalidate; unused by SEND.
    pub key: u32,
    /// Immediate data.
    pub imm: Option<u32>,
    /// Operands of an atomic operation: the number to add or to swap in, and the number to compare with.
    pub operands: [u64; 2],
}

/// A receive buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receive {
    pub(crate) id: u64,
    pub(crate) slice: Slice,
}

/// Posted work that is not completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) id: u64,
    pub(crate) op: Op,
    pub(crate) local: Slice,
    pub(crate) operands: [u64; 2],
}

/// Counters of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PairCounters {
    /// Counters of the requester.
    pub requester: RequesterCounters,
    /// Counters of the responder.
    pub responder: ResponderCounters,
    /// Own messages that have completed, and messages of the peer.
    pub messages: u64,
    /// Payload of all messages that was acknowledged, received, or sent as the answer to a READ.
    pub bytes: u64,
    /// Copies of NAKs and of retransmissions.
    pub copies: u64,
    /// Congestion notifications received.
    pub cnps_received: u64,
    /// Congestion notifications sent.
    pub cnps_sent: u64,
}

/// A connected queue pair.
#[derive(Debug)]
pub(crate) struct QueuePair {
    pub(crate) id: PairId,
    pub(crate) config: Config,
    pub(crate) merges_acks: bool,
    /// Acknowledgements that must not be merged, and wait to be sent.
    pub(crate) replies: VecDeque<Packet>,
    pub(crate) qp: Qp,
    pub(crate) remote: Remote,
    /// What the peer may do.
    pub(crate) access: Access,
    pub(crate) receives: VecDeque<Receive>,
    /// Bytes of the present SEND that have arrived.
    pub(crate) received: u32,
    /// Key of the present WRITE.
    pub(crate) write_key: u32,
    pub(crate) posted: VecDeque<Posted>,
    /// Number of the first element of `posted`.
    pub(crate) first_posted: u64,
    pub(crate) congestion: Option<Dcqcn>,
    pub(crate) limiter: CnpLimiter,
    pub(crate) owes_cnp: bool,
    /// The packet for which the last NAK asked, until it is sent again.
    pub(crate) asked_for: Option<Psn>,
    pub(crate) identification: u16,
    /// Whether it is in the endpoint's list of queue pairs that may send.
    pub(crate) is_active: bool,
    /// Time of its entry in the timers; [`Time::MAX`]: none.
    pub(crate) timer_at: Time,
    /// When the last frame of the peer came.
    pub(crate) heard_at: Time,
    pub(crate) counters: PairCounters,
}

impl QueuePair {
    /// Time at which it must run again if nothing arrives.
    #[inline]
    pub(crate) fn next_timeout(&self, now: Time) -> Time {
        let next = self.qp.requester.next_timeout().unwrap_or(Time::MAX);
        match &self.congestion {
            // A queue pair that may send at once is in the list of active ones.
            Some(congestion) if congestion.eligible() > now && self.qp.requester.ready(&self.config, now) => {
                next.min(congestion.eligible())
            }
            _ => next,
        }
    }

    /// The work with this number in the core.
    #[inline]
    pub(crate) fn work(&self, number: u64) -> Option<&Posted> {
        self.posted.get(usize::try_from(number.checked_sub(self.first_posted)?).ok()?)
    }

    pub(crate) fn counters(&self) -> PairCounters {
        PairCounters {
            requester: self.qp.requester.counters(),
            responder: self.qp.responder.counters(),
            ..self.counters
        }
    }
}
