//! W7 and W8: RoCE of Linux and of the simulator when messages lose packets, without and with remedies.

use wiremend_report::lab::{Lost, StallRow, StallTable};

use super::gao::source;
use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[CAUSES, REMEDIES];

const CAUSES: Claim = Claim {
    id: "W7",
    title: "stalls of soft-RoCE and of the simulator",
    source: source("not in the paper, which measured NICs"),
    paper: "The paper measured timeouts of NICs by what was lost. The simulator must give the same waits as the RoCE \
            of a kernel in the same setting",
    method: "wiremend lab stalls: soft-RoCE of Debian's kernel in a guest requests WRITEs and READs of four packets \
             from wiremend peer, one at a time, with the timeout of 67 ms, and both directions lose frames at random. \
             A capture shows what each message lost. The simulator runs the same with the profile soft-roce, and its \
             captures are read in the same way. 1000 messages for each mix of losses (quick: 200), ten times as many \
             in the simulator",
    note: "Waits end with the timer of the kernel, which counts jiffies of 4 ms. Times of messages that wait for no \
           timer are those of an emulated processor, and are shown only",
    judge: judge_causes,
    ..Claim::FORM
};

const REMEDIES: Claim = Claim {
    id: "W8",
    title: "dummies and copies on a real kernel",
    source: source("section 6"),
    paper: "Dummies, copies of NAKs and copies of retransmissions avoid the timeouts that lost tails, NAKs and \
            retransmissions cause",
    method: "As W7, with wiremend peer as the requester and soft-RoCE of the kernel as the responder for dummies and \
             copied retransmissions, and the reverse for copied NAKs. 1000 messages for each mix of losses (quick: \
             200)",
    note: "Remedies change the requester or the responder of wiremend peer; the other end is an unmodified kernel. \
           The simulator has both ends with the profile soft-roce. Behind a READ the dummy is an empty READ",
    judge: judge_remedies,
    ..Claim::FORM
};

/// Losses after which a kernel waits for its timer.
const WAITS: [(&str, &[Lost]); 2] = [
    ("kernel writes", &[Lost::TailPacket, Lost::TailAck, Lost::Nak, Lost::Retransmission]),
    ("kernel reads", &[Lost::ReadRequest, Lost::LastResponse, Lost::MiddleResponse]),
];
/// Set-ups without and with a remedy, and what it is against.
const PAIRS: [(&str, &str, &[Lost]); 4] = [
    ("kernel writes", "kernel writes, 1 NAK copy", &[Lost::Nak]),
    ("peer writes", "peer writes, 1 dummy", &[Lost::TailPacket, Lost::TailAck]),
    ("peer writes", "peer writes, 1 dummy, 1 resend copy", &[Lost::TailPacket, Lost::Retransmission]),
    ("peer reads", "peer reads, 1 dummy", &[Lost::ReadRequest, Lost::LastResponse, Lost::MiddleResponse]),
];
/// Half of the timeout, in milliseconds.
const HALF_TIMEOUT_MS: f64 = 33.5;
/// Messages of a kind whose median is judged.
const COUNT_MIN: usize = 5;

fn judge_causes(judgement: &mut Judgement, results: &Results<'_>) {
    let Some(table) = measured(judgement, results, "causes", ["200", "1000"]) else { return };
    let part = results.effort().choose(0.25, 0.1);
    for (set_up, losses) in WAITS {
        for &lost in losses {
            let what = format!(
                "median of the simulator divided by that of the kernel, {set_up}, lost: {}",
                lost.name()
            );
            let ratio = table.row(set_up, Some(lost)).filter(|row| row.kernel.count >= COUNT_MIN).map(ratio);
            // Quick runs have few messages of the rarest kinds.
            if ratio.is_some() || results.effort() == Effort::Full {
                judgement.must(what, number(ratio.unwrap_or(f64::NAN)).near(1.0, part));
            }
        }
    }
    show(judgement, &table);
}

fn judge_remedies(judgement: &mut Judgement, results: &Results<'_>) {
    let Some(table) = measured(judgement, results, "remedies", ["200", "1000"]) else { return };
    for (without, with, losses) in PAIRS {
        for &lost in losses {
            for (set_up, is_mended) in [(without, false), (with, true)] {
                let Some(row) = table.row(set_up, Some(lost)) else { continue };
                for (who, times) in [("kernel", &row.kernel), ("simulator", &row.simulator)] {
                    let what = format!("median in ms, {who}: {set_up}, lost: {}", lost.name());
                    let median = number(times.median_ms);
                    let test = if is_mended {
                        median.below(HALF_TIMEOUT_MS)
                    } else {
                        median.at_least(HALF_TIMEOUT_MS)
                    };
                    judgement.must(what, test);
                }
            }
        }
        if let [Some(without_row), Some(with_row)] = [without, with].map(|set_up| table.row(set_up, None)) {
            let what = format!("mean time of all messages with the kernel, divided by that without: {with}");
            judgement.must(what, number(with_row.kernel.mean_ms / without_row.kernel.mean_ms).below(1.0));
        }
    }
    show(judgement, &table);
}

fn measured(
    judgement: &mut Judgement,
    results: &Results<'_>,
    part: &str,
    [quick, full]: [&str; 2],
) -> Option<StallTable> {
    if results.is_listing() {
        return None;
    }
    let messages = results.effort().choose(quick, full);
    let table = results.lab(&["stalls", "--json", "--part", part, "--messages", messages]);
    judgement.some("completed lab runs", u64::from(table.is_some()));
    table
}

fn ratio(row: &StallRow) -> f64 {
    row.simulator.median_ms / row.kernel.median_ms
}

fn show(judgement: &mut Judgement, table: &StallTable) {
    let row = |row: &StallRow| {
        let lost = row.lost.map_or("all messages", Lost::name);
        let [kernel, simulator] = [&row.kernel, &row.simulator].map(|times| {
            let [low, high] = times.interval_ms;
            let median = format!("{:.1} ({low:.1} to {high:.1})", times.median_ms);
            [times.count.to_string(), median, format!("{:.1}", times.p90_ms), format!("{:.1}", times.mean_ms)]
        });
        let name = [format!("{}: {lost}", row.set_up)];
        name.into_iter().chain(kernel).chain(simulator).chain([shown(ratio(row))]).collect()
    };
    judgement.table(
        "lost | kernel: messages | median in ms (95 % interval) | p90 | mean | simulator: messages | median | p90 | \
         mean | ratio of medians",
        table.rows.iter().map(row).collect(),
    );
}
