//! Traffic classes at one bottleneck: how they share it, and the effect of pauses.

use crate::common::{capture_with, run_with, scenario};
use wiremend_measure::FlowOutcome;
use wiremend_sim::{Body, CapturedFrame, Options, Results};
use wiremend_units::{LaneId, LinkId, Time};

/// Pairs of hosts that share only a link of 40 Gbit/s between two switches.
const BOTTLENECK: &str = "title = \"shares\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 3\n\
    switch_rate = \"40Gbps\"\n[stop]\nafter = \"2ms\"\n";

/// A load from host `number` of the left end to host `number` of the right one.
fn load(number: u32, class: u8, rate: &str, frame: u16) -> String {
    format!(
        "[[workload]]\nkind = \"cbr\"\nsrc = {number}\ndst = {}\nclass = {class}\nrate = \"{rate}\"\nframe = {frame}\n",
        number + 3
    )
}

fn weights(weights: &[(u8, u32)]) -> String {
    let weight =
        |(class, weight): &(u8, u32)| format!("[[switch.class]]\nnumber = {class}\nweight = {weight}\n");
    weights.iter().map(weight).collect()
}

/// Returns the wire bytes to each host of the right end, as shares of the bottleneck.
fn shares(text: &str) -> [f64; 3] {
    let results = on_any_number_of_threads(text);
    let seconds = results.end.as_ps() as f64 / 1e12;
    [3, 4, 5].map(|host| {
        let host = &results.hosts[host];
        (host.raw_bytes + 20 * host.raw_frames) as f64 * 8.0 / seconds / 40e9
    })
}

fn on_any_number_of_threads(text: &str) -> Results {
    let options = Options::new(scenario(text).seed.get());
    let (results, _) = run_with(text, &options);
    for threads in [2, 3] {
        let (other, _) = run_with(text, &Options { threads, ..options.clone() });
        assert_eq!(other.collector.digest(), results.collector.digest(), "{threads} threads");
    }
    results
}

/// Asserts the shares of the first hosts' loads at the bottleneck with these weights.
fn assert_shared(by_weight: &[(u8, u32)], loads: &[(u8, &str, u16)], expected: [f64; 3]) {
    let loads = (0..).zip(loads).map(|(host, &(class, rate, frame))| load(host, class, rate, frame));
    let text = [BOTTLENECK.to_owned(), weights(by_weight)].into_iter().chain(loads).collect::<String>();
    let shares = shares(&text);
    // The run carries 10 MB over the bottleneck, a quantum is a few kilobytes, and the first microseconds
    // carry nothing.
    let near = shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 0.003);
    assert!(near, "{shares:?}, expected {expected:?}");
}

#[test]
fn weights_of_three_to_one_are_shares_of_three_to_one() {
    for (three, one) in [(1000, 1000), (200, 1500), (9000, 64)] {
        assert_shared(&[(3, 3), (0, 1)], &[(3, "60Gbps", three), (0, "60Gbps", one)], [0.75, 0.25, 0.0]);
    }
}

#[test]
fn a_strict_class_takes_what_it_needs_and_the_others_share_the_rest() {
    let loads = [(3, "60Gbps", 1000), (7, "60Gbps", 700), (5, "20Gbps", 1500)];
    assert_shared(&[(3, 3), (7, 1)], &loads, [0.375, 0.125, 0.5]);
}

#[test]
fn unused_shares_go_to_other_classes() {
    assert_shared(&[(3, 3), (0, 1)], &[(3, "4Gbps", 1000), (0, "60Gbps", 1000)], [0.1, 0.9, 0.0]);
}

#[test]
fn without_weights_the_highest_class_takes_the_link() {
    assert_shared(&[], &[(3, "60Gbps", 1000), (0, "60Gbps", 1000)], [1.0, 0.0, 0.0]);
}

/// Two hosts at a switch; class 3 and class 0 from the first to the second.
const PAIR: &str = "title = \"pause\"\n[topology]\nkind = \"pair\"\n[stop]\nafter = \"200us\"\n\
    [[workload]]\nkind = \"cbr\"\nclass = 3\nrate = \"20Gbps\"\nframe = 1000\nstop = \"100us\"\n\
    [[workload]]\nkind = \"cbr\"\nclass = 0\nrate = \"20Gbps\"\nframe = 300\nstop = \"100us\"\n";
const H0_TO_TOR: LaneId = LinkId(0).forward();
const TOR_TO_H1: LaneId = LinkId(1).backward();

/// Returns the departure times of the frames of a class over `lane`.
fn departures(text: &str, lane: LaneId, class: u8) -> Vec<Time> {
    let captures = vec![LinkId(0), LinkId(1)];
    let (_, frames) = capture_with(text, &Options { captures, ..Options::new(1) });
    let of_class = |captured: &&CapturedFrame| captured.lane == lane && captured.frame.class() == class;
    frames.iter().filter(of_class).map(|captured| captured.time).collect()
}

const fn us(us: u64) -> Time {
    Time::from_ns(us * 1000)
}

#[test]
fn a_pause_lasts_exactly_as_long_as_configured() {
    for (links, direction, lane) in [("h0-tor", "forward", H0_TO_TOR), ("h1-tor", "backward", TOR_TO_H1)] {
        let plain = departures(PAIR, lane, 3);
        for class in [3, 0] {
            let text = format!(
                "{PAIR}[[pause]]\nlinks = \"{links}\"\ndirection = \"{direction}\"\nclass = {class}\nstart = \"10us\"\n\
                 stop = \"50us\"\n"
            );
            let departed = departures(&text, lane, class);
            assert!(!departed.iter().any(|start| (us(10)..us(50)).contains(start)), "{links} {class}");
            let first = *departed.iter().find(|start| **start >= us(10)).expect("it goes on");
            // A frame of the other class may be in transmission: it is finished first.
            assert!(
                (us(50)..us(50) + wiremend_units::Span::from_ns(82)).contains(&first),
                "{links}: {first}"
            );
            let other = departures(&text, lane, 3 - class);
            let passed = other.iter().filter(|start| (us(10)..us(50)).contains(start)).count();
            assert!(passed > 80, "{links}: the other class continues, {passed} frames");
            assert_eq!(departed.len(), departures(PAIR, lane, class).len(), "{links}: no frame is lost");
        }
        assert!(plain.iter().filter(|start| (us(10)..us(50)).contains(start)).count() > 80);
    }
}

#[test]
fn an_idle_port_sends_at_the_end_of_the_pause() {
    let alone = &PAIR[..PAIR.rfind("[[workload]]").unwrap()];
    for (links, direction, lane) in [("h0-tor", "forward", H0_TO_TOR), ("h1-tor", "backward", TOR_TO_H1)] {
        // Two that overlap, and one that follows immediately.
        let pause = |start: u64, stop: u64| {
            format!(
                "[[pause]]\nlinks = \"{links}\"\ndirection = \"{direction}\"\nclass = 3\nstart = \"{start}us\"\n\
                 stop = \"{stop}us\"\n"
            )
        };
        let text = [alone.to_owned(), pause(50, 60), pause(10, 30), pause(20, 50), pause(70, 71)].concat();
        let departed = departures(&text, lane, 3);
        let later = |instant| departed.iter().copied().find(|start| *start >= instant);
        assert_eq!((later(us(10)), later(us(70))), (Some(us(60)), Some(us(71))), "{links}");
    }
}

#[test]
fn a_pause_from_the_start_delays_a_flow_by_its_length() {
    let text = "title = \"flow\"\n[topology]\nkind = \"pair\"\n[transport]\nclass = 3\n[[workload]]\nkind = \"flows\"\n\
        bytes = \"100kB\"\npattern = \"point-to-point\"\n";
    let fct = |text: &str| {
        let (_, rows) = run_with(text, &Options::new(1));
        assert_eq!(rows[0].outcome, FlowOutcome::Finished);
        rows[0].fct()
    };
    let pause = |class| format!("{text}[[pause]]\nlinks = \"h0-tor\"\nclass = {class}\nstop = \"40us\"\n");
    assert_eq!(fct(&pause(3)), fct(text) + wiremend_units::Span::from_us(40));
    assert_eq!(fct(&pause(4)), fct(text));
}

#[test]
fn flows_behind_an_endless_pause_end_with_a_reason() {
    let text = "title = \"stuck\"\n[topology]\nkind = \"pair\"\n[transport]\ntimeout = 4\n[[workload]]\nkind = \"flows\"\n\
        bytes = \"100kB\"\npattern = \"point-to-point\"\n[[pause]]\nclass = 0\n";
    let outcome =
        |links: &str| run_with(&format!("{text}links = \"{links}\"\n"), &Options::new(1)).1[0].outcome;
    assert_eq!(outcome("h0-tor"), FlowOutcome::Stalled, "no packet was sent, so no timer runs");
    assert_eq!(outcome("h1-tor"), FlowOutcome::RetryExceeded);
}

#[test]
fn a_paused_host_still_sends_other_classes() {
    let text = format!("{PAIR}[[pause]]\nlinks = \"h0-tor\"\nclass = 3\n");
    let (results, frames) = capture_with(&text, &Options { captures: vec![LinkId(0)], ..Options::new(1) });
    assert!(
        frames
            .iter()
            .all(|captured| matches!(captured.frame.body, Body::Raw(_)) && captured.frame.class() == 0)
    );
    assert_eq!(frames.len() as u64, results.hosts[1].raw_frames + results.in_flight);
    assert_eq!(frames.len(), departures(PAIR, H0_TO_TOR, 0).len());
}
