//! What the sender of a block says to its receiver.

/// The header of a frame on a link with error correction. A block is named by the number of its first frame, so that a receiver
/// that has missed the end of one, or all of it, can still tell how many frames it had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A frame of somebody else's follows.
    Data {
        /// Of which block.
        block: u16,
        /// Its place in the block, from 0.
        index: u8,
        /// How many parities there will be.
        parities: u8,
    },
    /// A parity of the frames of a block follows. It closes the block.
    Parity {
        /// Of which block.
        block: u16,
        /// Its place in the block: from `data_count` on.
        index: u8,
        /// How many frames the block has.
        data_count: u8,
        /// How many parities there are.
        parities: u8,
    },
}
