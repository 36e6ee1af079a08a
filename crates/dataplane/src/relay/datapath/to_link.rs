//! From the LAN to the link: frames wait in the queue, get a header and leave at the rate of the link.

use std::io::{self, IoSlice};

use wiremend_proto::link::{LinkHeader, QueueHead, Transmit, UnprotectedTransmit};
use wiremend_units::Time;
use wiremend_wire::Trailer;
use wiremend_wire::link::Seal;

use super::{ADDRESSES_BYTES, BATCH_FRAMES, DataPath, ring_pieces, send, wire_len};
use crate::pool::{Pool, Slot};
use crate::port::Port;
use crate::relay::policer::Policer;
use crate::relay::queue::{Queue, Queued, Scope};
use crate::relay::{ClassCounts, Classifier, Counts, ProtectionMode};
use crate::sys::packet::{Pieces, RxFrame, SEND_MAX};

pub(super) struct Staged {
    head: [u8; HEAD_BYTES],
    head_len: u8,
    /// The frame that follows the head, without its first `skip` bytes (the addresses).
    body: Option<Slot>,
    skip: u8,
}

/// Length of a control frame with a seal.
const HEAD_BYTES: usize = Seal::FRAME_BYTES;

/// Borrows the parts of a data path, beside its ports.
macro_rules! intake {
    ($path:ident) => {
        Intake {
            counts: &mut $path.counts,
            class_counts: &mut $path.class_counts,
            classes: &$path.classes,
            classes_changed: &mut $path.classes_changed,
            pool: &mut $path.pool,
            queue: &mut $path.queue,
            link_local: &mut $path.link_local,
        }
    };
}

impl<P: Port> DataPath<P> {
    pub(super) fn take_from_lan(&mut self, now: Time) -> bool {
        let mut taken = 0;
        while taken < BATCH_FRAMES
            && let Some(rx_frame) = self.lan.take()
        {
            taken += 1;
            self.on_lan_frame(now, &rx_frame);
        }
        self.lan.release();
        taken == BATCH_FRAMES
    }

    fn on_lan_frame(&mut self, now: Time, rx_frame: &RxFrame) {
        let frame = self.lan.bytes(rx_frame);
        self.counts.lan_in += 1;
        self.counts.lan_in_bytes += frame.len() as u64;
        if rx_frame.truncated || frame.len() < ADDRESSES_BYTES + 2 {
            self.counts.bad_length += 1;
            return;
        }
        if rx_frame.tag.is_none() && self.codec.recognises(frame) {
            self.counts.forged += 1;
            return;
        }
        let Some(work) = &rx_frame.unfinished else {
            let pieces = ring_pieces(&self.lan, rx_frame, 0);
            return intake!(self).admit(now, frame, rx_frame.tag, pieces);
        };
        for frame in self.counts.finish(frame, work).into_iter().flatten() {
            let (addresses, rest) = frame.split_at(ADDRESSES_BYTES);
            let tag = rx_frame.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
            intake!(self).admit(now, &frame, rx_frame.tag, [addresses, tag, rest]);
        }
    }

    /// Sends the control frames that the peer waits for.
    pub(super) fn send_urgent(&mut self, now: Time) -> io::Result<()> {
        while (self.endpoint.is_urgent() || self.guard.is_urgent())
            && self.staged.len() < SEND_MAX
            && self.pacer.may_send(now)
        {
            if !self.stage_next(now) {
                break;
            }
        }
        self.send_staged()?;
        Ok(())
    }

    /// Sends frames to the link. Returns true if there may be more to send.
    pub(super) fn send_to_link(&mut self, now: Time) -> io::Result<bool> {
        if self.paced_with_backlog {
            self.pacer.on_wait(now);
        }
        self.paced = false;
        while self.staged.len() < SEND_MAX {
            if !self.pacer.may_send(now) {
                self.paced = true;
                break;
            }
            if !self.stage_next(now) {
                break;
            }
        }
        let full = self.staged.len() == SEND_MAX;
        let taken = self.send_staged()?;
        self.paced_with_backlog = self.paced && self.queue.front().is_some();
        // Transmissions may have released copies and delivered frames.
        self.apply_disposals(None);
        self.send_to_lan()?;
        Ok(full && taken)
    }

    /// Stages the next frame for the link. Returns false if there is none.
    fn stage_next(&mut self, now: Time) -> bool {
        if self.guard.is_urgent()
            && let Some((challenge, echo)) = self.guard.poll()
        {
            let staged = self.stage_control(challenge, Some(echo));
            self.push_staged(now, staged);
            return true;
        }
        let front = self.queue.front().filter(|frame| !frame.after_change || self.endpoint.is_settled());
        let staged = if front.is_some_and(|frame| frame.protection == ProtectionMode::Off) {
            match self.endpoint.poll_unprotected(now) {
                Some(UnprotectedTransmit::First(transmit)) => self.stage(now, transmit),
                Some(UnprotectedTransmit::Head(Some(header))) => {
                    let frame = self.queue.pop().expect("the queue has a front");
                    self.stage_with_header(&header, frame.slot)
                }
                Some(UnprotectedTransmit::Head(None)) => self.stage(now, Transmit::Plain),
                None => return false,
            }
        } else {
            let waiting = front.map(|frame| QueueHead {
                len: wire_len(frame.bytes as usize),
                ordered: frame.protection == ProtectionMode::Ordered,
            });
            let Some(transmit) = self.endpoint.poll_transmit(now, waiting) else { return false };
            self.stage(now, transmit)
        };
        self.push_staged(now, staged);
        self.apply_disposals(None);
        true
    }

    fn push_staged(&mut self, now: Time, staged: Staged) {
        let bytes = usize::from(staged.head_len)
            + staged.body.map_or(0, |slot| self.pool.frame(slot).len() - usize::from(staged.skip));
        self.pacer.on_sent(now, bytes);
        self.counts.link_out += 1;
        self.counts.link_out_bytes += bytes as u64;
        self.staged.push_back(staged);
    }

    fn stage(&mut self, now: Time, transmit: Transmit<Slot>) -> Staged {
        match transmit {
            Transmit::Plain => {
                let frame = self.queue.pop().expect("the queue has a front");
                Staged { head: [0; HEAD_BYTES], head_len: 0, body: Some(frame.slot), skip: 0 }
            }
            Transmit::New(header) => {
                let frame = self.queue.pop().expect("the queue has a front");
                self.pool.retain(frame.slot);
                self.endpoint.on_sent(now, frame.slot);
                self.stage_with_header(&header, frame.slot)
            }
            Transmit::Retransmission(header, slot) => {
                self.pool.retain(slot);
                self.stage_with_header(&header, slot)
            }
            Transmit::Control(header) => self.stage_control(header, None),
        }
    }

    /// `echo`: the counter that the seal echoes, if not the last of the other end.
    fn stage_control(&mut self, header: LinkHeader, echo: Option<u64>) -> Staged {
        let header = self.guard.hide_numbers(header, self.epochs());
        let mut head = [0; HEAD_BYTES];
        let len = self.codec.control_len(Trailer::None);
        self.codec.emit_control(&header, self.source, Trailer::None, &mut head[..len]);
        let len = self.guard.seal(&mut head, len, echo);
        Staged { head, head_len: len as u8, body: None, skip: 0 }
    }

    fn stage_with_header(&mut self, header: &LinkHeader, slot: Slot) -> Staged {
        let header = &self.guard.hide_numbers(*header, self.epochs());
        let mut head = [0; HEAD_BYTES];
        let addresses = self.pool.frame(slot).first_chunk().expect("short frames were dropped");
        let head_len = ADDRESSES_BYTES + header.added_len() as usize;
        self.codec.emit_head(header, addresses, &mut head[..head_len]);
        Staged { head, head_len: head_len as u8, body: Some(slot), skip: ADDRESSES_BYTES as u8 }
    }

    /// Sends the staged frames. Returns false if the port has no room.
    fn send_staged(&mut self) -> io::Result<bool> {
        while !self.staged.is_empty() {
            let mut batch: [Pieces<'_>; SEND_MAX] = [[IoSlice::new(&[]); 3]; SEND_MAX];
            let count = self.staged.len().min(SEND_MAX);
            for (pieces, staged) in batch.iter_mut().zip(&self.staged) {
                pieces[0] = IoSlice::new(&staged.head[..usize::from(staged.head_len)]);
                if let Some(slot) = staged.body {
                    pieces[1] = IoSlice::new(&self.pool.frame(slot)[usize::from(staged.skip)..]);
                }
            }
            let result = send(&mut self.link, &batch[..count], &mut self.counts.port_errors)?;
            for staged in self.staged.drain(..result.done()) {
                if let Some(slot) = staged.body {
                    self.pool.release(slot);
                }
            }
            if result.done() < count && result.dropped == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What a frame from the LAN passes on its way to the queue.
struct Intake<'a> {
    counts: &'a mut Counts,
    class_counts: &'a mut [ClassCounts],
    classes: &'a Classifier,
    classes_changed: &'a mut bool,
    pool: &'a mut Pool,
    queue: &'a mut Queue,
    link_local: &'a mut Policer,
}

impl Intake<'_> {
    #[inline]
    fn admit(self, now: Time, frame: &[u8], tag: Option<[u8; 4]>, pieces: [&[u8]; 3]) {
        let class = self.classes.classify(frame, tag);
        let class_counts = &mut self.class_counts[class];
        let bytes = pieces.iter().map(|piece| piece.len() as u32).sum();
        let scope = Scope::from_frame(frame);
        if scope == Scope::LinkLocal && !self.link_local.admits(now, bytes) {
            self.counts.link_local_excess += 1;
            class_counts.dropped += 1;
            return;
        }
        if !self.queue.has_room(bytes) {
            self.counts.queue_dropped += 1;
            class_counts.dropped += 1;
            return;
        }
        let Some(slot) = self.pool.allocate() else {
            self.counts.pool_empty += 1;
            class_counts.dropped += 1;
            return;
        };
        if !self.pool.fill(slot, pieces) {
            self.pool.release(slot);
            self.counts.bad_length += 1;
            return;
        }
        class_counts.frames += 1;
        class_counts.bytes += u64::from(bytes);
        let queued = match scope {
            Scope::LinkLocal => {
                Queued { slot, bytes, protection: ProtectionMode::NonBlocking, after_change: false }
            }
            Scope::Normal => {
                let after_change = std::mem::take(self.classes_changed);
                Queued { slot, bytes, protection: self.classes.protection(class), after_change }
            }
        };
        self.queue.push(scope, queued);
        self.counts.queue_bytes_max = self.counts.queue_bytes_max.max(self.queue.bytes());
    }
}
