//! The claims: a folder for each paper, a file for each claim. Questions that no paper asks (W1 to W9) are
//! beside the claim that raised them.
//!
//! A [`Claim`] has texts, runs of scenarios in `scenarios/claims/`, and a function that compares their outcomes
//! with bands. The verdict follows from the bands.

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
mod remarks;
mod stalls;

use crate::error::Error;
use crate::ledger::Claim;

/// The claims of each paper, and our own questions.
const PAPERS: &[&[Claim]] = &[
    corruption::CLAIMS,
    mending::PING_PONG_CLAIMS,
    mending::WORKLOAD_CLAIMS,
    mending::LOSSY_CLAIMS,
    remarks::CLAIMS,
    linkguardian::CLAIMS,
    linkguardian::TRANSPORT_CLAIMS,
    fleet::CLAIMS,
    daemons::CLAIMS,
    link::CLAIMS,
    linkguardian::TABLE_CLAIMS,
    linkguardian::FURTHER_CLAIMS,
    fleet::FURTHER_CLAIMS,
    linkguardian::BASELINE_CLAIMS,
    livelock::CLAIMS,
    deadlock::CLAIMS,
    dcp::CLAIMS,
    mending::OWN_CLAIMS,
    linkguardian::OWN_CLAIMS,
    kernel::CLAIMS,
    stalls::CLAIMS,
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

    use wiremend_report::ledger::{Ledger, Revision, Verdict, verdict};

    use super::*;
    use crate::criteria::REVISIONS;
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
            assert!(!claim.note.ends_with('.') && !claim.note.contains("  "), "{}: {}", claim.id, claim.note);
            assert!(claim.title.chars().count() <= 60, "{}", claim.title);
        }
    }

    #[test]
    fn every_change_of_criteria_belongs_to_a_claim_and_has_a_reason() {
        let ids: BTreeSet<_> = REVISIONS.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids.len(), REVISIONS.len(), "a claim is listed twice");
        for (id, revisions) in REVISIONS {
            assert_eq!(find(id).unwrap().statement().version(), revisions.len() + 1, "{id}");
            for Revision { from, to, why } in *revisions {
                for text in [from, to, why] {
                    assert!(!text.is_empty() && !text.ends_with('.') && !text.contains("  "), "{id}: {text}");
                }
                assert_ne!(from, to, "{id}");
            }
        }
    }

    /// The committed results: nothing is explained or corrected without figures, and the index counts claims.
    #[test]
    fn committed_verdicts_follow_from_data() {
        let ledger: Ledger =
            serde_json::from_str(include_str!("../../../../docs/validation/ledger.json")).unwrap();
        let ids: Vec<_> = ledger.claims.iter().map(|claim| claim.id.as_str()).collect();
        assert_eq!(
            ids,
            all().map(|claim| claim.id).collect::<Vec<_>>(),
            "every claim has a result, in order"
        );
        for result in &ledger.claims {
            let statement = find(&result.id).unwrap().statement();
            let version = statement.version();
            assert!((1..=version).contains(&result.criteria), "{}: {version}", result.id);
            for check in result.checks.iter().filter(|check| !check.holds()) {
                let bare = verdict(std::slice::from_ref(check), &[], &[]);
                assert_eq!(bare, Verdict::NotReproduced, "{}: {}", result.id, check.what);
            }
            let remedies = result.corrections.iter().filter(|of| of.counts(&result.checks)).count()
                + result.explanations.iter().filter(|of| of.counts(&result.checks)).count();
            let is_lifted = matches!(result.verdict(), Verdict::Corrected | Verdict::Explained);
            assert!(!is_lifted || remedies > 0, "{}: no check of its reason", result.id);
            assert_eq!(
                verdict(&result.checks, &[], &[]) == Verdict::Reproduced,
                result.verdict() == Verdict::Reproduced
            );
        }
        let statements: Vec<_> = all().map(Claim::statement).collect();
        let index = &ledger.pages(&statements)[0].text;
        let counts = index.lines().filter_map(|line| {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            if cells.len() == 4 { cells[2].parse::<usize>().ok() } else { None }
        });
        assert_eq!(counts.sum::<usize>(), all().count(), "the index counts every claim once");
    }

    #[test]
    fn every_run_of_every_claim_loads() {
        let claims: Vec<_> = all().collect();
        for effort in [Effort::Quick, Effort::Full] {
            assert!(Schedule::new(&claims, effort, &[]).is_ok());
        }
    }
}
