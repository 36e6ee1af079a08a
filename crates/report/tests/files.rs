//! Result files, read back.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use parquet::basic::Encoding;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use wiremend_measure::{
    FlowOutcome, FlowRow, LaneFlows, LaneRow, Metric, Origin, SeriesRow, Summary, TcpStats,
};
use wiremend_report::{
    Contents, FlowLanes, FlowSeriesWriter, FlowWriter, Format, LaneNames, LaneWriter, Need, RunId,
    SeriesWriter,
};

const ORIGIN: RunId<'static> = RunId { variant: "plain, \"old\"", seed: 7 };

#[test]
fn csv_has_the_documented_columns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.csv");
    let mut writer = FlowWriter::create(&path, Format::Csv, Contents::ALL).unwrap();
    let lanes = FlowLanes {
        path: &["h0>s", "s>h5"],
        return_path: &["h5>s", "s>h0"],
        crossed_corrupting: true,
        return_crossed_corrupting: false,
    };
    writer.push(ORIGIN, &row(0), Some(&lanes)).unwrap();
    let failed = FlowRow { outcome: FlowOutcome::RetryExceeded, delivered_ps: None, timeouts: 8, ..row(1) };
    writer.push(RunId { variant: "b", seed: 8 }, &failed, None).unwrap();
    let trouble = TcpStats {
        link_recovered: 1,
        sacked_bytes_max: 3_000,
        after_gap_bytes: 5_000,
        unsent_bytes: 2_000,
        recoveries: 1,
        spurious_recoveries: 1,
        tail_probes: 0,
        dsacks: 2,
    };
    let later = FlowRow { tcp: Some(trouble), connection: None, ..row(3 * FlowRow::PER_WORKLOAD + 2) };
    writer
        .push(
            RunId { variant: "b", seed: 8 },
            &FlowRow { start_ps: 2_000, end_ps: 1_502_500, delivered_ps: Some(1_402_000), ..later },
            None,
        )
        .unwrap();
    assert!(!path.exists());
    writer.finish().unwrap();
    let wanted = "\
variant,seed,workload,flow,src,dst,class,connection,bytes,start_ps,end_ps,delivered_ps,ideal_ps,fct_ns,slowdown,outcome,\
timeouts,naks,retransmitted_packets,retransmitted_bytes,failed_frames,path,return_path,crossed_corrupting_link,\
return_crossed_corrupting_link,tcp_link_recovered,tcp_sacked_bytes_max,tcp_after_gap_bytes,tcp_unsent_bytes,\
tcp_recoveries,tcp_spurious_recoveries,tcp_tail_probes,tcp_dsacks
\"plain, \"\"old\"\"\",7,0,0,0,5,2,3,4096,0,1500500,1400000,1000000,1500.5,1.5005,finished,0,1,2,2048,4,\
h0>s s>h5,h5>s s>h0,true,false,,,,,,,,
b,8,0,1,1,6,2,3,4096,1000,1501500,,1000000,1500.5,1.5005,retry_exceeded,8,1,2,2048,4,,,,,,,,,,,,
b,8,3,3298534883330,2,7,2,,4096,2000,1502500,1402000,1000000,1500.5,1.5005,finished,0,1,2,2048,4,,,,,1,3000,5000,2000,1,1,0,2
";
    assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
}

#[test]
fn parquet_reads_back_over_several_row_groups() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    let mut writer = FlowWriter::create(&path, Format::Parquet, Contents::default()).unwrap();
    let count = 70_000;
    for flow in 0..count {
        let delivered_ps = (flow % 3 > 0).then_some(flow);
        writer.push(ORIGIN, &FlowRow { delivered_ps, ..row(flow) }, None).unwrap();
    }
    writer.finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), 2);
    assert_eq!(
        reader.metadata().file_metadata().created_by(),
        Some(concat!("wiremend ", env!("CARGO_PKG_VERSION")))
    );
    for (flow, read) in (0..).zip(reader.get_row_iter(None).unwrap()) {
        let read = read.unwrap();
        assert_eq!(field(&read, "variant"), &Field::Str("plain, \"old\"".to_owned()));
        assert_eq!(field(&read, "flow"), &Field::Long(flow));
        assert_eq!(field(&read, "start_ps"), &Field::Long(flow * 1_000));
        assert_eq!(field(&read, "fct_ns"), &Field::Double(1500.5));
        let delivered = if flow % 3 > 0 { Field::Long(flow) } else { Field::Null };
        assert_eq!(field(&read, "delivered_ps"), &delivered);
    }
    assert_eq!(reader.metadata().file_metadata().num_rows(), count as i64);
}

/// Programs that read the flows learn from the file itself how they were made.
#[test]
fn parquet_says_how_its_rows_were_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    let mut writer = FlowWriter::create(&path, Format::Parquet, Contents::default()).unwrap();
    let origin = Origin { command: "wiremend run x".to_owned(), threads: 3, ..Origin::default() };
    let summary = Summary {
        schema: Summary::SCHEMA,
        scenario: "x".to_owned(),
        seed: 4,
        seeds: 2,
        version: "9.9".to_owned(),
        variants: Vec::new(),
        origin,
    };
    writer.set_origin(&summary);
    writer.finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let entries = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let entry = entries.iter().find(|entry| entry.key == "wiremend").unwrap();
    let json: serde_json::Value = serde_json::from_str(entry.value.as_ref().unwrap()).unwrap();
    assert_eq!((json["seeds"].as_u64(), json["version"].as_str()), (Some(2), Some("9.9")));
    assert_eq!(json["origin"]["command"], "wiremend run x");
    assert_eq!(json["origin"]["threads"], 3);
}

#[test]
fn an_empty_table_has_its_columns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    FlowWriter::create(&path, Format::Parquet, Contents::default()).unwrap().finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), 20);
}

/// Names repeat in millions of rows: they are stored once for each group of rows.
#[test]
fn names_are_a_dictionary_and_paths_are_lists() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    let contents = Contents::default().with(Need::Paths, true).with(Need::Tcp, false);
    let mut writer = FlowWriter::create(&path, Format::Parquet, contents).unwrap();
    let names: Vec<String> = (0..12).map(|lane| format!("s{lane}>s{}", lane + 1)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let lanes = |flow: u64| FlowLanes {
        path: &names[..=flow as usize % 12],
        return_path: &names[11..],
        crossed_corrupting: flow.is_multiple_of(2),
        return_crossed_corrupting: false,
    };
    for flow in 0..70_000 {
        let lanes = Some(lanes(flow)).filter(|_| !flow.is_multiple_of(7));
        writer.push(ORIGIN, &row(flow), lanes.as_ref()).unwrap();
    }
    writer.finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let group = reader.metadata().row_group(0);
    for column in ["variant", "outcome", "path.list.element"] {
        let column = group.columns().iter().find(|found| found.column_path().string() == column).unwrap();
        let is_dictionary =
            |encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        assert!(column.encodings().any(is_dictionary), "{column:?}");
        assert!(column.compressed_size() < 400_000, "{column:?}");
    }
    for (flow, read) in (0..).zip(reader.get_row_iter(None).unwrap()) {
        let read = read.unwrap();
        assert!(!read.get_column_iter().any(|(name, _)| name.starts_with("tcp_")));
        let (Field::ListInternal(path), crossed) =
            (field(&read, "path"), field(&read, "crossed_corrupting_link"))
        else {
            assert_eq!((field(&read, "path"), flow % 7), (&Field::Null, 0), "{flow}");
            continue;
        };
        let wanted: Vec<_> = lanes(flow).path.iter().map(|name| Field::Str((*name).to_owned())).collect();
        assert_eq!(path.elements(), wanted);
        assert_eq!(crossed, &Field::Bool(flow % 2 == 0));
    }
}

/// The reference describes exactly the columns that are written.
#[test]
fn the_reference_lists_every_column() {
    let directory = tempfile::tempdir().unwrap();
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/results.md");
    let reference = fs::read_to_string(reference).unwrap();
    let described = |table: &str| -> Vec<String> {
        let section = reference.split("\n## ").find(|section| section.starts_with(table)).unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let cells = rows.map(|line| line.split('|').nth(1).unwrap());
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
    };
    let header = |path: &Path| -> Vec<String> {
        fs::read_to_string(path).unwrap().trim_end().split(',').map(str::to_owned).collect()
    };
    let path = directory.path().join("table.csv");
    FlowWriter::create(&path, Format::Csv, Contents::ALL).unwrap().finish().unwrap();
    assert_eq!(described("flows.parquet"), header(&path));
    LaneWriter::create(&path, Format::Csv, Contents::ALL).unwrap().finish().unwrap();
    assert_eq!(described("links.parquet"), header(&path));
    FlowSeriesWriter::create(&path, Format::Csv, Contents::ALL).unwrap().finish().unwrap();
    assert_eq!(described("flow_series.parquet"), header(&path));
    SeriesWriter::create(&path, Format::Csv).unwrap().finish().unwrap();
    let series: Vec<_> = header(&path);
    assert_eq!(described("series.parquet")[..series.len()], series);
    let metrics: Vec<_> = described("series.parquet")[series.len()..].to_vec();
    let known: BTreeSet<_> = Metric::ALL.map(|metric| metric.key().to_owned()).into();
    assert_eq!(metrics.into_iter().collect::<BTreeSet<_>>(), known);
}

#[test]
fn totals_of_links_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("links.csv");
    let contents = Contents::default().with(Need::Paths, true).with(Need::Pauses, true);
    let mut writer = LaneWriter::create(&path, Format::Csv, contents).unwrap();
    let names = LaneNames { lane: "a>b", from: "a", to: "b" };
    let flows = LaneFlows { count: 3, lost_ps: 1_000, timeouts: 2 };
    let row = LaneRow {
        lane: 1,
        rate_bps: 100,
        delay_ps: 7,
        is_corrupting: true,
        frames: 10,
        bytes: 1_000,
        busy_ps: 250,
        simulated_ps: 1_000,
        corrupted_frames: 2,
        dropped_frames: 1,
        pfc_frames: 4,
        paused_ps: 99,
        flows: Some(flows),
        ..LaneRow::default()
    };
    writer.push(ORIGIN, names, &row).unwrap();
    writer.finish().unwrap();
    let wanted = "\
variant,seed,lane,from_node,to_node,rate_bps,delay_ps,corrupting,frames,bytes,utilisation,corrupted_frames,\
dropped_frames,host_retransmitted_packets,pfc_frames,pfc_corrupted_frames,paused_ps,flows,flow_timeouts,\
flow_time_lost_ps
\"plain, \"\"old\"\"\",7,a>b,a,b,100,7,true,10,1000,0.25,2,1,0,4,0,99,3,2,1000
";
    assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
}

#[test]
fn series_are_long_tables() {
    let directory = tempfile::tempdir().unwrap();
    let sample = SeriesRow { time_ps: 1_000_000, entity: 3, metric: Metric::QueueBytes, value: 9_000 };
    for format in [Format::Csv, Format::Parquet] {
        let path = directory.path().join("series").with_extension(format.extension());
        let mut writer = SeriesWriter::create(&path, format).unwrap();
        writer.push(ORIGIN, "s0→h3", &sample).unwrap();
        writer.finish().unwrap();
    }
    let text = fs::read_to_string(directory.path().join("series.csv")).unwrap();
    let wanted =
        "variant,seed,time_ps,lane,metric,value\n\"plain, \"\"old\"\"\",7,1000000,s0→h3,queue_bytes,9000\n";
    assert_eq!(text, wanted);
    let reader =
        SerializedFileReader::new(File::open(directory.path().join("series.parquet")).unwrap()).unwrap();
    let read = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(field(&read, "lane"), &Field::Str("s0→h3".to_owned()));
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for format in [Format::Csv, Format::Parquet] {
        let mut writer = FlowWriter::create(&directory.path().join("flows"), format, Contents::ALL).unwrap();
        for flow in 0..70_000 {
            writer.push(ORIGIN, &row(flow), None).unwrap();
        }
        drop(writer);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{format:?}");
    }
}

#[test]
fn an_invalid_directory_is_an_error_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for format in [Format::Csv, Format::Parquet] {
        let error = FlowWriter::create(&file.join("flows"), format, Contents::ALL).err().unwrap();
        assert!(error.to_string().contains("file/flows"), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_with_its_path() {
    for format in [Format::Csv, Format::Parquet] {
        let error = fill(Path::new("/dev/full"), format).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format:?}: {error}");
        assert!(error.to_string().starts_with("cannot write `/dev/full`: "), "{error}");
    }
}

fn fill(path: &Path, format: Format) -> io::Result<()> {
    let mut writer = FlowWriter::create(path, format, Contents::ALL)?;
    for flow in 0..70_000 {
        writer.push(ORIGIN, &row(flow), None)?;
    }
    writer.finish()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(column, _)| *column == name).map(|(_, field)| field).unwrap()
}

fn row(flow: u64) -> FlowRow {
    FlowRow {
        flow,
        src: (flow % 4) as u32,
        dst: 5 + (flow % 4) as u32,
        class: 2,
        connection: Some(3),
        entropy: None,
        bytes: 4096,
        start_ps: flow * 1_000,
        end_ps: flow * 1_000 + 1_500_500,
        delivered_ps: Some(flow * 1_000 + 1_400_000),
        ideal_ps: 1_000_000,
        outcome: FlowOutcome::Finished,
        timeouts: 0,
        naks: 1,
        retransmitted_packets: 2,
        retransmitted_bytes: 2_048,
        failed_frames: Some(4),
        tcp: None,
    }
}
