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
const PROTECTED: &str = "protected";
/// Loss rate from which on one in a few incasts loses a PFC frame.
const HIGH_LOSS: f64 = 1e-3;
/// Pause time for which PFC frames are repeated every 7.7 µs at 100 Gb/s.
const SHORT_QUANTA: u16 = 3_000;

/// Links of a kind with a loss rate, each PFC frame sent a number of times.
#[derive(Clone, Copy)]
struct Case {
    links: &'static str,
    loss: f64,
    copies: u8,
    quanta: Option<u16>,
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

impl Case {
    fn name(&self) -> String {
        let times = ["", "once", "twice", "three times"][usize::from(self.copies)];
        let short = if self.quanta.is_some() { ", short pauses" } else { "" };
        format!("{}, {:e}, each PFC frame sent {times}{short}", self.links, self.loss)
    }

    /// Whether it is unlikely to lose all copies of one of some thousand PFC frames.
    fn has_enough_copies(&self) -> bool {
        self.copies >= if self.loss > HIGH_LOSS { 3 } else { 2 }
    }

    fn sum(&self, results: &Results<'_>) -> Sum {
        let run = Run::new("pauses").variant(self.links).seconds(0.15);
        let run = if self.links == CLEAN {
            run
        } else {
            run.set("impair.0.rate", self.loss).set("switch.lossless.copies", self.copies)
        };
        let run = self.quanta.iter().fold(run, |run, quanta| run.set("switch.lossless.quanta", quanta));
        let seeds = 1..=results.effort().choose(4, 10);
        let outcomes = seeds.map(|seed| results.outcome(&run.clone().seed(seed)));
        outcomes.fold(Sum::default(), |sum, outcome| {
            let summary = &outcome.summary;
            let pfc = &summary.flow_control;
            Sum {
                dropped: sum.dropped + pfc.lossless_dropped,
                pfc_frames: sum.pfc_frames + pfc.frames,
                pfc_lost: sum.pfc_lost + pfc.corrupted,
                not_recovered: sum.not_recovered + summary.protection.lost,
                resent: sum.resent + summary.retransmitted_packets,
                timeouts: sum.timeouts + summary.timeouts.total(),
                slowest_ns: sum.slowest_ns.max(exact_ns(outcome, 1.0)),
            }
        })
    }
}

impl Sum {
    fn row(&self, judgement: &mut Judgement, name: &str) {
        let [frames, lost, dropped, resent, timeouts] =
            [self.pfc_frames, self.pfc_lost, self.dropped, self.resent, self.timeouts].map(count);
        judgement.row(name, [&frames, &lost, &dropped, &resent, &timeouts, &time_ns(self.slowest_ns)]);
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let clean = Case { links: CLEAN, loss: 0.0, copies: 1, quanta: None }.sum(results);
    judgement.none("frames dropped over clean links", clean.dropped);
    clean.row(judgement, CLEAN);
    let losses = results.effort().choose(&[1e-3, 1e-2][..], &[1e-4, 1e-3, 1e-2]);
    let at = |loss| {
        let links = ["corrupting", PROTECTED].into_iter();
        links.flat_map(move |links| [1, 2, 3].map(|copies| Case { links, loss, copies, quanta: None }))
    };
    let once = Case { links: PROTECTED, loss: HIGH_LOSS, copies: 1, quanta: Some(SHORT_QUANTA) };
    for case in losses.iter().flat_map(|loss| at(*loss)).chain([once]) {
        let (name, sum) = (case.name(), case.sum(results));
        let slowest = number(sum.slowest_ns / clean.slowest_ns);
        let longer = format!("slowest flow divided by that over clean links, {name}");
        let is_protected = case.links == PROTECTED;
        if is_protected && case.quanta.is_none() {
            judgement.none(format!("frames that the link did not recover, {name}"), sum.not_recovered);
        }
        if case.has_enough_copies() || case.quanta.is_some() {
            judgement.none(format!("frames dropped, {name}"), sum.dropped);
            if is_protected {
                judgement.none(format!("timeouts, {name}"), sum.timeouts);
                judgement.must(longer, slowest.at_most(1.4));
            }
        } else if is_protected && case.copies == 1 && case.loss >= HIGH_LOSS {
            judgement.some(format!("frames dropped, {name}"), sum.dropped);
            judgement.must(longer, slowest.at_least(10.0));
        }
        sum.row(judgement, &name);
    }
    judgement.columns(
        "| PFC frames | of them corrupted | frames dropped | packets retransmitted | timeouts | slowest flow",
    );
}
