//! The claims: a folder for each paper, a file for each claim. Questions that no paper asks (W1 to W6) are
//! beside the claim that raised them.
//!
//! A [`Claim`] has texts, runs of scenarios in `scenarios/claims/`, and a function that judges their
//! outcomes. Its method states all thresholds.

mod completion;
mod corruption;
mod daemons;
mod dcp;
mod deadlock;
mod fleet;
mod gao;
mod joshi;
mod kernel;
mod link;
mod linkguardian;
mod livelock;
mod mending;

use crate::error::Error;
use crate::ledger::Claim;

/// The claims of each paper, and our own questions.
const PAPERS: &[&[Claim]] = &[
    corruption::CLAIMS,
    mending::PING_PONG_CLAIMS,
    mending::WORKLOAD_CLAIMS,
    mending::LOSSY_CLAIMS,
    linkguardian::CLAIMS,
    linkguardian::TRANSPORT_CLAIMS,
    fleet::CLAIMS,
    daemons::CLAIMS,
    link::CLAIMS,
    linkguardian::TABLE_CLAIMS,
    livelock::CLAIMS,
    deadlock::CLAIMS,
    dcp::CLAIMS,
    mending::OWN_CLAIMS,
    linkguardian::OWN_CLAIMS,
    kernel::CLAIMS,
];

/// All claims, in order.
pub fn all() -> impl Iterator<Item = &'static Claim> {
    PAPERS.iter().copied().flatten()
}

/// Finds a claim by its id, in upper or lower case.
pub fn find(id: &str) -> Result<&'static Claim, Error> {
    all().find(|claim| claim.id.eq_ignore_ascii_case(id)).ok_or_else(|| {
        let known: Vec<_> = all().map(|claim| claim.id).collect();
        Error::UnknownClaim(wiremend_units::unknown_name("claim", id, &known))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ledger::{Effort, Schedule};

    #[test]
    fn ids_are_unique_and_texts_are_complete() {
        let ids: BTreeSet<_> = all().map(|claim| claim.id).collect();
        assert_eq!(ids.len(), all().count());
        for claim in all() {
            for text in [claim.title, &claim.source.to_string(), claim.paper, claim.method] {
                assert!(
                    !text.is_empty() && !text.ends_with('.') && !text.contains("  "),
                    "{}: {text}",
                    claim.id
                );
            }
            assert!(claim.title.chars().count() <= 60, "{}", claim.title);
        }
    }

    #[test]
    fn every_run_of_every_claim_loads() {
        let claims: Vec<_> = all().collect();
        for effort in [Effort::Quick, Effort::Full] {
            assert!(Schedule::new(&claims, effort, &[]).is_ok());
        }
    }
}
