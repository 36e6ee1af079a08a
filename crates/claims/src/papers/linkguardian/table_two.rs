//! L25: absolute completion times, and their deviations.

use super::mechanisms::{COLUMNS, QUANTILES, TABLE_2, trials};
use super::trial::NO_LOSS;
use crate::completion::deviation_ns;
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L25",
    title: "absolute completion times of flows with DCTCP",
    source: source("section 4.5, Table 2"),
    paper: "Completion times of 24 387 B over DCTCP at 99 to 99.999 % for each mechanism, and their standard deviation: \
           21.3 µs without loss, 172.3 with, 63.7 with ReTx, 80.1 with ReTx+Order, 22.6 with ReTx+Tail and 22.3 with all",
    method: "The runs of L13. Every printed value within 10 %",
    note: "Hosts of the simulator always take the same time: without loss its flows take two round trips, where the \
           testbed's spread over 100 µs",
    judge,
    ..Claim::FORM
};

const DEVIATIONS_US: [f64; 6] = [21.3, 172.294, 63.695, 80.148, 22.629, 22.286];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let [_, dctcp] = trials(results.effort());
    let mut applied = Vec::new();
    for (column, (variant, deviation)) in COLUMNS.into_iter().zip(DEVIATIONS_US).enumerate() {
        for ((name, quantile), printed) in QUANTILES.into_iter().zip(TABLE_2) {
            let found = dctcp.quantile_ns(results, variant, quantile);
            let print = judgement
                .printed(format!("{name}, {variant}"), time_ns(found).near(printed[column] * 1e3, 0.1));
            if variant != NO_LOSS {
                let slower = printed[0] * 1e3 - dctcp.quantile_ns(results, NO_LOSS, quantile);
                applied.push((print, time_ns(found + slower)));
            }
        }
        let found = deviation_ns(dctcp.outcome(results, variant));
        judgement
            .printed(format!("standard deviation, {variant}"), time_ns(found).near(deviation * 1e3, 0.1));
    }
    let cause = "hosts that take longer, by the difference of the flows without loss at the same quantile";
    judgement.explain(cause, QUANTILES.len(), &applied);
}
