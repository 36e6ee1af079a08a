//! L36: least paths of a ToR.

use super::years::{CONSTRAINTS, all, constraint_name, over_seeds};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L36",
    title: "the penalty is high while a ToR is at its least paths",
    source: source("section 4.8, Fig. 15"),
    paper: "When the least paths of a ToR are at the capacity constraint, CorrOpt cannot take out corrupting links, and \
           the total penalty is high. Protection decides nothing about links: paths are the same with it",
    method: "The years of L17. No ToR ever has fewer paths than the constraint. Of the time with a corrupting link in \
             service under CorrOpt, the share in which the worst ToR could not lose one more uplink (48 of 192 paths), \
             in the first year. Least paths with protection equal those without",
    note: "",
    judge,
    ..Claim::FORM
};

/// An uplink of a ToR leads to 48 of its 192 paths.
const UPLINK: f64 = 0.25;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if results.is_listing() {
        return;
    }
    for (constraint, years) in CONSTRAINTS.into_iter().zip(&all(results).by_constraint) {
        let at = constraint_name(constraint);
        let least = years.iter().map(|year| year.corropt.least_paths_min).fold(1.0, f64::min);
        judgement
            .printed(format!("least paths at {at}"), fraction(least).between(constraint, constraint + 0.01));
        let differ = years
            .iter()
            .filter(|year| (year.corropt.least_paths_min - year.both.least_paths_min).abs() > 1e-9);
        judgement.none(
            format!("years in which protection changes the least paths at {at}"),
            differ.count() as u64,
        );
        let Some(first) = years.first() else { continue };
        let lasting =
            first.corropt.samples.windows(2).map(|pair| (&pair[0], pair[1].at.as_us() - pair[0].at.as_us()));
        let (mut active, mut full) = (0, 0);
        for (state, us) in lasting.filter(|(state, _)| state.active > 0) {
            active += us;
            full += if state.least_paths - UPLINK < constraint { us } else { 0 };
        }
        let what = format!("time with corrupting links in which a ToR has no uplink to spare at {at}");
        judgement.printed(what, fraction(full as f64 / active.max(1) as f64).at_least(0.99));
        let mean = |of: fn(&super::years::Year) -> f64| fraction(over_seeds(years, of).0);
        let (paths, all) =
            (mean(|year| year.corropt.time.least_paths), mean(|year| year.corropt.time.mean_paths));
        judgement.row(at, [&fraction(least), &paths, &all]);
    }
    judgement.columns("constraint | least paths | worst ToR, mean over time | mean ToR");
}
