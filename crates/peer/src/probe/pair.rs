//! A queue pair that is played by hand: every packet and every answer is written out.

use std::collections::VecDeque;

use wiremend_proto::engine::Status;
use wiremend_proto::rc::{AethRepr, NakCode, Packet, RethRepr, Syndrome};
use wiremend_units::{Psn, Span, Time};
use wiremend_wire::{Icrc, Opcode, RoceFrame, Trailer};

use crate::host::{Host, PeerError};
use crate::path::Path;
use crate::perftest::Keys;

/// A packet of the peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) at: Time,
    pub(super) packet: Packet,
}

/// The queue pair.
pub(super) struct ScriptedPair<'h> {
    pub(super) host: &'h mut Host,
    path: Path,
    pub(super) own: Keys,
    pub(super) peer: Keys,
    pub(super) mtu: u16,
    /// PSN of the next own request.
    pub(super) next: Psn,
    /// PSN of the next request of the peer.
    pub(super) expected: Psn,
    /// Messages of the peer executed.
    msn: u32,
    identification: u16,
    outbox: Vec<Vec<u8>>,
    answers: VecDeque<Seen>,
    requests: VecDeque<Seen>,
    /// Whether the peer answers duplicates, so that one shows that it has handled everything before.
    pub(super) answers_duplicates: bool,
}

/// Packets of a message: more than common windows.
pub const MESSAGE_PACKETS: u32 = 192;
/// Time in which a peer answers or is silent.
pub(super) const SILENCE: Span = Span::from_ms(500);
/// Time after which a peer counts as dead.
const DEAD: Span = Span::from_ms(20_000);
/// Wait before a message is sent again that the peer has not acknowledged.
const AGAIN: Span = Span::from_ms(300);
const RNR_WAIT: Span = Span::from_ms(20);
/// Frames in memory.
const INBOX_MAX: usize = 1 << 16;

impl<'h> ScriptedPair<'h> {
    pub(super) fn new(host: &'h mut Host, own: Keys, peer: Keys, mtu: u16) -> Result<Self, PeerError> {
        let path = host.path_to(peer.ip, own.pair)?;
        Ok(Self {
            host,
            path,
            own,
            peer,
            mtu,
            next: own.psn,
            expected: peer.psn,
            msn: 0,
            identification: 0,
            outbox: Vec::new(),
            answers: VecDeque::new(),
            requests: VecDeque::new(),
            answers_duplicates: true,
        })
    }

    pub(super) fn now(&self) -> Time {
        self.host.now()
    }

    pub(super) fn after(&self, span: Span) -> Time {
        self.now().saturating_add(span)
    }

    /// A packet of a SEND of `count` packets.
    pub(super) fn send_packet(&self, first: Psn, index: u32, count: u32) -> Packet {
        let opcode = match (index == 0, index + 1 == count) {
            (true, true) => Opcode::SendOnly,
            (true, false) => Opcode::SendFirst,
            (false, true) => Opcode::SendLast,
            (false, false) => Opcode::SendMiddle,
        };
        let last = index + 1 == count;
        Packet::new(opcode, self.peer.pair, first.ahead(index)).with_payload(self.mtu).with_ack_req(last)
    }

    /// An empty WRITE.
    pub(super) fn dummy(&self, psn: Psn) -> Packet {
        let reth = RethRepr { address: 0, remote_key: 0, dma_len: 0 };
        Packet::new(Opcode::WriteOnly, self.peer.pair, psn).with_reth(reth).with_ack_req(true)
    }

    /// Adds a packet to those that [`Self::flush`] sends.
    pub(super) fn queue(&mut self, packet: &Packet) {
        let bytes = self.bytes_of(packet);
        self.outbox.push(bytes);
    }

    /// The same with a wrong ICRC.
    pub(super) fn queue_corrupted(&mut self, packet: &Packet) {
        let mut bytes = self.bytes_of(packet);
        if let Some(last) = bytes.last_mut() {
            *last ^= 0xFF;
        }
        self.outbox.push(bytes);
    }

    pub(super) fn flush(&mut self) -> Result<(), PeerError> {
        let frames = std::mem::take(&mut self.outbox);
        self.host.send_frames(&frames)
    }

    /// Sends packets `from..to` of a SEND of `count` packets.
    pub(super) fn send_range(&mut self, first: Psn, from: u32, to: u32, count: u32) -> Result<(), PeerError> {
        for index in from..to {
            let packet = self.send_packet(first, index, count);
            self.queue(&packet);
        }
        self.flush()
    }

    fn bytes_of(&mut self, packet: &Packet) -> Vec<u8> {
        let (bth, extension) = packet.to_wire();
        self.identification = self.identification.wrapping_add(1);
        let payload = vec![0; usize::from(packet.payload_len)];
        let frame = RoceFrame {
            ethernet: self.path.ethernet(),
            ip: self.path.ip(self.identification),
            source_port: self.path.source_port,
            bth,
            extension,
            payload: &payload,
        };
        let mut bytes = vec![0; frame.buffer_len(Trailer::None)];
        frame.emit(Trailer::None, &mut bytes);
        bytes
    }

    fn send_answer(&mut self, psn: Psn, syndrome: Syndrome) -> Result<(), PeerError> {
        let aeth = AethRepr { syndrome, msn: self.msn };
        self.queue(&Packet::acknowledge(self.peer.pair, psn, aeth));
        self.flush()
    }

    pub(super) fn send_ack(&mut self, psn: Psn) -> Result<(), PeerError> {
        self.send_answer(psn, Syndrome::ACK)
    }

    pub(super) fn send_nak(&mut self, psn: Psn) -> Result<(), PeerError> {
        self.send_answer(psn, Syndrome::Nak(NakCode::PsnSequence))
    }

    /// Receives what arrives next, at most until `until`.
    fn receive(&mut self, until: Time) -> Result<(), PeerError> {
        let (own, path) = (self.own.pair, self.path);
        let (answers, requests) = (&mut self.answers, &mut self.requests);
        self.host.receive_frames(until, |at, bytes| {
            let Ok(received) = RoceFrame::parse(bytes) else { return };
            let frame = received.frame;
            let is_ours = received.icrc == Icrc::Good
                && frame.bth.dest_qp == own
                && frame.ip.addresses() == (path.remote_ip, path.local_ip);
            if !is_ours || answers.len() + requests.len() > INBOX_MAX {
                return;
            }
            let packet = Packet::from_wire(&frame.bth, &frame.extension, received.payload_len as u16);
            let inbox = if packet.opcode.is_response() { &mut *answers } else { &mut *requests };
            inbox.push_back(Seen { at, packet });
        })
    }

    /// The next answer to an own request; `None` if none comes until then. Meanwhile repetitions of the peer's old
    /// requests are acknowledged.
    pub(super) fn next_answer(&mut self, until: Time) -> Result<Option<Seen>, PeerError> {
        loop {
            self.acknowledge_old()?;
            if let Some(seen) = self.answers.pop_front() {
                return Ok(Some(seen));
            }
            if self.now() >= until {
                return Ok(None);
            }
            self.receive(until)?;
        }
    }

    /// The next request of the peer that is not old; `None` if none comes until then.
    pub(super) fn next_request(&mut self, until: Time) -> Result<Option<Seen>, PeerError> {
        loop {
            self.acknowledge_old()?;
            if let Some(seen) = self.requests.pop_front() {
                return Ok(Some(seen));
            }
            if self.now() >= until {
                return Ok(None);
            }
            self.receive(until)?;
        }
    }

    /// The same; an error if none comes for a long time.
    pub(super) fn await_request(&mut self) -> Result<Seen, PeerError> {
        self.next_request(self.after(DEAD))?.ok_or_else(|| self.silent("its next message"))
    }

    /// Puts a request back.
    pub(super) fn unread(&mut self, seen: Seen) {
        self.requests.push_front(seen);
    }

    fn acknowledge_old(&mut self) -> Result<(), PeerError> {
        let expected = self.expected;
        let before = self.requests.len();
        self.requests.retain(|seen| seen.packet.psn.distance(expected) >= 0);
        if self.requests.len() < before {
            self.send_ack(expected.ahead(0_u32.wrapping_sub(1)))?;
        }
        Ok(())
    }

    /// Sends a SEND of `count` packets from packet `from` on until all of it is acknowledged.
    pub(super) fn deliver(&mut self, mut from: u32, count: u32) -> Result<(), PeerError> {
        let first = self.next;
        let dead_at = self.after(DEAD);
        while from < count {
            self.send_range(first, from, count, count)?;
            loop {
                let Some(seen) = self.next_answer(self.after(AGAIN))? else {
                    if self.now() > dead_at {
                        return Err(self.silent("an acknowledgement"));
                    }
                    break;
                };
                // Answers to earlier messages have PSNs below.
                let index = seen.packet.psn.distance(first);
                match seen.packet.aeth().map(|aeth| aeth.syndrome) {
                    Some(Syndrome::Ack { .. }) if index >= 0 => {
                        from = from.max(index as u32 + 1);
                        if from >= count {
                            break;
                        }
                    }
                    Some(Syndrome::Nak(NakCode::PsnSequence))
                        if index >= i32::try_from(from).unwrap_or(0) =>
                    {
                        from = index as u32;
                        break;
                    }
                    Some(Syndrome::Rnr { .. }) if index >= 0 => {
                        self.pause(RNR_WAIT)?;
                        break;
                    }
                    Some(Syndrome::Nak(NakCode::PsnSequence)) | None => {}
                    Some(Syndrome::Nak(why)) => return Err(PeerError::Failed(status(why))),
                    _ => {}
                }
            }
        }
        self.next = first.ahead(count);
        Ok(())
    }

    /// Receives a message of the peer, with the acknowledgements that it asks for. Returns its packets.
    pub(super) fn receive_message(&mut self) -> Result<u32, PeerError> {
        let mut packets = 0;
        loop {
            let seen = self.await_request()?;
            if seen.packet.psn != self.expected {
                // Something was lost. The peer's timer repeats it.
                continue;
            }
            packets += 1;
            if self.accept(&seen.packet)? {
                return Ok(packets);
            }
        }
    }

    /// Takes the expected packet of the peer. Returns whether its message is complete.
    pub(super) fn accept(&mut self, packet: &Packet) -> Result<bool, PeerError> {
        self.expected = packet.psn.ahead(1);
        let is_last = is_last(packet.opcode);
        self.msn = (self.msn + u32::from(is_last)) & 0xFF_FFFF;
        if packet.ack_req() {
            self.send_ack(packet.psn)?;
        }
        Ok(is_last)
    }

    /// Lets time pass, in which frames are received.
    pub(super) fn pause(&mut self, span: Span) -> Result<(), PeerError> {
        let until = self.after(span);
        while self.now() < until {
            self.receive(until)?;
            self.acknowledge_old()?;
        }
        Ok(())
    }

    /// Waits until the peer has handled everything that was sent to it, and returns its answers: a duplicate of the
    /// packet before `self.next` is acknowledged after all others. Nothing else may ask for an acknowledgement. Where
    /// duplicates are not answered, some time passes.
    pub(super) fn settle(&mut self) -> Result<Vec<Packet>, PeerError> {
        let mut answers = Vec::new();
        if !self.answers_duplicates {
            let until = self.after(SILENCE);
            while let Some(seen) = self.next_answer(until)? {
                answers.push(seen.packet);
            }
            return Ok(answers);
        }
        let last = self.next.ahead(0_u32.wrapping_sub(1));
        let marker =
            Packet::new(Opcode::SendLast, self.peer.pair, last).with_payload(self.mtu).with_ack_req(true);
        let dead_at = self.after(DEAD);
        while self.now() < dead_at {
            self.queue(&marker);
            self.flush()?;
            // An answer that waits behind a NAK may be merged with it: ask again.
            let until = self.after(AGAIN);
            while let Some(seen) = self.next_answer(until)? {
                let is_ack =
                    matches!(seen.packet.aeth().map(|aeth| aeth.syndrome), Some(Syndrome::Ack { .. }));
                answers.push(seen.packet);
                // It acknowledges everything that has arrived.
                if is_ack && seen.packet.psn.distance(last) >= 0 {
                    return Ok(answers);
                }
            }
        }
        Err(self.silent("an answer to a duplicate"))
    }

    pub(super) fn silent(&self, awaited: &'static str) -> PeerError {
        PeerError::Silent { peer: (self.peer.ip, wiremend_wire::ROCE_PORT).into(), awaited }
    }
}

/// Number of sequence NAKs for this packet.
pub(super) fn naks_for(answers: &[Packet], psn: Psn) -> usize {
    let is_it = |packet: &&Packet| {
        let syndrome = packet.aeth().map(|aeth| aeth.syndrome);
        packet.psn == psn && syndrome == Some(Syndrome::Nak(NakCode::PsnSequence))
    };
    answers.iter().filter(is_it).count()
}

/// Returns whether an answer acknowledges this packet.
pub(super) fn has_ack_for(answers: &[Packet], psn: Psn) -> bool {
    let is_it = |packet: &Packet| {
        packet.psn == psn && matches!(packet.aeth().map(|aeth| aeth.syndrome), Some(Syndrome::Ack { .. }))
    };
    answers.iter().any(is_it)
}

pub(super) const fn is_last(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::SendLast | Opcode::SendOnly | Opcode::SendLastImm | Opcode::SendOnlyImm | Opcode::WriteOnly
    )
}

const fn status(why: NakCode) -> Status {
    match why {
        NakCode::RemoteAccess => Status::RemoteAccess,
        NakCode::RemoteOperational => Status::RemoteOperation,
        NakCode::InvalidRequest | NakCode::InvalidRdRequest | NakCode::PsnSequence => {
            Status::RemoteInvalidRequest
        }
    }
}
