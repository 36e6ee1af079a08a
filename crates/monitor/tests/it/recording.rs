//! Files of readings.

use proptest::prelude::*;
use wiremend_monitor::{Counter, Counters, Record};

#[test]
fn what_was_written_is_read() {
    let mut counters = Counters::default();
    counters.set(Counter::RxGood, u64::MAX);
    counters.set(Counter::RxCrc, 3);
    let record = Record {
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
    assert_eq!(Record::read_all(&text[..]).unwrap(), [record.clone(), record]);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let good = r#"{"time_s":1,"node":"a","port":"p","up":true,"counters":{"rx_good":1}}"#;
    for (line, why) in [
        ("{", "EOF"),
        (r#"{"time_s":-1,"node":"a","port":"p","up":true,"counters":{}}"#, "time_s is -1"),
        (r#"{"time_s":1763000000,"node":"a","port":"p","up":true,"counters":{}}"#, "since the record began"),
        (r#"{"time_s":1,"node":"","port":"p","up":true,"counters":{}}"#, "node: a plain name has"),
        (
            r#"{"time_s":1,"node":"a","port":"p","up":true,"counters":{"rx_bad":1}}"#,
            "no counter is called `rx_bad`",
        ),
        (r#"{"time_s":1,"node":"a","port":"p","up":true,"counters":{"rx_crc":-1}}"#, "invalid value"),
        (r#"{"time_s":1,"node":"a","port":"p","up":true,"counters":{},"speed":1}"#, "unknown field `speed`"),
    ] {
        let error = Record::read_all(format!("{good}\n{line}\n").as_bytes()).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.why.contains(why), "{error}");
    }
    let long = vec![b'x'; 1 << 20];
    assert!(Record::read_all(&long[..]).unwrap_err().why.contains("longer than"));
}

proptest! {
    #[test]
    fn nothing_in_a_file_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let _ = Record::read_all(&bytes[..]);
    }
}
