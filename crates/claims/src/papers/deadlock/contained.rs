//! P7: DCQCN contains congestion spreading, and does not prevent deadlocks.

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P7",
    title: "DCQCN contains spreading of pauses",
    source: source("section 2.2"),
    paper: "Congestion spreading can be well handled by a flow-level congestion control such as DCQCN as long as no \
            network error happens. In an incorrect state, as with a loop, PFC remains dangerous. No numbers are given",
    method: "The congestion of D14 at 40 Gb/s: three hosts of a rack send to one host, a fourth to an idle one, over \
             lossless switches with 5 MB, without control and with DCQCN with the parameters of its paper (100 ms). \
             The part of its time in which the fourth host is paused, and the use of its receiver's \
             link. Then a host sends without a limit of its window into the loop of P1, n = 2, with and without DCQCN",
    note: "Packets caught in a loop reach no receiver, so that no notification slows their sender",
    judge,
    ..Claim::FORM
};

const MARKS: [(&str, &str); 3] =
    [("switch.ecn.kmin", "5kB"), ("switch.ecn.kmax", "200kB"), ("switch.ecn.pmax", "0.01")];

fn controlled(run: Run, control: &str) -> Run {
    let run = run.set("transport.congestion", control);
    if control == "none" { run } else { MARKS.iter().fold(run, |run, (path, value)| run.set(path, value)) }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| victim's receiver | congested port | victim paused | deadlock in a loop");
    for control in ["none", "dcqcn-paper"] {
        let victim = Run::new("claims/victims")
            .set("topology.rate", "40Gbps")
            .set("topology.link.0.rate", "160Gbps")
            .set("topology.buffer", "unlimited")
            .set("switch.lossless.classes", "[0]")
            .set("switch.lossless.buffer", "5MB")
            .set("stop.after", "100ms");
        let outcome = results.outcome(&controlled(victim, control).seconds(0.5));
        let [used, congested] = ["leaf0>h1", "leaf0>h0"].map(|lane| fraction(outcome.utilisation(lane)));
        let paused = outcome.lane("h7>leaf1").paused_ns as f64 / outcome.summary.simulated_ns.max(1) as f64;
        let looped = Run::new("claims/loop-rate").variant("n = 2").set(
            "workload",
            "[{ kind = \"stream\", src = \"h0\", dst = \"h1\", message = \"4MB\", depth = 64, class = 3 }]",
        );
        let looped = looped.set("transport.window", "unlimited");
        let found = results.outcome(&controlled(looped, control).seconds(0.2)).summary.deadlocks.found;
        judgement.row(control, [&used, &congested, &fraction(paused), &count(found)]);
        judgement.must(format!("deadlocks in a loop, {control}"), count(found).is(1));
        if control == "none" {
            judgement.must("use of the victim's receiver, none", used.near(1.0 / 3.0, 0.05));
            judgement
                .must("part of the time in which the victim is paused, none", fraction(paused).at_least(0.5));
        } else {
            judgement.must("use of the victim's receiver, DCQCN", used.at_least(0.9));
            judgement.must(
                "part of the time in which the victim is paused, DCQCN",
                fraction(paused).at_most(0.02),
            );
        }
    }
}
