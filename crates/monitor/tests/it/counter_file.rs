//! Counters in files that other programs write.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tempfile::TempDir;
use wiremend_monitor::{Counter, CounterFile, CounterFileFormat, FrameCounts, PortSnapshot};
use wiremend_units::{Span, Time};

const MINUTE: Span = Span::from_ms(60_000);

/// Written by `node_exporter` 1.7 with `--collector.ethtool --collector.netdev.enable-detailed-metrics`, less
/// the metrics of other collectors.
const DETAILED: &str = r#"# HELP node_network_receive_packets_total Network device statistic receive_packets.
# TYPE node_network_receive_packets_total counter
node_network_receive_packets_total{device="eth0"} 1.234567e+06
node_network_receive_packets_total{device="lo"} 12
node_network_receive_crc_errors_total{device="eth0"} 7
node_network_transmit_packets_total{device="eth0"} 99
node_network_carrier{device="eth0"} 1
node_network_carrier_changes_total{device="eth0"} 3
node_network_speed_bytes{device="eth0"} 1.25e+10
node_network_info{device="eth0",operstate="up",ifalias="a \"b\", {c}"} 1
node_ethtool_received_crc_errors_phy{device="eth0"} 19
node_ethtool_received_pause_ctrl_phy{device="eth0"} 4
node_scrape_collector_success{collector="netdev"} 1
"#;

#[test]
fn metrics_of_node_exporter_are_read() {
    let mut file = Written::new(CounterFileFormat::NodeExporter, &["eth0", "eth1"], DETAILED);
    let port = file.read("eth0").unwrap();
    assert!(port.up);
    assert_eq!((port.carrier_changes, port.megabits_per_s), (Some(3), Some(100_000)));
    let get = |counter| port.counters.get(counter);
    assert_eq!(get(Counter::RxGood), Some(1_234_567));
    assert_eq!(get(Counter::RxCrc), Some(19), "the driver has precedence");
    assert_eq!((get(Counter::TxGood), get(Counter::RxPauses)), (Some(99), Some(4)));
    for _ in 0..3 {
        assert!(file.read("eth1").is_none());
    }
    assert_eq!(file.messages(), ["no port `eth1` in this file"], "once");
}

/// Without its detailed metrics, `node_exporter` has no CRC errors, only all errors.
#[test]
fn all_errors_stand_in_for_crc_errors() {
    let text = "node_network_receive_packets_total{device=\"eth0\"} 990\n\
                node_network_receive_errs_total{device=\"eth0\"} 10\n";
    let mut file = Written::new(CounterFileFormat::NodeExporter, &["eth0"], text);
    let reading = file.read("eth0").unwrap().reading(Time::ZERO).unwrap();
    assert_eq!(reading.counted, FrameCounts::GoodAndErrors { good: 990, errors: 10, lengths: 0 });
}

#[test]
fn openconfig_is_read_as_a_list_and_as_a_map() {
    let ethernet = r#""openconfig-if-ethernet:ethernet": {"state": {
        "port-speed": "openconfig-if-ethernet:SPEED_400GB",
        "counters": {"in-crc-errors": "19", "in-jabber-frames": "1", "in-undersize-frames": 2}}}"#;
    let state = r#""state": {"oper-status": "UP", "last-change": "381", "enabled": true, "mtu": 9000,
        "openconfig-platform-transceiver:transceiver": "xcvr1",
        "counters": {"in-unicast-pkts": "18446744073709551000", "in-multicast-pkts": "7", "in-fcs-errors": "18",
            "in-octets": "1", "last-clear": "Never", "carrier-transitions": 3}}"#;
    let components = r#"{"component": [{"name": "cpu", "state": {"x": [1]}},
        {"name": "xcvr1", "transceiver": {"state": {"fec-uncorrectable-blocks": "4", "form-factor": "OSFP"}}}]}"#;
    let list = format!(
        r#"{{"openconfig-interfaces:interfaces": {{"interface": [{{"name": "Ethernet1/1", {state}, {ethernet}}},
            {{"name": "mgmt0", "state": {{}}}}]}}, "openconfig-platform:components": {components}}}"#
    );
    let map = format!(
        r#"{{"interfaces": {{"interface": {{"mgmt0": {{}}, "Ethernet1/1": {{{state}, {ethernet}}}}}}},
            "components": {components}}}"#
    );
    let bare = format!(
        r#"{{"interface": [{{"openconfig-interfaces:{}, {ethernet}}}], "components": {components}}}"#,
        state.trim_start_matches('"').replacen('{', r#"{"name": "Ethernet1/1", "#, 1)
    );
    for text in [list, map, bare] {
        let mut file = Written::new(CounterFileFormat::OpenConfig, &["Ethernet1/1"], &text);
        let port = file.read("Ethernet1/1");
        let port = port.unwrap_or_else(|| panic!("{:?}", file.messages()));
        assert_eq!((port.up, port.carrier_changes, port.megabits_per_s), (true, Some(3), Some(400_000)));
        let get = |counter| port.counters.get(counter);
        assert_eq!(get(Counter::RxGood), Some(18_446_744_073_709_551_007));
        assert_eq!(get(Counter::RxCrc), Some(19), "once, from the Ethernet counters");
        assert_eq!((get(Counter::RxLength), get(Counter::FecUncorrectable)), (Some(2), Some(4)));
        // A second interface on the same transceiver: the codewords are of both.
        let shared = text.replace(
            "\"name\": \"mgmt0\", \"state\": {",
            "\"name\": \"mgmt0\", \"state\": {\"transceiver\": \"xcvr1\"",
        );
        if shared != text {
            let mut file = Written::new(CounterFileFormat::OpenConfig, &["Ethernet1/1"], &shared);
            assert_eq!(file.read("Ethernet1/1").unwrap().counters.get(Counter::FecUncorrectable), None);
        }
    }
}

/// A counter of a vendor, or one without a count, is as if it was not there.
#[test]
fn values_that_are_no_counts_are_omitted() {
    for bad in ["-1", "1.5", "\"many\"", "true", "null", "[[1]]", "{\"a\":[]}"] {
        let counters = format!(
            "\"in-unicast-pkts\":5,\"in-fcs-errors\":{bad},\"in-errors\":\"2\",\"vendor:in-discards\":1"
        );
        let text = format!("{{\"interface\":{{\"eth0\":{{\"state\":{{\"counters\":{{{counters}}}}}}}}}}}");
        let mut file = Written::new(CounterFileFormat::OpenConfig, &["eth0"], &text);
        let port = file.read("eth0").unwrap_or_else(|| panic!("{bad}: {:?}", file.messages()));
        let expected = [(Counter::RxGood, 5), (Counter::RxErrors, 2)];
        assert_eq!(port.counters, expected.into_iter().collect(), "{bad}");
    }
}

#[test]
fn a_bad_file_gives_no_counters_and_one_message() {
    use CounterFileFormat::{NodeExporter, OpenConfig};
    let good = "node_network_receive_packets_total{device=\"eth0\"} 1\n";
    let crc = "node_network_receive_crc_errors_total{device=\"eth0\"} 1\n";
    let interface = |inner: &str| {
        format!("{{\"interface\":[{{\"name\":\"eth0\",\"state\":{{\"counters\":{{{inner}}}}}}}]}}")
    };
    let many = format!("{{\"interface\":[{}{{}}]}}", "{},".repeat(5_000));
    for (format, text, why) in [
        (NodeExporter, good.to_owned(), "`eth0`: the file does not count its good and its corrupted frames"),
        (
            NodeExporter,
            format!("{good}{crc}{good}"),
            "`eth0`: line 3: `node_network_receive_packets_total` is there twice",
        ),
        (NodeExporter, format!("{good}node_network_up{{\n"), "line 2: not a Prometheus sample"),
        (NodeExporter, format!("{good}{crc}").trim_end().to_owned(), "the last line does not end"),
        (NodeExporter, String::new(), "no port `eth0` in this file"),
        (OpenConfig, String::new(), "EOF while parsing a value at line 1 column 0"),
        (OpenConfig, "{}".to_owned(), "no `openconfig-interfaces:interfaces` and no `interface`"),
        (OpenConfig, "[".repeat(100_000), "EOF while parsing a list"),
        (OpenConfig, format!("{{\"x\":{}", "[".repeat(100_000)), "EOF while parsing a list"),
        (OpenConfig, many, "more than 4096 interfaces or components"),
        (
            OpenConfig,
            interface("\"in-errors\":1,\"openconfig-interfaces:in-errors\":1"),
            "`eth0`: `in-errors` is there twice",
        ),
        (
            OpenConfig,
            interface("\"in-pkts\":1"),
            "`eth0`: the file does not count its good and its corrupted frames",
        ),
        (
            OpenConfig,
            format!("{{\"interface\":[{0},{0}]}}", "{\"name\":\"eth0\"}"),
            "`eth0`: the interface is there twice",
        ),
    ] {
        let mut file = Written::new(format, &["eth0"], &text);
        for _ in 0..3 {
            assert!(file.read("eth0").is_none(), "{why}");
        }
        let messages = file.messages();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains(why), "`{why}` in {messages:?}");
    }
}

/// A malformed interface or component stops no other one.
#[test]
fn a_malformed_entry_stops_only_itself() {
    let good = r#""state":{"counters":{"in-unicast-pkts":5,"in-fcs-errors":"1"},"transceiver":"x1"}"#;
    let bad = [
        (r#""state":7"#, "invalid type: integer `7`"),
        (r#""state":{"counters":7}"#, "a container with counters"),
        (r#""state":{},"state":{}"#, "duplicate field `state`"),
        (r#""ethernet":{"state":{"port-speed":{}}}"#, "invalid type: map"),
    ];
    let fec = r#"{"name":"x1","transceiver":{"state":{"fec-uncorrectable-blocks":"4"}}}"#;
    for (bad, why) in bad {
        for (interfaces, named) in [
            (format!(r#"[{{"name":"eth0",{bad}}},{{"name":"eth1",{good}}}]"#), "`eth0`: "),
            (format!(r#"{{"eth0":{{{bad}}},"eth1":{{{good}}}}}"#), "`eth0`: "),
            (
                format!(r#"[{{"name":"eth1",{good}}},{{{bad}}}]"#),
                "`eth0`: not in this file, whose interface 2 is malformed: ",
            ),
        ] {
            for (components, blocks) in [
                (format!(r#"{{"component":[{{"name":[]}},{fec}]}}"#), Some(4)),
                (r#"{"component":[{"name":"x1","transceiver":3}]}"#.to_owned(), None),
                ("9".to_owned(), None),
            ] {
                let text = format!(r#"{{"interface":{interfaces},"components":{components}}}"#);
                let mut file = Written::new(CounterFileFormat::OpenConfig, &["eth0", "eth1"], &text);
                let port = file.read("eth1").unwrap_or_else(|| panic!("{text}: {:?}", file.messages()));
                assert_eq!(port.counters.get(Counter::RxGood), Some(5), "{text}");
                assert_eq!(port.counters.get(Counter::FecUncorrectable), blocks, "{text}");
                assert!(file.read("eth0").is_none(), "{text}");
                let messages = file.messages();
                let [message] = &messages[..] else { panic!("{messages:?}") };
                assert!(message.starts_with(named) && message.contains(why), "`{named}{why}` in {message}");
            }
        }
    }
}

#[test]
fn a_file_that_is_too_long_or_none_is_not_read() {
    let mut file = Written::new(CounterFileFormat::NodeExporter, &["eth0"], "");
    fs::File::create(&file.path).unwrap().set_len(CounterFile::BYTES_MAX + 1).unwrap();
    assert!(file.read("eth0").is_none());
    fs::remove_file(&file.path).unwrap();
    assert!(file.read("eth0").is_none());
    fs::create_dir(&file.path).unwrap();
    assert!(file.read("eth0").is_none());
    fs::remove_dir(&file.path).unwrap();
    fs::write(&file.path, b"node_network_up{device=\"\xff\"} 1\n").unwrap();
    assert!(file.read("eth0").is_none());
    let messages = file.messages();
    for (message, why) in messages.iter().zip([
        "longer than 16 MiB",
        "No such file",
        "not a regular file",
        "not UTF-8 text at byte 24",
    ]) {
        assert!(message.contains(why), "{message}");
    }
    assert_eq!(messages.len(), 4);
}

/// The program that writes the file has died, before the start or later. Then it is started again.
#[test]
fn a_stale_file_is_noticed() {
    let mut file = Written::new(CounterFileFormat::NodeExporter, &["eth0"], DETAILED);
    let (at, _) = file.read_at(MINUTE, Duration::ZERO).unwrap();
    assert_eq!(at, Time::ZERO.saturating_add(MINUTE));
    assert_eq!(
        file.read_at(MINUTE * 2, Duration::ZERO).unwrap().0,
        at,
        "an unchanged file is no new reading"
    );
    assert!(file.read_at(MINUTE * 7, Duration::ZERO).is_none(), "its time lies in the future");
    let stale = "not written for more than 300s; does the program that writes it run?";
    assert_eq!(file.messages(), [stale]);
    fs::write(&file.path, DETAILED.replace(" 7\n", " 8888\n")).unwrap();
    assert!(file.read_at(MINUTE * 8, Duration::ZERO).is_some());
    assert!(file.read_at(MINUTE * 9, Duration::from_secs(301)).is_none());
    assert_eq!(file.messages(), [stale], "again");
}

proptest! {
    /// Damaged files give an error or counters, never a panic.
    #[test]
    fn damaged_files_are_refused_or_read(at in 0_usize..DETAILED.len(), with in "[\\PC\n]{0,3}", remove in 0_usize..40) {
        let json = r#"{"interfaces":{"interface":{"eth0":{"state":{"counters":{"in-unicast-pkts":"1","in-errors":2}}}}}}"#;
        for (format, text) in [(CounterFileFormat::NodeExporter, DETAILED), (CounterFileFormat::OpenConfig, json)] {
            let mut text = text.to_owned();
            let start = at % text.len();
            let end = (start + remove).min(text.len());
            text.replace_range(start..end, &with);
            let mut file = Written::new(format, &["eth0"], &text);
            prop_assert_eq!(file.read("eth0").is_none(), !file.messages().is_empty());
        }
    }
}

/// A file and its reader.
struct Written {
    path: PathBuf,
    file: CounterFile,
    _directory: TempDir,
}

impl Written {
    fn new(format: CounterFileFormat, ports: &[&str], text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("counters");
        fs::write(&path, text).unwrap();
        let names = ports.iter().map(|&port| port.to_owned());
        let file = CounterFile::new(path.clone(), format, CounterFile::MAX_AGE, names);
        Self { path, file, _directory: directory }
    }

    fn read(&mut self, port: &str) -> Option<PortSnapshot> {
        self.file.read(port, Time::ZERO, SystemTime::UNIX_EPOCH).map(|(_, snapshot)| snapshot)
    }

    /// Reads `eth0` at a time of the daemon's clock, and when the file has this age.
    fn read_at(&mut self, now: Span, age: Duration) -> Option<(Time, PortSnapshot)> {
        let wall = fs::metadata(&self.path).unwrap().modified().unwrap() + age;
        self.file.read("eth0", Time::ZERO.saturating_add(now), wall)
    }

    fn messages(&mut self) -> Vec<String> {
        let prefix = format!("{}: ", self.path.display());
        let messages = self.file.take_messages();
        messages.iter().map(|message| message.strip_prefix(&prefix).unwrap().to_owned()).collect()
    }
}
