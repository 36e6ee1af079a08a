//! `wiremend capture decode`: prints captured frames, one per line.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

use serde::Serialize;
use wiremend_capture::{Content, Dissected, NotRoce, decompressed, dissect};
use wiremend_wire::fec;
use wiremend_wire::link::LinkCodec;
use wiremend_wire::pcap::{CaptureError, CaptureFault, Interface, LINK_TYPE_ETHERNET, Packet, Reader};
use wiremend_wire::{HeaderOnly, Malformed, Pause};

use super::decode_roce::Roce;
use super::link_header::{describe, describe_fec};
use crate::args::capture::Decode;
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
    let source = decompressed(source).map_err(|error| Failure::unreadable(&name, &error))?;
    let mut reader = Reader::new(source).map_err(|error| damaged(&name, &error, &count))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut first_ns = None;
    let damage = loop {
        if args.limit == Some(count.frames) {
            break None;
        }
        let (packet, interface) = match reader.next_in_section() {
            Ok(Some((_, packet, interface))) => (packet, interface),
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        let first_ns = *first_ns.get_or_insert(packet.time_ns);
        let line = Line::new(&packet, interface, count.frames + 1, first_ns);
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
                self.bad_icrc += u64::from(roce.has_bad_icrc());
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
    /// Number of the frame in the file, from 1, as Wireshark counts.
    frame: u64,
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
    Roce(Box<Roce>),
    /// A valid frame of another protocol, or one that is truncated too early to tell.
    Other {
        what: String,
    },
    Malformed {
        what: String,
    },
}

impl<'a> Line<'a> {
    fn new(packet: &Packet<'a>, interface: &Interface, frame: u64, first_ns: u64) -> Self {
        let (link, what, ends) = if interface.link_type == LINK_TYPE_ETHERNET {
            ethernet(packet)
        } else {
            let (what, ends) = network(interface.link_type, packet);
            (None, what, ends)
        };
        let (source, destination) = ends.unzip();
        Self {
            frame,
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
        write!(f, "{:>6}  {:>12} ns  {}  ", self.frame, self.time_ns, self.interface)?;
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
        let (what, ends) = network(LINK_TYPE_ETHERNET, packet);
        return (None, what, ends);
    };
    match header {
        Ok(LinkHeader { words, added_len, carried: Some(carried) }) => {
            let original_len = packet.original_len.saturating_sub(added_len);
            let inner = Packet { bytes: &carried, original_len, ..*packet };
            let (what, ends) = network(LINK_TYPE_ETHERNET, &inner);
            (Some(words), what, ends)
        }
        Ok(LinkHeader { words, .. }) => {
            let ends = ends(&dissect(LINK_TYPE_ETHERNET, packet.bytes));
            (None, What::Other { what: words }, ends)
        }
        Err(why) => {
            let ends = ends(&dissect(LINK_TYPE_ETHERNET, packet.bytes));
            (None, not_roce(packet, why.into()), ends)
        }
    }
}

/// A link header and the frame after it.
struct LinkHeader {
    words: String,
    added_len: u32,
    /// `None` for control frames of the link.
    carried: Option<Vec<u8>>,
}

fn network(link_type: u16, packet: &Packet<'_>) -> (What, Ends) {
    let dissected = dissect(link_type, packet.bytes);
    let ends = ends(&dissected);
    if link_type == LINK_TYPE_ETHERNET
        && let Ok(header) = HeaderOnly::parse(packet.bytes)
    {
        return (What::Other { what: header_only(&header) }, ends);
    }
    let what = match &dissected.what {
        Content::Roce(roce) => What::Roce(Box::new(Roce::new(roce, &dissected))),
        Content::Pause(frame) => What::Other { what: pause(*frame) },
        Content::Other(what) => not_roce(packet, *what),
    };
    (what, ends)
}

/// Returns source and destination: IP addresses, or else Ethernet addresses.
fn ends(dissected: &Dissected<'_>) -> Ends {
    match (dissected.ip, dissected.link.macs) {
        (Some(ip), _) => Some((ip.source.to_string(), ip.destination.to_string())),
        (None, Some((source, destination))) => Some((source.to_string(), destination.to_string())),
        (None, None) => None,
    }
}

/// Names the protocol of a frame that is not RoCE, or its defect.
fn not_roce(packet: &Packet<'_>, what: NotRoce) -> What {
    let is_cut = packet.bytes.len() < packet.original_len as usize;
    let NotRoce::Malformed(why) = what else { return What::Other { what: what.to_string() } };
    match why {
        Malformed::MacControl(opcode) => What::Other { what: format!("MAC control, opcode {opcode:#06x}") },
        Malformed::Truncated(header) if is_cut => {
            What::Other { what: format!("truncated within the {header}") }
        }
        Malformed::Truncated(_) => {
            What::Malformed { what: format!("a runt of {} bytes: {why}", packet.bytes.len()) }
        }
        why => What::Malformed { what: why.to_string() },
    }
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
