//! Traces: what is drawn, and what files say.

use wiremend_fabric::tiers::{Shape, Tiers};
use wiremend_fleet::{BUCKETS, Cause, Generator, Inside, Moment, Trace, Window};
use wiremend_units::Rate;

fn pods(pods: u32) -> Tiers {
    Shape::Facebook { pods, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100)).unwrap()
}

const YEAR: Window = Window::days(0, 365);

/// L16, and the rate at which links fail: 8760 h of 10 000 h.
#[test]
fn losses_fall_into_the_published_buckets() {
    let tiers = pods(60);
    let trace = Generator::default().trace(&tiers, YEAR.end, 7);
    let count = trace.events().len() as f64;
    let expected = f64::from(tiers.link_count()) * 0.876;
    assert!((count - expected).abs() < 4.0 * expected.sqrt(), "{count} of {expected}");
    for bucket in BUCKETS {
        let inside =
            trace.events().iter().filter(|event| (bucket.low..=bucket.high).contains(&event.loss)).count();
        let (share, part) = (inside as f64 / count, bucket.percent / 100.0);
        assert!((share - part).abs() < 4.0 * (part * (1.0 - part) / count).sqrt(), "{bucket:?}: {share}");
    }
    let mean = trace.events().iter().map(|event| event.loss).sum::<f64>() / count;
    assert!((mean / 8.3e-4 - 1.0).abs() < 0.05, "{mean}");
    let log = Generator { inside: Inside::LogUniform, ..Generator::default() }.trace(&tiers, YEAR.end, 7);
    let log_mean = log.events().iter().map(|event| event.loss).sum::<f64>() / log.events().len() as f64;
    assert!(log_mean < 0.8 * mean, "{log_mean}");
}

#[test]
fn options_do_what_they_say() {
    let tiers = pods(30);
    let plain = Generator::default().trace(&tiers, YEAR.end, 3);
    let count = |trace: &Trace| trace.events().len() as f64;
    let both = Generator { both_ways: 0.082, ..Generator::default() }.trace(&tiers, YEAR.end, 3);
    let part = both.events().iter().filter(|event| event.loss_back > 0.0).count() as f64 / count(&both);
    assert!((part - 0.082).abs() < 0.012, "{part}");
    let excluded = Generator { exclude_repair: true, ..Generator::default() }.trace(&tiers, YEAR.end, 3);
    assert!(count(&excluded) < count(&plain) && count(&excluded) > 0.98 * count(&plain));
    let caused = Generator { causes: true, ..Generator::default() }.trace(&tiers, YEAR.end, 3);
    assert!((count(&caused) / count(&plain) - 1.0).abs() < 0.05, "as many, whatever the reason");
    let shared = caused.events().iter().filter(|event| event.cause == Some(Cause::Shared)).count() as f64;
    assert!((shared / count(&caused) - 18.0 / 112.0).abs() < 0.02, "{shared}");
    let together = caused.events().windows(2).filter(|pair| pair[0].at == pair[1].at).count() as f64;
    assert!(together > 0.6 * shared * 2.0 / 3.0, "neighbours fail together: {together} of {shared}");
}

/// The draws of a link are its own.
#[test]
fn a_larger_fabric_changes_nothing_for_the_links_that_were_there() {
    let small = Generator::default().trace(&pods(2), YEAR.end, 5);
    let again = Generator::default().trace(&pods(2), YEAR.end, 5);
    assert_eq!(small, again);
    let large = Generator::default().trace(&pods(3), YEAR.end, 5);
    // Links from ToRs have the same numbers in both.
    let of_tors =
        |trace: &Trace| trace.events().iter().filter(|event| event.link.0 < 384).copied().collect::<Vec<_>>();
    assert_eq!(of_tors(&small), of_tors(&large));
}

#[test]
fn a_trace_comes_back_from_its_file() {
    let tiers = pods(2);
    for generator in [
        Generator::default(),
        Generator { exclude_repair: true, ..Generator::default() },
        Generator { causes: true, both_ways: 0.3, exclude_repair: true, ..Generator::default() },
    ] {
        let trace = generator.trace(&tiers, YEAR.end, 9);
        assert_eq!(Trace::parse(&trace.to_csv(), &tiers).unwrap(), trace);
    }
}

#[test]
fn what_is_no_trace_is_refused_where_it_stands() {
    let tiers = pods(2);
    for (text, told) in [
        ("", "1:1: no events"),
        ("time_s,link,loss_rate\n", "1:1: no events"),
        ("5,0,1e-3\n4,0,1e-3\n", "2:1: time 4 is before 5"),
        ("5,768,1e-3\n", "1:3: link `768` is not a link of the fabric: a number from 0 to 767"),
        ("5,0,0\n", "1:5: loss_rate `0` is not a loss rate between 0 and 1"),
        ("5,0,1\n", "1:5: loss_rate `1` is not"),
        ("5,0,1e-3,-1\n", "1:10: repair_s `-1` is not a time"),
        ("5,0,nan\n", "loss_rate `nan`"),
        ("-5,0,1e-3\n", "1:1: time_s `-5` is not a time"),
        ("5,0\n", "1:1: 2 values where"),
        ("5,0,1e-3,7,,moths\n", "cause `moths` is not contamination"),
    ] {
        let error = Trace::parse(text, &tiers).unwrap_err().to_string();
        assert!(error.contains(told), "{error} has not {told}");
    }
    let fine = "# made by hand\ntime_s,link,loss_rate,repair_s\n1.5,0,1e-3,172800\n1.5,tor0-0:1,2e-3\n";
    let trace = Trace::parse(fine, &tiers).unwrap();
    assert_eq!((trace.events()[0].at, trace.events()[1].link.0), (Moment::from_us(1_500_000), 1));
    assert_eq!(trace.events()[0].repair, Some(Moment::from_days(2)));
}
