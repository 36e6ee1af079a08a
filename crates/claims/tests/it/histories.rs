//! Whether `explain` is right: histories of counters whose cause is known, because the simulator made it.
//!
//! Frames on a link are captured and counted as its two ends would. What the simulator cannot do wrong (an MTU that differs, flow control that one end
//! has off) is done by the counting end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use wiremend_monitor::{Cause, Counter, Counters, Growth, Snapshot, Thresholds, explain};
use wiremend_sim::{Captured, Files, Observer, Options, Results, Simulation};
use wiremend_units::{LaneId, LinkId, Time};
use wiremend_wire::Ecn;

/// What happens, why, and which link is looked at.
struct Story {
    what: &'static str,
    cause: Cause,
    link: LinkId,
    /// Hosts that send to `b`.
    senders: &'static [&'static str],
    /// What makes it so.
    more: &'static str,
    fault: Fault,
}

/// What the counting ends do wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The host takes no frames longer than this.
    Length(u16),
    /// The first end does not hear pause frames.
    Deaf,
}

/// The link between the two switches, and that of the receiving host.
const MIDDLE: LinkId = LinkId(3);
const LAST: LinkId = LinkId(4);
const SEEDS: u64 = 5;

const TOPOLOGY: &str = r#"
title = "a history"
[topology]
kind = "graph"
hosts = ["a", "c", "d", "b"]
switches = ["left", "right"]
links = [
  { ends = ["a", "left"] },
  { ends = ["c", "left"] },
  { ends = ["d", "left"] },
  { ends = ["left", "right"], rate = "400Gbps" },
  { ends = ["b", "right"] },
]
rate = "100Gbps"
delay = "1us"
"#;

const ONE: &[&str] = &["a"];
const THREE: &[&str] = &["a", "c", "d"];
const LOSES: &str = "[[impair]]\nkind = \"frames\"\nlinks = \"left-right\"\nrate = 1e-3\n";
const LOSES_LAST: &str = "[[impair]]\nkind = \"frames\"\nlinks = \"b-right\"\nrate = 1e-3\n";
const BURSTS: &str = "[[impair]]\nkind = \"bursts\"\nlinks = \"b-right\"\nloss = 1e-3\nlength = 4\n";
const OVERTAKE: &str = "[[impair]]\nkind = \"frames\"\nlinks = \"left-right\"\nrate = 1e-3\n\
    [[protect]]\nlinks = \"left-right\"\nby = \"linkguardian-nb\"\nrx_buffer = \"1MB\"\ntx_buffer = \"1MB\"\n";
/// A line of the topology, behind which it stands.
const SMALL: &str = "buffer = \"200kB\"\n";
const MARKS: &str =
    "[switch.lossless]\nclasses = [0]\n[switch.ecn]\nkmin = \"5kB\"\nkmax = \"200kB\"\npmax = 0.01\n";
const PAUSES: &str = "[switch.lossless]\nclasses = [0]\n";

const fn story(
    what: &'static str,
    cause: Cause,
    link: LinkId,
    senders: &'static [&'static str],
    more: &'static str,
) -> Story {
    Story { what, cause, link, senders, more, fault: Fault::None }
}

const STORIES: &[Story] = &[
    story("one flow, nothing wrong", Cause::Healthy, LAST, ONE, ""),
    story("the same, between switches", Cause::Healthy, MIDDLE, ONE, ""),
    story("loss on another link of the path", Cause::Healthy, LAST, ONE, LOSES),
    story("a link between switches loses 1e-3", Cause::Corruption, MIDDLE, ONE, LOSES),
    story("the receiver's link loses 1e-3", Cause::Corruption, LAST, ONE, LOSES_LAST),
    story("losses in bursts", Cause::Corruption, LAST, ONE, BURSTS),
    story("losses while others send too", Cause::Corruption, MIDDLE, THREE, LOSES),
    story("three senders, small buffers", Cause::Congestion, LAST, THREE, SMALL),
    story("three senders, marks and DCQCN", Cause::Congestion, LAST, THREE, MARKS),
    story("three senders, pauses", Cause::Congestion, MIDDLE, THREE, PAUSES),
    story("packets overtake each other", Cause::Reordering, LAST, ONE, OVERTAKE),
    Story { fault: Fault::Length(1000), ..story("an MTU that differs", Cause::Configuration, LAST, ONE, "") },
    Story {
        fault: Fault::Deaf,
        ..story("pauses that one end ignores", Cause::Configuration, MIDDLE, THREE, PAUSES)
    },
];

/// The table in the documents is what comes out here.
#[test]
fn causes_that_are_known_are_found() {
    let mut found: BTreeMap<(&str, Cause), BTreeMap<Cause, u64>> = BTreeMap::new();
    let mut wrong = String::new();
    for story in STORIES {
        for seed in 1..=SEEDS {
            let explained = story.explained(seed);
            *found.entry((story.what, story.cause)).or_default().entry(explained.cause).or_default() += 1;
            if explained.cause != story.cause {
                let _ = writeln!(wrong, "{}, seed {seed}: {explained:?}", story.what);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let documented = include_str!("../../../../docs/monitor.md");
    for row in matrix(&found) {
        assert!(documented.contains(&row), "docs/monitor.md lacks\n{}", matrix(&found).join("\n"));
    }
}

/// A row for each story: what was the cause, and how often each was found.
fn matrix(found: &BTreeMap<(&str, Cause), BTreeMap<Cause, u64>>) -> Vec<String> {
    let row = |story: &Story| {
        let of = &found[&(story.what, story.cause)];
        let cells = CAUSES.map(|cause| of.get(&cause).map_or_else(|| "·".to_owned(), u64::to_string));
        format!("| {} | {} | {} |", story.what, story.cause, cells.join(" | "))
    };
    STORIES.iter().map(row).collect()
}

const CAUSES: [Cause; 5] =
    [Cause::Corruption, Cause::Configuration, Cause::Congestion, Cause::Reordering, Cause::Healthy];

impl Story {
    fn explained(&self, seed: u64) -> wiremend_monitor::Explanation {
        let scenario = wiremend_scenario::load("history.toml", &self.text(), &[])
            .unwrap_or_else(|error| panic!("{}: {error}", self.what))
            .variants
            .remove(0)
            .scenario;
        let options = Options { captures: vec![self.link], ..Options::new(seed) };
        let simulation = Simulation::build(&scenario, &NoFiles, &options).expect("a small network");
        let mut ends = [Port::new(self, 0), Port::new(self, 1)];
        let mut watch = Watch { link: self.link, ends: &mut ends };
        let results = simulation.run(&mut watch).expect("counting cannot fail");
        for end in &mut ends {
            end.finish(&results);
        }
        let [a, b] = ends.map(|end| end.growth(results.end));
        explain(&a, &b, &Thresholds::default())
    }

    fn text(&self) -> String {
        let congestion = if self.more == MARKS { "congestion = \"dcqcn-paper\"\n" } else { "" };
        let mut text = format!("{TOPOLOGY}{}[transport]\ntimeout = 8\n{congestion}", self.more);
        for sender in self.senders {
            let _ = write!(
                text,
                "[[workload]]\nkind = \"flows\"\npattern = \"point-to-point\"\nsrc = \"{sender}\"\ndst = \"b\"\nbytes = \"4MB\"\ncount = 2\n"
            );
        }
        text + "[stop]\nafter = \"20ms\"\n"
    }
}

/// None of these scenarios names a file.
struct NoFiles;

impl Files for NoFiles {
    fn open(&self, name: &str) -> Result<Box<dyn io::BufRead>, String> {
        Err(format!("no file `{name}`"))
    }
}

/// Hands frames to the ends of the link that is looked at.
struct Watch<'a, 's> {
    link: LinkId,
    ends: &'a mut [Port<'s>; 2],
}

impl Observer for Watch<'_, '_> {
    fn on_frame(&mut self, captured: &Captured) -> io::Result<()> {
        let to = usize::from(captured.lane == self.link.forward());
        self.ends[to].arrives(captured);
        self.ends[1 - to].counters.add(Counter::TxGood, 1);
        Ok(())
    }
}

/// An end of a link, and what it counts.
struct Port<'a> {
    story: &'a Story,
    /// Frames arrive by this lane, and leave by the other.
    arrival: LaneId,
    departure: LaneId,
    is_host: bool,
    counters: Counters,
    /// Of each queue pair that sends to this host: the number that comes next, and whether it was asked for.
    expected: BTreeMap<(u32, u32), (u32, bool)>,
}

impl<'a> Port<'a> {
    fn new(story: &'a Story, end: usize) -> Self {
        let lanes = [story.link.backward(), story.link.forward()];
        let mut counters = Counters::default();
        for counter in
            [Counter::RxGood, Counter::RxCrc, Counter::TxGood, Counter::RxPauses, Counter::TxPauses]
        {
            counters.set(counter, 0);
        }
        let is_host = story.link == LAST && end == 0;
        let (arrival, departure) = (lanes[end], lanes[1 - end]);
        Self { story, arrival, departure, is_host, counters, expected: BTreeMap::new() }
    }

    fn arrives(&mut self, captured: &Captured) {
        let frame = &captured.frame;
        let mut count = |counter| self.counters.add(counter, 1);
        if captured.corrupted {
            return count(Counter::RxCrc);
        }
        if matches!(self.story.fault, Fault::Length(most) if frame.len > most && self.is_host) {
            return count(Counter::RxLength);
        }
        count(Counter::RxGood);
        if !self.is_host {
            return;
        }
        if frame.ecn() == Ecn::Congested {
            count(Counter::EcnMarked);
        }
        let Some(packet) = frame.packet() else { return };
        if packet.is_response() {
            if packet.nak_code().is_some() {
                count(Counter::SequenceNaks);
            }
            return;
        }
        let psn = packet.psn().get();
        let from = (frame.src.0, packet.dest_qp().get());
        let (expected, is_asked) = self.expected.entry(from).or_insert((psn, false));
        let ahead = psn.wrapping_sub(*expected) & 0xFF_FFFF;
        if ahead == 0 {
            (*expected, *is_asked) = ((psn + 1) & 0xFF_FFFF, false);
        } else if ahead < 0x80_0000 {
            // A gap is counted once, as it is asked for once.
            if !std::mem::replace(is_asked, true) {
                count(Counter::OutOfSequence);
            }
        } else {
            count(Counter::Duplicates);
        }
    }

    /// What is counted elsewhere than on the wire.
    fn finish(&mut self, results: &Results) {
        self.counters.add(Counter::TxDiscards, results.lanes[self.departure.index()].dropped);
        for pauses in &results.pauses {
            // They stop what leaves by that lane, so they came by the other.
            if pauses.lane == self.departure && self.story.fault != Fault::Deaf {
                self.counters.add(Counter::RxPauses, pauses.received);
            }
            if pauses.lane == self.arrival {
                self.counters.add(Counter::TxPauses, pauses.received + pauses.corrupted);
            }
        }
        if self.is_host {
            let host = results.hosts.last().expect("there are hosts");
            self.counters.add(Counter::AckTimeouts, host.timeouts.total());
            self.counters.add(Counter::CnpHandled, host.cnps_received);
        }
    }

    fn growth(&self, end: Time) -> Growth {
        let zero = self.counters.iter().map(|(counter, _)| (counter, 0)).collect();
        let snapshot = |counters| Snapshot { up: true, counters, ..Snapshot::default() };
        let (before, after) = (snapshot(zero), snapshot(self.counters));
        Growth::over([(Time::ZERO, &before), (end.max(Time::from_ns(1)), &after)])
    }
}
