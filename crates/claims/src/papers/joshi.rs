//! Common parts of the claims of Joshi et al. (SIGCOMM 2023), LinkGuardian.

use wiremend_report::ledger::Source;

/// The paper, and a place in it.
pub(super) const fn source(place: &'static str) -> Source {
    Source {
        name: "Joshi et al. 2023",
        citation: "Joshi et al., Masking Corruption Packet Losses in Datacenter Networks with Link-local Retransmission, \
                   SIGCOMM 2023",
        place,
    }
}
