//! Numbers that hold: equal terms, intervals over seeds, the measurement window.

use wiremend_measure::{Headline, SeedResult, VariantSummary, over_seeds};
use wiremend_report::notes;
use wiremend_runner::{Input, Request, Runner};

const COMPARED: &str = r#"
    title = "go-back-N and IRN"
    [topology]
    kind = "leaf-spine"
    leaves = 2
    spines = 2
    hosts_per_leaf = 2
    [[workload]]
    kind = "poisson"
    sizes = "websearch"
    load = 0.3
    flows = 30
    [[variant]]
    name = "go-back-n"
    [[variant]]
    name = "irn"
    set = { "transport.recovery" = "selective-repeat" }
    [[variant]]
    name = "rack"
    set = { "transport.recovery" = "rack-tlp" }
    [[variant]]
    name = "mp-rdma"
    set = { "transport.recovery" = "mp-rdma", "switch.ecn" = { kmin = "5kB", kmax = "200kB", pmax = 0.1 } }
    [[variant]]
    name = "dcp"
    set = { "transport.recovery" = "dcp" }
"#;

fn variants(text: &str, sets: &[&str], seeds: u64) -> Vec<VariantSummary> {
    let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
    let input = Input::from_text("compared", text, &sets).unwrap();
    Runner::new().run(&Request::new(&input).seeds(seeds)).unwrap().summary.variants
}

fn differences(variants: &[VariantSummary]) -> Vec<String> {
    notes(variants).into_iter().filter(|note| note.contains("the variants differ in")).collect()
}

#[test]
fn schemes_are_compared_with_one_window_by_default() {
    let equal = variants(COMPARED, &[], 1);
    assert!(equal[0].terms.window.ends_with(" packets of 1024 B"), "{:?}", equal[0].terms);
    assert_eq!(differences(&equal), Vec::<String>::new());
    let papers = variants(COMPARED, &["transport.window=paper"], 1);
    // The papers count packets with their offsets, so their windows are not exactly the default.
    let bdp = &papers[1].terms.window;
    assert_eq!(papers[0].terms.window, "unlimited");
    let wanted = format!(
        "the variants differ in window: unlimited with \"go-back-n\", \"mp-rdma\"; {bdp} with \"irn\", \"rack\", \"dcp\""
    );
    assert_eq!(differences(&papers), [wanted]);
}

#[test]
fn every_unequal_term_is_noted() {
    let text = COMPARED.split("[[variant]]").next().unwrap().to_owned()
        + r#"
    [[variant]]
    name = "a"
    [[variant]]
    name = "b"
    set = { "topology.buffer" = "2MB", "switch.balance" = "spray", "transport.congestion" = "swift", "transport.window" = 9 }
    [[variant]]
    name = "c"
    set = { "switch.trim" = { threshold = "100kB" }, "transport.recovery" = "dcp" }
    "#;
    let noted = differences(&variants(&text, &[], 1)).join("; ");
    for term in [
        "in window: ",
        "9 packets of 1024 B with \"b\"",
        "in buffer: unlimited with \"a\", \"c\"; 2MB per port with \"b\"",
        "in trim threshold: none with \"a\", \"b\"; 100kB with \"c\"",
        "in congestion control: none with \"a\", \"c\"; swift with \"b\"",
        "in load balancing: ecmp with \"a\", \"c\"; spray with \"b\"",
    ] {
        assert!(noted.contains(term), "{term} in {noted}");
    }
}

#[test]
fn each_seed_has_its_numbers_and_one_seed_has_no_interval() {
    let three = &variants(COMPARED, &[], 3)[0];
    assert_eq!(three.seeds.iter().map(|seed| seed.seed).collect::<Vec<_>>(), [1, 2, 3]);
    let means: Vec<f64> = three.seeds.iter().map(|seed| seed.values[&Headline::FctMean]).collect();
    let over = three.over_seeds[&Headline::FctMean];
    assert!((over.mean - means.iter().sum::<f64>() / 3.0).abs() < 1e-6, "{over:?}");
    assert!(over.low < over.mean && over.mean < over.high);
    let alone = &variants(COMPARED, &["seed=2"], 1)[0];
    assert_eq!(alone.seeds[0], three.seeds[1]);
    assert!(alone.over_seeds.is_empty());
    // 30 flows carry a median and nothing beyond.
    assert!(alone.headline(Headline::FctP50).is_some() && alone.headline(Headline::FctP99).is_none());
}

/// 200 repetitions of the tour with ten seeds each: intervals cover the mean of all runs in 95 % ± 3 of them, over nine
/// headline numbers. Of nine true shares of 95 %, one leaves ± 3 by chance in one experiment of ten, so each number has
/// ± 4. The flows are few, so that timeouts are rare and the numbers are skewed.
#[test]
fn intervals_over_seeds_cover_the_mean_in_95_percent_of_repetitions() {
    const REPETITIONS: usize = 200;
    const SEEDS: usize = 10;
    let sets = ["workload.0.flows=300".parse().unwrap()];
    let input = Input::load("tour", &sets).unwrap();
    let request = Request::new(&input).variants(&["go-back-n".to_owned()]).unwrap();
    let batch = Runner::new().run(&request.seeds((REPETITIONS * SEEDS) as u64)).unwrap();
    let all: &[SeedResult] = &batch.summary.variants[0].seeds;
    let truth = over_seeds(all);
    let judged = [
        Headline::FctP50,
        Headline::FctMean,
        Headline::FctMax,
        Headline::SlowdownMean,
        Headline::Timeouts,
        Headline::FlowsWithTimeout,
        Headline::Lost,
        Headline::Resent,
        Headline::Goodput,
    ];
    let repetitions: Vec<_> = all.chunks(SEEDS).map(over_seeds).collect();
    let share = |headline: Headline| {
        let covers = |over: &&std::collections::BTreeMap<Headline, wiremend_measure::MeanOverSeeds>| {
            (over[&headline].low..=over[&headline].high).contains(&truth[&headline].mean)
        };
        repetitions.iter().filter(covers).count() as f64 / REPETITIONS as f64
    };
    let shares = judged.map(share);
    for (headline, share) in judged.iter().zip(shares) {
        assert!((0.91..=0.99).contains(&share), "{}: {share}", headline.key());
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((0.92..=0.98).contains(&mean), "{mean}");
}

/// A timer that fires at the end of a run changes the goodput of the whole run, not that of the window.
#[test]
fn goodput_is_that_of_the_measurement_window() {
    let text = r#"
        title = "flows, one after the other, and a late one"
        [topology]
        kind = "pair"
        [[workload]]
        kind = "stream"
        message = "1MB"
        count = 50
        [[workload]]
        kind = "flows"
        pattern = "point-to-point"
        bytes = "1kB"
        start = "50ms"
    "#;
    let goodput = |more: &str| {
        let all = variants(&format!("{text}\n{more}"), &[], 1);
        (all[0].goodput.unwrap(), all[0].whole_run_goodput_bps as f64, all[0].digest.clone())
    };
    let (usual, whole, digest) = goodput("");
    assert!(usual.bps > 85e9 && whole < 10e9, "{usual:?} {whole}");
    assert!(usual.until_ns < 5e6, "{usual:?}");
    let (stated, _, same) = goodput("[measure]\nfrom = \"1ms\"\nuntil = \"2ms\"");
    assert!((stated.bps / usual.bps - 1.0).abs() < 0.03, "{stated:?} {usual:?}");
    assert_eq!(([stated.from_ns, stated.until_ns], same), ([1e6, 2e6], digest));
    let (idle, ..) = goodput("[measure]\nfrom = \"10ms\"\nuntil = \"20ms\"");
    assert!(idle.bps.abs() < 1.0, "{idle:?}");
}
