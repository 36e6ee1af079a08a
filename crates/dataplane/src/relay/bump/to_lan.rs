//! From the link to the LAN: what the end hands on goes out from the ring in which it came, or from the pool.

use std::io::{self, IoSlice};

use wiremend_proto::link::Disposal;
use wiremend_units::Time;

use super::{ADDRESSES_BYTES, Bump, Handed, TURN_FRAMES, ring_pieces, send, wire_len};
use crate::pool::Slot;
use crate::port::Port;
use crate::relay::Counts;
use crate::sys::packet::{Arrival, Pieces, SEND_MAX};

/// A frame on its way to the LAN.
#[derive(Clone, Copy)]
pub(super) enum Outgoing {
    Pooled(Slot),
    /// As it lies in the ring of the link's port, without `added` bytes of header behind its addresses.
    InRing {
        arrival: Arrival,
        added: u8,
    },
}

/// Frames that wait for the LAN: as many as fit into a device's ring.
const BACKLOG_MAX: usize = 4096;

impl<P: Port> Bump<P> {
    pub(super) fn take_from_link(&mut self, now: Time) -> io::Result<bool> {
        self.send_backlog()?;
        let mut taken = 0;
        while taken < TURN_FRAMES
            && let Some(arrival) = self.link.take()
        {
            taken += 1;
            self.on_link_frame(now, arrival);
        }
        // The other end waits for this; what goes to the LAN takes a while.
        self.say_urgent(now)?;
        self.hand_on()?;
        self.link.release();
        Ok(taken == TURN_FRAMES)
    }

    fn on_link_frame(&mut self, now: Time, arrival: Arrival) {
        let frame = self.link.bytes(&arrival);
        self.counts.link_in += 1;
        self.counts.link_in_bytes += frame.len() as u64;
        if arrival.cut || frame.len() < ADDRESSES_BYTES + 2 {
            self.counts.misshapen += 1;
            return;
        }
        if arrival.tag.is_some() || !self.dialect.recognises(frame) {
            return self.on_plain(now, arrival);
        }
        let received = match self.dialect.parse(frame) {
            Ok(received) => received,
            Err(malformed) => {
                self.counts.malformed += 1;
                self.misread = Some(malformed);
                return;
            }
        };
        let signal = received.signal;
        if !signal.is_data() {
            if received.addresses[6..] == self.source.0 {
                self.counts.echoed += 1;
                return;
            }
            self.end.on_signal(now, &signal, None);
            return self.dispose(None);
        }
        let len = wire_len(ADDRESSES_BYTES + received.carried.len());
        let Some(slot) = self.pool.reserve() else {
            // As if the link had lost it: it is asked for again.
            self.counts.pool_empty += 1;
            return;
        };
        self.end.on_signal(now, &signal, Some((slot, len)));
        self.settle(slot, arrival, signal.added_len() as u8);
    }

    fn on_plain(&mut self, now: Time, arrival: Arrival) {
        if !self.end.is_receiving() {
            return self.push_out(Outgoing::InRing { arrival, added: 0 });
        }
        let Some(slot) = self.pool.reserve() else {
            self.counts.pool_empty += 1;
            return;
        };
        self.end.on_plain(now, slot);
        self.settle(slot, arrival, 0);
    }

    /// The frame in the ring was given to the end as `slot`: it is copied only if the end holds on to it. One that is too long for that
    /// leaves its slot empty, so that its number is not waited for.
    fn settle(&mut self, slot: Slot, arrival: Arrival, added: u8) {
        self.dispose(Some((slot, Outgoing::InRing { arrival, added })));
        if self.pool.is_held(slot) {
            let pieces = ring_pieces(&self.link, &arrival, added);
            self.counts.misshapen += u64::from(!self.pool.fill(slot, pieces));
        }
    }

    /// Does what the end says about handles. The frame of `lent` is not in the pool.
    pub(super) fn dispose(&mut self, lent: Option<(Slot, Outgoing)>) {
        while let Some(disposal) = self.end.poll() {
            match disposal {
                Disposal::Deliver(slot) => match lent {
                    Some((of, outgoing)) if of == slot => {
                        self.pool.let_go(slot);
                        self.push_out(outgoing);
                    }
                    _ if self.pool.frame(slot).is_empty() => self.pool.let_go(slot),
                    _ => self.push_out(Outgoing::Pooled(slot)),
                },
                Disposal::Discard(slot) | Disposal::Release(slot) => self.pool.let_go(slot),
            }
        }
    }

    fn push_out(&mut self, outgoing: Outgoing) {
        self.outgoing.push(outgoing);
    }

    /// Hands the frames of this turn to the LAN; those that it does not take wait in the pool.
    pub(super) fn hand_on(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.outgoing.len() && self.backlog.is_empty() {
            let mut batch: [Pieces<'_>; SEND_MAX] = [[IoSlice::new(&[]); 3]; SEND_MAX];
            let chunk = &self.outgoing[done..self.outgoing.len().min(done + SEND_MAX)];
            for (pieces, outgoing) in batch.iter_mut().zip(chunk) {
                let parts = match outgoing {
                    Outgoing::Pooled(slot) => [self.pool.frame(*slot), &[], &[]],
                    Outgoing::InRing { arrival, added } => ring_pieces(&self.link, arrival, *added),
                };
                *pieces = parts.map(IoSlice::new);
            }
            let handed = send(&mut self.lan, &batch[..chunk.len()], &mut self.counts.port_errors)?;
            self.counts.add_to_lan(&batch, handed);
            for outgoing in &chunk[..handed.gone()] {
                if let Outgoing::Pooled(slot) = outgoing {
                    self.pool.let_go(*slot);
                }
            }
            let refused = handed.gone() < chunk.len() && handed.thrown == 0;
            done += handed.gone();
            if refused {
                break;
            }
        }
        self.keep_rest(done);
        self.outgoing.clear();
        Ok(())
    }

    fn keep_rest(&mut self, done: usize) {
        for at in done..self.outgoing.len() {
            let slot = match self.outgoing[at] {
                Outgoing::Pooled(slot) => Some(slot),
                Outgoing::InRing { .. } => self.pool.reserve(),
            };
            let Some(slot) = slot else {
                self.counts.pool_empty += 1;
                continue;
            };
            let fits = match self.outgoing[at] {
                Outgoing::Pooled(_) => true,
                Outgoing::InRing { arrival, added } => {
                    self.pool.fill(slot, ring_pieces(&self.link, &arrival, added))
                }
            };
            if fits && self.backlog.len() < BACKLOG_MAX {
                self.backlog.push_back(slot);
                continue;
            }
            self.pool.let_go(slot);
            let dropped = if fits { &mut self.counts.lan_refused } else { &mut self.counts.misshapen };
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
            let handed = send(&mut self.lan, &batch[..count], &mut self.counts.port_errors)?;
            self.counts.add_to_lan(&batch, handed);
            for slot in self.backlog.drain(..handed.gone()) {
                self.pool.let_go(slot);
            }
            if handed.gone() < count && handed.thrown == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl Counts {
    fn add_to_lan(&mut self, batch: &[Pieces<'_>], handed: Handed) {
        self.lan_out += handed.sent as u64;
        self.lan_out_bytes +=
            batch[..handed.sent].iter().flatten().map(|piece| piece.len() as u64).sum::<u64>();
        self.lan_refused += handed.thrown as u64;
    }
}
