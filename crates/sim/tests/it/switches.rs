//! The published prototype in a switch with memory: its registers and their limits, without the loopback
//! port.

use crate::common::{run, scenario};
use wiremend_sim::{LinkEndCounters, Options, Results, Simulation};

/// In memory a retransmission takes the round trip of the wire; in the loop as long as was measured (L5).
#[test]
fn with_memory_only_the_wire_delays() {
    let loss = "kind = \"frames\"\nrate = 1e-3\n";
    let (memory, _) = ends(&run(&load("100Gbps", IDEAL, loss)).0);
    let (looped, _) = ends(&run(&load("100Gbps", "", loss)).0);
    // Twice 690 ns, two frames of 1521 B, a notification, and one frame in transmission.
    assert!(
        (1_500..1_900).contains(&memory.sum.recovery_delays.max_ns),
        "{} ns",
        memory.sum.recovery_delays.max_ns
    );
    assert!(looped.sum.recovery_delays.max_ns > 3 * memory.sum.recovery_delays.max_ns);
    assert!(memory.sum.recovered > 20 && memory.sum.lost == 0);
    assert_eq!((memory.sum.rx_recirculations, memory.sum.pauses), (0, 0));
    assert!(looped.sum.rx_recirculations > 1_000 && looped.sum.pauses > 0);
    assert!(memory.sum.delivered > looped.sum.delivered);
}

/// Of seven losses in a row five are requested, and each of the others stalls the receiver for a timeout.
#[test]
fn memory_does_not_add_slots() {
    let lost = |count: u32| {
        let rules =
            format!("kind = \"script\"\nrules = [{{ packet = \"data\", nth = 100, count = {count} }}]\n");
        let (rx, tx) = ends(&run(&load("100Gbps", IDEAL, &rules)).0);
        (rx.sum.missed, rx.sum.recovered, rx.sum.lost, tx.sum.refused)
    };
    assert_eq!(lost(5), (5, 5, 0, 0));
    assert_eq!(lost(7), (7, 5, 2, 2));
}

/// The only notification is lost, and later acknowledgements release the copy.
#[test]
fn memory_does_not_repeat_a_notification() {
    let lost = "kind = \"script\"\nrules = [{ packet = \"data\", nth = 100 }]\n";
    let recovered = |back: &str| {
        let (rx, _) = ends(&run(&(load("100Gbps", IDEAL, lost) + back)).0);
        (rx.sum.notifications, rx.sum.recovered, rx.sum.lost)
    };
    assert_eq!(recovered(""), (1, 1, 0));
    // All frames in the reverse direction for a microsecond around it.
    let silence = "[[impair]]\nlinks = \"s0-s1\"\ndirection = \"backward\"\nkind = \"frames\"\nrate = 1\nstart = \"12us\"\nstop = \"15us\"\n";
    assert_eq!(recovered(silence), (1, 0, 1));
}

/// The pause and resume thresholds also work without a loop.
#[test]
fn memory_pauses_by_the_same_thresholds() {
    let scheme = format!("{IDEAL}pause_at = \"8kB\"\nresume_at = \"4kB\"\n");
    let (rx, tx) = ends(&run(&load("100Gbps", &scheme, "kind = \"frames\"\nrate = 1e-3\n")).0);
    assert!(rx.sum.pauses > 20 && rx.sum.pauses <= rx.sum.missed, "{:?}", rx.sum);
    assert!(tx.sum.paused_ns > 0 && rx.sum.lost == 0 && rx.sum.overflowed == 0);
    // Frames in flight at the pause add to it: 690 ns there and back, and a frame in each direction.
    let most = 8_000 + (2 * 690 + 200) * 100 / 8;
    assert!(rx.sum.rx_buffer_bytes_max < most, "{} of {most} B", rx.sum.rx_buffer_bytes_max);
}

#[test]
fn unpublished_rates_need_explicit_settings() {
    let refusal = |scheme: &str| {
        let text = load("400Gbps", scheme, "kind = \"frames\"\nrate = 1e-3\n");
        Simulation::build(&scenario(&text), &crate::common::NoFiles, &Options::new(1))
            .err()
            .map(|error| error.what)
    };
    assert_eq!(refusal("").unwrap(), "the prototype exists for 10, 25 and 100 Gb/s, not for 400Gbps");
    let some = format!("{IDEAL}give_up = \"7us\"\n");
    assert_eq!(
        refusal(&some).unwrap(),
        "the prototype has no published settings for 400Gbps; give `pause_at`, or a rate of 10, 25 or 100 Gb/s"
    );
    let all = format!("{some}pause_at = \"100kB\"\nresume_at = \"90kB\"\nrx_buffer = \"300kB\"\n");
    assert_eq!(refusal(&all), None);
    let small = all.replace("300kB", "150kB");
    assert!(refusal(&small).unwrap().contains("`rx_buffer` of 150kB is too small"), "{:?}", refusal(&small));
}

const IDEAL: &str = "switch = \"ideal\"\n";

/// Returns the receiving and the sending end.
fn ends(results: &Results) -> (LinkEndCounters, LinkEndCounters) {
    let [tx, rx] = results.link_ends[..] else { panic!("one link is protected") };
    (rx, tx)
}

/// Full frames at nearly line rate over a link that the prototype protects, for 5 ms, with a fault.
fn load(rate: &str, scheme: &str, fault: &str) -> String {
    let wire = rate.replace("00Gbps", "");
    let wire = wire.parse::<u32>().map_or(99.2, |hundreds| f64::from(hundreds) * 99.2);
    format!(
        "title = \"switch\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 1\nrate = \"{rate}\"\ndelay = \"10ns\"\n\
         switch_delay = \"100ns\"\nswitch_latency = \"590ns\"\n[stop]\nafter = \"5ms\"\n\
         [[workload]]\nkind = \"cbr\"\nframe = 1518\nrate = \"{wire}Gbps\"\n\
         [[protect]]\nlinks = \"s0-s1\"\ndirection = \"forward\"\nby = \"linkguardian\"\nprofile = \"prototype\"\ncopies = 2\n{scheme}\
         [[impair]]\nlinks = \"s0-s1\"\ndirection = \"forward\"\n{fault}"
    )
}
