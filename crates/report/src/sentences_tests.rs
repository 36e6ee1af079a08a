//! No sentence contradicts the table, whatever the results.

use proptest::prelude::*;
use wiremend_measure::{
    Collector, Counters, DropCounts, Failures, FlowOutcome, FlowRow, Goodput, JobPlan, SeedResult,
    TimeoutCounts, Trims, over_seeds,
};
use wiremend_units::mix;

use super::*;
use crate::comparison::columns;
use crate::sample;

/// Made-up results of a variant: any mix of completion times, failures, losses and jobs.
fn random_variant(name: &str, luck: u64, seeds: u64) -> VariantSummary {
    let draw = |what: u64, below: u64| mix(luck ^ mix(what)) % below;
    let some = |what: u64, below: u64| if draw(what, 3) == 0 { 0 } else { draw(what + 100, below) };
    let flows = [0, 1, 5, 300, 700, 4_000][draw(1, 6) as usize];
    let (timeout_ps, late, failing) = (1_000_000_000 << draw(2, 8), some(3, flows + 1), some(4, flows + 1));
    let jobs = draw(5, 3) == 0;
    let run = |seed: u64| {
        let plan = JobPlan { workload: 0, first_flow: 0, stride: 10, flows: vec![5], iterations: 1 };
        let mut collector = if jobs { Collector::with_jobs(vec![plan]) } else { Collector::new() };
        for flow in 0..flows {
            let row = sample::row(flow, timeout_ps, (flow + seed) % (flows + 1) < late);
            let outcome = match (flow < failing, flow % 2) {
                (true, 0) => FlowOutcome::RetryExceeded,
                (true, _) => FlowOutcome::TimeLimit,
                _ => FlowOutcome::Finished,
            };
            collector.add(&FlowRow { outcome, ..row });
        }
        let mut timeouts = TimeoutCounts::default();
        for timer in 0..some(6, 50) {
            timeouts.add(TimeoutCause::ALL[(timer % 5) as usize]);
        }
        let counters = Counters {
            timeouts,
            packets_sent: flows * 10,
            retransmitted_bytes: some(7, 1_000_000),
            corrupted_frames: some(8, 2_000),
            dropped_frames: DropCounts {
                buffer: some(9, 2_000),
                no_connection: some(10, 9),
                ..DropCounts::default()
            },
            trims: Trims { trimmed: some(11, 2_000), ..Trims::default() },
            failures: Failures {
                lost_frames: some(12, 2_000),
                connections: some(13, 9),
                ..Failures::default()
            },
            simulated_ps: 1_000_000_000,
            ..Counters::default()
        };
        (collector, counters)
    };
    let (mut all, mut counters, mut each) = (Collector::default(), Counters::default(), Vec::new());
    for seed in 1..=seeds {
        let (collector, own) = run(seed);
        each.push(SeedResult::new(seed, &collector.summary(name, &own)));
        all.merge(&collector);
        counters += own;
    }
    let goodput = Some(Goodput { bps: 1e9, from_ns: 0.0, until_ns: 1.0 });
    let over_seeds = over_seeds(&each);
    VariantSummary { goodput, seeds: each, over_seeds, ..all.summary(name, &counters) }
}

/// Names that the sentence quotes, in order.
fn quoted_names(sentence: &str) -> Vec<&str> {
    sentence.split('"').skip(1).step_by(2).collect()
}

fn find<'a>(variants: &'a [VariantSummary], name: &str) -> &'a VariantSummary {
    variants.iter().find(|variant| variant.name == name).expect("a quoted name is that of a variant")
}

/// The cell of a variant under a heading of the table.
fn cell(variants: &[VariantSummary], heading: &str, name: &str) -> Option<String> {
    let row = variants.iter().position(|variant| variant.name == name)?;
    let found = columns(variants).into_iter().find(|column| column.heading == heading)?;
    Some(found.cells[row].clone())
}

fn check_times(sentence: &str, variants: &[VariantSummary]) {
    let subjects = [
        ("median flow takes", Headline::FctP50, "p50"),
        ("99th percentile of the flow", Headline::FctP99, "p99"),
        ("99.9th percentile of the flow", Headline::FctP999, "p99.9"),
        ("slowest flow takes", Headline::FctMax, "max"),
        ("99th percentile of the slowdown", Headline::SlowdownP99, "slowdown p99"),
        ("slowest job takes", Headline::JobMax, "job max"),
        ("a job takes on average", Headline::JobMean, "job mean"),
    ];
    let lower = sentence.to_lowercase();
    let said = |subject: &&(&str, Headline, &str)| lower.contains(subject.0);
    let (names, Some((_, headline, heading))) = (quoted_names(sentence), subjects.iter().find(said)) else {
        return;
    };
    let [low, high] = names[..] else { return };
    let written = if *headline == Headline::SlowdownP99 { human::factor } else { human::time_ns };
    for (name, other) in [(low, high), (high, low)] {
        let value = written(find(variants, name).headline(*headline).unwrap());
        assert!(sentence.contains(&format!("{value} with \"{name}\"")), "{sentence}: {value}, not {other}");
        if variants.iter().all(|variant| variant.seeds.len() == 1) {
            assert_eq!(cell(variants, heading, name), Some(value), "{sentence}");
        }
    }
    let [least, most] = [low, high].map(|name| find(variants, name).headline(*headline).unwrap());
    assert!(most >= NOTABLE * least, "{sentence}");
    let is_compared = |variant: &&VariantSummary| {
        !sentence.starts_with("Where all flows finished") || variant.finished == variant.flows
    };
    for other in variants.iter().filter(is_compared).filter_map(|variant| variant.headline(*headline)) {
        assert!((least..=most).contains(&other), "{sentence}: another variant has {other}");
    }
}

/// The largest difference of the table is the one that is named.
fn check_largest(sentence: &str, variants: &[VariantSummary]) {
    if !sentence.to_lowercase().contains("no percentile of flow completion times or slowdowns differs by") {
        return;
    }
    let has_seeds = variants.iter().any(|variant| variant.seeds.len() > 1);
    assert_eq!(sentence.contains("beyond the intervals over"), has_seeds, "{sentence}");
    for headline in
        [Headline::FctP50, Headline::FctP99, Headline::FctP999, Headline::FctMax, Headline::SlowdownP99]
    {
        let whole = variants.iter().filter(|variant| {
            variant.fct_ns.is_some()
                && (!sentence.starts_with("Where all") || variant.finished == variant.flows)
        });
        let Some(values) = whole.map(|variant| variant.headline(headline)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let (least, most) = values.iter().fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(*v), b.max(*v)));
        let is_one_seed = variants.iter().all(|variant| variant.seeds.len() == 1);
        assert!(!is_one_seed || most < NOTABLE * least, "{sentence}: {headline:?} {least} to {most}");
    }
}

fn check_counts(sentence: &str, variants: &[VariantSummary]) {
    if sentence == "No retransmission timer fired." {
        for variant in variants {
            assert_eq!(variant.timeouts.total(), 0, "{sentence}");
        }
    }
    let names = quoted_names(sentence);
    let subject = match (names.first(), variants) {
        (Some(name), _) => find(variants, name),
        (None, [only]) => only,
        _ => return,
    };
    if sentence.contains(" failed: ") {
        let failed = subject.flows - subject.finished;
        assert!(failed > 0 && sentence.contains(&human::count(failed)) || subject.flows == 1, "{sentence}");
        let told = [
            ("links corrupted", subject.corrupted_frames),
            ("full queues dropped", subject.dropped_frames.buffer),
            ("switches trimmed", subject.trims.trimmed),
            ("failed links lost", subject.failures.lost_frames),
        ];
        for (words, count) in told {
            assert_eq!(sentence.contains(words), count > 0, "{sentence}: {count}");
        }
        assert!(!sentence.contains("no frame was lost") || subject.lost_frames() == 0, "{sentence}");
        let worse = |variant: &VariantSummary| {
            (variant.flows - variant.finished) * subject.flows > failed * variant.flows
        };
        assert!(!variants.iter().any(worse), "{sentence}");
    }
    if let Some((_, rest)) = sentence.to_lowercase().split_once("failed links lost ")
        && !sentence.contains(" failed: ")
    {
        let most = variants.iter().map(|variant| variant.failures.lost_frames).max();
        assert_eq!(Some(subject.failures.lost_frames), most, "{sentence}");
        assert!(rest.starts_with(&human::count(subject.failures.lost_frames)), "{sentence}");
        assert_eq!(rest.contains("hit "), subject.failures.connections > 0, "{sentence}");
    }
    if sentence.contains("although no frame was lost") {
        assert!(subject.lost_frames() == 0 && subject.retransmitted_bytes > 0, "{sentence}");
    }
    if let Some(rest) = sentence.strip_prefix("For each ") {
        let ways = rest.split(" frame").next().unwrap();
        assert_eq!(
            ways.contains("corrupted"),
            variants.iter().any(|v| v.flows > 0 && v.corrupted_frames > 0)
        );
        assert_eq!(
            ways.contains("dropped"),
            variants.iter().any(|v| v.flows > 0 && v.dropped_frames.buffer > 0)
        );
        assert_eq!(ways.contains("trimmed"), variants.iter().any(|v| v.flows > 0 && v.trims.trimmed > 0));
    }
    if sentence.contains("timers fired") {
        let most = variants.iter().map(|variant| variant.timeouts.total()).max();
        assert_eq!(Some(subject.timeouts.total()), most, "{sentence}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_sentence_contradicts_the_table(lucks in prop::collection::vec(any::<u64>(), 1..5), seeds in 1_u64..4) {
        let names = ["a", "b", "c", "d"];
        let variants: Vec<_> =
            lucks.iter().zip(names).map(|(luck, name)| random_variant(name, *luck, seeds)).collect();
        let said = sentences(&variants);
        prop_assert!(said.len() <= 4);
        for sentence in &said {
            check_times(sentence, &variants);
            check_largest(sentence, &variants);
            check_counts(sentence, &variants);
        }
        let sent = variants.iter().any(|variant| variant.packets_sent > 0);
        let failed = variants.iter().any(|variant| variant.finished < variant.flows);
        prop_assert_eq!(sent && failed, said.iter().any(|sentence| sentence.contains(" failed: ")), "{:?}", said);
        let jobs = variants.iter().filter(|variant| variant.headline(Headline::JobMax).is_some()).count();
        let is_led = said.iter().position(|sentence| sentence.to_lowercase().contains("job"));
        prop_assert!(jobs < variants.len() || is_led.is_some_and(|place| place <= 1), "{:?}", said);
    }
}

fn one(name: &str, change: impl Fn(&mut VariantSummary)) -> VariantSummary {
    let mut variant = sample::variant(name, 1_048_576_000, 0);
    (variant.corrupted_frames, variant.retransmitted_bytes) = (0, 0);
    change(&mut variant);
    variant
}

/// The median is equal and the 99th percentile is not: the difference is named.
#[test]
fn the_largest_difference_is_named_first() {
    let slow = one("slow", |variant| variant.fct_ns.as_mut().unwrap().p99 *= 811.0 / 3.6);
    let text = sentences(&[one("fast", |_| {}), slow]).join(" ");
    assert!(text.contains("The 99th percentile of the flow completion time is"), "{text}");
    assert!(text.contains("225× as long") && text.contains("medians differ by less than 1.5×"), "{text}");
}

/// Equal completion times of unequal flows: the slowdown differs, and is named.
#[test]
fn a_difference_of_slowdowns_is_named() {
    let slow = one("slow", |variant| variant.slowdown.as_mut().unwrap().p99 *= 300.0);
    let text = sentences(&[one("fast", |_| {}), slow]).join(" ");
    assert!(text.starts_with("The 99th percentile of the slowdown is "), "{text}");
    assert!(
        text.contains(": 300× as large. Their median completion times differ by less than 1.5×."),
        "{text}"
    );
}

/// A sample that does not carry a percentile is not compared by it.
#[test]
fn a_percentile_that_flows_do_not_carry_is_not_named() {
    let few = |variant: &mut VariantSummary| (variant.flows, variant.finished) = (300, 300);
    let slow = one("slow", |variant| {
        few(variant);
        variant.fct_ns.as_mut().unwrap().p999 *= 1e6;
    });
    let text = sentences(&[one("fast", few), slow]).join(" ");
    assert!(
        text.contains("no percentile of flow completion times or slowdowns differs")
            || text.contains("No percentile"),
        "{text}"
    );
}

#[test]
fn trimmed_packets_are_not_called_corrupted() {
    let trimmed = one("dcp", |variant| {
        (variant.trims.trimmed, variant.retransmitted_bytes) = (1_000, 1_000_000);
    });
    let text = sentences(&[trimmed]).join(" ");
    assert!(text.contains("For each trimmed frame, 1 kB were sent again on average."), "{text}");
}

#[test]
fn what_killed_flows_is_said() {
    let dead = |lost: u64| {
        one("x", |variant| {
            variant.finished -= 12;
            variant.failed = [("retry_exceeded", 12)].into();
            variant.dropped_frames.buffer = lost;
        })
    };
    let text = sentences(&[dead(77)]).join(" ");
    assert!(
        text.starts_with(
            "12 of 20\u{202f}000 flows failed: 12 exhausted their retries; full queues dropped 77 frames."
        ),
        "{text}"
    );
    let text = sentences(&[dead(0)]).join(" ");
    assert!(text.contains("no frame was lost: the timers expired before"), "{text}");
}

#[test]
fn intervals_that_overlap_are_no_difference() {
    let over = |mean: f64| wiremend_measure::MeanOverSeeds { mean, low: mean - 1e6, high: mean + 1e6 };
    let variant = |name: &str, mean: f64| {
        one(name, |variant| {
            let seed = SeedResult::new(1, variant);
            variant.seeds = vec![seed.clone(), seed];
            variant.over_seeds = [(Headline::FctMax, over(mean)), (Headline::FctP50, over(1e9))].into();
        })
    };
    let text = sentences(&[variant("a", 1e6), variant("b", 2e6)]).join(" ");
    assert!(text.contains("No percentile of flow completion times or slowdowns differs"), "{text}");
    let text = sentences(&[variant("a", 1.5e6), variant("b", 4e6)]).join(" ");
    assert!(
        text.contains("1.5 ms with \"a\" and 4 ms with \"b\": 2.67× as long, on average over 2 seeds."),
        "{text}"
    );
}
