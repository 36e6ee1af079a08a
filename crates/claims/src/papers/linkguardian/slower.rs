//! L41: links at a lower rate.

use wiremend_model::phy::{Generation, Optics};

use super::avoided::{delivered, run};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L41",
    title: "a corrupting link at a lower rate",
    source: source("section 2"),
    paper: "RADWAN reduces the rate of a link to what its attenuation permits. Fig. 1 suggests that this would work in a \
            data center, but the transceivers are bulky and expensive. A loss of 1e-8 counts as healthy; a protected \
            link loses 8 % of its speed at a loss of 1e-3",
    method: "The model of Fig. 1 (L21): at the attenuation at which 50G with FEC loses 1e-5, 1e-4 and 1e-3, 25G with FEC \
             must lose at most 1e-8, and 10G where 25G does so. The cost: the fabric of L40 with one uplink at half of \
             its rate. Delivered frames: 7/8 within 1 %, less than with the link protected",
    note: "Nothing is said about the time that a change of the rate takes",
    judge,
    ..Claim::FORM
};

const FRAME_BYTES: f64 = 1518.0;
const HEALTHY: f64 = 1e-8;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| attenuation, dB | loss at the lower rate");
    let optics = Optics::default();
    for (fast, slow) in [(Generation::G50_FEC, Generation::G25_FEC), (Generation::G25, Generation::G10)] {
        for loss in [1e-5, 1e-4, 1e-3] {
            let db = optics.attenuation_for(&fast, loss, FRAME_BYTES);
            let left = number(optics.operating_point(&slow, db, FRAME_BYTES).frame_loss);
            let what = format!("frames lost, {}, where {} loses {loss:e}", slow.name, fast.name);
            judgement.row(what.clone(), [&number(db), &left]);
            judgement.printed(what, left.at_most(HEALTHY));
        }
    }
    let [slower, protected] =
        ["slower", "protected"].map(|name| delivered(results.outcome(&run(results, name))));
    judgement.must("delivered with one of four uplinks at half its rate", slower.near(7.0 / 8.0, 0.01));
    judgement.must("delivered with this uplink protected", protected.at_least(slower.value));
}
