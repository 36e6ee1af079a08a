//! L28: flows of 2 MB with RDMA and BBR.

use super::transport::{RoundTrip, Transport};
use super::trial::{ALL, COLUMNS, HIDDEN_RATIO_MAX, LOSS, NO_LOSS, RETX_TAIL, Trial};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L28",
    title: "flows of 2 MB with RDMA and BBR",
    source: source("section 4.3"),
    paper: "Flows of 2 MB with BBR and RDMA are expected to be like those of 24 387 B: over the ordered mode as without \
           loss; over the non-blocking mode nearly as good with BBR, and with RDMA not better than loss but for \
           timeouts",
    method: "As L11, with RDMA at 16 µs and with BBR (1000 flows), at 99 %: ordered at most twice the time \
             without loss; non-blocking with BBR at most 1.25 times ordered, as Table 2 has at 99.9 %; with RDMA within \
             5 % of loss without timeouts",
    note: "",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for transport in [Transport::Rdma(RoundTrip::Rdma), Transport::Bbr] {
        let trial = Trial::new(2_000_000, results.effort(), transport);
        let trial = Trial { flows: 1_000, ..trial };
        let at = |variant, quantile| time_ns(trial.quantile_ns(results, variant, quantile));
        for variant in [NO_LOSS, LOSS, ALL, RETX_TAIL] {
            let outcome = trial.outcome(results, variant);
            judgement
                .none(format!("flows that do not finish, {}", trial.named(variant)), outcome.unfinished());
            trial.row(judgement, results, variant);
        }
        for variant in [ALL, RETX_TAIL] {
            let timeouts = trial.outcome(results, variant).summary.timeouts.total();
            judgement.none(format!("timeouts, {}", trial.named(variant)), timeouts);
        }
        let hidden = at(ALL, 0.99) / at(NO_LOSS, 0.99);
        let what = format!("99 % divided by that without loss, {}", trial.named(ALL));
        judgement.printed(what, hidden.at_most(HIDDEN_RATIO_MAX));
        let name = trial.named(RETX_TAIL);
        if transport == Transport::Bbr {
            let what = format!("99 % divided by that of the ordered mode, {name}");
            judgement.printed(what, (at(RETX_TAIL, 0.99) / at(ALL, 0.99)).at_most(1.25));
        } else {
            // Half of the flows lose several packets, and few of them the last one.
            let what = format!("median divided by that with loss, {name}");
            judgement.printed(what, (at(RETX_TAIL, 0.5) / at(LOSS, 0.5)).near(1.0, 0.05));
        }
    }
    judgement.columns(COLUMNS);
}
