//! Names of the congestion control algorithms. Their code is in [`cc`](super::cc).

/// Congestion control algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// BBR version 1.
    Bbr,
    /// RFC 6356.
    Lia,
    /// Kumar et al., SIGCOMM 2020.
    Swift,
    /// Mittal et al., SIGCOMM 2015.
    Timely,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 7] =
        [Self::Reno, Self::Cubic, Self::Dctcp, Self::Bbr, Self::Lia, Self::Swift, Self::Timely];
}
