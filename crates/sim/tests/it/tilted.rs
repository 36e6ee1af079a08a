//! What a protected link still loses: counted, and estimated from episodes.

use wiremend_measure::interval::poisson;

const LEVEL: f64 = 0.9999;

/// A link of 25 Gb/s at line rate which loses one frame in a hundred, and sends one copy of each.
fn link(kind: &str, profile: &str, by: &str) -> String {
    // Nothing is left of a loss after so many frames, and often none follows so soon.
    let quiet = if kind == "tilted" { "quiet = 60\n" } else { "" };
    format!(
        "title = \"a protected link\"\n[topology]\nkind = \"chain\"\nswitches = 2\nrate = \"25Gbps\"\ndelay = \"10ns\"\n\
         switch_delay = \"100ns\"\nswitch_latency = \"590ns\"\nbuffer = \"560kB\"\n\
         [[workload]]\nkind = \"cbr\"\nrate = \"24.8Gbps\"\nframe = 1518\n[stop]\nafter = \"100ms\"\n\
         [[impair]]\nkind = \"{kind}\"\nlinks = \"switches\"\ndirection = \"forward\"\nrate = \"1e-2\"\n{quiet}\
         [[protect]]\nlinks = \"switches\"\ndirection = \"forward\"\nby = \"{by}\"\nprofile = \"{profile}\"\ncopies = 1\n"
    )
}

/// With and without order, one in ten thousand is left: by counting, and from a few hundred episodes.
#[test]
fn episodes_say_what_counting_says() {
    for by in ["linkguardian", "linkguardian-nb"] {
        let (counted, _) = crate::common::run(&link("frames", "paper", by));
        let sum = counted.counters.protection;
        let expected = sum.protected as f64 * 1e-4;
        assert!(
            poisson(sum.lost, LEVEL).contains(expected),
            "{by}: {} counted, {expected} expected",
            sum.lost
        );

        let (tilted, _) = crate::common::run(&link("tilted", "paper", by));
        let estimate = tilted.episodes.per_frame_begun(1e-2, 1e-2, LEVEL).unwrap();
        assert!(tilted.episodes.count() > 100 && estimate.relative_error() < 0.2, "{by}: {estimate:?}");
        assert!(estimate.interval.contains(1e-4), "{by}: {estimate:?}");
        let (_, off) = tilted.episodes.mean_weight().unwrap();
        assert!(off.abs() < 4.5, "{by}: the mean weight is {off} deviations from 1");
    }
}

/// Asking again leaves far less than one copy does.
#[test]
fn what_asks_again_loses_less() {
    let (tilted, _) = crate::common::run(&link("tilted", "hardened", "linkguardian"));
    let estimate = tilted.episodes.per_frame_begun(1e-2, 0.0, LEVEL).unwrap();
    assert!(estimate.value < 1e-6, "{estimate:?}");
}

/// Weights need both ends of the link: the run has one thread, whatever was asked for.
#[test]
fn a_tilted_link_is_run_by_one_thread() {
    let text = link("tilted", "paper", "linkguardian");
    let mut options = wiremend_sim::Options::new(1);
    options.threads = 2;
    let (results, _) = crate::common::run_with(&text, &options);
    assert!(results.episodes.count() > 0);
}
