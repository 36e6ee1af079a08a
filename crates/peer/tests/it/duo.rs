//! Two endpoints, and the lossy wire between them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wiremend_peer::{
    Access, Endpoint, Event, FRAME_BYTES_MAX, PairId, PairSettings, Path, Post, RegionId, Remote, Settings,
    Slice,
};
use wiremend_proto::engine::Op;
use wiremend_proto::rc::Config;
use wiremend_testkit::Random;
use wiremend_units::{Psn, Span, Time};
use wiremend_wire::{MacAddr, Opcode, RoceFrame, Tpid, TrafficClass, VlanTag};

pub(crate) const A: usize = 0;
pub(crate) const B: usize = 1;
const DELAY: Span = Span::from_us(1);
/// Time to send a frame.
const SERIALIZE: Span = Span::from_ns(500);

/// Share of the frames, in parts per million, to which something happens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) loss: u32,
    pub(crate) duplicate: u32,
    pub(crate) reorder: u32,
    pub(crate) corrupt: u32,
}

type Filter = Box<dyn FnMut(usize, &RoceFrame<'_>) -> bool>;

/// Two endpoints on a fake clock.
pub(crate) struct Duo {
    pub(crate) ends: [Endpoint; 2],
    pub(crate) now: Time,
    pub(crate) events: [Vec<Event>; 2],
    /// Operations on the wire, with their sender.
    pub(crate) sent: Vec<(usize, Opcode)>,
    /// Whether a newer acknowledgement replaces one that waits.
    pub(crate) merges_acks: bool,
    faults: Faults,
    random: Random,
    lose: Option<Filter>,
    /// Frames on their way: time, order, receiver.
    flying: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    order: u64,
    free_at: [Time; 2],
    v6: bool,
    vlan: Option<VlanTag>,
}

pub(crate) fn config() -> Config {
    Config { mtu: 256, timeout: Some(Span::from_us(100)), retry_count: 7, window: 64, ..Config::default() }
}

pub(crate) fn settings() -> Settings {
    Settings { nak_copies: 0, resend_copies: 0, dcqcn: None, seed: 7 }
}

impl Duo {
    pub(crate) fn new(settings: [Settings; 2], seed: u64) -> Self {
        Self {
            ends: settings.map(Endpoint::new),
            now: Time::ZERO,
            events: [Vec::new(), Vec::new()],
            sent: Vec::new(),
            merges_acks: true,
            faults: Faults::default(),
            random: Random::new(seed),
            lose: None,
            flying: BTreeMap::new(),
            order: 0,
            free_at: [Time::ZERO; 2],
            v6: false,
            vlan: None,
        }
    }

    pub(crate) fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    pub(crate) fn over_v6_and_vlan(mut self) -> Self {
        self.v6 = true;
        self.vlan = Some(VlanTag { tpid: Tpid::Customer, priority: 3, drop_eligible: false, id: 42 });
        self
    }

    /// Loses the frames for which `lose` returns true.
    pub(crate) fn lose(mut self, lose: impl FnMut(usize, &RoceFrame<'_>) -> bool + 'static) -> Self {
        self.lose = Some(Box::new(lose));
        self
    }

    fn ip(&self, end: usize) -> IpAddr {
        let last = end as u16 + 1;
        if self.v6 {
            Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, last).into()
        } else {
            Ipv4Addr::new(198, 18, 0, last as u8).into()
        }
    }

    pub(crate) fn path(&self, end: usize) -> Path {
        Path {
            local_mac: MacAddr::local(end as u32),
            remote_mac: MacAddr::local(1 - end as u32),
            local_ip: self.ip(end),
            remote_ip: self.ip(1 - end),
            vlan: self.vlan,
            class: TrafficClass { dscp: 26, ..TrafficClass::default() },
            source_port: 0xC001,
        }
    }

    /// Connects a pair of queue pairs.
    pub(crate) fn connect(&mut self, config: &Config, access: [Access; 2], first: [u32; 2]) -> [PairId; 2] {
        let ids = [A, B].map(|end| self.ends[end].next_pair().unwrap());
        for end in [A, B] {
            let settings = PairSettings {
                config: config.clone(),
                merges_acks: self.merges_acks,
                first_psn: Psn::new(first[end]),
                access: access[end],
            };
            let remote = Remote {
                path: self.path(end),
                pair: ids[1 - end].number(),
                first_psn: Psn::new(first[1 - end]),
            };
            assert_eq!(self.ends[end].connect(settings, remote), Some(ids[end]));
        }
        ids
    }

    pub(crate) fn post(&mut self, end: usize, pair: PairId, post: Post) {
        self.ends[end].post(self.now, pair, post).unwrap();
    }

    /// Runs until nothing happens any more or `limit` has passed. Returns whether nothing happens any more.
    pub(crate) fn run(&mut self, limit: Span) -> bool {
        let end = self.now.saturating_add(limit);
        loop {
            for side in [A, B] {
                self.transmit(side);
                while let Some(event) = self.ends[side].poll_event() {
                    self.events[side].push(event);
                }
            }
            let sending =
                [A, B].map(|side| if self.ends[side].has_output() { self.free_at[side] } else { Time::MAX });
            let timers = [A, B].map(|side| self.ends[side].next_timeout().unwrap_or(Time::MAX));
            let arrival = self.flying.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
            let next = sending.into_iter().chain(timers).min().unwrap().min(arrival).max(self.now);
            if next == Time::MAX {
                return true;
            }
            if next > end {
                return false;
            }
            self.now = next;
            if let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= next) {
                let (side, bytes) = entry.remove();
                self.ends[side].on_frame(next, &bytes, None);
            }
            self.ends.iter_mut().for_each(|end| end.on_timeout(next));
        }
    }

    fn transmit(&mut self, side: usize) {
        let mut buffer = [0; FRAME_BYTES_MAX];
        if self.free_at[side] > self.now {
            return;
        }
        let Some(len) = self.ends[side].poll_transmit(self.now, &mut buffer) else { return };
        self.free_at[side] = self.now.saturating_add(SERIALIZE);
        let bytes = buffer[..len].to_vec();
        let frame = RoceFrame::parse(&bytes).unwrap().frame;
        self.sent.push((side, frame.bth.opcode));
        let is_lost = self.lose.as_mut().is_some_and(|lose| lose(side, &frame));
        if is_lost || self.random.chance_ppm(self.faults.loss) {
            return;
        }
        let copies = 1 + u32::from(self.random.chance_ppm(self.faults.duplicate));
        for _ in 0..copies {
            let mut bytes = bytes.clone();
            if self.random.chance_ppm(self.faults.corrupt) {
                let bit = self.random.below(8 * bytes.len() as u64) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            let late = if self.random.chance_ppm(self.faults.reorder) { self.random.below(5000) } else { 0 };
            let at =
                self.now.saturating_add(SERIALIZE).saturating_add(DELAY).saturating_add(Span::from_ns(late));
            self.order += 1;
            self.flying.insert((at, self.order), (1 - side, bytes));
        }
    }

    /// Puts a frame of anybody on the way to an end.
    pub(crate) fn inject(&mut self, to: usize, bytes: &[u8]) {
        self.order += 1;
        self.flying.insert((self.now, self.order), (to, bytes.to_vec()));
    }

    pub(crate) fn count(&self, side: usize, operation: Opcode) -> usize {
        self.sent.iter().filter(|(sender, sent)| *sender == side && *sent == operation).count()
    }
}

pub(crate) fn whole(region: RegionId, len: u32) -> Slice {
    Slice { region, offset: 0, len }
}

pub(crate) fn work(id: u64, op: Op, local: Slice, (address, key): (u64, u32)) -> Post {
    Post { id, op, local, address, key, imm: None, operands: [0; 2] }
}

/// A byte that depends on the message and its place.
pub(crate) fn pattern(message: u64, at: usize) -> u8 {
    (message.wrapping_mul(0x9E37_79B9) as usize).wrapping_add(at.wrapping_mul(7)).wrapping_add(at >> 8) as u8
}
