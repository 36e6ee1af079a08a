//! J33: NAKs that reduce the rate.

use crate::papers::gao::{bit_error_rate, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J33",
    title: "NAKs that reduce the rate, and their copies",
    source: source("section 7.1"),
    paper: "Where NICs take NAKs as a sign of congestion, those of corruption may reduce the rate without need, and \
            copies of NAKs may exacerbate this. Dummies have no such side effect. No numbers are given",
    method: "Messages of 1 MiB back to back over a link at β = 1e-3, with reactions to NAKs: none, slow restart, Swift, \
             and DCQCN whose rate falls with each NAK as with a congestion notification; without mechanisms, with two \
             dummies, with one and with four copies of each NAK. A reaction costs goodput if it takes at least 5 % of \
             that without a reaction; copies exacerbate it if a reaction has at most 90 % of its goodput with four of \
             them; dummies have no effect if goodput stays within 2 %",
    note: "The round trip is about 1 µs: slow restart is over after seven of them, and the window of Swift, 22 to 55 \
           packets, exceeds also after a cut the 11 packets that the link carries in one. Only the reduced rate of \
           DCQCN lasts",
    judge,
    ..Claim::FORM
};

const DCQCN: &[(&str, &str)] = &[
    ("transport.congestion", "dcqcn-paper"),
    ("transport.dcqcn.nak_decreases", "true"),
    ("switch.ecn", "{ kmin = \"100kB\", kmax = \"400kB\", pmax = 0.01 }"),
];
const REACTIONS: [(&str, &[(&str, &str)]); 4] = [
    ("no reaction", &[]),
    ("slow restart", &[("transport.acceleration.slow_restart", "true")]),
    ("Swift", &[("transport.congestion", "swift")]),
    ("DCQCN", DCQCN),
];
const MECHANISMS: [(&str, &str, u32); 4] = [
    ("none", "mend.dummies", 0),
    ("two dummies", "mend.dummies", 2),
    ("one copy", "mend.nak_copies", 1),
    ("four copies", "mend.nak_copies", 4),
];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut without = None;
    let mut exacerbated = Vec::new();
    for (reaction, sets) in REACTIONS {
        let [none, dummies, one, four] = MECHANISMS.map(|(_, path, value)| {
            let flows = results.effort().choose(100, 2_000);
            let run = Run::new("claims/long-flows")
                .set("topology.switches", 2)
                .set("impair.0.rate", bit_error_rate(1e-3))
                .set("workload.0.count", flows)
                .set(path, value)
                .seconds(f64::from(flows) * 1e-3);
            results.outcome(&sets.iter().fold(run, |run, (path, value)| run.set(path, value)))
        });
        let lost = [none, dummies, one, four].iter().map(|outcome| outcome.unfinished()).sum();
        judgement.none(format!("flows that do not finish, {reaction}"), lost);
        let left = dummies.goodput() / none.goodput();
        judgement
            .printed(format!("goodput with two dummies, {reaction}"), fraction(left.value).near(1.0, 0.02));
        let with_copies = fraction((four.goodput() / none.goodput()).value);
        match without {
            None => without = Some(none.goodput()),
            Some(free) => {
                let kept = fraction((none.goodput() / free).value);
                judgement.printed(
                    format!("goodput with {reaction}, of that without a reaction"),
                    kept.at_most(0.95),
                );
                exacerbated.push(with_copies.value);
            }
        }
        let naks = count(none.summary.naks);
        let [none, dummies, one, four] = [none, dummies, one, four].map(Outcome::goodput);
        judgement.row(reaction, [&naks, &none, &dummies, &one, &four]);
    }
    let least = exacerbated.into_iter().fold(f64::INFINITY, f64::min);
    judgement.printed("least goodput with four copies, of that without", fraction(least).at_most(0.9));
    judgement.columns("reaction | NAKs | no mechanisms | two dummies | one copy | four copies");
}
