//! Hosts whose processors react late.

use crate::common::{run, run_with};
use wiremend_measure::FlowRow;
use wiremend_sim::Options;

/// Flows one after the other between two hosts.
fn flows(workload: &str, more: &str) -> String {
    format!(
        "title = \"t\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 1\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [transport]\nqp = \"per-pair\"\n{more}[[workload]]\nsrc = 0\ndst = \"last\"\n{workload}"
    )
}

const STREAM: &str = "kind = \"stream\"\nmessage = \"1000B\"\ndepth = 1\ncount = 400\n";
const DELAY: &str = "[transport.host-delay]\nmedian = \"10us\"\nquantiles = [100, 100, 100, 100, 100, 100, 100, 100, 100, 300]\n";
const VARYING: &str = "[transport.host-delay]\nmedian = \"10us\"\n";

fn times_ns(rows: &[FlowRow]) -> Vec<u64> {
    let mut times: Vec<u64> = rows.iter().map(|row| row.fct().as_ps() / 1_000).collect();
    times.sort_unstable();
    times
}

/// Time of an ACK on the link.
const ACK_NS: u64 = 6;

/// Median completion time in nanoseconds.
fn median(workload: &str, more: &str) -> u64 {
    let times = times_ns(&run(&flows(workload, more)).1);
    times[times.len() / 2]
}

/// A WRITE ends with the reaction to its completion; the NIC of the receiver does not wait. With TCP both stacks react.
#[test]
fn each_reaction_takes_its_delay() {
    assert_eq!(median(STREAM, DELAY) - median(STREAM, ""), 10_000);
    let tcp = "[transport.tcp]\nquick_acks = 1000000\n";
    let [late, at_once] = [format!("{tcp}{DELAY}"), tcp.to_owned()]
        .map(|more| median(&format!("{STREAM}protocol = \"tcp\"\n"), &more));
    assert_eq!(late - at_once, 20_000);
    // The server reacts to the request, the client to the reply, which waits at the port for an ACK if sent at once.
    let ping = "kind = \"ping-pong\"\nbytes = \"1000B\"\niterations = 100\n";
    assert_eq!(median(ping, DELAY) + ACK_NS - median(ping, ""), 20_000);
}

/// What arrives while a reaction is pending is processed with it: a burst of segments takes one delay, not one each.
#[test]
fn arrivals_share_a_reaction() {
    let burst = "protocol = \"tcp\"\nkind = \"stream\"\nmessage = \"14480B\"\ndepth = 1\ncount = 50\n";
    let tcp = "[transport.tcp]\nquick_acks = 1000000\n";
    let [late, at_once] = [format!("{tcp}{DELAY}"), tcp.to_owned()].map(|more| median(burst, &more));
    assert!((late - at_once).abs_diff(20_000) < 2_000, "{late} {at_once}");
}

/// Delays follow the shape, and depend only on the seed.
#[test]
fn delays_vary_with_the_seed_and_not_with_threads() {
    let text = flows(STREAM, VARYING);
    let digest =
        |seed, threads| run_with(&text, &Options { threads, ..Options::new(seed) }).0.collector.digest();
    assert_eq!(digest(1, 1), digest(1, 2));
    assert_ne!(digest(1, 1), digest(2, 1));
    let times = times_ns(&run(&text).1);
    let [at_once, p10, p50, p90] =
        [median(STREAM, ""), times[40], times[200], times[360]].map(|ns| ns as f64);
    let within = |found: f64, percent: f64| (found - at_once) / (percent * 100.0);
    let shares = [within(p10, 27.0), within(p50, 100.0), within(p90, 115.0)];
    assert!((0.5..2.5).contains(&shares[0]), "{shares:?}");
    assert!(shares[1..].iter().all(|share| (0.9..1.1).contains(share)), "{shares:?}");
}
