//! Residual loss of a protected link: counted, and estimated from episodes.

use wiremend_measure::interval::poisson;

const LEVEL: f64 = 0.9999;

/// A link of 25 Gb/s at line rate which loses one frame in a hundred, and sends one copy of each.
fn link(kind: &str, profile: &str, by: &str) -> String {
    // A loss is recovered or given up within this number of frames, and often no other follows in them.
    let quiet = if kind == "tilted" { "quiet = 60\n" } else { "" };
    format!(
        "title = \"a protected link\"\n[topology]\nkind = \"chain\"\nswitches = 2\nrate = \"25Gbps\"\ndelay = \"10ns\"\n\
         switch_delay = \"100ns\"\nswitch_latency = \"590ns\"\nbuffer = \"560kB\"\n\
         [[workload]]\nkind = \"cbr\"\nrate = \"24.8Gbps\"\nframe = 1518\n[stop]\nafter = \"100ms\"\n\
         [[impair]]\nkind = \"{kind}\"\nlinks = \"switches\"\ndirection = \"forward\"\nrate = \"1e-2\"\n{quiet}\
         [[protect]]\nlinks = \"switches\"\ndirection = \"forward\"\nby = \"{by}\"\nprofile = \"{profile}\"\ncopies = 1\n"
    )
}

/// With and without order, one in ten thousand is lost: by counting, and from a few hundred episodes.
#[test]
fn episodes_agree_with_counting() {
    for by in ["linkguardian", "linkguardian-nb"] {
        let (counted, _) = crate::common::run(&link("frames", "prototype", by));
        let sum = counted.counters.protection;
        let expected = sum.protected as f64 * 1e-4;
        assert!(
            poisson(sum.lost, LEVEL).contains(expected),
            "{by}: {} counted, {expected} expected",
            sum.lost
        );

        let (tilted, _) = crate::common::run(&link("tilted", "prototype", by));
        let estimate = tilted.episodes.loss_per_frame_forced(1e-2, 1e-2, LEVEL).unwrap();
        assert!(tilted.episodes.count() > 100 && estimate.relative_error() < 0.2, "{by}: {estimate:?}");
        assert!(estimate.interval.contains(1e-4), "{by}: {estimate:?}");
        let (_, off) = tilted.episodes.mean_weight().unwrap();
        assert!(off.abs() < 4.5, "{by}: the mean weight is {off} deviations from 1");
    }
}

/// Repeated requests lose far less than one copy.
#[test]
fn repeated_requests_lose_less() {
    let (tilted, _) = crate::common::run(&link("tilted", "hardened", "linkguardian"));
    let estimate = tilted.episodes.loss_per_frame_forced(1e-2, 0.0, LEVEL).unwrap();
    assert!(estimate.value < 1e-6, "{estimate:?}");
}

/// Weights need both ends of the link, so the run has one thread.
#[test]
fn a_tilted_link_runs_on_one_thread() {
    let text = link("tilted", "prototype", "linkguardian");
    let mut options = wiremend_sim::Options::new(1);
    options.threads = 2;
    let (results, _) = crate::common::run_with(&text, &options);
    assert!(results.episodes.count() > 0);
}
