//! Several protected links at one switch: what one of them needs, another must not pay for.

use crate::common::run;
use wiremend_sim::Results;

/// The buffers of the prototype turn through the one loopback port of its switch (LG §4.6): copies of two links at full rate do not fit
/// through it, and what finds no room cannot be sent again. The hardened protocol has its state per link.
#[test]
fn a_second_protected_link_costs_the_first_nothing() {
    let alone_and_beside = |profile| {
        let (alone, beside) = (first_link(profile, false), first_link(profile, true));
        println!("{profile}: {alone:?} alone, {beside:?} beside another");
        assert!(alone.missed > 20 && alone.lost == 0 && alone.unkept == 0, "alone, both mend it");
        (alone, beside)
    };
    let (alone, beside) = alone_and_beside("hardened");
    assert_eq!(beside, alone);
    let (alone, beside) = alone_and_beside("paper");
    assert!(beside.unkept > 0 && beside.lost > beside.missed / 2 && beside.delivered < alone.delivered);
}

/// What becomes of the traffic over the first of two protected links.
#[derive(PartialEq, Eq, Debug)]
struct First {
    delivered: u64,
    missed: u64,
    lost: u64,
    unkept: u64,
}

/// With traffic over the second, or without.
fn first_link(profile: &str, has_neighbour: bool) -> First {
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
    of_first(&results)
}

fn of_first(results: &Results) -> First {
    let [tx, rx, ..] = results.guards[..] else { panic!("two links are protected") };
    assert!(tx.lane.reverse() == rx.lane);
    First {
        delivered: results.hosts[2].rx_frames,
        missed: rx.link.missed,
        lost: rx.link.lost,
        unkept: tx.link.unkept,
    }
}
