//! Frames for the wire.

use wiremend_proto::cc::{Controller, SentPacket};
use wiremend_proto::engine::{Purpose, Requester as _, Responder as _};
use wiremend_proto::rc::{NakCode, Packet, Syndrome};
use wiremend_units::{Psn, Time};
use wiremend_wire::{
    BthRepr, DethRepr, Ecn, Extension, IpRepr, Mad, Opcode, RoceFrame, TrafficClass, Trailer,
    WIRE_OVERHEAD_BYTES,
};

use super::inbound::MANAGER;
use super::{Endpoint, set_timer};
use crate::path::Path;
use crate::queue_pair::QueuePair;
use crate::region::{Access, Regions, Slice};

/// The longest frame: MTU 4096 with all headers over tagged IPv6.
pub const FRAME_BYTES_MAX: usize = 4096 + 128;

/// A packet and where its payload is.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    packet: Packet,
    source: Source,
    operands: [u64; 2],
}

#[derive(Clone, Copy, Debug)]
enum Source {
    None,
    /// From this offset of a slice on.
    Local(Slice, u32),
    /// By key and address, for a READ response.
    Remote(u32, u64),
}

/// A packet to send again immediately.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repetition {
    slot: usize,
    outgoing: Outgoing,
    left: u8,
}

impl Repetition {
    pub(super) fn slot(&self) -> usize {
        self.slot
    }
}

impl Endpoint {
    /// Writes the next frame that may be sent now into `buffer`, which has room for [`FRAME_BYTES_MAX`], and returns its
    /// length. Queue pairs take turns; responses go before requests.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut [u8]) -> Option<usize> {
        if let Some((path, datagram)) = self.manager.poll_transmit() {
            self.counters.sent += 1;
            self.datagram_psn = self.datagram_psn.ahead(1);
            return Some(emit_datagram(&path, self.datagram_psn, &datagram, buffer));
        }
        if let Some(repetition) = &mut self.repetition {
            let (slot, outgoing) = (repetition.slot, repetition.outgoing);
            repetition.left -= 1;
            if repetition.left == 0 {
                self.repetition = None;
            }
            if let Some(pair) = self.slots[slot].as_deref_mut()
                && let Some(len) = emit(pair, &mut self.regions, &outgoing, buffer)
            {
                pair.counters.copies += 1;
                self.counters.sent += 1;
                return Some(len);
            }
        }
        while let Some(&slot) = self.active.front() {
            let Some(pair) = self.slots[slot].as_deref_mut() else {
                self.active.pop_front();
                continue;
            };
            let Some((outgoing, copies)) = next_packet(&self.settings, pair, now) else {
                pair.is_active = false;
                self.active.pop_front();
                set_timer(pair, slot, now, &mut self.timers);
                continue;
            };
            let Some(len) = emit(pair, &mut self.regions, &outgoing, buffer) else {
                self.counters.lost_keys += 1;
                continue;
            };
            self.counters.sent += 1;
            if copies > 0 {
                self.repetition = Some(Repetition { slot, outgoing, left: copies });
            }
            // The next queue pair has its turn.
            self.active.rotate_left(1);
            return Some(len);
        }
        None
    }

    /// Returns whether [`Self::poll_transmit`] may have something to send now.
    pub fn has_output(&self) -> bool {
        self.repetition.is_some() || !self.active.is_empty() || self.manager.has_output()
    }
}

/// Writes a datagram from queue pair 1 to queue pair 1.
fn emit_datagram(path: &Path, psn: Psn, payload: &[u8], buffer: &mut [u8]) -> usize {
    let deth = DethRepr { queue_key: Mad::QUEUE_KEY, source_qp: MANAGER };
    let frame = RoceFrame {
        ethernet: path.ethernet(),
        ip: path.ip(psn.get() as u16),
        source_port: path.source_port,
        bth: BthRepr::new(Opcode::UdSendOnly, MANAGER, psn),
        extension: Extension::Deth(deth),
        payload,
    };
    let len = frame.buffer_len(Trailer::None);
    frame.emit(Trailer::None, &mut buffer[..len]);
    len
}

/// The next packet of a queue pair and the number of its copies.
#[inline]
fn next_packet(settings: &super::Settings, pair: &mut QueuePair, now: Time) -> Option<(Outgoing, u8)> {
    if std::mem::take(&mut pair.owes_cnp) {
        pair.counters.cnps_sent += 1;
        let packet = Packet::cnp(pair.remote.pair);
        return Some((Outgoing { packet, source: Source::None, operands: [0; 2] }, 0));
    }
    let reply = pair.replies.pop_front().or_else(|| pair.qp.responder.poll_transmit(&pair.config));
    if let Some(packet) = reply {
        let is_nak = packet.aeth().is_some_and(|aeth| aeth.syndrome == Syndrome::Nak(NakCode::PsnSequence));
        let source =
            packet.source().map_or(Source::None, |address| Source::Remote(packet.source_key(), address));
        let copies = if is_nak { settings.nak_copies } else { 0 };
        pair.counters.bytes += u64::from(packet.payload_len);
        return Some((Outgoing { packet, source, operands: [0; 2] }, copies));
    }
    if pair.congestion.as_ref().is_some_and(|congestion| congestion.eligible() > now) {
        return None;
    }
    let transmit = pair.qp.requester.poll_transmit(&pair.config, now)?;
    let packet = transmit.packet;
    if let Some(congestion) = &mut pair.congestion {
        congestion.on_transmit(
            now,
            SentPacket {
                wire_bytes: u32::from(packet.frame_len()) + WIRE_OVERHEAD_BYTES,
                number: pair.qp.requester.next_number(),
                is_retransmission: transmit.copy > 0,
            },
        );
    }
    let posted = pair.work(transmit.work);
    let operands = posted.map_or([0; 2], |posted| posted.operands);
    let source = match posted {
        Some(posted) if packet.payload_len > 0 => Source::Local(posted.local, transmit.offset),
        _ => Source::None,
    };
    let is_asked_for = transmit.purpose == Purpose::Retransmission && pair.asked_for == Some(packet.psn);
    if is_asked_for {
        pair.asked_for = None;
    }
    let copies = if is_asked_for { settings.resend_copies } else { 0 };
    Some((Outgoing { packet, source, operands }, copies))
}

/// Writes a frame; `None` if the payload's key is no longer valid.
#[inline]
fn emit(
    pair: &mut QueuePair,
    regions: &mut Regions,
    outgoing: &Outgoing,
    buffer: &mut [u8],
) -> Option<usize> {
    let Outgoing { packet, source, operands } = outgoing;
    let len = packet.payload_len;
    let payload: &[u8] = match *source {
        Source::None => &[],
        Source::Local(slice, offset) => regions.local(slice, offset, len),
        Source::Remote(_, _) if len == 0 => &[],
        Source::Remote(key, address) => regions.remote(key, address, u32::from(len), Access::NONE)?,
    };
    let (bth, mut extension) = packet.to_wire();
    if let Extension::AtomicEth(atomic) = &mut extension {
        [atomic.swap_or_add, atomic.compare] = *operands;
    }
    let path = &pair.remote.path;
    pair.identification = pair.identification.wrapping_add(1);
    let frame = RoceFrame {
        ethernet: path.ethernet(),
        ip: without_ecn(path.ip(pair.identification), packet.opcode),
        source_port: path.source_port,
        bth,
        extension,
        payload,
    };
    let len = frame.buffer_len(Trailer::None);
    frame.emit(Trailer::None, &mut buffer[..len]);
    Some(len)
}

/// Congestion notifications and acknowledgements are not marked by switches.
#[inline]
fn without_ecn(ip: IpRepr, opcode: Opcode) -> IpRepr {
    if !matches!(opcode, Opcode::Cnp | Opcode::Acknowledge) {
        return ip;
    }
    let class = TrafficClass { ecn: Ecn::NotEct, ..ip.class() };
    match ip {
        IpRepr::V4(ip) => IpRepr::V4(wiremend_wire::Ipv4Repr { class, ..ip }),
        IpRepr::V6(ip) => IpRepr::V6(wiremend_wire::Ipv6Repr { class, ..ip }),
    }
}
