//! D14: victims of pauses.

use super::scheme::{DCP, DCP_CONTROLLED, IRN, LOSSLESS, Memory};
use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D14",
    title: "victims of pauses",
    source: source("landscape: from lossless to lossy"),
    paper: "Keeping a network lossless by PFC causes head-of-line blocking and congestion spreading: flows that do \
           not use the congested port suffer. DCP is independent of PFC",
    method: "Three hosts of a rack send to one host of another rack, and a fourth host sends to its neighbour, whose \
             link is idle otherwise; the links between racks have four times the rate of a host. Windows are 1000 \
             packets for every scheme, more than a port's memory of 1 MB; with PFC the switches share 5 MB (20 ms). \
             Pauses make the fourth host a fourth sender through the congested port's ingress: it gets a third of its \
             link, as each of the three would if they were alone",
    note: "The fourth host's packets wait behind those of the other three at every paused port. Dropping and \
           trimming happen at the congested port only",
    judge,
    ..Claim::FORM
};

const MEMORY: Memory = Memory::new("1MB", "5MB");
const VICTIM: &str = "leaf0>h1";
const CONGESTED: &str = "leaf0>h0";
/// Port of the victim's switch that pauses it.
const VICTIM_HOST: &str = "h7>leaf1";

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| victim | congested port | pauses of the victim's host");
    for scheme in [LOSSLESS, DCP, DCP_CONTROLLED, IRN] {
        let outcome = results.outcome(&scheme.on(Run::new("claims/victims"), MEMORY).seconds(0.5));
        let [victim, congested] = [VICTIM, CONGESTED].map(|lane| fraction(outcome.utilisation(lane)));
        let paused = time_ns(outcome.lane(VICTIM_HOST).paused_ns as f64);
        judgement.row(scheme.name, [&victim, &congested, &paused]);
        let what = format!("use of the victim's link, {}", scheme.name);
        if scheme.name == LOSSLESS.name {
            judgement.must(what, victim.near(1.0 / 3.0, 0.05));
            let what = format!("pauses of the victim's host, {}", scheme.name);
            judgement.must(what, paused.at_least(1.0));
        } else {
            judgement.must(what, victim.at_least(0.95));
            judgement.must(format!("pauses of the victim's host, {}", scheme.name), paused.at_most(0.0));
        }
    }
}
