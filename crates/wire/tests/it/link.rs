//! The link header: golden bytes, round trips, and refused headers.

use proptest::prelude::*;
use wiremend_wire::link::{Ack, Hello, HelloKind, Hole, LinkCodec, LinkHeader, Missing, NUMBER_BITS, Seal};
use wiremend_wire::{MacAddr, Malformed, Trailer, fcs_matches};

const LINK: LinkCodec = LinkCodec { ethertype: LinkCodec::LOCAL_EXPERIMENTAL };
const PORT: MacAddr = MacAddr::local(7);
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// The example of docs/reference/link-header.md.
#[test]
fn data_has_the_documented_bytes() {
    let frame = [&ADDRESSES[..], &[0x08, 0x00, 0x45, 0x00]].concat();
    let header = data(None);
    assert_eq!(encapsulated(&header, &frame)[..12], ADDRESSES);
    assert_eq!(
        encapsulated(&header, &frame)[12..],
        [0x88, 0xB5, 0x41, 0xAB, 0xCD, 0xEF, 0x08, 0x00, 0x45, 0x00]
    );
    let header = data(Some(Ack { epoch: 5, next: 0x1_2345, pause: true }));
    let bytes = [0x88, 0xB5, 0x45, 0xAB, 0xCD, 0xEF, 0x58, 0x01, 0x23, 0x45, 0x08, 0x00, 0x45, 0x00];
    assert_eq!(encapsulated(&header, &frame)[12..], bytes);
    let LinkHeader::Data { epoch, seq, ack, .. } = header else { unreachable!() };
    let again = LinkHeader::Data { epoch, seq, ordered: false, retransmitted: true, ack };
    assert_eq!(encapsulated(&again, &frame)[14], 0x46);
    let loose = LinkHeader::Unprotected { epoch: 10, next: 0xB_CDEF, ack: None };
    assert_eq!(encapsulated(&loose, &frame)[14..18], [0x68, 0xAB, 0xCD, 0xEF]);
}

#[test]
fn control_frames_have_the_documented_bytes() {
    let ack = Ack { epoch: 2, next: 0xF_FFFE, pause: false };
    let mut holes = [Hole::default(); Missing::HOLES_MAX];
    holes[0] = Hole { first: 0xF_FFFE, len: 1 };
    holes[1] = Hole { first: 3, len: 0x0102 };
    let hello = Hello { kind: HelloKind::Accept, epoch: 0xDEAD_BEEF, stamp_ns: 1, rtt_ns: 0x1234 };
    let bodies: [(LinkHeader, &[u8]); 5] = [
        (LinkHeader::Dummy { epoch: 10, next: 0xB_CDEF, ack: None }, &[0x48, 0xAB, 0xCD, 0xEF]),
        (
            LinkHeader::Dummy { epoch: 10, next: 0, ack: Some(ack) },
            &[0x4C, 0xA0, 0, 0, 0x20, 0x0F, 0xFF, 0xFE],
        ),
        (LinkHeader::Ack(ack), &[0x54, 0, 0, 0, 0x20, 0x0F, 0xFF, 0xFE]),
        (
            LinkHeader::Missing(Missing { ack, upto: 0x0200, holes, hole_count: 2 }),
            &[0x5C, 0, 2, 0, 0x20, 0x0F, 0xFF, 0xFE, 2, 0, 0, 0x0F, 0xFF, 0xFE, 0, 1, 0, 0, 0, 3, 1, 2],
        ),
        (
            LinkHeader::Hello(hello),
            &[
                0x60, 0, 0, 0, b'w', b'm', b'n', b'd', 2, 0, 0, 0, 0xDE, 0xAD, 0xBE, 0xEF, 0, 0, 0, 1, 0, 0,
                0x12, 0x34,
            ],
        ),
    ];
    for (header, body) in bodies {
        let bytes = own(&header, Trailer::Fcs);
        assert_eq!(bytes[..14], [0x01, 0x80, 0xC2, 0, 0, 0x0E, 2, 0, 0, 0, 0, 7, 0x88, 0xB5]);
        assert_eq!(&bytes[14..14 + body.len()], body, "{header:?}");
        assert!(bytes[14 + body.len()..60].iter().all(|byte| *byte == 0));
        assert!(fcs_matches(&bytes));
        assert_eq!((bytes.len(), header.frame_len(0)), (64, 64));
    }
}

/// A seal follows the padding. An end without a key reads the frame as if it had none.
#[test]
fn seal_has_the_documented_bytes() {
    let header = LinkHeader::Ack(Ack { epoch: 2, next: 0xF_FFFE, pause: false });
    let unsealed = own(&header, Trailer::None);
    let mut frame = [0; Seal::FRAME_BYTES];
    frame[..60].copy_from_slice(&unsealed);
    Seal::emit(&mut frame, 0x0102_0304_0506_0708, 9, |covered| {
        assert_eq!(covered.len(), 80);
        [0xEE; 16]
    });
    let seal = [b"seal", &[1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 9][..], &[0xEE; 16]].concat();
    assert_eq!((&frame[..60], &frame[60..]), (&unsealed[..], &seal[..]));
    let (seal, covered) = Seal::parse(&frame).unwrap();
    assert_eq!(seal, Seal { counter: 0x0102_0304_0506_0708, echo: 9, tag: [0xEE; 16] });
    assert_eq!(covered, &frame[..80]);
    assert_eq!(LINK.parse(&frame).unwrap().header, header);
    assert!((0..frame.len()).all(|len| Seal::parse(&frame[..len]).is_none()), "all of it, or none");
    frame[60] = 0;
    assert_eq!(Seal::parse(&frame), None, "padding");
}

#[test]
fn headers_have_the_documented_lengths() {
    let ack = Ack { epoch: 0, next: 0, pause: false };
    assert_eq!((data(None).added_len(), data(Some(ack)).added_len()), (6, 10));
    assert_eq!((data(None).frame_len(1518), data(Some(ack)).frame_len(64)), (1524, 74));
    assert_eq!(LinkHeader::Ack(ack).added_len(), 0);
}

/// Tags, lengths instead of an `EtherType`, LLDP to the link's own group address, a nested link header.
#[test]
fn any_protocol_is_carried_unchanged() {
    let nearest = [&MacAddr::NEAREST_BRIDGE.0[..], &[2, 0, 0, 0, 0, 1]].concat();
    let frames = [
        [&ADDRESSES[..], &[0x81, 0x00, 0x60, 0x05, 0x08, 0x06, 1, 2, 3]].concat(),
        [&ADDRESSES[..], &[0x88, 0xA8, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 0x86, 0xDD]].concat(),
        [&ADDRESSES[..], &[0x00, 0x26, 0x42, 0x42, 0x03]].concat(),
        [&nearest[..], &[0x88, 0xCC, 2, 7, 4]].concat(),
        encapsulated(&data(None), &[&ADDRESSES[..], &[0x08, 0x00]].concat()),
    ];
    for frame in frames {
        let mut wire = encapsulated(&data(None), &frame);
        let received = LINK.parse(&wire).unwrap();
        assert_eq!((received.header, received.carried), (data(None), &frame[12..]));
        let (header, start) = LINK.decapsulate(&mut wire, 0).unwrap();
        assert_eq!((header, &wire[start..]), (data(None), &frame[..]));
    }
}

/// A frame with a tag before the header is an ordinary frame.
#[test]
fn a_header_must_follow_the_addresses() {
    let tagged = [&ADDRESSES[..], &[0x81, 0x00, 0, 1, 0x88, 0xB5, 0x40, 0, 0, 0, 8, 0]].concat();
    assert!(!LINK.recognises(&tagged));
    assert_eq!(LINK.parse(&tagged), Err(Malformed::EtherType(0x8100)));
    let other = LinkCodec { ethertype: 0x88B6 };
    let frame = own(&LinkHeader::Ack(Ack { epoch: 1, next: 2, pause: false }), Trailer::None);
    assert!(LINK.recognises(&frame) && !other.recognises(&frame));
    assert_eq!(other.parse(&frame), Err(Malformed::EtherType(0x88B5)));
    assert!(!LINK.recognises(&frame[..13]));
}

/// Other versions and unknown types are refused.
#[test]
fn other_versions_are_refused() {
    let refused = |at: usize, byte: u8, header: &LinkHeader| {
        let mut bytes = own(header, Trailer::None);
        bytes[at] = byte;
        LINK.parse(&bytes).unwrap_err()
    };
    let ack = LinkHeader::Ack(Ack { epoch: 1, next: 2, pause: false });
    for version in [0, 2, 3] {
        assert_eq!(refused(14, version << 6 | 0x14, &ack), Malformed::LinkVersion(version));
    }
    for kind in 6..8 {
        assert_eq!(refused(14, 0x40 | kind << 3, &ack), Malformed::LinkType(kind));
    }
    assert_eq!(refused(14, 0x50, &ack), Malformed::LinkAck);
    assert_eq!(refused(14, 0x58, &ack), Malformed::LinkAck);
    assert_eq!(refused(5, 0x0F, &ack), Malformed::LinkDestination);
    let hello = LinkHeader::Hello(Hello { kind: HelloKind::Open, epoch: 1, stamp_ns: 2, rtt_ns: 3 });
    assert_eq!(refused(18, b'W', &hello), Malformed::LinkMagic(0x576D_6E64));
    assert_eq!(refused(22, 0, &hello), Malformed::LinkHello(0));
    assert_eq!(refused(22, 8, &hello), Malformed::LinkHello(8));
}

/// Reserved bits are ignored.
#[test]
fn reserved_bits_and_padding_are_ignored() {
    let mut holes = [Hole::default(); Missing::HOLES_MAX];
    holes[0] = Hole { first: 3, len: 1 };
    let ack = Ack { epoch: 1, next: 2, pause: false };
    let hello = Hello { kind: HelloKind::Open, epoch: 1, stamp_ns: 2, rtt_ns: 3 };
    let reserved: [(LinkHeader, &[(usize, u8)]); 4] = [
        (LinkHeader::Dummy { epoch: 1, next: 9, ack: None }, &[(14, 0x03), (18, 0xFF)]),
        (LinkHeader::Ack(ack), &[(14, 0x03), (15, 0xFF), (16, 0xFF), (17, 0xFF), (18, 0x07), (19, 0xF0)]),
        (
            LinkHeader::Missing(Missing { ack, upto: 7, holes, hole_count: 1 }),
            &[(15, 0xF0), (23, 0xFF), (24, 0xFF), (25, 0xF0), (30, 0xFF)],
        ),
        (LinkHeader::Hello(hello), &[(14, 0x03), (15, 0xFF), (17, 0xFF), (23, 0xFF), (25, 0xFF), (38, 0xFF)]),
    ];
    for (header, bits) in reserved {
        let mut bytes = own(&header, Trailer::None);
        for (at, bits) in bits {
            bytes[*at] |= bits;
        }
        assert_eq!(LINK.parse(&bytes).map(|received| received.header), Ok(header));
    }
}

/// A notification that contradicts itself is refused.
#[test]
fn invalid_holes_are_refused() {
    let missing = |next: u32, upto: u32, holes: &[(u32, u16)]| {
        let mut missing = Missing {
            ack: Ack { epoch: 0, next, pause: false },
            upto,
            holes: [Hole::default(); Missing::HOLES_MAX],
            hole_count: holes.len() as u8,
        };
        for (hole, (first, len)) in missing.holes.iter_mut().zip(holes) {
            *hole = Hole { first: *first, len: *len };
        }
        LINK.parse(&own(&LinkHeader::Missing(missing), Trailer::None))
            .map(|received| received.header.is_data())
    };
    assert_eq!(missing(10, 20, &[(10, 1), (12, 8)]), Ok(false));
    assert_eq!(missing(0xF_FFF0, 5, &[(0xF_FFF0, 0x10), (0, 5)]), Ok(false));
    for holes in [&[(10, 0)][..], &[(9, 1)], &[(19, 2)], &[(20, 1)], &[(12, 2), (13, 1)], &[(14, 1), (12, 1)]]
    {
        assert_eq!(missing(10, 20, holes), Err(Malformed::LinkHoles), "{holes:?}");
    }
    assert_eq!(missing(0xF_FFF0, 5, &[(0, 6)]), Err(Malformed::LinkHoles));
    let mut many = own(&LinkHeader::Ack(Ack { epoch: 0, next: 10, pause: false }), Trailer::None);
    many[14] = 0x5C;
    many[22] = 7;
    assert_eq!(LINK.parse(&many), Err(Malformed::LinkHoles));
}

proptest! {
    #[test]
    fn control_frames_parse_back(header in own_header(), source: [u8; 6]) {
        for trailer in [Trailer::None, Trailer::Fcs] {
            let mut bytes = vec![0xAA; LINK.control_len(trailer)];
            LINK.emit_control(&header, MacAddr(source), trailer, &mut bytes);
            let received = LINK.parse(&bytes).unwrap();
            prop_assert_eq!((received.header, received.carried), (header, &[][..]));
            prop_assert_eq!(&received.addresses[6..], &source);
            prop_assert_eq!(fcs_matches(&bytes), trailer == Trailer::Fcs);
        }
    }

    /// Any frame is carried unchanged; only the free bytes before it are written.
    #[test]
    fn frames_are_carried_unchanged(
        header in data_header(),
        frame in prop::collection::vec(any::<u8>(), 14..200),
        room in 0..20_usize,
        ethertype: u16,
    ) {
        let link = LinkCodec { ethertype };
        let added = header.added_len() as usize;
        let mut buffer = [vec![0xAA; room + added], frame.clone()].concat();
        let start = link.encapsulate(&header, &mut buffer, room + added).unwrap();
        prop_assert_eq!(start, room);
        prop_assert!(buffer[..room].iter().all(|byte| *byte == 0xAA));
        prop_assert!(link.recognises(&buffer[start..]));
        prop_assert_eq!(header.frame_len(frame.len() as u32) as usize, buffer.len() - start);
        let (received, start) = link.decapsulate(&mut buffer, start).unwrap();
        prop_assert_eq!((received, &buffer[start..]), (header, &frame[..]));
    }

    #[test]
    fn truncated_frames_are_refused(header in data_header(), frame in prop::collection::vec(any::<u8>(), 14..20)) {
        let whole = encapsulated(&header, &frame);
        let head = 12 + header.added_len() as usize + 2;
        for cut in 0..whole.len() {
            prop_assert_eq!(LINK.parse(&whole[..cut]).is_ok(), cut >= head, "{} of {}", cut, head);
        }
        for cut in 0..14 {
            let mut buffer = [vec![0; 10], frame[..cut].to_vec()].concat();
            prop_assert!(LINK.encapsulate(&header, &mut buffer, 10).is_err());
        }
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(word: [u8; 4], rest in prop::collection::vec(any::<u8>(), 0..60)) {
        for version_1 in [word[0], word[0] & 0x3F | 0x40] {
            let head = [&MacAddr::NEAREST_BRIDGE.0[..], &[0; 6], &[0x88, 0xB5, version_1], &word[1..]].concat();
            let _ = LINK.parse(&[head, rest.clone()].concat());
        }
        let _ = LINK.parse(&rest);
    }
}

fn data(ack: Option<Ack>) -> LinkHeader {
    LinkHeader::Data { epoch: 10, seq: 0xB_CDEF, ordered: true, retransmitted: false, ack }
}

fn encapsulated(header: &LinkHeader, frame: &[u8]) -> Vec<u8> {
    let room = header.added_len() as usize;
    let mut buffer = [&vec![0; room][..], frame].concat();
    assert_eq!(LINK.encapsulate(header, &mut buffer, room), Ok(0));
    buffer
}

fn own(header: &LinkHeader, trailer: Trailer) -> Vec<u8> {
    let mut bytes = vec![0xAA; LINK.control_len(trailer)];
    LINK.emit_control(header, PORT, trailer, &mut bytes);
    bytes
}

fn number() -> impl Strategy<Value = u32> {
    0..1_u32 << NUMBER_BITS
}

prop_compose! {
    fn ack()(epoch in 0..16_u8, next in number(), pause: bool) -> Ack {
        Ack { epoch, next, pause }
    }
}

prop_compose! {
    fn data_header()(
        epoch in 0..16_u8, seq in number(), ordered: bool, retransmitted: bool, ack in prop::option::of(ack()),
    ) -> LinkHeader {
        LinkHeader::Data { epoch, seq, ordered, retransmitted, ack }
    }
}

prop_compose! {
    /// Alternating gaps and holes from the acknowledged number on.
    fn missing()(
        ack in ack(),
        parts in prop::collection::vec((0..20_000_u32, 1..=u16::MAX), 0..=Missing::HOLES_MAX),
        beyond in 0..1000_u32,
    ) -> Missing {
        let mask = (1 << NUMBER_BITS) - 1;
        let mut missing =
            Missing { ack, upto: ack.next, holes: Default::default(), hole_count: parts.len() as u8 };
        for (hole, (gap, len)) in missing.holes.iter_mut().zip(parts) {
            *hole = Hole { first: (missing.upto + gap) & mask, len };
            missing.upto = hole.first + u32::from(len);
        }
        missing.upto = (missing.upto + beyond) & mask;
        missing
    }
}

fn own_header() -> impl Strategy<Value = LinkHeader> {
    use HelloKind::{Accept, Challenge, Close, Closed, Leave, Open, Unknown};
    let kind = prop::sample::select(vec![Open, Accept, Close, Closed, Unknown, Leave, Challenge]);
    let hello = (kind, any::<(u32, u32, u32)>());
    prop_oneof![
        (0..16_u8, number(), prop::option::of(ack())).prop_map(|(epoch, next, ack)| LinkHeader::Dummy {
            epoch,
            next,
            ack
        }),
        ack().prop_map(LinkHeader::Ack),
        missing().prop_map(LinkHeader::Missing),
        hello.prop_map(|(kind, (epoch, stamp_ns, rtt_ns))| {
            LinkHeader::Hello(Hello { kind, epoch, stamp_ns, rtt_ns })
        }),
    ]
}
