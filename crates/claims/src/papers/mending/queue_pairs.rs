//! J31: no single mechanism suffices where flows do not share a queue pair.

use super::curves::{
    ALL, Mode, NO_LOSS, NONE, Panel, SINGLE, TAIL_RATIO_MAX, Table, check_close, figure_and_rows,
};
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J31",
    title: "no single mechanism suffices, a queue pair for each flow",
    source: source("section 6.3, Fig. 12"),
    paper: "With all mechanisms the distribution is close to that without loss, except at β = 1e-3 and U = 0.6. No single \
            mechanism reduces completion times visibly, which indicates that all kinds of corruption occur. The paper \
            does not say how many queue pairs its simulation has",
    method: "J15 with WebSearch and a queue pair for each flow, as simulators of RDMA in ns-3 have it, so that the tail \
             of each flow waits for its timer. The bounds are those of J15. With None each of the four causes occurs \
             at β = 1e-3. Tails that wait for the timer become more with the number of queue pairs",
    note: "At β = 1e-3 and U = 0.1 no single mechanism suffices, as printed: Twice leaves tails and NAKs, and the others \
           packets that are lost twice. At β = 1e-4 only three of 10 000 flows have a timeout without any mechanism, too \
           few for the 99.9 % quantile; more loss or smaller flows would show them. At β = 1e-3 and U = 0.6 timeouts \
           take load off the link, and mechanisms that prevent them bring the overload that the paper describes",
    judge,
    ..Claim::FORM
};

const PER_FLOW: (&str, &str) = ("transport.qp", "per-flow");

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let flows = results.effort().choose(250, 10_000);
    let loads = results.effort().choose(&[0.1][..], &[0.1, 0.6]);
    for (beta, load) in [1e-3, 1e-4].into_iter().flat_map(|beta| loads.iter().map(move |load| (beta, *load)))
    {
        let panel = Panel::new(Mode::PointToPoint, Table::WebSearch, flows, beta, load).set(PER_FLOW);
        let name = panel.name();
        if !panel.is_overloaded() {
            check_close(judgement, results, &panel);
        }
        let of = |curve| panel.outcome(results, curve);
        for curve in SINGLE {
            let ratio = quantile_ns(of(curve), 0.999) / quantile_ns(of(ALL), 0.999);
            let what = format!("99.9 %, {curve} alone divided by All, {name}");
            judgement.printed(what, number(ratio).at_least(TAIL_RATIO_MAX));
        }
        if results.effort() == Effort::Full && panel.is_lossy() {
            for cause in FOUR {
                let timeouts = of(NONE).summary.timeouts.get(cause);
                judgement.printed(
                    format!("timeouts, {}, {name}", cause.name()),
                    number(timeouts as f64).at_least(1.0),
                );
            }
        }
        figure_and_rows(
            judgement,
            results,
            &panel,
            "j31",
            &[NO_LOSS, ALL, NONE, SINGLE[0], SINGLE[1], SINGLE[2], SINGLE[3]],
        );
    }
    let panel = Panel::new(Mode::PointToPoint, Table::WebSearch, flows, 1e-3, 0.1);
    let tails = [
        ("one", panel),
        ("sixteen", panel.set(("transport.queue_pairs", "16"))),
        ("one for each flow", panel.set(PER_FLOW)),
    ];
    let tails = tails.map(|(name, panel)| {
        (name, number(panel.outcome(results, NONE).timeouts_by(&[TimeoutCause::TailPacket]).value()))
    });
    judgement
        .must("tails that wait for the timer with None, by queue pairs, U = 0.1", ascending(&tails, 0.0));
}

const FOUR: [TimeoutCause; 4] =
    [TimeoutCause::TailPacket, TimeoutCause::TailAck, TimeoutCause::Nak, TimeoutCause::Retransmission];
