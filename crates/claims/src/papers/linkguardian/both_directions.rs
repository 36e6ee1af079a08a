//! L29: corruption in both directions.

use super::transport::RoundTrip;
use super::trial::{ALL, HIDDEN_RATIO_MAX, NO_LOSS, Trial};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L29",
    title: "corruption in both directions",
    source: source("section 5"),
    paper: "Bidirectional corruption needs little: control messages sent several times, and a second instance for the \
           other direction (not built)",
    method: "Flows of 143 B with RDMA (L9) over a link that loses 1e-2 of its frames in both directions. The prototype \
             protects one direction: every lost ACK of a flow is a timeout. Two instances of it repeat no loss \
             notification: what remains is the loss of a frame and its notification, 1e-4 in each direction. The \
             hardened protocol with two copies of control frames must hide all",
    note: "",
    judge,
    ..Claim::FORM
};

const RATE: f64 = 1e-2;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let trial = Trial { loss: RATE, ..Trial::new(143, results.effort(), RoundTrip::Rdma) };
    let outcome = |direction: &str, rest: &str| {
        let protect = format!("links = \"switches\", direction = \"{direction}\", by = \"linkguardian\"");
        let run = trial.run(ALL).set("impair.0.direction", "both");
        results.outcome(&run.set("protect", format!("[{{ {protect}, loss = {RATE}, {rest} }}]")))
    };
    let prototype = "profile = \"prototype\"";
    let clean = trial.outcome(results, NO_LOSS);
    let [one, two, ours] = [
        ("prototype, one direction", outcome("forward", prototype), Some(RATE)),
        ("prototype, both directions", outcome("both", prototype), Some(2.0 * RATE * RATE)),
        ("hardened, both directions, two copies", outcome("both", "control_copies = 2"), None),
    ];
    for (name, outcome, expected) in [one, two, ours] {
        let waiting = outcome.summary.flows_with_timeout.count;
        match expected {
            Some(expected) => {
                let what = format!("flows with a timeout, {name}");
                judgement.must(what, share(waiting, outcome.summary.flows).expected(expected));
            }
            None => judgement.none(format!("flows with a timeout, {name}"), waiting),
        }
        judgement.none(format!("flows that do not finish, {name}"), outcome.unfinished());
        judgement.row(name, [&outcome.median(), &outcome.p999(), &outcome.longest(), &count(waiting)]);
    }
    let longer = ours.1.p999() / clean.p999();
    judgement.printed("99.9 % divided by that without loss, hardened", longer.at_most(HIDDEN_RATIO_MAX));
    judgement.columns("| median | 99.9 % | slowest | flows with a timeout");
}
