//! What all claims of Joshi et al. (SIGCOMM 2023) share: LinkGuardian, and the testbed in which it was measured.

/// The paper, for which the place in it follows.
macro_rules! source {
    ($place:literal) => {
        concat!(
            "Joshi et al., Masking Corruption Packet Losses in Datacenter Networks with Link-local Retransmission, ",
            "SIGCOMM 2023, ",
            $place
        )
    };
}
pub(super) use source;
