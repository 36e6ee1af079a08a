//! The FEC header: golden bytes, round trips, and refused headers.

use proptest::prelude::*;
use wiremend_wire::fec::{FecFrame, FecHeader, recognises};
use wiremend_wire::{MacAddr, Malformed, Trailer, fcs_matches};

const PORT: MacAddr = MacAddr::local(7);
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
const DATA: FecHeader = FecHeader::Data { block: 0xABCD, index: 24, parities: 1 };
const PARITY: FecHeader = FecHeader::Parity { block: 0xABCD, index: 25, data_count: 25, parities: 1 };

/// The example of docs/reference/link-header.md.
#[test]
fn frames_have_the_documented_bytes() {
    let frame = [&ADDRESSES[..], &[0x08, 0x00, 0x45, 0x00]].concat();
    let wire = encapsulated(DATA, &frame);
    assert_eq!(wire[..12], ADDRESSES);
    assert_eq!(wire[12..], [0x88, 0xB6, 1, 0, 0xAB, 0xCD, 24, 1, 0x08, 0x00, 0x45, 0x00]);
    let wire = parity(PARITY, &[0x11; 62], Trailer::Fcs);
    assert_eq!(wire[..14], [0x01, 0x80, 0xC2, 0, 0, 0x0E, 2, 0, 0, 0, 0, 7, 0x88, 0xB6]);
    assert_eq!(wire[14..22], [1, 25, 0xAB, 0xCD, 25, 1, 0, 62]);
    assert_eq!(wire[22..84], [0x11; 62]);
    assert!(wire.len() == 88 && fcs_matches(&wire));
}

/// The parity length excludes the padding.
#[test]
fn padding_is_not_part_of_a_parity() {
    let wire = parity(PARITY, &[1, 2, 3, 4], Trailer::None);
    assert_eq!(wire.len(), 60);
    assert_eq!(FecFrame::parse(&wire).unwrap().carried, [1, 2, 3, 4]);
}

#[test]
fn invalid_headers_are_refused() {
    let refused = |at: usize, byte: u8, mut wire: Vec<u8>| {
        wire[at] = byte;
        FecFrame::parse(&wire).unwrap_err()
    };
    let data = || encapsulated(DATA, &[&ADDRESSES[..], &[8, 0]].concat());
    let parity = || parity(PARITY, &[0; 40], Trailer::None);
    for version in [0, 2, 255] {
        assert_eq!(refused(14, version, data()), Malformed::FecVersion(version));
    }
    assert_eq!(refused(13, 0xB5, data()), Malformed::EtherType(0x88B5));
    assert_eq!(refused(5, 0x0F, parity()), Malformed::LinkDestination);
    assert_eq!(refused(21, 41, parity()), Malformed::Truncated("parity"));
    // No parities, a block that is too long, a parity before its position and after it.
    for (at, byte, wire) in [
        (19, 0, data()),
        (18, 254, data()),
        (19, 0, parity()),
        (19, 231, parity()),
        (18, 24, parity()),
        (18, 26, parity()),
    ] {
        let refused = refused(at, byte, wire);
        assert!(matches!(refused, Malformed::FecPlace { .. }), "byte {at} is {byte}: {refused}");
    }
}

proptest! {
    /// Any frame is carried unchanged; only the free bytes before it are written.
    #[test]
    fn frames_are_carried_unchanged(
        header in data_header(),
        frame in prop::collection::vec(any::<u8>(), 14..200),
        room in 0..20_usize,
    ) {
        let added = header.added_len() as usize;
        let mut buffer = [vec![0xAA; room + added], frame.clone()].concat();
        let start = header.encapsulate(&mut buffer, room + added).unwrap();
        prop_assert_eq!(start, room);
        prop_assert!(buffer[..room].iter().all(|byte| *byte == 0xAA));
        prop_assert!(recognises(&buffer[start..]));
        let received = FecFrame::parse(&buffer[start..]).unwrap();
        prop_assert_eq!((received.header, received.carried), (header, &frame[12..]));
        let (received, start) = FecHeader::decapsulate(&mut buffer, start).unwrap();
        prop_assert_eq!((received, &buffer[start..]), (header, &frame[..]));
    }

    #[test]
    fn parities_are_carried_unchanged(
        header in parity_header(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        for trailer in [Trailer::None, Trailer::Fcs] {
            let wire = parity(header, &bytes, trailer);
            let received = FecFrame::parse(&wire).unwrap();
            prop_assert_eq!((received.header, received.carried), (header, &bytes[..]));
            prop_assert_eq!(&received.addresses[6..], &PORT.0);
            prop_assert_eq!(fcs_matches(&wire), trailer == Trailer::Fcs);
        }
    }

    #[test]
    fn truncated_frames_are_refused(header in data_header(), frame in prop::collection::vec(any::<u8>(), 14..20)) {
        let whole = encapsulated(header, &frame);
        for cut in 0..whole.len() {
            prop_assert_eq!(FecFrame::parse(&whole[..cut]).is_ok(), cut >= 22, "{}", cut);
        }
        for cut in 0..14 {
            let mut buffer = [vec![0; 8], frame[..cut].to_vec()].concat();
            prop_assert!(header.encapsulate(&mut buffer, 8).is_err());
        }
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(header: [u8; 5], rest in prop::collection::vec(any::<u8>(), 0..60)) {
        let head = [&MacAddr::NEAREST_BRIDGE.0[..], &[0; 6], &[0x88, 0xB6, 1], &header].concat();
        let _ = FecFrame::parse(&[head, rest.clone()].concat());
        let _ = FecFrame::parse(&rest);
    }
}

fn encapsulated(header: FecHeader, frame: &[u8]) -> Vec<u8> {
    let room = header.added_len() as usize;
    let mut buffer = [&vec![0; room][..], frame].concat();
    assert_eq!(header.encapsulate(&mut buffer, room), Ok(0));
    buffer
}

fn parity(header: FecHeader, bytes: &[u8], trailer: Trailer) -> Vec<u8> {
    let mut wire = vec![0xAA; FecHeader::parity_frame_len(bytes.len(), trailer)];
    header.emit_parity(bytes, PORT, trailer, &mut wire);
    wire
}

prop_compose! {
    fn data_header()(block: u16, index in 0..254_u8, share in 0..254_u8) -> FecHeader {
        FecHeader::Data { block, index, parities: 1 + share % (254 - index) }
    }
}

prop_compose! {
    fn parity_header()(block: u16, data_count in 1..255_u8, share in 0..254_u8, place: u8) -> FecHeader {
        let parities = 1 + share % (255 - data_count);
        FecHeader::Parity { block, index: data_count + place % parities, data_count, parities }
    }
}
