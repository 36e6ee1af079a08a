//! W6: protected links between lossless switches.

use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "W6",
    title: "protected links in a lossless fabric",
    source: source(
        "not in the paper: switches of the testbed drop, and only the link's ends pause each other",
    ),
    paper: "Lossless RDMA fabrics pause neighbours (PFC) before they drop. A PFC frame belongs to the MAC: it has no \
           link header, so that link-local retransmission does not protect it",
    method: "31 hosts send 1 MB each to one over lossless switches, whose links corrupt 1e-4, 1e-3 and 1e-2 of all \
             frames in both directions (quick: the last two), 10 seeds (quick: 4), unprotected and with the hardened \
             LinkGuardian, each PFC frame sent once, twice and three times; and protected at 1e-3 with each sent \
             once and pauses of 3000 quanta instead of 65 535. Headroom is as computed, including the buffers of \
             both ends of a protected link",
    note: "The bounds were set after a first look at such runs. A switch repeats a pause only \
             after half of the pause time, 168 µs at 100 Gb/s. Until then a neighbour \
           that missed the PFC frame fills the headroom, and further frames are dropped. A PFC frame carries a \
           state, so that a copy does no harm, and takes 84 B of the link. In a lossless fabric links must protect \
           PFC frames too, or pauses must be short: the bytes that arrive until a pause of 3000 quanta is repeated \
           fit into the headroom that protection needs",
    judge,
    ..Claim::FORM
};

const CLEAN: &str = "clean";
const CORRUPTING: &str = "corrupting";
const PROTECTED: &str = "protected";
const COPIES: [u8; 3] = [1, 2, 3];
/// Loss rate from which on one in a few incasts loses a PFC frame.
const HIGH_LOSS: f64 = 1e-3;
/// Pause time for which PFC frames are repeated every 7.7 µs at 100 Gb/s.
const SHORT_QUANTA: u16 = 3_000;

fn losses(effort: Effort) -> &'static [f64] {
    effort.choose(&[1e-3, 1e-2], &[1e-4, 1e-3, 1e-2])
}

fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    1..=effort.choose(4, 10)
}

/// Copies of each PFC frame that make it unlikely to lose all copies of one of some thousand.
fn copies_needed(loss: f64) -> u8 {
    if loss > HIGH_LOSS { 3 } else { 2 }
}

fn run(links: &'static str, loss: f64, copies: u8, seed: u64) -> Run {
    let run = Run::new("pauses").variant(links).seed(seed).seconds(0.15);
    if links == CLEAN { run } else { run.set("impair.0.rate", loss).set("switch.lossless.copies", copies) }
}

fn short_pauses(seed: u64) -> Run {
    run(PROTECTED, HIGH_LOSS, 1, seed).set("switch.lossless.quanta", SHORT_QUANTA)
}

/// Sum over all seeds.
#[derive(Default)]
struct Sum {
    dropped: u64,
    pfc_frames: u64,
    pfc_lost: u64,
    not_recovered: u64,
    resent: u64,
    timeouts: u64,
    slowest_ns: f64,
}

impl Sum {
    fn over_seeds(results: &Results<'_>, run: impl Fn(u64) -> Run) -> Self {
        let outcomes = seeds(results.effort()).map(|seed| results.outcome(&run(seed)));
        outcomes.fold(Self::default(), Self::with)
    }

    fn with(self, outcome: &Outcome) -> Self {
        let summary = &outcome.summary;
        let pfc = &summary.flow_control;
        Self {
            dropped: self.dropped + pfc.lossless_dropped,
            pfc_frames: self.pfc_frames + pfc.frames,
            pfc_lost: self.pfc_lost + pfc.corrupted,
            not_recovered: self.not_recovered + summary.protection.lost,
            resent: self.resent + summary.retransmitted_packets,
            timeouts: self.timeouts + summary.timeouts.total(),
            slowest_ns: self.slowest_ns.max(exact_ns(outcome, 1.0)),
        }
    }

    fn row(&self, name: String) -> Vec<String> {
        let counts = [self.pfc_frames, self.pfc_lost, self.dropped, self.resent, self.timeouts];
        let counts = counts.into_iter().map(human::count);
        std::iter::once(name).chain(counts).chain([human::time_ns(self.slowest_ns)]).collect()
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let sum_over = |links, loss, copies| Sum::over_seeds(results, |seed| run(links, loss, copies, seed));
    let clean = sum_over(CLEAN, 0.0, 1);
    judgement.none("frames dropped over clean links", clean.dropped);
    let mut rows = vec![clean.row(CLEAN.to_owned())];
    for &loss in losses(results.effort()) {
        for (links, copies) in
            [CORRUPTING, PROTECTED].into_iter().flat_map(|links| COPIES.map(|copies| (links, copies)))
        {
            let sum = sum_over(links, loss, copies);
            let name = format!("{links}, {loss:e}, each PFC frame sent {}", times(copies));
            if links == PROTECTED {
                judgement.none(format!("frames that the link did not recover, {name}"), sum.not_recovered);
                let slowdown = sum.slowest_ns / clean.slowest_ns;
                if copies >= copies_needed(loss) {
                    check_as_clean(judgement, &sum, &name, slowdown);
                } else if copies == 1 && loss >= HIGH_LOSS {
                    judgement.some(format!("frames dropped, {name}"), sum.dropped);
                    judgement.must(slowest(&name), number(slowdown).at_least(10.0));
                }
            } else if copies >= copies_needed(loss) {
                judgement.none(format!("frames dropped, {name}"), sum.dropped);
            }
            rows.push(sum.row(name));
        }
    }
    let sum = Sum::over_seeds(results, short_pauses);
    let name = format!("{PROTECTED}, {HIGH_LOSS:e}, each PFC frame sent once, short pauses");
    check_as_clean(judgement, &sum, &name, sum.slowest_ns / clean.slowest_ns);
    rows.push(sum.row(name));
    judgement.table(
        "| PFC frames | of them corrupted | frames dropped | packets retransmitted | timeouts | slowest flow",
        rows,
    );
}

fn check_as_clean(judgement: &mut Judgement, sum: &Sum, name: &str, slowdown: f64) {
    judgement.none(format!("frames dropped, {name}"), sum.dropped);
    judgement.none(format!("timeouts, {name}"), sum.timeouts);
    judgement.must(slowest(name), number(slowdown).at_most(1.4));
}

fn slowest(name: &str) -> String {
    format!("slowest flow divided by that over clean links, {name}")
}

fn times(copies: u8) -> &'static str {
    match copies {
        1 => "once",
        2 => "twice",
        _ => "three times",
    }
}
