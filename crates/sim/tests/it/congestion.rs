//! ECN marks, CNPs and the reaction of senders: shares, queues, pauses, and equal results on any number of
//! threads.

use crate::common::{run_with, scenario};
use wiremend_measure::{FlowOutcome, FlowRow, Metric};
use wiremend_proto::Packet;
use wiremend_sim::{CapturedFrame, Options, Results};
use wiremend_units::Time;

/// Runs on one and two threads and with scheduled ports; the results must be equal.
fn run(text: &str) -> (Results, Vec<FlowRow>) {
    let options = Options::new(scenario(text).seed.get());
    let (results, rows) = run_with(text, &options);
    for other in [
        Options { threads: 2, ..options.clone() },
        Options { threads: 3, ..options.clone() },
        Options { scheduled_ports: true, ..options },
    ] {
        let (other, other_rows) = run_with(text, &other);
        assert_eq!(other.collector.digest(), results.collector.digest());
        assert_eq!((other.counters.congestion, other_rows.len()), (results.counters.congestion, rows.len()));
    }
    (results, rows)
}

/// The paper's curve at two and a half times its rate, and its parameters.
const PAPER: &str = "[switch.ecn]\nkmin = \"12kB\"\nkmax = \"500kB\"\npmax = 0.01\n";
const HPCC: &str = "[switch.ecn]\nkmin = \"400kB\"\nkmax = \"1600kB\"\npmax = 0.2\n";
const LOSSLESS: &str = "[switch.lossless]\nclasses = [0]\nbuffer = \"12MB\"\n";

/// Streams of many small messages from the first hosts of a chain to the last one, for `ms` milliseconds.
fn streams(senders: u32, ms: u32, congestion: &str, starts_us: &[u32]) -> String {
    let text = format!(
        "title = \"streams\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = {senders}\n\
         [transport]\nwindow = \"unlimited\"\nqp = \"per-pair\"\ncongestion = \"{congestion}\"\n[stop]\nafter = \"{ms}ms\"\n"
    );
    let stream = |sender: u32| {
        let start = starts_us.get(sender as usize).copied().unwrap_or(0);
        format!(
            "[[workload]]\nkind = \"stream\"\nmessage = \"16kB\"\ndepth = 64\nsrc = \"h{sender}\"\ndst = \"last\"\n\
             start = \"{start}us\"\n"
        )
    };
    text + &(0..senders).map(stream).collect::<String>()
}

/// Returns the bytes that each source completed from `from` on.
fn shares(rows: &[FlowRow], sources: u32, from: Time) -> Vec<f64> {
    let bytes_of = |source: u32| {
        let rows = rows.iter().filter(|row| row.src == source && row.outcome == FlowOutcome::Finished);
        rows.filter(|row| row.end_ps >= from.as_ps()).map(|row| row.bytes as f64).sum()
    };
    (0..sources).map(bytes_of).collect()
}

/// Jain, Chiu and Hawe's fairness index.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    sum * sum / (shares.len() as f64 * squares)
}

/// The second flow starts after the first has had the link for 5 ms; 20 ms later both have half of it.
#[test]
fn two_flows_converge_to_fair_shares() {
    for (congestion, curve) in [("dcqcn-paper", PAPER), ("hpcc-lineage", HPCC), ("swift", "")] {
        let text = streams(2, 45, congestion, &[0, 5_000]) + curve + LOSSLESS;
        let (results, rows) = run_with(&text, &Options::new(1));
        let shares = shares(&rows, 2, Time::from_ns(25_000_000));
        let (fair, gbps) = (jain(&shares), shares.iter().sum::<f64>() * 8.0 / 20e6);
        println!("{congestion}: Jain {fair:.4}, {gbps:.1} Gb/s, {:?}", results.counters.congestion);
        assert!(fair >= 0.98, "{congestion}: {shares:?}");
        assert!(gbps > 85.0, "{congestion}: {gbps}");
        assert_eq!(results.counters.dropped_frames.total(), 0);
    }
}

/// 32 hosts send to one at the paper's 40 Gb/s for 25 ms. Also returns the queue at the receiver's link after
/// the first 10 ms.
fn incast(more: &str) -> (Results, Vec<u64>) {
    let text = format!(
        "title = \"incast\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 8\nhosts_per_leaf = 16\nrate = \"40Gbps\"\n\
         [transport]\nwindow = \"unlimited\"\nqp = \"per-pair\"\n{more}[[workload]]\nkind = \"flows\"\npattern = \"incast\"\nsrc = \"h16..h47\"\n\
         dst = \"h0\"\nbytes = \"64kB\"\ncount = 100\n[stop]\nafter = \"25ms\"\n[series]\nevery = \"10us\"\nlinks = \"h0-leaf0\"\n{LOSSLESS}"
    );
    let (results, samples) = crate::common::series(&text, &Options::new(1));
    let (two, _) = crate::common::series(&text, &Options { threads: 2, ..Options::new(1) });
    assert_eq!(two.collector.digest(), results.collector.digest());
    let link = wiremend_units::LinkId(0).backward().0;
    let queue = samples.iter().filter(|sample| {
        sample.metric == Metric::QueueBytes && sample.entity == link && sample.time_ps > 10_000_000_000
    });
    (results, queue.map(|sample| sample.value).collect())
}

/// The queue stays between the marking thresholds. PFC acts only at the start, when all send at line rate.
#[test]
fn an_incast_of_32_keeps_the_queue_between_the_thresholds() {
    let (alone, full) = incast("");
    let (results, mut queue) =
        incast("congestion = \"dcqcn-paper\"\n[switch.ecn]\nkmin = \"5kB\"\nkmax = \"200kB\"\npmax = 0.01\n");
    for run in [&alone, &results] {
        assert_eq!((run.counters.dropped_frames.total(), run.counters.flow_control.lossless_dropped), (0, 0));
    }
    queue.sort_unstable();
    let at = |percent: usize| queue[(queue.len() - 1) * percent / 100];
    let (pfc_alone, pfc) = (alone.counters.flow_control, results.counters.flow_control);
    println!("queue: median {} B, 95 % {} B; {pfc:?} against {pfc_alone:?}", at(50), at(95));
    assert!(full.iter().all(|bytes| *bytes > 4_000_000), "without congestion control the buffer is full");
    assert!(at(95) < 300_000, "every frame is marked above 200 kB: {}", at(95));
    assert!(pfc.paused_ns * 20 < pfc_alone.paused_ns, "{pfc:?} {pfc_alone:?}");
    assert!(pfc.paused_hosts == 0 && pfc_alone.paused_hosts == 32);
}

/// Swift with a target below the base delay goes down to a packet in a thousand round trips. Packets then
/// wait for many timeouts, and only lost frames may cause one.
#[test]
fn windows_below_one_packet_cause_no_spurious_timeout() {
    let hints = "[transport.dcp]\nallowance = 32\nprobe = \"30us\"\n";
    for (recovery, more) in [
        ("selective-repeat", ""),
        ("timeout-only", ""),
        ("rack-tlp", ""),
        ("dcp", "[transport.dcp]\ntimeout = \"1ms\"\n"),
        ("dcp", hints),
    ] {
        let (results, rows) = run(&format!(
            "title = \"tiny windows\"\n[topology]\nkind = \"pair\"\n[switch.trim]\n[transport]\nrecovery = \"{recovery}\"\n\
             congestion = \"swift\"\nqp = \"per-pair\"\n{more}[transport.swift]\nbase_target = \"1us\"\nhop_target = \"0ns\"\n\
             scaling_range = \"0ns\"\n[stop]\nafter = \"9s\"\n[[workload]]\nkind = \"stream\"\nmessage = \"20kB\"\ndepth = 1\n\
             count = 20\n[[impair]]\nkind = \"frames\"\nlinks = \"all\"\nrate = 0.01\n"
        ));
        let timeouts: u64 = rows.iter().map(|row| u64::from(row.timeouts)).sum();
        let lost: u64 = results.lanes.iter().map(|lane| lane.corrupted).sum();
        let finished = rows.iter().filter(|row| row.outcome == FlowOutcome::Finished).count();
        assert!(
            finished == 20 && timeouts <= lost,
            "{recovery}: {finished} of 20, {timeouts} timeouts, {lost} lost"
        );
    }
}

/// A flow shares links with an incast but not its bottleneck: returns how many messages of 100 kB it starts
/// in 4 ms.
#[test]
fn congestion_control_frees_a_victim_of_pfc() {
    let text = wiremend_scenario::builtin::get("victim").expect("it is built in");
    let file = wiremend_scenario::load("victim.toml", text, &[]).expect("it is right");
    let begun: Vec<_> = file
        .variants
        .iter()
        .map(|variant| {
            let simulation =
                wiremend_sim::Simulation::build(&variant.scenario, &crate::common::NoFiles, &Options::new(1))
                    .expect("it can be built");
            let (results, rows) = crate::common::rows_of(simulation);
            assert_eq!(results.counters.flow_control.lossless_dropped, 0);
            let of_victim = rows.iter().filter(|row| row.src == 15 && row.start_ps < 4_000_000_000);
            (variant.name.as_str(), of_victim.count())
        })
        .collect();
    println!("{begun:?}");
    let messages = |name: &str| begun.iter().find(|(variant, _)| *variant == name).expect("a variant").1;
    assert!(messages("PFC") < 10, "each message waits behind the incast: {begun:?}");
    assert!(messages("PFC, DCQCN") > 100 && messages("PFC, Swift") > 100, "{begun:?}");
}

/// CNPs are packets on the wire: 78 bytes, in their class, from the receiver to the sender.
#[test]
fn notifications_are_packets() {
    let text =
        streams(2, 2, "dcqcn-paper", &[]).replace("[transport]\n", "[transport]\ncnp_class = 6\n") + PAPER;
    let (results, frames) = crate::common::capture_with(
        &text,
        &Options { captures: vec![wiremend_units::LinkId(0)], ..Options::new(1) },
    );
    let is_cnp = |captured: &&CapturedFrame| {
        let packet = captured.frame.packet();
        matches!(packet, Some(Packet::Rc(packet)) if packet.opcode == wiremend_wire::Opcode::Cnp)
    };
    let cnps: Vec<_> = frames.iter().filter(is_cnp).collect();
    assert!(
        !cnps.is_empty()
            && results.counters.congestion.cnps_sent >= results.counters.congestion.cnps_received
    );
    for pair in cnps.windows(2) {
        assert!(
            pair[1].time.since(pair[0].time).as_ns() >= 49_000,
            "at most one CNP per 50 us, apart from queueing"
        );
    }
    for captured in cnps {
        assert_eq!((captured.frame.len, captured.frame.class()), (78, 6));
        assert_eq!((captured.frame.src.0, captured.frame.dst.0), (3, 0));
    }
    assert!(frames.iter().any(|captured| captured.frame.ecn() == wiremend_wire::Ecn::Ect0));
}

/// For every seed, number of threads and kind of ports: equal results, and no loss.
#[test]
fn results_do_not_depend_on_threads() {
    let seen: std::collections::BTreeSet<_> = (1..=6)
        .map(|seed| {
            let congestion = ["dcqcn-paper", "hpcc-lineage", "swift"][seed as usize % 3];
            let ecn = "[switch.ecn]\nkmin = \"5kB\"\nkmax = \"100kB\"\npmax = 0.1\n";
            let lossless = if seed % 2 == 0 { LOSSLESS } else { "" };
            let text = format!(
                "title = \"seeds\"\nseed = {seed}\n[topology]\nkind = \"fat-tree\"\nk = 4\n[transport]\ncongestion = \"{congestion}\"\n\
                 [[workload]]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.7\nflows = 60\n{ecn}{lossless}"
            );
            let (results, rows) = run(&text);
            assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished), "{congestion}");
            assert_eq!(results.counters.dropped_frames.buffer, 0);
            assert!(results.counters.congestion.marked > 0, "{congestion}");
            results.collector.digest().to_string()
        })
        .collect();
    assert_eq!(seen.len(), 6);
}
