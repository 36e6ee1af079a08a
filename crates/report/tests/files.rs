//! Result files, read back.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use wiremend_measure::{FlowOutcome, FlowRow, Metric, Origin, SeriesRow, Summary, TcpStats};
use wiremend_report::{FlowWriter, Format, RunId, SeriesWriter};

const ORIGIN: RunId<'static> = RunId { variant: "plain, \"old\"", seed: 7 };

#[test]
fn csv_has_the_documented_columns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.csv");
    let mut writer = FlowWriter::create(&path, Format::Csv).unwrap();
    writer.push(ORIGIN, &row(0)).unwrap();
    let failed = FlowRow { outcome: FlowOutcome::RetryExceeded, delivered_ps: None, timeouts: 8, ..row(1) };
    writer.push(RunId { variant: "b", seed: 8 }, &failed).unwrap();
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
    writer.push(RunId { variant: "b", seed: 8 }, &FlowRow { tcp: Some(trouble), ..row(2) }).unwrap();
    assert!(!path.exists());
    writer.finish().unwrap();
    let wanted = "\
variant,seed,flow,src,dst,bytes,start_ps,end_ps,delivered_ps,ideal_ps,fct_ns,slowdown,outcome,timeouts,naks,\
retransmitted_packets,retransmitted_bytes,tcp_link_recovered,tcp_sacked_bytes_max,tcp_after_gap_bytes,tcp_unsent_bytes,tcp_recoveries,\
tcp_spurious_recoveries,tcp_tail_probes,tcp_dsacks
\"plain, \"\"old\"\"\",7,0,0,5,4096,0,1500500,1400000,1000000,1500.5,1.5005,finished,0,1,2,2048,,,,,,,,
b,8,1,1,6,4096,1000,1501500,,1000000,1500.5,1.5005,retry_exceeded,8,1,2,2048,,,,,,,,
b,8,2,2,7,4096,2000,1502500,1402000,1000000,1500.5,1.5005,finished,0,1,2,2048,1,3000,5000,2000,1,1,0,2
";
    assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
}

#[test]
fn parquet_reads_back_over_several_row_groups() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    let mut writer = FlowWriter::create(&path, Format::Parquet).unwrap();
    let count = 70_000;
    for flow in 0..count {
        let delivered_ps = (flow % 3 > 0).then_some(flow);
        writer.push(ORIGIN, &FlowRow { delivered_ps, ..row(flow) }).unwrap();
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
    let mut writer = FlowWriter::create(&path, Format::Parquet).unwrap();
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
    FlowWriter::create(&path, Format::Parquet).unwrap().finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), 25);
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
        "variant,seed,time_ps,entity,metric,value\n\"plain, \"\"old\"\"\",7,1000000,s0→h3,queue_bytes,9000\n";
    assert_eq!(text, wanted);
    let reader =
        SerializedFileReader::new(File::open(directory.path().join("series.parquet")).unwrap()).unwrap();
    let read = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(field(&read, "entity"), &Field::Str("s0→h3".to_owned()));
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for format in [Format::Csv, Format::Parquet] {
        let mut writer = FlowWriter::create(&directory.path().join("flows"), format).unwrap();
        for flow in 0..70_000 {
            writer.push(ORIGIN, &row(flow)).unwrap();
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
        let error = FlowWriter::create(&file.join("flows"), format).err().unwrap();
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
    let mut writer = FlowWriter::create(path, format)?;
    for flow in 0..70_000 {
        writer.push(ORIGIN, &row(flow))?;
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
        tcp: None,
    }
}
