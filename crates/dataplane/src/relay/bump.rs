//! A bump in the wire: the end of a protected link between two ports. It has no clock and waits for nothing.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use wiremend_proto::link::{Aside, Config, Disposal, Endpoint, Signal, Transmit, Waiting};
use wiremend_units::{Bytes, Span, Time};
use wiremend_wire::link::Dialect;
use wiremend_wire::{MacAddr, Malformed, Trailer};

use super::queue::{Queue, Queued, Reach};
use super::{Care, ClassCounts, Classes, Counts};
use crate::pace::Pace;
use crate::pool::{Pool, Slot};
use crate::port::Port;
use crate::sys::packet::{Arrival, Pieces, SEND_MAX};

/// Carries frames between a LAN and a link that corrupts some, and mends the link.
///
/// ```text
///   LAN ─► queue ─► Endpoint::poll_transmit ─► pace ─► staged ─► link
///   LAN ◄─ backlog ◄─ Endpoint::poll ◄─ on_signal, on_plain ◄─── link
/// ```
///
/// A frame from the LAN is copied once, into the pool, because it is kept until the other end has it. A frame from the link goes out
/// from the ring in which it came, unless it must wait for others.
pub struct Bump<P> {
    lan: P,
    link: P,
    end: Endpoint<Slot>,
    dialect: Dialect,
    /// Of the link's port: the source of the link's own frames.
    source: MacAddr,
    classes: Classes,
    class_counts: Vec<ClassCounts>,
    /// Classes have changed since a frame last came from the LAN.
    changed: bool,
    pool: Pool,
    queue: Queue,
    pace: Pace,
    /// On its way to the link, with numbers given: nothing may overtake it any more.
    staged: VecDeque<Staged>,
    /// On its way to the LAN, which had no room.
    backlog: VecDeque<Slot>,
    /// Frames to be handed on in this turn.
    outgoing: Vec<Outgoing>,
    counts: Counts,
    /// Turns in a row in which more had arrived over the link than was taken.
    turns_behind: u32,
    /// The pace was kept: there may be more to send.
    held_back: bool,
    /// The pace was kept, and frames wait.
    waits: bool,
    /// What was wrong with the last frame that was malformed.
    misread: Option<Malformed>,
}

/// What a bump is made with.
#[derive(Clone, Debug)]
pub struct BumpConfig {
    /// The end of the link.
    pub link: Config,
    /// How the header is written.
    pub dialect: Dialect,
    /// The address of the link's port.
    pub source: MacAddr,
    /// Which frames are protected, and how.
    pub classes: Classes,
    /// Room in the queue to the link.
    pub queue_bytes_max: u64,
    /// Frames in memory.
    pub slots: u32,
    /// Frames handed to the link's port in advance.
    pub handed_frames: u32,
}

/// A frame with its header, on its way to the link.
struct Staged {
    head: [u8; HEAD_BYTES],
    head_len: u8,
    /// What follows the head, and from where on: the rest of a frame behind its addresses.
    body: Option<Slot>,
    skip: u8,
}

/// A frame on its way to the LAN.
#[derive(Clone, Copy)]
enum Outgoing {
    Pooled(Slot),
    /// As it lies in the ring of the link's port, without `added` bytes of header behind its addresses.
    InRing {
        arrival: Arrival,
        added: u8,
    },
}

const ADDRESSES_BYTES: usize = 12;
/// The longest of a link's own frames, without its FCS.
const HEAD_BYTES: usize = 64;
const FCS_BYTES: u64 = 4;
const FRAME_BYTES_MIN: u64 = 64;
/// Frames taken from a port in one turn.
const TURN_FRAMES: usize = SEND_MAX;
/// A link that always has more to be taken does not keep times from being minded: they are after so many turns, a ring's worth.
const TURNS_BEHIND_MAX: u32 = 256;
/// A port that had no room is asked again after this.
const REFUSED_WAIT: Span = Span::from_us(20);
/// Frames that wait for the LAN: as many as fit into a device's ring.
const BACKLOG_MAX: usize = 4096;

impl<P: Port> Bump<P> {
    /// A bump whose link is dormant.
    pub fn new(lan: P, link: P, config: BumpConfig) -> Self {
        let frame_bytes_max = config.link.frame_bytes_max.get() as u32;
        Self {
            lan,
            link,
            pace: Pace::new(config.link.rate, config.handed_frames, frame_bytes_max),
            end: Endpoint::new(config.link),
            dialect: config.dialect,
            source: config.source,
            class_counts: vec![ClassCounts::default(); config.classes.count()],
            classes: config.classes,
            changed: false,
            pool: Pool::new(config.slots, frame_bytes_max as usize),
            queue: Queue::new(config.queue_bytes_max),
            staged: VecDeque::with_capacity(SEND_MAX),
            backlog: VecDeque::new(),
            outgoing: Vec::with_capacity(TURN_FRAMES * 2),
            counts: Counts::default(),
            turns_behind: 0,
            held_back: false,
            waits: false,
            misread: None,
        }
    }

    /// Takes what has arrived and sends what may leave: at most a batch of each, since whoever sends hears nothing meanwhile. True: there may
    /// be more to do.
    pub fn turn(&mut self, now: Time) -> io::Result<bool> {
        let from_link = self.take_from_link(now)?;
        let from_lan = self.take_from_lan();
        self.turns_behind = if from_link { self.turns_behind + 1 } else { 0 };
        // After a long sleep, what is waited for may lie in the ring: it is looked at before anything is given up.
        let heard_all = self.turns_behind.is_multiple_of(TURNS_BEHIND_MAX);
        if heard_all && self.end.next_timeout().is_some_and(|due| due <= now) {
            self.end.on_timeout(now);
            self.dispose(None);
            self.hand_on()?;
        }
        let fed = self.feed_link(now)?;
        Ok(from_link || from_lan || fed)
    }

    /// When to turn, if nothing arrives before. None: never.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        let refused = (!self.staged.is_empty() || !self.backlog.is_empty()).then(|| now + REFUSED_WAIT);
        let paced = self.held_back.then(|| self.pace.opens_at());
        [self.end.next_timeout(), refused, paced].into_iter().flatten().min()
    }

    /// Whether no frame waits in it on its way to the link, or for room on the LAN.
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty() && self.queue.front().is_none() && self.backlog.is_empty()
    }

    /// The end of the link.
    pub fn end(&self) -> &Endpoint<Slot> {
        &self.end
    }

    /// The end of the link, to be told something.
    pub fn end_mut(&mut self) -> &mut Endpoint<Slot> {
        &mut self.end
    }

    /// What was counted here.
    pub fn counts(&self) -> Counts {
        Counts { queue_bytes: self.queue.bytes(), ..self.counts }
    }

    /// What was wrong with the last frame with the link's `EtherType` that could not be read.
    pub fn misread(&self) -> Option<Malformed> {
        self.misread
    }

    /// Frames in memory.
    pub fn pool_used(&self) -> usize {
        self.pool.used()
    }

    /// The port on the side of the LAN.
    pub fn lan(&self) -> &P {
        &self.lan
    }

    /// The port on the side of the link.
    pub fn link(&self) -> &P {
        &self.link
    }

    /// The classes of frames, and what was counted of each.
    pub fn classes(&self) -> impl Iterator<Item = (String, Care, ClassCounts)> + '_ {
        self.class_counts.iter().enumerate().map(|(class, counts)| {
            let (which, care) = self.classes.class(class);
            (which, care, *counts)
        })
    }

    /// From here on frames from the LAN are of these classes. Those behind the change wait until all before it have arrived, so that none overtakes
    /// another of its class.
    pub fn set_classes(&mut self, classes: Classes) {
        if classes == self.classes {
            return;
        }
        let counted: Vec<_> = self.classes().map(|(which, _, counts)| (which, counts)).collect();
        let before =
            |which: &str| counted.iter().find(|(known, _)| known == which).map(|(_, counts)| *counts);
        self.class_counts =
            (0..classes.count()).map(|class| before(&classes.class(class).0).unwrap_or_default()).collect();
        self.classes = classes;
        self.changed = true;
    }

    fn take_from_link(&mut self, now: Time) -> io::Result<bool> {
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
    fn dispose(&mut self, lent: Option<(Slot, Outgoing)>) {
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
    fn hand_on(&mut self) -> io::Result<()> {
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

    fn take_from_lan(&mut self) -> bool {
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
    fn say_urgent(&mut self, now: Time) -> io::Result<()> {
        while self.end.is_urgent() && self.staged.len() < SEND_MAX && self.pace.is_open(now) {
            if !self.stage_next(now) {
                break;
            }
        }
        self.send_staged()?;
        Ok(())
    }

    /// True: there may be more to send.
    fn feed_link(&mut self, now: Time) -> io::Result<bool> {
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

/// The pieces of a frame in a port's ring, as it was on the wire: its tag put back, and `added` bytes of header left out.
#[inline]
fn ring_pieces<'a, P: Port>(port: &'a P, arrival: &'a Arrival, added: u8) -> [&'a [u8]; 3] {
    let (addresses, rest) = port.bytes(arrival).split_at(ADDRESSES_BYTES);
    let tag = arrival.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
    [addresses, tag, &rest[usize::from(added)..]]
}

/// The length that a link's end counts with, from MAC header to FCS.
#[inline]
fn wire_len(bytes: usize) -> Bytes {
    Bytes::new((bytes as u64 + FCS_BYTES).max(FRAME_BYTES_MIN))
}

/// What became of the first frames of a batch.
#[derive(Clone, Copy)]
struct Handed {
    sent: usize,
    /// Behind those.
    thrown: usize,
}

impl Handed {
    fn gone(self) -> usize {
        self.sent + self.thrown
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

/// Sends. An interface that is down, or a frame that it refuses, costs the frame: nobody else can do anything about it.
fn send<P: Port>(port: &mut P, frames: &[Pieces<'_>], errors: &mut u64) -> io::Result<Handed> {
    match port.send(frames) {
        Err(error) if is_transient(&error) => {
            *errors += 1;
            Ok(Handed { sent: 0, thrown: frames.len().min(1) })
        }
        sent => sent.map(|sent| Handed { sent, thrown: 0 }),
    }
}

fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NetworkDown, NotFound};
    // ENXIO: the interface is just being taken away. EMSGSIZE: the frame is longer than the interface allows.
    matches!(error.kind(), NetworkDown | InvalidInput | NotFound)
        || matches!(error.raw_os_error(), Some(libc::ENXIO | libc::EMSGSIZE | libc::ENODEV))
}
