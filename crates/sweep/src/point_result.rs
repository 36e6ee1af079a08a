//! Results of points over their seeds.

use std::collections::BTreeMap;

use wiremend_measure::{Headline, MeanOverSeeds, SeedResult, over_seeds};

use crate::plan::Plan;
use crate::record::{Outcome, Record, Results};

/// Results of a point over its seeds.
pub(crate) struct PointResult {
    /// Means of headline numbers that all seeds have, with intervals if there are several seeds.
    pub(crate) means: BTreeMap<Headline, Mean>,
}

/// A mean and its interval.
#[derive(Clone, Copy)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    pub(crate) over: Option<MeanOverSeeds>,
}

impl PointResult {
    pub(crate) fn all(plan: &Plan, results: &Results) -> Vec<Self> {
        let mut by_point: Vec<Option<Vec<SeedResult>>> =
            plan.points().iter().map(|_| Some(Vec::new())).collect();
        for cell in plan.cells() {
            let seeds = &mut by_point[cell.point];
            match (results.get(&cell.name).and_then(|record| seed_result(cell.seed, record)), seeds.as_mut())
            {
                (Some(result), Some(seeds)) => seeds.push(result),
                // A mean over some seeds would select them.
                (None, _) => *seeds = None,
                (Some(_), None) => {}
            }
        }
        by_point.into_iter().map(|seeds| Self::new(&seeds.unwrap_or_default())).collect()
    }

    fn new(seeds: &[SeedResult]) -> Self {
        let over = over_seeds(seeds);
        let mean = |headline: Headline| {
            let over = over.get(&headline).copied();
            let alone = || seeds.first().filter(|_| seeds.len() == 1)?.values.get(&headline).copied();
            Some((headline, Mean { mean: over.map(|over| over.mean).or_else(alone)?, over }))
        };
        Self { means: Headline::ALL.into_iter().filter_map(mean).collect() }
    }
}

fn seed_result(seed: u64, record: &Record) -> Option<SeedResult> {
    let Outcome::Done { digest, values, .. } = &record.outcome else { return None };
    let value = |headline: Headline| Some((headline, *values.get(headline.key())?));
    let values = Headline::ALL.into_iter().filter_map(value).collect();
    Some(SeedResult { seed, digest: digest.clone(), values })
}
