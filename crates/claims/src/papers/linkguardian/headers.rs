//! L7: overhead of link headers.

use wiremend_report::human;

use crate::ledger::number::{fraction, number};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};
use crate::papers::joshi::source;
use crate::stress::{BACKWARD, FULL_BYTES, HARDENED, LG, Stress, per};

pub(super) const CLAIM: Claim = Claim {
    id: "L7",
    title: "overhead of link headers",
    source: source("section 4.6"),
    paper: "3 B for each frame in both directions, about 0.2 % of the link",
    method: "The prototype at 100G and 1e-5, where nothing pauses, alone and with the same number of frames in the \
            other direction: bytes of headers for each frame. Reproduced if it is 3 B in the forward direction; 3 B \
            within 2 % backward, where nearly every frame carries an acknowledgement; and 3 of 1538 B are 0.2 % \
            within 10 %. The hardened protocol has another header, which keeps the EtherType",
    runs,
    judge,
};

const LOSS: f64 = 1e-5;
const HEADER_BYTES: f64 = 3.0;
/// Bytes of a full frame with its header.
const FRAME_BYTES: f64 = 1521.0;

fn run(mode: &'static str, effort: Effort) -> Run {
    Stress::new(100, LOSS, mode).run(effort.choose(40_000, 200_000))
}

fn both(effort: Effort) -> Run {
    run(LG, effort).set("workload.1.start", "0s").set("workload.1.rate", "100Gbps")
}

fn runs(effort: Effort) -> Vec<Run> {
    vec![run(LG, effort), run(HARDENED, effort), both(effort)]
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let alone = results.outcome(&run(LG, results.effort())).summary.protection;
    let frames = alone.protected + alone.resent.frames;
    let forward = per(alone.header_bytes, frames);
    judgement.must("forward header, in bytes per frame", number(forward).near(HEADER_BYTES, 0.001));
    let outcome = results.outcome(&both(results.effort()));
    let sum = outcome.summary.protection;
    let forward_bytes = 3 * (sum.protected + sum.resent.frames);
    let backward = outcome.lane(BACKWARD);
    // Control frames of the link are few and short if data leave no room.
    let data = backward.tx_bytes as f64 / FRAME_BYTES;
    let backward = (sum.header_bytes as f64 - forward_bytes as f64) / data.max(1.0);
    judgement.must("backward header, in bytes per full frame", number(backward).near(HEADER_BYTES, 0.02));
    judgement.must("share of the link", fraction(forward / FULL_BYTES).near(0.002, 0.1));
    let hardened = results.outcome(&run(HARDENED, results.effort())).summary.protection;
    let hardened = per(hardened.header_bytes, hardened.protected + hardened.resent.frames);
    judgement.finding(
        format!(
            "{forward:.3} B forward and {backward:.2} B backward, {} % of the link; hardened protocol {hardened:.2} B",
            human::percent(forward / FULL_BYTES)
        ),
        "The size follows from the layout of the header",
    )
}
