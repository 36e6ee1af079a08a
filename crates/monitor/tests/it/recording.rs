//! Files of recorded snapshots.

use proptest::prelude::*;
use wiremend_monitor::{Counter, Counters, RecordedSnapshot};

#[test]
fn written_snapshots_are_read_back() {
    let mut counters = Counters::default();
    counters.set(Counter::RxGood, u64::MAX);
    counters.set(Counter::RxCrc, 3);
    let record = RecordedSnapshot {
        time_s: 1.5,
        node: "leaf-1".into(),
        port: "Ethernet0".into(),
        up: true,
        carrier_changes: None,
        megabits_per_s: Some(100_000),
        counters,
    };
    let mut text = b"# two readings\n\n".to_vec();
    record.write(&mut text).unwrap();
    record.write(&mut text).unwrap();
    assert_eq!(RecordedSnapshot::read_all(&text[..]).unwrap(), [record.clone(), record]);
}

#[test]
fn errors_have_a_line_and_a_reason() {
    let good = r#"{"time_s":1,"node":"a","port":"p","up":true,"counters":{"rx_good":1}}"#;
    for (line, reason) in [
        ("{", "EOF"),
        (r#"{"time_s":-1,"node":"a","port":"p","up":true,"counters":{}}"#, "time_s is -1"),
        (
            r#"{"time_s":1763000000,"node":"a","port":"p","up":true,"counters":{}}"#,
            "since the start of the recording",
        ),
        (r#"{"time_s":1,"node":"","port":"p","up":true,"counters":{}}"#, "node: a name has"),
        (
            r#"{"time_s":1,"node":"a","port":"p","up":true,"counters":{"rx_bad":1}}"#,
            "unknown counter `rx_bad`",
        ),
        (r#"{"time_s":1,"node":"a","port":"p","up":true,"counters":{"rx_crc":-1}}"#, "invalid value"),
        (r#"{"time_s":1,"node":"a","port":"p","up":true,"counters":{},"speed":1}"#, "unknown field `speed`"),
    ] {
        let error = RecordedSnapshot::read_all(format!("{good}\n{line}\n").as_bytes()).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.reason.contains(reason), "{error}");
    }
    let long = vec![b'x'; 1 << 20];
    assert!(RecordedSnapshot::read_all(&long[..]).unwrap_err().reason.contains("longer than"));
}

proptest! {
    #[test]
    fn no_input_causes_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let _ = RecordedSnapshot::read_all(&bytes[..]);
    }
}
