//! L24: the distribution of buffer occupancy.

use wiremend_measure::Metric;

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{FORWARD, LG, LG_NB, Stress};

pub(super) const CLAIM: Claim = Claim {
    id: "L24",
    title: "distribution of buffered bytes",
    source: source("section 4.6, Fig. 14, and ranges published with the prototype"),
    paper: "At 25G the sender needs as much in both modes. At 100G it needs about three times less in the non-blocking \
           mode, because backpressure delays ACKs in the other. Published for 100G and 1e-3: 0 to 41.8 KB at the \
           sender and 0 to 83.6 KB at the receiver, ordered; 4.8 to 22.8 KB at the sender, non-blocking",
    method: "The stress test at 1e-3, sampled every 2 µs from 100 µs on: smallest, quartiles and largest. Ranges within \
             10 %, ratios of the largest within the rounding of the printed digit",
    note: "Backpressure pauses data, not ACKs: here ACKs of the receiver leave in frames of their own while its \
           other direction is idle, so that both modes need the same",
    judge,
    ..Claim::FORM
};

/// Published smallest and largest values at 100G.
const PUBLISHED: [(&str, Metric, [f64; 2]); 3] = [
    (LG, Metric::TxBufferBytes, [0.0, 41.8e3]),
    (LG, Metric::RxBufferBytes, [0.0, 83.6e3]),
    (LG_NB, Metric::TxBufferBytes, [4.8e3, 22.8e3]),
];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let quartiles = |gbps: u32, mode, metric| {
        let run = Stress::new(gbps, 1e-3, mode).run(results.effort().choose(20_000, 100_000));
        let run = run.set("series.every", "2us").set("series.links", "switches");
        let samples = results.outcome(&run).series(FORWARD, metric).iter();
        let mut values: Vec<u64> = samples.filter(|(ns, _)| *ns > 100_000).map(|(_, bytes)| *bytes).collect();
        values.sort_unstable();
        let at = |part: usize| values.get(values.len().saturating_sub(1) * part / 4).copied();
        [0, 1, 2, 3, 4].map(|part| bytes(at(part).unwrap_or(0) as f64))
    };
    for gbps in [25, 100] {
        for (mode, metric, side) in [
            (LG, Metric::TxBufferBytes, "sender"),
            (LG, Metric::RxBufferBytes, "receiver"),
            (LG_NB, Metric::TxBufferBytes, "sender"),
        ] {
            let all = quartiles(gbps, mode, metric);
            let [least, low, median, high, most] = &all;
            judgement.row(format!("{side}, {mode}, {gbps}G"), [least, low, median, high, most]);
            for (published, at, [least, most]) in PUBLISHED {
                if (gbps, published, at) == (100, mode, metric) {
                    let name = format!("buffer of the {side}, {mode}, 100G");
                    judgement.printed(format!("smallest {name}"), all[0].near(least, 0.1));
                    judgement.printed(format!("largest {name}"), all[4].near(most, 0.1));
                }
            }
        }
        let most = |mode| quartiles(gbps, mode, Metric::TxBufferBytes)[4];
        let (low, high) = if gbps == 25 { (0.5, 1.5) } else { (2.5, 3.5) };
        let what = format!("largest buffer of the sender, ordered divided by non-blocking, {gbps}G");
        judgement.printed(what, (most(LG) / most(LG_NB)).between(low, high));
    }
    judgement.columns("| smallest | 25 % | median | 75 % | largest");
}
