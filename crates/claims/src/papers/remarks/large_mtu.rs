//! J27: packets of 4 KB.

use wiremend_model::{
    Cause, FlowSize, FrameSizes, MendCounts, ModelSetting, NakReaction, NextFlow, Nic, Operation, Path, bits,
};

use crate::papers::gao::{Setting, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J27",
    title: "all conclusions hold for an MTU of 4 KB",
    source: source("section 3.2"),
    paper: "With a larger MTU (4 KB or 8 KB) all conclusions follow from the same equations. No numbers are given",
    method: "The ping-pong of J11 and J12 with messages of 4096 B in one packet, where one full packet in 64 or in 16 \
             is lost: timeouts by cause without mechanisms and with 2/1/1, compared with the exact model for these \
             frames (4174 B; a dummy has 78 B and a NAK 66 B)",
    note: "Small frames are lost 0.016 to 0.019 times as often as full packets, and not 0.06 times: dummies and NAKs \
           are safer",
    judge,
    ..Claim::FORM
};

const MTU: u32 = 4096;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let sizes = FrameSizes::on_wire(MTU, Operation::Write);
    for one_in in [64, 16] {
        for (name, mend) in [("no mechanisms", MendCounts::NONE), ("2/1/1", MendCounts::TESTBED)] {
            let beta = 1.0 / f64::from(one_in);
            let rate = format!("{:e}", bits::bit_error_rate(beta, f64::from(sizes.full())));
            let iterations = results.effort().choose(100_000, 2_000_000);
            let run = Run::new("claims/ping-pong")
                .set("transport.mtu", MTU)
                .set("workload.0.bytes", format!("{MTU}B"))
                .set("workload.0.iterations", iterations)
                .set("impair.0.rate", &rate)
                .set("impair.1.rate", rate)
                .set("mend.dummies", mend.dummies)
                .set("mend.nak_copies", mend.nak_copies)
                .set("mend.retransmission_copies", mend.retransmission_copies)
                .seconds(f64::from(iterations) * 2e-6);
            let nic = Nic { nak_reaction: NakReaction::Once, ..Nic::default() };
            let model = ModelSetting::new(sizes, beta, mend);
            let setting = Setting {
                run,
                model: ModelSetting { next: NextFlow::CLOSED_LOOP, nic, ..model },
                path: Path::between_switches(1, 1.0),
                sizes: vec![FlowSize::fixed(MTU, MTU)],
                messages: 2.0,
            };
            let what = format!("{name}, 1/{one_in}");
            for cause in Cause::ALL {
                setting.agree(judgement, results, format!("timeouts, {}, {what}", cause.name()), cause);
            }
            let outcome = setting.outcome(results);
            judgement.row(what, [&outcome.timeouts(), &outcome.mean(), &outcome.p999()]);
        }
    }
    judgement.columns("| timeouts | mean | 99.9 %");
}
