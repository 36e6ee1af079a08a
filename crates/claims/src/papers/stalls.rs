//! W7 to W9: RoCE of Linux and of the simulator when messages lose packets, without and with remedies.

use wiremend_report::lab::{ENDS, Lost, PingPongRow, PingPongTimes, StallRow, StallTable};

use super::gao::source;
use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[CAUSES, REMEDIES, PING_PONG];

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
             200). With and without NAK copies 16 times as many, of eight queue pairs that wait at the same time: a \
             message takes 51 ms more or less than the mean (standard deviation), so that the ratio of two means of \
             32 000 messages has a standard error of 1.3 %, and the sign of a difference of 2.1 % is right in 95 % of \
             such measurements. With 2000 messages the standard error was 5 %",
    note: "Remedies change the requester or the responder of wiremend peer; the other end is an unmodified kernel. \
           The simulator has both ends with the profile soft-roce. Behind a READ the dummy is an empty READ. NAK \
           copies cost the kernel waits of two timers, which neither the simulator nor a kernel without copies has: a \
           copy that arrives while the kernel still sends stays in its queue; if the resend is lost, the timer takes \
           the copy, does nothing else, and starts again. Of a \
           thousand messages 5 and 9 waited so in two measurements on an idle machine, which took back a fifth and \
           two fifths of what the copies save. Where the guest is slower more messages wait so, and copies \
           may cost more than they save",
    judge: judge_remedies,
    ..Claim::FORM
};

const PING_PONG: Claim = Claim {
    id: "W9",
    title: "the ping-pong with a kernel as one end",
    source: source("sections 6.2 and 6.3, Figs. 11 and 15"),
    paper: "J11 to J13: 1024 B WRITEs of two ends in turn. Without mechanisms each lost packet and each lost ACK waits \
            for the timer; with 2 dummies and a copy of each retransmission nearly none does; with one of them left \
            out, more do",
    method: "wiremend lab stalls --part ping-pong: ib_write_lat on soft-RoCE of Debian's kernel in a guest, and \
             wiremend peer at the other end. Both directions lose frames at random, one in 128 as in the paper, and \
             one in 16, where the effect of each mechanism can be counted. 3000 iterations, three times as many at \
             1/128 (quick: 400), ten times as many in the simulator with the profile soft-roce, whose links have the \
             delay that gives the kernel's median iteration",
    note: "The kernel has no dummies, so its own WRITEs wait for its timer with and without mechanisms of the other \
           end. They are compared with the simulator without mechanisms: otherwise both of its ends have them. The \
           kernel sends all NAKs, so that none is copied. The timer is 67 ms, not 266 ms: soft-RoCE rounds longer \
           ones by up to 32 ms. It does not stop when everything is acknowledged, so that a wait may be shorter",
    judge: judge_ping_pong,
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

/// Set-ups at 1/16 whose timeouts of the peer descend.
const DESCENDING: [&str; 3] =
    ["1/16, no remedy", "1/16, 1 dummy, 1 resend copy", "1/16, 2 dummies, 1 resend copy"];
/// Nearly the timer, which counts jiffies of 4 ms.
const TIMER_MS: f64 = 60.0;

fn judge_ping_pong(judgement: &mut Judgement, results: &Results<'_>) {
    let Some(table) = measured(judgement, results, "ping-pong", ["400", "3000"]) else { return };
    let quick = results.effort() == Effort::Quick;
    let row = |name: &str| table.ping_pongs.iter().find(|row| row.set_up == name);
    for measured in &table.ping_pongs {
        // The kernel has no remedy, and in the simulator both ends have them.
        let (rate, _) = measured.set_up.split_once(',').unwrap_or_default();
        let bare = row(&format!("{rate}, no remedy")).unwrap_or(measured);
        for ((place, end), simulated) in ENDS.into_iter().enumerate().zip([bare, measured]) {
            let (kernel, simulator) = (&measured.kernel.writes[place], &simulated.simulator.writes[place]);
            let expected = simulator.timeouts as f64 * kernel.count as f64 / simulator.count.max(1) as f64;
            let what = format!("timeouts of the {end}'s WRITEs, {}", measured.set_up);
            judgement.must(what, count(kernel.timeouts).about(expected, 0.1));
        }
    }
    let part = if quick { 0.25 } else { 0.1 };
    if let Some(row) = row(DESCENDING[0]) {
        for (place, end) in ENDS.into_iter().enumerate() {
            let medians = |times: &PingPongTimes| {
                let writes = &times.writes[place];
                [&writes.lost_packet, &writes.lost_ack]
                    .map(|times| times.as_ref().map_or(f64::NAN, |t| t.median_ms))
            };
            for ((kernel, simulator), lost) in medians(&row.kernel)
                .into_iter()
                .zip(medians(&row.simulator))
                .zip([Lost::TailPacket, Lost::TailAck])
            {
                let what = format!(
                    "median of the simulator divided by that of the kernel, 1/16, {end}'s WRITEs, lost: {}",
                    lost.name()
                );
                judgement.must(what, number(simulator / kernel).near(1.0, part));
            }
        }
    }
    if let [Some(bare), Some(mended)] = ["1/128, no remedy", "1/128, 2 dummies, 1 resend copy"].map(row) {
        judge_paper(judgement, bare, mended, quick);
    }
    let timeouts: Vec<_> = DESCENDING.iter().rev().filter_map(|name| Some((*name, row(name)?))).collect();
    let timeouts: Vec<_> =
        timeouts.iter().map(|(name, row)| (*name, number(row.kernel.writes[1].timeouts as f64))).collect();
    judgement.must("timeouts of the peer's WRITEs ascend with fewer dummies", ascending(&timeouts, 0.0));
    show_ping_pongs(judgement, &table);
}

/// J11 and J12 at the highest rate of the paper.
fn judge_paper(judgement: &mut Judgement, bare: &PingPongRow, mended: &PingPongRow, quick: bool) {
    for (who, times) in [("kernel", &bare.kernel), ("simulator", &bare.simulator)] {
        judgement.must(
            format!("longest iteration in ms, 1/128, {who}"),
            number(times.longest_ms).at_least(TIMER_MS),
        );
        let p999 = number(times.p999_ms).at_least(HALF_TIMEOUT_MS);
        judgement.must(format!("99.9th percentile in ms, 1/128, {who}"), p999);
    }
    let [with_kernel, simulated] = [&bare.kernel, &bare.simulator].map(|times| times.iterations.mean_ms);
    let mean = number(simulated / with_kernel).near(1.0, if quick { 0.5 } else { 0.25 });
    judgement.must("mean iteration of the simulator divided by that with the kernel, 1/128", mean);
    let [peer_bare, peer_mended] = [bare, mended].map(|row| row.kernel.writes[1].timeouts as f64);
    let rest = number(peer_mended / peer_bare.max(1.0)).below(0.1);
    judgement.must("timeouts of the peer's WRITEs with the remedies, divided by those without, 1/128", rest);
    let mean = number(mended.kernel.iterations.mean_ms / bare.kernel.iterations.mean_ms).below(1.0);
    judgement.must("mean iteration with the remedies, divided by that without, 1/128", mean);
}

fn show_ping_pongs(judgement: &mut Judgement, table: &StallTable) {
    let cells = |row: &PingPongRow, who: &str, times: &PingPongTimes| {
        let ends = times.writes.iter().flat_map(|writes| {
            let median = |times: &Option<wiremend_report::lab::MessageTimes>| {
                times
                    .as_ref()
                    .map_or("–".to_owned(), |times| format!("{:.1} ({})", times.median_ms, times.count))
            };
            [writes.timeouts.to_string(), median(&writes.lost_packet), median(&writes.lost_ack)]
        });
        let all = &times.iterations;
        let first = [format!("{}: {who}", row.set_up), all.count.to_string(), format!("{:.2}", all.mean_ms)];
        let last = [format!("{:.1}", times.p999_ms), format!("{:.1}", times.longest_ms)];
        first.into_iter().chain(ends).chain(last).collect()
    };
    let rows = table
        .ping_pongs
        .iter()
        .flat_map(|row| [cells(row, "kernel", &row.kernel), cells(row, "simulator", &row.simulator)]);
    judgement.table(
        "rate and remedies: with | iterations | mean in ms | kernel's WRITEs: timeouts | lost packet: median in ms \
         (number) | lost ACK | peer's WRITEs: timeouts | lost packet | lost ACK | p99.9 | max",
        rows.collect(),
    );
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
        let [with_kernel, simulated] = row.double_waits;
        let last = [shown(ratio(row)), format!("{with_kernel}, {simulated}")];
        name.into_iter().chain(kernel).chain(simulator).chain(last).collect()
    };
    judgement.table(
        "lost | kernel: messages | median in ms (95 % interval) | p90 | mean | simulator: messages | median | p90 | \
         mean | ratio of medians | waits of two timers",
        table.rows.iter().map(row).collect(),
    );
}
