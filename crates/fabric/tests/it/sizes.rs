//! Size tables compared with published figures and with their own draws.

use proptest::prelude::*;
use wiremend_fabric::{
    BadSizeTable, MESSAGE_BYTES_MAX, SizeFault, SizeGroup, SizePoint, SizeTable, TablePosition, WORKLOADS,
};
use wiremend_units::{Bytes, mix};

/// Means of the continuous curves; draws are rounded up to whole bytes, half a byte more on average.
#[test]
fn means_equal_published_values() {
    let figures = [
        ("websearch", 1_711_250.0, 0.5),
        ("datamining", 5.04e6, 5e3),
        ("datamining-vl2", 12.66e6, 5e3),
        ("google-rpc", 2_892.0, 1.0),
        ("fb-hadoop", 121_849.0, 1.0),
        ("alibaba-storage", 40_870.0, 1.0),
        ("alibaba-ebs", 39_424.0, 1.0),
        ("fb-kv", 342.0, 1.0),
    ];
    for (name, mean, slack) in figures {
        let table = SizeTable::named(name).unwrap();
        assert!((table.mean() - mean).abs() <= slack, "{name}: {}", table.mean());
    }
}

#[test]
fn mean_inverse_packets_equal_published_values() {
    for (name, expected, slack) in
        [("websearch", 0.0576, 5e-5), ("datamining", 0.620, 5e-4), ("datamining-vl2", 0.583, 5e-4)]
    {
        let chance = SizeTable::named(name).unwrap().mean_inverse_packets(Bytes::new(1024));
        assert!((chance - expected).abs() <= slack, "{name}: {chance}");
    }
}

#[test]
fn every_built_in_table_is_valid_and_named() {
    for workload in &WORKLOADS {
        let (least, most) = workload.table().range();
        assert!(
            least >= Bytes::new(1) && most.get() <= MESSAGE_BYTES_MAX && least < most,
            "{}",
            workload.name
        );
        assert_eq!(SizeTable::named(workload.name), Some(workload.table()));
        assert!(!workload.origin.is_empty());
    }
    assert_eq!(SizeTable::named("no-such-table"), None);
}

/// Mean, E(1/S) and median of a million draws agree with the table's own figures.
#[test]
fn draws_match_the_table() {
    for workload in &WORKLOADS {
        let table = workload.table();
        let sizes: Vec<u64> = (0..1_000_000).map(|i| table.draw(mix(i)).get()).collect();
        let inverse = |size: &u64| 1.0 / size.div_ceil(1024) as f64;
        let drawn = sizes.iter().map(inverse).sum::<f64>() / sizes.len() as f64;
        assert!((drawn - table.mean_inverse_packets(Bytes::new(1024))).abs() < 2e-3, "{}", workload.name);
        let values: Vec<f64> = sizes.iter().map(|size| *size as f64).collect();
        assert_mean(workload.name, &values, table.mean());
    }
}

#[test]
fn sizes_are_uniform_between_points_and_exact_at_steps() {
    let table =
        SizeTable::from_points(&points(&[(0, 0.0), (4, 40.0), (4, 50.0), (10, 50.0), (12, 100.0)])).unwrap();
    // Evenly spaced 64-bit values: a tenth each for 1, 2, 3; 4 also has its step; 11 and 12 share the rest; 5 to
    // 10 never occur.
    let mut counts = [0_u32; 13];
    for i in 0..100_000_u64 {
        counts[table.draw(i * (u64::MAX / 100_000)).get() as usize] += 1;
    }
    let expected = [0, 10_000, 10_000, 10_000, 20_000, 0, 0, 0, 0, 0, 0, 25_000, 25_000];
    for (size, (count, expected)) in counts.into_iter().zip(expected).enumerate() {
        assert!(count.abs_diff(expected) <= 2, "size {size}: {count}");
    }
    assert!((table.mean() - (0.1 * 6.0 + 0.2 * 4.0 + 0.25 * 23.0)).abs() < 1e-9);
}

/// Google's search RPCs start at 2 bytes with 7.6 %: all of these have 2 bytes.
#[test]
fn a_first_point_above_zero_is_a_step() {
    let table = SizeTable::named("google-search-rpc").unwrap();
    assert_eq!(table.draw(0), Bytes::new(2));
    assert_eq!(table.draw((u64::MAX / 100) * 7), Bytes::new(2));
    assert_eq!(table.draw(u64::MAX / 10), Bytes::new(3));
}

#[test]
fn a_table_can_have_a_single_size() {
    let table = SizeTable::from_points(&points(&[(1000, 0.0), (1000, 100.0)])).unwrap();
    assert_eq!([0, 1 << 63, u64::MAX].map(|bits| table.draw(bits)), [Bytes::new(1000); 3]);
    assert!((table.mean() - 1000.0).abs() < 1e-9);
    let empty = SizeTable::from_points(&points(&[(0, 0.0), (0, 100.0)])).unwrap();
    assert_eq!(empty.draw(7), Bytes::new(1));
}

#[test]
fn invalid_distributions_are_rejected_with_a_row() {
    let fault = |list: &[(u64, f64)]| {
        let BadSizeTable { place, fault } = SizeTable::from_points(&points(list)).unwrap_err();
        (place, fault)
    };
    assert_eq!(fault(&[]).1, SizeFault::TooFewPoints(0));
    assert_eq!(fault(&[(1, 100.0)]), (TablePosition::Row(1), SizeFault::TooFewPoints(1)));
    assert_eq!(fault(&[(0, 0.0), (9, 50.0), (10, 40.0), (11, 100.0)]).0, TablePosition::Row(3));
    assert_eq!(fault(&[(0, 0.0), (9, 50.0), (8, 60.0), (11, 100.0)]).0, TablePosition::Row(3));
    assert_eq!(fault(&[(0, 0.0), (9, 99.9)]), (TablePosition::Row(2), SizeFault::EndsBelow(99.9)));
    assert_eq!(fault(&[(0, 0.0), (9, 100.5)]), (TablePosition::Row(2), SizeFault::NotAPercentage(100.5)));
    assert_eq!(fault(&[(0, f64::NAN), (9, 100.0)]).0, TablePosition::Row(1));
    assert_eq!(fault(&[(0, -1.0), (9, 100.0)]).0, TablePosition::Row(1));
    assert_eq!(fault(&[(0, 0.0), (1 << 32, 100.0)]).0, TablePosition::Row(2));
}

#[test]
fn files_are_parsed_with_and_without_header_and_errors_have_a_line() {
    let with = SizeTable::parse_csv("# mine\nsize_bytes,cumulative_percent\n\n0, 0\r\n 10 ,100\n").unwrap();
    assert_eq!(with, SizeTable::parse_csv("0,0\n10,100").unwrap());
    let error = |text: &str| SizeTable::parse_csv(text).unwrap_err().to_string();
    assert_eq!(
        error("# c\n0,0\n5,60\n# c\n9,50\n10,100\n"),
        "line 5: 50 % follows 60 %: a cumulative share never falls"
    );
    assert_eq!(error("0,0\n1k,100\n"), "line 2: size_bytes `1k` is not a number");
    assert_eq!(error("0,0,0\n"), "line 1: 3 values where two are needed: size_bytes,cumulative_percent");
    assert_eq!(error("0,0\n9,99\n"), "line 2: the last point is at 99 %: it must be at 100");
    assert!(error("").contains("at least 2"));
    assert!(error(&"x".repeat(1_000_000)).len() < 200);
}

proptest! {
    /// The closed form of E(1/S) equals the sum over all sizes.
    #[test]
    fn mean_inverse_packets_is_the_sum_over_sizes(list in tables(20_000), mtu in 1_u64..5_000) {
        let table = SizeTable::from_points(&list).unwrap();
        let mut sum = 0.0;
        let mut before = SizePoint { size: list[0].size, percent: 0.0 };
        for point in &list {
            let (low, high) = (before.size.get(), point.size.get());
            let sizes = if low == high { high.max(1)..=high.max(1) } else { low + 1..=high };
            let count = (sizes.end() - sizes.start() + 1) as f64;
            let inverse: f64 = sizes.map(|size| 1.0 / size.div_ceil(mtu) as f64).sum();
            sum += (point.percent - before.percent) / 100.0 * inverse / count;
            before = *point;
        }
        prop_assert!((table.mean_inverse_packets(Bytes::new(mtu)) - sum).abs() < 1e-7);
    }

    /// Larger bits never give a smaller size, and all sizes lie within the table.
    #[test]
    fn draws_increase_with_their_bits(list in tables(1 << 31), mut bits in prop::collection::vec(any::<u64>(), 1..50)) {
        let table = SizeTable::from_points(&list).unwrap();
        bits.sort_unstable();
        let sizes: Vec<Bytes> = bits.iter().map(|bits| table.draw(*bits)).collect();
        prop_assert!(sizes.is_sorted());
        let (least, most) = table.range();
        prop_assert!(least >= Bytes::new(1) && sizes.iter().all(|size| (least..=most).contains(size)));
    }

    #[test]
    fn no_text_causes_a_panic(text in "[0-9.,#\\n a-e\u{e9}-]{0,80}") {
        let _ = SizeTable::parse_csv(&text);
    }
}

fn tables(size_max: u64) -> impl Strategy<Value = Vec<SizePoint>> {
    prop::collection::vec((0..=size_max, 0_u32..=1_000), 2..8).prop_map(|mut rows| {
        rows.sort_unstable();
        let mut percents: Vec<u32> = rows.iter().map(|row| row.1).collect();
        percents.sort_unstable();
        percents[rows.len() - 1] = 1_000;
        let point = |(row, percent): (&(u64, u32), u32)| (row.0, f64::from(percent) / 10.0);
        points(&rows.iter().zip(percents).map(point).collect::<Vec<_>>())
    })
}

fn points(list: &[(u64, f64)]) -> Vec<SizePoint> {
    list.iter().map(|(size, percent)| SizePoint { size: Bytes::new(*size), percent: *percent }).collect()
}

#[track_caller]
fn assert_mean(name: &str, values: &[f64], expected: f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let off = (mean - expected) / (variance / count).sqrt();
    assert!(off.abs() < 4.0, "{name}: {mean}, expected {expected}: {off:.1} sigma");
}

/// Groups sum to 1 and keep the means; the probability of a last packet is nearly kept.
#[test]
fn groups_keep_the_means() {
    for workload in &WORKLOADS {
        let table = workload.table();
        for (exact, ratio, slack) in [(64, 1.1, 2e-4), (2, 4.0, 0.2)] {
            let groups = table.groups(Bytes::new(1024), exact, ratio);
            let sum = |of: fn(&SizeGroup) -> f64| -> f64 {
                groups.iter().map(|group| group.probability * of(group)).sum()
            };
            assert!((sum(|_| 1.0) - 1.0).abs() < 1e-9, "{}", workload.name);
            assert!((sum(|group| group.bytes) / table.mean() - 1.0).abs() < 1e-9, "{}", workload.name);
            let inverse = sum(|group| 1.0 / group.packets) / table.mean_inverse_packets(Bytes::new(1024));
            assert!((inverse - 1.0).abs() < slack, "{}: {inverse}", workload.name);
            assert!(groups.len() < 1500, "{}: {} groups", workload.name, groups.len());
        }
    }
    let fixed = [
        SizePoint { size: Bytes::new(3000), percent: 0.0 },
        SizePoint { size: Bytes::new(3000), percent: 100.0 },
    ];
    let groups = SizeTable::from_points(&fixed).unwrap().groups(Bytes::new(1024), 64, 1.1);
    assert_eq!(groups, [SizeGroup { packets: 3.0, bytes: 3000.0, probability: 1.0 }]);
}
