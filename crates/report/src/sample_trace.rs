//! Made-up traces for tests and for the gallery: the four patterns of JCST §3.1 between two hosts and a
//! switch.

use wiremend_measure::{Fate, FlowTrace, PacketKind, TimeoutCause, TraceEvent, TracePacket, TraceRecord};
use wiremend_units::{HostId, NodeId, Psn, Span, Time};

const REQUESTER: NodeId = NodeId(0);
const SWITCH: NodeId = NodeId(2);
const RESPONDER: NodeId = NodeId(1);

/// Name of a node in these traces.
pub(crate) fn name(node: NodeId) -> String {
    match node {
        REQUESTER => "requester".to_owned(),
        RESPONDER => "responder".to_owned(),
        other => format!("switch {}", other.0),
    }
}

/// A trace of these records.
pub(crate) fn trace(records: Vec<TraceRecord>) -> FlowTrace {
    FlowTrace { records, ..FlowTrace::default() }
}

/// A packet of class 0.
pub(crate) fn packet(name: &'static str, psn: u32, kind: PacketKind, retransmission: bool) -> TracePacket {
    TracePacket {
        name,
        psn: Psn::new(psn),
        kind,
        retransmission,
        number: 0,
        class: 0,
        bytes: 1_100,
        src: HostId(0),
        dst: HostId(1),
    }
}

/// A packet on a link, in drawings of which the time on the link does not matter.
fn sent(packet: TracePacket, to: NodeId, arrive: Time, fate: Fate) -> TraceEvent {
    TraceEvent::Sent { packet, to, arrive, wire: Span::ZERO, busy_since: Time::ZERO, fate }
}

/// A trace under construction.
#[derive(Default)]
struct Script(Vec<TraceRecord>);

impl Script {
    fn at(&mut self, ns: u64, node: NodeId, event: TraceEvent) {
        self.0.push(TraceRecord { time: Time::from_ns(ns), node, event });
    }

    /// Adds a packet over both links, `lost` on the second one. Returns its arrival.
    fn send(&mut self, ns: u64, [from, to]: [NodeId; 2], packet: TracePacket, lost: bool) -> u64 {
        let flight = if packet.kind == PacketKind::Data { 688 } else { 607 };
        let hop = |to, ns, fate| sent(packet, to, Time::from_ns(ns), fate);
        self.at(ns, from, hop(SWITCH, ns + flight, Fate::Pass));
        let fate = if lost { Fate::Corrupt } else { Fate::Pass };
        self.at(ns + flight + 50, SWITCH, hop(to, ns + 2 * flight + 50, fate));
        ns + 2 * flight + 50
    }

    fn data(&mut self, ns: u64, psn: u32, again: bool, lost: bool) -> u64 {
        let name = if psn == 5 { "WRITE Last" } else { "WRITE Middle" };
        let name = if psn == 0 { "WRITE First" } else { name };
        let packet = packet(name, psn, PacketKind::Data, again);
        self.send(ns, [REQUESTER, RESPONDER], packet, lost)
    }

    fn answer(&mut self, ns: u64, kind: PacketKind, psn: u32, lost: bool) -> u64 {
        let name = if kind == PacketKind::Nak { "NAK" } else { "ACK" };
        let packet = packet(name, psn, kind, false);
        self.send(ns, [RESPONDER, REQUESTER], packet, lost)
    }

    /// Adds packets `from..6`. Packets before `lost` are accepted, packets after it are discarded. Returns
    /// the last arrival.
    fn burst(&mut self, ns: u64, from: u32, again: bool, lost: Option<u32>) -> u64 {
        let mut last = ns;
        for psn in from..6 {
            let arrive = self.data(ns + u64::from(psn - from) * 90, psn, again, lost == Some(psn));
            match lost {
                Some(lost) if psn == lost => continue,
                Some(lost) if psn > lost => {
                    self.at(
                        arrive,
                        RESPONDER,
                        TraceEvent::Gap { psn: Psn::new(psn), expected: Psn::new(lost) },
                    );
                }
                _ => self.at(arrive, RESPONDER, TraceEvent::Accepted { psn: Psn::new(psn) }),
            }
            last = arrive;
        }
        last
    }
}

/// Loss of a packet and its NAK (Fig. 2), of a packet and its retransmission (Fig. 3), of the tail packet
/// (Fig. 4) or of its ACK (Fig. 5).
pub(crate) fn pattern(cause: TimeoutCause) -> Vec<TraceRecord> {
    let mut script = Script::default();
    let missing = match cause {
        TimeoutCause::Nak | TimeoutCause::Retransmission => Some(2),
        TimeoutCause::TailPacket => Some(5),
        TimeoutCause::TailAck | TimeoutCause::Other => None,
    };
    script.at(0, REQUESTER, TraceEvent::Posted { bytes: 6 * 1024 });
    let end = script.burst(100, 0, false, missing);
    if matches!(cause, TimeoutCause::Nak | TimeoutCause::Retransmission) {
        let asks = 100 + 2 * 688 + 50 + 3 * 90;
        script.at(asks, RESPONDER, TraceEvent::NakSent { expected: Psn::new(2) });
        let back = script.answer(asks + 40, PacketKind::Nak, 2, cause == TimeoutCause::Nak);
        if cause == TimeoutCause::Retransmission {
            script.at(back, REQUESTER, TraceEvent::Rewound { psn: Psn::new(2) });
            script.burst(back + 40, 2, true, Some(2));
        }
    }
    if cause == TimeoutCause::TailAck {
        script.answer(end + 40, PacketKind::Ack, 5, true);
    }
    let fires = 67_108_864 + 500;
    let oldest = Psn::new(missing.unwrap_or(5));
    script.at(fires, REQUESTER, TraceEvent::TimerFired { oldest, cause: Some(cause) });
    let end = script.burst(fires + 40, oldest.get(), true, None);
    let done = script.answer(end + 40, PacketKind::Ack, 5, false);
    script.at(done, REQUESTER, TraceEvent::Completed);
    script.0
}

/// A flow of `packets` over seven nodes at line rate, of which one packet is corrupted.
pub(crate) fn long(packets: u32) -> Vec<TraceRecord> {
    let path = [REQUESTER, NodeId(10), NodeId(11), NodeId(12), NodeId(13), NodeId(14), RESPONDER];
    let mut script = Script::default();
    script.at(0, REQUESTER, TraceEvent::Posted { bytes: u64::from(packets) * 1024 });
    for psn in 0..packets {
        let packet = packet("SEND Middle", psn, PacketKind::Data, false);
        for (hop, ends) in path.windows(2).enumerate() {
            let leaves = Span::from_ns(u64::from(psn) * 90 + hop as u64 * 1_150);
            let fate = if psn == packets / 2 && hop == 3 { Fate::Corrupt } else { Fate::Pass };
            let time = Time::ZERO + leaves;
            let event = sent(packet, ends[1], time + Span::from_ns(1_088), fate);
            script.0.push(TraceRecord { time, node: ends[0], event });
            if fate == Fate::Corrupt {
                break;
            }
        }
    }
    script.at(u64::from(packets) * 90 + 20_000, REQUESTER, TraceEvent::Completed);
    script.0
}
