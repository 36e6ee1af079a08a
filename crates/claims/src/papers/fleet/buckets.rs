//! L16: distribution of the loss rates of corrupting links.

use wiremend_fleet::{LOSS_BUCKETS, LossBucket, TraceGenerator};

use super::years::{SEEDS, WINDOW, facebook};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L16",
    title: "loss rates of corrupting links",
    source: source("Table 1 and appendix D"),
    paper: "Of the corrupting links, 47.23 % have a loss rate in [1e-8, 1e-5), 18.43 % in [1e-5, 1e-4), 21.66 % in \
           [1e-4, 1e-3) and 12.67 % above. A link starts to corrupt once in 10 000 hours on average, with a constant \
           hazard rate",
    method: "Random years of a fabric of 100 224 links",
    note: "The published generator draws loss rates uniformly within each bucket, so that most are near the upper \
           end of their bucket; log-uniform rates would have seven tenths of the mean",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if results.is_listing() {
        return;
    }
    let tiers = facebook();
    let years = results.effort().choose(1, SEEDS);
    let mut losses: Vec<f64> = Vec::new();
    for seed in 1..=years {
        let trace = TraceGenerator::default().trace(&tiers, WINDOW.end, seed);
        losses.extend(trace.events().iter().map(|event| event.loss));
    }
    let all = losses.len() as u64;
    let inside = |bucket: &LossBucket| {
        losses.iter().filter(|loss| (bucket.low..=bucket.high).contains(*loss)).count() as u64
    };
    let counts: Vec<u64> = LOSS_BUCKETS.iter().map(inside).collect();
    for (bucket, found) in LOSS_BUCKETS.iter().zip(&counts) {
        let what = format!("share of {:e} to {:e}", bucket.low, bucket.high);
        judgement.must(what, share(*found, all).expected(bucket.percent / 100.0));
    }
    judgement.none("events outside all buckets", all - counts.iter().sum::<u64>());
    let expected = f64::from(tiers.link_count()) * 0.876 * years as f64;
    judgement.must("events", count(all).expected(expected));
    let mean = losses.iter().sum::<f64>() / all.max(1) as f64;
    judgement.must("mean loss rate", number(mean).near(8.3e-4, 0.05));
}
