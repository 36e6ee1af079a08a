//! L7: overhead of link headers.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{BACKWARD, FULL_BYTES, LG, Stress, per};

pub(super) const CLAIM: Claim = Claim {
    id: "L7",
    title: "overhead of link headers",
    source: source("section 4.6"),
    paper: "3 B for each frame in both directions, about 0.2 % of the link",
    method: "The prototype at 100G and 1e-3, alone and with the same number of frames in the other direction: bytes \
             of headers for each frame",
    note: "The link pauses at this loss rate. At 1e-5, where nothing pauses, nearly every frame of the other \
           direction carries an acknowledgement: 3 B within 2 % (criteria 3)",
    judge,
    ..Claim::FORM
};

const HEADER_BYTES: f64 = 3.0;
/// Share of the backward frames that carry an acknowledgement.
const ACKNOWLEDGING_MIN: f64 = 0.99;
/// Bytes of a full frame with its header.
const FRAME_BYTES: f64 = 1521.0;

fn run(mode: &'static str, effort: Effort) -> Run {
    Stress::new(100, 1e-3, mode).run(effort.choose(40_000, 200_000))
}

fn both(effort: Effort) -> Run {
    run(LG, effort).set("workload.1.start", "0s").set("workload.1.rate", "100Gbps")
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let alone = results.outcome(&run(LG, results.effort())).summary.protection;
    let frames = alone.protected + alone.resent.frames;
    let forward = per(alone.header_bytes, frames);
    judgement.printed("forward header, in bytes per frame", number(forward).near(HEADER_BYTES, 0.001));
    let outcome = results.outcome(&both(results.effort()));
    let sum = outcome.summary.protection;
    let forward_bytes = 3 * (sum.protected + sum.resent.frames);
    let backward = outcome.lane(BACKWARD);
    // Control frames of the link are few and short if data leave no room.
    let data = backward.tx_bytes as f64 / FRAME_BYTES;
    let backward = (sum.header_bytes as f64 - forward_bytes as f64) / data.max(1.0);
    let per_frame = number(backward).between(ACKNOWLEDGING_MIN * HEADER_BYTES, HEADER_BYTES);
    judgement.printed("backward header, in bytes per full frame", per_frame);
    judgement.printed("share of the link", fraction(forward / FULL_BYTES).near(0.002, 0.1));
}
