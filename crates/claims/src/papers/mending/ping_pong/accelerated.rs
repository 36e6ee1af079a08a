//! J20: the ping-pong with the accelerations of NICs for lossy fabrics.

use wiremend_model::MendCounts;

use super::PingPong;
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J20",
    title: "the ping-pong with lossy-RoCE accelerations",
    source: source("section 7.1"),
    paper: "Ping-pongs with and without dummies and copies, repeated with lossy-RoCE accelerations (adaptive \
           retransmission, limited send window, slow restart) on and off: latencies do not differ",
    method: "J11 and J12 at 1/128, with each acceleration and with all of them. The vendor documents adaptive \
             retransmission (NVIDIA, Adaptive Retransmission: Parameters Control): a first timeout of 4 µs or more, \
             doubled after retries, up to that of the queue pair. It is measured with a first timeout of 4 µs, and \
             of the timer itself. The other two are not documented: here the window is 64 packets, and slow restart \
             sends one packet after a loss and one more for each acknowledged packet. No difference means: the \
             median, the 99 % and the 99.9 % quantile within 5 %, the mean within 10 %, and where the timer is not \
             shorter the number of timeouts within random variation",
    note: "Without mechanisms the timer determines the latencies, so that a shorter first timeout must change them. \
           The paper saw no change. After a loss slow restart sends one packet, and the packets posted after it wait \
           for its acknowledgement: a fraction of a microsecond in one of a thousand iterations, which averages of a \
           testbed do not show",
    judge,
    ..Claim::FORM
};

const ADAPTIVE: &str = "transport.acceleration.adaptive_retransmission";
/// The timeout of code 16.
const FIRST: (&str, &str) = ("transport.acceleration.first_timeout", "268435456ns");
const SLOW: (&str, &str) = ("transport.acceleration.slow_restart", "true");
const WINDOW: (&str, &str) = ("transport.window", "64");

/// The shortest timeout that the vendor documents.
const SHORTEST: (&str, &str) = ("transport.acceleration.first_timeout", "4us");

/// Accelerations, none at first, and the values that they set. The last two shorten the timer, and have the same
/// order as the two before.
const ACCELERATIONS: [(&str, &[(&str, &str)]); 7] = [
    ("none", &[]),
    ("window of 64", &[WINDOW]),
    ("slow restart", &[SLOW]),
    ("adaptive, first timeout as the timer", &[(ADAPTIVE, "true"), FIRST]),
    ("all, first timeout as the timer", &[WINDOW, SLOW, (ADAPTIVE, "true"), FIRST]),
    ("adaptive", &[(ADAPTIVE, "true"), SHORTEST]),
    ("all", &[WINDOW, SLOW, (ADAPTIVE, "true"), SHORTEST]),
];
const TIMER_FIRST: &str = "Adaptive retransmission was not active in the testbed, or its first timeout was no shorter \
                           than the timer";

const MENDS: [(&str, MendCounts); 2] = [("no mechanisms", MendCounts::NONE), ("2/1/1", MendCounts::TESTBED)];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (mechanisms, mend) in MENDS {
        let outcome = |sets: &[(&str, &str)]| {
            let run = PingPong::new(128, mend).run_of(results.effort().choose(100_000, 1_000_000));
            results.outcome(&sets.iter().fold(run, |run, (path, value)| run.set(path, value)))
        };
        let off = outcome(&[]);
        for (place, (name, sets)) in ACCELERATIONS.into_iter().enumerate() {
            let on = outcome(sets);
            judgement.row(
                format!("{mechanisms}, {name}"),
                [&on.timeouts(), &on.mean(), &on.median(), &on.p99(), &on.p999(), &on.longest()],
            );
            if sets.is_empty() {
                continue;
            }
            let what = format!("{name}, {mechanisms}");
            let lost = format!("flows that do not finish, {what}");
            judgement.none(lost, on.unfinished());
            // Relative difference up to which two values count as the same; means vary more.
            let figures = [
                ("mean", Outcome::mean as fn(&Outcome) -> Number, 0.1),
                ("median", Outcome::median, 0.05),
                ("99 %", Outcome::p99, 0.05),
                ("99.9 %", Outcome::p999, 0.05),
            ];
            let printed = figures.map(|(quantity, of, part)| {
                let test = of(on).near(of(off).value, part);
                (judgement.printed(format!("{quantity}, {what}"), test), of)
            });
            if place >= 5 {
                let long = outcome(ACCELERATIONS[place - 2].1);
                judgement.explain(TIMER_FIRST, 1, &printed.map(|(check, of)| (check, of(long))));
            } else {
                let timeouts = on.timeouts().about(off.timeouts().value(), 0.05);
                judgement.must(format!("timeouts, {what}"), timeouts);
            }
        }
    }
    judgement.columns("| timeouts | mean | median | 99 % | 99.9 % | largest");
}
