//! L12: why reordered frames do little harm to TCP.

use wiremend_report::human;
use wiremend_report::plot::{Bar, Bars};

use super::multi_packet::FLOW_BYTES;
use super::trial::{ACTUAL, ALL, HARDENED_NB, NO_LOSS, RETX_TAIL};
use crate::ledger::number::{bytes, count, fraction, number, share, shown, time_ns};
use crate::ledger::{Claim, Effort, Finding, Group, GroupCounts, Judgement, Outcome, Results, Run};
use crate::papers::completion::exact_ns;
use crate::papers::joshi::source;

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
            and over the hardened protocol. The group of a flow follows from the SACKs that its sender received, and \
            their time. Reproduced if the link retransmitted a frame of every flow in a group, except for frames \
            whose copies were lost too; if no flow in A and B, and at least 95 % in C and D, declares a loss; if no \
            flow of A to C takes longer than flows over the ordered mode that lost a frame (within 1 %), whose window \
            is never reduced; if at most 7 MSS are pending in D, and D is smaller than C; if the groups have the \
            sizes that follow from an initial window of 10 of 17 segments (positions 8 and 9 of 15 are A, 15 and 16 \
            B, 1 to 3 D; the interval contains the share); if with one copy, and over the hardened protocol, the \
            median of D is half to two round trips longer than without loss; and if with 2 MB flows the number of \
            affected flows is that of random losses, D is a larger share, at most 1200 to 1381 MSS are pending, and \
            the slowest flow of D loses more time than at 24 387 B. As printed if D takes longer than C with two \
            copies too",
    runs,
    judge,
};

const LONG_BYTES: u32 = 2_000_000;
const MSS: u32 = 1_448;
const ROUND_TRIP_NS: f64 = 30_000.0;
const REDUCED: f64 = 0.95;
const SLACK: f64 = 0.01;
const PENDING_MSS: u32 = 7;
const LONG_PENDING_MSS: [u32; 2] = [1_200, 1_381];
/// Positions of a lost segment that lead to each group, of the 15 positions with other segments directly
/// behind.
const POSITIONS: [(Group, f64); 4] = [(Group::A, 2.0), (Group::B, 2.0), (Group::C, 8.0), (Group::D, 3.0)];
const GROUPS: [Group; 4] = [Group::A, Group::B, Group::C, Group::D];

/// A non-blocking link protocol.
#[derive(Clone, Copy)]
struct LinkProtocol {
    name: &'static str,
    variant: &'static str,
    copies: Option<u8>,
}

const TWO_COPIES: LinkProtocol = LinkProtocol { name: "LinkGuardianNB", variant: RETX_TAIL, copies: None };
const ONE_COPY: LinkProtocol =
    LinkProtocol { name: "LinkGuardianNB, one copy", variant: RETX_TAIL, copies: Some(1) };
const HARDENED_NB_LINK: LinkProtocol =
    LinkProtocol { name: "hardened NB", variant: HARDENED_NB, copies: None };
const PROTOCOLS: [LinkProtocol; 3] = [TWO_COPIES, ONE_COPY, HARDENED_NB_LINK];

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

fn run(effort: Effort, flow_bytes: u32, protocol: LinkProtocol) -> Run {
    let run = base_run(effort, flow_bytes, protocol.variant);
    match protocol.copies {
        Some(copies) => run.set("protect.0.copies", copies),
        None => run,
    }
}

fn runs(effort: Effort) -> Vec<Run> {
    let protocols = |flow_bytes| PROTOCOLS.map(|protocol| run(effort, flow_bytes, protocol));
    let others = |flow_bytes| [ALL, NO_LOSS].map(|variant| base_run(effort, flow_bytes, variant));
    let sizes = [FLOW_BYTES, LONG_BYTES];
    sizes.into_iter().flat_map(|size| protocols(size).into_iter().chain(others(size))).collect()
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let effort = results.effort();
    let outcome = |size, protocol| results.outcome(&run(effort, size, protocol));
    let ordered = results.outcome(&base_run(effort, FLOW_BYTES, ALL)).group_counts(Group::Hidden);
    let clean = exact_ns(results.outcome(&base_run(effort, FLOW_BYTES, NO_LOSS)), 0.5);
    for protocol in PROTOCOLS {
        let short = outcome(FLOW_BYTES, protocol);
        finished(&mut judgement, protocol, short);
        windows(&mut judgement, protocol, short);
        sizes(&mut judgement, protocol, short);
        times(&mut judgement, protocol, short, &ordered, clean);
        longer_flows(&mut judgement, protocol, short, outcome(LONG_BYTES, protocol));
    }
    judgement.printed(
        format!("median of D against C, {}", TWO_COPIES.name),
        number(median(&outcome(FLOW_BYTES, TWO_COPIES).group_counts(Group::D)) / median(&outcome(FLOW_BYTES, TWO_COPIES).group_counts(Group::C))).at_least(1.0 + SAME),
        "The prototype sends two copies and removes none in this mode, so that both reach the host. What the second copy doubles is told to the sender (DSACK), which takes it for \
         the answer to its own needless copy and undoes the reduction at once (RFC 3708), a round trip before that copy can come. With one copy, or where the link removes the second, D takes a round trip \
         longer, as printed. Whether the testbed's kernel undoes so is not printed",
    );
    judgement.bars("l12-groups", &figure(results));
    judgement.table(COLUMNS, rows(results));
    let [two, one] = [TWO_COPIES, ONE_COPY].map(|protocol| outcome(FLOW_BYTES, protocol));
    judgement.finding(measured(two, one, outcome(LONG_BYTES, TWO_COPIES), clean), WHY)
}

/// Differences up to this fraction count as none.
const SAME: f64 = 0.05;
const WHY: &str = "The sender has ten segments under way when the first answers come, and what these allow is the rest of the flow: only a gap in the first three leaves something pending when \
     the third segment beyond it is told of. What follows the gap in the same burst is at the receiver long before the link has sent again, so that the position of a loss decides on its group";

fn measured(two: &Outcome, one: &Outcome, long: &Outcome, clean: f64) -> String {
    let affected = affected(two);
    let part = |group| {
        let met = two.group_counts(group);
        format!("{group:?} {} ({} %)", human::count(met.flows), human::percent(part_of(met.flows, affected)))
    };
    let later = |met: &GroupCounts| human::time_ns(median(met) - clean);
    let met = |outcome: &Outcome| outcome.group_counts(Group::D);
    format!(
        "Of {} flows {} are affected: {}. At most {} MSS are pending in D. The medians of C and D are {} and {} longer than without loss with two copies, {} and {} with one. Of 2 MB flows {} % are \
         affected, {} % of these in D, with up to {} MSS pending",
        human::count(two.summary.flows),
        human::count(affected),
        GROUPS.map(part).join(", "),
        shown(f64::from(met(two).unsent_bytes_max) / f64::from(MSS)),
        later(&two.group_counts(Group::C)),
        later(&met(two)),
        later(&one.group_counts(Group::C)),
        later(&met(one)),
        human::percent(part_of(self::affected(long), long.summary.flows)),
        human::percent(part_of(met(long).flows, self::affected(long))),
        met(long).unsent_bytes_max / MSS,
    )
}

fn affected(outcome: &Outcome) -> u64 {
    GROUPS.iter().map(|group| outcome.group_counts(*group).flows).sum()
}

fn part_of(count: u64, of: u64) -> f64 {
    count as f64 / of.max(1) as f64
}

fn median(met: &GroupCounts) -> f64 {
    met.fct_ns.map_or(f64::INFINITY, |fct| fct.p50)
}

fn slowest(met: &GroupCounts) -> f64 {
    met.fct_ns.map_or(0.0, |fct| fct.max)
}

/// Checks that all flows end without a timeout, and that the link retransmitted a frame of every affected
/// flow.
fn finished(judgement: &mut Judgement, protocol: LinkProtocol, outcome: &Outcome) {
    let summary = &outcome.summary;
    judgement.must(format!("timeouts, {}", protocol.name), count(summary.timeouts.total()).is(0));
    let what = format!("flows that do not finish, {}", protocol.name);
    judgement.must(what, count(summary.flows - summary.finished).is(0));
    let unmended: u64 =
        GROUPS.iter().map(|group| outcome.group_counts(*group)).map(|met| met.flows - met.mended).sum();
    let what = format!("affected flows without a frame that the link brought, {}", protocol.name);
    judgement.must(what, number(unmended as f64).at_most(summary.protection.lost as f64));
}

fn windows(judgement: &mut Judgement, protocol: LinkProtocol, outcome: &Outcome) {
    for group in [Group::A, Group::B] {
        let met = outcome.group_counts(group);
        judgement.must(format!("window reduced in {group:?}, {}", protocol.name), count(met.reduced).is(0));
        judgement.must(
            format!("packets sent again in {group:?}, {}", protocol.name),
            count(met.resent_packets).is(0),
        );
    }
    for group in [Group::C, Group::D] {
        let met = outcome.group_counts(group);
        let what = format!("window reduced in {group:?}, {}", protocol.name);
        judgement.must(what, fraction(part_of(met.reduced, met.flows)).at_least(REDUCED));
    }
}

fn sizes(judgement: &mut Judgement, protocol: LinkProtocol, outcome: &Outcome) {
    let affected = affected(outcome);
    for (group, positions) in POSITIONS {
        let all: f64 = POSITIONS.iter().map(|(_, positions)| positions).sum();
        let what = format!("share of {group:?}, {}", protocol.name);
        judgement.must(what, share(outcome.group_counts(group).flows, affected).expected(positions / all));
    }
    let [c, d] = [Group::C, Group::D].map(|group| part_of(outcome.group_counts(group).flows, affected));
    judgement.must(format!("D is smaller than C, {}", protocol.name), fraction(d).below(c));
    let pending = f64::from(outcome.group_counts(Group::D).unsent_bytes_max);
    let what = format!("pending in D, {}", protocol.name);
    judgement.must(what, bytes(pending).between(1.0, f64::from(PENDING_MSS * MSS)));
}

fn times(
    judgement: &mut Judgement,
    protocol: LinkProtocol,
    outcome: &Outcome,
    ordered: &GroupCounts,
    clean: f64,
) {
    for group in [Group::A, Group::B, Group::C] {
        let what = format!("slowest of {group:?} against the ordered mode, {}", protocol.name);
        judgement.must(
            what,
            time_ns(slowest(&outcome.group_counts(group))).at_most(slowest(ordered) * (1.0 + SLACK)),
        );
    }
    if protocol.name != TWO_COPIES.name {
        judgement.must(
            format!("D is longer by, {}", protocol.name),
            time_ns(median(&outcome.group_counts(Group::D)) - clean)
                .between(ROUND_TRIP_NS / 2.0, ROUND_TRIP_NS * 2.0),
        );
    }
}

fn longer_flows(judgement: &mut Judgement, protocol: LinkProtocol, short: &Outcome, long: &Outcome) {
    let name = format!("2 MB, {}", protocol.name);
    let segments = f64::from(LONG_BYTES.div_ceil(MSS));
    let hit = long.summary.flows - long.group_counts(Group::Clean).flows;
    let chance = 1.0 - (1.0 - ACTUAL).powf(segments);
    judgement.must(format!("flows that are hit, {name}"), share(hit, long.summary.flows).expected(chance));
    let in_d = |outcome: &Outcome| part_of(outcome.group_counts(Group::D).flows, affected(outcome));
    judgement.must(format!("share of D, {name}"), fraction(in_d(long)).at_least(in_d(short)));
    let [least, most] = LONG_PENDING_MSS.map(|mss| f64::from(mss * MSS));
    let what = format!("pending in D, {name}");
    judgement.must(what, bytes(f64::from(long.group_counts(Group::D).unsent_bytes_max)).between(least, most));
    let lost = |outcome: &Outcome| {
        slowest(&outcome.group_counts(Group::D)) - median(&outcome.group_counts(Group::Clean))
    };
    judgement.must(format!("slowest of D is longer by, {name}"), time_ns(lost(long)).at_least(lost(short)));
}

const COLUMNS: &str =
    "| flows | share of affected | window reduced | sent again | pending at most | median | 99 % | slowest";

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
        Group::Clean => "nothing lost".to_owned(),
        Group::Hidden => "lost and hidden".to_owned(),
        other => format!("{other:?}"),
    }
}

fn row(name: &str, outcome: &Outcome, group: Group) -> Vec<String> {
    let met = outcome.group_counts(group);
    let time = |of: fn(&wiremend_measure::Quantiles) -> f64| {
        met.fct_ns.as_ref().map_or("–".to_owned(), |fct| human::time_ns(of(fct)))
    };
    let is_affected = GROUPS.contains(&group);
    vec![
        name.to_owned(),
        human::count(met.flows),
        if is_affected {
            format!("{} %", human::percent(part_of(met.flows, affected(outcome))))
        } else {
            "–".to_owned()
        },
        human::count(met.reduced),
        human::count(met.resent_packets),
        if is_affected { human::bytes(f64::from(met.unsent_bytes_max)) } else { "–".to_owned() },
        time(|fct| fct.p50),
        time(|fct| fct.p99),
        time(|fct| fct.max),
    ]
}

fn figure(results: &Results<'_>) -> Bars {
    let bar = |size: u32, name: &str, protocol: LinkProtocol| {
        let outcome = results.outcome(&run(results.effort(), size, protocol));
        Bar {
            name: format!("{name}, {}", protocol.name),
            counts: GROUPS.map(|group| outcome.group_counts(group).flows).to_vec(),
        }
    };
    Bars {
        title: "Flows over DCTCP that heard of a gap, by groups".to_owned(),
        description: "For flows of two sizes and three ways of sending frames again out of order, how many affected flows are in each of four groups.".to_owned(),
        parts: vec![
            "A: at most 2 MSS beyond the gap".to_owned(),
            "B: the same, at the tail".to_owned(),
            "C: more, nothing pending".to_owned(),
            "D: more, something pending".to_owned(),
        ],
        bars: [(FLOW_BYTES, "24 387 B"), (LONG_BYTES, "2 MB")]
            .into_iter()
            .flat_map(|(size, name)| PROTOCOLS.map(|protocol| bar(size, name, protocol)))
            .collect(),
    }
}
