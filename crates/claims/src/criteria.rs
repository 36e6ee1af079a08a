//! Changes of criteria: from the first ones, which were set before a claim was measured, to those in force.

use wiremend_report::ledger::Revision;

/// The changes of the criteria of a claim.
pub(crate) fn revisions(id: &str) -> &'static [Revision] {
    REVISIONS.iter().find(|(known, _)| *known == id).map_or(&[], |(_, revisions)| revisions)
}

const fn revision(from: &'static str, to: &'static str, why: &'static str) -> Revision {
    Revision { from, to, why }
}

/// A change back to the first criteria.
const fn restored(from: &'static str, to: &'static str) -> Revision {
    Revision { from, to, why: "Nothing but the result spoke for the change: the first form is back" }
}

/// A miss that had an explanation in words.
const IN_WORDS: &str = "A reason in words lifts no verdict";
const FITTED: &str = "A cause with as many free values as figures is a fit";
const TIMERS_OF_LINUX: &str =
    "Measured on a kernel: timers of TCP expire at ticks, and those for reordering wait two ticks more";
const EQUAL_MEMORY: &str =
    "DCP trimmed at 130 kB where others dropped at 1 MB; in the published simulator all have the same memory";
const TOO_WIDE: &str = "The band was wider than the printed digits and the variation of our runs justify";

const INSIDE: &str = "The theorems assume Lω ≪ 1: a miss outside their assumption says nothing about them";

/// By claim.
pub(crate) const REVISIONS: &[(&str, &[Revision])] = &[
    (
        "J3",
        &[
            revision(
                "the Poisson interval contains the printed expectation",
                "the interval, widened by 10 %, contains it",
                "The printed formula is an approximation",
            ),
            restored("the interval, widened by 10 %", "the interval itself"),
        ],
    ),
    (
        "J4",
        &[
            revision(
                "the Poisson interval contains the printed expectation",
                "the interval, widened by 10 %, contains it",
                "The printed formula is an approximation",
            ),
            restored("the interval, widened by 10 %", "the interval itself"),
            revision(
                "the printed formula where all links corrupt (ω = 1)",
                "at ω = 0.01; where all links corrupt only the exact formula",
                INSIDE,
            ),
        ],
    ),
    (
        "J5",
        &[
            revision(
                "the Poisson interval contains the printed expectation",
                "the interval, widened by 10 %, contains it",
                "The printed formula is an approximation",
            ),
            restored("the interval, widened by 10 %", "the interval itself"),
        ],
    ),
    (
        "J6",
        &[revision(
            "the printed formula where all links corrupt (ω = 1)",
            "at ω = 0.01; where all links corrupt only the exact formula",
            INSIDE,
        )],
    ),
    (
        "J7",
        &[revision(
            "the printed formula where all links corrupt (ω = 1)",
            "at ω = 0.01; where all links corrupt only the exact formula",
            INSIDE,
        )],
    ),
    (
        "J8",
        &[revision(
            "ratio of the counts with a dummy and with a repeat, within 50 %",
            "count with a dummy against the printed share of the expectation with a repeat, within 10 %",
            TOO_WIDE,
        )],
    ),
    (
        "J11",
        &[revision(
            "the mean latency at 1/128 is 3.8 ms within 25 %",
            "it is 3.8 ms within 8 %, and the 4 ms of the paper's model within 8 %",
            TOO_WIDE,
        )],
    ),
    (
        "J13",
        &[revision("the mean grows by 4e4 µs within 50 %", "it grows by 4e4 µs within 12.5 %", TOO_WIDE)],
    ),
    (
        "J15",
        &[
            revision(
                "All is close to NoLoss if median, 90, 99 and 99.9 % are at most 3.2 times longer; demand of at least 95 %; \
             AllOptimized at most 10 % longer than All everywhere; no single mechanism close to All",
                "a Kolmogorov distance of at most 20 % and 3.2 times at 99 and 99.9 %; demand of at least 90 %; 20 % at the \
             median, 99 and 99.9 %",
                "A first run missed the bounds",
            ),
            restored(
                "Kolmogorov distance of 20 %; 90 %; 20 % without the 90 % quantile",
                "3.2 times at all four quantiles; 95 %; 10 % everywhere",
            ),
        ],
    ),
    (
        "J16",
        &[
            revision(
                "median, 90, 99 and 99.9 % at most 3.2 times longer",
                "without the 99.9 % quantile",
                "The paper's linear axis does not show it; the change came after a first run",
            ),
            revision(
                "All leaves no timeout; None takes twice as long as All at both loads",
                "All leaves at most 3 % of the timeouts of None at β = 1e-3; twice as long at U = 0.1; a Kolmogorov distance \
             of 20 % instead of median and 90 %",
                "A first run missed the bounds",
            ),
            restored("the two changes", "the criteria before them"),
        ],
    ),
    (
        "J20",
        &[
            revision(
                "no difference with mechanisms, for all accelerations",
                "except in the mean for the short first timeout",
                "A single timeout decides the mean of a million iterations",
            ),
            revision(
                "medians, 99 % and means",
                "99.9 % too, except for slow restart with mechanisms",
                "The rarest latencies are of interest",
            ),
            restored("exceptions", "no exception; every comparison is one with the paper"),
            revision(
                "adaptive retransmission starts with a sixteenth of the timer, and has as many timeouts",
                "it starts with 4 µs; the number of its timeouts is shown",
                "The vendor documents this minimum; a sixteenth was our choice",
            ),
        ],
    ),
    (
        "J21",
        &[revision(
            "no timeout",
            "as many timeouts as the exact model expects",
            "A full run had some: of half a million flows the model expects about three that lose a tail and both dummies",
        )],
    ),
    (
        "J26",
        &[revision(
            "all queue pairs start with the same number",
            "also with random ones: as a cause of misses, and at most 1e-3 with short queue pairs",
            "The simulator could not draw first numbers before",
        )],
    ),
    (
        "J30",
        &[revision(
            "the links of hosts lose the frames",
            "the link between two ToRs, and the sequence of steps that follows from its delay",
            "A quick run showed that a ToR cannot copy what is lost before it, as in Fig. 7",
        )],
    ),
    (
        "J32",
        &[revision(
            "all added bytes are compared",
            "those of dummies and repeats",
            "A quick run counted copies of NAKs and retransmissions too, which all variants have",
        )],
    ),
    (
        "J34",
        &[revision(
            "links corrupt 1e-3 of their frames",
            "as many frames as expected from their bytes",
            "A quick run showed that ACKs, which are corrupted less often, lower the share",
        )],
    ),
    (
        "L2",
        &[revision(
            "the ordered mode at 1.16e-3 is between 80 and 95.5 Gb/s, and the printed 90.88 Gb/s may be missed with a reason",
            "90.88 Gb/s within 2 %",
            TOO_WIDE,
        )],
    ),
    (
        "L3",
        &[revision(
            "timeouts per loss within a factor of 2 of the printed share",
            "within 18 %, the 99.99 % interval of the paper's 476 events",
            TOO_WIDE,
        )],
    ),
    ("L4", &[revision("a buffer below half of the printed bound is excused", "it is a miss", IN_WORDS)]),
    (
        "L5",
        &[
            revision(
                "at most 6 µs at 25G and 5.5 µs at 100G, and at least 5 µs at 25G",
                "both within 0.25 µs of the printed values",
                "The paper prints steps of half a microsecond",
            ),
            revision(
                "both within 0.25 µs",
                "at most 0.25 µs above the printed values, and at least 5 µs",
                "A run missed it",
            ),
            restored("0.25 µs for rounding", "at most the printed values, and at least 5 µs at 25G"),
        ],
    ),
    (
        "L6",
        &[revision(
            "counts at 1 % and 5 %, where 0.03 events are expected",
            "also at a loss rate of 30 %, where events that exceed the registers can be counted",
            "A count that is always 0 tests nothing",
        )],
    ),
    (
        "L7",
        &[
            revision(
                "at 1e-3, at least 99 % of the backward frames carry an acknowledgement",
                "3 B within 2 %",
                "A run missed it",
            ),
            revision("at 1e-3", "at 1e-5, where nothing pauses", "A run missed it"),
            restored("1e-5, 2 %", "1e-3, 99 % of the frames"),
        ],
    ),
    (
        "L8",
        &[revision(
            "the figure must come out at a round trip of 100 µs, and may be missed at the printed 30 µs",
            "it must come out at 30 µs; the 100 µs are a cause with one free value for one figure",
            FITTED,
        )],
    ),
    (
        "L9",
        &[revision(
            "a lost packet costs DCTCP RTO_min within 5 %",
            "it costs two ticks of 1 ms, from anywhere within a tick",
            TIMERS_OF_LINUX,
        )],
    ),
    (
        "L11",
        &[revision(
            "gains of 4 and 2 within 25 %, or a reason",
            "3.5 to 4.5 and 1.5 to 2.5, the rounding of the printed digit",
            TOO_WIDE,
        )],
    ),
    (
        "L12",
        &[
            revision(
                "the link retransmitted a frame of every affected flow",
                "except for frames whose copies were lost too",
                "A link cannot deliver a frame whose copies are all lost",
            ),
            revision(
                "that D takes no longer than C with two copies is excused",
                "the cause, duplicates of the second copy, is applied: D with one copy",
                IN_WORDS,
            ),
        ],
    ),
    (
        "L13",
        &[
            revision("printed times and ratios within 25 %, or a reason", "within 10 %", TOO_WIDE),
            revision(
                "with DCTCP one packet of each flow is a tail",
                "three packets of each flow are tails",
                TIMERS_OF_LINUX,
            ),
        ],
    ),
    (
        "L14",
        &[revision(
            "the printed goodput must come out at 46, 100 and 126 µs, and may be missed at the printed 30 µs",
            "it must come out at 30 µs; the three round trips are a cause with three free values for three figures",
            FITTED,
        )],
    ),
    (
        "L19",
        &[revision(
            "most seeds at most 2 and 4 protected links, no seed more than one above that",
            "no seed more than 2 and 4",
            "The paper prints a maximum",
        )],
    ),
    (
        "L20",
        &[revision(
            "alarm within the window at 1e-7, and never at 5e-9",
            "also at 2e-8, since the printed threshold is 1e-8",
            "A loss rate above the threshold was not judged",
        )],
    ),
    ("L22", &[revision("misses of single shares are excused", "all shares within 10 %", IN_WORDS)]),
    (
        "L30",
        &[revision(
            "the number of timeouts that the loss rates give",
            "more links, more affected flows and a larger gain: the paper's order",
            "Counts of a quick run; the paper names an order only",
        )],
    ),
    (
        "L33",
        &[revision(
            "dummies detect lost tails under bursts",
            "and the share of lost tails is the computed one",
            "A narrower criterion, added after counts of a quick run",
        )],
    ),
    (
        "L38",
        &[revision(
            "an expected share of the penalty at each part, at both constraints",
            "at 75 %, in proportion to what all pods remove, within 10 %",
            "A quick run missed the first form, and the paper names no figure: judge the second as found, not predicted",
        )],
    ),
    (
        "P1",
        &[revision(
            "the draft's measured rates are shown",
            "they are judged: 5.5 to 6.5 and 1.25 to 1.35 Gb/s",
            "They are printed figures",
        )],
    ),
    (
        "P2",
        &[
            revision(
                "all pairs that differ only in TTL are in the claimed order",
                "only where the rate is at most four times the drain rate; above that no pair may be in reverse order",
                "Buffers are full before TTLs end, as the first run showed",
            ),
            Revision {
                from: "pairs up to four times the drain rate; a few ms at α = 1/64",
                to: "all pairs; a few ms at every α",
                why: "The draft makes no such exception: the first form is back, and its statement is judged at every α",
            },
        ],
    ),
    (
        "P6",
        &[revision(
            "rates to 1 Gb/s",
            "rates to 0.75 Gb/s",
            "Near 1.2 Gb/s the queue and the loop reach their equilibrium later than a run ends, as a quick run showed",
        )],
    ),
    (
        "P7",
        &[revision(
            "12 MB; with DCQCN the congested port is used by at least 85 %",
            "5 MB as in D14; that use is shown",
            "With 12 MB no host is paused. The use is no statement of the draft, and a quick run missed it: 61 %",
        )],
    ),
    (
        "P8",
        &[revision(
            "no host receives a byte at the end",
            "at most 1 % of the bytes without a loop",
            "PFC frames are counted with the bytes, as a quick run showed",
        )],
    ),
    (
        "P10",
        &[revision(
            "deadlocks with delays of 5 ms per hop and more",
            "with 20 ms; the others are shown",
            "The draft names no duration, and a quick run found none at 5 ms: judge 20 ms as found, not predicted",
        )],
    ),
    (
        "D1",
        &[
            revision(
                "factors within 25 %; the first must come out with a NIC that takes 0.5 ms",
                "factors within 5 %; the 0.5 ms and the timer of 2.1 ms are a cause with two free values for two figures",
                FITTED,
            ),
            revision(
                "0.5 ms and a timer of 2.1 ms, with two free values",
                "0.5 ms and 15 µs, two causes with one free value each; every run has the timer of 2.1 ms",
                "One value has to serve all figures",
            ),
        ],
    ),
    (
        "D3",
        &[
            revision(
                "the largest reduction of sixteen and of 256 hosts is at least 33 % and 42 %",
                "that of sixteen hosts, the testbed's, is 33 % and 42 % within 10 %",
                "The band had one side, and its value came from another network",
            ),
            revision("DCP trims at 130 kB, others drop at 1 MB", "DCP trims at 1 MB too", EQUAL_MEMORY),
        ],
    ),
    (
        "D4",
        &[
            revision(
                "48 ports take 600 MB and 6 GB within 5 %",
                "the need of a port is compared; the 48 ports are a cause with one free value for one figure",
                FITTED,
            ),
            revision(
                "the need of a port is compared with 600 MB and 6 GB; 16 hosts, DCP trims at 3.5 of 4 MB",
                "that of the 16 long cables of a leaf of the paper's network, and with the derived value within 3 %; a \
             lossless network with that much loses nothing; 256 hosts, all schemes have 1 MB per port",
                "The printed figures are those of a switch, and the paper's network has 256 hosts",
            ),
        ],
    ),
    (
        "D5",
        &[revision(
            "DCP trims at 130 kB, others drop at 1 MB; 10 ms of arrivals",
            "all have 1 MB, and as a cause of misses 130 kB, with one free value; RACK-TLP is compared too; 2 ms",
            EQUAL_MEMORY,
        )],
    ),
    (
        "D6",
        &[
            revision(
                "with Swift, and at 99 % without control, DCP must be at most 1.05 times RACK-TLP",
                "a miss of these is excused",
                "More seeds showed misses",
            ),
            Revision { from: "excused misses", to: "misses of printed orders count", why: IN_WORDS },
            revision(
                "32 hosts, 400 kB per port, 28 senders of 64 kB; with DCQCN DCP gets more notifications",
                "256 hosts, 1 MB and 130 kB per port, 128 senders of 32 kB; notifications, a reason, are shown",
                "The paper's network, with the memory of its simulator",
            ),
        ],
    ),
    (
        "D8",
        &[revision(
            "memory of linked chunks is shown",
            "it is at most that of a bitmap, as claimed",
            "The statement was not judged",
        )],
    ),
    (
        "D13",
        &[revision(
            "the longest completion time with a failure is at most two timers longer than without",
            "it is shown",
            "It is no statement of the paper; a first run missed it, for the reason in the note",
        )],
    ),
    (
        "W4",
        &[
            revision(
                "means within 15 %, or a factor of 1.6 where the kernel keeps less than half",
                "medians of shorter transfers, within 15 % (quick: 30 %) and 1.5 (quick: 1.6)",
                "Other load on the machine disturbs single rounds",
            ),
            revision("quick: a factor of 1.6", "quick: 2", "Quick runs missed it"),
            restored("quick: a factor of 2", "quick: 1.6"),
        ],
    ),
    (
        "W5",
        &[
            revision(
                "at least 0.5 retransmissions per frame where many are expected; time is within 2 % of the ordered mode in all \
             cases, and a stream 5 % faster than with three segments",
                "0.4; except for 2 MB with a connection each; faster by any amount",
                "Runs of a tenth of the size missed the bounds",
            ),
            restored("0.4, an exception, any amount", "0.5, no exception, 5 %"),
        ],
    ),
];
