//! A client for the servers of perftest and `ibv_rc_pingpong`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use wiremend_measure::Histogram;
use wiremend_proto::engine::{Op, RequesterCounters, Status};
use wiremend_units::{Psn, QpNum, Span, Time};

use super::ConnectionSettings;
use super::ending::{close, linger};
use super::exchange::Exchange;
use super::live::Live;
use super::managed::{self, Accepted, Parts, fill};
use super::outcome::Outcome;
use super::rping::Advertisement;
use crate::connection_manager::ConnectionId;
use crate::endpoint::PairSettings;
use crate::event::Event;
use crate::host::{Host, HostSettings, LocalInterface, PeerError};
use crate::path::Path;
use crate::perftest::{
    CACHE_LINE, CYCLE_BUFFER, DONE, KEYS_BYTES, Keys, MANAGED_KEYS_BYTES, PINGPONG_BYTES, Tool, VERSION,
    mtu_message, parse_mtu,
};
use crate::queue_pair::{PairId, Post, Remote};
use crate::region::{Access, RegionId, Slice};

/// A test to run.
#[derive(Debug)]
pub struct Client {
    /// The server.
    pub server: SocketAddr,
    /// The program there.
    pub tool: Tool,
    /// The interface; `None`: the one to which the route leads.
    pub interface: Option<LocalInterface>,
    /// Message length.
    pub size: u32,
    /// Number of messages.
    pub iterations: u64,
    /// Messages in flight on each queue pair, for bandwidth.
    pub depth: u64,
    /// Queue pairs, for bandwidth; each sends all messages.
    pub pairs: usize,
    /// Whether the server sends as many messages, as with `-b` there.
    pub both_ways: bool,
    /// Whether the connection manager sets up the queue pairs, as with `-R` at the server.
    pub managed: bool,
    /// Parameters of the queue pair.
    pub connection: ConnectionSettings,
    /// Settings of the host.
    pub host: HostSettings,
}

/// Receive buffers, as perftest has them.
const RECEIVES: u64 = 512;

/// How the ends learn each other's parameters.
pub enum SetUp<'a> {
    /// From the program's own exchange: over TCP, or by the connection manager.
    Tcp,
    /// By hand: takes own parameters, returns the peer's.
    ByHand(&'a mut dyn FnMut(&Keys) -> Result<Keys, PeerError>),
}

/// Runs a test. Calls `progress` in every turn.
pub fn run(
    mut client: Client,
    set_up: SetUp<'_>,
    progress: &mut dyn FnMut(&Live<'_>),
) -> Result<Outcome, PeerError> {
    let mut exchange = match set_up {
        SetUp::Tcp if !client.managed => {
            Some(Exchange::connect(client.server)?.with_patience(client.connection.silence_max))
        }
        SetUp::Tcp | SetUp::ByHand(_) => None,
    };
    let interface = match &client.interface {
        Some(interface) => interface.clone(),
        None => LocalInterface::towards(client.server.ip())?,
    };
    let mut host = Host::open(std::mem::take(&mut client.host), interface)?;
    let client = &client;
    if client.managed && !client.tool.needs_manager() {
        exchange = Some(managed::exchange(client, &mut host)?);
    }
    let mut connected = match (&mut exchange, set_up) {
        (Some(exchange), _) => connect(client, &mut host, exchange)?,
        (None, SetUp::ByHand(ask)) => connect_by_hand(client, &mut host, ask)?,
        (None, SetUp::Tcp) => connect_by_manager(client, &mut host)?,
    };
    let result = connected.transfer(client, &mut host, progress);
    let outcome = result.and_then(|outcome| {
        if let Some(exchange) = &mut exchange {
            close(client, &outcome, &mut host, exchange, &connected.pairs[0].own)?;
        }
        if client.managed {
            managed::end(client, &mut host, &connected.managed, exchange.as_mut())?;
            return Ok(outcome);
        }
        linger(&outcome, &mut host, exchange.as_mut())?;
        Ok(outcome)
    });
    host.finish()?;
    outcome
}

/// A connected queue pair.
struct DataPair {
    id: PairId,
    own: Keys,
    peer: Keys,
    /// Messages posted and completed.
    posted: u64,
    completed: u64,
    /// Post times of messages in flight, by number modulo the depth.
    times: Vec<Time>,
}

/// Bits of the number of a message in its identifier. The others are those of its queue pair.
const NUMBER_BITS: u32 = 48;

/// The connected queue pairs and the measurement.
struct Connected {
    pairs: Vec<DataPair>,
    region: RegionId,
    mtu: u16,
    /// Their connections at the connection manager.
    managed: Vec<ConnectionId>,
    /// Messages of all queue pairs: posted, completed, and received.
    posted: u64,
    completed: u64,
    received: u64,
    progress_at: Time,
    start: Time,
}

fn connect(client: &Client, host: &mut Host, exchange: &mut Exchange) -> Result<Connected, PeerError> {
    let tool = client.tool;
    let mut mtu = client.connection.mtu.min(host.interface().path_mtu());
    let peer_address = exchange.peer;
    let unexpected = |awaited| PeerError::Unexpected { peer: peer_address, awaited };
    if tool == Tool::Pingpong {
        mtu = mtu.min(1024);
    } else {
        exchange.write(&VERSION)?;
        exchange.read::<16>(host, "its version")?;
        for number in [CYCLE_BUFFER, CACHE_LINE] {
            exchange.write(&number.to_be_bytes())?;
            exchange.read::<4>(host, "its buffer size")?;
        }
        exchange.write(&mtu_message(mtu))?;
        let theirs = exchange.read::<2>(host, "its MTU")?;
        mtu = mtu.min(parse_mtu(&theirs).ok_or(unexpected("an MTU"))?);
    }
    let (region, own) = offer(client, host);
    let peer = if tool == Tool::Pingpong {
        exchange.write(&own.to_pingpong())?;
        let message = exchange.read::<PINGPONG_BYTES>(host, "its addresses")?;
        Keys::parse_pingpong(&message).ok_or(unexpected("addresses of ibv_rc_pingpong"))?
    } else if client.managed {
        return connect_perftest_by_manager(client, host, exchange, (region, own), mtu);
    } else {
        swap_keys(host, exchange, &own)?
    };
    let path = host.path_to(peer.ip, own.pair)?;
    let mut connected = Connected::new(host, region, mtu);
    connected.add(client, host, [own, peer], path);
    for _ in 1..client.pairs {
        let own = offer_pair(host, region);
        let peer = swap_keys(host, exchange, &own)?;
        connected.add(client, host, [own, peer], host.path_to(peer.ip, own.pair)?);
    }
    if tool == Tool::Pingpong {
        exchange.write(&DONE)?;
    }
    connected.swap_further_keys(client, host, exchange)?;
    Ok(connected)
}

fn connect_by_hand(
    client: &Client,
    host: &mut Host,
    ask: &mut dyn FnMut(&Keys) -> Result<Keys, PeerError>,
) -> Result<Connected, PeerError> {
    let mtu = client.connection.mtu.min(host.interface().path_mtu());
    let (region, own) = offer(client, host);
    let peer = ask(&own)?;
    let path = host.path_to(peer.ip, own.pair)?;
    let mut connected = Connected::new(host, region, mtu);
    connected.add(client, host, [own, peer], path);
    Ok(connected)
}

/// Sets up `rping` or `ucmatose`.
fn connect_by_manager(client: &Client, host: &mut Host) -> Result<Connected, PeerError> {
    let mtu = client.connection.mtu.min(host.interface().path_mtu());
    let (region, own) = offer(client, host);
    let mut connected = Connected::new(host, region, mtu);
    connected.add_managed(client, host, own)?;
    Ok(connected)
}

/// The exchange of perftest with `-R`. Keys are empty before and after the request of the queue pair.
fn connect_perftest_by_manager(
    client: &Client,
    host: &mut Host,
    exchange: &mut Exchange,
    (region, own): (RegionId, Keys),
    mtu: u16,
) -> Result<Connected, PeerError> {
    let empty = Keys { pair: QpNum::new(0), psn: Psn::new(0), rkey: 0, address: 0, ..own };
    swap_keys(host, exchange, &empty)?;
    let mut connected = Connected::new(host, region, mtu);
    connected.add_managed(client, host, own)?;
    for _ in 1..client.pairs {
        connected.add_managed(client, host, offer_pair(host, region))?;
    }
    swap_keys(host, exchange, &empty)?;
    for pair in &mut connected.pairs {
        let peer = swap_keys(host, exchange, &pair.own)?;
        (pair.peer.address, pair.peer.rkey) = (peer.address, peer.rkey);
    }
    connected.swap_further_keys(client, host, exchange)?;
    Ok(connected)
}

/// Memory for the test, and what the peer must know.
fn offer(client: &Client, host: &mut Host) -> (RegionId, Keys) {
    let parts = if client.tool == Tool::Rping { Parts::COUNT } else { 2 };
    let region = host.endpoint.register(parts * u64::from(client.size.max(CYCLE_BUFFER)), Access::ALL);
    (region, offer_pair(host, region))
}

/// Parameters of the next queue pair, which has this memory.
fn offer_pair(host: &Host, region: RegionId) -> Keys {
    let (address, rkey) = host.endpoint.address_and_key(region);
    let id = host.endpoint.next_pair().expect("one of the first queue pairs of an endpoint");
    let out_reads = super::READS_MAX as u16;
    Keys { out_reads, pair: id.number(), psn: host.draw_psn(), rkey, address, ip: host.interface().ip }
}

pub(crate) fn swap_keys(host: &mut Host, exchange: &mut Exchange, own: &Keys) -> Result<Keys, PeerError> {
    let keys = if exchange.control().is_some() {
        exchange.write(&own.to_managed())?;
        Keys::parse_managed(&exchange.read::<MANAGED_KEYS_BYTES>(host, "its keys")?)
    } else {
        exchange.write(&own.to_bytes())?;
        Keys::parse(&exchange.read::<KEYS_BYTES>(host, "its keys")?)
    };
    keys.ok_or(PeerError::Unexpected { peer: exchange.peer, awaited: "keys of perftest" })
}

impl DataPair {
    fn may_post(&self, client: &Client) -> bool {
        self.posted < client.iterations && self.posted - self.completed < client.depth
    }
}

impl Connected {
    fn new(host: &Host, region: RegionId, mtu: u16) -> Self {
        let now = host.now();
        Self {
            pairs: Vec::new(),
            region,
            mtu,
            managed: Vec::new(),
            posted: 0,
            completed: 0,
            received: 0,
            progress_at: now,
            start: now,
        }
    }

    /// Connects a queue pair.
    fn add(&mut self, client: &Client, host: &mut Host, [own, peer]: [Keys; 2], path: Path) {
        // Linux permits WRITEs to each queue pair that the connection manager sets up.
        let denies_writes = client.tool.denies_writes() && !client.managed;
        let config = client.connection.config(self.mtu, peer.out_reads, denies_writes);
        let remote = Remote { path, pair: peer.pair, first_psn: peer.psn };
        let merges_acks = client.connection.merges_acks;
        let settings = PairSettings { config, merges_acks, first_psn: own.psn, access: Access::ALL };
        let id = host.endpoint.connect(settings, remote).expect("one of the first queue pairs");
        let inbound = Slice { region: self.region, offset: 0, len: client.size.max(CYCLE_BUFFER) };
        for number in 0..RECEIVES {
            host.endpoint.post_receive(id, number, inbound).expect("a new queue pair takes this many");
        }
        let times = vec![Time::ZERO; client.depth as usize];
        self.pairs.push(DataPair { id, own, peer, posted: 0, completed: 0, times });
    }

    /// Asks for a connection with the next queue pair, creates it, and tells the server that it is ready.
    fn add_managed(&mut self, client: &Client, host: &mut Host, own: Keys) -> Result<(), PeerError> {
        let Accepted { id, reply, path } = managed::request(client, host, &own, self.mtu)?;
        // Each end tells at which PSN the other one begins.
        let peer = Keys {
            out_reads: u16::from(reply.responder_resources),
            pair: reply.pair,
            psn: own.psn,
            rkey: 0,
            address: 0,
            ip: path.remote_ip,
        };
        self.add(client, host, [Keys { psn: reply.psn, ..own }, peer], path);
        self.managed.push(id);
        host.endpoint.manager_mut().ready(id);
        Ok(())
    }

    /// perftest exchanges keys several times: the third time those of each queue pair.
    fn swap_further_keys(
        &self,
        client: &Client,
        host: &mut Host,
        exchange: &mut Exchange,
    ) -> Result<(), PeerError> {
        let rounds = client.tool.key_rounds();
        // Both ends wait for each other before they send.
        let rounds = if client.both_ways { rounds.max(4) } else { rounds };
        for round in 2..=rounds {
            let pairs = if round == 3 { &self.pairs[..] } else { &self.pairs[..1] };
            for pair in pairs {
                swap_keys(host, exchange, &pair.own)?;
            }
        }
        Ok(())
    }

    fn transfer(
        &mut self,
        client: &Client,
        host: &mut Host,
        progress: &mut dyn FnMut(&Live<'_>),
    ) -> Result<Outcome, PeerError> {
        let is_half = matches!(client.tool, Tool::WriteLat | Tool::SendLat | Tool::Pingpong);
        let mut outcome = Outcome {
            tool: client.tool,
            size: client.size,
            messages: 0,
            mtu: self.mtu,
            elapsed: Span::ZERO,
            latency: Histogram::new(),
            is_half,
            stalls: Vec::new(),
            stalls_not_listed: 0,
            causes: BTreeMap::new(),
            requester: RequesterCounters::default(),
            copies: 0,
            frames: [0; 2],
            dropped: 0,
            kernel_drops: 0,
        };
        self.start = host.now();
        self.progress_at = self.start;
        while !self.is_finished(client) {
            self.post(client, host, &mut outcome);
            host.turn()?;
            while let Some(event) = host.endpoint.poll_event() {
                // Others are of the queue pair for messages.
                if self.pairs.iter().any(|pair| pair.id == event.pair()) {
                    self.on_event(client, host, &mut outcome, &event)?;
                }
            }
            let done = if client.tool == Tool::Rping { self.received / 2 } else { self.completed };
            progress(&Live { done, causes: &outcome.causes, endpoint: &host.endpoint });
            if !self.managed.is_empty() && !self.is_finished(client) {
                self.check_connection(client, host)?;
            }
            if host.now().since(self.progress_at) > client.connection.silence_max {
                let awaited = "an acknowledgement or answer";
                return Err(PeerError::Silent { peer: client.server, awaited });
            }
        }
        outcome.messages = client.iterations * self.pairs.len() as u64;
        outcome.elapsed = self.progress_at.since(self.start);
        for counters in self.pairs.iter().filter_map(|pair| host.endpoint.pair_counters(pair.id)) {
            outcome.requester += counters.requester;
            outcome.copies += counters.copies;
        }
        let endpoint = host.endpoint.counters();
        outcome.frames = [endpoint.frames, endpoint.sent];
        outcome.dropped = host.drops().count();
        outcome.kernel_drops = host.kernel_drops();
        Ok(outcome)
    }

    /// Fails if the server has ended the connection too early. That of `ib_write_lat` ends without a word: the
    /// acknowledgement of the last WRITE may be lost.
    fn check_connection(&mut self, client: &Client, host: &mut Host) -> Result<(), PeerError> {
        if host.endpoint.manager_mut().poll_event().is_none() {
            return Ok(());
        }
        if client.tool == Tool::WriteLat && self.posted == client.iterations {
            self.completed = self.posted;
            self.managed.clear();
            return Ok(());
        }
        Err(PeerError::Closed { peer: client.server, awaited: "all messages were exchanged" })
    }

    fn is_finished(&self, client: &Client) -> bool {
        let all = client.iterations * self.pairs.len() as u64;
        let is_answered = match client.tool {
            Tool::SendLat | Tool::Pingpong | Tool::Ucmatose => self.received >= all,
            Tool::Rping => self.received >= 2 * all,
            Tool::SendBw if client.both_ways => self.received >= all,
            _ => true,
        };
        self.completed >= all && is_answered
    }

    /// Posts what may be posted now.
    fn post(&mut self, client: &Client, host: &mut Host, outcome: &mut Outcome) {
        let now = host.now();
        match client.tool {
            Tool::WriteLat => self.post_after_write(client, host, outcome),
            Tool::SendLat | Tool::Pingpong => {
                if self.posted < client.iterations && self.received == self.posted {
                    self.post_one(client, host, now, 0);
                }
            }
            Tool::ReadLat => {
                if self.posted < client.iterations && self.completed == self.posted {
                    self.post_one(client, host, now, 0);
                }
            }
            Tool::Rping => {
                if self.posted < client.iterations && self.received == 2 * self.posted {
                    fill(self.memory(host, self.parts(client).source), self.posted);
                    self.advertise(client, host, 0);
                    self.pairs[0].times[0] = now;
                    self.posted += 1;
                }
            }
            // The server sends first.
            Tool::Ucmatose if self.received < client.iterations => {}
            Tool::WriteBw | Tool::SendBw | Tool::ReadBw | Tool::AtomicBw | Tool::Ucmatose => {
                for index in 0..self.pairs.len() {
                    while self.pairs[index].may_post(client) {
                        self.post_one(client, host, now, index);
                    }
                }
            }
        }
    }

    /// The server writes first. The last byte of the buffer is the number of the message modulo 256, from 1. As
    /// `ib_write_lat` does, this end writes when its own last WRITE is acknowledged.
    fn post_after_write(&mut self, client: &Client, host: &mut Host, outcome: &mut Outcome) {
        let last = client.size.max(1) as usize - 1;
        let expected = (self.posted + 1) as u8;
        let is_next = self.posted < client.iterations && self.completed == self.posted;
        if !is_next || host.endpoint.memory(self.region)[last] != expected {
            return;
        }
        let now = host.now();
        if self.posted > 0 {
            self.record(client, now, outcome, (0, self.posted - 1));
        }
        let at = client.size.max(CYCLE_BUFFER) as usize + last;
        host.endpoint.memory_mut(self.region)[at] = expected;
        self.post_one(client, host, now, 0);
    }

    fn post_one(&mut self, client: &Client, host: &mut Host, now: Time, index: usize) {
        let op = match client.tool {
            Tool::WriteBw | Tool::WriteLat => Op::Write,
            Tool::SendBw | Tool::SendLat | Tool::Pingpong | Tool::Rping | Tool::Ucmatose => Op::Send,
            Tool::ReadBw | Tool::ReadLat => Op::Read,
            Tool::AtomicBw => Op::FetchAdd,
        };
        let half = u64::from(client.size.max(CYCLE_BUFFER));
        let local = Slice { region: self.region, offset: half, len: client.size };
        let pair = &mut self.pairs[index];
        let (address, key) = (pair.peer.address, pair.peer.rkey);
        let id = (index as u64) << NUMBER_BITS | pair.posted;
        let post = Post { id, op, local, address, key, imm: None, operands: [1, 0] };
        pair.times[(pair.posted % client.depth) as usize] = now;
        pair.posted += 1;
        self.posted += 1;
        // A connection in error reports the work as flushed.
        let _ = host.endpoint.post(now, pair.id, post);
    }

    /// Names the source or the target of a ping to the server.
    fn advertise(&mut self, client: &Client, host: &mut Host, which: usize) {
        let parts = self.parts(client);
        let (address, key) = host.endpoint.address_and_key(self.region);
        let named = [parts.source, parts.target][which];
        let advertisement = Advertisement { address: address + named.offset, key, len: named.len };
        self.memory(host, parts.messages[which]).copy_from_slice(&advertisement.to_bytes());
        // A connection in error reports the work as flushed.
        let _ = host.endpoint.post(
            host.now(),
            self.pairs[0].id,
            advertisement.post(Op::Send, parts.messages[which]),
        );
    }

    /// The server of `rping` goes on: the source was read, or the target written.
    fn on_rping(&mut self, client: &Client, host: &mut Host, outcome: &mut Outcome) -> Result<(), PeerError> {
        if !self.received.is_multiple_of(2) {
            self.advertise(client, host, 1);
            return Ok(());
        }
        let parts = self.parts(client);
        let source = self.memory(host, parts.source).to_vec();
        if *self.memory(host, parts.target) != source[..] {
            return Err(PeerError::Differs { peer: client.server, number: self.posted });
        }
        self.record(client, host.now(), outcome, (0, self.posted - 1));
        Ok(())
    }

    fn parts(&self, client: &Client) -> Parts {
        let inbound = Slice { region: self.region, offset: 0, len: 0 };
        Parts::new(inbound, client.size.max(CYCLE_BUFFER), client.size)
    }

    fn memory<'a>(&self, host: &'a mut Host, slice: Slice) -> &'a mut [u8] {
        &mut host.endpoint.memory_mut(self.region)[slice.offset as usize..][..slice.len as usize]
    }

    /// Records the time of a message: queue pair and number.
    fn record(&self, client: &Client, now: Time, outcome: &mut Outcome, (index, number): (usize, u64)) {
        let took = now.since(self.pairs[index].times[(number % client.depth) as usize]).as_ns();
        outcome.latency.record(if outcome.is_half { took / 2 } else { took });
    }

    fn on_event(
        &mut self,
        client: &Client,
        host: &mut Host,
        outcome: &mut Outcome,
        event: &Event,
    ) -> Result<(), PeerError> {
        let now = host.now();
        match event {
            Event::Completed { id, status: Status::Success, .. } => {
                let index = (*id >> NUMBER_BITS) as usize;
                if !outcome.is_half && client.tool != Tool::Rping {
                    self.record(client, now, outcome, (index, *id & ((1 << NUMBER_BITS) - 1)));
                }
                self.pairs[index].completed += 1;
                self.completed += 1;
                self.progress_at = now;
            }
            Event::Completed { status, .. } => return Err(PeerError::Failed(*status)),
            Event::Received { id, pair, .. } => {
                let half = client.size.max(CYCLE_BUFFER);
                let inbound = Slice { region: self.region, offset: 0, len: half };
                let _ = host.endpoint.post_receive(*pair, *id, inbound);
                if outcome.is_half && self.received < self.posted {
                    self.record(client, now, outcome, (0, self.received));
                }
                self.received += 1;
                self.progress_at = now;
                if client.tool == Tool::Rping {
                    self.on_rping(client, host, outcome)?;
                }
            }
            Event::Expired { at, expiry, .. } => {
                outcome.on_expiry(host.drops(), *at, [self.start, self.progress_at], expiry);
            }
            Event::Refused { .. } => return Err(PeerError::Failed(Status::RemoteInvalidRequest)),
        }
        Ok(())
    }
}
