//! Tests `explain` with counter histories of simulated links, whose cause is known.
//!
//! Frames of a link are captured and counted like the two ports of the link would. The counting port adds
//! faults that the simulator does not have: a different MTU, and flow control that is off at one end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use wiremend_monitor::{Counter, CounterGrowth, Counters, PortSnapshot, SlowLinkCause, Thresholds, explain};
use wiremend_sim::{CapturedFrame, Files, Observer, Options, Results, Simulation};
use wiremend_units::{LaneId, LinkId, Time};
use wiremend_wire::Ecn;

/// A simulated history, its cause, and the observed link.
struct History {
    what: &'static str,
    cause: SlowLinkCause,
    link: LinkId,
    /// Hosts that send to `b`.
    senders: &'static [&'static str],
    /// Additional lines of the scenario.
    more: &'static str,
    fault: Fault,
}

/// Faults of the counting ports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The host drops frames longer than this.
    Length(u16),
    /// The first port ignores pause frames.
    IgnoresPauses,
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
const LOSS: &str = "[[impair]]\nkind = \"frames\"\nlinks = \"left-right\"\nrate = 1e-3\n";
const LOSS_LAST: &str = "[[impair]]\nkind = \"frames\"\nlinks = \"b-right\"\nrate = 1e-3\n";
const BURSTS: &str = "[[impair]]\nkind = \"bursts\"\nlinks = \"b-right\"\nloss = 1e-3\nlength = 4\n";
const REORDER: &str = "[[impair]]\nkind = \"frames\"\nlinks = \"left-right\"\nrate = 1e-3\n\
    [[protect]]\nlinks = \"left-right\"\nby = \"linkguardian-nb\"\nrx_buffer = \"1MB\"\ntx_buffer = \"1MB\"\n";
/// Belongs to the table `topology`, which it follows.
const SMALL_BUFFER: &str = "buffer = \"200kB\"\n";
const MARKING: &str =
    "[switch.lossless]\nclasses = [0]\n[switch.ecn]\nkmin = \"5kB\"\nkmax = \"200kB\"\npmax = 0.01\n";
const PAUSES: &str = "[switch.lossless]\nclasses = [0]\n";

const fn history(
    what: &'static str,
    cause: SlowLinkCause,
    link: LinkId,
    senders: &'static [&'static str],
    more: &'static str,
) -> History {
    History { what, cause, link, senders, more, fault: Fault::None }
}

const HISTORIES: &[History] = &[
    history("one flow, no fault", SlowLinkCause::Healthy, LAST, ONE, ""),
    history("the same, between switches", SlowLinkCause::Healthy, MIDDLE, ONE, ""),
    history("loss on another link of the path", SlowLinkCause::Healthy, LAST, ONE, LOSS),
    history("a link between switches loses 1e-3", SlowLinkCause::Corruption, MIDDLE, ONE, LOSS),
    history("the receiver's link loses 1e-3", SlowLinkCause::Corruption, LAST, ONE, LOSS_LAST),
    history("losses in bursts", SlowLinkCause::Corruption, LAST, ONE, BURSTS),
    history("losses with other traffic", SlowLinkCause::Corruption, MIDDLE, THREE, LOSS),
    history("three senders, small buffers", SlowLinkCause::Congestion, LAST, THREE, SMALL_BUFFER),
    history("three senders, ECN marks and DCQCN", SlowLinkCause::Congestion, LAST, THREE, MARKING),
    history("three senders, pause frames", SlowLinkCause::Congestion, MIDDLE, THREE, PAUSES),
    history("packets overtake each other", SlowLinkCause::Reordering, LAST, ONE, REORDER),
    History {
        fault: Fault::Length(1000),
        ..history("MTU mismatch", SlowLinkCause::Configuration, LAST, ONE, "")
    },
    History {
        fault: Fault::IgnoresPauses,
        ..history("one end ignores pause frames", SlowLinkCause::Configuration, MIDDLE, THREE, PAUSES)
    },
];

/// docs/operate/monitor.md has this table.
#[test]
fn known_causes_are_found() {
    let mut found: BTreeMap<(&str, SlowLinkCause), BTreeMap<SlowLinkCause, u64>> = BTreeMap::new();
    let mut wrong = String::new();
    for history in HISTORIES {
        for seed in 1..=SEEDS {
            let explained = history.explained(seed);
            *found.entry((history.what, history.cause)).or_default().entry(explained.cause).or_default() += 1;
            if explained.cause != history.cause {
                let _ = writeln!(wrong, "{}, seed {seed}: {explained:?}", history.what);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let documented = include_str!("../../../../docs/operate/monitor.md");
    for row in matrix(&found) {
        assert!(documented.contains(&row), "docs/operate/monitor.md lacks\n{}", matrix(&found).join("\n"));
    }
}

/// A row for each history: the cause, and how often each cause was found.
fn matrix(found: &BTreeMap<(&str, SlowLinkCause), BTreeMap<SlowLinkCause, u64>>) -> Vec<String> {
    let row = |history: &History| {
        let counts = &found[&(history.what, history.cause)];
        let cells = CAUSES.map(|cause| counts.get(&cause).map_or_else(|| "·".to_owned(), u64::to_string));
        format!("| {} | {} | {} |", history.what, history.cause, cells.join(" | "))
    };
    HISTORIES.iter().map(row).collect()
}

const CAUSES: [SlowLinkCause; 5] = [
    SlowLinkCause::Corruption,
    SlowLinkCause::Configuration,
    SlowLinkCause::Congestion,
    SlowLinkCause::Reordering,
    SlowLinkCause::Healthy,
];

impl History {
    fn explained(&self, seed: u64) -> wiremend_monitor::Explanation {
        let scenario = wiremend_scenario::load("history.toml", &self.text(), &[])
            .unwrap_or_else(|error| panic!("{}: {error}", self.what))
            .variants
            .remove(0)
            .scenario;
        let options = Options { captures: vec![self.link], ..Options::new(seed) };
        let simulation = Simulation::build(&scenario, &NoFiles, &options).expect("a small network");
        let mut ends = [Port::new(self, 0), Port::new(self, 1)];
        let mut observer = LinkObserver { link: self.link, ends: &mut ends };
        let results = simulation.run(&mut observer).expect("counting cannot fail");
        for end in &mut ends {
            end.finish(&results);
        }
        let [a, b] = ends.map(|end| end.growth(results.end));
        explain(&a, &b, &Thresholds::default())
    }

    fn text(&self) -> String {
        let congestion = if self.more == MARKING { "congestion = \"dcqcn-paper\"\n" } else { "" };
        let mut text =
            format!("{TOPOLOGY}{}[transport]\ntimeout = 8\nwindow = \"unlimited\"\n{congestion}", self.more);
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

/// Passes frames to the ports of the observed link.
struct LinkObserver<'a, 's> {
    link: LinkId,
    ends: &'a mut [Port<'s>; 2],
}

impl Observer for LinkObserver<'_, '_> {
    fn on_frame(&mut self, captured: &CapturedFrame) -> io::Result<()> {
        let to = usize::from(captured.lane == self.link.forward());
        self.ends[to].arrives(captured);
        self.ends[1 - to].counters.add(Counter::TxGood, 1);
        Ok(())
    }
}

/// A port of a link, and its counters.
struct Port<'a> {
    history: &'a History,
    /// Frames arrive on this lane and leave on the other.
    arrival: LaneId,
    departure: LaneId,
    is_host: bool,
    counters: Counters,
    /// Expected PSN of each queue pair that sends to this host, and whether a NAK was sent for it.
    expected: BTreeMap<(u32, u32), (u32, bool)>,
}

impl<'a> Port<'a> {
    fn new(history: &'a History, end: usize) -> Self {
        let lanes = [history.link.backward(), history.link.forward()];
        let mut counters = Counters::default();
        for counter in
            [Counter::RxGood, Counter::RxCrc, Counter::TxGood, Counter::RxPauses, Counter::TxPauses]
        {
            counters.set(counter, 0);
        }
        let is_host = history.link == LAST && end == 0;
        let (arrival, departure) = (lanes[end], lanes[1 - end]);
        Self { history, arrival, departure, is_host, counters, expected: BTreeMap::new() }
    }

    fn arrives(&mut self, captured: &CapturedFrame) {
        let frame = &captured.frame;
        let mut count = |counter| self.counters.add(counter, 1);
        if captured.corrupted {
            return count(Counter::RxCrc);
        }
        if matches!(self.history.fault, Fault::Length(most) if frame.len > most && self.is_host) {
            return count(Counter::RxLength);
        }
        count(Counter::RxGood);
        if !self.is_host {
            return;
        }
        if frame.ecn() == Ecn::Ce {
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
        let (expected, nak_sent) = self.expected.entry(from).or_insert((psn, false));
        let ahead = psn.wrapping_sub(*expected) & 0xFF_FFFF;
        if ahead == 0 {
            (*expected, *nak_sent) = ((psn + 1) & 0xFF_FFFF, false);
        } else if ahead < 0x80_0000 {
            // A gap is counted once, because the responder sends one NAK.
            if !std::mem::replace(nak_sent, true) {
                count(Counter::OutOfSequence);
            }
        } else {
            count(Counter::Duplicates);
        }
    }

    /// Adds counters that do not follow from captured frames.
    fn finish(&mut self, results: &Results) {
        self.counters.add(Counter::TxDiscards, results.lanes[self.departure.index()].dropped);
        for pauses in &results.port_pauses {
            // A pause of the departure lane arrived on the other lane.
            if pauses.lane == self.departure && self.history.fault != Fault::IgnoresPauses {
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

    fn growth(&self, end: Time) -> CounterGrowth {
        let zero = self.counters.iter().map(|(counter, _)| (counter, 0)).collect();
        let snapshot = |counters| PortSnapshot { up: true, counters, ..PortSnapshot::default() };
        let (before, after) = (snapshot(zero), snapshot(self.counters));
        CounterGrowth::over([(Time::ZERO, &before), (end.max(Time::from_ns(1)), &after)])
    }
}
