//! Lossless switches: no frame is dropped, pauses reach the right ports, and lost PFC frames have a measured
//! cost.

use crate::common::{capture_with, run_with, scenario};
use wiremend_measure::{FlowControl, FlowOutcome, FlowRow};
use wiremend_proto::pfc::HeadroomParams;
use wiremend_scenario::Scenario;
use wiremend_sim::{Header, Options, Results, Simulation};
use wiremend_units::{Bytes, LaneId, LinkId, NodeId, Rate, Span, Time};

/// Runs on one, two and three threads, and with scheduled ports; the results must be equal.
fn run(text: &str) -> (Results, Vec<FlowRow>) {
    let options = Options::new(scenario(text).seed.get());
    let (results, rows) = run_with(text, &options);
    for other in [
        Options { threads: 2, ..options.clone() },
        Options { threads: 3, ..options.clone() },
        Options { scheduled_ports: true, ..options.clone() },
    ] {
        let (other, _) = run_with(text, &other);
        assert_eq!(other.collector.digest(), results.collector.digest());
        assert_eq!(other.counters, results.counters);
    }
    (results, rows)
}

fn all_finished(rows: &[FlowRow]) -> bool {
    rows.iter().all(|row| row.outcome == FlowOutcome::Finished)
}

/// Hosts of one leaf send to another; those of a third leaf send to neither.
const FABRIC: &str = "title = \"lossless\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 8\n\
    [transport]\nclass = 3\nwindow = \"unlimited\"\n[[workload]]\nkind = \"flows\"\npattern = \"incast\"\nbytes = \"1MB\"\n";

fn lossless(more: &str) -> String {
    format!("[switch.lossless]\nclasses = [3]\nbuffer = \"2MB\"\n{more}")
}

#[test]
fn an_incast_loses_nothing_and_pauses_its_senders() {
    let (results, rows) = run(&(FABRIC.to_owned() + &lossless("")));
    let pfc = results.counters.flow_control;
    assert!(all_finished(&rows) && rows.len() == 23);
    assert_eq!((results.counters.dropped_frames.buffer, pfc.lossless_dropped), (0, 0));
    assert_eq!((results.counters.retransmitted_packets, results.counters.timeouts.total()), (0, 0));
    assert!(pfc.pauses > 100 && pfc.resumes == pfc.pauses, "{pfc:?}");
    assert_eq!((pfc.received + results.in_flight, pfc.corrupted), (pfc.frames, 0));
    assert!(pfc.paused_hosts >= 23 && pfc.paused_ports > pfc.paused_hosts, "{pfc:?}");
    assert!(pfc.buffer_bytes_max <= 2_000_000 && pfc.headroom_bytes_max > 0);
    // Without PFC the same buffer, divided among the ports, overflows.
    let lossy = FABRIC.replace("hosts_per_leaf = 8\n", "hosts_per_leaf = 8\nbuffer = \"200kB\"\n");
    assert!(run_with(&lossy, &Options::new(1)).0.counters.dropped_frames.buffer > 1_000);
}

/// Two hosts at one switch whose port to the second is slower: PFC throttles the first.
fn slow_port(delay: &str, more: &str) -> String {
    format!(
        "title = \"slow port\"\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [\"x\"]\n\
         links = [{{ ends = [\"a\", \"x\"], rate = \"100Gbps\", delay = \"{delay}\" }}, \
         {{ ends = [\"b\", \"x\"], rate = \"10Gbps\", delay = \"10ns\" }}]\n[stop]\nafter = \"3ms\"\n\
         [[workload]]\nkind = \"cbr\"\nsrc = \"a\"\ndst = \"b\"\nclass = 3\nrate = \"100Gbps\"\nframe = 1500\nstop = \"1ms\"\n\
         [switch.lossless]\nclasses = [3]\nbuffer = \"3MB\"\n{more}"
    )
}

fn flow_control(text: &str) -> FlowControl {
    run(text).0.counters.flow_control
}

/// The headroom bound is sufficient and tight: two frames less, beyond the slack of an idle reverse path, are
/// too little.
#[test]
fn computed_headroom_is_sufficient_and_tight() {
    for (delay, there) in [("10ns", 10), ("1us", 1_000), ("40us", 40_000)] {
        let there = Span::from_ns(there);
        let frame_max = Bytes::new(1_500);
        let reach = HeadroomParams {
            rate: Rate::gbps(100),
            inbound_delay: there,
            pause_delay: there,
            reaction: Span::ZERO,
            frame_max,
            copies: 1,
        };
        let enough = reach.headroom().get();
        // The port to the second host is blocked: bytes after the threshold stay in the buffer.
        let still = |more: &str| {
            slow_port(delay, more)
                + "[[pause]]\nlinks = \"b-x\"\ndirection = \"backward\"\nclass = 3\nstop = \"500us\"\n"
        };
        let pfc = flow_control(&still(""));
        assert_eq!(pfc.lossless_dropped, 0, "{delay}");
        assert!(pfc.headroom_bytes_max <= enough, "{} of {enough} B", pfc.headroom_bytes_max);
        // PFC frames wait for no other frame here: one frame of slack, and half a frame by phase.
        let slack = enough - pfc.headroom_bytes_max;
        // Preambles and gaps take time but no bytes.
        let gaps = enough * 20 / 1_520;
        assert!(slack <= 3 * 1_520 + gaps, "{delay}: {slack} B of {enough} B are unused");
        let less = pfc.headroom_bytes_max - 1;
        let pfc = flow_control(&still(&format!("headroom = \"{less}B\"\n")));
        assert!(pfc.lossless_dropped > 0 && pfc.headroom_bytes_max <= less, "{delay}: {pfc:?}");
    }
}

/// A longer reaction time needs more headroom; the computed value includes it.
#[test]
fn headroom_includes_the_reaction_time() {
    let slow = slow_port("100ns", "reaction = \"5us\"\n");
    let pfc = flow_control(&slow);
    assert_eq!(pfc.lossless_dropped, 0);
    assert!(pfc.headroom_bytes_max > 55_000, "{pfc:?}");
    let pfc = flow_control(&format!("{slow}headroom = \"20kB\"\n"));
    assert!(pfc.lossless_dropped > 0, "{pfc:?}");
}

/// Frames in both directions and of several sizes, on links of different rates, so that PFC frames wait for
/// frames in transmission.
#[test]
fn headroom_suffices_if_pfc_frames_wait() {
    for (frame, back) in [(9_216, 9_216), (64, 9_216), (9_216, 64), (700, 1_500)] {
        let load = |src: &str, dst: &str, frame: u32| {
            format!(
                "[[workload]]\nkind = \"cbr\"\nsrc = \"{src}\"\ndst = \"{dst}\"\nclass = 3\nrate = \"90Gbps\"\nframe = {frame}\n\
                 stop = \"150us\"\n"
            )
        };
        let text = format!(
            "title = \"both ways\"\n[topology]\nkind = \"chain\"\nswitches = 3\nhosts_per_end = 3\nrate = \"100Gbps\"\n\
             switch_rate = \"40Gbps\"\nswitch_latency = \"300ns\"\n[stop]\nafter = \"1ms\"\n[switch.lossless]\nclasses = [3]\n{}{}{}{}",
            load("h0", "h3", frame),
            load("h1", "h4", frame),
            load("h3", "h0", back),
            load("h5", "h2", back)
        );
        let (results, _) = run(&text);
        let pfc = results.counters.flow_control;
        assert!(pfc.pauses > 0 && pfc.lossless_dropped == 0, "{frame} {back}: {pfc:?}");
    }
}

/// A paused port also pauses hosts that do not send through it: congestion spreads to a victim.
#[test]
fn pauses_reach_the_hosts_and_a_victim() {
    let text = format!(
        "title = \"cascade\"\n[topology]\nkind = \"chain\"\nswitches = 3\nhosts_per_end = 2\n[transport]\nclass = 3\nwindow = \"unlimited\"\n\
         [stop]\nafter = \"4ms\"\n\
         [[workload]]\nkind = \"cbr\"\nsrc = \"h0\"\ndst = \"h2\"\nclass = 3\nrate = \"90Gbps\"\nframe = 1500\nstop = \"1ms\"\n\
         [[workload]]\nkind = \"flows\"\nsrc = \"h1\"\ndst = \"h3\"\npattern = \"point-to-point\"\nbytes = \"1MB\"\nstart = \"200us\"\n\
         [[pause]]\nlinks = \"h2-s2\"\ndirection = \"backward\"\nclass = 3\nstop = \"1ms\"\n{}",
        lossless("")
    );
    let (results, rows) = run(&text);
    let pfc = results.counters.flow_control;
    assert_eq!((pfc.lossless_dropped, pfc.paused_hosts), (0, 2), "{pfc:?}");
    assert!(
        all_finished(&rows) && rows[0].fct() > Span::from_us(700),
        "it waits for a port that it does not use"
    );
    let simulation = Simulation::build(&scenario(&text), &crate::common::NoFiles, &Options::new(1)).unwrap();
    let graph = simulation.graph();
    let paused = |name: &str| {
        let lane = graph.lane_by_name(name).unwrap_or_else(|| panic!("{name}"));
        results.port_pauses.iter().find(|port| port.lane == lane).map_or(Span::ZERO, |port| port.paused[3])
    };
    for lane in ["s1>s2", "s0>s1", "h0>s0", "h1>s0"] {
        assert!(paused(lane) > Span::from_us(500), "{lane}: {}", paused(lane));
    }
    assert!(pfc.refreshes > 0, "a pause of 336 us is refreshed");
}

/// PFC frames are on the wire, and no frame of the class follows until the pause ends.
#[test]
fn a_host_obeys_pfc_frames() {
    let text = slow_port("1us", "");
    let captures = vec![LinkId(0)];
    let (_, frames) = capture_with(&text, &Options { captures, ..Options::new(1) });
    let pfc_frames: Vec<_> = frames
        .iter()
        .filter_map(|captured| match captured.header {
            Some(Header::Pfc(classes)) => {
                Some((captured.time, captured.lane, captured.frame.len, classes[3].unwrap().0))
            }
            _ => None,
        })
        .collect();
    assert!(pfc_frames.len() > 10);
    assert!(pfc_frames.iter().all(|(_, lane, len, _)| (*lane, *len) == (LinkId(0).backward(), 64)));
    // Pauses and resumes alternate here, each sent once.
    for (number, (_, _, _, quanta)) in pfc_frames.iter().enumerate() {
        assert_eq!(*quanta, if number % 2 == 0 { 65_535 } else { 0 }, "{number}");
    }
    // 64 B with preamble and gap take 6.72 ns, and the propagation 1 us.
    let arrival = |time: Time| time + Span::from_ps(6_720) + Span::from_us(1);
    let sent: Vec<_> = frames
        .iter()
        .filter(|captured| captured.lane == LinkId(0).forward())
        .map(|captured| captured.time)
        .collect();
    for pair in pfc_frames.chunks_exact(2) {
        let (stop, go) = (arrival(pair[0].0), arrival(pair[1].0));
        assert!(
            !sent.iter().any(|start| *start > stop && *start < go),
            "no frame starts from {stop} to {go}"
        );
        assert!(sent.contains(&go), "a frame starts at the resume");
    }
}

/// Every second PFC frame is lost at the start, including pauses and resumes.
#[test]
fn corrupted_pfc_frames_overrun_headroom_until_they_stop() {
    let fault = "[[impair]]\nlinks = \"a-x\"\ndirection = \"backward\"\nkind = \"every\"\nn = 2\n";
    let text = slow_port("1us", "quanta = 1000\n") + fault;
    let (results, _) = run(&text);
    let pfc = results.counters.flow_control;
    assert!(pfc.corrupted > 0 && pfc.lossless_dropped > 0, "{pfc:?}");
    assert_eq!(pfc.frames, pfc.received + pfc.corrupted);
    assert_eq!(results.counters.dropped_frames.buffer, pfc.lossless_dropped);
    assert_eq!(flow_control(&slow_port("1us", "quanta = 1000\n")).lossless_dropped, 0);
    // All resumes are lost: each pause ends by its timer, and the load continues in between.
    let only_first = "[[impair]]\nlinks = \"a-x\"\ndirection = \"backward\"\nkind = \"script\"\nrules = [{ packet = \"any\", nth = 2 }]\n";
    let (results, _) = run(&(slow_port("1us", "quanta = 60000\n") + only_first));
    let pfc = results.counters.flow_control;
    assert_eq!((pfc.corrupted, pfc.lossless_dropped), (1, 0), "{pfc:?}");
    let host = results.port_pauses.iter().find(|port| port.lane == LinkId(0).forward()).unwrap();
    assert!(host.paused[3] > Span::from_us(300), "60000 quanta are 307 us: {}", host.paused[3]);
    assert!(results.hosts[1].raw_frames > 500, "the load continued");
}

/// The excess until the pause is refreshed: (100 − 10) Gb/s for half of the quanta.
#[test]
fn a_lost_pause_costs_the_bytes_until_its_refresh() {
    let lost = "[[impair]]\nlinks = \"a-x\"\ndirection = \"backward\"\nkind = \"script\"\nrules = [{ packet = \"any\", nth = 1 }]\n";
    for (quanta, expected) in [(65_535_u64, 1_242), (30_000, 568), (10_000, 189), (3_000, 57), (1_000, 19)] {
        assert_eq!(expected, (quanta * 512 * 9 / 10 / 2 + 6_080) / (1_520 * 8));
        let pfc = flow_control(&(slow_port("1us", &format!("quanta = {quanta}\n")) + lost));
        assert_eq!(pfc.corrupted, 1);
        assert!(
            pfc.lossless_dropped.abs_diff(expected) <= 3,
            "{quanta}: {} of {expected}",
            pfc.lossless_dropped
        );
    }
}

/// One frame in a hundred is corrupted, PFC frames too. Three copies are almost never all lost.
#[test]
fn copies_of_pfc_frames_avoid_the_cost_of_lost_pauses() {
    let fault = "[[impair]]\nlinks = \"a-x\"\ndirection = \"backward\"\nkind = \"frames\"\nrate = 0.01\n";
    let dropped = |copies: u8| {
        let text =
            slow_port("1us", &format!("copies = {copies}\n")).replace("1ms", "20ms").replace("3ms", "25ms");
        flow_control(&(text + fault))
    };
    let (once, thrice) = (dropped(1), dropped(3));
    assert!(once.corrupted > 0 && once.lossless_dropped > 1_000, "{once:?}");
    assert!(thrice.corrupted > once.corrupted && thrice.lossless_dropped == 0, "{thrice:?}");
    assert!(thrice.frames > 2 * once.frames && thrice.pauses.abs_diff(once.pauses) < once.pauses / 5);
}

/// DCP's cross-DC figures (claim D4): 48 ports need 600 MB of headroom for 100 km at 100 Gb/s, and 6 GB for
/// 1000 km.
#[test]
fn headroom_for_long_fibres_is_two_bandwidth_delay_products() {
    for (km, gbps, per_port_mb) in
        [(100, 100, 12.5), (100, 400, 50.0), (1_000, 100, 125.0), (1_000, 400, 500.0)]
    {
        let there = Span::from_us(km * 5);
        let frame_max = Bytes::new(1_500);
        let reach = HeadroomParams {
            rate: Rate::gbps(gbps),
            inbound_delay: there,
            pause_delay: there,
            reaction: Span::ZERO,
            frame_max,
            copies: 1,
        };
        let enough = reach.headroom().get();
        let text = format!(
            "title = \"{km} km\"\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [\"x\"]\nrate = \"{gbps}Gbps\"\n\
             links = [{{ ends = [\"a\", \"x\"], delay = \"{}us\" }}, {{ ends = [\"b\", \"x\"], delay = \"10ns\" }}]\n\
             [stop]\nafter = \"{}us\"\n[[workload]]\nkind = \"cbr\"\nsrc = \"a\"\ndst = \"b\"\nclass = 3\nrate = \"{gbps}Gbps\"\nframe = 1500\n\
             [[pause]]\nlinks = \"b-x\"\ndirection = \"backward\"\nclass = 3\n\
             [switch.lossless]\nclasses = [3]\nbuffer = \"{}B\"\n",
            km * 5,
            km * 20,
            enough + 600_000
        );
        let pfc = run_with(&text, &Options::new(1)).0.counters.flow_control;
        println!(
            "{km} km, {gbps} Gb/s: {enough} B computed, {} B used, 48 ports {} MB",
            pfc.headroom_bytes_max,
            48 * enough / 1_000_000
        );
        assert_eq!((pfc.lossless_dropped, pfc.paused_hosts), (0, 1));
        assert!(pfc.headroom_bytes_max <= enough && pfc.headroom_bytes_max * 100 >= enough * 98);
        assert!((enough as f64 / 1e6 / per_port_mb - 1.0).abs() < 0.001);
    }
}

/// A permanent pause is refreshed for ever; flows end by their retries.
#[test]
fn a_pause_lasts_while_it_is_refreshed() {
    let text = slow_port("100ns", "quanta = 1000\n")
        + "[[pause]]\nlinks = \"b-x\"\ndirection = \"backward\"\nclass = 3\nstart = \"20us\"\n";
    let (results, _) = run(&text);
    let pfc = results.counters.flow_control;
    let host = results.port_pauses.iter().find(|port| port.lane == LinkId(0).forward()).unwrap();
    // 1000 quanta are 5.12 us, half of them 2.56 us, and the load ends after 1 ms.
    assert!((370..385).contains(&pfc.refreshes), "{pfc:?}");
    assert_eq!((pfc.pauses, pfc.resumes, pfc.lossless_dropped), (1, 0, 0));
    assert!(host.paused[3] > Span::from_us(960), "{}", host.paused[3]);
}

#[test]
fn classes_are_paused_separately_and_lossy_ones_are_dropped() {
    let load = |number: u32, class: u8| {
        format!(
            "[[workload]]\nkind = \"cbr\"\nsrc = \"h{number}\"\ndst = \"h3\"\nclass = {class}\nrate = \"60Gbps\"\nframe = 1000\n\
             stop = \"500us\"\n"
        )
    };
    let text = format!(
        "title = \"classes\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 3\n[stop]\nafter = \"1ms\"\n{}{}{}\
         [[switch.class]]\nnumber = 5\nweight = 1\n[[switch.class]]\nnumber = 3\nweight = 1\n[[switch.class]]\nnumber = 0\nweight = 1\n\
         [switch.lossless]\nclasses = [3, 5]\nbuffer = \"600kB\"\n",
        load(0, 0),
        load(1, 3),
        load(2, 5)
    );
    let (results, _) = run(&text);
    let pfc = results.counters.flow_control;
    assert!(pfc.lossless_dropped == 0 && pfc.lossy_dropped > 100, "{pfc:?}");
    let paused = |host: u32| {
        results.port_pauses.iter().find(|port| port.lane == uplink(&text, host)).map(|port| port.paused)
    };
    assert_eq!(paused(0), None, "a lossy class causes no pause");
    let [three, five] = [1, 2].map(|host| paused(host).unwrap());
    assert!(three[3] > Span::ZERO && three[5] == Span::ZERO && five[5] > Span::ZERO && five[3] == Span::ZERO);
}

/// The benchmarks lose nothing with PFC, on any number of threads.
#[test]
fn the_benchmarks_lose_nothing() {
    for (bench, buffer) in [("perm-k4", "2MB"), ("incast-k8", "4MB")] {
        let text = wiremend_scenario::builtin::get(&format!("bench/{bench}")).expect("it is built in");
        let text =
            text.replace("102_400_000B", "2_048_000B").replace("[transport]\n", "[transport]\nclass = 3\n")
                + &format!("[switch.lossless]\nclasses = [3]\nbuffer = \"{buffer}\"\n");
        let (results, rows) = run(&text);
        let pfc = results.counters.flow_control;
        assert!(all_finished(&rows), "{bench}");
        assert_eq!((pfc.lossless_dropped, results.counters.dropped_frames.total()), (0, 0), "{bench}");
        assert!(pfc.pauses > 0, "{bench}: {pfc:?}");
    }
}

/// Two switches with a protected link that corrupts frames towards the slow port; PFC frames go the other
/// way.
fn protected(by: &str, more: &str) -> String {
    format!(
        "title = \"protected\"\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [\"x\", \"y\"]\n\
         links = [{{ ends = [\"a\", \"x\"], rate = \"100Gbps\", delay = \"500ns\" }}, \
         {{ ends = [\"x\", \"y\"], rate = \"100Gbps\", delay = \"500ns\" }}, \
         {{ ends = [\"y\", \"b\"], rate = \"10Gbps\", delay = \"500ns\" }}]\n\
         [transport]\nclass = 3\n[switch.lossless]\nclasses = [3]\n{more}\
         [[impair]]\nlinks = \"x-y\"\ndirection = \"forward\"\nkind = \"frames\"\nrate = 0.01\n\
         [[protect]]\nlinks = \"x-y\"\nby = {by}\n\
         [[workload]]\nkind = \"cbr\"\nsrc = \"a\"\ndst = \"b\"\nrate = \"100Gbps\"\nframe = 1500\nclass = 3\n\
         [stop]\nafter = \"4ms\"\n"
    )
}

/// Buffered and retransmitted frames of a link arrive after its sender was paused: headroom includes them.
#[test]
fn protected_links_have_enough_headroom() {
    let plain = HeadroomParams {
        rate: Rate::gbps(100),
        inbound_delay: Span::from_ns(500),
        pause_delay: Span::from_ns(500),
        reaction: Span::ZERO,
        frame_max: Bytes::new(1_525),
        copies: 1,
    };
    let plain = format!("headroom = \"{}B\"\n", plain.headroom().get());
    for (by, overruns) in [
        ("\"linkguardian\"", true),
        ("\"linkguardian\"\nprofile = \"prototype\"", true),
        ("\"linkguardian-nb\"", false),
        ("\"fec(25,5)\"", true),
    ] {
        let (results, _) = run(&protected(by, ""));
        let pfc = results.counters.flow_control;
        assert_eq!((pfc.lossless_dropped, pfc.corrupted), (0, 0), "{by}: {pfc:?}");
        assert!(
            pfc.pauses > 100 && results.link_ends.iter().any(|end| end.sum.recovered > 20),
            "{by}: {pfc:?}"
        );
        let pfc = flow_control(&protected(by, &plain));
        assert_eq!(pfc.lossless_dropped > 0, overruns, "{by}: {pfc:?}");
    }
}

#[test]
fn invalid_buffers_are_rejected_with_a_suggestion() {
    let refusal = |more: &str| {
        let text = format!("{FABRIC}[switch.lossless]\nclasses = [3]\n{more}");
        Simulation::build(&scenario(&text), &crate::common::NoFiles, &Options::new(1))
            .err()
            .map(|error| error.what)
    };
    assert_eq!(refusal(""), None);
    assert_eq!(
        refusal("headroom = \"2MB\"\n").unwrap(),
        "switch `leaf0`: headroom of 20MB and reserves of 40kB do not fit into a buffer of 12MB; give a larger `buffer`, \
         fewer `classes`, or a smaller `headroom` or `reserve`"
    );
    assert!(refusal("buffer = \"100kB\"\n").unwrap().contains("do not fit into a buffer of 100kB"));
    let never = refusal("headroom = \"1MB\"\nbuffer = \"10_100kB\"\nalpha = \"1/128\"\n").unwrap();
    assert_eq!(
        never,
        "switch `leaf0`: a paused port could never resume: the threshold of an empty buffer is 468B, less than the \
         resume offset of 3kB; give a smaller `resume_offset`, or a larger `buffer` or `alpha`"
    );
    let short = refusal("quanta = 10\n").unwrap();
    assert!(short.contains("ends before its refresh") && short.ends_with("give larger `quanta`"), "{short}");
}

fn uplink(text: &str, host: u32) -> LaneId {
    let scenario: Scenario = scenario(text);
    let simulation = Simulation::build(&scenario, &crate::common::NoFiles, &Options::new(1)).unwrap();
    let graph = simulation.graph();
    graph.lanes().find(|lane| graph.lane_from(*lane) == NodeId(host)).expect("a host has a link")
}
