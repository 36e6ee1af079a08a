//! The link in the simulator.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, BufRead, Cursor};

use wiremend_proto::link::LinkHeader;
use wiremend_sim::{CapturedFrame, Files, Header, Observer, Options, Simulation};
use wiremend_units::LinkId;

use super::{DELAY_MS, GAP_MS, GIVE_UP_MS, Outcome, Passage, RECEIVER, RTT_MIN_MS, SENDER, steps};
use crate::wire::line::Side;

/// Sends the frames of all steps over a protected link with these faults.
pub(super) fn play(faults: &str) -> Outcome {
    let file =
        wiremend_scenario::load("two-hosts.toml", &scenario(), &[]).unwrap_or_else(|why| panic!("{why}"));
    let mut options = Options::new(1);
    options.captures = vec![LINK, HOST_A, HOST_B];
    let simulation =
        Simulation::build(&file.variants[0].scenario, &Faults(faults.to_owned()), &options).unwrap();
    let mut seen = Seen::default();
    let results = simulation.run(&mut seen).unwrap();
    let mut outcome = seen.outcome;
    outcome.met.sort();
    let [a, b] = &results.link_ends[..] else { panic!("one link has two ends") };
    for (way, [sender, receiver]) in outcome.ways.iter_mut().zip([[a, b], [b, a]]) {
        let count = |end: &wiremend_sim::LinkEndCounters, name: &'static str| {
            let named = end.link.named();
            let found = named.iter().find(|(key, _)| key.strip_prefix("link.") == Some(name));
            (name, found.unwrap_or_else(|| panic!("no count {name}")).1)
        };
        way.counts.extend(SENDER.map(|name| count(sender, name)));
        way.counts.extend(RECEIVER.map(|name| count(receiver, name)));
    }
    outcome
}

/// In the order of the scenario.
const LINK: LinkId = LinkId(0);
const HOST_A: LinkId = LinkId(1);
const HOST_B: LinkId = LinkId(2);

/// C and D keep the run going while the link still recovers.
fn scenario() -> String {
    let mut text = format!(
        "title = \"two hosts\"\n\
         [topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [\"s\", \"t\"]\n\
         rate = \"100Mbps\"\ndelay = \"{DELAY_MS}ms\"\n\
         links = [{{ ends = [\"s\", \"t\"] }}, {{ ends = [\"a\", \"s\"] }}, {{ ends = [\"b\", \"t\"] }}, \
         {{ ends = [\"c\", \"s\"] }}, {{ ends = [\"d\", \"s\"] }}]\n\
         [[workload]]\nkind = \"cbr\"\nsrc = \"c\"\ndst = \"d\"\nrate = \"1Mbps\"\n\
         [[impair]]\nkind = \"script\"\nlinks = \"s-t\"\nfaults = \"both.faults\"\n\
         [[protect]]\nlinks = \"s-t\"\nby = \"linkguardian\"\ncopies = 2\ndummies = 3\ncontrol_copies = 2\n\
         rtt_min = \"{RTT_MIN_MS}ms\"\ngive_up = \"{GIVE_UP_MS}ms\"\ntx_buffer = \"4MB\"\nrx_buffer = \"4MB\"\n"
    );
    let mut start_ms = 1000;
    for counts in steps() {
        for ((src, dst), count) in [("a", "b"), ("b", "a")].into_iter().zip(counts) {
            if count == 0 {
                continue;
            }
            // Frames of 1000 bytes back to back: 81.6 µs each.
            let stop_ns = start_ms * 1_000_000 + count * 81_600 - 40_000;
            write!(
                text,
                "[[workload]]\nkind = \"cbr\"\nsrc = \"{src}\"\ndst = \"{dst}\"\nrate = \"100Mbps\"\nframe = 1000\n\
                 start = \"{start_ms}ms\"\nstop = \"{stop_ns}ns\"\n"
            )
            .unwrap();
        }
        start_ms += GAP_MS;
    }
    write!(text, "[stop]\nafter = \"{start_ms}ms\"\n").unwrap();
    text
}

struct Faults(String);

impl Files for Faults {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        assert_eq!(name, "both.faults");
        Ok(Box::new(Cursor::new(self.0.clone())))
    }
}

#[derive(Default)]
struct Seen {
    outcome: Outcome,
    /// Returns the number of transmissions of each frame, in the format of a list.
    left: BTreeMap<String, u64>,
}

impl Observer for Seen {
    fn on_frame(&mut self, captured: &CapturedFrame) -> io::Result<()> {
        let link = captured.lane.link();
        let is_forward = captured.lane == link.forward();
        match captured.header {
            Some(Header::Link(signal)) if link == LINK => {
                self.on_signal(is_forward, &signal, captured.corrupted);
            }
            _ if link == LINK => panic!("a frame without a header: {captured:?}"),
            // From the switch to the host: what B receives is what came forth.
            _ if !is_forward => {
                let way = usize::from(link == HOST_A);
                self.outcome.ways[way].delivered.push(u64::from(captured.frame.ip_id));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Seen {
    fn on_signal(&mut self, is_forward: bool, signal: &LinkHeader, corrupted: bool) {
        let (side, way) = if is_forward { (Side::A, "forward") } else { (Side::B, "backward") };
        Passage::on_signal(&mut self.outcome.ways, side, signal);
        let kind = match signal {
            LinkHeader::Data { .. } => "data",
            LinkHeader::Dummy { .. } => "dummy",
            LinkHeader::Ack(_) => "ack",
            LinkHeader::Missing(_) => "missing",
            LinkHeader::Hello(_) => "hello",
            LinkHeader::Unprotected { .. } => unreachable!("all is protected here"),
        };
        let frame = format!("{way} {kind} {}", signal.number());
        let count = self.left.entry(frame.clone()).or_default();
        *count += 1;
        if corrupted {
            self.outcome.met.push(format!("{frame} {count}"));
        }
    }
}
