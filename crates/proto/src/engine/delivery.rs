//! What became of a packet, and where its payload goes.

use super::work::Op;

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was the expected one.
    Accepted {
        /// Where its payload goes; `None` if it has none.
        place: Option<Place>,
        /// The message that it completes.
        completed: Option<Message>,
    },
    /// It was executed before; the requester is told again how far things are.
    Duplicate,
    /// Something before it is missing.
    Gap {
        /// A NAK is sent for it.
        nak: bool,
    },
    /// There is no receive buffer; the requester is told to wait.
    NotReady,
    /// It breaks the protocol; the queue pair is in error.
    Refused,
    /// It makes no sense here.
    Ignored,
}

/// A message that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// What it was. A READ counts as executed when its request arrives.
    pub op: Op,
    /// Its bytes.
    pub len: u32,
    /// Its immediate data.
    pub imm: Option<u32>,
    /// Messages executed so far, this one included: 24 bits.
    pub msn: u32,
}

/// Where the bytes of an accepted packet belong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// WRITE: the address of the message. SEND: 0, the start of the receive buffer.
    pub addr: u64,
    /// Where in the message.
    pub offset: u32,
    /// How many bytes.
    pub len: u16,
}

/// Where the payload of a READ response belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The READ.
    pub work: u64,
    /// Where in the message.
    pub offset: u32,
    /// How many bytes.
    pub len: u16,
}
