//! The published prototype in a switch with memory: its registers and their limits are there, its loop is not.

use crate::common::{run, scenario};
use wiremend_sim::{EndCounters, Options, Results, Simulation};

/// In memory a frame that is sent again takes the wire's round trip, and in a loop as long as was measured (L5).
#[test]
fn memory_leaves_only_the_wire() {
    let loss = "kind = \"frames\"\nrate = 1e-3\n";
    let (memory, _) = ends(&run(&load("100Gbps", IDEAL, loss)).0);
    let (turning, _) = ends(&run(&load("100Gbps", "", loss)).0);
    // Twice 690 ns, two frames of 1521 B, a notification, and one frame that is leaving.
    assert!((1_500..1_900).contains(&memory.sum.delays.max_ns), "{} ns", memory.sum.delays.max_ns);
    assert!(turning.sum.delays.max_ns > 3 * memory.sum.delays.max_ns);
    assert!(memory.sum.recovered > 20 && memory.sum.lost == 0);
    assert_eq!((memory.sum.rx_passes, memory.sum.pauses), (0, 0));
    assert!(turning.sum.rx_passes > 1_000 && turning.sum.pauses > 0);
    assert!(memory.sum.handed_on > turning.sum.handed_on);
}

/// Of seven in a row, five are asked for, and each of the others stalls the receiver for a time-out.
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

/// The one notification is lost, and later acknowledgements have the copy thrown away.
#[test]
fn memory_does_not_repeat_a_notification() {
    let lost = "kind = \"script\"\nrules = [{ packet = \"data\", nth = 100 }]\n";
    let recovered = |back: &str| {
        let (rx, _) = ends(&run(&(load("100Gbps", IDEAL, lost) + back)).0);
        (rx.sum.notifications, rx.sum.recovered, rx.sum.lost)
    };
    assert_eq!(recovered(""), (1, 1, 0));
    // All that goes back for a microsecond around it.
    let silence = "[[impair]]\nlinks = \"s0-s1\"\ndirection = \"backward\"\nkind = \"frames\"\nrate = 1\nstart = \"12us\"\nstop = \"15us\"\n";
    assert_eq!(recovered(silence), (1, 0, 1));
}

/// Thresholds hold without a loop too: a pause when so much waits, and its end when so little does.
#[test]
fn memory_pauses_by_the_same_thresholds() {
    let way = format!("{IDEAL}pause_at = \"8kB\"\nresume_at = \"4kB\"\n");
    let (rx, tx) = ends(&run(&load("100Gbps", &way, "kind = \"frames\"\nrate = 1e-3\n")).0);
    assert!(rx.sum.pauses > 20 && rx.sum.pauses <= rx.sum.missed, "{:?}", rx.sum);
    assert!(tx.sum.paused_ns > 0 && rx.sum.lost == 0 && rx.sum.overflowed == 0);
    // What is under way when the pause is asked for comes on top: 690 ns there and back, and a frame each way.
    let most = 8_000 + (2 * 690 + 200) * 100 / 8;
    assert!(rx.sum.rx_buffer_bytes_max < most, "{} of {most} B", rx.sum.rx_buffer_bytes_max);
}

#[test]
fn rates_for_which_nothing_was_published_need_numbers() {
    let refusal = |way: &str| {
        let text = load("400Gbps", way, "kind = \"frames\"\nrate = 1e-3\n");
        Simulation::build(&scenario(&text), &crate::common::NoFiles, &Options::new(1))
            .err()
            .map(|error| error.what)
    };
    assert_eq!(refusal("").unwrap(), "the prototype was built for 10, 25 and 100 Gb/s, not for 400Gbps");
    let some = format!("{IDEAL}give_up = \"7us\"\n");
    assert_eq!(
        refusal(&some).unwrap(),
        "nothing was published about the prototype at 400Gbps; give `pause_at`, or a rate of 10, 25 or 100 Gb/s"
    );
    let all = format!("{some}pause_at = \"100kB\"\nresume_at = \"90kB\"\nrx_buffer = \"300kB\"\n");
    assert_eq!(refusal(&all), None);
    let small = all.replace("300kB", "150kB");
    assert!(refusal(&small).unwrap().contains("`rx_buffer` of 150kB is too small"), "{:?}", refusal(&small));
}

const IDEAL: &str = "switch = \"ideal\"\n";

/// The receiving end and the sending one.
fn ends(results: &Results) -> (EndCounters, EndCounters) {
    let [tx, rx] = results.guards[..] else { panic!("one link is protected") };
    (rx, tx)
}

/// Full frames at nearly line rate over a link that the prototype protects, for 5 ms; this happens to them.
fn load(rate: &str, way: &str, fault: &str) -> String {
    let wire = rate.replace("00Gbps", "");
    let wire = wire.parse::<u32>().map_or(99.2, |hundreds| f64::from(hundreds) * 99.2);
    format!(
        "title = \"switch\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 1\nrate = \"{rate}\"\ndelay = \"10ns\"\n\
         switch_delay = \"100ns\"\nswitch_latency = \"590ns\"\n[stop]\nafter = \"5ms\"\n\
         [[workload]]\nkind = \"cbr\"\nframe = 1518\nrate = \"{wire}Gbps\"\n\
         [[protect]]\nlinks = \"s0-s1\"\ndirection = \"forward\"\nby = \"linkguardian\"\nprofile = \"paper\"\ncopies = 2\n{way}\
         [[impair]]\nlinks = \"s0-s1\"\ndirection = \"forward\"\n{fault}"
    )
}
