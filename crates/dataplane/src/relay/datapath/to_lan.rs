//! From the link to the LAN: delivered frames are sent from the receive ring or from the pool.

use std::io::{self, IoSlice};

use wiremend_proto::link::{Disposal, LinkHeader};
use wiremend_units::{Span, Time};
use wiremend_wire::MacAddr;
use wiremend_wire::link::{EPOCH_BITS, LinkCodec};

use super::{ADDRESSES_BYTES, BATCH_FRAMES, DataPath, SendResult, ring_pieces, send, unfinished, wire_len};
use crate::pool::Slot;
use crate::port::Port;
use crate::relay::Counts;
use crate::sys::packet::{Pieces, RxFrame, SEND_MAX, Unfinished};

#[derive(Clone, Copy)]
pub(super) enum Outgoing {
    Pooled(Slot),
    /// In the receive ring of the link port, with `added` bytes of header to leave out.
    InRing {
        rx_frame: RxFrame,
        added: u8,
    },
}

/// Maximum backlog for the LAN: the length of a device ring.
const BACKLOG_MAX: usize = 4096;
const EPOCH_MASK: u8 = (1 << EPOCH_BITS) - 1;
/// Another address may be that of the other end after this silence.
const PEER_SILENCE: Span = Span::from_ms(3000);

impl<P: Port> DataPath<P> {
    pub(super) fn take_from_link(&mut self, now: Time) -> io::Result<bool> {
        self.send_backlog()?;
        let mut taken = 0;
        while taken < BATCH_FRAMES
            && let Some(rx_frame) = self.link.take()
        {
            taken += 1;
            self.on_link_frame(now, rx_frame);
        }
        // The peer waits for these frames, and sending to the LAN takes time.
        self.send_urgent(now)?;
        self.send_to_lan()?;
        self.link.release();
        Ok(taken == BATCH_FRAMES)
    }

    fn on_link_frame(&mut self, now: Time, rx_frame: RxFrame) {
        let frame = self.link.bytes(&rx_frame);
        self.counts.link_in += 1;
        self.counts.link_in_bytes += frame.len() as u64;
        if rx_frame.truncated || frame.len() < ADDRESSES_BYTES + 2 {
            self.counts.bad_length += 1;
            return;
        }
        if rx_frame.tag.is_some() || !self.codec.recognises(frame) {
            if rx_frame.tag.is_none()
                && let Some(ethertype) = ethertype_of_hello(frame)
            {
                // The other end is set up differently. The frame is for the nearest bridge only.
                self.peer_ethertype = Some(ethertype);
                return;
            }
            return self.on_plain(now, rx_frame);
        }
        let received = match self.codec.parse(frame) {
            Ok(received) => received,
            Err(malformed) => {
                self.counts.malformed += 1;
                self.last_malformed = Some(malformed);
                return;
            }
        };
        let header = received.header;
        if !header.is_data() {
            if received.addresses[6..] == self.source.0 {
                self.counts.echoed += 1;
                return;
            }
            return self.on_control(now, rx_frame, header);
        }
        let header = self.guard.reveal_numbers(header, self.epochs());
        let len = wire_len(ADDRESSES_BYTES + received.carried.len());
        let Some(slot) = self.pool.allocate() else {
            // The endpoint treats the frame as lost and requests it again.
            self.counts.pool_empty += 1;
            return;
        };
        let rejected = self.rejected();
        self.endpoint.on_signal(now, &header, Some((slot, len)));
        // Anybody can send data frames of a wrong epoch, or again: those are no sign of the other end.
        if self.rejected() == rejected {
            (self.heard_at, self.peer_ethertype) = (now, None);
            self.is_numbered = self.endpoint.is_receiving();
        }
        self.store_if_kept(slot, rx_frame, header.added_len() as u8);
    }

    /// Frames that the endpoint did not accept, or had before.
    #[inline]
    fn rejected(&self) -> u64 {
        let counters = self.endpoint.counters();
        counters.ignored + counters.duplicates
    }

    fn on_control(&mut self, now: Time, rx_frame: RxFrame, header: LinkHeader) {
        let was_active = self.endpoint.is_active();
        if !was_active && !self.endpoint.is_receiving() || self.heard_at + PEER_SILENCE <= now {
            self.guard.forget_peer();
        }
        if !self.guard.admits(now, self.link.bytes(&rx_frame), &mut self.counts) {
            return;
        }
        let header = self.guard.reveal_numbers(header, self.epochs());
        (self.heard_at, self.peer_ethertype) = (now, None);
        self.endpoint.on_signal(now, &header, None);
        // Only the other end knows the epoch.
        let is_numbered = matches!(header, LinkHeader::Dummy { epoch, .. }
            if self.endpoint.receiving_epoch().is_some_and(|known| known as u8 & EPOCH_MASK == epoch));
        self.is_numbered = self.endpoint.is_receiving() && (self.is_numbered || is_numbered);
        if is_numbered || !was_active && self.endpoint.is_active() {
            self.guard.on_peer_shown(self.link.bytes(&rx_frame));
        }
        self.apply_disposals(None);
    }

    fn on_plain(&mut self, now: Time, rx_frame: RxFrame) {
        if let Some(work) = &rx_frame.unfinished {
            return self.on_unfinished_plain(now, &rx_frame, work);
        }
        if !self.endpoint.is_receiving() {
            return self.deliver(Outgoing::InRing { rx_frame, added: 0 });
        }
        let Some(slot) = self.pool.allocate() else {
            self.counts.pool_empty += 1;
            return;
        };
        self.endpoint.on_plain(now, slot);
        self.store_if_kept(slot, rx_frame, 0);
    }

    /// The other end is not protected and is a virtual port, which passes unfinished frames on.
    #[cold]
    fn on_unfinished_plain(&mut self, now: Time, rx_frame: &RxFrame, work: &Unfinished) {
        let Some(frames) = self.counts.finish(self.link.bytes(rx_frame), work) else { return };
        for frame in frames {
            let Some(slot) = self.pool.allocate() else {
                self.counts.pool_empty += 1;
                continue;
            };
            let (addresses, rest) = frame.split_at(ADDRESSES_BYTES);
            let tag = rx_frame.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
            self.counts.bad_length += u64::from(!self.pool.fill(slot, [addresses, tag, rest]));
            self.endpoint.on_plain(now, slot);
            self.apply_disposals(None);
        }
    }

    /// Copies a frame from the ring to the pool if the endpoint keeps its `slot`. A frame that is too long
    /// leaves the slot empty, so that the endpoint does not wait for its number.
    fn store_if_kept(&mut self, slot: Slot, rx_frame: RxFrame, added: u8) {
        self.apply_disposals(Some((slot, Outgoing::InRing { rx_frame, added })));
        if self.pool.is_in_use(slot) {
            let pieces = ring_pieces(&self.link, &rx_frame, added);
            self.counts.bad_length += u64::from(!self.pool.fill(slot, pieces));
        }
    }
    /// Delivers, discards or releases frames for the endpoint. The frame of `in_ring` is not in the pool.
    pub(super) fn apply_disposals(&mut self, in_ring: Option<(Slot, Outgoing)>) {
        while let Some(disposal) = self.endpoint.poll() {
            match disposal {
                Disposal::Deliver(slot) => match in_ring {
                    Some((of, outgoing)) if of == slot => {
                        self.pool.release(slot);
                        self.deliver(outgoing);
                    }
                    _ if self.pool.frame(slot).is_empty() => self.pool.release(slot),
                    _ => self.deliver(Outgoing::Pooled(slot)),
                },
                Disposal::Discard(slot) | Disposal::Release(slot) => self.pool.release(slot),
            }
        }
    }

    fn deliver(&mut self, outgoing: Outgoing) {
        self.outgoing.push(outgoing);
    }

    /// Sends the delivered frames to the LAN. Frames that the port does not accept wait in the pool.
    pub(super) fn send_to_lan(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.outgoing.len() && self.backlog.is_empty() {
            let mut batch: [Pieces<'_>; SEND_MAX] = [[IoSlice::new(&[]); 3]; SEND_MAX];
            let chunk = &self.outgoing[done..self.outgoing.len().min(done + SEND_MAX)];
            for (pieces, outgoing) in batch.iter_mut().zip(chunk) {
                let parts = match outgoing {
                    Outgoing::Pooled(slot) => [self.pool.frame(*slot), &[], &[]],
                    Outgoing::InRing { rx_frame, added } => ring_pieces(&self.link, rx_frame, *added),
                };
                *pieces = parts.map(IoSlice::new);
            }
            let result = send(&mut self.lan, &batch[..chunk.len()], &mut self.counts.port_errors)?;
            self.counts.add_to_lan(&batch, result);
            for outgoing in &chunk[..result.done()] {
                if let Outgoing::Pooled(slot) = outgoing {
                    self.pool.release(*slot);
                }
            }
            let refused = result.done() < chunk.len() && result.dropped == 0;
            done += result.done();
            if refused {
                break;
            }
        }
        self.store_unsent(done);
        self.outgoing.clear();
        Ok(())
    }

    fn store_unsent(&mut self, done: usize) {
        for at in done..self.outgoing.len() {
            let slot = match self.outgoing[at] {
                Outgoing::Pooled(slot) => Some(slot),
                Outgoing::InRing { .. } => self.pool.allocate(),
            };
            let Some(slot) = slot else {
                self.counts.pool_empty += 1;
                continue;
            };
            let fits = match self.outgoing[at] {
                Outgoing::Pooled(_) => true,
                Outgoing::InRing { rx_frame, added } => {
                    self.pool.fill(slot, ring_pieces(&self.link, &rx_frame, added))
                }
            };
            if fits && self.backlog.len() < BACKLOG_MAX {
                self.backlog.push_back(slot);
                continue;
            }
            self.pool.release(slot);
            let dropped = if fits { &mut self.counts.lan_refused } else { &mut self.counts.bad_length };
            *dropped += 1;
        }
    }

    fn send_backlog(&mut self) -> io::Result<()> {
        while !self.backlog.is_empty() {
            let mut batch: [Pieces<'_>; SEND_MAX] = [[IoSlice::new(&[]); 3]; SEND_MAX];
            let count = self.backlog.len().min(SEND_MAX);
            for (pieces, slot) in batch.iter_mut().zip(&self.backlog) {
                pieces[0] = IoSlice::new(self.pool.frame(*slot));
            }
            let result = send(&mut self.lan, &batch[..count], &mut self.counts.port_errors)?;
            self.counts.add_to_lan(&batch, result);
            for slot in self.backlog.drain(..result.done()) {
                self.pool.release(slot);
            }
            if result.done() < count && result.dropped == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the `EtherType` of a frame that is a hello but for its `EtherType`.
fn ethertype_of_hello(frame: &[u8]) -> Option<u16> {
    if frame[..MacAddr::NEAREST_BRIDGE.0.len()] != MacAddr::NEAREST_BRIDGE.0 {
        return None;
    }
    let ethertype = u16::from_be_bytes(*frame[ADDRESSES_BYTES..].first_chunk()?);
    let hello = LinkCodec { ethertype }.parse(frame).ok()?;
    matches!(hello.header, LinkHeader::Hello(_)).then_some(ethertype)
}

impl Counts {
    /// Finishes a frame that its sender has left to its device, and counts that.
    #[cold]
    pub(super) fn finish(&mut self, frame: &[u8], work: &Unfinished) -> Option<Vec<Vec<u8>>> {
        let frames = unfinished::finish(frame, work);
        match &frames {
            None => self.unfinished += 1,
            Some(_) if work.segmentation.is_some() => self.segmented += 1,
            Some(_) => self.checksums_filled += 1,
        }
        frames
    }

    fn add_to_lan(&mut self, batch: &[Pieces<'_>], result: SendResult) {
        self.lan_out += result.sent as u64;
        self.lan_out_bytes +=
            batch[..result.sent].iter().flatten().map(|piece| piece.len() as u64).sum::<u64>();
        self.lan_refused += result.dropped as u64;
    }
}
