//! Takes captured packets and reconstructs their flows, in bounded memory.
//!
//! Packets are taken in batches. A batch first tells which interfaces form a tap and which queue pair answers
//! which requests, and is then replayed in order. Small captures are one batch.

use crate::cause::TapPosition;
use crate::flow::{Flow, Shared};
use crate::not_roce::{ETHERTYPE_ROCE_V1, NotRoce, PROTOCOL_ESP};
use crate::operation::Service;
use crate::packet::{Content, RocePacket, dissect};
use crate::pairing::Pairings;
use crate::record::{Hosts, Kind, Record, Stream, TapIndex, kind};
use crate::report::{Explanation, conclude};
use crate::taps::Taps;
use crate::trail::{Trail, Trails};
use crate::truth::Truths;
use wiremend_units::Psn;
use wiremend_wire::{CmMessage, Icrc, Mad, Malformed};

/// Packets of the watched queue pair that are kept.
const STEPS_MAX: usize = 100_000;
/// Latest time, in the year 2116: differences of two times fit a number with a sign.
const TIME_MAX_NS: u64 = 1 << 62;
/// Packets of a batch.
const BATCH: usize = 1 << 17;

/// A packet of a capture as its reader gives it.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// Number of the file.
    pub file: u32,
    /// Number of the frame in its file, from 1.
    pub frame: u64,
    /// Time of the file.
    pub time_ns: u64,
    /// Number of the interface, different for the sections of a file.
    pub interface: u32,
    /// Name of the interface; may be empty.
    pub interface_name: &'a str,
    /// Link type.
    pub link_type: u16,
    /// The bytes that were captured.
    pub bytes: &'a [u8],
    /// Comments, each in a line.
    pub comment: Option<&'a str>,
}

/// What an analysis has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Tally {
    /// Frames.
    pub frames: u64,
    /// Packets of reliable connections, and congestion notifications.
    pub rc: u64,
    /// `RoCEv2` packets of other services.
    pub other_services: u64,
    /// `RoCEv1` frames.
    pub roce_v1: u64,
    /// Encrypted packets.
    pub encrypted: u64,
    /// Pause frames.
    pub pauses: u64,
    /// Other frames.
    pub other: u64,
    /// Frames of a link type that is not decoded.
    pub other_links: u64,
    /// Frames that end before their headers do: the capture kept too few bytes of each.
    pub cut: u64,
    /// Frames that break the rules of their format.
    pub malformed: u64,
    /// Packets whose ICRC is wrong; receivers drop them.
    pub bad_icrc: u64,
    /// Packets whose time lies before that of the packet before, at the same interface.
    pub steps_back: u64,
    /// Packets that a limit of memory left out.
    pub left_out: u64,
    /// Rounds of retransmission that a limit of memory left out.
    pub rounds_left_out: u64,
    /// Set-up messages of connection managers.
    pub managers: u64,
}

/// The analysis of one or more captures.
#[derive(Default)]
pub struct Analysis {
    pub(crate) position: TapPosition,
    pub(crate) hosts: Hosts,
    pub(crate) taps: Taps,
    pub(crate) pairings: Pairings,
    trails: Trails,
    pub(crate) flows: Vec<Flow>,
    pub(crate) shared: Shared,
    pub(crate) tally: Tally,
    pub(crate) files: Vec<String>,
    /// The queue pair whose packets are kept, at the first tap that sees it.
    watched: Option<(u32, Option<TapIndex>)>,
    steps: Vec<Step>,
    /// First and last time.
    pub(crate) span_ns: Option<(i64, i64)>,
    pub(crate) skips_remedies: bool,
    pub(crate) truths: Option<Truths>,
    batch: Vec<Pending>,
    last_ns: Vec<i64>,
    good_icrc: u64,
}

/// A packet of the watched queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Time of the file.
    pub time_ns: i64,
    /// Number of the frame in its file.
    pub frame: u64,
    /// Whether the requester sent it.
    pub from_requester: bool,
    /// Operation, or the kind of a negative acknowledgement.
    pub name: &'static str,
    /// Whether it is a NAK of any kind.
    pub is_nak: bool,
    /// PSN.
    pub psn: Psn,
    /// Whether the PSN was sent before.
    pub again: bool,
}

/// A packet that waits for its batch.
enum Pending {
    Record(Record, Icrc),
    Pause,
}

impl Analysis {
    /// An analysis of taps at this position.
    pub fn new(position: TapPosition) -> Self {
        Self { position, ..Self::default() }
    }

    /// Keeps the packets of connections with this queue pair at either end, for a drawing.
    pub fn watch(&mut self, qpn: u32) {
        self.watched = Some((qpn, None));
    }

    /// Compares causes with those that comments of the simulator name. The explanation does not depend on them.
    pub fn compare_causes(&mut self) {
        self.truths = Some(Truths::default());
    }

    /// Leaves out what would have helped, which takes longer than the explanation of a short capture.
    pub fn skip_remedies(&mut self) {
        self.skips_remedies = true;
    }

    /// Names the next file.
    pub fn add_file(&mut self, name: &str) -> u32 {
        self.files.push(name.to_owned());
        self.files.len() as u32 - 1
    }

    /// Takes a captured frame.
    pub fn add(&mut self, captured: &Captured<'_>) {
        self.tally.frames += 1;
        let dissected = dissect(captured.link_type, captured.bytes);
        match dissected.what {
            Content::Roce(packet) => {
                let taken = self.packet(captured, &dissected.link, dissected.ip.as_ref(), &packet);
                self.tally.left_out += u64::from(taken.is_none());
            }
            Content::Pause(_) => {
                self.tally.pauses += 1;
                self.batch.push(Pending::Pause);
            }
            Content::Other(NotRoce::EtherType(ETHERTYPE_ROCE_V1)) => self.tally.roce_v1 += 1,
            Content::Other(NotRoce::Protocol(PROTOCOL_ESP)) => self.tally.encrypted += 1,
            Content::Other(NotRoce::LinkType(_)) => self.tally.other_links += 1,
            Content::Other(NotRoce::Malformed(Malformed::Truncated(_))) => self.tally.cut += 1,
            Content::Other(NotRoce::Malformed(_)) => self.tally.malformed += 1,
            Content::Other(_) => self.tally.other += 1,
        }
        if self.batch.len() >= BATCH {
            self.replay();
        }
    }

    /// Queues a `RoCEv2` packet; `None` if a limit leaves it out.
    fn packet(
        &mut self,
        captured: &Captured<'_>,
        link: &crate::LinkHeaders,
        ip: Option<&crate::IpHeader>,
        packet: &RocePacket<'_>,
    ) -> Option<()> {
        let ip = ip?;
        let key = (captured.file, captured.interface, link.interface.unwrap_or(0));
        let interface = self.taps.interface(key, || interface_name(captured, link.interface))?;
        let (from, to) = (self.hosts.index(ip.source)?, self.hosts.index(ip.destination)?);
        let Some((op, kind)) = kind(packet) else {
            if packet.is_cut {
                // What an answer says, or how many PSNs a READ has, is not known.
                self.tally.cut += 1;
                return Some(());
            }
            self.tally.other_services += 1;
            if packet.bth.opcode.service() == Service::Ud
                && let Some(mad) = Mad::parse(packet.payload)
                && let Some(message @ (CmMessage::Request(_) | CmMessage::Reply(_))) = CmMessage::parse(&mad)
                && packet.bth.dest_qp.get() == 1
            {
                self.tally.managers += 1;
                self.pairings.on_manager(from, to, message);
            }
            return Some(());
        };
        self.tally.rc += 1;
        self.taps.note(from, to, interface);
        if let (Some(truths), Some(comments), Kind::Request) = (&mut self.truths, captured.comment, kind) {
            truths.note((captured.file, from, to, packet.bth.dest_qp.get()), captured.frame, comments);
        }
        let time_ns = captured.time_ns.min(TIME_MAX_NS) as i64;
        self.note_time(interface, time_ns);
        let stream = Stream { tap: interface, from, to, qpn: packet.bth.dest_qp.get() };
        let record = Record {
            frame: captured.frame,
            time_ns,
            stream,
            psn: packet.bth.psn,
            kind,
            op,
            ip_id: ip.id.unwrap_or(0),
            source_port: packet.source_port,
            ack_request: packet.bth.ack_request,
            congestion: ip.ecn == 0b11,
            payload_len: packet.payload_len as u32,
            dma_len: packet.reth.map_or(0, |reth| reth.dma_len),
            flow: Record::NO_FLOW,
            trail: Trail::default(),
        };
        match packet.icrc {
            Icrc::Good => self.good_icrc += 1,
            Icrc::Bad => self.tally.bad_icrc += 1,
            Icrc::Unchecked => {}
        }
        self.batch.push(Pending::Record(record, packet.icrc));
        Some(())
    }

    fn note_time(&mut self, interface: TapIndex, time_ns: i64) {
        let at = usize::from(interface.0);
        if self.last_ns.len() <= at {
            self.last_ns.resize(at + 1, i64::MIN);
        }
        self.tally.steps_back += u64::from(time_ns < self.last_ns[at]);
        self.last_ns[at] = time_ns;
        let (first, last) = self.span_ns.unwrap_or((time_ns, time_ns));
        self.span_ns = Some((first.min(time_ns), last.max(time_ns)));
    }

    /// Replays the batch.
    fn replay(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        // Receivers drop packets whose ICRC is wrong. If many are wrong, the capture was made before the
        // adapter computed them.
        let is_icrc_used = self.tally.bad_icrc * 10 <= self.good_icrc;
        batch.retain(|pending| !matches!(pending, Pending::Record(_, Icrc::Bad) if is_icrc_used));
        for pending in &mut batch {
            if let Pending::Record(record, _) = pending {
                record.stream.tap = self.taps.tap(record.stream.from, record.stream.to, record.stream.tap);
                record.trail = self.trails.note(record);
                self.pairings.measure(record);
            }
        }
        for pending in &mut batch {
            if let Pending::Record(record, _) = pending {
                self.pairings.assign(record);
            }
        }
        self.pairings.decide();
        self.flows.resize_with(self.pairings.flows.len(), Flow::default);
        for pending in &batch {
            match pending {
                Pending::Pause => self.shared.pauses += 1,
                Pending::Record(record, _) => self.step(record),
            }
        }
        batch.clear();
        self.batch = batch;
    }

    /// Passes a packet to its flow.
    fn step(&mut self, record: &Record) {
        let flow = match record.kind {
            Kind::Request => (record.flow != Record::NO_FLOW).then_some(record.flow),
            _ => self.pairings.flow_of(record),
        };
        let Some(index) = flow else {
            self.tally.left_out += u64::from(record.kind == Kind::Request);
            return;
        };
        let flow = &mut self.flows[index as usize];
        flow.index = index;
        flow.mtu = self.pairings.mtu(index);
        let psn = flow.unwrap(record.psn);
        let again = psn < flow.next && flow.counts.requests > 0;
        if self.watched.is_some() {
            self.keep_step(index, record, again);
        }
        let flow = &mut self.flows[index as usize];
        match record.kind {
            Kind::Request => flow.on_request(psn, record, &mut self.shared),
            Kind::Cnp => flow.counts.cnps += 1,
            _ => flow.on_answer(psn, record, &mut self.shared),
        }
    }

    fn keep_step(&mut self, flow: u32, record: &Record, again: bool) {
        let Some((qpn, tap)) = &mut self.watched else { return };
        let stream = self.pairings.flows[flow as usize].stream;
        let is_watched = stream.qpn == *qpn || self.pairings.answered_by(flow) == Some(*qpn);
        if !is_watched || self.steps.len() == STEPS_MAX || *tap.get_or_insert(stream.tap) != stream.tap {
            return;
        }
        let (name, is_nak) = match record.kind {
            Kind::Nak => ("NAK", true),
            Kind::RnrNak => ("RNR NAK", true),
            Kind::FatalNak(_) => ("NAK, fatal", true),
            _ => (record.op.name(), false),
        };
        let from_requester = record.kind == Kind::Request;
        self.steps.push(Step {
            time_ns: record.time_ns,
            frame: record.frame,
            from_requester,
            name,
            is_nak,
            psn: record.psn,
            again: from_requester && again,
        });
    }

    /// Ends the analysis; returns the packets of the watched queue pair too.
    pub fn finish_with_steps(mut self) -> (Explanation, Vec<Step>) {
        self.replay();
        let steps = std::mem::take(&mut self.steps);
        (self.finish(), steps)
    }

    /// Ends the analysis.
    pub fn finish(mut self) -> Explanation {
        self.replay();
        for flow in &mut self.flows {
            flow.close(&mut self.shared);
        }
        self.tally.rounds_left_out = self.shared.left_out;
        conclude(&self)
    }
}

fn interface_name(captured: &Captured<'_>, cooked: Option<u32>) -> String {
    let name = match captured.interface_name {
        "" => format!("#{}", captured.interface),
        name => name.to_owned(),
    };
    cooked.map_or(name.clone(), |index| format!("{name}, interface {index}"))
}
