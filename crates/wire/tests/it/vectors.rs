//! Packets of real adapters and of another implementation, byte by byte.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{
    BthRepr, Ecn, EthernetRepr, Extension, Icrc, IpRepr, Opcode, RoceFrame, TrafficClass, Trailer, icrc,
};

/// A UC SEND of 18 bytes, with its two pad bytes and ICRC.
const UC_SEND: &str = "45010040 04784000 4011b4d5 c0a80007 c0a80007 c00012b7 002caca2 \
    2460ffff 000000d3 00cf1710 4630818b e28935d9 0e9a9550 5401be88 5e500000 78f353f3";

/// A congestion notification of a `ConnectX-4 Lx`.
const CNP: &str = "45c2003c 718c4000 40119161 0a001101 0a001201 000012b7 00280000 \
    8100ffff 40000118 00000000 00000000 00000000 00000000 00000000 82fd002a";

/// A SEND of five bytes over IPv6, made by another implementation (scapy).
const IPV6_SEND: &str = "66aabcde 00201140 fd000000 00000000 00000000 00000001 fd000000 00000000 \
    00000000 00000002 c00112b7 00200000 0470ffff 00000012 80fffffe 00010203 \
    04000000 2727a24f";

#[test]
fn icrcs_match_other_implementations() {
    let vectors = [
        (UC_SEND, [0x78, 0xF3, 0x53, 0xF3]),
        (CNP, [0x82, 0xFD, 0x00, 0x2A]),
        (IPV6_SEND, [0x27, 0x27, 0xA2, 0x4F]),
    ];
    for (packet, wire_bytes) in vectors {
        let packet = bytes(packet);
        let covered = &packet[..packet.len() - 4];
        assert_eq!(icrc(covered).unwrap().to_le_bytes(), wire_bytes);
    }
}

#[test]
fn a_captured_send_is_parsed() {
    let frame = framed(UC_SEND);
    let received = RoceFrame::parse(&frame).unwrap();
    assert_eq!(received.icrc, Icrc::Good);
    assert_eq!(received.frame.ip.class(), TrafficClass { dscp: 0, ecn: Ecn::Ect1 });
    assert_eq!(received.frame.bth, BthRepr::new(Opcode::UcSendOnly, QpNum::new(0xD3), Psn::new(0xCF_1710)));
    assert_eq!(received.frame.payload, &bytes(UC_SEND)[40..58]);
    assert_eq!(received.payload_len, 18);
}

/// A packet that is parsed and written again is equal except for the UDP checksum, which is 0 and not covered
/// by the ICRC.
#[test]
fn captured_packets_are_written_back_unchanged() {
    for (vector, udp) in [(UC_SEND, 34), (CNP, 34), (IPV6_SEND, 54)] {
        let mut original = framed(vector);
        let again = RoceFrame::parse(&original).unwrap().frame.to_bytes(Trailer::None);
        original[udp + 6..udp + 8].fill(0);
        assert_eq!(again, original);
    }
}

#[test]
fn a_captured_cnp_equals_ours() {
    let frame = framed(CNP);
    let received = RoceFrame::parse(&frame).unwrap();
    assert_eq!(received.icrc, Icrc::Good);
    assert_eq!(received.frame.bth, BthRepr::cnp(QpNum::new(0x118)));
    assert_eq!(received.frame.extension, Extension::Cnp);
    assert_eq!(received.original_frame_len(), 78);
}

/// Routers decrement the TTL and mark congestion; the ICRC does not change.
#[test]
fn fields_that_routers_change_are_not_covered() {
    let original = framed(UC_SEND);
    let mut frame = RoceFrame::parse(&original).unwrap().frame;
    let IpRepr::V4(ip) = &mut frame.ip else { panic!("an IPv4 vector") };
    ip.ttl -= 3;
    ip.class = TrafficClass { dscp: 26, ecn: Ecn::Ce };
    frame.bth.fecn = true;
    let routed = frame.to_bytes(Trailer::None);
    assert_eq!(routed[routed.len() - 4..], original[original.len() - 4..]);
    assert_eq!(RoceFrame::parse(&routed).unwrap().icrc, Icrc::Good);
}

#[test]
fn fields_that_ipv6_routers_change_are_not_covered() {
    let original = framed(IPV6_SEND);
    let mut frame = RoceFrame::parse(&original).unwrap().frame;
    assert_eq!(frame.payload, [0, 1, 2, 3, 4]);
    let IpRepr::V6(ip) = &mut frame.ip else { panic!("an IPv6 vector") };
    assert_eq!((ip.flow_label, ip.hop_limit), (0xA_BCDE, 64));
    ip.hop_limit -= 1;
    ip.flow_label = 0;
    ip.class.ecn = Ecn::Ce;
    let routed = frame.to_bytes(Trailer::None);
    assert_eq!(routed[routed.len() - 4..], original[original.len() - 4..]);
}

/// The packet after a MAC header.
fn framed(packet: &str) -> Vec<u8> {
    let ethernet = EthernetRepr::default();
    let mut frame = vec![0; ethernet.buffer_len()];
    ethernet.emit(if packet.starts_with('4') { 0x0800 } else { 0x86DD }, &mut frame);
    frame.extend(bytes(packet));
    frame
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}
