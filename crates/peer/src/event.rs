//! What an endpoint reports to its application.

use wiremend_proto::engine::{Expiry, Op, Status};
use wiremend_units::Time;

use crate::queue_pair::PairId;

/// Something that happened at an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Posted work has ended.
    Completed {
        /// The queue pair.
        pair: PairId,
        /// Identifier of the work.
        id: u64,
        /// Operation.
        op: Op,
        /// How it ended.
        status: Status,
    },
    /// A message has filled a receive buffer: a SEND, or a WRITE with immediate data.
    Received {
        /// The queue pair.
        pair: PairId,
        /// Identifier of the receive buffer.
        id: u64,
        /// Operation.
        op: Op,
        /// Bytes.
        len: u32,
        /// Immediate data.
        imm: Option<u32>,
        /// Key that the message has invalidated.
        invalidated: Option<u32>,
    },
    /// The responder has refused a request. The queue pair is in error.
    Refused {
        /// The queue pair.
        pair: PairId,
    },
    /// A retransmission timer has expired.
    Expired {
        /// The queue pair.
        pair: PairId,
        /// When.
        at: Time,
        /// The state of the requester.
        expiry: Expiry,
    },
}

impl Event {
    /// The queue pair.
    pub const fn pair(&self) -> PairId {
        match *self {
            Self::Completed { pair, .. }
            | Self::Received { pair, .. }
            | Self::Refused { pair }
            | Self::Expired { pair, .. } => pair,
        }
    }
}
