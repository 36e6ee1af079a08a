//! J32: a timer of the tail alone, beside dummies.

use super::short_flows;
use crate::papers::gao::{bit_error_rate, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J32",
    title: "a timer of the tail alone, beside dummies",
    source: source("section 4.3"),
    paper: "QUIC protects the tail by repeating it, or by a separate timer for this packet alone. Repeating costs much \
            where flows are small; a dummy turns the timeout into a retransmission out of order. No numbers are given \
            for the timer",
    method: "Flows of one packet, with a round trip of 100 µs, over a link at β = 0.03, with one copy of each NAK and \
             three of each retransmission: with a dummy, with a repeat, and with a timer of the tail of 200 µs, of 400 \
             µs, and, too short, of 50 µs. No timer of the queue pair expires where the tail has its own; a lost tail \
             then takes T and a round trip, within 5 %, more than with a dummy; bytes are added only by losses, but \
             to every flow if T is below the round trip",
    note: "The timer costs no bandwidth, but has to exceed the longest round trip, which queues make longer: dummies \
           need no such bound",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let with = |path: &str, value: &str| {
        let run = short_flows(results.effort())
            .set("topology.delay", "16600ns")
            .set("impair.0.rate", bit_error_rate(0.03))
            .set("transport.timeout", 14)
            .set("mend.nak_copies", 1)
            .set("mend.retransmission_copies", 3);
        results.outcome(&run.set(path, value))
    };
    let added = |outcome: &Outcome| {
        let (dummies, repeats) = (outcome.summary.extra_frames.dummies, outcome.summary.extra_frames.repeats);
        let frames = (dummies.frames + repeats.frames) as f64;
        (fraction(frames / outcome.finished().value()), bytes((dummies.bytes + repeats.bytes) as f64))
    };
    let row = |judgement: &mut Judgement, name: &str, outcome: &Outcome| {
        let (frames, bytes) = added(outcome);
        judgement.none(format!("flows that do not finish, {name}"), outcome.unfinished());
        judgement.row(name, [&outcome.timeouts(), &outcome.median(), &outcome.p99(), &frames, &bytes]);
    };
    let (dummy, repeat) = (with("mend.dummies", "1"), with("mend.tail_copies", "1"));
    row(judgement, "a dummy", dummy);
    row(judgement, "a repeat", repeat);
    judgement.printed("bytes added by a dummy", added(dummy).1.below(added(repeat).1.value / 10.0));
    let rtt = dummy.median();
    for (value, timer_ns) in [("200us", 2e5), ("400us", 4e5)] {
        let (name, outcome) = (format!("a timer of {value}"), with("mend.tail_timeout", value));
        row(judgement, &name, outcome);
        judgement.none(format!("timeouts, {name}"), outcome.summary.timeouts.total());
        judgement.must(format!("99 %, {name}"), outcome.p99().near(timer_ns + rtt.value, 0.05));
        judgement
            .printed(format!("99 % with a dummy, and with {name}"), dummy.p99().below(outcome.p99().value));
        judgement.must(format!("copies per flow, {name}"), added(outcome).0.at_most(0.05));
    }
    let early = with("mend.tail_timeout", "50us");
    row(judgement, "a timer of 50us", early);
    judgement.must("copies per flow, a timer of 50us", added(early).0.at_least(1.0));
    judgement.columns("| timeouts | median | 99 % | dummies and copies per flow | bytes added");
}
