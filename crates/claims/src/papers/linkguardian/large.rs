//! L11: flows that are hit more often than not.

use wiremend_report::human;

use super::transport::Transport;
use super::trial::{ALL, COLUMNS, HARDENED, HARDENED_NB, LOSS, NO_LOSS, PROTECTED, RETX_TAIL, SHOWN, Trial};
use crate::ledger::number::{count, fraction, number, shown};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};
use crate::papers::completion::{exact_ns, share_above};
use crate::papers::joshi::source;

pub(super) const CLAIM: Claim = Claim {
    id: "L11",
    title: "flows of 2 MB over a protected link",
    source: source!("sections 4.3 and 4.4, Fig. 12"),
    paper: "Flows of 2 MB by DCTCP over a 100G link that loses 1e-3, of which about 80 % are hit: 99.9 % of them finish 4 times sooner with LinkGuardian and 2 times \
            with its non-blocking mode, whose longer tail is of flows that had much to send when what came late made them reduce their window",
    method: "As L10 by DCTCP, with flows of 2 MB (1382 packets), 10 000 of them; quick 1000. Reproduced if 80 % of the flows are hit, within 5 %, as reckoned from all losses, and more than half take longer; if all flows finish, without a timeout if protected; if in order they \
             take at 99.9 % at most twice as long as without loss, and if the prototype gains 4 in order and 2 non-blocking, within 25 % (of which a print of one digit leaves 13). \
             What a window reduced in vain costs is told by flows without SACK: these learn from nothing that a packet was but late, and must be no faster at 99 % over the \
             non-blocking modes than by loss, so that the printed 2 lies between the two. What hosts add is told by flows between hosts of 40G, which must gain less in order at 99 %. Gains have an interval of 95 %, from ranks",
    runs,
    judge,
};

const FLOW_BYTES: u32 = 2_000_000;
const PRINTED: [(&str, f64); 2] = [(ALL, 4.0), (RETX_TAIL, 2.0)];
const PRINTED_PART: f64 = 0.25;
const PRINTED_HIT: f64 = 0.8;
const SAME: f64 = 0.05;
/// Longer than any flow without loss, but for what cannot be seen.
const VISIBLY: f64 = 1.001;

const VARIANTS: [&str; 6] = [NO_LOSS, LOSS, ALL, RETX_TAIL, HARDENED, HARDENED_NB];

fn trial(effort: Effort) -> Trial {
    let flows = effort.choose(1_000, 10_000);
    Trial { flows, ..Trial::new(FLOW_BYTES, effort, Transport::Dctcp) }
}

/// Fewer flows, for what shows at 99 % already.
fn fewer(effort: Effort) -> Trial {
    Trial { flows: effort.choose(200, 2_000), ..trial(effort) }
}

/// Where receivers do not tell what they hold, nor what they got twice.
fn without_sack(effort: Effort, variant: &'static str) -> Run {
    fewer(effort).run(variant).set("transport.tcp.sack", false)
}

/// Where hosts do not fill the link.
fn slower_hosts(effort: Effort, variant: &'static str) -> Run {
    fewer(effort).run(variant).set("topology.host_rate", "40Gbps")
}

fn runs(effort: Effort) -> Vec<Run> {
    let without_sack = [LOSS, RETX_TAIL, HARDENED_NB].map(|variant| without_sack(effort, variant));
    let slower_hosts = [LOSS, ALL].map(|variant| slower_hosts(effort, variant));
    trial(effort).runs(&VARIANTS).into_iter().chain(without_sack).chain(slower_hosts).collect()
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let trial = trial(results.effort());
    let clean = trial.at(results, NO_LOSS, 1.0) * VISIBLY;
    let lossy = trial.of(results, LOSS);
    let hit = 1.0 - (-(lossy.summary.corrupted_frames as f64) / f64::from(trial.flows)).exp();
    let longer = share_above(lossy, clean);
    judgement.must("flows that are hit, loss", fraction(hit).near(PRINTED_HIT, SAME));
    judgement.must("flows that take longer, loss", fraction(longer).at_least(0.5));
    for variant in VARIANTS {
        let summary = &trial.of(results, variant).summary;
        let unfinished = count(summary.flows - summary.finished);
        judgement.must(format!("flows that do not finish, {variant}"), unfinished.is(0));
    }
    for variant in PROTECTED {
        let timeouts = trial.of(results, variant).summary.timeouts.total();
        judgement.must(format!("timeouts, {variant}"), count(timeouts).is(0));
    }
    for variant in [ALL, HARDENED] {
        trial.hides_losses(&mut judgement, results, variant);
    }
    let in_vain = windows_reduced_in_vain(&mut judgement, results);
    let slower = gain_of_slower_hosts(&mut judgement, results);
    for (variant, gain) in PRINTED {
        judgement.printed(
            format!("gain at 99.9 %, {variant}"),
            number(trial.gain(results, variant)).near(gain, PRINTED_PART),
            "Without order each loss still makes a sender reduce its window, but soon it learns that nothing was lost, by a packet that came twice (D-SACK, RFC 3708), and takes the reduction back: \
             at once with the prototype, which hands on both of its copies, a round trip later with the hardened protocol. Where nothing is taken back, without SACK, \
             no order is no better than loss. In the testbed more of it remained than here; which part of its hosts kept it is not published. In order the gain is larger here the less flows without loss take: \
             one host fills 100G, and gains less where it does not",
        );
    }
    judgement.plot("l11-dctcp", &trial.figure(results, &SHOWN[..6], 0.95));
    judgement.table(COLUMNS, VARIANTS.iter().map(|variant| trial.row(results, variant)).collect());
    let [all, nb, ours, ours_nb] =
        [ALL, RETX_TAIL, HARDENED, HARDENED_NB].map(|variant| trial.told_gain(results, variant));
    judgement.finding(
        format!(
            "{} % of flows are hit and {} % take longer, as a loss near the end of a flow that fills the link costs no time; the prototype gains {all} at 99.9 % in order and {nb} non-blocking, the hardened protocol {ours} and {ours_nb}; {in_vain}; {slower}",
            human::percent(hit),
            human::percent(longer),
        ),
        "A window that is halved in its first round trips grows by a segment in each of those that follow: this, and not the timer, is what a loss costs a flow of 2 MB",
    )
}

/// What a loss costs is the less of a flow's time, the longer it takes anyway.
fn gain_of_slower_hosts(judgement: &mut Judgement, results: &Results<'_>) -> String {
    let at_99 = |variant| exact_ns(results.of(&slower_hosts(results.effort(), variant)), 0.99);
    let trial = trial(results.effort());
    let gain = trial.at(results, LOSS, 0.99) / trial.at(results, ALL, 0.99);
    let slower = at_99(LOSS) / at_99(ALL);
    judgement.must(format!("gain at 99 %, hosts of 40G, {ALL}"), number(slower).below(gain));
    format!(
        "in order the prototype gains {} at 99 %, and {} between hosts of 40G",
        shown(gain),
        shown(slower)
    )
}

/// What the non-blocking modes come to if nothing tells that a packet was but late.
fn windows_reduced_in_vain(judgement: &mut Judgement, results: &Results<'_>) -> String {
    let at_99 = |variant| exact_ns(results.of(&without_sack(results.effort(), variant)), 0.99);
    let gains = [RETX_TAIL, HARDENED_NB].map(|variant| at_99(LOSS) / at_99(variant));
    let trial = trial(results.effort());
    for (variant, gain) in [RETX_TAIL, HARDENED_NB].into_iter().zip(gains) {
        judgement.must(format!("gain at 99 % without SACK, {variant}"), number(gain).at_most(1.0));
        let with = trial.gain(results, variant);
        judgement.must(format!("gain at 99.9 % with SACK, {variant}"), number(with).at_least(PRINTED[1].1));
    }
    format!("without SACK the non-blocking modes gain {} and {} at 99 %", shown(gains[0]), shown(gains[1]))
}
