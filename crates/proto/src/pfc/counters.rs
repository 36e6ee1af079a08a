//! What a switch with priority flow control has counted.

/// Counts of one switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Times that a class of a neighbour was told to stop.
    pub pauses: u64,
    /// Times that it was told so again.
    pub refreshes: u64,
    /// Times that it was told to go on.
    pub resumes: u64,
    /// PFC frames, each of which may tell of several classes.
    pub frames: u64,
    /// Frames of lossless classes for which there was no room, not even headroom.
    pub lossless_dropped: u64,
    /// Frames of other classes for which there was no room.
    pub lossy_dropped: u64,
    /// Bytes that lie in the buffer now.
    pub held_bytes: u64,
    /// The most there were.
    pub held_bytes_max: u64,
    /// The most that one ingress and class had in its headroom.
    pub headroom_bytes_max: u64,
}

impl Counters {
    /// All counts by name, without what lies there just now.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        named!(
            "pfc.", self: pauses, refreshes, resumes, frames, lossless_dropped, lossy_dropped,
            held_bytes_max, headroom_bytes_max
        )
    }
}
