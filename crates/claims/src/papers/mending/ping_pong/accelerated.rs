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
    method: "J11 and J12 at 1/128, with each acceleration and with all of them. Their algorithms are not published. \
             Here the window is 64 packets; slow restart sends one packet after a loss and one more for each \
             acknowledged packet; adaptive retransmission starts with a sixteenth of the timer and doubles it. No \
             difference means: the median, the 99 % and the 99.9 % quantile within 5 %, the mean within 10 %, and \
             the number of timeouts within random variation",
    note: "Without mechanisms the timer determines the latencies, so that a shorter first timeout must change them. \
           The paper saw no change. So adaptive retransmission was not active in its testbed, or started with a \
           timeout no shorter than the timer; in that case there is no difference here either. After a loss slow \
           restart sends one packet, and the packets posted after it wait for its acknowledgement: a fraction of a \
           microsecond in one of a thousand iterations, which averages of a testbed do not show",
    judge,
    ..Claim::FORM
};

const ADAPTIVE: &str = "transport.acceleration.adaptive_retransmission";
/// The timeout of code 16.
const FIRST: (&str, &str) = ("transport.acceleration.first_timeout", "268435456ns");
const SLOW: (&str, &str) = ("transport.acceleration.slow_restart", "true");
const WINDOW: (&str, &str) = ("transport.window", "64");

/// Accelerations, none at first, and the values that they set. The last two shorten the timer.
const ACCELERATIONS: [(&str, &[(&str, &str)]); 7] = [
    ("none", &[]),
    ("window of 64", &[WINDOW]),
    ("slow restart", &[SLOW]),
    ("adaptive, first timeout as the timer", &[(ADAPTIVE, "true"), FIRST]),
    ("all, first timeout as the timer", &[WINDOW, SLOW, (ADAPTIVE, "true"), FIRST]),
    ("adaptive", &[(ADAPTIVE, "true")]),
    ("all", &[WINDOW, SLOW, (ADAPTIVE, "true")]),
];
const MENDS: [(&str, MendCounts); 2] = [("no mechanisms", MendCounts::NONE), ("2/1/1", MendCounts::TESTBED)];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (mechanisms, mend) in MENDS {
        let outcome = |sets: &[(&str, &str)]| {
            let run = PingPong::new(128, mend).run_of(results.effort().choose(100_000, 1_000_000));
            results.outcome(&sets.iter().fold(run, |run, (path, value)| run.set(path, value)))
        };
        let off = outcome(&[]);
        for (name, sets) in ACCELERATIONS {
            let on = outcome(sets);
            judgement.row(
                format!("{mechanisms}, {name}"),
                [&on.timeouts(), &on.mean(), &on.median(), &on.p99(), &on.p999(), &on.longest()],
            );
            if sets.is_empty() {
                continue;
            }
            // Relative difference up to which two values count as the same; means vary more.
            let what = format!("{name}, {mechanisms}");
            judgement.must(format!("timeouts, {what}"), on.timeouts().about(off.timeouts().value(), 0.05));
            for (quantity, of, part) in [
                ("mean", Outcome::mean as fn(&Outcome) -> Number, 0.1),
                ("median", Outcome::median, 0.05),
                ("99 %", Outcome::p99, 0.05),
                ("99.9 %", Outcome::p999, 0.05),
            ] {
                judgement.printed(format!("{quantity}, {what}"), of(on).near(of(off).value, part));
            }
        }
    }
    judgement.columns("| timeouts | mean | median | 99 % | 99.9 % | largest");
}
