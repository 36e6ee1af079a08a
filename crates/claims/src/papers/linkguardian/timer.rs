//! L34: the packets that give the time.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG, RATES, Stress, counted};

pub(super) const CLAIM: Claim = Claim {
    id: "L34",
    title: "timer packets take 1 % of a pipeline",
    source: source("section 3.5 and appendix B.4"),
    paper: "10 million timer packets per second take about 1 % of a pipeline. Pauses and resumes are timer packets too. \
           The largest share of Table 4, 0.664 %, becomes 3.984 % with frames of 250 B",
    method: "Arithmetic over printed figures: the pipeline is that in which full frames of 100 Gb/s are the 0.664 % of \
             Table 4. In the stress test at 1e-3, pauses and resumes must be fewer than timer packets by far",
    note: "A tick of 100 ns also delays each pause and resume by up to as much",
    judge,
    ..Claim::FORM
};

const TICKS_PER_S: f64 = 10e6;
const LARGEST_SHARE: f64 = 0.664e-2;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let pipeline = 100e9 / 8.0 / 1538.0 / LARGEST_SHARE;
    // Rounded to whole per cent.
    judgement.printed("share of the timer packets", fraction(TICKS_PER_S / pipeline).between(0.5e-2, 1.5e-2));
    judgement.printed("share with frames of 250 B", fraction(6.0 * LARGEST_SHARE).near(3.984e-2, 0.0));
    for gbps in RATES {
        let (outcome, sum) = counted(results, Stress::new(gbps, 1e-3, LG));
        let ticks = TICKS_PER_S * outcome.summary.simulated_ns.max(1) as f64 * 1e-9;
        let used = fraction(2.0 * sum.pauses as f64 / ticks);
        judgement.must(format!("timer packets that become pauses or resumes, {gbps}G"), used.at_most(0.05));
    }
}
