//! A client of the server: its exchange over TCP, and its queue pairs.

use std::net::SocketAddr;

use wiremend_proto::engine::Op;
use wiremend_units::{QpNum, Span, Time};

use super::{RECEIVES, Role, ServerSettings};
use crate::connection_manager::ConnectionId;
use crate::endpoint::PairSettings;
use crate::host::{Host, PeerError};
use crate::path::Path;
use crate::perftest::{
    CYCLE_BUFFER, DONE, KEYS_BYTES, Keys, MANAGED_KEYS_BYTES, PINGPONG_BYTES, VERSION, mtu_message, parse_mtu,
};
use crate::queue_pair::{PairId, Post, Remote};
use crate::region::{Access, RegionId, Slice};
use crate::session::exchange::{Exchange, Incoming, MESSAGE_MAX};
use crate::session::rping::RpingServer;
use crate::session::{LINGER, READS_MAX};

/// A client of the server.
pub(super) struct Client {
    /// The TCP connection; `None`: set up by hand or by the connection manager.
    pub(super) exchange: Option<Exchange>,
    pub(super) role: Role,
    pub(super) mtu: u16,
    pub(super) pairs: Vec<DataPair>,
    /// Connections of the connection manager.
    pub(super) managed: Vec<ConnectionId>,
    /// Whether the client sets up queue pairs by the connection manager.
    pub(super) uses_manager: bool,
    /// A message whose sender's MAC address is not known yet, and since when.
    held: Option<(Vec<u8>, Time)>,
    /// Where the client's messages go, and where answers come from.
    pub(super) region: RegionId,
    size: u32,
    iterations: u64,
    pub(super) key_rounds: usize,
    is_pingpong: bool,
    pub(super) rping: RpingServer,
    pub(super) said_done: bool,
    /// Messages received, and when the last one came.
    pub(super) received: u64,
    pub(super) heard_at: Option<Time>,
    /// When the last message of the exchange came, at first when the client came.
    connected_at: Time,
}

/// A queue pair of a client.
pub(super) struct DataPair {
    /// Its number there.
    number: QpNum,
    pub(super) id: PairId,
    own: Keys,
    /// Address and key of the client's memory.
    target: (u64, u32),
    /// Messages sent by this end, and acknowledged.
    posted: u64,
    pub(super) completed: u64,
}

/// Longest wait for the MAC address of a client.
const RESOLVE_MAX: Span = Span::from_ms(3_000);

/// Time after which a ping-pong that has closed its TCP connection counts as over.
const SILENCE_MAX: Span = Span::from_ms(5_000);

/// Messages in flight on each queue pair of a client with `-b`, as perftest has them.
const DEPTH: u64 = 128;
/// Rounds of keys before `ib_write_lat` starts.
pub(super) const WRITE_LAT_ROUNDS: usize = 4;

impl Client {
    pub(super) fn new(
        host: &mut Host,
        settings: &ServerSettings,
        role: Role,
        exchange: Option<Exchange>,
    ) -> Self {
        let size = settings.size_for(role);
        Self {
            exchange,
            role,
            mtu: settings.connection.mtu.min(host.interface().path_mtu()),
            pairs: Vec::new(),
            managed: Vec::new(),
            uses_manager: false,
            held: None,
            region: host.endpoint.register(2 * u64::from(size.max(CYCLE_BUFFER)), Access::ALL),
            size,
            iterations: settings.iterations_for(role),
            key_rounds: 0,
            is_pingpong: false,
            rping: RpingServer::default(),
            said_done: false,
            received: 0,
            heard_at: None,
            connected_at: host.now(),
        }
    }

    /// Handles what has arrived by TCP, if it is time to look there. Returns whether the client is still there.
    pub(super) fn step(
        &mut self,
        host: &mut Host,
        settings: &ServerSettings,
        is_tcp_due: bool,
    ) -> Result<bool, PeerError> {
        self.send_both_ways(host);
        if let Some((message, since)) = self.held.take() {
            return self.on_message(host, settings, &message, since);
        }
        let mut buffer = [0; MESSAGE_MAX];
        let Some(exchange) = self.exchange.as_mut().filter(|_| is_tcp_due) else {
            self.answer_write(host);
            return Ok(true);
        };
        let len = match exchange.poll(&mut buffer) {
            Incoming::Nothing => {
                self.answer_write(host);
                return Ok(true);
            }
            // `ibv_rc_pingpong` closes before its first message, and does not tell when it ends.
            Incoming::Closed if self.is_pingpong && self.said_done => {
                return Ok(!self.is_over(host));
            }
            Incoming::Closed => {
                // `ib_write_lat` closes without a word.
                self.said_done |= self.role == Role::AnswerWrites && self.has_posted_all();
                return Ok(false);
            }
            Incoming::Message(len) => len,
        };
        let now = host.now();
        self.connected_at = now;
        self.on_message(host, settings, &buffer[..len], now)
    }

    /// Whether nothing of the client has come for this long: its machine may have died. One that was set up by hand may
    /// take its time.
    pub(super) fn is_silent(&mut self, host: &Host, limit: Span) -> bool {
        let control = self.exchange.as_mut().and_then(Exchange::control).map(|control| control.pair);
        let is_by_hand = self.exchange.is_none() && !self.is_managed();
        let pairs = self.pairs.iter().map(|pair| pair.id).chain(control);
        let heard = pairs.map(|pair| host.endpoint.heard_at(pair)).fold(self.connected_at, Time::max);
        !is_by_hand && host.now().since(heard) > limit
    }

    /// Sends messages that wait.
    pub(super) fn pump(&mut self, host: &mut Host) {
        if let Some(exchange) = &mut self.exchange {
            exchange.pump(host);
        }
    }

    /// Handles a message that came at `since`.
    fn on_message(
        &mut self,
        host: &mut Host,
        settings: &ServerSettings,
        message: &[u8],
        since: Time,
    ) -> Result<bool, PeerError> {
        // The client's program ends with this exchange.
        if self.sends_both_ways() && !self.has_completed_all() {
            self.held = Some((message.to_vec(), since));
            return Ok(true);
        }
        match message.len() {
            PINGPONG_BYTES | KEYS_BYTES | MANAGED_KEYS_BYTES => {
                let is_pingpong = message.len() == PINGPONG_BYTES;
                let answered = if is_pingpong {
                    self.on_pingpong(host, settings, message)?
                } else {
                    self.on_keys(host, settings, message)?
                };
                if !answered && host.now().since(since) > RESOLVE_MAX {
                    return Err(self.unexpected("a known MAC address"));
                }
                self.held = (!answered).then(|| (message.to_vec(), since));
            }
            _ if message == DONE => {
                // The client of perftest waits for an answer, that of `ibv_rc_pingpong` does not.
                self.said_done = true;
                if !self.is_pingpong {
                    self.write(&DONE)?;
                    return Ok(false);
                }
            }
            16 => self.write(&VERSION)?,
            2 => {
                let mtu = parse_mtu(message).ok_or(self.unexpected("an MTU"))?;
                self.mtu = self.mtu.min(mtu);
                self.write(&mtu_message(self.mtu))?;
            }
            // Sizes of the cycle buffer and a cache line, and results: the larger counts, or nothing does.
            4 | 8 => self.write(message)?,
            _ => return Err(self.unexpected("a message of perftest")),
        }
        Ok(true)
    }

    /// Returns whether a ping-pong has all its messages, or is silent.
    fn is_over(&self, host: &Host) -> bool {
        let is_idle = self.pairs.iter().all(|pair| host.endpoint.is_idle(pair.id));
        let has_all = self.received >= self.iterations && is_idle;
        // The client may ask again for the last acknowledgement.
        let limit = if has_all { LINGER } else { SILENCE_MAX };
        host.now().since(self.heard_at.unwrap_or(self.connected_at)) > limit
    }

    fn unexpected(&self, awaited: &'static str) -> PeerError {
        let unspecified = SocketAddr::from(([0, 0, 0, 0], 0));
        let peer = self.exchange.as_ref().map_or(unspecified, |exchange| exchange.peer);
        PeerError::Unexpected { peer, awaited }
    }

    fn write(&mut self, message: &[u8]) -> Result<(), PeerError> {
        self.exchange.as_mut().map_or(Ok(()), |exchange| exchange.write(message))
    }

    /// Returns false if the client's MAC address is not known yet.
    fn on_pingpong(
        &mut self,
        host: &mut Host,
        settings: &ServerSettings,
        message: &[u8],
    ) -> Result<bool, PeerError> {
        let keys = Keys::parse_pingpong(message).ok_or(self.unexpected("addresses of ibv_rc_pingpong"))?;
        self.is_pingpong = true;
        // It does not tell its MTU: 1024 by default.
        self.mtu = self.mtu.min(1024);
        let own = self.offer(host)?;
        let Some(path) = host.known_path_to(keys.ip, own.pair)? else { return Ok(false) };
        self.connect(host, settings, own, keys, path)?;
        self.write(&own.to_pingpong())?;
        Ok(true)
    }

    /// Returns false if the client's MAC address is not known yet.
    fn on_keys(
        &mut self,
        host: &mut Host,
        settings: &ServerSettings,
        message: &[u8],
    ) -> Result<bool, PeerError> {
        if message.len() == MANAGED_KEYS_BYTES {
            return self.on_managed_keys(message).map(|()| true);
        }
        let keys = Keys::parse(message).ok_or(self.unexpected("keys of perftest"))?;
        let known = self.pairs.iter().find(|pair| pair.number == keys.pair);
        let own = if let Some(known) = known {
            known.own
        } else {
            let own = self.offer(host)?;
            let Some(path) = host.known_path_to(keys.ip, own.pair)? else { return Ok(false) };
            self.connect(host, settings, own, keys, path)?;
            own
        };
        self.write(&own.to_bytes())?;
        self.key_rounds += 1;
        Ok(true)
    }

    /// Keys of perftest with `-R`. The first ones have no queue pair: the client asks for it then.
    fn on_managed_keys(&mut self, message: &[u8]) -> Result<(), PeerError> {
        let keys = Keys::parse_managed(message).ok_or(self.unexpected("keys of perftest"))?;
        if keys.pair.get() == 0 {
            self.uses_manager = true;
            return self.write(&Keys { out_reads: 0, rkey: 0, address: 0, ..keys }.to_managed());
        }
        let unexpected = self.unexpected("a queue pair that it has asked for");
        let known = self.pairs.iter_mut().find(|pair| pair.number == keys.pair).ok_or(unexpected)?;
        known.target = (keys.address, keys.rkey);
        let own = known.own;
        self.key_rounds += 1;
        self.write(&own.to_managed())
    }

    /// Whether a client with `-R` has all its messages. It waits for this end to disconnect.
    pub(super) fn is_over_by_manager(&self, host: &Host) -> bool {
        if !self.uses_manager || self.pairs.is_empty() || self.managed.is_empty() {
            return false;
        }
        match self.role {
            Role::AnswerWrites => {
                let is_idle = self.pairs.iter().all(|pair| host.endpoint.is_idle(pair.id));
                self.has_posted_all() && self.received_last_write(host) && is_idle
            }
            // The keys of each queue pair twice, and of the first one three times, the last time after the data.
            _ => self.key_rounds >= 2 * self.pairs.len() + 3,
        }
    }

    fn received_last_write(&self, host: &Host) -> bool {
        let last = self.size.max(1) as usize - 1;
        host.endpoint.memory(self.region)[last] == self.iterations as u8
    }

    /// The parameters of the next queue pair.
    pub(super) fn offer(&self, host: &Host) -> Result<Keys, PeerError> {
        let id = host.endpoint.next_pair().ok_or_else(too_many)?;
        let (address, rkey) = host.endpoint.address_and_key(self.region);
        let out_reads = READS_MAX as u16;
        Ok(Keys {
            out_reads,
            pair: id.number(),
            psn: host.draw_psn(),
            rkey,
            address,
            ip: host.interface().ip,
        })
    }

    /// Connects the queue pair that was offered.
    pub(super) fn connect(
        &mut self,
        host: &mut Host,
        settings: &ServerSettings,
        own: Keys,
        peer: Keys,
        path: Path,
    ) -> Result<(), PeerError> {
        let first_psn = own.psn;
        let denies_writes = self.is_pingpong;
        let reads_max = peer.out_reads.min(READS_MAX as u16);
        let reads_max = if self.is_managed() { reads_max } else { READS_MAX as u16 };
        let config = settings.connection.config(self.mtu, reads_max, denies_writes);
        let remote = Remote { path, pair: peer.pair, first_psn: peer.psn };
        let merges_acks = settings.connection.merges_acks;
        let pair_settings = PairSettings { config, merges_acks, first_psn, access: Access::ALL };
        let id = host.endpoint.connect(pair_settings, remote).ok_or_else(too_many)?;
        for number in 0..RECEIVES {
            let posted = host.endpoint.post_receive(id, number, self.inbound());
            posted.expect("the region is at least as large, and the queue takes this many");
        }
        let target = (peer.address, peer.rkey);
        self.pairs.push(DataPair { number: peer.pair, id, own, target, posted: 0, completed: 0 });
        Ok(())
    }

    pub(super) fn is_pingpong(&self) -> bool {
        self.is_pingpong
    }

    /// Whether queue pairs come from the connection manager.
    fn is_managed(&self) -> bool {
        self.uses_manager || matches!(self.role, Role::Rping | Role::Ucmatose)
    }

    /// Receive buffer of every message.
    pub(super) fn inbound(&self) -> Slice {
        Slice { region: self.region, offset: 0, len: self.size.max(CYCLE_BUFFER) }
    }

    /// Where answers come from.
    pub(super) fn outbound(&self, len: u32) -> Slice {
        Slice { region: self.region, offset: u64::from(self.size.max(CYCLE_BUFFER)), len }
    }

    /// Whether it has exchanged all messages of `ucmatose`.
    pub(super) fn has_all(&self) -> bool {
        self.has_completed_all() && self.received >= self.iterations
    }

    fn has_posted_all(&self) -> bool {
        !self.pairs.is_empty() && self.pairs.iter().all(|pair| pair.posted >= self.iterations)
    }

    fn has_completed_all(&self) -> bool {
        self.pairs.iter().all(|pair| pair.completed >= self.iterations)
    }

    /// `ucmatose` gets all messages when it is connected.
    pub(super) fn send_all(&mut self, host: &mut Host) {
        self.post(host, Op::Send, u64::MAX);
    }

    /// Whether a client with `-b` expects messages. perftest exchanges the keys of each queue pair twice, and of the first
    /// one twice more.
    fn sends_both_ways(&self) -> bool {
        let is_ready = !self.pairs.is_empty() && self.key_rounds >= 2 * (self.pairs.len() + 1);
        matches!(self.role, Role::BothWays(_)) && is_ready
    }

    fn send_both_ways(&mut self, host: &mut Host) {
        if let Role::BothWays(op) = self.role
            && self.sends_both_ways()
        {
            self.post(host, op, DEPTH);
        }
    }

    /// Posts messages on each queue pair until this many are in flight.
    fn post(&mut self, host: &mut Host, op: Op, depth: u64) {
        let (local, now) = (self.outbound(self.size), host.now());
        for pair in &mut self.pairs {
            let (address, key) = pair.target;
            while pair.posted < self.iterations && pair.posted - pair.completed < depth {
                pair.posted += 1;
                let post = Post { id: pair.posted, op, local, address, key, imm: None, operands: [0; 2] };
                // A failed connection shows in its events.
                let _ = host.endpoint.post(now, pair.id, post);
            }
        }
    }

    /// A message of this end was acknowledged.
    pub(super) fn on_completed(&mut self, id: PairId) {
        if let Some(pair) = self.pairs.iter_mut().find(|pair| pair.id == id) {
            pair.completed += 1;
        }
    }

    /// `ib_write_lat` looks at the last byte of its buffer: the number of the message modulo 256, from 1. As it does,
    /// this end writes when its own last WRITE is acknowledged.
    fn answer_write(&mut self, host: &mut Host) {
        let is_ready = self.role == Role::AnswerWrites && self.key_rounds >= WRITE_LAT_ROUNDS;
        let Some(pair) = self.pairs.first().filter(|_| is_ready) else { return };
        let (last, number) = (self.size.max(1) as usize - 1, pair.posted as u8);
        let has_answer = pair.posted == 0 || host.endpoint.memory(self.region)[last] == number;
        if has_answer && pair.posted == pair.completed && pair.posted < self.iterations {
            let at = self.outbound(self.size).offset as usize + last;
            host.endpoint.memory_mut(self.region)[at] = number.wrapping_add(1);
            self.post(host, Op::Write, 1);
        }
    }
}

pub(super) fn too_many() -> PeerError {
    let source = std::io::Error::other("there are too many");
    PeerError::Io { what: "add a queue pair".to_owned(), source }
}
