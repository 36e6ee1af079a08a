//! Capture files: written files are read back, files of other programs are read, broken files are refused.

use std::io::{self, Read};

use proptest::prelude::*;
use wiremend_wire::pcap::{
    CaptureError, CaptureFault, LINK_TYPE_ETHERNET, MAX_INTERFACES, Packet, Reader, Writer,
};

use crate::file::{ByteOrder, File};

/// A packet that owns its data.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Owned {
    interface: u32,
    time_ns: u64,
    original_len: u32,
    bytes: Vec<u8>,
    comment: Option<String>,
}

prop_compose! {
    fn packet(interfaces: u32)(
        interface in 0..interfaces,
        time_ns: u64,
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        cut in 0..2000_u32,
        comment in prop::option::of("\\PC{0,12}"),
    ) -> Owned {
        Owned { interface, time_ns, original_len: bytes.len() as u32 + cut, bytes, comment }
    }
}

fn capture() -> impl Strategy<Value = (Vec<String>, Vec<Owned>)> {
    prop::collection::vec("[a-zé0-9]{0,9}", 1..4).prop_flat_map(|names| {
        let interfaces = names.len() as u32;
        (Just(names), prop::collection::vec(packet(interfaces), 0..6))
    })
}

proptest! {
    #[test]
    fn captures_survive((names, packets) in capture()) {
        let (file, _) = written(&names, &packets);
        let mut reader = Reader::new(file.as_slice()).unwrap();
        let (read, error) = drain(&mut reader);
        prop_assert!(error.is_none(), "{error:?}");
        prop_assert_eq!(read, packets);
        let read: Vec<_> = reader.interfaces().iter().map(|interface| interface.name.clone()).collect();
        prop_assert_eq!(read, names);
        prop_assert!(reader.interfaces().iter().all(|interface| interface.link_type == LINK_TYPE_ETHERNET));
    }

    /// A truncated file gives its complete packets, and an error if a block is incomplete.
    #[test]
    fn truncated_captures_give_their_complete_packets((names, packets) in capture()) {
        let (file, boundaries) = written(&names, &packets);
        for cut in 0..file.len() {
            let (read, error) = read(&file[..cut]);
            let whole = boundaries.iter().filter(|end| **end <= cut).count().saturating_sub(1 + names.len());
            prop_assert_eq!(&read, &packets[..whole]);
            match error {
                None => prop_assert!(boundaries.contains(&cut), "{cut} is within a block"),
                Some(error) => {
                    prop_assert!(!boundaries.contains(&cut), "{cut}: {error}");
                    prop_assert_eq!(error.offset, cut as u64);
                    prop_assert!(matches!(error.fault, CaptureFault::Truncated(_)), "{error}");
                }
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), magic in 0..5_usize) {
        let magics = [&[][..], &[0x0A, 0x0D, 0x0D, 0x0A], &[0xD4, 0xC3, 0xB2, 0xA1], &[0xA1, 0xB2, 0x3C, 0x4D]];
        let start = magics.get(magic).copied().unwrap_or_default();
        read(&[start, &bytes].concat());
    }

    /// A good file with a few wrong bytes: an error with an offset, or other packets, never a panic.
    #[test]
    fn mutated_captures_never_panic(
        (names, packets) in capture(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (mut file, _) = written(&names, &packets);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let (_, Some(error)) = read(&file) {
            prop_assert!(error.offset <= file.len() as u64, "{error}");
        }
    }
}

/// Three clocks with the same time, set by two options.
#[test]
fn clocks_of_other_writers_are_read() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut file = File::new(order);
        file.interface(&[]);
        file.interface(&[(9, &[0x8A])]);
        file.interface(&[(9, &[9]), (14, &order.u64(100))]);
        file.packet(0, 1_000_007, b"a", &[]);
        file.packet(1, 1024 + 512, b"b", &[]);
        file.packet(2, 1_000_000_001, b"c", &[]);
        let (packets, error) = read(&file.bytes);
        let times: Vec<_> = packets.iter().map(|packet| packet.time_ns).collect();
        assert_eq!(times, [1_000_007_000, 1_500_000_000, 101_000_000_001], "{order:?} {error:?}");
    }
}

/// A second section in the other byte order starts with no interfaces.
#[test]
fn sections_may_change_the_byte_order() {
    let mut file = File::new(ByteOrder::Little);
    file.interface(&[(2, b"first")]);
    file.packet(0, 1, b"one", &[]);
    file.order = ByteOrder::Big;
    file.section();
    file.interface(&[(2, b"second")]);
    file.packet(0, 2, b"two", &[]);
    let mut reader = Reader::new(file.bytes.as_slice()).unwrap();
    assert_eq!(reader.next_packet().unwrap().unwrap().bytes, b"one");
    assert_eq!(reader.interfaces()[0].name, "first");
    assert_eq!(reader.next_packet().unwrap().unwrap().bytes, b"two");
    assert_eq!((reader.interfaces().len(), reader.interfaces()[0].name.as_str()), (1, "second"));
    assert!(reader.next_packet().unwrap().is_none());
}

#[test]
fn unknown_blocks_and_options_are_skipped() {
    let mut file = File::new(ByteOrder::Big);
    file.block(5, b"a name resolution, perhaps!!");
    file.interface(&[(11, b"filter"), (2, b"eth0"), (1, b"noted")]);
    file.block(0x8000_0001, &[]);
    file.packet(0, 5, b"found", &[(2, &[0; 4])]);
    let (packets, error) = read(&file.bytes);
    assert!(error.is_none(), "{error:?}");
    assert_eq!((packets[0].bytes.as_slice(), &packets[0].comment), (b"found".as_slice(), &None));
}

#[test]
fn several_comments_are_joined_and_invalid_utf8_is_replaced() {
    let mut file = File::new(ByteOrder::Little);
    file.interface(&[]);
    file.packet(0, 0, b"", &[(1, b"first"), (1, b"\xFFsecond")]);
    file.packet(0, 0, b"", &[]);
    let (packets, _) = read(&file.bytes);
    assert_eq!(packets[0].comment.as_deref(), Some("first\n\u{FFFD}second"));
    assert_eq!(packets[1].comment, None);
}

/// Simple packets have no captured length: it follows from the snap length.
#[test]
fn simple_and_obsolete_packets_are_read() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut file = File::new(order);
        file.interface_cut_at(6, &[]);
        file.block(3, &[&order.u32(9)[..], b"simple", b"\0\0"].concat());
        file.block(3, &[&order.u32(5)[..], b"short", b"\0\0\0"].concat());
        let head =
            [&order.u16(0)[..], &order.u16(77), &order.u32(0), &order.u32(8), &order.u32(3), &order.u32(4)];
        file.block(2, &[&head.concat()[..], b"old\0"].concat());
        let (packets, error) = read(&file.bytes);
        assert!(error.is_none(), "{error:?}");
        let seen: Vec<_> = packets.iter().map(|p| (p.bytes.as_slice(), p.original_len, p.time_ns)).collect();
        assert_eq!(seen, [(&b"simple"[..], 9, 0), (b"short", 5, 0), (b"old", 4, 8_000)]);
    }
}

#[test]
fn pcap_files_of_either_clock_and_byte_order_are_read() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for (magic, tick_ns) in [(0xA1B2_C3D4, 1_000), (0xA1B2_3C4D, 1)] {
            let mut bytes = crate::file::pcap_header(order, magic);
            for word in [3, 7, 5, 1500] {
                bytes.extend(order.u32(word));
            }
            bytes.extend(b"hello");
            let mut reader = Reader::new(bytes.as_slice()).unwrap();
            assert_eq!((reader.interfaces()[0].link_type, reader.interfaces()[0].snap_len), (1, 128));
            let packet = reader.next_packet().unwrap().unwrap();
            assert_eq!((packet.bytes, packet.original_len), (b"hello".as_slice(), 1500));
            assert_eq!(packet.time_ns, 3_000_000_000 + 7 * tick_ns);
            assert!(reader.next_packet().unwrap().is_none());
            for cut in 0..bytes.len() {
                let (packets, error) = read(&bytes[..cut]);
                assert!(packets.is_empty());
                assert_eq!(error.is_none(), cut == 24, "{cut}: {error:?}");
            }
        }
    }
}

/// Each error has the offset at which the file is invalid.
#[test]
fn errors_have_the_offset_and_the_valid_range() {
    type Build = dyn Fn(&mut File);
    let broken = |build: &Build| {
        let mut file = File::new(ByteOrder::Little);
        build(&mut file);
        read(&file.bytes).1.expect("the file is broken").to_string()
    };
    let refused = |bytes: &[u8]| Reader::new(bytes).err().expect("no capture").to_string();

    assert_eq!(refused(b""), "at byte 0: the file is truncated in the file header");
    assert_eq!(refused(b"PK\x03\x04"), "at byte 0: [50, 4b, 03, 04] starts neither a pcapng nor a pcap file");
    let no_order = [&[0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0][..], &[0; 20]].concat();
    assert_eq!(refused(&no_order), "at byte 8: [00, 00, 00, 00] is not a byte order mark");
    let cases: [(&Build, &str); 6] = [
        (&|file| file.packet(2, 0, b"", &[]), "at byte 40: packet of interface 2, but only 0 are described"),
        (
            &|file| file.raw(&[9, 0, 0, 0, 13, 0, 0, 0]),
            "at byte 28: block of 13 bytes; must be a multiple of 4 and at least 12",
        ),
        (
            &|file| file.raw(&[1, 0, 0, 0, 0xF0, 0xFF, 0xFF, 0xFF]),
            "at byte 28: block of 4294967280 bytes; at most 1048576",
        ),
        (
            &|file| file.raw(&[9, 0, 0, 0, 12, 0, 0, 0, 16, 0, 0, 0]),
            "at byte 36: block of 12 bytes ends with length 16",
        ),
        (
            &|file| file.interface(&[(9, &[20])]),
            "at byte 48: time resolution 0x14 is finer than 64 bits hold",
        ),
        (&|file| file.block(1, &[1, 0, 0, 0]), "at byte 40: the block is truncated in the snap length"),
    ];
    for (build, message) in cases {
        assert_eq!(broken(build), message);
    }
    let late = broken(&|file| {
        file.interface(&[]);
        file.packet(0, u64::MAX, b"", &[]);
    });
    assert_eq!(late, "at byte 68: time before 1970 or after 2554");
}

/// Lengths are checked: a packet must be within its block, and a block within the file.
#[test]
fn lengths_beyond_the_data_are_refused() {
    let mut file = File::new(ByteOrder::Little);
    file.interface(&[]);
    file.block(6, &[[0; 12].as_slice(), &0x7FFF_FFFF_u32.to_le_bytes(), &[0; 8]].concat());
    let (_, error) = read(&file.bytes);
    assert!(matches!(error.unwrap().fault, CaptureFault::ShortBlock("packet")));

    let mut file = File::new(ByteOrder::Little);
    file.raw(&[9, 0, 0, 0, 0xFC, 0xFF, 0xFF, 0xFF, 1, 2, 3]);
    let (_, error) = read(&file.bytes);
    assert!(matches!(error.unwrap().fault, CaptureFault::Truncated("block")));

    let mut bytes = crate::file::pcap_header(ByteOrder::Big, 0xA1B2_C3D4);
    bytes.extend([[0; 4], [0; 4], [0x7F; 4], [0x7F; 4]].concat());
    let (_, error) = read(&bytes);
    assert!(matches!(error.unwrap().fault, CaptureFault::PacketTooLarge(0x7F7F_7F7F)));
}

#[test]
fn interfaces_are_bounded() {
    let mut file = File::new(ByteOrder::Little);
    for _ in 0..=MAX_INTERFACES {
        file.interface(&[]);
    }
    let (_, error) = read(&file.bytes);
    assert!(matches!(error.unwrap().fault, CaptureFault::TooManyInterfaces));
}

#[test]
fn a_failing_source_is_reported_and_ends_the_reading() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let (file, _) = written(&["a".into()], &[]);
    let mut reader = Reader::new(file.as_slice().chain(Failing)).unwrap();
    let error = reader.next_packet().unwrap_err();
    assert_eq!(error.to_string(), format!("at byte {}: the disk is gone", file.len()));
    assert!(reader.next_packet().unwrap().is_none());
}

/// The file, and the end of each block.
fn written(names: &[String], packets: &[Owned]) -> (Vec<u8>, Vec<usize>) {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, "a test").unwrap();
    for name in names {
        writer.add_interface(name).unwrap();
    }
    for packet in packets {
        let Owned { interface, time_ns, original_len, bytes, comment } = packet;
        let (interface, time_ns, original_len) = (*interface, *time_ns, *original_len);
        writer
            .write(&Packet { interface, time_ns, original_len, bytes, comment: comment.as_deref() })
            .unwrap();
    }
    writer.flush().unwrap();
    let mut boundaries = Vec::new();
    let mut end = 0;
    while end < file.len() {
        end += u32::from_le_bytes(file[end + 4..end + 8].try_into().unwrap()) as usize;
        boundaries.push(end);
    }
    (file, boundaries)
}

/// All packets, and the error at their end.
fn read(file: &[u8]) -> (Vec<Owned>, Option<CaptureError>) {
    match Reader::new(file) {
        Ok(mut reader) => drain(&mut reader),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn drain<R: Read>(reader: &mut Reader<R>) -> (Vec<Owned>, Option<CaptureError>) {
    let mut packets = Vec::new();
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => packets.push(Owned {
                interface: packet.interface,
                time_ns: packet.time_ns,
                original_len: packet.original_len,
                bytes: packet.bytes.to_vec(),
                comment: packet.comment.map(str::to_owned),
            }),
            Ok(None) => return (packets, None),
            Err(error) => return (packets, Some(error)),
        }
    }
}
