//! W6: protected links between lossless switches.

use wiremend_report::human;

use crate::ledger::number::{count, number};
use crate::ledger::{Claim, Effort, Finding, Judgement, Outcome, Results, Run};
use crate::papers::completion::exact_ns;
use crate::papers::joshi::source;

pub(super) const CLAIM: Claim = Claim {
    id: "W6",
    title: "protected links in a lossless fabric",
    source: source(
        "not asked there: switches of the testbed drop, and only the link's ends pause each other",
    ),
    paper: "Lossless RDMA fabrics pause neighbours (PFC) before they drop. A PFC frame belongs to the MAC: it has no \
           link header, so that link-local retransmission does not protect it",
    method: "31 hosts send 1 MB each to one over lossless switches, whose links corrupt 1e-4, 1e-3 and 1e-2 of all \
            frames in both directions (quick: the last two), 10 seeds (quick: 4), unprotected and with the hardened \
            LinkGuardian, each PFC frame sent once, twice and three times; and protected at 1e-3 with each sent once \
            and pauses of 3000 quanta instead of 65 535. Headroom is as computed, including the buffers of both ends \
            of a protected link. Reproduced if on clean links nothing is dropped; if protected links leave no loss, \
            and still at 1e-3 and 1e-2 frames are dropped and the slowest flow takes at least 10 times as long as \
            over clean links; and if with enough copies for the loss rate (two at 1e-4 and 1e-3, three at 1e-2), or \
            short pauses, nothing is dropped, no timer expires over protected links, and the slowest flow takes at \
            most 1.4 times as long as over clean links. The bounds were set after a first look at such runs",
    runs,
    judge,
};

const CLEAN: &str = "clean";
const CORRUPTING: &str = "corrupting";
const PROTECTED: &str = "protected";
const COPIES: [u8; 3] = [1, 2, 3];
/// Loss rate from which on one in a few incasts loses a PFC frame.
const MUCH: f64 = 1e-3;
/// Pause time for which PFC frames are repeated every 7.7 µs at 100 Gb/s.
const SHORT_QUANTA: u16 = 3_000;
const LONGER: f64 = 10.0;
const AS_LONG: f64 = 1.4;

fn losses(effort: Effort) -> &'static [f64] {
    effort.choose(&[1e-3, 1e-2], &[1e-4, 1e-3, 1e-2])
}

fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    1..=effort.choose(4, 10)
}

/// Copies of each PFC frame that make it unlikely to lose all copies of one of some thousand.
fn copies_needed(loss: f64) -> u8 {
    if loss > MUCH { 3 } else { 2 }
}

fn run(links: &'static str, loss: f64, copies: u8, seed: u64) -> Run {
    let run = Run::new("pauses").variant(links).seed(seed).seconds(0.15);
    if links == CLEAN { run } else { run.set("impair.0.rate", loss).set("switch.lossless.copies", copies) }
}

fn short(seed: u64) -> Run {
    run(PROTECTED, MUCH, 1, seed).set("switch.lossless.quanta", SHORT_QUANTA)
}

fn runs(effort: Effort) -> Vec<Run> {
    let clean = seeds(effort).map(|seed| run(CLEAN, 0.0, 1, seed));
    let at = |loss: f64| {
        let of = move |links| {
            COPIES
                .into_iter()
                .flat_map(move |copies| seeds(effort).map(move |seed| run(links, loss, copies, seed)))
        };
        [CORRUPTING, PROTECTED].into_iter().flat_map(of)
    };
    let all = clean.chain(losses(effort).iter().flat_map(|loss| at(*loss)));
    all.chain(seeds(effort).map(short)).collect()
}

/// Sum over all seeds.
#[derive(Default)]
struct Sum {
    dropped: u64,
    pfc_frames: u64,
    pfc_lost: u64,
    unmended: u64,
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
            unmended: self.unmended + summary.protection.lost,
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

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let of = |links, loss, copies| Sum::over_seeds(results, |seed| run(links, loss, copies, seed));
    let clean = of(CLEAN, 0.0, 1);
    judgement.must("dropped over clean links", count(clean.dropped).is(0));
    let mut rows = vec![clean.row(CLEAN.to_owned())];
    for &loss in losses(results.effort()) {
        for (links, copies) in
            [CORRUPTING, PROTECTED].into_iter().flat_map(|links| COPIES.map(|copies| (links, copies)))
        {
            let sum = of(links, loss, copies);
            let name = format!("{links}, {loss:e}, said {}", times(copies));
            if links == PROTECTED {
                judgement.must(format!("lost for good by the link, {name}"), count(sum.unmended).is(0));
                let longer = sum.slowest_ns / clean.slowest_ns;
                if copies >= copies_needed(loss) {
                    check_as_clean(&mut judgement, &sum, &name, longer);
                } else if copies == 1 && loss >= MUCH {
                    judgement.must(format!("dropped, {name}"), number(sum.dropped as f64).at_least(1.0));
                    judgement.must(slowest(&name), number(longer).at_least(LONGER));
                }
            } else if copies >= copies_needed(loss) {
                judgement.must(format!("dropped, {name}"), count(sum.dropped).is(0));
            }
            rows.push(sum.row(name));
        }
    }
    let sum = Sum::over_seeds(results, short);
    let name = format!("{PROTECTED}, {MUCH:e}, said once, short pauses");
    check_as_clean(&mut judgement, &sum, &name, sum.slowest_ns / clean.slowest_ns);
    rows.push(sum.row(name));
    judgement.table(
        "| PFC frames | of them corrupted | frames dropped | packets sent again | timeouts | slowest flow",
        rows,
    );
    let [once, twice] = [1, 2].map(|copies| of(PROTECTED, MUCH, copies));
    judgement.finding(
        format!(
            "Over protected links at {MUCH:e}, {} of {} PFC frames are corrupted, {} frames are dropped for it, and the slowest flow takes {}; with each PFC frame sent twice {} are dropped, and it takes {} ({} over clean links)",
            once.pfc_lost, once.pfc_frames, once.dropped, human::time_ns(once.slowest_ns), twice.dropped, human::time_ns(twice.slowest_ns), human::time_ns(clean.slowest_ns),
        ),
        "A pause is said again only after half of its time, 168 µs at 100 Gb/s, and until then a neighbour that has missed it fills the headroom and then loses what it sends. What PFC frames say is a state, so that a copy does no harm, and takes 84 B of the link. \
         Where a fabric is lossless, links must mend their pauses too, or pauses must be short: what comes until one of 3000 quanta is said again fits into the headroom that protection takes",
    )
}

fn check_as_clean(judgement: &mut Judgement, sum: &Sum, name: &str, longer: f64) {
    judgement.must(format!("dropped, {name}"), count(sum.dropped).is(0));
    judgement.must(format!("timeouts, {name}"), count(sum.timeouts).is(0));
    judgement.must(slowest(name), number(longer).at_most(AS_LONG));
}

fn slowest(name: &str) -> String {
    format!("slowest flow over that of clean links, {name}")
}

fn times(copies: u8) -> &'static str {
    match copies {
        1 => "once",
        2 => "twice",
        _ => "thrice",
    }
}
