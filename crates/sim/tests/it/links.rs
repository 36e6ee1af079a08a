//! Several protected links: on one path, at one switch, and in a fat tree.

use crate::common::run_with;
use wiremend_measure::{FlowOutcome, FlowRow};
use wiremend_sim::{LinkEndCounters, Options, Results};
use wiremend_units::LinkId;

const HARDENED: &str = "by = \"linkguardian\"\n";
const TOFINO: &str = "by = \"linkguardian\"\nprofile = \"prototype\"\n";
const TOFINO_NB: &str = "by = \"linkguardian-nb\"\nprofile = \"prototype\"\n";
const IDEAL: &str = "by = \"linkguardian\"\nprofile = \"prototype\"\nswitch = \"ideal\"\n";
const IDEAL_NB: &str = "by = \"linkguardian-nb\"\nprofile = \"prototype\"\nswitch = \"ideal\"\n";
const FEC: &str = "by = \"fec(5,2)\"\n";

/// Each link masks its own losses, so the end hosts see none. A Tofino in the middle has received frames of one link
/// and copies for the next in the same loop, which at 25 Gb/s is fast enough for both.
#[test]
fn each_link_of_a_path_recovers_its_own_losses() {
    let (_, bare) = run(&path(""), 1);
    assert!(resent(&bare) > 100);
    for scheme in [HARDENED, TOFINO, IDEAL, FEC] {
        let (results, rows) = run(&path(&protect(scheme)), 1);
        let recovered_and_lost = recovered_and_lost(&results);
        println!("{scheme}: {recovered_and_lost:?}");
        assert_eq!(recovered_and_lost.len(), 3, "the receiving ends of three links: {scheme}");
        assert!(recovered_and_lost.iter().all(|(recovered, lost)| *recovered > 20 && *lost == 0), "{scheme}");
        let notices = |row: &FlowRow| row.retransmitted_packets > 0 || row.timeouts > 0;
        assert!(!rows.iter().any(notices), "no host sees a loss: {scheme}");
        assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished));
    }
}

/// Losses on the link to `b` do not change the port to `c`.
#[test]
fn ports_of_one_switch_are_independent() {
    for scheme in [HARDENED, IDEAL, FEC] {
        let (clean, lossy) = (
            run(&fan_out(scheme, "100Gbps", ["b", "c"], 0.0), 1),
            run(&fan_out(scheme, "100Gbps", ["b", "c"], 2e-3), 1),
        );
        let [to_b, to_c] = [0, 1].map(|link| (pair(&clean.0, link), pair(&lossy.0, link)));
        assert!(to_b.1.1.sum.recovered > 30 && to_b.1.1.sum.lost == 0, "{scheme}");
        assert_ne!(to_b.0, to_b.1);
        assert_eq!(to_c.0, to_c.1, "{scheme}");
    }
}

/// The copies of two ports share one loopback port: at 25G it carries both, at 100G it does not.
#[test]
fn ports_of_a_tofino_share_its_loopback() {
    let passes = |rate: &str, to: &[&str]| {
        let (results, _) = run(&fan_out(TOFINO_NB, rate, to, 1e-3), 1);
        let sum = |of: fn(&LinkEndCounters) -> u64| results.link_ends.iter().map(of).sum::<u64>() as f64;
        (sum(|end| end.sum.tx_recirculations), sum(|end| end.sum.unbuffered))
    };
    let (alone, both) = (passes("25Gbps", &["b"]), passes("25Gbps", &["b", "c"]));
    println!("25G: {alone:?} and {both:?}");
    assert_eq!((alone.1, both.1), (0.0, 0.0));
    assert!((both.0 / alone.0 - 2.0).abs() < 0.01, "pipeline loads add up: {alone:?}, {both:?}");
    let (alone, both) = (passes("100Gbps", &["b"]), passes("100Gbps", &["b", "c"]));
    println!("100G: {alone:?} and {both:?}");
    assert!(alone.1 == 0.0 && both.1 > 1_000.0, "copies without room in the loop are dropped");
    // Full frames with headers, preamble and gap, for 4 ms.
    let most = 4e-3 * 100e9 / 8.0 / 1541.0;
    assert!(both.0 < most * 1.01, "the loopback port limits the loops: {both:?}");
    let (memory, _) = run(&fan_out(IDEAL_NB, "100Gbps", ["b", "c"], 1e-3), 1);
    assert!(memory.link_ends.iter().all(|end| end.sum.unbuffered == 0 && end.sum.tx_recirculations == 0));
}

/// Received frames that wait also loop: two links that restore the order at one switch are slower together
/// than each alone.
#[test]
fn order_at_a_tofino_costs_more_where_two_links_need_it() {
    let handed_on = |scheme: &str, from: &[&str]| {
        let (results, _) = run(&fan_in(scheme, from), 1);
        results.link_ends.iter().map(|end| end.sum.delivered).sum::<u64>() as f64 / from.len() as f64
    };
    let (alone, both) = (handed_on(TOFINO, &["b"]), handed_on(TOFINO, &["b", "c"]));
    println!("tofino: {alone} alone, {both} each");
    assert!(both < 0.8 * alone, "{alone} alone, {both} each");
    for scheme in [HARDENED, IDEAL] {
        let (alone, both) = (handed_on(scheme, &["b"]), handed_on(scheme, &["b", "c"]));
        assert!((both / alone - 1.0).abs() < 1e-3, "{scheme}: {alone} alone, {both} each");
    }
}

#[test]
fn protected_ports_of_a_fat_tree_are_the_same_on_any_number_of_threads() {
    for scheme in [HARDENED, TOFINO, IDEAL, FEC] {
        let text = fat_tree(scheme);
        let (one, rows) = run(&text, 1);
        assert!(one.link_ends.iter().map(|end| end.sum.missed).sum::<u64>() > 50, "{scheme}");
        for threads in [2, 3] {
            let (other, other_rows) = run(&text, threads);
            assert_eq!(other.collector.digest(), one.collector.digest(), "{threads} threads, {scheme}");
            assert_eq!(
                (other.link_ends, other_rows),
                (one.link_ends.clone(), rows.clone()),
                "{threads} threads, {scheme}"
            );
        }
    }
}

/// Ports whose dummies, ACKs and departures have no events end up as those that have one for each, also where
/// pauses stop their queues.
#[test]
fn lazy_ports_do_what_ports_with_events_do() {
    let pause = |start: u32, stop: u32| {
        format!("[[pause]]\nlinks = \"switches\"\nclass = 0\nstart = \"{start}us\"\nstop = \"{stop}us\"\n")
    };
    let busy = fat_tree(HARDENED).replace("rate = 2e-3", "rate = 2e-2");
    for more in [String::new(), pause(3, 9), pause(7, 8) + &pause(20, 31)] {
        let text = busy.clone() + &more;
        let (lazy, rows) = run(&text, 1);
        let (eager, eager_rows) = run_with(&text, &Options { time_order: true, ..Options::new(5) });
        assert!(lazy.link_ends.iter().map(|end| end.sum.missed).sum::<u64>() > 500);
        assert_eq!((lazy.link_ends, rows), (eager.link_ends, eager_rows), "{more}");
        assert_eq!(lazy.collector.digest(), eager.collector.digest(), "{more}");
    }
}

/// A sender that keeps only frames that may be requested again does what one does that keeps all, as those of captured
/// links do; also where receivers discard frames that arrive behind a missing one.
#[test]
fn frames_that_certainly_arrive_need_no_copy() {
    let busy = fat_tree(HARDENED).replace("rate = 2e-3", "rate = 2e-2");
    let full = busy.replace("\"400kB\"", "\"9kB\"\nbackpressure = false");
    let captures: Vec<_> = (0..48).map(LinkId).collect();
    for (text, overflows) in [(busy, false), (full, true)] {
        let (few, rows) = run(&text, 1);
        let (all, all_rows) = run_with(&text, &Options { captures: captures.clone(), ..Options::new(5) });
        assert_eq!(few.link_ends.iter().any(|end| end.sum.overflowed > 20), overflows);
        assert_eq!((few.link_ends, rows), (all.link_ends, all_rows));
        assert_eq!(few.collector.digest(), all.collector.digest());
    }
}

fn run(text: &str, threads: usize) -> (Results, Vec<FlowRow>) {
    run_with(text, &Options { threads, ..Options::new(5) })
}

/// Returns recovered and given-up frames of each receiving end.
fn recovered_and_lost(results: &Results) -> Vec<(u64, u64)> {
    let receivers = results.link_ends.iter().filter(|end| end.sum.missed > 0);
    receivers.map(|end| (end.sum.recovered, end.sum.lost)).collect()
}

fn resent(rows: &[FlowRow]) -> u32 {
    rows.iter().map(|row| row.retransmitted_packets).sum()
}

/// Returns both ends of the protected link with this number, in the order of lanes.
fn pair(results: &Results, number: usize) -> (LinkEndCounters, LinkEndCounters) {
    (results.link_ends[2 * number], results.link_ends[2 * number + 1])
}

/// WRITEs over four switches, whose three links all lose frames in the forward direction.
fn path(protect: &str) -> String {
    format!(
        "title = \"path\"\n[topology]\nkind = \"chain\"\nswitches = 4\nhosts_per_end = 1\nrate = \"25Gbps\"\ndelay = \"200ns\"\n\
         [transport]\nmtu = 1024\n[[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\ncount = 30\n\
         [[impair]]\nlinks = \"switches\"\ndirection = \"forward\"\nkind = \"frames\"\nrate = 2e-3\n{protect}"
    )
}

/// Two hosts at `a` send at line rate to hosts at these switches; the link to `b` loses frames.
fn fan_out<T: AsRef<str>>(scheme: &str, rate: &str, to: impl AsRef<[T]>, loss: f64) -> String {
    let loads = to
        .as_ref()
        .iter()
        .map(|to| load(&format!("to_{}", to.as_ref()), &format!("at_{}", to.as_ref()), rate));
    let impair = if loss > 0.0 { impair("a-b", "forward", loss) } else { String::new() };
    star("to", rate) + &loads.collect::<String>() + &impair + &protect(scheme)
}

/// Hosts at these switches send at line rate to two hosts at `a`; both links lose frames.
fn fan_in(scheme: &str, from: &[&str]) -> String {
    let loads = from.iter().map(|from| load(&format!("at_{from}"), &format!("from_{from}"), "100Gbps"));
    let impairs = impair("a-b", "backward", 1e-3) + &impair("a-c", "backward", 1e-3);
    star("from", "100Gbps") + &loads.collect::<String>() + &impairs + &protect(scheme)
}

/// Switches `b` and `c` at `a`; at `a` a host for each of them, named after it.
fn star(at_a: &str, rate: &str) -> String {
    format!(
        "title = \"star\"\n[topology]\nkind = \"graph\"\nrate = \"{rate}\"\ndelay = \"100ns\"\nhosts = [\"{at_a}_b\", \"{at_a}_c\", \"at_b\", \"at_c\"]\n\
         switches = [\"a\", \"b\", \"c\"]\nlinks = [{{ ends = [\"{at_a}_b\", \"a\"] }}, {{ ends = [\"{at_a}_c\", \"a\"] }}, \
         {{ ends = [\"at_b\", \"b\"] }}, {{ ends = [\"at_c\", \"c\"] }}, {{ ends = [\"a\", \"b\"] }}, {{ ends = [\"a\", \"c\"] }}]\n[stop]\nafter = \"4ms\"\n"
    )
}

/// A little less than line rate, so that a link header fits.
fn load(src: &str, dst: &str, rate: &str) -> String {
    let rate = if rate == "25Gbps" { "24.8Gbps" } else { "99.2Gbps" };
    format!(
        "[[workload]]\nkind = \"cbr\"\nframe = 1518\nrate = \"{rate}\"\nsrc = \"{src}\"\ndst = \"{dst}\"\n"
    )
}

fn impair(link: &str, direction: &str, loss: f64) -> String {
    format!("[[impair]]\nlinks = \"{link}\"\ndirection = \"{direction}\"\nkind = \"frames\"\nrate = {loss}\n")
}

fn protect(scheme: &str) -> String {
    format!("[[protect]]\nlinks = \"switches\"\n{scheme}")
}

/// Links from aggregation to core, and one to an edge, lose frames in both directions.
fn fat_tree(scheme: &str) -> String {
    format!(
        "title = \"tree\"\n[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"100Gbps\"\ndelay = \"500ns\"\n[transport]\nmtu = 1024\n\
         [[workload]]\nkind = \"flows\"\nbytes = \"200kB\"\npattern = \"permutation\"\ncount = 4\n\
         [[impair]]\nlinks = \"switches\"\nkind = \"frames\"\nrate = 2e-3\n{}rx_buffer = \"400kB\"\n",
        protect(scheme)
    )
    .replace("by = \"fec(5,2)\"\nrx_buffer = \"400kB\"\n", FEC)
}
