//! The outcome of a received packet, and where its payload goes.

use super::work::Op;

/// The outcome of a received request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestOutcome {
    /// The request was accepted.
    Accepted {
        /// Where the payload goes; `None` if there is no payload.
        placement: Option<Placement>,
        /// The message that this packet completes.
        completed: Option<Message>,
    },
    /// The request was executed before. The responder acknowledges again.
    Duplicate,
    /// An earlier packet is missing.
    Gap {
        /// Whether the responder sends a NAK.
        nak: bool,
    },
    /// No receive buffer is posted. The responder sends an RNR NAK.
    NotReady,
    /// The request violates the protocol. The queue pair enters the error state.
    Refused,
    /// The packet is invalid here and changes nothing.
    Ignored,
}

/// An executed message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Operation. A READ counts as executed when its request arrives. A SEND with invalidate is a SEND.
    pub op: Op,
    /// Length in bytes.
    pub len: u32,
    /// Immediate data.
    pub imm: Option<u32>,
    /// Memory key of the receiver to invalidate.
    pub invalidate: Option<u32>,
    /// Messages executed so far, including this one, modulo 2^24.
    pub msn: u32,
}

/// Memory position of the payload of an accepted packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// WRITE: address of the message. SEND: 0, the start of the receive buffer.
    pub addr: u64,
    /// Offset in the message, in bytes.
    pub offset: u32,
    /// Length in bytes.
    pub len: u16,
}

/// Memory position of the payload of a READ response, or of the old value of an atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadPlacement {
    /// Identifier of the work request.
    pub work: u64,
    /// Offset in the message, in bytes.
    pub offset: u32,
    /// Length in bytes.
    pub len: u16,
}
