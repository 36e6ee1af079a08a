//! Counters of a switch with priority flow control.

/// Counters of one switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Pauses: a class of a neighbour was paused.
    pub pauses: u64,
    /// Refreshes of pauses.
    pub refreshes: u64,
    /// Resumes.
    pub resumes: u64,
    /// PFC frames. One frame may cover several classes.
    pub frames: u64,
    /// Frames of lossless classes dropped: even the headroom was full.
    pub lossless_dropped: u64,
    /// Frames of other classes dropped.
    pub lossy_dropped: u64,
    /// Bytes in the buffer.
    pub held_bytes: u64,
    /// Maximum of `held_bytes`.
    pub held_bytes_max: u64,
    /// Maximum headroom in use of one ingress and class.
    pub headroom_bytes_max: u64,
}

impl Counters {
    /// All counters by name, without `held_bytes`.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        named!(
            "pfc.", self: pauses, refreshes, resumes, frames, lossless_dropped, lossy_dropped,
            held_bytes_max, headroom_bytes_max
        )
    }
}
