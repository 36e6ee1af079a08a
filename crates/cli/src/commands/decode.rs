//! `wiremend capture decode`: prints captured frames, one per line.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

use serde::Serialize;
use wiremend_wire::fec;
use wiremend_wire::link::LinkCodec;
use wiremend_wire::pcap::{CaptureError, CaptureFault, Interface, LINK_TYPE_ETHERNET, Packet, Reader};
use wiremend_wire::{
    AethRepr, EthernetRepr, HeaderOnly, Icrc, IpRepr, Malformed, NakCode, Pause, PauseFrame, ReceivedFrame,
    RoceFrame, Syndrome,
};

use super::link_header::{describe, describe_fec};
use crate::args::Decode;
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(args: &Decode) -> Result<Answer, Failure> {
    let is_stdin = args.file.as_os_str() == "-";
    let name = if is_stdin { "stdin".to_owned() } else { args.file.display().to_string() };
    let source: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(|error| Failure::unreadable(&name, &error))?)
    };
    let mut count = Count::default();
    let mut reader = Reader::new(source).map_err(|error| damaged(&name, &error, &count))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut first_ns = None;
    let mut bytes = Vec::new();
    let damage = loop {
        if args.limit == Some(count.frames) {
            break None;
        }
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        // The reader lends either a packet or its interfaces, so the packet is copied.
        bytes.clear();
        bytes.extend_from_slice(packet.bytes);
        let comment = packet.comment.map(str::to_owned);
        let packet = Packet { bytes: &bytes, comment: comment.as_deref(), ..packet };
        let interface = &reader.interfaces()[packet.interface as usize];
        let line = Line::new(&packet, interface, *first_ns.get_or_insert(packet.time_ns));
        count.add(&line);
        terminal::written(line.write(&mut out, args.json))?;
        if is_stdin {
            // A live capture needs its output at once.
            terminal::written(out.flush())?;
        }
    };
    terminal::written(out.flush())?;
    if let Some(error) = damage {
        return Err(damaged(&name, &error, &count));
    }
    terminal::print_message(&format!("{name}: {count}"));
    Ok(Answer::Yes)
}

/// Returns the failure of a damaged file.
fn damaged(name: &str, error: &CaptureError, count: &Count) -> Failure {
    let what = match &error.fault {
        CaptureFault::Io(error) => return Failure::unreadable(name, error),
        CaptureFault::Truncated(_) if error.offset == 0 => "at byte 0: the file is empty".to_owned(),
        _ => error.to_string(),
    };
    let after = if count.frames == 0 { String::new() } else { format!(", after {}", frames(count.frames)) };
    Failure::Input(format!("{name}: {what}{after}; expected pcap or pcapng"))
}

fn frames(count: u64) -> String {
    format!("{count} {}", if count == 1 { "frame" } else { "frames" })
}

/// Number of frames by kind.
#[derive(Default)]
struct Count {
    frames: u64,
    roce: u64,
    other: u64,
    malformed: u64,
    bad_icrc: u64,
}

impl Count {
    fn add(&mut self, line: &Line<'_>) {
        self.frames += 1;
        match &line.what {
            What::Roce(roce) => {
                self.roce += 1;
                self.bad_icrc += u64::from(roce.icrc == "bad");
            }
            What::Other { .. } => self.other += 1,
            What::Malformed { .. } => self.malformed += 1,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames: all, roce, other, malformed, bad_icrc } = self;
        let all = frames(*all);
        write!(f, "{all}: {roce} RoCEv2, {other} other, {malformed} malformed; {bad_icrc} with a bad ICRC")
    }
}

/// The output for one frame.
#[derive(Serialize)]
struct Line<'a> {
    /// Time since the first frame of the file, which need not be the earliest.
    time_ns: i128,
    /// Timestamp of the file: since 1970, or since the start of a run.
    clock_ns: u64,
    interface: String,
    source: Option<String>,
    destination: Option<String>,
    captured_bytes: usize,
    original_bytes: u32,
    /// Link header of a protected link.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    #[serde(flatten)]
    what: What,
    comment: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum What {
    #[serde(rename = "rocev2")]
    Roce(Roce),
    /// A valid frame of another protocol, or one that is truncated too early to tell.
    Other {
        what: String,
    },
    Malformed {
        what: String,
    },
}

#[derive(Serialize)]
struct Roce {
    operation: &'static str,
    qp: u32,
    psn: u32,
    ack_request: bool,
    aeth: Option<Aeth>,
    /// Length of the whole message, from the RETH.
    reth_bytes: Option<u32>,
    payload_bytes: usize,
    icrc: &'static str,
    /// Payload, pad or ICRC are incomplete.
    truncated: bool,
}

#[derive(Serialize)]
struct Aeth {
    verdict: String,
    msn: u32,
}

impl<'a> Line<'a> {
    fn new(packet: &Packet<'a>, interface: &Interface, first_ns: u64) -> Self {
        let (link, what, ends) = if interface.link_type == LINK_TYPE_ETHERNET {
            let (link, what, ends) = ethernet(packet);
            (link, what, ends)
        } else {
            let link_type = interface.link_type;
            (None, What::Other { what: format!("link type {link_type}; only 1 (Ethernet) is decoded") }, None)
        };
        let (source, destination) = ends.unzip();
        Self {
            time_ns: i128::from(packet.time_ns) - i128::from(first_ns),
            clock_ns: packet.time_ns,
            interface: match interface.name.as_str() {
                "" => format!("#{}", packet.interface),
                name => name.to_owned(),
            },
            source,
            destination,
            captured_bytes: packet.bytes.len(),
            original_bytes: packet.original_len,
            link,
            what,
            comment: packet.comment,
        }
    }

    fn write(&self, out: &mut impl Write, json: bool) -> io::Result<()> {
        if json {
            serde_json::to_writer(&mut *out, self)?;
            out.write_all(b"\n")
        } else {
            writeln!(out, "{}", terminal::in_one_line(&self.to_string()))
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12} ns  {}  ", self.time_ns, self.interface)?;
        if let (Some(source), Some(destination)) = (&self.source, &self.destination) {
            write!(f, "{source} → {destination}  ")?;
        }
        if let Some(link) = &self.link {
            write!(f, "[{link}]  ")?;
        }
        match &self.what {
            What::Roce(roce) => write!(f, "{roce}")?,
            What::Other { what } => write!(f, "other: {what}")?,
            What::Malformed { what } => write!(f, "malformed: {what}")?,
        }
        if self.captured_bytes < self.original_bytes as usize {
            write!(f, "  captured {} of {} bytes", self.captured_bytes, self.original_bytes)?;
        }
        self.comment.map_or(Ok(()), |comment| write!(f, "  \"{comment}\""))
    }
}

impl fmt::Display for Roce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<12}  QP {:#08x}  PSN {}", self.operation, self.qp, self.psn)?;
        if self.ack_request {
            f.write_str("  AckReq")?;
        }
        if let Some(Aeth { verdict, msn }) = &self.aeth {
            write!(f, "  AETH {verdict} MSN {msn}")?;
        }
        if let Some(len) = self.reth_bytes {
            write!(f, "  RETH {len}")?;
        }
        write!(f, "  payload {}  ICRC {}", self.payload_bytes, self.icrc)?;
        f.write_str(if self.truncated { " (truncated)" } else { "" })
    }
}

/// Returns source and destination: IP addresses, or else Ethernet addresses.
fn ends(bytes: &[u8]) -> Option<(String, String)> {
    let (ethernet, ethertype, packet) = EthernetRepr::parse(bytes).ok()?;
    Some(match IpRepr::parse(ethertype, packet) {
        Ok((IpRepr::V4(ip), ..)) => (ip.source.to_string(), ip.destination.to_string()),
        Ok((IpRepr::V6(ip), ..)) => (ip.source.to_string(), ip.destination.to_string()),
        Err(_) => (ethernet.source.to_string(), ethernet.destination.to_string()),
    })
}

fn roce(received: &ReceivedFrame<'_>) -> What {
    let RoceFrame { bth, extension, .. } = &received.frame;
    What::Roce(Roce {
        operation: bth.opcode.name(),
        qp: bth.dest_qp.get(),
        psn: bth.psn.get(),
        ack_request: bth.ack_request,
        aeth: extension
            .aeth()
            .map(|AethRepr { syndrome, msn }| Aeth { verdict: verdict(*syndrome), msn: *msn }),
        reth_bytes: extension.reth().map(|reth| reth.dma_len),
        payload_bytes: received.payload_len,
        icrc: match received.icrc {
            Icrc::Good => "good",
            Icrc::Bad => "bad",
            Icrc::Unchecked => "unchecked",
        },
        truncated: received.icrc == Icrc::Unchecked,
    })
}

fn verdict(syndrome: Syndrome) -> String {
    match syndrome {
        Syndrome::Ack { .. } => "ACK".to_owned(),
        Syndrome::Rnr { timer } => format!("RNR NAK (wait {})", timer.span()),
        Syndrome::Nak(code) => format!("NAK ({})", reason(code)),
        Syndrome::Reserved(byte) => format!("reserved {byte:#04x}"),
    }
}

const fn reason(code: NakCode) -> &'static str {
    match code {
        NakCode::PsnSequence => "PSN sequence error",
        NakCode::InvalidRequest => "invalid request",
        NakCode::RemoteAccess => "remote access error",
        NakCode::RemoteOperational => "remote operational error",
        NakCode::InvalidRdRequest => "invalid RD request",
    }
}

type Ends = Option<(String, String)>;

/// Decodes a frame and its link header.
fn ethernet(packet: &Packet<'_>) -> (Option<String>, What, Ends) {
    let dialect = LinkCodec::default();
    let header = if dialect.recognises(packet.bytes) {
        dialect.parse(packet.bytes).map(|received| LinkHeader {
            words: describe(&received.header),
            added_len: received.header.added_len(),
            carried: received.header.is_data().then(|| [received.addresses, received.carried].concat()),
        })
    } else if fec::recognises(packet.bytes) {
        fec::FecFrame::parse(packet.bytes).map(|received| LinkHeader {
            words: describe_fec(received.header),
            added_len: received.header.added_len(),
            carried: received.header.is_data().then(|| [received.addresses, received.carried].concat()),
        })
    } else {
        return (None, network(packet), ends(packet.bytes));
    };
    match header {
        Ok(LinkHeader { words, added_len, carried: Some(carried) }) => {
            let original_len = packet.original_len.saturating_sub(added_len);
            let inner = Packet { bytes: &carried, original_len, ..*packet };
            (Some(words), network(&inner), ends(&carried))
        }
        Ok(LinkHeader { words, .. }) => (None, What::Other { what: words }, ends(packet.bytes)),
        Err(why) => (None, not_roce(packet, why), ends(packet.bytes)),
    }
}

/// A link header and the frame after it.
struct LinkHeader {
    words: String,
    added_len: u32,
    /// `None` for control frames of the link.
    carried: Option<Vec<u8>>,
}

fn network(packet: &Packet<'_>) -> What {
    if let Ok(header) = HeaderOnly::parse(packet.bytes) {
        return What::Other { what: header_only(&header) };
    }
    RoceFrame::parse(packet.bytes).map_or_else(|why| not_roce(packet, why), |frame| roce(&frame))
}

/// Names the protocol of a frame that is not RoCE, or its defect.
fn not_roce(packet: &Packet<'_>, why: Malformed) -> What {
    let is_cut = packet.bytes.len() < packet.original_len as usize;
    let what = match why {
        Malformed::EtherType(wiremend_wire::ETHERTYPE_MAC_CONTROL) => match PauseFrame::parse(packet.bytes) {
            Ok(frame) => pause(frame.pause),
            Err(why) => return not_roce(packet, why),
        },
        Malformed::MacControl(opcode) => format!("MAC control, opcode {opcode:#06x}"),
        Malformed::EtherType(0x0806) => "ARP".to_owned(),
        Malformed::EtherType(0x8915) => "RoCEv1".to_owned(),
        Malformed::EtherType(0x88CC) => "LLDP".to_owned(),
        // IEEE 802.3: smaller values are lengths.
        Malformed::EtherType(len) if len < 0x0600 => format!("LLC, {len} bytes"),
        Malformed::EtherType(ethertype) => format!("EtherType {ethertype:#06x}"),
        Malformed::Protocol(1) => "ICMP".to_owned(),
        Malformed::Protocol(2) => "IGMP".to_owned(),
        Malformed::Protocol(6) => "TCP".to_owned(),
        Malformed::Protocol(58) => "ICMPv6".to_owned(),
        Malformed::Protocol(protocol) => format!("IP protocol {protocol}"),
        Malformed::UdpPort(port) => format!("UDP to port {port}"),
        // IBA 9.2: operations of UC, RD, UD and XRC are not decoded.
        Malformed::Opcode(opcode) if matches!(opcode >> 5, 1 | 2 | 3 | 5) => {
            format!("RoCEv2 of a service other than RC, opcode {opcode:#04x}")
        }
        Malformed::Fragment => "an IPv4 fragment".to_owned(),
        Malformed::Truncated(header) if is_cut => format!("truncated within the {header}"),
        Malformed::Truncated(_) => {
            return What::Malformed { what: format!("a runt of {} bytes: {why}", packet.bytes.len()) };
        }
        why => return What::Malformed { what: why.to_string() },
    };
    What::Other { what }
}

/// Renders a trimmed packet (DCP).
fn header_only(header: &HeaderOnly) -> String {
    let HeaderOnly { bth, unit, round, .. } = header;
    let (operation, qp, psn) = (bth.opcode.name(), bth.dest_qp.get(), bth.psn);
    format!("header only: {operation}  QP {qp:#08x}  PSN {psn}  unit {unit} round {round}")
}

fn pause(pause: Pause) -> String {
    let classes = match pause {
        Pause::Link(quanta) => return format!("pause, {} quanta", quanta.0),
        Pause::Classes(classes) => classes,
    };
    let named = classes.iter().enumerate().filter_map(|(class, quanta)| Some((class, quanta.as_ref()?.0)));
    named.fold("PFC pause".to_owned(), |text, (class, quanta)| {
        format!("{text}, class {class}: {quanta} quanta")
    })
}
