//! From the LAN to the link: frames wait in the queue, get what the end puts before them, and leave at the link's pace.

use std::io::{self, IoSlice};

use wiremend_proto::link::{Aside, Signal, Transmit, Waiting};
use wiremend_units::Time;
use wiremend_wire::Trailer;

use super::{ADDRESSES_BYTES, Bump, TURN_FRAMES, ring_pieces, send, wire_len};
use crate::pool::Slot;
use crate::port::Port;
use crate::relay::Care;
use crate::relay::queue::{Queued, Reach};
use crate::sys::packet::{Arrival, Pieces, SEND_MAX};

/// A frame with its header, on its way to the link.
pub(super) struct Staged {
    head: [u8; HEAD_BYTES],
    head_len: u8,
    /// What follows the head, and from where on: the rest of a frame behind its addresses.
    body: Option<Slot>,
    skip: u8,
}

/// The longest of a link's own frames, without its FCS.
const HEAD_BYTES: usize = 64;

impl<P: Port> Bump<P> {
    pub(super) fn take_from_lan(&mut self) -> bool {
        let mut taken = 0;
        while taken < TURN_FRAMES
            && let Some(arrival) = self.lan.take()
        {
            taken += 1;
            self.on_lan_frame(&arrival);
        }
        self.lan.release();
        taken == TURN_FRAMES
    }

    fn on_lan_frame(&mut self, arrival: &Arrival) {
        let frame = self.lan.bytes(arrival);
        self.counts.lan_in += 1;
        self.counts.lan_in_bytes += frame.len() as u64;
        if arrival.cut || frame.len() < ADDRESSES_BYTES + 2 {
            self.counts.misshapen += 1;
            return;
        }
        if arrival.tag.is_none() && self.dialect.recognises(frame) {
            self.counts.forged += 1;
            return;
        }
        let class = self.classes.of(frame, arrival.tag);
        let counted = &mut self.class_counts[class];
        let pieces = ring_pieces(&self.lan, arrival, 0);
        let bytes = pieces.iter().map(|piece| piece.len() as u32).sum();
        if !self.queue.has_room(bytes) {
            self.counts.queue_dropped += 1;
            counted.dropped += 1;
            return;
        }
        let Some(slot) = self.pool.reserve() else {
            self.counts.pool_empty += 1;
            counted.dropped += 1;
            return;
        };
        if !self.pool.fill(slot, pieces) {
            self.pool.let_go(slot);
            self.counts.misshapen += 1;
            return;
        }
        counted.frames += 1;
        counted.bytes += u64::from(bytes);
        let reach = Reach::of(frame);
        let queued = match reach {
            Reach::Neighbour => Queued { slot, bytes, care: Care::NonBlocking, fenced: false },
            Reach::Normal => {
                let fenced = std::mem::take(&mut self.changed);
                Queued { slot, bytes, care: self.classes.care(class), fenced }
            }
        };
        self.queue.push(reach, queued);
        self.counts.queue_bytes_max = self.counts.queue_bytes_max.max(self.queue.bytes());
    }

    /// Sends what the other end waits for, and nothing else.
    pub(super) fn say_urgent(&mut self, now: Time) -> io::Result<()> {
        while self.end.is_urgent() && self.staged.len() < SEND_MAX && self.pace.is_open(now) {
            if !self.stage_next(now) {
                break;
            }
        }
        self.send_staged()?;
        Ok(())
    }

    /// True: there may be more to send.
    pub(super) fn feed_link(&mut self, now: Time) -> io::Result<bool> {
        if self.waits {
            self.pace.on_waited(now);
        }
        self.held_back = false;
        while self.staged.len() < SEND_MAX {
            if !self.pace.is_open(now) {
                self.held_back = true;
                break;
            }
            if !self.stage_next(now) {
                break;
            }
        }
        let full = self.staged.len() == SEND_MAX;
        let taken = self.send_staged()?;
        self.waits = self.held_back && self.queue.front().is_some();
        // What left may have let copies go, and what was told may have handed frames on.
        self.dispose(None);
        self.hand_on()?;
        Ok(full && taken)
    }

    /// Puts what the link carries next behind all that leaves; false: nothing.
    fn stage_next(&mut self, now: Time) -> bool {
        let front = self.queue.front().filter(|frame| !frame.fenced || self.end.is_settled());
        let staged = if front.is_some_and(|frame| frame.care == Care::Off) {
            match self.end.poll_aside(now) {
                Some(Aside::Before(transmit)) => self.stage(now, transmit),
                Some(Aside::Leaves(Some(signal))) => {
                    let frame = self.queue.pop().expect("it was seen");
                    self.behind_header(&signal, frame.slot)
                }
                Some(Aside::Leaves(None)) => self.stage(now, Transmit::Plain),
                None => return false,
            }
        } else {
            let waiting = front.map(|frame| Waiting {
                len: wire_len(frame.bytes as usize),
                ordered: frame.care == Care::Ordered,
            });
            let Some(transmit) = self.end.poll_transmit(now, waiting) else { return false };
            self.stage(now, transmit)
        };
        let bytes = usize::from(staged.head_len)
            + staged.body.map_or(0, |slot| self.pool.frame(slot).len() - usize::from(staged.skip));
        self.pace.on_sent(now, bytes);
        self.counts.link_out += 1;
        self.counts.link_out_bytes += bytes as u64;
        self.staged.push_back(staged);
        self.dispose(None);
        true
    }

    fn stage(&mut self, now: Time, transmit: Transmit<Slot>) -> Staged {
        match transmit {
            Transmit::Plain => {
                let frame = self.queue.pop().expect("it was shown");
                Staged { head: [0; HEAD_BYTES], head_len: 0, body: Some(frame.slot), skip: 0 }
            }
            Transmit::Fresh(signal) => {
                let frame = self.queue.pop().expect("it was shown");
                self.pool.hold(frame.slot);
                self.end.on_sent(now, frame.slot);
                self.behind_header(&signal, frame.slot)
            }
            Transmit::Again(signal, slot) => {
                self.pool.hold(slot);
                self.behind_header(&signal, slot)
            }
            Transmit::Own(signal) => {
                let mut head = [0; HEAD_BYTES];
                let len = self.dialect.own_len(Trailer::None);
                self.dialect.emit_own(&signal, self.source, Trailer::None, &mut head[..len]);
                Staged { head, head_len: len as u8, body: None, skip: 0 }
            }
        }
    }

    fn behind_header(&self, signal: &Signal, slot: Slot) -> Staged {
        let mut head = [0; HEAD_BYTES];
        let addresses = self.pool.frame(slot).first_chunk().expect("shorter frames are not taken");
        let head_len = ADDRESSES_BYTES + signal.added_len() as usize;
        self.dialect.emit_head(signal, addresses, &mut head[..head_len]);
        Staged { head, head_len: head_len as u8, body: Some(slot), skip: ADDRESSES_BYTES as u8 }
    }

    /// Hands what is staged to the link's port. False: it has no room.
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
            let handed = send(&mut self.link, &batch[..count], &mut self.counts.port_errors)?;
            for staged in self.staged.drain(..handed.gone()) {
                if let Some(slot) = staged.body {
                    self.pool.let_go(slot);
                }
            }
            if handed.gone() < count && handed.thrown == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
