//! The endpoint: queue pairs, memory, and the frames between them and the wire.

mod inbound;
mod outbound;

use std::collections::VecDeque;

use wiremend_proto::cc::Dcqcn;
use wiremend_proto::cc::dcqcn::{CnpLimiter, Parameters};
use wiremend_proto::engine::{Requester as _, Status, Work};
use wiremend_proto::rc::{Config, Qp};
use wiremend_units::{Psn, QpNum, Rate, Time};

pub use self::outbound::FRAME_BYTES_MAX;
use self::outbound::Repetition;
use crate::connection_manager::ConnectionManager;
use crate::event::Event;
use crate::queue_pair::{PairCounters, PairId, Post, Posted, QueuePair, Receive, Remote};
use crate::region::{Access, RegionId, Regions, Slice};
use crate::timers::Timers;

/// Settings of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Copies of each sequence NAK.
    pub nak_copies: u8,
    /// Copies of the first packet that is sent again because of a NAK.
    pub resend_copies: u8,
    /// Congestion control by DCQCN at this line rate: marked packets cause notifications, notifications slow down.
    pub dcqcn: Option<(Parameters, Rate)>,
    /// Selects the numbers of queue pairs, so that packets for an endpoint that has ended do not match its successor.
    pub seed: u32,
}

/// Settings of a queue pair.
#[derive(Clone, Debug)]
pub struct PairSettings {
    /// Parameters of the connection.
    pub config: Config,
    /// Whether a newer acknowledgement replaces one that is not sent yet.
    pub merges_acks: bool,
    /// First PSN of own requests.
    pub first_psn: Psn,
    /// What the peer may do.
    pub access: Access,
}

/// Frames that belong to no queue pair, and drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames received.
    pub frames: u64,
    /// Frames sent.
    pub sent: u64,
    /// Not a frame of `RoCEv2`, or truncated.
    pub malformed: u64,
    /// The ICRC is wrong.
    pub wrong_icrc: u64,
    /// For a queue pair, partition or VLAN that does not exist here.
    pub unknown_pair: u64,
    /// From or to another address than the connection's.
    pub wrong_address: u64,
    /// READ responses that could not be sent because the key became invalid.
    pub lost_keys: u64,
}

/// Why work or a receive buffer is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostError {
    /// The queue pair does not exist.
    NoPair,
    /// The queue is full.
    Full,
    /// The slice is not within its region, or is too long for a message.
    Slice,
}

/// Queue pairs of an endpoint.
pub const PAIRS_MAX: usize = 1 << SLOT_BITS;
/// Posted work of a queue pair, and receive buffers.
pub const POSTED_MAX: usize = 1 << 16;
/// Low bits of a queue pair number that select its slot. The others differ between uses of a slot.
const SLOT_BITS: u32 = 12;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;

/// An endpoint.
#[derive(Debug)]
pub struct Endpoint {
    settings: Settings,
    regions: Regions,
    slots: Vec<Option<Box<QueuePair>>>,
    free: Vec<usize>,
    /// High bits of the next number.
    generation: u32,
    /// Slots of queue pairs that may have something to send.
    active: VecDeque<usize>,
    timers: Timers,
    repetition: Option<Repetition>,
    events: VecDeque<Event>,
    counters: Counters,
    manager: ConnectionManager,
    /// PSN of the last datagram of the connection manager.
    datagram_psn: Psn,
}

impl Endpoint {
    /// Creates an endpoint without queue pairs.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            regions: Regions::default(),
            slots: Vec::new(),
            free: Vec::new(),
            generation: settings.seed,
            active: VecDeque::new(),
            timers: Timers::default(),
            repetition: None,
            events: VecDeque::new(),
            counters: Counters::default(),
            manager: ConnectionManager::new(settings.seed),
            datagram_psn: Psn::new(0),
        }
    }

    /// The connection manager, which has queue pair 1.
    pub fn manager(&self) -> &ConnectionManager {
        &self.manager
    }

    /// The connection manager.
    pub fn manager_mut(&mut self) -> &mut ConnectionManager {
        &mut self.manager
    }

    /// Registers zeroed memory.
    pub fn register(&mut self, len: u64, access: Access) -> RegionId {
        self.regions.register(len, access)
    }

    /// Address and key of a region for the peer.
    pub fn address_and_key(&self, region: RegionId) -> (u64, u32) {
        self.regions.address_and_key(region)
    }

    /// Releases the memory of a region. No queue pair may use it any more.
    pub fn release(&mut self, region: RegionId) {
        self.regions.release(region);
    }

    /// The bytes of a region.
    pub fn memory(&self, region: RegionId) -> &[u8] {
        self.regions.bytes(region)
    }

    /// The bytes of a region.
    pub fn memory_mut(&mut self, region: RegionId) -> &mut [u8] {
        self.regions.bytes_mut(region)
    }

    /// Gives a region whose key was invalidated a new one.
    pub fn renew_key(&mut self, region: RegionId) -> u32 {
        self.regions.renew_key(region)
    }

    /// The number that the next queue pair will have. Its peer may need it before the peer's own number is known.
    /// `None` if there are too many queue pairs.
    pub fn next_pair(&self) -> Option<PairId> {
        let slot = self.free.last().copied().unwrap_or(self.slots.len());
        (slot < PAIRS_MAX).then(|| {
            // Numbers 0 and 1 and the highest one have a special meaning.
            let high = 1 + self.generation % ((1 << (24 - SLOT_BITS)) - 2);
            PairId(QpNum::new(high << SLOT_BITS | slot as u32))
        })
    }

    /// Creates a connected queue pair with the number [`Self::next_pair`]. `None` if there are too many.
    pub fn connect(&mut self, settings: PairSettings, remote: Remote) -> Option<PairId> {
        assert!(remote.path.is_consistent(), "both ends of a path have the same IP version");
        let id = self.next_pair()?;
        let mut qp = Qp::new(remote.pair, settings.first_psn, remote.first_psn);
        qp.responder.limit_receives(0);
        let pair = QueuePair {
            id,
            config: settings.config,
            merges_acks: settings.merges_acks,
            replies: VecDeque::new(),
            qp,
            remote,
            access: settings.access,
            receives: VecDeque::new(),
            received: 0,
            write_key: 0,
            posted: VecDeque::new(),
            first_posted: 0,
            congestion: self.settings.dcqcn.map(|(parameters, line)| Dcqcn::new(parameters, line)),
            limiter: CnpLimiter::default(),
            owes_cnp: false,
            asked_for: None,
            identification: 0,
            is_active: false,
            timer_at: Time::MAX,
            heard_at: Time::ZERO,
            counters: PairCounters::default(),
        };
        let slot = slot_of(id.0);
        self.generation = self.generation.wrapping_add(1);
        if self.free.pop().is_none() {
            self.slots.push(None);
        }
        self.slots[slot] = Some(Box::new(pair));
        Some(id)
    }

    /// Removes a queue pair. Frames for it are dropped from now on.
    pub fn remove(&mut self, pair: PairId) -> Option<PairCounters> {
        let counters = self.pair(pair)?.counters();
        let slot = slot_of(pair.0);
        self.slots[slot] = None;
        self.free.push(slot);
        self.active.retain(|active| *active != slot);
        self.repetition = self.repetition.take().filter(|repetition| repetition.slot() != slot);
        Some(counters)
    }

    /// Posts work.
    pub fn post(&mut self, now: Time, id: PairId, post: Post) -> Result<(), PostError> {
        if !self.regions.contains(post.local) || post.local.len > Config::MESSAGE_LEN_MAX {
            return Err(PostError::Slice);
        }
        let slot = slot_of(id.0);
        let pair = self.pair_mut(id).ok_or(PostError::NoPair)?;
        if pair.posted.len() >= POSTED_MAX {
            return Err(PostError::Full);
        }
        let number = pair.first_posted + pair.posted.len() as u64;
        let Post { id, op, local, operands, .. } = post;
        pair.posted.push_back(Posted { id, op, local, operands });
        let work = Work { id: number, op, len: local.len, addr: post.address, rkey: post.key, imm: post.imm };
        pair.qp.requester.post(&pair.config, now, work);
        self.drain(slot);
        self.activate(now, slot);
        Ok(())
    }

    /// Adds a receive buffer.
    pub fn post_receive(&mut self, id: PairId, receive_id: u64, slice: Slice) -> Result<(), PostError> {
        if !self.regions.contains(slice) {
            return Err(PostError::Slice);
        }
        let pair = self.pair_mut(id).ok_or(PostError::NoPair)?;
        if pair.receives.len() >= POSTED_MAX {
            return Err(PostError::Full);
        }
        pair.receives.push_back(Receive { id: receive_id, slice });
        pair.qp.responder.add_receives(1);
        Ok(())
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Time of the next call to [`Self::on_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        [self.timers.next(), self.manager.next_timeout()].into_iter().flatten().min()
    }

    /// Handles timers that are due.
    pub fn on_timeout(&mut self, now: Time) {
        self.manager.on_timeout(now);
        while let Some((at, slot)) = self.timers.pop_due(now) {
            let Some(pair) = self.slots[slot].as_deref_mut().filter(|pair| pair.timer_at == at) else {
                continue;
            };
            pair.timer_at = Time::MAX;
            let expiry = pair.qp.requester.on_timeout(&pair.config, now);
            let id = pair.id;
            self.events.extend(expiry.map(|expiry| Event::Expired { pair: id, at: now, expiry }));
            self.drain(slot);
            self.activate(now, slot);
        }
    }

    /// Returns whether a queue pair has nothing to send or to wait for.
    pub fn is_idle(&self, id: PairId) -> bool {
        self.pair(id).is_none_or(|pair| pair.qp.is_idle())
    }

    /// Counters of a queue pair.
    pub fn pair_counters(&self, id: PairId) -> Option<PairCounters> {
        self.pair(id).map(QueuePair::counters)
    }

    /// All queue pairs with their counters.
    pub fn pairs(&self) -> impl Iterator<Item = (PairId, PairCounters)> {
        self.slots.iter().flatten().map(|pair| (pair.id, pair.counters()))
    }

    /// When the last frame for a queue pair came; zero if none did.
    pub fn heard_at(&self, id: PairId) -> Time {
        self.pair(id).map_or(Time::ZERO, |pair| pair.heard_at)
    }

    /// Counters of the endpoint.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn pair(&self, id: PairId) -> Option<&QueuePair> {
        self.slots.get(slot_of(id.0))?.as_deref().filter(|pair| pair.id == id)
    }

    fn pair_mut(&mut self, id: PairId) -> Option<&mut QueuePair> {
        self.slots.get_mut(slot_of(id.0))?.as_deref_mut().filter(|pair| pair.id == id)
    }

    /// Reports completed work.
    #[inline]
    fn drain(&mut self, slot: usize) {
        let Some(pair) = self.slots[slot].as_deref_mut() else { return };
        while let Some(completion) = pair.qp.requester.poll_completion() {
            // Completions come in posting order.
            let Some(posted) = pair.posted.pop_front() else { return };
            pair.first_posted += 1;
            let Posted { id, op, local, .. } = posted;
            if completion.status == Status::Success {
                pair.counters.messages += 1;
                // Bytes of a response were counted when it came.
                pair.counters.bytes += if op.has_response() { 0 } else { u64::from(local.len) };
            }
            self.events.push_back(Event::Completed { pair: pair.id, id, op, status: completion.status });
        }
    }

    /// Lets a queue pair send what it can, and sets its timer.
    #[inline]
    fn activate(&mut self, now: Time, slot: usize) {
        let Some(pair) = self.slots[slot].as_deref_mut() else { return };
        if !pair.is_active {
            pair.is_active = true;
            self.active.push_back(slot);
        }
        set_timer(pair, slot, now, &mut self.timers);
    }
}

/// Adds an entry to the timers if the queue pair needs an earlier one.
#[inline]
fn set_timer(pair: &mut QueuePair, slot: usize, now: Time, timers: &mut Timers) {
    let next = pair.next_timeout(now);
    if next < pair.timer_at {
        pair.timer_at = next;
        timers.push(next, slot);
    }
}

const fn slot_of(number: QpNum) -> usize {
    (number.get() & SLOT_MASK) as usize
}
