//! What the two ends of a protected link say to each other. Its bytes are in `wiremend_wire::link`.

/// The header of a frame on a protected link. Numbers are of the width of the sequence space; an epoch is told by its lowest
/// four bits everywhere but in a [`Hello`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A frame of somebody else's follows.
    Data {
        /// Of the direction in which this travels.
        epoch: u8,
        /// Its place.
        seq: u32,
        /// It must not overtake others of the kind.
        ordered: bool,
        /// It was sent before.
        again: bool,
        /// On its back.
        ack: Option<Ack>,
    },
    /// Nothing but the number that the next frame will have: it shows that the last ones are missing.
    Dummy {
        /// Of the direction in which this travels.
        epoch: u8,
        /// The number that has not been given yet.
        next: u32,
        /// On its back.
        ack: Option<Ack>,
    },
    /// An acknowledgement of its own.
    Ack(Ack),
    /// All that the receiver misses, up to a point.
    Missing(Missing),
    /// Protection begins or ends.
    Hello(Hello),
}

/// What a receiver has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Of the direction that is acknowledged.
    pub epoch: u8,
    /// Everything before this number is settled: arrived, or given up.
    pub next: u32,
    /// No normal frames for a while: the reordering buffer is filling.
    pub pause: bool,
}

/// What a receiver misses. It says a state and not a change, so that one that is lost is made good by the next, and one that
/// comes twice does nothing new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    /// What there is to say besides.
    pub ack: Ack,
    /// Of the numbers before this one and not before the first hole, exactly those in `holes` are missing. The first hole is
    /// at `ack.next`, unless there are more than fit: then the next notification goes on where this one ends.
    pub upto: u32,
    /// Ascending and apart; the first `hole_count` mean something.
    pub holes: [Hole; Missing::HOLES_MAX],
    /// How many.
    pub hole_count: u8,
}

impl Missing {
    /// Holes in one frame: more wait for the next one.
    pub const HOLES_MAX: usize = 6;
}

/// Numbers that are missing in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hole {
    /// The first.
    pub first: u32,
    /// How many.
    pub len: u16,
}

/// Protection begins or ends in one direction. It travels both ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// What is said.
    pub kind: HelloKind,
    /// The whole epoch: another one for every start.
    pub epoch: u32,
    /// For an answer to carry back: the sender's clock in nanoseconds, as far as it goes. In a [`HelloKind::Close`] it is the
    /// number that the next frame would have had.
    pub stamp_ns: u32,
    /// The round trip as measured by the sender of the direction; 0 as long as it is not known.
    pub rtt_ns: u32,
}

/// What a [`Hello`] says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HelloKind {
    /// From the sender: I want to protect what I send. Without a round trip it only asks for an answer.
    Open,
    /// From the receiver: I am ready, or was.
    Accept,
    /// From the sender: what follows is no longer protected.
    Close,
    /// From the receiver: so be it.
    Closed,
    /// From the receiver: a numbered frame came, and I know of no such epoch.
    Unknown,
}
