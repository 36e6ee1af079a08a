//! J23: a connection fails when its retries are exhausted.

use super::short_flows;
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J23",
    title: "time until retries are exhausted",
    source: source("section 2.1"),
    paper: "Alibaba's storage network endures a reconnection timeout of four seconds, which equals the retransmission \
            timeout multiplied by the number of retries",
    method: "A message over a link that corrupts everything, with several timeout codes and retry counts: the time \
             until the queue pair fails. The code of the four seconds is not printed; 17 (537 ms) with 7 retries is \
             the only one that gives about four",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (code, retries) in [(14, 3), (16, 7), (17, 7)] {
        let run = short_flows(Effort::Quick)
            .set("workload.0.count", 1)
            .set("impair.0.rate", 1)
            .set("transport.timeout", code)
            .set("transport.retry", retries);
        let outcome = results.outcome(&run);
        let (name, rto_ns) = (format!("t = {code}, {retries} retries"), 4096.0 * f64::from(1 << code));
        let failed = outcome.summary.failed.get("retry_exceeded").copied().unwrap_or(0);
        judgement.some(format!("failed queue pairs, {name}"), failed);
        let timeouts = outcome.timeouts().value();
        judgement.derived(
            format!("timeouts until the failure, {name}"),
            number(timeouts).near(f64::from(retries), 0.0),
            "The first transmission is not a retry: the timer expires once more than there are retries (IBA 9.7.6.1.3)",
            f64::from(retries + 1),
            0.0,
        );
        judgement.row(name, [&outcome.timeouts(), &time_ns(rto_ns), &time_ns(timeouts * rto_ns)]);
        if code == 17 {
            let printed = time_ns(outcome.summary.simulated_ns as f64).between(3.5e9, 4.5e9);
            judgement.printed("time until the failure, t = 17, 7 retries", printed);
        }
    }
    judgement.columns("| timeouts | timer | time until the failure");
}
