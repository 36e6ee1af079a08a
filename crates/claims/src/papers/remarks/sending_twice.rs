//! J28: the mechanisms against sending every packet twice.

use crate::papers::gao::{MTU, bit_error_rate, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J28",
    title: "the mechanisms cost less than sending everything twice",
    source: source("section 8"),
    paper: "Sending every packet twice and checking the ePSN (Wang et al., ICCCN 2019) are less precise than the \
            mechanisms, and cost more",
    method: "Flows of 8 and of 64 packets over four links at β = 5e-3, each on its own queue pair and far apart: \
             without mechanisms, with All, with every packet sent twice, and with responders that send another NAK \
             when a retransmission is lost. Timeouts, and the frame bytes that are added",
    note: "Two copies of a packet are lost together with (Lβ)², and neither copies of packets nor checks of the ePSN \
           protect a lone NAK or the ACK of a tail as cheaply as dummies do",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (packets, flows) in [(8, [10_000, 200_000]), (64, [2_000, 40_000])] {
        let with = |variant: &str, set: Option<&str>| {
            let flows = results.effort().choose(flows[0], flows[1]);
            let run = Run::new("claims/mend-path")
                .variant(variant)
                .set("transport.qp", "per-flow")
                .set("workload.0.sizes", format!("{}B", packets * MTU))
                .set("workload.0.load", "1e-5")
                .set("workload.0.flows", flows)
                .set("impair.0.rate", bit_error_rate(5e-3))
                .seconds(f64::from(flows * packets) * 2e-6);
            let value = if set == Some("mend.check_epsn") { "true" } else { "1" };
            results.outcome(&set.map_or(run.clone(), |path| run.set(path, value)))
        };
        let schemes = [
            ("no mechanism", with("None", None)),
            ("All", with("All", None)),
            ("sending twice", with("None", Some("mend.packet_copies"))),
            ("checking ePSN", with("None", Some("mend.check_epsn"))),
        ];
        let [_, (_, all), (_, twice), (_, checked)] = schemes;
        let added = |outcome: &Outcome| bytes(outcome.summary.extra_frames.bytes() as f64);
        let name = format!("flows of {packets} packets");
        judgement.printed(format!("bytes added by All, {name}"), added(all).below(added(twice).value));
        for (rival, outcome) in [("sending twice", twice), ("checking ePSN", checked)] {
            let left = all.timeouts().per(outcome.timeouts());
            judgement.printed(format!("timeouts with All divided by {rival}, {name}"), left.at_most(1.0));
        }
        for (scheme, outcome) in schemes {
            judgement.none(format!("flows that do not finish, {scheme}, {name}"), outcome.unfinished());
            judgement
                .row(format!("{scheme}, {name}"), [&outcome.timeouts(), &outcome.p999(), &added(outcome)]);
        }
    }
    judgement.columns("| timeouts | 99.9 % | bytes added");
}
