//! Links and switches that fail.

use wiremend_measure::{Breakdown, FlowRow};
use wiremend_sim::{Options, Results};

use crate::common::{run, run_with};

const FABRIC: &str = "title = 't'\n[topology]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
                      [stop]\nafter = '900ms'\n";
const TRAFFIC: &str = "[[workload]]\nkind = 'poisson'\nsizes = '64KiB'\nload = 0.4\nflows = 400\n";

fn with_failures(more: &str) -> (Results, Vec<FlowRow>) {
    let (results, rows) = run(&format!("{FABRIC}{TRAFFIC}{more}"));
    assert_eq!(rows.len(), 400);
    (results, rows)
}

fn finished(rows: &[FlowRow]) -> usize {
    rows.iter().filter(|row| row.outcome.is_finished()).count()
}

#[test]
fn routing_leads_flows_around_a_failed_link() {
    let fail = "[[fail]]\nlinks = 'leaf0-spine1'\nstart = '50us'\n";
    let (stuck, stuck_rows) = with_failures(fail);
    let (mended, rows) = with_failures(&format!("{fail}detect = '20us'\nreroute = '10us'\n"));
    assert_eq!(finished(&rows), 400, "after the timeout everything takes the other spine");
    assert!(finished(&stuck_rows) < 400, "without detection nothing avoids the link");
    let [lost, lost_for_ever] = [&mended, &stuck].map(|results| results.counters.failures);
    assert!(
        lost.lost_frames > 0 && lost.lost_frames < lost_for_ever.lost_frames,
        "{lost:?} {lost_for_ever:?}"
    );
    assert_eq!((lost.links, lost.failures), (1, 1));
    assert!(lost.connections > 0 && lost.connections <= 400, "{lost:?}");
    assert_eq!(mended.counters.dropped_frames.no_route, 0);
}

#[test]
fn switches_that_learn_of_a_failure_later_form_a_loop_until_then() {
    let expired = |more: &str| {
        // Frames of a loop queue: with a TTL of 64 they would circulate for milliseconds.
        let fail =
            "[transport]\nttl = 16\n[[fail]]\nlinks = 'leaf0-spine1'\nstart = '50us'\ndetect = '1us'\n";
        let (results, rows) = with_failures(&format!("{fail}{more}"));
        assert_eq!(finished(&rows), 400, "{more}");
        results.counters.dropped_frames.ttl
    };
    let together = expired("reroute = '1us'\n");
    let [soon, late] = ["400us", "2ms"].map(|time| expired(&format!("reroute_per_hop = '{time}'\n")));
    // The spine at the link sends packets for leaf 0 to leaf 1, which still sends some of them to that spine.
    assert!(together == 0 && soon > 0 && late > soon, "{together} {soon} {late}");
}

#[test]
fn a_link_that_recovers_is_used_again() {
    let (results, rows) = with_failures(
        "[[fail]]\nlinks = 'leaf0-spine1'\nstart = '50us'\ndown = '100us'\ndetect = '5us'\nreroute = '5us'\n",
    );
    assert_eq!(finished(&rows), 400);
    let end = results.counters.simulated_ps;
    assert!(end > 200_000_000 && results.counters.failures.lost_frames > 0, "{end}");
    let (without, _) = with_failures("");
    let carried = |results: &Results| results.lanes.iter().filter(|lane| lane.tx_frames == 0).count();
    assert_eq!(carried(&results), carried(&without));
}

#[test]
fn a_failed_spine_costs_no_flow_and_a_failed_leaf_those_of_its_hosts() {
    let fail = |switch: &str| {
        with_failures(&format!("[[fail]]\nswitches = '{switch}'\nstart = '50us'\ndetect = '20us'\n"))
    };
    let (spine, rows) = fail("spine0");
    assert_eq!(finished(&rows), 400);
    assert_eq!(spine.counters.failures.links, 2);
    let (leaf, rows) = fail("leaf0");
    let lives = |row: &&FlowRow| row.src >= 4 && row.dst >= 4;
    assert!(
        rows.iter().filter(lives).all(|row| row.outcome.is_finished()),
        "hosts of the other leaf reach each other"
    );
    assert!(finished(&rows) < 400);
    assert!(leaf.counters.dropped_frames.no_route > 0, "no path leads to the hosts of the leaf");
}

#[test]
fn a_gray_failure_hits_only_its_share_of_flows() {
    let (results, rows) =
        with_failures("[[fail]]\nlinks = 'switches'\nflows = 0.2\n[transport]\nretry = 1\ntimeout = 4\n");
    let lost = 400 - finished(&rows);
    // A flow and its acknowledgements cross two links each way, each with a share of its own; half of the pairs share
    // a leaf.
    assert!((80..280).contains(&lost), "{lost}");
    let hit = results.counters.failures.connections as usize;
    assert!(hit >= lost && hit < 300, "{hit} {lost}");
}

/// Only frames that were lost before the flow ended count for it, so the flows have at most what the links lost.
#[test]
fn flows_know_how_many_of_their_frames_failed_links_lost() {
    let fail =
        "[[fail]]\nlinks = 'leaf0-spine1'\nstart = '50us'\ndown = '2ms'\ndetect = '20us'\nreroute = '10us'\n";
    let text = format!("{FABRIC}{TRAFFIC}{fail}");
    let (results, rows) = run(&text);
    let of_flow = |row: &FlowRow| row.failed_frames.expect("links can fail");
    let all: u64 = rows.iter().map(|row| u64::from(of_flow(row))).sum();
    let lost = results.counters.failures;
    assert!(all > 0 && all <= lost.lost_frames, "{all} of {lost:?}");
    assert_eq!(results.lanes.iter().map(|lane| lane.failed).sum::<u64>(), lost.lost_frames);
    let hit: Vec<&FlowRow> = rows.iter().filter(|row| of_flow(row) > 0).collect();
    assert!(hit.len() as u64 <= lost.connections && hit.len() < rows.len(), "{} {lost:?}", hit.len());
    let waits = |row: &&FlowRow| row.timeouts > 0;
    assert!(rows.iter().filter(waits).all(|row| of_flow(row) > 0), "nothing else loses packets here");
    assert!(hit.iter().any(|row| row.timeouts > 0));
    let leaf = |host: u32| host / 4;
    assert!(hit.iter().all(|row| leaf(row.src) != leaf(row.dst)), "they cross the failed link");
    let (_, of_threads) = run_with(&text, &Options { threads: 2, ..Options::new(1) });
    assert_eq!(of_threads, rows, "for any number of threads");
    let (_, without) = with_failures("");
    assert!(without.iter().all(|row| row.failed_frames.is_none()));
}

#[test]
fn random_failures_have_streams_of_their_own() {
    let random = "[[fail]]\nlinks = 'switches'\ndown = '20us'\nup = '100us'\nrandom = true\nstop = '1ms'\ndetect = '5us'\n";
    let text = format!("{FABRIC}{TRAFFIC}{random}");
    let counts = |seed| run_with(&text, &Options::new(seed)).0.counters.failures;
    assert_eq!(counts(1), counts(1));
    assert_ne!(counts(1), counts(2));
    // The workload draws the same flows.
    let sizes = |text: &str| run_with(text, &Options::new(7)).1.iter().map(|row| row.bytes).sum::<u64>();
    assert_eq!(sizes(&text), sizes(&format!("{FABRIC}{TRAFFIC}")));
}

#[test]
fn flapping_is_seen_only_if_it_lasts() {
    let flaps = |detect: &str| {
        let fail = "[[fail]]\nlinks = 'leaf0-spine1'\ndown = '10us'\nup = '90us'\n";
        with_failures(&format!("{fail}detect = '{detect}'\n")).0.counters
    };
    let [seen, unseen] = [flaps("2us"), flaps("11us")];
    assert!(seen.failures.failures > 2 && unseen.failures.failures > 2);
    assert!(seen.failures.lost_frames < unseen.failures.lost_frames, "{seen:?} {unseen:?}");
}

/// The neighbour was told to wait, and the command to go on is lost with the link.
#[test]
fn a_failed_link_ends_the_pauses_of_its_ports() {
    let text = |fail: &str| {
        format!(
            "title = 't'\n[topology]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
             [switch.lossless]\nclasses = [0]\nbuffer = '2MB'\n[transport]\nwindow = 'unlimited'\n[stop]\nafter = '60ms'\n\
             [[workload]]\nkind = 'flows'\npattern = 'incast'\ndst = 'h0'\nsrc = 'h4..h7'\nbytes = '1MB'\n{fail}"
        )
    };
    let fail = "[[fail]]\nlinks = 'switches'\nstart = '200us'\ndown = '20us'\ndetect = '5us'\n";
    let (paused, rows) = run(&text(""));
    assert_eq!(finished(&rows), 4);
    assert!(paused.counters.flow_control.pauses > 0, "{:?}", paused.counters.flow_control);
    let (failed, rows) = run(&text(fail));
    assert_eq!(finished(&rows), 4, "the flows go on after the failure");
    assert!(failed.counters.failures.lost_frames > 0);
    assert_eq!(failed.counters.flow_control.lossless_dropped, 0, "headroom holds");
}

/// The ends of the link keep what they sent, and send it again when the link is up.
#[test]
fn a_protected_link_survives_its_failure() {
    for by in ["linkguardian", "linkguardian-nb", "fec(25,1)"] {
        let text = format!(
            "title = 't'\n[topology]\nkind = 'chain'\nswitches = 2\nhosts_per_end = 1\n[stop]\nafter = '600ms'\n\
             [[workload]]\nkind = 'flows'\npattern = 'point-to-point'\nsrc = 'h0'\ndst = 'h1'\nbytes = '2MB'\n\
             [[protect]]\nlinks = 's0-s1'\nby = '{by}'\n[[fail]]\nlinks = 's0-s1'\nstart = '60us'\ndown = '20us'\n",
        );
        let (results, rows) = run(&text);
        assert_eq!(finished(&rows), 1, "{by}");
        assert!(results.counters.failures.lost_frames > 0, "{by}");
    }
}

#[test]
fn the_time_lost_on_a_failed_link_is_a_timer_in_the_breakdown() {
    let text = format!(
        "{FABRIC}[[workload]]\nkind = 'flows'\npattern = 'point-to-point'\nsrc = 'h0'\ndst = 'h5'\nbytes = '64KiB'\n\
                        [[fail]]\nlinks = 'switches'\nstart = '2us'\ndown = '30us'\n"
    );
    let options = Options { trace: Some(wiremend_units::FlowId(0)), ..Options::new(1) };
    let (results, rows) = run_with(&text, &options);
    let breakdown = Breakdown::new(&results.trace).expect("the trace is complete");
    assert_eq!(breakdown.total(), rows[0].fct());
    assert!(results.trace.records.iter().any(|record| matches!(
        record.event,
        wiremend_measure::TraceEvent::Sent { fate: wiremend_measure::Fate::Failed, .. }
    )));
}

/// SQR: what a failed link loses until routing avoids it goes over the other spine.
#[test]
fn a_port_with_a_cache_sends_lost_frames_over_another_path() {
    let fail = "[[fail]]\nlinks = 'leaf0-spine1'\nstart = '50us'\ndetect = '20us'\nreroute = '10us'\n";
    let of = |more: &str| {
        let (results, rows) = with_failures(&format!("{fail}{more}"));
        assert_eq!(finished(&rows), 400, "{more}");
        (results.counters.failures, rows.iter().map(|row| row.timeouts).sum::<u32>())
    };
    let (without, timeouts) = of("");
    assert!(without.lost_frames > 0 && without.rerouted == 0 && timeouts > 0, "{without:?}");
    let (with, timeouts) = of("cache = '1MB'\n");
    assert!((with.lost_frames, timeouts) == (0, 0) && with.rerouted > 0, "{with:?} {timeouts}");
    let (small, _) = of("cache = '10kB'\n");
    assert!(small.lost_frames > 0 && small.rerouted > 0, "{small:?}");
}

#[test]
fn kept_frames_are_the_same_on_any_number_of_threads_and_none_is_lost_or_doubled() {
    let fail = "[[fail]]\nlinks = 'leaf0-spine1'\nstart = '50us'\ndetect = '20us'\nreroute = '10us'\ncache = '50kB'\n";
    for end in ["50500ns", "60us", "81us", "900ms"] {
        let text = format!("{FABRIC}{TRAFFIC}{fail}").replace("900ms", end);
        let [one, two] = [1, 2].map(|threads| {
            let options = Options { threads, ..Options::new(1) };
            let (results, _) = run_with(&text, &options);
            let sum = |of: fn(&wiremend_sim::HostCounters) -> u64| results.hosts.iter().map(of).sum::<u64>();
            let gone = results.counters.failures.lost_frames + results.counters.dropped_frames.lost();
            let there = sum(|host| host.rx_frames) + gone + results.in_flight;
            assert_eq!(sum(|host| host.tx_frames), there, "{end}, {threads} threads");
            results.collector.digest()
        });
        assert_eq!(one, two, "{end}");
    }
}
