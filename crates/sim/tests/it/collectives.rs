//! Collectives: steps wait for data, and jobs are timed.

use crate::common::{run, run_with};
use wiremend_measure::{FlowOutcome, FlowRow, JobSummary};
use wiremend_sim::{Options, Results};

/// Eight hosts at four leaves.
const FABRIC: &str = "title = \"together\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\nrate = \"100Gbps\"\n\
    delay = \"1us\"\n";

fn workload(kind: &str, fields: &str) -> String {
    format!("{FABRIC}[[workload]]\nkind = \"{kind}\"\nbytes = \"1MB\"\n{fields}\n")
}

fn jobs(results: &Results) -> JobSummary {
    let [jobs] = &results.summary("base").jobs[..] else { panic!("one collective") };
    jobs.clone()
}

/// Returns the row of a message, by the rank of its sender in the first group and the step.
fn message(rows: &[FlowRow], messages: u64, own: u64, step: u64) -> &FlowRow {
    rows.iter().find(|row| row.flow == own * messages + step).expect("it was sent")
}

#[test]
fn a_ring_sends_a_step_when_the_data_of_the_last_have_arrived() {
    const STEPS: u64 = 14;
    let (results, rows) = run(&workload("allreduce", ""));
    assert_eq!(rows.len() as u64, 8 * STEPS);
    for own in 0..8 {
        for step in 1..STEPS {
            let cause = message(&rows, STEPS, (own + 7) % 8, step - 1);
            let sent = message(&rows, STEPS, own, step);
            assert_eq!(Some(sent.start_ps), cause.delivered_ps, "{own} {step}");
            assert_eq!((cause.dst, cause.bytes), (sent.src, 125_000));
        }
    }
    let jobs = jobs(&results);
    assert_eq!((jobs.jobs, jobs.finished), (1, 1));
    let last = rows.iter().map(|row| row.end_ps).max().unwrap();
    assert_eq!(jobs.groups[0].max_ns, Some(last as f64 / 1e3));
    // 14 steps of 125 000 bytes at 100 Gb/s less headers, over two or four links each.
    let us = last / 1_000_000;
    assert!((14 * 12..14 * 17).contains(&us), "{us} µs");
}

#[test]
fn halving_and_doubling_needs_fewer_steps() {
    let (results, rows) = run(&workload("allreduce", "algorithm = \"halving-doubling\""));
    assert_eq!(rows.len(), 8 * 6);
    for own in 0..8_u64 {
        for step in 1..6_u64 {
            let partner = own ^ [4, 2, 1, 1, 2, 4][step as usize - 1];
            let (cause, sent) = (message(&rows, 6, partner, step - 1), message(&rows, 6, own, step));
            assert!(Some(sent.start_ps) >= cause.delivered_ps && cause.dst == sent.src, "{own} {step}");
        }
    }
    assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 8 * 2 * 875_000);
    assert_eq!(jobs(&results).finished, 1);
}

#[test]
fn group_times_do_not_depend_on_threads() {
    for (kind, fields) in [
        ("allreduce", "groups = 2\nplacement = \"strided\"\niterations = 3"),
        ("alltoall", "groups = 4\niterations = 2"),
        ("alltoall", "groups = [\"h0..h2\", \"h7, h4\"]\niterations = 2"),
    ] {
        let text = workload(kind, fields);
        let (results, rows) = run(&text);
        let jobs = jobs(&results);
        assert_eq!(jobs.finished, jobs.jobs, "{text}");
        assert!(
            jobs.groups.len() > 1 && jobs.groups.iter().all(|group| group.mean_ns > Some(10_000.0)),
            "{jobs:?}"
        );
        assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished));
        for threads in [2, 3] {
            let (other, other_rows) = run_with(&text, &Options { threads, ..Options::new(1) });
            assert_eq!((other_rows, other.summary("base")), (rows.clone(), results.summary("base")));
        }
    }
}

#[test]
fn an_all_to_all_uses_all_links() {
    let (results, rows) = run(&workload("alltoall", ""));
    assert_eq!(rows.len(), 8 * 7);
    assert!(rows.iter().all(|row| row.start_ps == 0 && row.bytes == 125_000));
    // 875 000 bytes into each host at 100 Gb/s take 70 µs, and more with headers.
    let ns = jobs(&results).groups[0].max_ns.unwrap();
    assert!((74_000.0..250_000.0).contains(&ns), "{ns}");
}

#[test]
fn other_traffic_between_the_same_hosts_does_not_confuse_a_group() {
    for pairs in ["per-flow", "per-pair"] {
        let text = workload("allreduce", "iterations = 2")
            + "[[workload]]\nkind = \"flows\"\nbytes = \"40kB\"\npattern = \"full-mesh\"\nevery = \"20us\"\nrounds = 9\n"
            + &format!("[transport]\nqp = \"{pairs}\"\n");
        let (results, rows) = run(&text);
        assert_eq!(rows.len(), 2 * 8 * 14 + 56 * 9);
        assert_eq!(jobs(&results).finished, 2);
        for own in 0..8 {
            for step in 1..14 {
                let cause = message(&rows, 14, (own + 7) % 8, step - 1);
                assert!(Some(message(&rows, 14, own, step).start_ps) >= cause.delivered_ps, "{pairs}");
            }
        }
    }
}

#[test]
fn a_job_cut_off_by_the_time_limit_is_not_finished() {
    let (results, rows) = run(&(workload("allreduce", "iterations = 9") + "[stop]\nafter = \"300us\"\n"));
    let jobs = jobs(&results);
    assert_eq!((jobs.jobs, jobs.finished), (9, 1));
    assert!(rows.iter().any(|row| row.outcome == FlowOutcome::TimeLimit));
}

#[test]
fn losses_delay_a_group_without_failure() {
    let lossy = "[transport]\ntimeout = 6\n[[impair]]\nkind = \"frames\"\nlinks = \"all\"\nrate = \"1e-3\"\n";
    let time = |text: &str| jobs(&run(text).0).groups[0].max_ns.expect("it finished");
    assert!(time(&(workload("allreduce", "") + lossy)) > time(&workload("allreduce", "")));
}

#[test]
fn an_incast_repeats() {
    let text = format!(
        "{FABRIC}[[workload]]\nkind = \"flows\"\nbytes = \"10kB\"\npattern = \"incast\"\nstart = \"5us\"\nevery = \"100us\"\nrounds = 4\n"
    );
    let (_, rows) = run(&text);
    let mut starts: Vec<_> = rows.iter().map(|row| row.start_ps / 1_000_000).collect();
    starts.sort_unstable();
    assert_eq!(starts, [5, 105, 205, 305].map(|start| [start; 7]).concat());
}
