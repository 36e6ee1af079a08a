//! L39: TIMELY and Swift, for which the paper takes BBR.

use super::stream::{LG, LG_NB, NONE, Stream};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L39",
    title: "streams with TIMELY and Swift",
    source: source("section 4.2 and appendix B.3"),
    paper: "BBR stands for delay-based transports, because no implementations of TIMELY and Swift are available. It hardly \
            suffers from a loss of 1e-3, and gains a little from protection",
    method: "A stream at 10 Gb/s with a round trip of 29 µs with TIMELY and Swift as TCP congestion controls (TIMELY's \
             parameters; Swift with a target of 50 µs) and with BBR, for 2 s (quick: 200 ms). Goodput relative to that \
             without loss, as in L15: at least 97 % without protection, and with it",
    note: "TIMELY does not react to losses. Swift halves its window after one, and then adds a segment per round trip: \
           for it BBR does not stand",
    judge,
    ..Claim::FORM
};

const SHARE_MIN: f64 = 0.97;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| no loss | 1e-3 | ordered | non-blocking | retransmitted by hosts, ordered");
    for (name, congestion) in [("BBR", "bbr"), ("TIMELY", "timely"), ("Swift", "swift")] {
        let at = |variant, loss: &str| {
            let run = Stream { congestion, gbps: 10 }.run(variant, loss);
            let run = run.set("stop.after", results.effort().choose("200ms", "2s"));
            results.outcome(&run.seconds(results.effort().choose(0.3, 3.0)))
        };
        let clean = at(NONE, "0").goodput();
        let [none, ordered, unordered] = [NONE, LG, LG_NB].map(|variant| at(variant, "1e-3"));
        let resent = count(ordered.summary.retransmitted_packets);
        judgement.row(name, [&clean, &none.goodput(), &ordered.goodput(), &unordered.goodput(), &resent]);
        judgement.must(format!("goodput without loss, {name}"), clean.at_least(0.8 * 10e9));
        let part = |outcome: &Outcome| fraction((outcome.goodput() / clean).value);
        let what = format!("goodput without protection, relative to no loss, {name}");
        judgement.printed(what, part(none).at_least(SHARE_MIN));
        let what = format!("goodput with the ordered mode, relative to no loss, {name}");
        judgement.must(what, part(ordered).at_least(SHARE_MIN));
    }
}
