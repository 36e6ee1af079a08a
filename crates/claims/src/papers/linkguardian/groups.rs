//! L12: why reordered frames do little harm to TCP.

use super::multi_packet::FLOW_BYTES;
use super::trial::{ACTUAL_LOSS, ALL, HARDENED_NB, NO_LOSS, RETX_TAIL};
use crate::ledger::{Group, GroupCounts};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L12",
    title: "flows that the non-blocking mode affects, by groups",
    source: source("section 4.4, Fig. 13"),
    paper: "DCTCP flows of 24 387 B that see a gap over the non-blocking mode fall into four groups. At most 2 MSS are \
           acknowledged beyond the gap, which is not among the last three packets (A) or is (B): the window is not \
           reduced. More than 2 MSS after everything was sent (C): it is reduced, without effect. More than 2 MSS \
           with bytes pending (D, a small fraction, at most 7 MSS pending): the flow takes somewhat longer. Of 2 MB \
           flows about 80 % are affected, more of them are in D, with up to 1300 MSS pending, and take much longer. \
           Only the figure shows the sizes of the groups",
    method: "Flows one after the other, each on its own connection, handshake included, over a 100G link with loss \
             rate 1.16e-3: 24 387 B (200 000 flows; quick: 8000) and 2 MB (4000; quick: 120), a round trip of 30 µs, \
             segments of 1448 B, the initial window of 10 of Linux, over the prototype with two copies and with one, \
             and over the hardened protocol. The group of a flow follows from the SACKs that its sender received, \
             and their time",
    note: "The prototype sends two copies and removes no duplicate in this mode, so that both reach the host. The \
           host reports the second copy to the sender by a DSACK. The sender takes this DSACK for the answer to its \
           own unnecessary retransmission and undoes the reduction at once (RFC 3708), a round trip before its own \
           retransmission can arrive. With one copy, or where the link removes the second, D takes a round trip \
           longer, as printed. Whether the testbed's kernel undoes reductions in this way is not printed",
    judge,
    ..Claim::FORM
};

const LONG_BYTES: u32 = 2_000_000;
const MSS: u32 = 1_448;
const ROUND_TRIP_NS: f64 = 30_000.0;
const LONG_PENDING_MSS: [u32; 2] = [1_200, 1_381];
/// Positions of a lost segment that lead to each group, of the 15 positions with other segments directly
/// behind.
const POSITIONS: [(Group, f64); 4] = [(Group::A, 2.0), (Group::B, 2.0), (Group::C, 8.0), (Group::D, 3.0)];
const GROUPS: [Group; 4] = [Group::A, Group::B, Group::C, Group::D];

/// A non-blocking link protocol.
#[derive(Clone, Copy)]
struct ProtocolVariant {
    name: &'static str,
    variant: &'static str,
    copies: Option<u8>,
}

const TWO_COPIES: ProtocolVariant =
    ProtocolVariant { name: "LinkGuardianNB", variant: RETX_TAIL, copies: None };
const ONE_COPY: ProtocolVariant =
    ProtocolVariant { name: "LinkGuardianNB, one copy", variant: RETX_TAIL, copies: Some(1) };
const HARDENED_NB_LINK: ProtocolVariant =
    ProtocolVariant { name: "hardened NB", variant: HARDENED_NB, copies: None };
const PROTOCOLS: [ProtocolVariant; 3] = [TWO_COPIES, ONE_COPY, HARDENED_NB_LINK];

fn flows(effort: Effort, flow_bytes: u32) -> u32 {
    if flow_bytes == FLOW_BYTES { effort.choose(8_000, 200_000) } else { effort.choose(120, 4_000) }
}

fn base_run(effort: Effort, flow_bytes: u32, variant: &'static str) -> Run {
    let flows = flows(effort, flow_bytes);
    let segments = f64::from(flow_bytes.div_ceil(MSS));
    Run::new("claims/reordered")
        .variant(variant)
        .set("workload.0.message", format!("{flow_bytes}B"))
        .set("workload.0.count", flows)
        .seconds(f64::from(flows) * segments * 4e-6)
}

fn run(effort: Effort, flow_bytes: u32, protocol: ProtocolVariant) -> Run {
    let run = base_run(effort, flow_bytes, protocol.variant);
    match protocol.copies {
        Some(copies) => run.set("protect.0.copies", copies),
        None => run,
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let outcome = |size, protocol| results.outcome(&run(effort, size, protocol));
    let ordered = results.outcome(&base_run(effort, FLOW_BYTES, ALL)).group_counts(Group::Hidden);
    let clean = exact_ns(results.outcome(&base_run(effort, FLOW_BYTES, NO_LOSS)), 0.5);
    for protocol in PROTOCOLS {
        let short = outcome(FLOW_BYTES, protocol);
        finished(judgement, protocol, short);
        windows(judgement, protocol, short);
        sizes(judgement, protocol, short);
        times(judgement, protocol, short, &ordered, clean);
        longer_flows(judgement, protocol, short, outcome(LONG_BYTES, protocol));
    }
    let ratio = |protocol| {
        let [c, d] =
            [Group::C, Group::D].map(|group| median(&outcome(FLOW_BYTES, protocol).group_counts(group)));
        number(d / c)
    };
    let what = format!("median of D divided by that of C, {}", TWO_COPIES.name);
    let longer = judgement.printed(what, ratio(TWO_COPIES).at_least(1.0 + TIME_TOLERANCE));
    judgement.explain(
        "DSACKs of the second copy, which the link delivers too, make senders undo the reduction: without a second \
         copy D takes longer",
        0,
        &[(longer, ratio(ONE_COPY))],
    );
    judgement.bars("l12-groups", &figure(results));
    judgement.table(COLUMNS, rows(results));
}

/// Differences up to this fraction count as none.
const TIME_TOLERANCE: f64 = 0.05;
fn affected(outcome: &Outcome) -> u64 {
    GROUPS.iter().map(|group| outcome.group_counts(*group).flows).sum()
}

fn part_of(count: u64, of: u64) -> f64 {
    count as f64 / of.max(1) as f64
}

fn median(counts: &GroupCounts) -> f64 {
    counts.fct_ns.map_or(f64::INFINITY, |fct| fct.p50)
}

fn slowest(counts: &GroupCounts) -> f64 {
    counts.fct_ns.map_or(0.0, |fct| fct.max)
}

/// Checks that all flows end without a timeout, and that the link retransmitted a frame of every affected
/// flow.
fn finished(judgement: &mut Judgement, protocol: ProtocolVariant, outcome: &Outcome) {
    let summary = &outcome.summary;
    judgement.none(format!("timeouts, {}", protocol.name), summary.timeouts.total());
    let what = format!("flows that do not finish, {}", protocol.name);
    judgement.none(what, summary.flows - summary.finished);
    let not_retransmitted: u64 = GROUPS
        .iter()
        .map(|group| outcome.group_counts(*group))
        .map(|counts| counts.flows - counts.link_retransmitted)
        .sum();
    let what = format!("affected flows without a frame that the link retransmitted, {}", protocol.name);
    judgement.must(what, number(not_retransmitted as f64).at_most(summary.protection.lost as f64));
}

fn windows(judgement: &mut Judgement, protocol: ProtocolVariant, outcome: &Outcome) {
    for group in [Group::A, Group::B] {
        let counts = outcome.group_counts(group);
        judgement.none(format!("window reduced in {group:?}, {}", protocol.name), counts.reduced);
        judgement.none(
            format!("packets retransmitted in {group:?}, {}", protocol.name),
            counts.retransmitted_packets,
        );
    }
    for group in [Group::C, Group::D] {
        let counts = outcome.group_counts(group);
        let what = format!("window reduced in {group:?}, {}", protocol.name);
        judgement.must(what, fraction(part_of(counts.reduced, counts.flows)).at_least(0.95));
    }
}

fn sizes(judgement: &mut Judgement, protocol: ProtocolVariant, outcome: &Outcome) {
    let affected = affected(outcome);
    for (group, positions) in POSITIONS {
        let all: f64 = POSITIONS.iter().map(|(_, positions)| positions).sum();
        let what = format!("share of {group:?}, {}", protocol.name);
        judgement.must(what, share(outcome.group_counts(group).flows, affected).expected(positions / all));
    }
    let [c, d] = [Group::C, Group::D].map(|group| part_of(outcome.group_counts(group).flows, affected));
    judgement.must(format!("D is smaller than C, {}", protocol.name), fraction(d).below(c));
    let pending = f64::from(outcome.group_counts(Group::D).unsent_bytes_max);
    let what = format!("bytes pending in D, {}", protocol.name);
    judgement.must(what, bytes(pending).between(1.0, f64::from(7 * MSS)));
}

fn times(
    judgement: &mut Judgement,
    protocol: ProtocolVariant,
    outcome: &Outcome,
    ordered: &GroupCounts,
    clean: f64,
) {
    for group in [Group::A, Group::B, Group::C] {
        let what = format!("slowest flow of {group:?} compared with the ordered mode, {}", protocol.name);
        judgement.must(
            what,
            time_ns(slowest(&outcome.group_counts(group))).at_most(slowest(ordered) * (1.0 + 0.01)),
        );
    }
    if protocol.name != TWO_COPIES.name {
        judgement.must(
            format!("median of D, excess over flows without loss, {}", protocol.name),
            time_ns(median(&outcome.group_counts(Group::D)) - clean)
                .between(ROUND_TRIP_NS / 2.0, ROUND_TRIP_NS * 2.0),
        );
    }
}

fn longer_flows(judgement: &mut Judgement, protocol: ProtocolVariant, short: &Outcome, long: &Outcome) {
    let name = format!("2 MB, {}", protocol.name);
    let segments = f64::from(LONG_BYTES.div_ceil(MSS));
    let with_loss = long.summary.flows - long.group_counts(Group::Clean).flows;
    let chance = 1.0 - (1.0 - ACTUAL_LOSS).powf(segments);
    judgement.must(
        format!("flows that lost a frame, {name}"),
        share(with_loss, long.summary.flows).expected(chance),
    );
    let in_d = |outcome: &Outcome| part_of(outcome.group_counts(Group::D).flows, affected(outcome));
    judgement.must(format!("share of D, {name}"), fraction(in_d(long)).at_least(in_d(short)));
    let [least, most] = LONG_PENDING_MSS.map(|mss| f64::from(mss * MSS));
    let what = format!("bytes pending in D, {name}");
    judgement.must(what, bytes(f64::from(long.group_counts(Group::D).unsent_bytes_max)).between(least, most));
    let lost = |outcome: &Outcome| {
        slowest(&outcome.group_counts(Group::D)) - median(&outcome.group_counts(Group::Clean))
    };
    judgement.must(
        format!("slowest flow of D, excess over the median without loss, {name}"),
        time_ns(lost(long)).at_least(lost(short)),
    );
}

const COLUMNS: &str = "| flows | share of affected | window reduced | retransmitted | pending at most | median | 99 % | slowest";

fn rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for size in [FLOW_BYTES, LONG_BYTES] {
        for protocol in PROTOCOLS {
            let outcome = results.outcome(&run(results.effort(), size, protocol));
            for group in [Group::Clean, Group::Hidden].into_iter().chain(GROUPS) {
                rows.push(row(
                    &format!("{size} B, {}, {}", protocol.name, group_name(group)),
                    outcome,
                    group,
                ));
            }
        }
        let ordered = results.outcome(&base_run(results.effort(), size, ALL));
        rows.push(row(&format!("{size} B, {ALL}, {}", group_name(Group::Hidden)), ordered, Group::Hidden));
    }
    rows
}

fn group_name(group: Group) -> String {
    match group {
        Group::Clean => "no frame lost".to_owned(),
        Group::Hidden => "frame lost, no gap seen".to_owned(),
        other => format!("{other:?}"),
    }
}

fn row(name: &str, outcome: &Outcome, group: Group) -> Vec<String> {
    let counts = outcome.group_counts(group);
    let time = |of: fn(&wiremend_measure::Quantiles) -> f64| {
        counts.fct_ns.as_ref().map_or("–".to_owned(), |fct| human::time_ns(of(fct)))
    };
    let is_affected = GROUPS.contains(&group);
    vec![
        name.to_owned(),
        human::count(counts.flows),
        if is_affected {
            format!("{} %", human::percent(part_of(counts.flows, affected(outcome))))
        } else {
            "–".to_owned()
        },
        human::count(counts.reduced),
        human::count(counts.retransmitted_packets),
        if is_affected { human::bytes(f64::from(counts.unsent_bytes_max)) } else { "–".to_owned() },
        time(|fct| fct.p50),
        time(|fct| fct.p99),
        time(|fct| fct.max),
    ]
}

fn figure(results: &Results<'_>) -> Bars {
    let bar = |size: u32, name: &str, protocol: ProtocolVariant| {
        let outcome = results.outcome(&run(results.effort(), size, protocol));
        Bar {
            name: format!("{name}, {}", protocol.name),
            counts: GROUPS.map(|group| outcome.group_counts(group).flows).to_vec(),
        }
    };
    Bars {
        title: "DCTCP flows that saw a gap, by groups".to_owned(),
        description:
            "Number of affected flows in each of four groups, for flows of two sizes and three non-blocking link \
             protocols."
                .to_owned(),
        parts: vec![
            "A: at most 2 MSS beyond the gap".to_owned(),
            "B: the same, at the tail".to_owned(),
            "C: more, nothing pending".to_owned(),
            "D: more, bytes pending".to_owned(),
        ],
        bars: [(FLOW_BYTES, "24 387 B"), (LONG_BYTES, "2 MB")]
            .into_iter()
            .flat_map(|(size, name)| PROTOCOLS.map(|protocol| bar(size, name, protocol)))
            .collect(),
    }
}
