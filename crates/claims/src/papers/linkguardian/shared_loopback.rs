//! L31: several protected links of one switch.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{HARDENED, LG, LG_NB, Stress, speed_bps};

pub(super) const CLAIM: Claim = Claim {
    id: "L31",
    title: "two protected links of one switch",
    source: source("section 5"),
    paper: "Several protected links share the few loopback ports of a pipeline. That they can is plausible, because not \
           all ports are fully used at the same time (left to be explored). A switch with memory needs none",
    method: "The stress test at 1e-3 over two protected links in a row, so that the one switch between them has the \
             reordering buffer of the first and the copies of the second in one loop. At a load of 40 % both links \
             together must deliver what one does, and no frame may lack a copy; at full load the hardened protocol \
             must, without a loop",
    note: "At full load of 100G the copies of one link alone fill the loop (L22): in the ordered mode each of two \
           links delivers half of what one does, and buffers overflow",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for gbps in [25, 100] {
        for mode in [LG, LG_NB, HARDENED] {
            for load in [0.4, 1.0] {
                let stress = Stress::new(gbps, 1e-3, mode);
                let run = stress.run(results.effort().choose(50_000, 300_000));
                let run = run.set("workload.0.rate", format!("{}Mbps", load * 1e3 * f64::from(gbps)));
                let [one, two] = [2, 3].map(|count| {
                    let run = run.clone();
                    results.outcome(&if count == 2 { run } else { run.set("topology.switches", count) })
                });
                // Frames are counted on each link.
                let kept = fraction(speed_bps(two) / 2.0 / speed_bps(one));
                let sum = two.summary.protection;
                let name = format!("{mode}, {gbps}G, {} % load", human::percent(load));
                if load < 1.0 || mode == HARDENED {
                    let what = format!("frames delivered by each link as a share of one link's, {name}");
                    judgement.printed(what, kept.at_least(0.99));
                    judgement.none(format!("frames without a copy, {name}"), sum.unbuffered);
                    judgement.none(format!("frames that overflow, {name}"), sum.overflowed);
                }
                let [unbuffered, overflowed, lost] = [sum.unbuffered, sum.overflowed, sum.lost].map(count);
                judgement.row(name, [&kept, &unbuffered, &overflowed, &lost]);
            }
        }
    }
    judgement.columns("| delivered by each of two links | frames without a copy | overflows | lost");
}
