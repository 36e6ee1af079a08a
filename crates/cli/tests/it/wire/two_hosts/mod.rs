//! One list of faults has the same consequences on real interfaces and in the simulator.
//!
//! On both hosts time is the test's own, so that nothing depends on how fast a machine is. Frames follow each other with gaps far longer than
//! any recovery. What still differs, and is not compared: how many ACKs there are (dummies that are taken together are answered
//! together, and a notification on its way answers one of them), and dummies within a burst (whoever has sent one frame before it
//! sees the next fills the gap).

mod real;
mod simulated;

use std::collections::BTreeMap;

use wiremend_dataplane::wire::FaultList;
use wiremend_proto::link::LinkHeader;

use crate::wire::line::Side;
use crate::wire::relay_net::in_own_network;

/// Outcome of a run from A to B and from B to A.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Outcome {
    ways: [Passage; 2],
    /// Faults that were met, in the words of lists, in no order in time.
    met: Vec<String>,
}

/// Outcome of the frames of one direction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Passage {
    /// Numbers that the host received, in order of arrival.
    delivered: Vec<u64>,
    /// Number of transmissions of each frame over the link.
    sent: BTreeMap<u32, u32>,
    /// Gaps that the receiver reported, by their first number.
    reported: Vec<u32>,
    /// Dummies by their number, except those within bursts.
    dummies: BTreeMap<u32, u32>,
    /// Counters of the sender and the receiver.
    counts: BTreeMap<&'static str, u64>,
}

/// Names of counters of the sender and of the receiver.
const SENDER: [&str; 6] = ["protected", "resent", "unbuffered", "refused", "reopened", "abandoned"];
const RECEIVER: [&str; 7] =
    ["missed", "recovered", "lost", "duplicates", "notifications", "renotifications", "overflowed"];

const FAULTS: &str = include_str!("both.faults");

/// Long enough that all copies of several frames have left before an ACK of the first can come back and call off the rest.
const DELAY_MS: u64 = 1;
/// Far longer than the round trip, so that no notification is repeated while an answer is under way; and a hole is given
/// up in the middle between the third notification and the fourth, 38 ms later.
const RTT_MIN_MS: u64 = 30;
const GIVE_UP_MS: u64 = 95;
const GAP_MS: u64 = 200;

/// At each step one or both sides send a burst of frames.
fn steps() -> impl Iterator<Item = [u64; 2]> {
    let forth = [1; 12].into_iter().chain([4, 4, 1, 1, 1]).map(|count| [count, 0]);
    let back = [1, 1, 1, 1, 1, 1, 3, 1].map(|count| [0, count]);
    forth.chain(back).chain([[1, 1]])
}

/// Numbers within bursts: those after which another frame was already there to be sent.
const WITHIN_BURSTS: [&[u32]; 2] = [&[13, 14, 15, 17, 18, 19], &[7, 8]];

impl Passage {
    /// Counts a frame of this direction, or a notification about the other direction.
    fn on_signal(ways: &mut [Self; 2], side: Side, signal: &LinkHeader) {
        let [own, other] = [side as usize, 1 - side as usize];
        let number = signal.number();
        match signal {
            LinkHeader::Data { .. } => *ways[own].sent.entry(number).or_default() += 1,
            LinkHeader::Dummy { .. } if !WITHIN_BURSTS[own].contains(&number) => {
                *ways[own].dummies.entry(number).or_default() += 1;
            }
            LinkHeader::Missing(_) => {
                ways[other].reported.push(number);
                ways[other].reported.dedup();
            }
            LinkHeader::Dummy { .. }
            | LinkHeader::Unprotected { .. }
            | LinkHeader::Ack(_)
            | LinkHeader::Hello(_) => {}
        }
    }
}

#[test]
fn one_list_of_faults_has_the_same_consequences_on_both_hosts() {
    let list: FaultList = FAULTS.parse().unwrap();
    let simulated = simulated::play(FAULTS);
    what_the_list_is_for(&simulated);
    let mut played = None;
    in_own_network(|| played = Some(real::play(FAULTS)));
    let Some((real, recorded)) = played else { return };
    for (way, [real, simulated]) in ["forward", "backward"].iter().zip(pairs(&real.ways, &simulated.ways)) {
        assert_eq!(real, simulated, "{way}, on real interfaces and simulated");
    }
    for outcome in [&real, &simulated] {
        let met = |fault: &String| outcome.met.contains(fault);
        let left: Vec<_> = list.iter().map(ToString::to_string).filter(|fault| !met(fault)).collect();
        assert!(left.iter().all(|fault| is_within_burst(fault)), "never met: {left:?}");
        assert_eq!(left.len() + outcome.met.len(), list.iter().count(), "{:?}", outcome.met);
    }
    // The simulator gets the same result from the list that the real wire recorded.
    assert_eq!(simulated::play(&recorded), simulated);
}

/// Checks that the list has the effects that its comments describe.
fn what_the_list_is_for(outcome: &Outcome) {
    let [forth, back] = &outcome.ways;
    let all_but = |count: u64, lost: u64| (0..count).filter(|number| *number != lost).collect::<Vec<_>>();
    assert_eq!(forth.delivered, all_but(24, 10));
    assert_eq!(back.delivered, all_but(11, 5));
    for (way, missed, renotified) in [(forth, 15, 8), (back, 7, 8)] {
        let count = |name| way.counts[name];
        assert_eq!((count("missed"), count("lost")), (missed, 1), "{way:?}");
        assert_eq!(count("recovered"), missed - 1, "{way:?}");
        assert_eq!(count("renotifications"), renotified, "{way:?}");
    }
    assert_eq!([4, 10, 11, 13].map(|number| forth.sent[&number]), [5, 7, 1, 3]);
    assert_eq!(forth.dummies[&7], 4, "after a silence it is asked");
}

fn is_within_burst(fault: &str) -> bool {
    let fields: Vec<&str> = fault.split(' ').collect();
    let numbers = WITHIN_BURSTS[usize::from(fields[0] == "backward")];
    fields[1] == "dummy" && numbers.contains(&fields[2].parse().unwrap())
}

fn pairs<'a>(one: &'a [Passage; 2], other: &'a [Passage; 2]) -> impl Iterator<Item = [&'a Passage; 2]> {
    one.iter().zip(other).map(|(one, other)| [one, other])
}
