//! Frames from the wire.

use wiremend_proto::cc::Controller;
use wiremend_proto::engine::{Message, Op, RequestOutcome, Requester as _, Responder as _};
use wiremend_proto::rc::{NakCode, Packet};
use wiremend_units::{QpNum, Time};
use wiremend_wire::{Ecn, Extension, Icrc, Mad, Opcode, RoceFrame, TrafficClass, Vlans};

use super::{Endpoint, slot_of};
use crate::event::Event;
use crate::path::Path;
use crate::queue_pair::QueuePair;
use crate::region::{Access, Regions};

/// The only partition: the default one, with full membership.
const P_KEY: u16 = 0xFFFF;
/// The queue pair of the connection manager.
pub(super) const MANAGER: QpNum = QpNum::new(1);
/// Acknowledgements of a queue pair that wait to be sent.
const REPLIES_MAX: usize = 1024;

impl Endpoint {
    /// Takes a frame of the wire. `stripped` is the identifier of a VLAN tag that the interface has removed.
    pub fn on_frame(&mut self, now: Time, bytes: &[u8], stripped: Option<u16>) {
        self.counters.frames += 1;
        let Ok(received) = RoceFrame::parse(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        match received.icrc {
            Icrc::Good => {}
            Icrc::Bad => {
                self.counters.wrong_icrc += 1;
                return;
            }
            Icrc::Unchecked => {
                self.counters.malformed += 1;
                return;
            }
        }
        let frame = received.frame;
        if frame.bth.dest_qp == MANAGER {
            return self.on_datagram(now, &frame, stripped);
        }
        let slot = slot_of(frame.bth.dest_qp);
        let pair = self.slots.get_mut(slot).and_then(Option::as_deref_mut);
        let Some(pair) = pair.filter(|pair| is_for(pair, &frame, stripped)) else {
            self.counters.unknown_pair += 1;
            return;
        };
        let path = &pair.remote.path;
        if frame.ip.addresses() != (path.remote_ip, path.local_ip) {
            self.counters.wrong_address += 1;
            return;
        }
        pair.heard_at = now;
        let opcode = frame.bth.opcode;
        if opcode == Opcode::Cnp {
            pair.counters.cnps_received += 1;
            if let Some(congestion) = &mut pair.congestion {
                congestion.on_cnp(now);
            }
        } else {
            if let (Ecn::Ce, Some((parameters, _))) = (frame.ip.class().ecn, self.settings.dcqcn) {
                pair.owes_cnp |= pair.limiter.on_mark(now, parameters.cnp_interval);
            }
            let packet = Packet::from_wire(&frame.bth, &frame.extension, received.payload_len as u16);
            if opcode.is_response() {
                self.on_response(now, slot, &packet, frame.payload);
            } else {
                self.on_request(now, slot, &packet, &frame);
            }
        }
        self.activate(now, slot);
    }

    /// Passes a datagram to the connection manager, with the way back. Interfaces of VLANs have no tags.
    fn on_datagram(&mut self, now: Time, frame: &RoceFrame<'_>, stripped: Option<u16>) {
        let is_untagged = stripped.is_none() && frame.ethernet.vlans == Vlans::Untagged;
        let is_managed = matches!(
            (frame.bth.opcode, &frame.extension),
            (Opcode::UdSendOnly, Extension::Deth(deth)) if deth.queue_key == Mad::QUEUE_KEY
        );
        if !is_untagged || !is_managed || frame.bth.partition_key != P_KEY {
            self.counters.unknown_pair += 1;
            return;
        }
        let (remote_ip, local_ip) = frame.ip.addresses();
        let path = Path {
            local_mac: frame.ethernet.destination,
            remote_mac: frame.ethernet.source,
            local_ip,
            remote_ip,
            vlan: None,
            class: TrafficClass { ecn: Ecn::NotEct, ..frame.ip.class() },
            source_port: Path::source_port_of(MANAGER),
        };
        self.manager.on_datagram(now, path, frame.payload);
    }

    fn on_response(&mut self, now: Time, slot: usize, packet: &Packet, payload: &[u8]) {
        let Some(pair) = self.slots[slot].as_deref_mut() else { return };
        let naks = pair.qp.requester.counters().naks;
        let placement = pair.qp.requester.on_packet(&pair.config, now, packet);
        let mut received = 0;
        if let Some(posted) = placement.and_then(|placement| pair.work(placement.work))
            && let Some(placement) = placement
        {
            let place = self.regions.local_mut(posted.local, placement.offset, placement.len);
            received = u64::from(placement.len);
            match packet.original() {
                Some(original) => place.copy_from_slice(&original.to_ne_bytes()),
                None => place.copy_from_slice(payload),
            }
        }
        pair.counters.bytes += received;
        if pair.qp.requester.counters().naks > naks {
            pair.asked_for = Some(packet.psn);
        }
        self.drain(slot);
    }

    fn on_request(&mut self, now: Time, slot: usize, packet: &Packet, frame: &RoceFrame<'_>) {
        let Some(pair) = self.slots[slot].as_deref_mut() else { return };
        if pair.qp.responder.is_expected(&pair.config, packet)
            && let Err(why) = check_rights(pair, &mut self.regions, packet)
        {
            pair.qp.responder.refuse(packet, why);
            self.events.push_back(Event::Refused { pair: pair.id });
            return;
        }
        match pair.qp.responder.on_packet(&pair.config, now, packet) {
            RequestOutcome::Accepted { placement, completed } => {
                if let Some(reth) = packet.reth().filter(|_| packet.opcode != Opcode::ReadRequest) {
                    pair.write_key = reth.remote_key;
                }
                if let Some(placement) = placement {
                    pair.counters.bytes += u64::from(placement.len);
                    store(pair, &mut self.regions, packet, placement.addr, placement.offset, frame.payload);
                }
                if let Some(message) = completed {
                    self.on_message(slot, packet, &message, &frame.extension);
                }
            }
            RequestOutcome::Refused => self.events.push_back(Event::Refused { pair: pair.id }),
            RequestOutcome::Duplicate
            | RequestOutcome::Gap { .. }
            | RequestOutcome::NotReady
            | RequestOutcome::Ignored => {}
        }
        if let Some(pair) = self.slots[slot].as_deref_mut().filter(|pair| !pair.merges_acks) {
            keep_reply(pair);
        }
    }

    /// Handles a complete message.
    fn on_message(&mut self, slot: usize, packet: &Packet, message: &Message, extension: &Extension) {
        let Some(pair) = self.slots[slot].as_deref_mut() else { return };
        pair.counters.messages += 1;
        if let (Extension::AtomicEth(atomic), Some(target)) = (extension, packet.target()) {
            let operands = [atomic.swap_or_add, atomic.compare];
            let memory = self.regions.remote(target.remote_key, target.address, Op::ATOMIC_LEN, Access::NONE);
            let original = memory.map_or(0, |memory| execute(message.op, operands, memory));
            pair.qp.responder.set_original(original);
        }
        if message.op == Op::Send || message.imm.is_some() {
            pair.received = 0;
            let Some(receive) = pair.receives.pop_front() else { return };
            if let Some(key) = message.invalidate {
                self.regions.invalidate(key);
            }
            self.events.push_back(Event::Received {
                pair: pair.id,
                id: receive.id,
                op: message.op,
                len: message.len,
                imm: message.imm,
                invalidated: message.invalidate,
            });
        }
    }
}

/// Takes the acknowledgement of the last packet, before the next packet replaces it. If there are too many, or READ
/// responses wait before it, it stays and may be replaced.
fn keep_reply(pair: &mut QueuePair) {
    let has_room = pair.replies.len() < REPLIES_MAX && !pair.qp.responder.has_read_responses();
    if has_room && pair.qp.responder.has_output() {
        pair.replies.extend(pair.qp.responder.poll_transmit(&pair.config));
    }
}

/// Returns whether a frame is for this queue pair.
fn is_for(pair: &QueuePair, frame: &RoceFrame<'_>, stripped: Option<u16>) -> bool {
    let tag = match frame.ethernet.vlans {
        Vlans::Untagged => stripped,
        Vlans::Single(tag) | Vlans::Double(tag, _) => Some(tag.id),
    };
    let is_here = tag == pair.remote.path.vlan.map(|tag| tag.id);
    is_here && pair.id.0 == frame.bth.dest_qp && frame.bth.partition_key == P_KEY
}

/// Checks what the core leaves to its host, in the order of the specification: permissions of the queue pair, then key
/// and range (IBA 9.7.4.1).
fn check_rights(pair: &QueuePair, regions: &mut Regions, packet: &Packet) -> Result<(), NakCode> {
    let target = packet.target();
    let needed = match packet.opcode {
        Opcode::ReadRequest => Access { read: true, ..Access::NONE },
        Opcode::CompareSwap | Opcode::FetchAdd => Access { atomic: true, ..Access::NONE },
        _ => Access { write: target.is_some(), ..Access::NONE },
    };
    if !pair.access.permits(needed) {
        return Err(NakCode::InvalidRequest);
    }
    if pair.qp.responder.lacks_buffer(&pair.config, packet) {
        return Ok(());
    }
    if needed.atomic && target.is_some_and(|target| target.address % u64::from(Op::ATOMIC_LEN) != 0) {
        return Err(NakCode::InvalidRequest);
    }
    match target {
        // An empty access touches no memory.
        Some(target) if target.dma_len > 0 => {
            let memory = regions.remote(target.remote_key, target.address, target.dma_len, needed);
            memory.map(drop).ok_or(NakCode::RemoteAccess)
        }
        Some(_) => Ok(()),
        None if is_write(packet.opcode) => {
            if regions.is_valid(pair.write_key) {
                Ok(())
            } else {
                Err(NakCode::RemoteAccess)
            }
        }
        None => check_send(pair, regions, packet),
    }
}

/// Checks that a SEND fits into its receive buffer, and that the key that it invalidates is valid.
fn check_send(pair: &QueuePair, regions: &mut Regions, packet: &Packet) -> Result<(), NakCode> {
    let room = pair.receives.front().map_or(0, |receive| receive.slice.len);
    if pair.received + u32::from(packet.payload_len) > room {
        return Err(NakCode::InvalidRequest);
    }
    match packet.invalidate() {
        Some(key) if !regions.is_valid(key) => Err(NakCode::RemoteAccess),
        _ => Ok(()),
    }
}

const fn is_write(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteLastImm)
}

/// Stores the payload of an accepted SEND or WRITE.
fn store(
    pair: &mut QueuePair,
    regions: &mut Regions,
    packet: &Packet,
    address: u64,
    offset: u32,
    payload: &[u8],
) {
    let place = if is_write(packet.opcode) || packet.reth().is_some() {
        let address = address.wrapping_add(u64::from(offset));
        regions.remote(pair.write_key, address, u32::from(packet.payload_len), Access::NONE)
    } else {
        pair.received += u32::from(packet.payload_len);
        let receive = pair.receives.front();
        receive.map(|receive| regions.local_mut(receive.slice, offset, packet.payload_len))
    };
    // `check_rights` has found both places.
    if let Some(place) = place {
        place.copy_from_slice(payload);
    }
}

/// Executes an atomic operation. Returns the old value.
fn execute(op: Op, [number, compare]: [u64; 2], memory: &mut [u8]) -> u64 {
    let bytes: [u8; 8] = memory.try_into().expect("eight bytes were asked for");
    let old = u64::from_ne_bytes(bytes);
    let new = match op {
        Op::FetchAdd => old.wrapping_add(number),
        _ if old == compare => number,
        _ => old,
    };
    memory.copy_from_slice(&new.to_ne_bytes());
    old
}
