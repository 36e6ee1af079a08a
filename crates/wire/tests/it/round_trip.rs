//! Round trips of values through bytes; malformed bytes are refused without a panic.

use proptest::prelude::*;
use wiremend_units::{Psn, QpNum};
use wiremend_wire::*;

/// Bytes behind a header, which must be ignored.
const REST: &[u8] = b"the rest";

proptest! {
    #[test]
    fn ethernet_headers_parse_back(value in crate::any::ethernet(), ethertype in 0..0x0801_u16) {
        let bytes = emitted(value.buffer_len(), |buffer| value.emit(ethertype, buffer));
        prop_assert_eq!(EthernetRepr::parse(&bytes), Ok((value, ethertype, REST)));
        refuses_every_prefix(&bytes, |bytes| EthernetRepr::parse(bytes).is_ok())?;
    }

    #[test]
    fn ipv4_headers_parse_back(value in crate::any::ipv4(), protocol: u8, missing in 0..60_000_usize) {
        let len = REST.len() + missing;
        let bytes = emitted(value.buffer_len(), |buffer| value.emit(protocol, len, buffer));
        prop_assert_eq!(Ipv4Repr::parse(&bytes), Ok((value, protocol, Body { bytes: REST, len })));
        refuses_every_prefix(&bytes, |bytes| Ipv4Repr::parse(bytes).is_ok())?;
    }

    /// Options are skipped, and covered by the checksum.
    #[test]
    fn ipv4_options_are_tolerated(value in crate::any::ipv4(), words in 1..=10_usize) {
        let mut header = vec![0; value.buffer_len()];
        value.emit(17, 4 * words + REST.len(), &mut header);
        header[0] += words as u8;
        // Ones' complement: the checksum decreases by the increase of the first word.
        let checksum = u16::from_be_bytes([header[10], header[11]]);
        let (less, borrowed) = checksum.overflowing_sub((words as u16) << 8);
        header[10..12].copy_from_slice(&(less - u16::from(borrowed)).to_be_bytes());
        header.resize(header.len() + 4 * words, 0);
        header.extend(REST);
        prop_assert_eq!(Ipv4Repr::parse(&header), Ok((value, 17, Body { bytes: REST, len: REST.len() })));
        header[20] ^= 1;
        prop_assert_eq!(Ipv4Repr::parse(&header), Err(Malformed::IpChecksum));
    }

    #[test]
    fn ipv6_headers_parse_back(value in crate::any::ipv6(), protocol: u8, missing in 0..60_000_usize) {
        let len = REST.len() + missing;
        let bytes = emitted(value.buffer_len(), |buffer| value.emit(protocol, len, buffer));
        prop_assert_eq!(Ipv6Repr::parse(&bytes), Ok((value, protocol, Body { bytes: REST, len })));
        refuses_every_prefix(&bytes, |bytes| Ipv6Repr::parse(bytes).is_ok())?;
    }

    #[test]
    fn udp_headers_parse_back(source_port: u16, destination_port: u16, checksum: u16, missing in 0..60_000_usize) {
        let (value, len) = (UdpRepr { source_port, destination_port, checksum }, REST.len() + missing);
        let bytes = emitted(value.buffer_len(), |buffer| value.emit(len, buffer));
        prop_assert_eq!(UdpRepr::parse(&bytes), Ok((value, Body { bytes: REST, len })));
        refuses_every_prefix(&bytes, |bytes| UdpRepr::parse(bytes).is_ok())?;
    }

    #[test]
    fn transport_headers_parse_back(value in crate::any::bth(), pad in 0..4_usize) {
        let bytes = emitted(value.buffer_len(), |buffer| value.emit(pad, buffer));
        prop_assert_eq!(BthRepr::parse(&bytes), Ok((value, pad, REST)));
        refuses_every_prefix(&bytes, |bytes| BthRepr::parse(bytes).is_ok())?;
    }

    #[test]
    fn extension_headers_parse_back(
        (opcode, value) in prop::sample::select(Opcode::ALL.to_vec())
            .prop_flat_map(|opcode| (Just(opcode), crate::any::extension(opcode))),
    ) {
        let bytes = emitted(value.buffer_len(), |buffer| value.emit(buffer));
        prop_assert_eq!(Extension::parse(opcode, &bytes), Ok((value, REST)));
        refuses_every_prefix(&bytes, |bytes| Extension::parse(opcode, bytes).is_ok())?;
    }

    #[test]
    fn pause_frames_parse_back(frame in crate::any::pause()) {
        for trailer in [Trailer::None, Trailer::Fcs] {
            let mut bytes = vec![0xAA; frame.buffer_len(trailer)];
            frame.emit(trailer, &mut bytes);
            prop_assert_eq!(PauseFrame::parse(&bytes), Ok(frame));
            prop_assert_eq!(fcs_matches(&bytes), trailer == Trailer::Fcs);
        }
    }

    #[test]
    fn complete_frames_parse_back(parts in crate::any::parts()) {
        let frame = parts.frame();
        for trailer in [Trailer::None, Trailer::Fcs] {
            let bytes = frame.to_bytes(trailer);
            let payload_len = parts.payload.len();
            prop_assert_eq!(RoceFrame::parse(&bytes), Ok(ReceivedFrame { frame, payload_len, icrc: Icrc::Good }));
            prop_assert_eq!(fcs_matches(&bytes), trailer == Trailer::Fcs);
        }
    }

    /// Computed lengths equal those of built frames.
    #[test]
    fn computed_lengths_are_those_of_built_frames(parts in crate::any::parts()) {
        let frame = parts.frame();
        let computed = frame_len(frame.bth.opcode, frame.payload.len() as u32, frame.encapsulation());
        prop_assert_eq!(frame.to_bytes(Trailer::Fcs).len(), computed as usize);
        prop_assert!(computed >= MIN_FRAME_BYTES);
    }

    /// A truncated frame is refused without complete headers; otherwise it is distinguished from a damaged
    /// one.
    #[test]
    fn truncated_frames_keep_their_headers(parts in crate::any::parts()) {
        let frame = parts.frame();
        let bytes = frame.to_bytes(Trailer::None);
        let headers = frame.ethernet.buffer_len() + frame.ip.buffer_len() + 20 + frame.extension.buffer_len();
        let end_of_icrc = headers + frame.payload.len().next_multiple_of(4) + CRC_BYTES;
        for cut in 0..end_of_icrc {
            let parsed = RoceFrame::parse(&bytes[..cut]);
            if cut < headers {
                prop_assert!(matches!(parsed, Err(Malformed::Truncated(_))), "{cut}: {parsed:?}");
                continue;
            }
            let received = parsed.unwrap();
            let there = frame.payload.len().min(cut - headers);
            prop_assert_eq!(received.frame, RoceFrame { payload: &frame.payload[..there], ..frame });
            prop_assert_eq!((received.payload_len, received.icrc), (frame.payload.len(), Icrc::Unchecked));
            prop_assert_eq!(received.original_frame_len() as usize, frame.buffer_len(Trailer::Fcs));
        }
    }

    /// Every flipped bit of the packet is detected, except those that routers may change.
    #[test]
    fn a_flipped_bit_is_detected(parts in crate::any::parts(), bit: prop::sample::Index) {
        let frame = parts.frame();
        let mac = frame.ethernet.buffer_len();
        let ip = frame.ip.buffer_len();
        let packet = ip + 20 + frame.extension.buffer_len() + frame.payload.len().next_multiple_of(4) + CRC_BYTES;
        let bit = bit.index(8 * packet);
        let mut bytes = frame.to_bytes(Trailer::None);
        bytes[mac + bit / 8] ^= 0x80 >> (bit % 8);
        let invariant = match (frame.ip.version(), bit / 8) {
            (IpVersion::V6, 0) => bit < 4,
            (IpVersion::V6, at) => !(at < 4 || at == 7 || at == ip + 6 || at == ip + 7 || at == ip + 12),
            (IpVersion::V4, at) => !(at == ip + 6 || at == ip + 7 || at == ip + 12),
        };
        match RoceFrame::parse(&bytes) {
            Ok(received) => prop_assert_eq!(received.icrc == Icrc::Good, !invariant),
            Err(_) => prop_assert!(invariant),
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), ethertype: u16) {
        parse_everything(&bytes);
        let _ = IpRepr::parse(ethertype, &bytes);
    }

    /// Mostly valid frames with a few random bytes, which pass the first checks.
    #[test]
    fn mutated_frames_never_panic(
        parts in crate::any::parts(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut: prop::sample::Index,
    ) {
        let mut bytes = parts.frame().to_bytes(Trailer::Fcs);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        parse_everything(&bytes);
        parse_everything(&bytes[..cut.index(bytes.len())]);
    }
}

/// 62 bytes of headers are padded to 64 with zeros between ICRC and FCS.
#[test]
fn short_frames_are_padded_behind_the_icrc() {
    let (ethernet, ip, extension) = (EthernetRepr::default(), IpRepr::V4(plain_ip()), Extension::Bare);
    let frame = RoceFrame { ethernet, ip, source_port: 1, bth: plain_send(), extension, payload: &[] };
    let mut bytes = [0xAA; 64];
    frame.emit(Trailer::Fcs, &mut bytes);
    assert_eq!(icrc(&bytes[14..54]).unwrap().to_le_bytes(), bytes[54..58]);
    assert_eq!(bytes[58..60], [0, 0]);
    assert!(fcs_matches(&bytes));
    assert_eq!(RoceFrame::parse(&bytes).unwrap().frame, frame);
    let mut bytes = [0xAA; 60];
    frame.emit(Trailer::None, &mut bytes);
    assert_eq!(bytes[58..60], [0, 0]);
}

/// In ones' complement the words of a header with its checksum add up to zero, however often the sum wraps.
#[test]
fn ipv4_checksums_are_right_for_any_sum() {
    for identification in 0..=u16::MAX {
        let ip =
            Ipv4Repr { identification, source: [255; 4].into(), destination: [255; 4].into(), ..plain_ip() };
        let mut header = [0; 20];
        ip.emit(17, 60, &mut header);
        let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        assert_eq!(sum % 0xFFFF, 0, "{header:02x?}");
        assert!(Ipv4Repr::parse(&header).is_ok(), "{header:02x?}");
    }
}

/// Contradicting fields are errors with a name.
#[test]
fn contradicting_fields_are_refused() {
    let (ethernet, ip, bth) = (EthernetRepr::default(), IpRepr::V4(plain_ip()), plain_send());
    let (extension, payload) = (Extension::Bare, b"sixteen bytes ok".as_slice());
    let frame = RoceFrame { ethernet, ip, source_port: 1, bth, extension, payload };
    let changed = |at: usize, with: &[u8]| {
        let mut bytes = frame.to_bytes(Trailer::None);
        bytes[at..at + with.len()].copy_from_slice(with);
        // Repair the IPv4 header, so that the checksum is not the first error.
        let header: &mut [u8] = &mut bytes[14..34];
        header[10..12].fill(0);
        let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        let folded = (sum & 0xFFFF) + (sum >> 16);
        header[10..12].copy_from_slice(&(!folded as u16).to_be_bytes());
        RoceFrame::parse(&bytes).map(|received| received.icrc)
    };
    assert_eq!(changed(0, &[]), Ok(Icrc::Good));
    assert_eq!(changed(12, &[0x08, 0x06]), Err(Malformed::EtherType(0x0806)));
    assert_eq!(changed(14, &[0x65]), Err(Malformed::IpVersion(6)));
    assert_eq!(changed(14, &[0x44]), Err(Malformed::IpHeaderWords(4)));
    assert_eq!(changed(16, &[0, 19]), Err(Malformed::Length("IPv4 total length")));
    assert_eq!(changed(16, &[0, 59]), Err(Malformed::UdpLength { udp: 40, ip: 39 }));
    assert_eq!(changed(20, &[0x20]), Err(Malformed::Fragment));
    assert_eq!(changed(20, &[0, 1]), Err(Malformed::Fragment));
    assert_eq!(changed(23, &[6]), Err(Malformed::Protocol(6)));
    assert_eq!(changed(36, &[0x12, 0xB8]), Err(Malformed::UdpPort(4792)));
    assert_eq!(changed(38, &[0, 7]), Err(Malformed::Length("UDP length")));
    assert_eq!(changed(42, &[0x1F]), Err(Malformed::Opcode(0x1F)));
    assert_eq!(changed(43, &[0x01]), Err(Malformed::TransportVersion(1)));
    assert_eq!(changed(16, &[0, 58]), Err(Malformed::UdpLength { udp: 40, ip: 38 }));
    assert_eq!(changed(54, &[0]), Ok(Icrc::Bad));
}

/// A BTH and an ICRC need 24 bytes of UDP; a payload must consist of whole words.
#[test]
fn impossible_lengths_are_refused() {
    let datagram = |transport_bytes: usize| {
        let mut bytes = vec![0; 14 + 20 + 8 + 12];
        EthernetRepr::default().emit(ETHERTYPE_IPV4, &mut bytes[..14]);
        plain_ip().emit(17, 8 + transport_bytes, &mut bytes[14..34]);
        UdpRepr { source_port: 1, destination_port: ROCE_PORT, checksum: 0 }
            .emit(transport_bytes, &mut bytes[34..42]);
        plain_send().emit(0, &mut bytes[42..54]);
        bytes.resize(14 + 20 + 8 + transport_bytes.max(12), 0);
        RoceFrame::parse(&bytes).map(|received| received.payload_len)
    };
    assert_eq!(datagram(11), Err(Malformed::Truncated("BTH")));
    assert_eq!(datagram(15), Err(Malformed::Length("UDP length")));
    assert_eq!(datagram(16), Ok(0));
    assert_eq!(datagram(17), Err(Malformed::Alignment(1)));
    assert_eq!(datagram(20), Ok(4));
}

fn parse_everything(bytes: &[u8]) {
    let _ = RoceFrame::parse(bytes);
    let _ = PauseFrame::parse(bytes);
    let _ = EthernetRepr::parse(bytes);
    let _ = Ipv4Repr::parse(bytes);
    let _ = Ipv6Repr::parse(bytes);
    let _ = UdpRepr::parse(bytes);
    let _ = BthRepr::parse(bytes);
    let _ = icrc(bytes);
    for opcode in Opcode::ALL {
        let _ = Extension::parse(opcode, bytes);
    }
}

fn plain_ip() -> Ipv4Repr {
    Ipv4Repr {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        class: TrafficClass::default(),
        identification: 0,
        dont_fragment: true,
        ttl: 1,
    }
}

fn plain_send() -> BthRepr {
    BthRepr::new(Opcode::SendOnly, QpNum::new(1), Psn::new(2))
}

/// A header written by `emit` over garbage, and the rest.
fn emitted(len: usize, emit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = vec![0xAA; len];
    emit(&mut bytes);
    bytes.extend(REST);
    bytes
}

/// Every truncated header is refused.
fn refuses_every_prefix(bytes: &[u8], parses: impl Fn(&[u8]) -> bool) -> Result<(), TestCaseError> {
    let header = bytes.len() - REST.len();
    (0..header).try_for_each(|cut| {
        prop_assert!(!parses(&bytes[..cut]), "{cut} of {header} bytes");
        Ok(())
    })
}
