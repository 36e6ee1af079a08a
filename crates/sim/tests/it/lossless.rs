//! Lossless switches: nothing is dropped for want of room, pauses go where they must, and what lost PFC frames do is counted.

use crate::common::{capture_with, run_with, scenario};
use wiremend_measure::{FlowControl, FlowRow, Outcome};
use wiremend_proto::pfc::Reach;
use wiremend_scenario::Scenario;
use wiremend_sim::{Header, Options, Results, Simulation};
use wiremend_units::{Bytes, LaneId, LinkId, NodeId, Rate, Span, Time};

/// Runs on one, two and three threads, and with scheduled ports forced: the same digits.
fn run(text: &str) -> (Results, Vec<FlowRow>) {
    let options = Options::new(scenario(text).seed.get());
    let (results, rows) = run_with(text, &options);
    for other in [
        Options { threads: 2, ..options.clone() },
        Options { threads: 3, ..options.clone() },
        Options { scheduled: true, ..options.clone() },
    ] {
        let (other, _) = run_with(text, &other);
        assert_eq!(other.collector.digest(), results.collector.digest());
        assert_eq!(other.counters, results.counters);
    }
    (results, rows)
}

fn all_finished(rows: &[FlowRow]) -> bool {
    rows.iter().all(|row| row.outcome == Outcome::Finished)
}

/// Hosts of one leaf and of another, and those of a third that send to none of them.
const FABRIC: &str = "title = \"lossless\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 8\n\
    [transport]\nclass = 3\n[[workload]]\nkind = \"flows\"\npattern = \"incast\"\nbytes = \"1MB\"\n";

fn lossless(more: &str) -> String {
    format!("[switch.lossless]\nclasses = [3]\nbuffer = \"2MB\"\n{more}")
}

#[test]
fn an_incast_loses_nothing_and_pauses_its_senders() {
    let (results, rows) = run(&(FABRIC.to_owned() + &lossless("")));
    let of = results.counters.flow_control;
    assert!(all_finished(&rows) && rows.len() == 23);
    assert_eq!((results.counters.dropped_frames.buffer, of.lossless_dropped), (0, 0));
    assert_eq!((results.counters.retransmitted_packets, results.counters.timeouts.total()), (0, 0));
    assert!(of.pauses > 100 && of.resumes == of.pauses, "{of:?}");
    assert_eq!((of.received + results.in_flight, of.corrupted), (of.frames, 0));
    assert!(of.paused_hosts >= 23 && of.paused_ports > of.paused_hosts, "{of:?}");
    assert!(of.buffer_bytes_max <= 2_000_000 && of.headroom_bytes_max > 0);
    // Without it the same buffer, a share for each port, overflows.
    let lossy = FABRIC.replace("hosts_per_leaf = 8\n", "hosts_per_leaf = 8\nbuffer = \"200kB\"\n");
    assert!(run_with(&lossy, &Options::new(1)).0.counters.dropped_frames.buffer > 1_000);
}

/// Two hosts at one switch whose port to the second is slower: the first is told how fast it may be.
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

/// The bound holds, and it is not idle: what is less by two frames and what a clear way back saves is too little.
#[test]
fn headroom_as_computed_is_enough_and_hardly_less_is_not() {
    for (delay, there) in [("10ns", 10), ("1us", 1_000), ("40us", 40_000)] {
        let there = Span::from_ns(there);
        let frame_max = Bytes::new(1_500);
        let reach =
            Reach { rate: Rate::gbps(100), there, back: there, reaction: Span::ZERO, frame_max, copies: 1 };
        let enough = reach.headroom().get();
        // The port to the second host stands still: what comes in after the threshold stays.
        let still = |more: &str| {
            slow_port(delay, more)
                + "[[pause]]\nlinks = \"b-x\"\ndirection = \"backward\"\nclass = 3\nstop = \"500us\"\n"
        };
        let of = flow_control(&still(""));
        assert_eq!(of.lossless_dropped, 0, "{delay}");
        assert!(of.headroom_bytes_max <= enough, "{} of {enough} B", of.headroom_bytes_max);
        // Nothing goes back here that a PFC frame would have to wait for: a frame less; and half a frame of chance.
        let slack = enough - of.headroom_bytes_max;
        // Preambles and gaps are time and not bytes.
        let gaps = enough * 20 / 1_520;
        assert!(slack <= 3 * 1_520 + gaps, "{delay}: {slack} B of {enough} B are never used");
        let less = of.headroom_bytes_max - 1;
        let of = flow_control(&still(&format!("headroom = \"{less}B\"\n")));
        assert!(of.lossless_dropped > 0 && of.headroom_bytes_max <= less, "{delay}: {of:?}");
    }
}

/// The slower they obey, the more headroom it takes; what is computed knows.
#[test]
fn reaction_is_part_of_the_bound() {
    let slow = slow_port("100ns", "reaction = \"5us\"\n");
    let of = flow_control(&slow);
    assert_eq!(of.lossless_dropped, 0);
    assert!(of.headroom_bytes_max > 55_000, "{of:?}");
    let of = flow_control(&format!("{slow}headroom = \"20kB\"\n"));
    assert!(of.lossless_dropped > 0, "{of:?}");
}

/// Frames of both ways and of several sizes, on links of unlike rates, so that PFC frames wait for frames that leave.
#[test]
fn headroom_is_enough_where_pfc_frames_wait() {
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
        let of = results.counters.flow_control;
        assert!(of.pauses > 0 && of.lossless_dropped == 0, "{frame} {back}: {of:?}");
    }
}

/// What a port holds reaches hosts that send to nobody behind it: congestion spreads, and a victim waits.
#[test]
fn pauses_reach_the_hosts_and_a_victim() {
    let text = format!(
        "title = \"cascade\"\n[topology]\nkind = \"chain\"\nswitches = 3\nhosts_per_end = 2\n[transport]\nclass = 3\n\
         [stop]\nafter = \"4ms\"\n\
         [[workload]]\nkind = \"cbr\"\nsrc = \"h0\"\ndst = \"h2\"\nclass = 3\nrate = \"90Gbps\"\nframe = 1500\nstop = \"1ms\"\n\
         [[workload]]\nkind = \"flows\"\nsrc = \"h1\"\ndst = \"h3\"\npattern = \"point-to-point\"\nbytes = \"1MB\"\nstart = \"200us\"\n\
         [[pause]]\nlinks = \"h2-s2\"\ndirection = \"backward\"\nclass = 3\nstop = \"1ms\"\n{}",
        lossless("")
    );
    let (results, rows) = run(&text);
    let of = results.counters.flow_control;
    assert_eq!((of.lossless_dropped, of.paused_hosts), (0, 2), "{of:?}");
    assert!(
        all_finished(&rows) && rows[0].fct() > Span::from_us(700),
        "it waits for a port that it does not use"
    );
    let simulation = Simulation::build(&scenario(&text), &crate::common::NoFiles, &Options::new(1)).unwrap();
    let graph = simulation.graph();
    let paused = |name: &str| {
        let lane = graph.lane_by_name(name).unwrap_or_else(|| panic!("{name}"));
        results.pauses.iter().find(|of| of.lane == lane).map_or(Span::ZERO, |of| of.paused[3])
    };
    for lane in ["s1>s2", "s0>s1", "h0>s0", "h1>s0"] {
        assert!(paused(lane) > Span::from_us(500), "{lane}: {}", paused(lane));
    }
    assert!(of.refreshes > 0, "a pause of 336 us is said again");
}

/// What is told is on the wire: the bytes of a PFC frame, and nothing of the class until it ends.
#[test]
fn a_host_obeys_what_it_is_told() {
    let text = slow_port("1us", "");
    let captures = vec![LinkId(0)];
    let (_, frames) = capture_with(&text, &Options { captures, ..Options::new(1) });
    let told: Vec<_> = frames
        .iter()
        .filter_map(|captured| match captured.header {
            Some(Header::Pfc(classes)) => {
                Some((captured.time, captured.lane, captured.frame.len, classes[3].unwrap().0))
            }
            _ => None,
        })
        .collect();
    assert!(told.len() > 10);
    assert!(told.iter().all(|(_, lane, len, _)| (*lane, *len) == (LinkId(0).backward(), 64)));
    // Stop and go on take turns here: each is said once.
    for (number, (_, _, _, quanta)) in told.iter().enumerate() {
        assert_eq!(*quanta, if number % 2 == 0 { 65_535 } else { 0 }, "{number}");
    }
    // 64 B and what is between frames take 6.72 ns, and the way 1 us.
    let arrival = |time: Time| time + Span::from_ps(6_720) + Span::from_us(1);
    let sent: Vec<_> = frames
        .iter()
        .filter(|captured| captured.lane == LinkId(0).forward())
        .map(|captured| captured.time)
        .collect();
    for pair in told.chunks_exact(2) {
        let (stop, go) = (arrival(pair[0].0), arrival(pair[1].0));
        assert!(!sent.iter().any(|start| *start > stop && *start < go), "nothing starts from {stop} to {go}");
        assert!(sent.contains(&go), "and then at once");
    }
}

/// Every second PFC frame is lost at the start, among them pauses and resumes.
#[test]
fn corrupted_pfc_frames_overrun_headroom_and_their_end_heals() {
    let fault = "[[impair]]\nlinks = \"a-x\"\ndirection = \"backward\"\nkind = \"every\"\nn = 2\n";
    let text = slow_port("1us", "quanta = 1000\n") + fault;
    let (results, _) = run(&text);
    let of = results.counters.flow_control;
    assert!(of.corrupted > 0 && of.lossless_dropped > 0, "{of:?}");
    assert_eq!(of.frames, of.received + of.corrupted);
    assert_eq!(results.counters.dropped_frames.buffer, of.lossless_dropped);
    assert_eq!(flow_control(&slow_port("1us", "quanta = 1000\n")).lossless_dropped, 0);
    // Resumes that all are lost: each pause ends with its time, and the load goes on in between.
    let only_first = "[[impair]]\nlinks = \"a-x\"\ndirection = \"backward\"\nkind = \"script\"\nrules = [{ packet = \"any\", nth = 2 }]\n";
    let (results, _) = run(&(slow_port("1us", "quanta = 60000\n") + only_first));
    let of = results.counters.flow_control;
    assert_eq!((of.corrupted, of.lossless_dropped), (1, 0), "{of:?}");
    let host = results.pauses.iter().find(|of| of.lane == LinkId(0).forward()).unwrap();
    assert!(host.paused[3] > Span::from_us(300), "60000 quanta are 307 us: {}", host.paused[3]);
    assert!(results.hosts[1].raw_frames > 500, "and then it went on");
}

/// What comes until the pause is said again is too much, less what leaves meanwhile: (100 − 10) Gb/s for half of the quanta.
#[test]
fn a_lost_pause_costs_what_comes_until_it_is_said_again() {
    let lost = "[[impair]]\nlinks = \"a-x\"\ndirection = \"backward\"\nkind = \"script\"\nrules = [{ packet = \"any\", nth = 1 }]\n";
    for (quanta, expected) in [(65_535_u64, 1_242), (30_000, 568), (10_000, 189), (3_000, 57), (1_000, 19)] {
        assert_eq!(expected, (quanta * 512 * 9 / 10 / 2 + 6_080) / (1_520 * 8));
        let of = flow_control(&(slow_port("1us", &format!("quanta = {quanta}\n")) + lost));
        assert_eq!(of.corrupted, 1);
        assert!(
            of.lossless_dropped.abs_diff(expected) <= 3,
            "{quanta}: {} of {expected}",
            of.lossless_dropped
        );
    }
}

/// A frame in a hundred is corrupted, PFC frames too. What is said three times is missed as good as never.
#[test]
fn copies_of_pfc_frames_keep_what_a_lost_pause_costs() {
    let fault = "[[impair]]\nlinks = \"a-x\"\ndirection = \"backward\"\nkind = \"frames\"\nrate = 0.01\n";
    let of = |copies: u8| {
        let text =
            slow_port("1us", &format!("copies = {copies}\n")).replace("1ms", "20ms").replace("3ms", "25ms");
        flow_control(&(text + fault))
    };
    let (once, thrice) = (of(1), of(3));
    assert!(once.corrupted > 0 && once.lossless_dropped > 1_000, "{once:?}");
    assert!(thrice.corrupted > once.corrupted && thrice.lossless_dropped == 0, "{thrice:?}");
    assert!(thrice.frames > 2 * once.frames && thrice.pauses.abs_diff(once.pauses) < once.pauses / 5);
}

/// DCP's cross-DC figures (claim D4): 48 ports need 600 MB of headroom for 100 km at 100 Gb/s, and 6 GB for 1000 km.
#[test]
fn headroom_for_long_fibres_is_what_they_hold_twice() {
    for (km, gbps, per_port_mb) in
        [(100, 100, 12.5), (100, 400, 50.0), (1_000, 100, 125.0), (1_000, 400, 500.0)]
    {
        let there = Span::from_us(km * 5);
        let frame_max = Bytes::new(1_500);
        let reach =
            Reach { rate: Rate::gbps(gbps), there, back: there, reaction: Span::ZERO, frame_max, copies: 1 };
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
        let of = run_with(&text, &Options::new(1)).0.counters.flow_control;
        println!(
            "{km} km, {gbps} Gb/s: {enough} B computed, {} B used, 48 ports {} MB",
            of.headroom_bytes_max,
            48 * enough / 1_000_000
        );
        assert_eq!((of.lossless_dropped, of.paused_hosts), (0, 1));
        assert!(of.headroom_bytes_max <= enough && of.headroom_bytes_max * 100 >= enough * 98);
        assert!((enough as f64 / 1e6 / per_port_mb - 1.0).abs() < 0.001);
    }
}

/// Without an end of its own a pause that nobody lifts is refreshed for ever; flows end by their retries.
#[test]
fn a_pause_lasts_while_it_is_refreshed() {
    let text = slow_port("100ns", "quanta = 1000\n")
        + "[[pause]]\nlinks = \"b-x\"\ndirection = \"backward\"\nclass = 3\nstart = \"20us\"\n";
    let (results, _) = run(&text);
    let of = results.counters.flow_control;
    let host = results.pauses.iter().find(|of| of.lane == LinkId(0).forward()).unwrap();
    // 1000 quanta are 5.12 us, half of them 2.56 us, and the load ends after 1 ms.
    assert!((370..385).contains(&of.refreshes), "{of:?}");
    assert_eq!((of.pauses, of.resumes, of.lossless_dropped), (1, 0, 0));
    assert!(host.paused[3] > Span::from_us(960), "{}", host.paused[3]);
}

#[test]
fn classes_are_stopped_apart_and_others_are_dropped() {
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
    let of = results.counters.flow_control;
    assert!(of.lossless_dropped == 0 && of.lossy_dropped > 100, "{of:?}");
    let paused =
        |host: u32| results.pauses.iter().find(|of| of.lane == uplink(&text, host)).map(|of| of.paused);
    assert_eq!(paused(0), None, "nobody is stopped for a lossy class");
    let [three, five] = [1, 2].map(|host| paused(host).unwrap());
    assert!(three[3] > Span::ZERO && three[5] == Span::ZERO && five[5] > Span::ZERO && five[3] == Span::ZERO);
}

/// The benchmarks lose nothing with PFC on, whatever the number of threads.
#[test]
fn the_benchmarks_lose_nothing() {
    for (bench, buffer) in [("perm-k4", "2MB"), ("incast-k8", "4MB")] {
        let text = wiremend_scenario::builtin::get(&format!("bench/{bench}")).expect("it is built in");
        let text =
            text.replace("20_480_000B", "2_048_000B").replace("[transport]\n", "[transport]\nclass = 3\n")
                + &format!("[switch.lossless]\nclasses = [3]\nbuffer = \"{buffer}\"\n");
        let (results, rows) = run(&text);
        let of = results.counters.flow_control;
        assert!(all_finished(&rows), "{bench}");
        assert_eq!((of.lossless_dropped, results.counters.dropped_frames.total()), (0, 0), "{bench}");
        assert!(of.pauses > 0, "{bench}: {of:?}");
    }
}

/// Two switches with a protected link between them that corrupts what goes towards the slow port; its PFC frames go the other way.
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

/// What a link holds back, and what it sends again, comes when its sender has stopped already: headroom counts with it.
#[test]
fn protected_links_lose_nothing_for_want_of_room() {
    let plain = Reach {
        rate: Rate::gbps(100),
        there: Span::from_ns(500),
        back: Span::from_ns(500),
        reaction: Span::ZERO,
        frame_max: Bytes::new(1_525),
        copies: 1,
    };
    let plain = format!("headroom = \"{}B\"\n", plain.headroom().get());
    for (by, overruns) in [
        ("\"linkguardian\"", true),
        ("\"linkguardian\"\nprofile = \"paper\"", true),
        ("\"linkguardian-nb\"", false),
        ("\"fec(25,5)\"", true),
    ] {
        let (results, _) = run(&protected(by, ""));
        let of = results.counters.flow_control;
        assert_eq!((of.lossless_dropped, of.corrupted), (0, 0), "{by}: {of:?}");
        assert!(of.pauses > 100 && results.guards.iter().any(|end| end.sum.recovered > 20), "{by}: {of:?}");
        let of = flow_control(&protected(by, &plain));
        assert_eq!(of.lossless_dropped > 0, overruns, "{by}: {of:?}");
    }
}

#[test]
fn what_cannot_work_is_refused_with_the_remedy() {
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
        "switch `leaf0`: no port that is stopped could ever go on: the threshold of an empty buffer is 468B, less than the \
         3kB that one has to be below it; give a smaller `resume_offset`, or a larger `buffer` or `alpha`"
    );
    let short = refusal("quanta = 10\n").unwrap();
    assert!(
        short.contains("is over before it can be said again") && short.ends_with("give larger `quanta`"),
        "{short}"
    );
}

fn uplink(text: &str, host: u32) -> LaneId {
    let scenario: Scenario = scenario(text);
    let simulation = Simulation::build(&scenario, &crate::common::NoFiles, &Options::new(1)).unwrap();
    let graph = simulation.graph();
    graph.lanes().find(|lane| graph.lane_from(*lane) == NodeId(host)).expect("a host has a link")
}
