//! Load balancing of switches over equal-cost paths.

use crate::common::{run, run_with};
use wiremend_measure::FlowOutcome;
use wiremend_sim::{Options, Results};
use wiremend_units::LaneId;

/// Four hosts at each of two leaves, and four spines.
fn fabric(balance: &str, rest: &str) -> String {
    format!(
        "title = \"lanes\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 4\nrate = \"100Gbps\"\n{rest}\n\
         [switch]\nbalance = \"{balance}\"\n"
    )
}

/// An open-loop load from the first leaf to the other; its receivers ignore reordering.
fn load(hosts: u32, rate: &str) -> String {
    let one = |src| {
        format!(
            "[[workload]]\nkind = \"cbr\"\nsrc = {src}\ndst = {}\nframe = 1000\nrate = \"{rate}\"\nstop = \"400us\"\n",
            src + 4
        )
    };
    (0..hosts).map(one).collect()
}

/// Returns the frames from the first leaf to each spine. Links 0 to 7 are those of hosts, 8 to 11 those of
/// the first leaf.
fn frames_to_spines(results: &Results) -> [u64; 4] {
    [8, 9, 10, 11].map(|link| results.lanes[LaneId(link * 2).index()].tx_frames)
}

#[test]
fn ecmp_uses_one_path_and_spraying_all_paths() {
    let lanes = |balance: &str| frames_to_spines(&run(&(fabric(balance, "") + &load(1, "80Gbps"))).0);
    let [hash, spray, adaptive] = ["ecmp", "spray", "adaptive"].map(lanes);
    assert_eq!(hash.iter().filter(|frames| **frames > 0).count(), 1, "{hash:?}");
    for lanes in [spray, adaptive] {
        let mean = lanes.iter().sum::<u64>() / 4;
        assert!(mean > 900 && lanes.iter().all(|frames| frames.abs_diff(mean) < mean / 8), "{lanes:?}");
    }
    // One load leaves the queues empty, so every choice of the adaptive switch is a tie.
}

#[test]
fn adaptive_routing_follows_capacity_and_spraying_overloads_it() {
    // Three paths of 100 Gb/s and one of 20: 320 together, with a load of 280.
    let slow = "[[topology.link]]\nlinks = \"leaf0-spine3\"\nrate = \"20Gbps\"\n";
    let run_balance = |balance: &str| {
        let text = fabric(balance, &format!("buffer = \"200kB\"\n{slow}")) + &load(4, "70Gbps");
        let results = run(&text).0;
        (frames_to_spines(&results), results.counters.dropped_frames.buffer)
    };
    let ([.., slow], dropped) = run_balance("adaptive");
    assert_eq!(dropped, 0, "280 Gb/s fit into the paths");
    // 20 of 320 Gb/s; its queue is as short as the others.
    assert!((600..1_200).contains(&slow), "{slow}");
    let ([.., slow], dropped) = run_balance("spray");
    // A quarter of 280 Gb/s is 70, on a path of 20.
    assert!(slow < 1_300 && dropped > 1_500, "{slow} {dropped}");
}

#[test]
fn a_flowlet_without_gaps_keeps_its_path() {
    let steady = frames_to_spines(&run(&(fabric("flowlet", "") + &load(1, "80Gbps"))).0);
    assert_eq!(steady.iter().filter(|frames| **frames > 0).count(), 1, "{steady:?}");
    // Frames of 1020 bytes at 1 Gb/s are 8 µs apart.
    let text = fabric("flowlet", "").replace("balance", "flowlet_gap = \"5us\"\nbalance") + &load(1, "1Gbps");
    let broken = frames_to_spines(&run(&text).0);
    assert!(broken.iter().all(|frames| *frames > 2), "{broken:?}");
}

#[test]
fn balancing_does_not_depend_on_threads_or_port_kinds() {
    for balance in ["spray", "adaptive", "flowlet"] {
        for rest in [
            "",
            "buffer = \"40kB\"\n",
            "delay = \"100ns\"\n[switch.lossless]\nclasses = [0]\nbuffer = \"1MB\"\n",
        ] {
            let text = fabric(balance, rest);
            let text = if rest.contains("lossless") { reordered(&text) } else { text };
            let text = text
                + "[transport]\ntimeout = 6\n[[workload]]\nkind = \"flows\"\nbytes = \"200kB\"\npattern = \"full-mesh\"\n";
            let (one, rows) = run_with(&text, &Options::new(3));
            assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished), "{balance} {rest}");
            for (threads, scheduled_ports) in [(2, false), (3, false), (1, true)] {
                let (other, other_rows) =
                    run_with(&text, &Options { threads, scheduled_ports, ..Options::new(3) });
                assert_eq!(rows, other_rows, "{balance} {rest}: {threads} threads, {scheduled_ports}");
                assert_eq!(one.collector.digest(), other.collector.digest(), "{balance} {rest}");
            }
        }
    }
}

/// TOML needs `[switch]` before its subtables.
fn reordered(text: &str) -> String {
    let (start, rest) = text.split_once("[switch.lossless]").unwrap();
    let (lossless, switch) = rest.split_once("[switch]").unwrap();
    format!("{start}[switch]{switch}[switch.lossless]{lossless}")
}

#[test]
fn a_note_warns_if_the_scheme_takes_reordering_for_loss() {
    let notes = |balance: &str| run(&(fabric(balance, "") + &load(1, "1Gbps"))).0.notes;
    assert!(notes("ecmp").is_empty());
    assert_eq!(
        notes("spray"),
        ["switches spray packets, and go-back-n takes every reordered packet for a loss"]
    );
}

#[test]
fn data_centres_are_joined_by_long_links() {
    let text = "title = \"far\"\n[topology]\nkind = \"cross-dc\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nlong_delay = \"5ms\"\n\
        long_links = 1\ndelay = \"1us\"\n[[workload]]\nkind = \"flows\"\nbytes = \"1kB\"\npattern = \"point-to-point\"\n\
        src = [0, 0]\ndst = [2, 4]\n[transport]\ntimeout = 20\n";
    let (results, rows) = run(text);
    assert_eq!(rows.len(), 2);
    let fct = |dst: u32| rows.iter().find(|row| row.dst == dst).unwrap().fct().as_ns() / 1000;
    // Four links in each direction, and the long one between the data centres.
    assert_eq!((fct(2), fct(4)), (8, 10_008));
    // In each data centre eight host links and four between leaves and spines, then the long one.
    assert_eq!(results.lanes.len(), 2 * (2 * (4 + 4) + 1));
    let two = run_with(text, &Options { threads: 2, ..Options::new(1) }).0;
    assert_eq!(two.collector.digest(), results.collector.digest());
}

#[test]
fn switches_can_have_different_buffers() {
    let text = |entry: &str| {
        fabric("ecmp", "buffer = \"1MB\"\n")
            + entry
            + "[stop]\nafter = \"300us\"\n"
            + &load(4, "90Gbps").replace("dst = 5", "dst = 4").replace("dst = 6", "dst = 4")
    };
    let dropped = |entry: &str| run(&text(entry)).0.counters.dropped_frames.buffer;
    let usual = dropped("");
    let less = dropped("[[switch.buffer]]\nswitches = [\"leaf1\"]\nbytes = \"10kB\"\n");
    let also_less = dropped("[[switch.buffer]]\nswitches = \"edge\"\nbytes = \"10kB\"\n");
    assert!(usual < less && less <= also_less, "{usual} {less} {also_less}");
}
