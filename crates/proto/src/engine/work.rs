//! What a host asks of a queue pair, and what it is told in the end.

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Into a buffer that the receiver has posted.
    Send,
    /// Into remote memory.
    Write,
    /// From remote memory.
    Read,
}

/// A work request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// The host's name for it; comes back in the completion.
    pub id: u64,
    /// What to do.
    pub op: Op,
    /// Bytes to move; at most [`Config::MESSAGE_LEN_MAX`](crate::rc::Config::MESSAGE_LEN_MAX).
    pub len: u32,
    /// Remote address; unused by SEND.
    pub addr: u64,
    /// Key of the remote memory; unused by SEND.
    pub rkey: u32,
    /// Immediate data for the receiver's completion; SEND and WRITE only.
    pub imm: Option<u32>,
}

/// How a work request ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// Done, and the peer said so.
    Success,
    /// Given up because an earlier request failed.
    Flushed,
    /// The peer found the request malformed.
    RemoteInvalidRequest,
    /// The peer does not permit the access.
    RemoteAccess,
    /// The peer failed for a reason of its own.
    RemoteOperation,
    /// No answer after all retries.
    RetryExceeded,
    /// The peer never had a receive buffer.
    RnrRetryExceeded,
}

impl Status {
    /// The number of the verbs interface (`enum ibv_wc_status`).
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

/// In the middle of a sentence: "… failed: retries exceeded".
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

/// The end of a work request; completions come in the order of posting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The work request.
    pub id: u64,
    /// How it ended.
    pub status: Status,
}
