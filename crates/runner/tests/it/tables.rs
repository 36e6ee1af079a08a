//! The tables of a run, read back: they agree with each other, with the summary and with the network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use wiremend_measure::{Summary, VariantSummary};
use wiremend_runner::{Input, Request, Runner};

const SEEDS: u64 = 2;

/// Each scenario has something that the others have not: corruption, trims, pauses, marks, protection, TCP.
#[test]
fn totals_of_links_add_up_to_the_summary() {
    for (name, changes) in [
        ("tour", &["workload.0.flows=500"][..]),
        ("trimming", &["stop.after=300us"]),
        ("victim", &["stop.after=300us"]),
        ("congestion", &["stop.after=500us"]),
        ("incast", &["stop.after=3ms"]),
        ("tcp", &["stop.after=6ms", "transport.tcp.rto_min=5ms"]),
        ("claims/linkguardian", &["stop.after=200us"]),
        ("link-failure", &["stop.after=3ms"]),
    ] {
        let (_directory, summary, tables) = run(&load(name, changes));
        for variant in &summary.variants {
            check_totals(variant, &tables.links);
        }
    }
}

fn check_totals(variant: &VariantSummary, links: &[Values]) {
    let links: Vec<_> = links.iter().filter(|row| row.text("variant") == variant.name).collect();
    let sum = |column: &str| links.iter().map(|row| row.int_or_zero(column)).sum::<u64>();
    let VariantSummary { protection, flow_control, trims, .. } = variant;
    let sums = [
        ("frames", variant.packet_hops),
        ("corrupted_frames", variant.corrupted_frames),
        ("failed_frames", variant.failures.lost_frames),
        ("dropped_frames", variant.dropped_frames.buffer),
        ("host_retransmitted_packets", variant.retransmitted_packets),
        ("marked_frames", variant.congestion.marked),
        ("trimmed_packets", trims.trimmed),
        ("dropped_headers", trims.headers_dropped),
        ("pfc_frames", flow_control.received),
        ("pfc_corrupted_frames", flow_control.corrupted),
        ("protected_frames", protection.protected),
        ("link_retransmitted_frames", protection.resent.frames),
        ("link_retransmitted_bytes", protection.resent.bytes),
        ("link_control_frames", protection.control.frames),
        ("link_missed_frames", protection.missed),
        ("link_recovered_frames", protection.recovered),
        ("link_lost_frames", protection.lost),
    ];
    for (column, wanted) in sums {
        assert_eq!(sum(column), wanted, "{column} of {}", variant.name);
    }
    assert!((sum("paused_ps") / 1_000).abs_diff(flow_control.paused_ns) <= 8 * links.len() as u64);
    assert!(links.iter().all(|row| (0.0..=1.0).contains(&row.float("utilisation"))));
}

/// A path is what the frames took: it is connected, and the lanes that carried frames are those of the paths.
#[test]
fn flows_cross_the_lanes_that_carried_frames() {
    for recovery in ["go-back-n", "selective-repeat"] {
        let changes = [format!("transport.recovery={recovery}"), "impair.0.rate=2e-3".to_owned()];
        let (_directory, summary, tables) = run(&fabric(&changes));
        assert!(summary.variants[0].corrupted_frames > 0);
        let mut crossed: BTreeMap<(u64, String), [u64; 3]> = BTreeMap::new();
        for flow in &tables.flows {
            let (path, back) = (flow.list("path"), flow.list("return_path"));
            let ends = [flow.int("src"), flow.int("dst")].map(|host| format!("h{host}"));
            check_ends(&path, &ends[0], &ends[1]);
            check_ends(&back, &ends[1], &ends[0]);
            for lane in path.into_iter().chain(back) {
                let sums = crossed.entry((flow.int("seed"), lane)).or_default();
                let lost = (flow.int("end_ps") - flow.int("start_ps")).saturating_sub(flow.int("ideal_ps"));
                *sums = [sums[0] + 1, sums[1] + flow.int("timeouts"), sums[2] + lost];
            }
        }
        for link in &tables.links {
            let key = (link.int("seed"), link.text("lane"));
            let sums = crossed.get(&key).copied().unwrap_or_default();
            let found = ["flows", "flow_timeouts", "flow_time_lost_ps"].map(|column| link.int(column));
            assert_eq!(found, sums, "{key:?}");
            assert_eq!(link.int("frames") > 0, sums[0] > 0, "{key:?}");
        }
    }
}

fn check_ends(path: &[String], from: &str, to: &str) {
    let ends: Vec<_> = path.iter().map(|lane| lane.split_once('>').unwrap()).collect();
    assert_eq!((ends[0].0, ends[ends.len() - 1].1), (from, to), "{path:?}");
    assert!(ends.windows(2).all(|two| two[0].1 == two[1].0), "{path:?}");
}

/// Nothing but corruption loses frames here, so a flow that lost one crossed a corrupting link.
#[test]
fn flows_know_whether_they_crossed_a_corrupting_link() {
    let input = fabric(&["impair.0.rate=0.1".to_owned()]);
    let (_directory, summary, tables) = run(&input);
    assert_eq!(summary.variants[0].dropped_frames.lost(), 0);
    let corrupting: BTreeSet<String> =
        tables.links.iter().filter(|link| link.flag("corrupting")).map(|link| link.text("lane")).collect();
    assert_eq!(corrupting, ["leaf0>spine1", "spine1>leaf0"].map(str::to_owned).into());
    let (mut crossed, mut hurt) = (0, 0);
    for flow in &tables.flows {
        let crosses = |path: &str| flow.list(path).iter().any(|lane| corrupting.contains(lane));
        let flags = ["crossed_corrupting_link", "return_crossed_corrupting_link"].map(|flag| flow.flag(flag));
        assert_eq!(flags, ["path", "return_path"].map(crosses));
        let is_hurt = flow.int("naks") + flow.int("timeouts") + flow.int("retransmitted_packets") > 0;
        assert!(!is_hurt || flags.contains(&true), "flow {}", flow.int("flow"));
        crossed += u64::from(flags.contains(&true));
        hurt += u64::from(is_hurt);
    }
    assert!(hurt > 10 && crossed > hurt && crossed < tables.flows.len() as u64, "{crossed} {hurt}");
    // A rate of zero corrupts nothing.
    let (_directory, _, tables) = run(&fabric(&["impair.0.rate=0".to_owned()]));
    assert!(tables.links.iter().all(|link| !link.flag("corrupting")));
    assert!(tables.flows.iter().all(|flow| !flow.flag("crossed_corrupting_link")));
}

/// Sprayed packets of a flow take several paths. There is no column for what no flow of a run has.
#[test]
fn tables_have_only_columns_with_values() {
    let columns = |changes: &[String]| -> BTreeSet<String> {
        let (_directory, _, tables) = run(&fabric(changes));
        let all = tables.flows.iter().chain(&tables.links);
        let values = all.flat_map(|row| row.0.iter()).filter(|(_, value)| **value != Field::Null);
        let with_values: BTreeSet<String> = values.map(|(name, _)| name.clone()).collect();
        let all = tables.flows[0].0.keys().chain(tables.links[0].0.keys());
        assert_eq!(with_values, all.cloned().collect(), "columns without values");
        with_values
    };
    let plain = columns(&[]);
    for name in ["workload", "class", "connection", "path", "crossed_corrupting_link", "flow_time_lost_ps"] {
        assert!(plain.contains(name), "{name}");
    }
    assert!(!plain.iter().any(|name| {
        ["tcp_", "pfc_", "trimmed", "marked", "link_"].iter().any(|start| name.starts_with(start))
    }));
    let sprayed = columns(&["switch.balance=spray".to_owned()]);
    let lost: Vec<_> = plain.difference(&sprayed).map(String::as_str).collect();
    assert_eq!(
        lost,
        [
            "crossed_corrupting_link",
            "flow_time_lost_ps",
            "flow_timeouts",
            "flows",
            "path",
            "return_crossed_corrupting_link",
            "return_path"
        ]
    );
    assert!(columns(&["transport.protocol=tcp".to_owned()]).contains("tcp_dsacks"));
    let fail = r#"fail=[{ links = "leaf0-spine1", start = "5us" }]"#;
    let failing = columns(&[fail.to_owned()]);
    let more: Vec<_> = failing.difference(&plain).map(String::as_str).collect();
    assert_eq!(more, ["failed_frames"]);
}

#[test]
fn tables_have_the_same_bytes_on_any_number_of_threads() {
    let text = format!("{}\n[series]\nevery = \"5us\"\nflows = [3, 5, 390]\n", fabric(&[]).file.text());
    let input = Input::from_text("fabric", &text, &[]).unwrap();
    let files = |threads| {
        let directory = tempfile::tempdir().unwrap();
        let request = Request::new(&input).seeds(3).out_dir(directory.path().join("r")).csv();
        Runner::new().threads(threads).run(&request).unwrap();
        let read = |name: &str| fs::read_to_string(directory.path().join("r").join(name)).unwrap();
        ["flows.csv", "links.csv", "series.csv", "flow_series.csv"].map(read)
    };
    let alone = files(1);
    assert!(alone.iter().all(|text| text.lines().count() > 5));
    assert_eq!(files(4), alone);
}

/// Samples of a flow add up to the flow, and rates and windows are those of its congestion control.
#[test]
fn recorded_flows_have_rates_and_windows_over_time() {
    let series = "[series]\nevery = \"5us\"\nlinks = \"leaf0-spine1\"\nflows = 40\n";
    let text = format!("{}\n{series}", fabric(&[]).file.text());
    let samples = |changes: &[&str]| {
        let changes: Vec<_> = changes.iter().map(|change| change.parse().unwrap()).collect();
        let input = Input::from_text("fabric", &text, &changes).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let request = Request::new(&input).out_dir(directory.path().join("r"));
        Runner::new().threads(2).run(&request).unwrap();
        let table = |name: &str| read(&directory.path().join("r").join(name));
        (table("flows.parquet"), table("flow_series.parquet"))
    };
    for changes in [
        &["transport.window=8", "workload.0.sizes=1MB"][..],
        &["transport.recovery=selective-repeat", "workload.0.sizes=1MB"],
        &["transport.protocol=tcp", "workload.0.sizes=1MB"],
    ] {
        let (flows, samples) = samples(changes);
        let mut sent: BTreeMap<u64, u64> = BTreeMap::new();
        for sample in &samples {
            *sent.entry(sample.int("flow")).or_default() += sample.int("sent_bytes");
            assert!(sample.int("window_bytes") > 0 && !sample.0.contains_key("rate_bps"));
            let bps =
                u128::from(sample.int("sent_bytes")) * 8_000_000_000_000 / u128::from(sample.int("span_ps"));
            assert_eq!(u128::from(sample.int("throughput_bps")), bps);
        }
        assert_eq!(sent.len(), 40);
        for flow in flows.iter().filter(|flow| flow.int("flow") < 40) {
            assert_eq!(sent[&flow.int("flow")], flow.int("bytes"), "{changes:?}");
        }
        if changes[0].ends_with("window=8") {
            assert!(samples.iter().all(|sample| sample.int("window_bytes") == 8 * 1024));
        }
    }
    let dcqcn = [
        "transport.congestion=dcqcn-paper",
        "switch.ecn={kmin=\"5kB\",kmax=\"200kB\",pmax=0.1}",
        "workload.0.sizes=1MB",
        "workload.0.load=0.8",
    ];
    let (_, samples) = samples(&dcqcn);
    let rates: BTreeSet<u64> = samples.iter().map(|sample| sample.int("rate_bps")).collect();
    assert!(rates.len() > 5 && rates.last() == Some(&100_000_000_000), "{rates:?}");
}

/// A row by the names of its columns.
struct Values(BTreeMap<String, Field>);

impl Values {
    fn new(row: &Row) -> Self {
        Self(row.get_column_iter().map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    fn int(&self, column: &str) -> u64 {
        let Field::Long(value) = &self.0[column] else { panic!("{column} is {:?}", self.0[column]) };
        u64::try_from(*value).unwrap()
    }

    fn int_or_zero(&self, column: &str) -> u64 {
        if self.0.contains_key(column) { self.int(column) } else { 0 }
    }

    fn float(&self, column: &str) -> f64 {
        let Field::Double(value) = &self.0[column] else { panic!("{column} is {:?}", self.0[column]) };
        *value
    }

    fn flag(&self, column: &str) -> bool {
        let Field::Bool(value) = &self.0[column] else { panic!("{column} is {:?}", self.0[column]) };
        *value
    }

    fn text(&self, column: &str) -> String {
        let Field::Str(value) = &self.0[column] else { panic!("{column} is {:?}", self.0[column]) };
        value.clone()
    }

    fn list(&self, column: &str) -> Vec<String> {
        let Field::ListInternal(values) = &self.0[column] else { panic!("{column} is {:?}", self.0[column]) };
        let text = |value: &Field| match value {
            Field::Str(text) => text.clone(),
            other => panic!("{column} has {other:?}"),
        };
        values.elements().iter().map(text).collect()
    }
}

struct Tables {
    flows: Vec<Values>,
    links: Vec<Values>,
}

/// Runs two seeds and reads the tables.
fn run(input: &Input) -> (tempfile::TempDir, Summary, Tables) {
    let directory = tempfile::tempdir().unwrap();
    let batch =
        Runner::new().run(&Request::new(input).seeds(SEEDS).out_dir(directory.path().join("r"))).unwrap();
    let tables = Tables {
        flows: read(&directory.path().join("r/flows.parquet")),
        links: read(&directory.path().join("r/links.parquet")),
    };
    (directory, batch.summary, tables)
}

fn read(path: &Path) -> Vec<Values> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let has_origin = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap()
        .iter()
        .any(|entry| entry.key == "wiremend");
    assert!(has_origin, "{} says how it was made", path.display());
    reader.get_row_iter(None).unwrap().map(|row| Values::new(&row.unwrap())).collect()
}

fn load(name: &str, changes: &[&str]) -> Input {
    let changes: Vec<_> = changes.iter().map(|change| change.parse().unwrap()).collect();
    Input::load(name, &changes).unwrap()
}

/// Flows between the hosts of two leaves, over two spines, of which one has a corrupting link.
fn fabric(changes: &[String]) -> Input {
    let text = r#"
        title = "flows over two spines"
        [topology]
        kind = "leaf-spine"
        leaves = 2
        spines = 2
        hosts_per_leaf = 2
        [[workload]]
        kind = "poisson"
        load = 0.2
        flows = 400
        sizes = "google-rpc"
        [[impair]]
        kind = "frames"
        links = "leaf0-spine1"
        rate = "1e-3"
    "#;
    let changes: Vec<_> = changes.iter().map(|change| change.parse().unwrap()).collect();
    Input::from_text("fabric", text, &changes).unwrap()
}
