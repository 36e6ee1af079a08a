//! L12: why reordered frames do little harm to TCP.

use super::multi_packet::FLOW_BYTES;
use super::trial::{ACTUAL_LOSS, ALL, HARDENED_NB, NO_LOSS, RETX_TAIL};
use crate::ledger::Group;
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
/// Positions of a lost segment that lead to each group, of the 15 positions with other segments directly
/// behind.
const GROUPS: [(Group, f64); 4] = [(Group::A, 2.0), (Group::B, 2.0), (Group::C, 8.0), (Group::D, 3.0)];
/// Differences up to this fraction count as none.
const TIME_TOLERANCE: f64 = 0.05;

/// Non-blocking link protocols: name, variant, and copies if they are set.
const PROTOCOLS: [(&str, &str, Option<u8>); 3] = [
    ("LinkGuardianNB", RETX_TAIL, None),
    ("LinkGuardianNB, one copy", RETX_TAIL, Some(1)),
    ("hardened NB", HARDENED_NB, None),
];

/// Flows of one size over one protocol.
#[derive(Clone, Copy)]
struct Flows<'a> {
    name: &'static str,
    outcome: &'a Outcome,
}

impl<'a> Flows<'a> {
    fn new(
        results: &'a Results<'_>,
        flow_bytes: u32,
        (name, variant, copies): (&'static str, &'static str, Option<u8>),
    ) -> Self {
        let effort = results.effort();
        let flows =
            if flow_bytes == LONG_BYTES { effort.choose(120, 4_000) } else { effort.choose(8_000, 200_000) };
        let run = Run::new("claims/reordered")
            .variant(variant)
            .set("workload.0.message", format!("{flow_bytes}B"))
            .set("workload.0.count", flows)
            .seconds(f64::from(flows) * f64::from(flow_bytes.div_ceil(MSS)) * 4e-6);
        let run = copies.into_iter().fold(run, |run, copies| run.set("protect.0.copies", copies));
        Self { name, outcome: results.outcome(&run) }
    }

    /// Number of flows in a group.
    fn count(&self, group: Group) -> u64 {
        self.outcome.group_counts(group).flows
    }

    fn affected(&self) -> u64 {
        GROUPS.iter().map(|(group, _)| self.count(*group)).sum()
    }

    /// Share of the affected flows that are in a group.
    fn part(&self, group: Group) -> Number {
        fraction(self.count(group) as f64 / self.affected().max(1) as f64)
    }

    fn median(&self, group: Group) -> Number {
        time_ns(self.outcome.group_counts(group).fct_ns.map_or(f64::INFINITY, |fct| fct.p50))
    }

    fn slowest(&self, group: Group) -> Number {
        time_ns(self.outcome.group_counts(group).fct_ns.map_or(0.0, |fct| fct.max))
    }

    /// Largest unsent part of a flow of D.
    fn pending(&self) -> Number {
        bytes(f64::from(self.outcome.group_counts(Group::D).unsent_bytes_max))
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let of = |size| PROTOCOLS.map(|protocol| Flows::new(results, size, protocol));
    let [short, long] = [FLOW_BYTES, LONG_BYTES].map(of);
    let of = |size, variant| Flows::new(results, size, (variant, variant, None));
    let ordered = of(FLOW_BYTES, ALL);
    let clean = exact_ns(of(FLOW_BYTES, NO_LOSS).outcome, 0.5);
    for (short, long) in short.iter().zip(&long) {
        finished(judgement, short);
        groups(judgement, short);
        times(judgement, short, ordered.slowest(Group::Hidden).value, clean);
        longer_flows(judgement, short, long);
    }
    let [two_copies, one_copy, _] = short.map(|flows| flows.median(Group::D) / flows.median(Group::C));
    let what = format!("median of D divided by that of C, {}", PROTOCOLS[0].0);
    let longer = judgement.printed(what, two_copies.at_least(1.0 + TIME_TOLERANCE));
    judgement.explain(
        "DSACKs of the second copy, which the link delivers too, make senders undo the reduction: without a second \
         copy D takes longer",
        0,
        &[(longer, one_copy)],
    );
    for (size, protocols) in [(FLOW_BYTES, short), (LONG_BYTES, long)] {
        for flows in protocols {
            for group in [Group::Clean, Group::Hidden].into_iter().chain(GROUPS.map(|(group, _)| group)) {
                row(judgement, &flows, &format!("{size} B, {}", flows.name), group);
            }
        }
        row(judgement, &of(size, ALL), &format!("{size} B, {ALL}"), Group::Hidden);
    }
    judgement.columns(
        "| flows | share of affected | window reduced | retransmitted | pending at most | median | 99 % | slowest",
    );
}

/// Checks that all flows end without a timeout, and that the link retransmitted a frame of every affected
/// flow.
fn finished(judgement: &mut Judgement, flows: &Flows<'_>) {
    let (name, outcome) = (flows.name, flows.outcome);
    judgement.none(format!("timeouts, {name}"), outcome.summary.timeouts.total());
    judgement.none(format!("flows that do not finish, {name}"), outcome.unfinished());
    let counts = GROUPS.map(|(group, _)| outcome.group_counts(group));
    let missing: u64 = counts.iter().map(|counts| counts.flows - counts.link_retransmitted).sum();
    let what = format!("affected flows without a frame that the link retransmitted, {name}");
    judgement.must(what, number(missing as f64).at_most(outcome.summary.protection.lost as f64));
}

/// Checks the windows and the sizes of the groups.
fn groups(judgement: &mut Judgement, flows: &Flows<'_>) {
    let name = flows.name;
    let positions_sum: f64 = GROUPS.iter().map(|(_, positions)| positions).sum();
    for (group, positions) in GROUPS {
        let counts = flows.outcome.group_counts(group);
        let what = format!("window reduced in {group:?}, {name}");
        if matches!(group, Group::A | Group::B) {
            judgement.none(what, counts.reduced);
            let what = format!("packets retransmitted in {group:?}, {name}");
            judgement.none(what, counts.retransmitted_packets);
        } else {
            let reduced = counts.reduced as f64 / counts.flows.max(1) as f64;
            judgement.must(what, fraction(reduced).at_least(0.95));
        }
        let part = share(counts.flows, flows.affected());
        judgement.must(format!("share of {group:?}, {name}"), part.expected(positions / positions_sum));
    }
    let smaller = flows.part(Group::D).below(flows.part(Group::C).value);
    judgement.must(format!("D is smaller than C, {name}"), smaller);
    let few = flows.pending().between(1.0, f64::from(7 * MSS));
    judgement.must(format!("bytes pending in D, {name}"), few);
}

fn times(judgement: &mut Judgement, flows: &Flows<'_>, ordered_ns: f64, clean_ns: f64) {
    let name = flows.name;
    for group in [Group::A, Group::B, Group::C] {
        let what = format!("slowest flow of {group:?} compared with the ordered mode, {name}");
        judgement.must(what, flows.slowest(group).at_most(ordered_ns * (1.0 + 0.01)));
    }
    if name != PROTOCOLS[0].0 {
        let excess = flows.median(Group::D) - time_ns(clean_ns);
        let what = format!("median of D, excess over flows without loss, {name}");
        judgement.must(what, excess.between(ROUND_TRIP_NS / 2.0, ROUND_TRIP_NS * 2.0));
    }
}

fn longer_flows(judgement: &mut Judgement, short: &Flows<'_>, long: &Flows<'_>) {
    let name = format!("2 MB, {}", short.name);
    let flows = long.outcome.summary.flows;
    let chance = 1.0 - (1.0 - ACTUAL_LOSS).powf(f64::from(LONG_BYTES.div_ceil(MSS)));
    let with_loss = share(flows - long.count(Group::Clean), flows);
    judgement.must(format!("flows that lost a frame, {name}"), with_loss.expected(chance));
    let more = long.part(Group::D).at_least(short.part(Group::D).value);
    judgement.must(format!("share of D, {name}"), more);
    let [least, most] = [1_200, 1_381].map(|segments| f64::from(segments * MSS));
    judgement.must(format!("bytes pending in D, {name}"), long.pending().between(least, most));
    let excess = |flows: &Flows<'_>| flows.slowest(Group::D) - flows.median(Group::Clean);
    let what = format!("slowest flow of D, excess over the median without loss, {name}");
    judgement.must(what, excess(long).at_least(excess(short).value));
}

fn row(judgement: &mut Judgement, flows: &Flows<'_>, name: &str, group: Group) {
    let counts = flows.outcome.group_counts(group);
    let affected = GROUPS.iter().any(|(affected, _)| *affected == group);
    let if_affected = |text: String| if affected { text } else { "–".to_owned() };
    let part = if_affected(flows.part(group).to_string());
    let pending = if_affected(human::bytes(f64::from(counts.unsent_bytes_max)));
    let group = match group {
        Group::Clean => "no frame lost".to_owned(),
        Group::Hidden => "frame lost, no gap seen".to_owned(),
        other => format!("{other:?}"),
    };
    let [flows, reduced, resent] = [counts.flows, counts.reduced, counts.retransmitted_packets].map(count);
    let times = counts.fct_ns.map(|fct| [fct.p50, fct.p99, fct.max]);
    let [median, p99, slowest] =
        [0, 1, 2].map(|place| times.map_or_else(|| "–".to_owned(), |times| human::time_ns(times[place])));
    judgement.row(
        format!("{name}, {group}"),
        [&flows, &part, &reduced, &resent, &pending, &median, &p99, &slowest],
    );
}
