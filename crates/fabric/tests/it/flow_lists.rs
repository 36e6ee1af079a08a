//! Flow lists: sample files, and every kind of invalid file.

use std::io::{self, BufReader, Read};

use proptest::prelude::*;
use wiremend_fabric::flow_list::{self, FlowFault, LINE_BYTES_MAX};
use wiremend_units::{Bytes, HostId, Time};

#[test]
fn sample_lists_are_valid() {
    let lists = [
        (include_str!("../../../../scenarios/bench/ws50-k4.csv"), 16, 457),
        (include_str!("../../../../scenarios/bench/ws50-k8.csv"), 128, 961),
        (include_str!("../../../../scenarios/bench/ws50-k16.csv"), 1024, 1912),
    ];
    for (text, hosts, count) in lists {
        let flows = flow_list::parse(text.as_bytes(), hosts).unwrap();
        assert_eq!(flows.len(), count);
        assert!(flows.is_sorted_by_key(|flow| flow.start));
        assert_eq!(flows[0].bytes, Bytes::new(7861));
    }
}

#[test]
fn comments_blanks_and_the_header_are_optional() {
    let plain = flow_list::parse("0,1,10,20\n2,3,0,0".as_bytes(), 4).unwrap();
    let dressed =
        "\u{feff}# mine\r\n\r\n src , dst,bytes,start_ns\r\n0, 1 ,10,20\r\n  # more\r\n2,3,0,0\r\n\r\n";
    assert_eq!(flow_list::parse(dressed.as_bytes(), 4).unwrap(), plain);
    assert_eq!((plain[0].src, plain[0].dst), (HostId(0), HostId(1)));
    assert_eq!((plain[0].bytes, plain[0].start), (Bytes::new(10), Time::from_ns(20)));
    assert_eq!(plain[1].bytes, Bytes::ZERO);
}

#[test]
fn errors_have_line_column_and_remedy() {
    let good = "0,1,10,20\n".repeat(16);
    let error =
        |line: &str| flow_list::parse(format!("{good}{line}\n").as_bytes(), 16).unwrap_err().to_string();
    let cases = [
        ("3,99,10,0", "line 17, column 3: dst 99 is not one of the 16 hosts (0…15)"),
        ("16,1,10,0", "line 17, column 1: src 16 is not one of the 16 hosts (0…15)"),
        ("99999999999,1,10,0", "line 17, column 1: src 99999999999 is not one of the 16 hosts (0…15)"),
        ("0,1,ten,0", "line 17, column 5: bytes `ten` is not a whole number from 0 to 2147483648"),
        ("0,1, -5,0", "line 17, column 6: bytes `-5` is not a whole number from 0 to 2147483648"),
        ("0,1,+5,0", "line 17, column 5: bytes `+5` is not a whole number from 0 to 2147483648"),
        ("0,1,1e6,0", "line 17, column 5: bytes `1e6` is not a whole number from 0 to 2147483648"),
        ("0,1,2147483649,0", "line 17, column 5: bytes 2147483649 is too large: at most 2147483648"),
        ("0,1,5,1.5", "line 17, column 7: start_ns `1.5` is not a whole number from 0 to 8640000000000000"),
        (
            "0,1,5,18446744073709551615",
            "line 17, column 7: start_ns 18446744073709551615 is too large: at most 8640000000000000",
        ),
        ("x,1,5,0", "line 17, column 1: src `x` is not the number of a host"),
        ("4,4,5,0", "line 17, column 3: host 4 sends to itself: src and dst must differ"),
        ("0,1,5", "line 17, column 1: 3 values where four are needed: src,dst,bytes,start_ns"),
        ("0,1,5,0,0", "line 17, column 1: 5 values where four are needed: src,dst,bytes,start_ns"),
        ("src,dst,bytes,start_ns", "line 17, column 1: src `src` is not the number of a host"),
    ];
    for (line, expected) in cases {
        assert_eq!(error(line), expected);
    }
}

#[test]
fn a_list_without_flows_is_rejected() {
    for text in ["", "\n\n", "# nothing\n", "src,dst,bytes,start_ns\n"] {
        let error = flow_list::parse(text.as_bytes(), 16).unwrap_err();
        assert!(matches!(error.fault, FlowFault::NoFlows), "{error}");
    }
}

/// Endless garbage is rejected early: by line length, or by its first byte that is not UTF-8.
#[test]
fn garbage_is_rejected_without_reading_all_of_it() {
    let mut endless = Counted { inner: io::repeat(b'7'), bytes: 0 };
    let error = flow_list::parse(BufReader::new(&mut endless), 16).unwrap_err();
    assert!(matches!(error.fault, FlowFault::LongLine), "{error}");
    assert!(endless.bytes <= 8 * LINE_BYTES_MAX as u64, "{} bytes were read", endless.bytes);

    let error = flow_list::parse(BufReader::with_capacity(7, io::repeat(b'#')), 16).unwrap_err();
    assert!(matches!(error.fault, FlowFault::LongLine), "{error}");

    let error = flow_list::parse(&b"0,1,2,3\n0,1,\xff\xfe,3\n"[..], 16).unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 5: not a text in UTF-8");
}

#[test]
fn a_line_of_maximum_length_is_accepted() {
    let comment = format!("#{}\n0,1,2,3\n", "x".repeat(LINE_BYTES_MAX - 2));
    assert_eq!(flow_list::parse(comment.as_bytes(), 2).unwrap().len(), 1);
    let longer = format!("#{comment}");
    assert!(flow_list::parse(longer.as_bytes(), 2).is_err());
}

#[test]
fn read_errors_are_reported() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is on fire"))
        }
    }
    let error = flow_list::parse(BufReader::new(Broken), 2).unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 1: cannot be read: the disk is on fire");
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), hosts in 0_u32..4) {
        let _ = flow_list::parse(&bytes[..], hosts);
    }

    #[test]
    fn almost_valid_text_causes_no_panic(text in "([0-9,x# é-]{0,12}\\r?\\n){0,6}", hosts in 0_u32..4) {
        let _ = flow_list::parse(text.as_bytes(), hosts);
    }

    /// A written list is parsed back, for any chunking of the reader.
    #[test]
    fn lists_are_parsed_back(rows in prop::collection::vec((0_u32..9, 0_u32..9, 0..=1_u64 << 31, 0_u64..1 << 40), 1..20), chunk in 1_usize..40) {
        let rows: Vec<_> = rows.into_iter().filter(|row| row.0 != row.1).collect();
        prop_assume!(!rows.is_empty());
        let lines: Vec<_> = rows.iter().map(|(src, dst, bytes, ns)| format!("{src},{dst},{bytes},{ns}")).collect();
        let text = lines.join("\n");
        let flows = flow_list::parse(BufReader::with_capacity(chunk, text.as_bytes()), 9).unwrap();
        let read: Vec<_> = flows.iter().map(|f| (f.src.0, f.dst.0, f.bytes.get(), f.start.as_ns())).collect();
        prop_assert_eq!(read, rows);
    }
}

struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}
