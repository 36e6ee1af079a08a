//! Several protected links at one switch do not affect each other.

use crate::common::run;
use wiremend_sim::Results;

/// The prototype buffers frames in the one loopback port of its switch (LG §4.6). It cannot carry the copies
/// of two links at full rate, and rejected copies cannot be retransmitted. The hardened protocol has its
/// state per link.
#[test]
fn a_second_protected_link_costs_the_first_nothing() {
    let alone_and_beside = |profile| {
        let (alone, beside) = (first_link(profile, false), first_link(profile, true));
        println!("{profile}: {alone:?} alone, {beside:?} beside another");
        assert!(
            alone.missed > 20 && alone.lost == 0 && alone.unbuffered == 0,
            "alone, both profiles recover all losses"
        );
        (alone, beside)
    };
    let (alone, beside) = alone_and_beside("hardened");
    assert_eq!(beside, alone);
    let (alone, beside) = alone_and_beside("prototype");
    assert!(beside.unbuffered > 0 && beside.lost > beside.missed / 2 && beside.delivered < alone.delivered);
}

/// Results of the first of two protected links.
#[derive(PartialEq, Eq, Debug)]
struct LinkResult {
    delivered: u64,
    missed: u64,
    lost: u64,
    unbuffered: u64,
}

/// With or without traffic over the second link.
fn first_link(profile: &str, has_neighbour: bool) -> LinkResult {
    let load = |src, dst| {
        format!(
            "[[workload]]\nkind = \"cbr\"\nsrc = \"{src}\"\ndst = \"{dst}\"\nrate = \"90Gbps\"\nframe = 1518\n"
        )
    };
    let loads = load("a", "c") + &if has_neighbour { load("b", "d") } else { String::new() };
    let (results, _) = run(&format!(
        "title = \"neighbours\"\n\
         [topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [\"s\", \"t\", \"u\"]\n\
         delay = \"100ns\"\nswitch_latency = \"590ns\"\nbuffer = \"560kB\"\n\
         links = [{{ ends = [\"s\", \"t\"] }}, {{ ends = [\"s\", \"u\"] }}, {{ ends = [\"a\", \"s\"] }}, \
         {{ ends = [\"b\", \"s\"] }}, {{ ends = [\"c\", \"t\"] }}, {{ ends = [\"d\", \"u\"] }}]\n\
         {loads}[[impair]]\nkind = \"frames\"\nlinks = [\"s-t\", \"s-u\"]\ndirection = \"forward\"\nrate = \"1e-3\"\n\
         [[protect]]\nlinks = [\"s-t\", \"s-u\"]\ndirection = \"forward\"\nby = \"linkguardian\"\nprofile = \"{profile}\"\nloss = \"1e-3\"\n\
         [stop]\nafter = \"6ms\"\n"
    ));
    first_link_counters(&results)
}

fn first_link_counters(results: &Results) -> LinkResult {
    let [tx, rx, ..] = results.link_ends[..] else { panic!("two links are protected") };
    assert!(tx.lane.reverse() == rx.lane);
    LinkResult {
        delivered: results.hosts[2].rx_frames,
        missed: rx.link.missed,
        lost: rx.link.lost,
        unbuffered: tx.link.unbuffered,
    }
}
