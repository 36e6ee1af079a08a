//! L25: absolute completion times, and their deviations.

use super::late_hosts;
use super::mechanisms::{COLUMNS, QUANTILES, TABLE_2, trials};
use super::trial::Trial;
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
    note: "Hosts of the simulator that react at once always take the same time: without loss flows take two \
           round trips, where the testbed's spread over 100 µs. Tried: hosts that react late, with the one \
           value that gives the printed 99.9 % without loss. The shape measured on another machine does not \
           fit: its body is narrow, so that 99 % stays near the median, and its longest delays are rare and \
           bounded. The testbed varies in every flow. A difference for each quantile, chosen from the flows \
           without loss, brought eight of 20 other values into their bands, and was a fit",
    judge,
    ..Claim::FORM
};

const DEVIATIONS_US: [f64; 6] = [21.3, 172.294, 63.695, 80.148, 22.629, 22.286];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let [_, dctcp] = trials(results.effort());
    let late_dctcp = dctcp.between_late_hosts();
    let mut late = Vec::new();
    for (column, (variant, deviation_us)) in COLUMNS.into_iter().zip(DEVIATIONS_US).enumerate() {
        let mut check = |name: &str, printed_us: f64, found: &dyn Fn(&Trial) -> f64| {
            let test = time_ns(found(&dctcp)).near(printed_us * 1e3, 0.1);
            late.push((judgement.printed(format!("{name}, {variant}"), test), time_ns(found(&late_dctcp))));
        };
        for ((name, quantile), printed_us) in QUANTILES.into_iter().zip(TABLE_2) {
            check(name, printed_us[column], &|trial| trial.quantile_ns(results, variant, quantile));
        }
        let deviation = |trial: &Trial| deviation_ns(trial.outcome(results, variant));
        check("standard deviation", deviation_us, &deviation);
    }
    late_hosts::explain(judgement, &late);
}
