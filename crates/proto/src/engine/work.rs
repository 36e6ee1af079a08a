//! Work requests and their completions.

/// An RDMA operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// SEND: into a receive buffer that the peer has posted.
    Send,
    /// RDMA WRITE: into remote memory.
    Write,
    /// RDMA READ: from remote memory.
    Read,
    /// SEND that also invalidates a memory key of the receiver, [`Work::rkey`]. Reliable connections only.
    SendInvalidate,
    /// Atomic addition to eight bytes of remote memory; the old value comes back. Reliable connections only.
    FetchAdd,
    /// Atomic comparison, and exchange if equal; the old value comes back. Reliable connections only.
    CompareSwap,
}

impl Op {
    /// Bytes that an atomic operation changes and returns.
    pub const ATOMIC_LEN: u32 = 8;

    /// Returns whether the message fills a receive buffer of the peer.
    #[inline]
    pub const fn is_send(self) -> bool {
        matches!(self, Self::Send | Self::SendInvalidate)
    }

    /// Returns whether this is an atomic operation.
    #[inline]
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }

    /// Returns whether the operation ends with a response that carries data, and not with an acknowledgement.
    #[inline]
    pub const fn has_response(self) -> bool {
        matches!(self, Self::Read | Self::FetchAdd | Self::CompareSwap)
    }
}

/// A work request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Identifier chosen by the host; it is returned in the completion.
    pub id: u64,
    /// Operation.
    pub op: Op,
    /// Length in bytes; at most [`Config::MESSAGE_LEN_MAX`](crate::rc::Config::MESSAGE_LEN_MAX), and
    /// [`Op::ATOMIC_LEN`] for atomic operations.
    pub len: u32,
    /// Remote address; unused by SEND.
    pub addr: u64,
    /// Key of the remote memory; unused by SEND. For SEND with invalidate, the key to invalidate.
    pub rkey: u32,
    /// Immediate data for the receiver's completion; SEND and WRITE only.
    pub imm: Option<u32>,
}

/// The completion status of a work request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// The peer has acknowledged the request.
    Success,
    /// An earlier request failed.
    Flushed,
    /// The peer rejected the request as invalid.
    RemoteInvalidRequest,
    /// The peer denied the memory access.
    RemoteAccess,
    /// The peer failed for a local reason.
    RemoteOperation,
    /// No response after all retries.
    RetryExceeded,
    /// The peer had no receive buffer after all retries.
    RnrRetryExceeded,
}

impl Status {
    /// Number of the status in the verbs interface (`enum ibv_wc_status`).
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Flushed => 5,
            Self::RemoteInvalidRequest => 9,
            Self::RemoteAccess => 10,
            Self::RemoteOperation => 11,
            Self::RetryExceeded => 12,
            Self::RnrRetryExceeded => 13,
        }
    }
}

/// Prints a fragment for the end of a sentence: "… failed: retries exceeded".
impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Success => "success",
            Self::Flushed => "flushed after an earlier failure",
            Self::RemoteInvalidRequest => "refused by the peer as invalid",
            Self::RemoteAccess => "remote access denied",
            Self::RemoteOperation => "remote operation failed",
            Self::RetryExceeded => "retries exceeded",
            Self::RnrRetryExceeded => "receiver never ready",
        })
    }
}

/// A completed work request. Completions come in posting order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Identifier of the work request.
    pub id: u64,
    /// Completion status.
    pub status: Status,
}
