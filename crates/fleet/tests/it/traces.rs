//! Random traces and trace files.

use wiremend_fabric::tiers::{FabricShape, Tiers};
use wiremend_fleet::{
    CorruptionCause, LOSS_BUCKETS, LossDistribution, TimeWindow, Trace, TraceGenerator, TraceSpan, TraceTime,
};
use wiremend_units::Rate;

fn pods(pods: u32) -> Tiers {
    FabricShape::Facebook { pods, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100)).unwrap()
}

const YEAR: TimeWindow = TimeWindow::days(0, 365);

/// L16, and the failure rate: 8760 h of 10 000 h.
#[test]
fn losses_fall_into_the_published_buckets() {
    let tiers = pods(60);
    let trace = TraceGenerator::default().trace(&tiers, YEAR.end, 7);
    let count = trace.events().len() as f64;
    let expected = f64::from(tiers.link_count()) * 0.876;
    assert!((count - expected).abs() < 4.0 * expected.sqrt(), "{count} of {expected}");
    for bucket in LOSS_BUCKETS {
        let inside =
            trace.events().iter().filter(|event| (bucket.low..=bucket.high).contains(&event.loss)).count();
        let (share, part) = (inside as f64 / count, bucket.percent / 100.0);
        assert!((share - part).abs() < 4.0 * (part * (1.0 - part) / count).sqrt(), "{bucket:?}: {share}");
    }
    let mean = trace.events().iter().map(|event| event.loss).sum::<f64>() / count;
    assert!((mean / 8.3e-4 - 1.0).abs() < 0.05, "{mean}");
    let log = TraceGenerator { distribution: LossDistribution::LogUniform, ..TraceGenerator::default() }
        .trace(&tiers, YEAR.end, 7);
    let log_mean = log.events().iter().map(|event| event.loss).sum::<f64>() / log.events().len() as f64;
    assert!(log_mean < 0.8 * mean, "{log_mean}");
}

#[test]
fn generator_options_change_the_trace() {
    let tiers = pods(30);
    let plain = TraceGenerator::default().trace(&tiers, YEAR.end, 3);
    let count = |trace: &Trace| trace.events().len() as f64;
    let both = TraceGenerator { both_directions_share: 0.082, ..TraceGenerator::default() }
        .trace(&tiers, YEAR.end, 3);
    let part = both.events().iter().filter(|event| event.loss_back > 0.0).count() as f64 / count(&both);
    assert!((part - 0.082).abs() < 0.012, "{part}");
    let excluded =
        TraceGenerator { exclude_repair: true, ..TraceGenerator::default() }.trace(&tiers, YEAR.end, 3);
    assert!(count(&excluded) < count(&plain) && count(&excluded) > 0.98 * count(&plain));
    let caused = TraceGenerator { causes: true, ..TraceGenerator::default() }.trace(&tiers, YEAR.end, 3);
    assert!((count(&caused) / count(&plain) - 1.0).abs() < 0.05, "causes do not change the number of events");
    let shared =
        caused.events().iter().filter(|event| event.cause == Some(CorruptionCause::Shared)).count() as f64;
    assert!((shared / count(&caused) - 18.0 / 112.0).abs() < 0.02, "{shared}");
    let together = caused.events().windows(2).filter(|pair| pair[0].at == pair[1].at).count() as f64;
    assert!(together > 0.6 * shared * 2.0 / 3.0, "neighbours fail together: {together} of {shared}");
}

/// Each link has its own random stream.
#[test]
fn a_larger_fabric_keeps_the_events_of_existing_links() {
    let small = TraceGenerator::default().trace(&pods(2), YEAR.end, 5);
    let again = TraceGenerator::default().trace(&pods(2), YEAR.end, 5);
    assert_eq!(small, again);
    let large = TraceGenerator::default().trace(&pods(3), YEAR.end, 5);
    // Links of ToRs have the same numbers in both fabrics.
    let of_tors =
        |trace: &Trace| trace.events().iter().filter(|event| event.link.0 < 384).copied().collect::<Vec<_>>();
    assert_eq!(of_tors(&small), of_tors(&large));
}

#[test]
fn a_trace_file_is_parsed_back() {
    let tiers = pods(2);
    for generator in [
        TraceGenerator::default(),
        TraceGenerator { exclude_repair: true, ..TraceGenerator::default() },
        TraceGenerator {
            causes: true,
            both_directions_share: 0.3,
            exclude_repair: true,
            ..TraceGenerator::default()
        },
    ] {
        let trace = generator.trace(&tiers, YEAR.end, 9);
        assert_eq!(Trace::parse(&trace.to_csv(), &tiers).unwrap(), trace);
    }
}

#[test]
fn invalid_traces_are_rejected_with_a_position() {
    let tiers = pods(2);
    for (text, reason) in [
        ("", "1:1: no events"),
        ("time_s,link,loss_rate\n", "1:1: no events"),
        ("5,0,1e-3\n4,0,1e-3\n", "2:1: time 4 is before 5"),
        ("5,768,1e-3\n", "1:3: link `768` is not a link of the fabric: a number from 0 to 767"),
        ("5,0,0\n", "1:5: loss_rate `0` is not a loss rate between 0 and 1"),
        ("5,0,1\n", "1:5: loss_rate `1` is not"),
        ("5,0,1e-3,-1\n", "1:10: repair_s `-1` is not a time"),
        ("5,0,nan\n", "loss_rate `nan`"),
        ("-5,0,1e-3\n", "1:1: time_s `-5` is not a time"),
        (
            "5,0
        ",
            "1:1: 2 values instead of",
        ),
        ("5,0,1e-3,7,,moths\n", "cause `moths` is not contamination"),
    ] {
        let error = Trace::parse(text, &tiers).unwrap_err().to_string();
        assert!(error.contains(reason), "`{reason}` in {error}");
    }
    let fine = "# made by hand\ntime_s,link,loss_rate,repair_s\n1.5,0,1e-3,172800\n1.5,tor0-0:1,2e-3\n";
    let trace = Trace::parse(fine, &tiers).unwrap();
    assert_eq!((trace.events()[0].at, trace.events()[1].link.0), (TraceTime::from_us(1_500_000), 1));
    assert_eq!(trace.events()[0].repair, Some(TraceSpan::from_days(2)));
}
