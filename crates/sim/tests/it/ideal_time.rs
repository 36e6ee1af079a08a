//! A flow in an empty network takes exactly its ideal time.

#![expect(clippy::float_cmp, reason = "a slowdown of one is exact")]

use wiremend_measure::FlowRow;

use crate::common::run;

const TOPOLOGIES: [&str; 4] = [
    "kind = \"pair\"\ndelay = \"100ns\"",
    "kind = \"chain\"\nswitches = 3\nhost_rate = \"25Gbps\"\nswitch_rate = \"40Gbps\"\nswitch_latency = \"350ns\"",
    "kind = \"fat-tree\"\nk = 4\nhost_rate = \"100Gbps\"\nswitch_rate = \"7Gbps\"\nhost_tx_latency = \"200ns\"\nhost_rx_latency = \"90ns\"",
    "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nswitch_rate = \"400Gbps\"",
];

#[test]
fn slowdown_is_one() {
    for topology in TOPOLOGIES {
        for operation in ["write", "send", "read"] {
            for bytes in [0, 1, 1000, 1024, 1025, 2048, 100_000, 3_000_001] {
                let (results, rows) = run(&format!(
                    "title = \"alone\"\n[topology]\n{topology}\n[transport]\noperation = \"{operation}\"\n\
                     [[workload]]\nkind = \"flows\"\nbytes = \"{bytes}B\"\npattern = \"point-to-point\"\n"
                ));
                assert_eq!(rows.len(), 1);
                assert_eq!(
                    rows[0].slowdown(),
                    1.0,
                    "{operation} of {bytes} B over\n{topology}: {:?}",
                    rows[0]
                );
                assert_eq!(results.in_flight, 0);
                assert!(rows[0].delivered_ps.is_some_and(|at| at <= rows[0].end_ps));
            }
        }
    }
}

/// In a network of equal links an ideal time depends on the number of links, the size and the protocol alone.
#[test]
fn flows_over_paths_of_different_length_take_their_own_ideal_times() {
    for protocol in ["rdma", "tcp"] {
        let (_, mut rows) = run(&format!(
            "title = \"apart\"\n[topology]\nkind = \"fat-tree\"\nk = 4\n[transport]\nprotocol = \"{protocol}\"\n\
             [[workload]]\nkind = \"list\"\nfile = \"apart.csv\"\n"
        ));
        rows.sort_by_key(|row| row.flow);
        assert_eq!(rows.iter().map(FlowRow::slowdown).collect::<Vec<_>>(), [1.0; 8], "{protocol}");
        let [near, pod, far, far_again] = [0, 1, 2, 3].map(|flow: usize| rows[flow].ideal_ps);
        assert!(near < pod && pod < far && far == far_again && rows[4].ideal_ps < far);
    }
}

/// Two hosts, one switch, 100G, 100 ns: every term computed by hand.
#[test]
fn one_packet_takes_its_serializations_and_delays() {
    let (_, rows) =
        run("title = \"one\"\n[topology]\nkind = \"pair\"\ndelay = \"100ns\"\nswitch_latency = \"300ns\"\n\
         [[workload]]\nkind = \"flows\"\nbytes = \"1024B\"\npattern = \"point-to-point\"\n");
    let (data, ack) = ((1102 + 20) * 80, (66 + 20) * 80);
    assert_eq!(rows[0].delivered_ps, Some(2 * (data + 100_000) + 300_000));
    assert_eq!(rows[0].end_ps, 2 * (data + 100_000) + 300_000 + 2 * (ack + 100_000) + 300_000);
}

#[test]
fn a_paced_connection_keeps_its_rate() {
    let (_, rows) = run("title = \"paced\"\n[topology]\nkind = \"pair\"\n[transport]\nrate = \"10Gbps\"\n\
         [[workload]]\nkind = \"flows\"\nbytes = \"10MB\"\npattern = \"point-to-point\"\n");
    let seconds = rows[0].fct().as_secs_f64();
    let wire_bits = 10_000_000.0 * 8.0 * (1086.0 + 20.0) / 1024.0;
    assert!((wire_bits / seconds / 10e9 - 1.0).abs() < 1e-3, "{seconds}");
}

#[test]
fn a_list_starts_each_flow_at_its_time() {
    let (_, mut rows) = run(
        "title = \"list\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"list\"\nfile = \"two.csv\"\n",
    );
    rows.sort_by_key(|row| row.flow);
    assert_eq!([rows[0].start_ps, rows[1].start_ps], [0, 250_000]);
    assert_eq!([(rows[0].src, rows[0].bytes), (rows[1].src, rows[1].bytes)], [(0, 5000), (1, 100)]);
}

/// An open-loop load sends at its rate, its sink counts it, and it stops on time.
#[test]
fn a_constant_load_keeps_its_rate_and_stops() {
    let (results, rows) = run(
        "title = \"cbr\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"cbr\"\nrate = \"10Gbps\"\n\
         frame = 1000\nstart = \"10us\"\nstop = \"110us\"\n",
    );
    // 100 µs at 10 Gb/s are 125 000 bytes, and a frame takes 1020 of them.
    assert_eq!(results.hosts[0].tx_frames, 123);
    assert_eq!(results.hosts[1].raw_frames + results.in_flight, 123);
    assert_eq!((results.end_reason, rows.len()), (wiremend_sim::EndReason::Complete, 0));
}

#[test]
fn frames_that_cross_too_many_switches_are_dropped() {
    let (results, _) = run(
        "title = \"ttl\"\n[topology]\nkind = \"chain\"\nswitches = 3\n[[workload]]\nkind = \"cbr\"\nrate = \"10Gbps\"\n\
         ttl = 2\nstop = \"10us\"\n",
    );
    let sent: u64 = results.hosts.iter().map(|host| host.tx_frames).sum();
    assert!(sent > 0);
    assert_eq!(results.counters.dropped_frames.ttl + results.in_flight, sent);
}
