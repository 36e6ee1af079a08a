//! Writes the frames of a link as bytes into a pcapng file.
//!
//! Host n has the IP address 10.0.0.1 + n and the Ethernet address 02:00:00:00:00:01 + n, on every link of
//! the path. Traffic class c is the class selector c (RFC 2474). Byte i of the payload of the packet with
//! sequence number p is (p + i) modulo 256, also in retransmissions. Packets that carry their own offset
//! ([`wiremend_proto::dcp`]) have it before the payload; a trimmed one is a header-only packet. The lower
//! bits of the class selector tell the kinds apart. TCP connections number bytes from 0 in both directions;
//! timestamps are 0. Open-loop frames are plain UDP to the discard port. On protected links frames have their
//! link headers, and parities are computed from the bytes before them. A capture has no FCS.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use wiremend_fabric::Graph;
use wiremend_proto::{Packet, dcp, tcp};
use wiremend_units::{HostId, LinkId, QpNum, Span};
use wiremend_wire::fec;
use wiremend_wire::link::{LinkCodec, LinkHeader, prototype};
use wiremend_wire::pcap::Writer;
use wiremend_wire::{
    BthRepr, DcpTag, ETHERTYPE_IPV4, EthernetRepr, Extension, HeaderOnly, IpRepr, Ipv4Repr, MIN_FRAME_BYTES,
    MacAddr, Opcode, PROTOCOL_TCP, Pause, PauseFrame, Quanta, RoceFrame, TrafficClass, Trailer, UdpRepr,
    Vlans,
};

use super::parity_encoder::ParityEncoder;
use super::truth::{Truth, WrittenFrame};
use super::{CapturedFrame, FoundCause};
use crate::frame::{Body, Frame, Header, Probe};

const PROTOCOL_UDP: u8 = 17;
const DISCARD_PORT: u16 = 9;
/// The port of TCP receivers.
const STREAM_PORT: u16 = 5_001;

/// A capture of both directions of one link.
pub struct Capture<W: Write> {
    link: LinkId,
    writer: Writer<W>,
    bytes: Vec<u8>,
    /// Parity encoders of both directions.
    parities: [ParityEncoder; 2],
    truth: Option<Truth>,
}

impl<W: Write> Capture<W> {
    /// Returns a capture of `link` into `sink`; the file names `application` as its writer.
    pub fn new(sink: W, application: &str, graph: &Graph, link: LinkId) -> io::Result<Self> {
        let mut writer = Writer::new(sink, application)?;
        for lane in [link.forward(), link.backward()] {
            writer.add_interface(&graph.lane_name(lane))?;
        }
        Ok(Self { link, writer, bytes: Vec::new(), parities: Default::default(), truth: None })
    }

    /// Names the cause of each timeout in a comment, on the first request of its queue pair that is sent on this link
    /// afterwards. Frames are held until all causes before them are known, for `delay`.
    #[must_use]
    pub fn with_causes(self, delay: Span) -> Self {
        Self { truth: Some(Truth::new(delay)), ..self }
    }

    /// Takes the cause of a timeout, before frames that are sent later than it was known.
    pub fn on_cause(&mut self, found: &FoundCause) {
        if let Some(truth) = &mut self.truth {
            truth.on_cause(found);
        }
    }

    /// Writes a frame, if it belongs to this link. Frames must come in order of time.
    pub fn write(&mut self, captured: &CapturedFrame) -> io::Result<()> {
        if captured.lane.link() != self.link {
            return Ok(());
        }
        match &captured.header {
            None | Some(Header::Unprotected) => emit(&captured.frame, &mut self.bytes),
            Some(Header::Link(signal)) => self.emit_protected(captured, signal),
            Some(Header::Prototype(signal)) => self.emit_prototype(captured, signal),
            Some(Header::Pause(quanta)) => self.emit_pause(captured, *quanta),
            Some(Header::Pfc(classes)) => self.emit_classes(captured, *classes),
            Some(Header::Probe(probe)) => self.emit_probe(captured, *probe),
            Some(Header::Fec(signal)) => self.emit_coded(captured, *signal),
        }
        let written = WrittenFrame {
            interface: self.direction(captured) as u32,
            time: captured.time,
            corrupted: captured.corrupted,
            causes: Vec::new(),
        };
        let Some(truth) = &mut self.truth else { return written.write(&self.bytes, &mut self.writer) };
        truth.hold(written, std::mem::take(&mut self.bytes), request_of(&captured.frame));
        truth.release(Some(captured.time), &mut self.writer)
    }

    /// Writes the frames that are still held.
    pub fn finish(&mut self) -> io::Result<()> {
        self.truth.as_mut().map_or(Ok(()), |truth| truth.release(None, &mut self.writer))
    }

    /// Emits a frame with a link header, or a control frame of the link. The latter comes from port n of the
    /// link, with the Ethernet address 06:00:00:00:00:01 + n.
    fn emit_protected(&mut self, captured: &CapturedFrame, signal: &LinkHeader) {
        let source = self.port_of(captured);
        let (dialect, bytes) = (LinkCodec::default(), &mut self.bytes);
        if !signal.is_data() {
            bytes.resize(dialect.control_len(Trailer::None), 0);
            dialect.emit_control(signal, source, Trailer::None, bytes);
            return;
        }
        emit(&captured.frame, bytes);
        bytes.splice(0..0, std::iter::repeat_n(0, signal.added_len() as usize));
        let start = dialect.encapsulate(signal, bytes, signal.added_len() as usize);
        assert_eq!(start, Ok(0), "a complete frame accepts a header");
    }

    /// Emits such a frame in the format of the published prototype.
    fn emit_prototype(&mut self, captured: &CapturedFrame, signal: &prototype::PrototypeHeader) {
        if captured.frame.body == Body::Link {
            let rest = self.port_frame(captured, prototype::ETHERTYPE);
            signal.emit(&mut rest[..signal.buffer_len()]);
            return;
        }
        emit(&captured.frame, &mut self.bytes);
        self.bytes = signal.encapsulate(&self.bytes).expect("a complete frame accepts a header");
    }

    /// Emits a deadlock probe: port (4 bytes), class, remaining hops and number (4 bytes), behind the
    /// `EtherType` for local experiments (IEEE 802).
    fn emit_probe(&mut self, captured: &CapturedFrame, probe: Probe) {
        const LOCAL_EXPERIMENT: u16 = 0x88b5;
        let rest = self.port_frame(captured, LOCAL_EXPERIMENT);
        rest[..4].copy_from_slice(&probe.origin.0.to_be_bytes());
        rest[4..6].copy_from_slice(&[probe.class, probe.hops]);
        rest[6..10].copy_from_slice(&probe.number.to_be_bytes());
    }

    /// Emits a frame or a parity of a link with forward error correction.
    fn emit_coded(&mut self, captured: &CapturedFrame, signal: fec::FecHeader) {
        let (direction, source) = (self.direction(captured), self.port_of(captured));
        let (parities, bytes) = (&mut self.parities[direction], &mut self.bytes);
        match signal {
            fec::FecHeader::Data { index, .. } => {
                emit(&captured.frame, bytes);
                parities.take(index, bytes);
                let room = signal.added_len() as usize;
                bytes.splice(0..0, std::iter::repeat_n(0, room));
                assert_eq!(signal.encapsulate(bytes, room), Ok(0), "a complete frame accepts a header");
            }
            fec::FecHeader::Parity { index, data_count, parities: count, .. } => {
                let parity = parities.parity(index - data_count, count);
                bytes.resize(fec::FecHeader::parity_frame_len(parity.len(), Trailer::None), 0);
                assert_eq!(bytes.len() + Trailer::Fcs.bytes(), usize::from(captured.frame.len));
                signal.emit_parity(parity, source, Trailer::None, bytes);
            }
        }
    }

    fn emit_pause(&mut self, captured: &CapturedFrame, quanta: Quanta) {
        let mut classes = [None; 8];
        classes[1] = Some(quanta);
        self.emit_classes(captured, classes);
    }

    fn emit_classes(&mut self, captured: &CapturedFrame, classes: [Option<Quanta>; 8]) {
        let frame = PauseFrame { source: self.port_of(captured), pause: Pause::Classes(classes) };
        self.bytes.clear();
        self.bytes.resize(MIN_FRAME_BYTES as usize - Trailer::Fcs.bytes(), 0);
        frame.emit(Trailer::None, &mut self.bytes);
    }

    /// Makes a minimum-size frame from the port itself. Returns the bytes behind its `EtherType`.
    fn port_frame(&mut self, captured: &CapturedFrame, ethertype: u16) -> &mut [u8] {
        let mac = EthernetRepr {
            destination: MacAddr::NEAREST_BRIDGE,
            source: self.port_of(captured),
            vlans: Vlans::Untagged,
        };
        self.bytes.clear();
        self.bytes.resize(MIN_FRAME_BYTES as usize - Trailer::Fcs.bytes(), 0);
        let (front, rest) = self.bytes.split_at_mut(mac.buffer_len());
        mac.emit(ethertype, front);
        rest
    }

    /// Returns the Ethernet address of the port that sends a frame.
    fn port_of(&self, captured: &CapturedFrame) -> MacAddr {
        MacAddr([6, 0, 0, 0, 0, 1 + self.direction(captured) as u8])
    }

    /// Returns 0 for forward, 1 for backward.
    fn direction(&self, captured: &CapturedFrame) -> usize {
        usize::from(captured.lane != self.link.forward())
    }

    /// Returns the sink, without flushing it; see [`Capture::finish`].
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }
}

/// The host and the queue pair of a request.
fn request_of(frame: &Frame) -> Option<(HostId, QpNum)> {
    let (bth, _) = match &frame.body {
        Body::Packet(Packet::Rc(packet)) => packet.to_wire(),
        Body::Packet(Packet::Sr(packet)) => packet.to_wire(),
        _ => return None,
    };
    (!bth.opcode.is_response() && bth.opcode != Opcode::Cnp).then_some((frame.src, bth.dest_qp))
}

/// Emits the bytes of a frame, without FCS.
fn emit(frame: &Frame, bytes: &mut Vec<u8>) {
    match &frame.body {
        Body::Packet(Packet::Rc(packet)) => {
            emit_roce(frame, packet.to_wire(), Vec::new(), packet.payload_len, bytes);
        }
        Body::Packet(Packet::Sr(packet)) => {
            emit_roce(frame, packet.to_wire(), Vec::new(), packet.payload_len(), bytes);
        }
        Body::Packet(Packet::Dcp(dcp::Packet::Data(data))) if data.is_trimmed() => {
            emit_header_only(frame, data, bytes);
        }
        Body::Packet(Packet::Dcp(packet)) => {
            emit_roce(frame, packet.to_wire(), packet.wire_bytes(), packet.payload_len(), bytes);
        }
        Body::Packet(Packet::Tcp(segment)) => emit_segment(frame, segment, bytes),
        Body::Raw(_) => emit_datagram(frame, bytes),
        Body::Link | Body::Lost(_) => {
            unreachable!("captured frames are data frames or have a link header")
        }
    }
}

/// Emits an RDMA packet: its headers, the bytes in `payload`, and `payload_len` bytes of payload.
fn emit_roce(
    frame: &Frame,
    (bth, extension): (BthRepr, Extension),
    mut payload: Vec<u8>,
    payload_len: u16,
    bytes: &mut Vec<u8>,
) {
    let first = bth.psn.get();
    payload.extend((0..u32::from(payload_len)).map(|i| first.wrapping_add(i) as u8));
    let roce = RoceFrame {
        ethernet: ethernet(frame),
        ip: IpRepr::V4(ip(frame)),
        source_port: frame.entropy,
        bth,
        extension,
        payload: &payload,
    };
    bytes.clear();
    bytes.resize(roce.buffer_len(Trailer::None), 0);
    roce.emit(Trailer::None, bytes);
}

/// Emits a trimmed packet, towards the receiver or back.
fn emit_header_only(frame: &Frame, data: &dcp::Data, bytes: &mut Vec<u8>) {
    let (bth, _) = dcp::Packet::Data(*data).to_wire();
    let (unit, round) = data.unit();
    let header = HeaderOnly {
        ethernet: ethernet(frame),
        ip: IpRepr::V4(ip(frame)),
        source_port: frame.entropy,
        bth,
        unit,
        round,
    };
    bytes.clear();
    bytes.resize(header.buffer_len(Trailer::None), 0);
    header.emit(Trailer::None, bytes);
}

fn emit_segment(frame: &Frame, segment: &tcp::Segment, bytes: &mut Vec<u8>) {
    let (ethernet, ip) = (ethernet(frame), ip(frame));
    let header = segment.to_wire(frame.entropy, STREAM_PORT);
    bytes.clear();
    bytes.resize(usize::from(frame.len) - Trailer::Fcs.bytes(), 0);
    let (mac, packet) = bytes.split_at_mut(ethernet.buffer_len());
    ethernet.emit(ETHERTYPE_IPV4, mac);
    let (before, rest) = packet.split_at_mut(ip.buffer_len());
    let len = header.buffer_len() + usize::from(segment.payload_len());
    ip.emit(PROTOCOL_TCP, len, before);
    let (head, payload) = rest[..len].split_at_mut(header.buffer_len());
    let first = header.seq;
    payload.iter_mut().zip(0..).for_each(|(byte, i)| *byte = first.wrapping_add(i) as u8);
    header.emit(ip.source, ip.destination, payload, head);
}

fn emit_datagram(frame: &Frame, bytes: &mut Vec<u8>) {
    let (ethernet, ip) = (ethernet(frame), ip(frame));
    bytes.clear();
    bytes.resize(usize::from(frame.len) - Trailer::Fcs.bytes(), 0);
    let (mac, packet) = bytes.split_at_mut(ethernet.buffer_len());
    ethernet.emit(ETHERTYPE_IPV4, mac);
    let (header, datagram) = packet.split_at_mut(ip.buffer_len());
    ip.emit(PROTOCOL_UDP, datagram.len(), header);
    let (header, payload) = datagram.split_at_mut(UdpRepr::BYTES);
    UdpRepr { source_port: frame.entropy, destination_port: DISCARD_PORT, checksum: 0 }
        .emit(payload.len(), header);
}

fn ethernet(frame: &Frame) -> EthernetRepr {
    let mac = |host: HostId| MacAddr::local(host.0 + 1);
    EthernetRepr { destination: mac(frame.dst), source: mac(frame.src), vlans: Vlans::Untagged }
}

fn ip(frame: &Frame) -> Ipv4Repr {
    const FIRST: u32 = Ipv4Addr::new(10, 0, 0, 1).to_bits();
    Ipv4Repr {
        source: Ipv4Addr::from_bits(FIRST + frame.src.0),
        destination: Ipv4Addr::from_bits(FIRST + frame.dst.0),
        class: TrafficClass { dscp: tag(frame).dscp(frame.class()), ecn: frame.ecn() },
        identification: frame.ip_id,
        dont_fragment: true,
        ttl: frame.ttl,
    }
}

/// Returns the kind of a frame for switches that trim.
fn tag(frame: &Frame) -> DcpTag {
    match &frame.body {
        Body::Packet(Packet::Dcp(dcp::Packet::Data(data))) if data.is_trimmed() => DcpTag::HeaderOnly,
        Body::Packet(Packet::Dcp(dcp::Packet::Data(_))) => DcpTag::Data,
        Body::Packet(Packet::Dcp(_)) => DcpTag::Ack,
        _ => DcpTag::Other,
    }
}
