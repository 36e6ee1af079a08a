//! A server for the clients of perftest and `ibv_rc_pingpong`.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};

use wiremend_proto::engine::Op;
use wiremend_units::{QpNum, Span, Time};

use super::exchange::{Exchange, Incoming, MESSAGE_MAX};
use super::{ConnectionSettings, LINGER};
use crate::endpoint::PairSettings;
use crate::event::Event;
use crate::host::{Host, HostSettings, LocalInterface, PeerError};
use crate::perftest::{
    CYCLE_BUFFER, DONE, KEYS_BYTES, Keys, PINGPONG_BYTES, VERSION, mtu_message, parse_mtu,
};
use crate::queue_pair::{PairId, Post, Remote};
use crate::region::{Access, RegionId, Slice};

/// What the server does besides answering requests. Clients do not say which test they run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Only takes what comes: `ib_write_bw`, `ib_send_bw`, `ib_read_bw`, `ib_read_lat`, `ib_atomic_bw`.
    Receive,
    /// Answers each SEND by a SEND: `ib_send_lat`.
    AnswerSends,
    /// Writes first, and again after each WRITE of the client: `ib_write_lat`.
    AnswerWrites,
}

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The interface; `None`: the one through which the first client comes.
    pub interface: Option<LocalInterface>,
    /// What it does.
    pub role: Role,
    /// Message length: the least size of a buffer.
    pub size: u32,
    /// Messages of `ib_write_lat` and `ibv_rc_pingpong`.
    pub iterations: u64,
    /// End after this number of clients; `None`: never.
    pub clients_max: Option<u64>,
    /// Parameters of queue pairs.
    pub connection: ConnectionSettings,
    /// Settings of the host.
    pub host: HostSettings,
}

/// What a server has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ServerStatus {
    /// Clients whose connection has ended.
    pub served: u64,
    /// Clients at present.
    pub clients: u64,
    /// Messages received in receive buffers.
    pub received: u64,
    /// Clients that ended without a complete exchange, or whose requests were refused.
    pub failed: u64,
    /// Frames received.
    pub frames_in: u64,
    /// Frames sent.
    pub frames_out: u64,
    /// Frames dropped on purpose.
    pub dropped: u64,
}

/// Receive buffers of a queue pair, as perftest has them.
const RECEIVES: u64 = 512;
/// Clients at a time.
const CLIENTS_MAX: usize = 1024;

/// A server.
pub struct Server {
    settings: ServerSettings,
    listener: TcpListener,
    host: Option<Host>,
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    status: ServerStatus,
}

struct Client {
    /// The TCP connection; `None`: set up by hand.
    exchange: Option<Exchange>,
    mtu: u16,
    /// Numbers of the client's queue pairs, and those here.
    pairs: Vec<(QpNum, PairId, Keys)>,
    /// Where the client's messages go, and where answers come from.
    region: RegionId,
    size: u32,
    key_rounds: usize,
    is_pingpong: bool,
    /// Address and key of the client's memory, for `ib_write_lat`.
    target: (u64, u32),
    /// WRITEs sent to `ib_write_lat`.
    written: u64,
    said_done: bool,
    /// Messages received, and when the last one came.
    received: u64,
    heard_at: Option<Time>,
    connected_at: Time,
}

/// Time after which a ping-pong that has closed its TCP connection counts as over.
const SILENCE_MAX: Span = Span::from_ms(5_000);

/// Rounds of keys before `ib_write_lat` starts.
const WRITE_LAT_ROUNDS: usize = 4;

impl Server {
    /// Starts to listen.
    pub fn start(settings: ServerSettings) -> Result<Self, PeerError> {
        let address = settings.listen;
        let listener = TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| PeerError::Listen(address, error))?;
        let mut server = Self {
            settings,
            listener,
            host: None,
            clients: BTreeMap::new(),
            next_client: 0,
            status: ServerStatus::default(),
        };
        if let Some(interface) = server.settings.interface.clone() {
            server.open(interface)?;
        }
        Ok(server)
    }

    fn open(&mut self, interface: LocalInterface) -> Result<(), PeerError> {
        self.host = Some(Host::open(self.settings.host.clone(), interface)?);
        Ok(())
    }

    /// What it has done so far.
    pub fn status(&self) -> ServerStatus {
        let counters = self.host.as_ref().map_or_else(Default::default, |host| host.endpoint.counters());
        ServerStatus {
            clients: self.clients.len() as u64,
            frames_in: counters.frames,
            frames_out: counters.sent,
            dropped: self.host.as_ref().map_or(0, |host| host.drops().count()),
            ..self.status
        }
    }

    /// Returns whether it has served as many clients as it should.
    pub fn is_finished(&self) -> bool {
        self.settings.clients_max.is_some_and(|max| self.status.served >= max) && self.clients.is_empty()
    }

    /// Works for a few milliseconds at most.
    pub fn turn(&mut self) -> Result<(), PeerError> {
        self.accept()?;
        let Some(host) = &mut self.host else {
            if self.settings.host.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(PeerError::Stopped);
            }
            std::thread::park_timeout(std::time::Duration::from_millis(5));
            return Ok(());
        };
        host.turn()?;
        while let Some(event) = host.endpoint.poll_event() {
            on_event(host, &self.settings, &mut self.clients, &mut self.status, &event);
        }
        let mut ended = Vec::new();
        for (number, client) in &mut self.clients {
            match client.step(host, &self.settings) {
                Ok(true) => {}
                Ok(false) => ended.push((*number, !client.said_done)),
                Err(error) => {
                    ended.push((*number, true));
                    if matches!(error, PeerError::Stopped) {
                        return Err(error);
                    }
                }
            }
        }
        for (number, is_failure) in ended {
            self.end(number, is_failure);
        }
        Ok(())
    }

    /// Ends the capture.
    pub fn finish(&mut self) -> Result<(), PeerError> {
        self.host.as_mut().map_or(Ok(()), Host::finish)
    }

    fn end(&mut self, number: u64, is_failure: bool) {
        let (Some(client), Some(host)) = (self.clients.remove(&number), &mut self.host) else { return };
        for (_, pair, _) in &client.pairs {
            host.endpoint.remove(*pair);
        }
        host.endpoint.release(client.region);
        self.status.served += 1;
        self.status.failed += u64::from(is_failure);
    }

    fn accept(&mut self) -> Result<(), PeerError> {
        if self.clients.len() >= CLIENTS_MAX {
            return Ok(());
        }
        let Ok((stream, peer)) = self.listener.accept() else { return Ok(()) };
        let Ok(local) = stream.local_addr() else { return Ok(()) };
        if self.host.is_none() {
            self.open(LocalInterface::with_address(local.ip().to_canonical())?)?;
        }
        // A connection that is gone already is not a client.
        if let Ok(exchange) = Exchange::new(stream, peer) {
            self.add(Some(exchange));
        }
        Ok(())
    }

    /// Connects to a peer whose parameters come by hand: `ask` takes own ones. The interface must be known.
    pub fn connect_by_hand(
        &mut self,
        ask: &mut dyn FnMut(&Keys) -> Result<Keys, PeerError>,
    ) -> Result<(), PeerError> {
        let Some(number) = self.add(None) else { return Ok(()) };
        let (Some(client), Some(host)) = (self.clients.get_mut(&number), &mut self.host) else {
            return Ok(());
        };
        let own = client.offer(host)?;
        let peer = ask(&own)?;
        client.key_rounds = WRITE_LAT_ROUNDS;
        client.connect(host, &self.settings, own, peer)
    }

    fn add(&mut self, exchange: Option<Exchange>) -> Option<u64> {
        let host = self.host.as_mut()?;
        let size = self.settings.size;
        let region = host.endpoint.register(2 * u64::from(size.max(CYCLE_BUFFER)), Access::ALL);
        let client = Client {
            exchange,
            mtu: self.settings.connection.mtu.min(host.interface().path_mtu()),
            pairs: Vec::new(),
            region,
            size,
            key_rounds: 0,
            is_pingpong: false,
            target: (0, 0),
            written: 0,
            said_done: false,
            received: 0,
            heard_at: None,
            connected_at: host.now(),
        };
        let number = self.next_client;
        self.clients.insert(number, client);
        self.next_client += 1;
        Some(number)
    }
}

impl Client {
    /// Handles what has arrived by TCP. Returns whether the client is still there.
    fn step(&mut self, host: &mut Host, settings: &ServerSettings) -> Result<bool, PeerError> {
        let mut buffer = [0; MESSAGE_MAX];
        let Some(exchange) = &mut self.exchange else {
            self.answer_write(host, settings);
            return Ok(true);
        };
        let len = match exchange.poll(&mut buffer) {
            Incoming::Nothing => {
                self.answer_write(host, settings);
                return Ok(true);
            }
            // `ibv_rc_pingpong` closes before its first message, and does not tell when it ends.
            Incoming::Closed if self.is_pingpong && self.said_done => {
                return Ok(!self.is_over(host, settings));
            }
            Incoming::Closed => {
                // `ib_write_lat` closes without a word.
                self.said_done |= settings.role == Role::AnswerWrites && self.written >= settings.iterations;
                return Ok(false);
            }
            Incoming::Message(len) => len,
        };
        let message = &buffer[..len];
        match len {
            PINGPONG_BYTES => self.on_pingpong(host, settings, message)?,
            KEYS_BYTES => self.on_keys(host, settings, message)?,
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
    fn is_over(&self, host: &Host, settings: &ServerSettings) -> bool {
        let is_idle = self.pairs.iter().all(|(_, pair, _)| host.endpoint.is_idle(*pair));
        let has_all = self.received >= settings.iterations && is_idle;
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

    fn on_pingpong(
        &mut self,
        host: &mut Host,
        settings: &ServerSettings,
        message: &[u8],
    ) -> Result<(), PeerError> {
        let keys = Keys::parse_pingpong(message).ok_or(self.unexpected("addresses of ibv_rc_pingpong"))?;
        self.is_pingpong = true;
        // It does not tell its MTU: 1024 by default.
        self.mtu = self.mtu.min(1024);
        let own = self.offer(host)?;
        self.connect(host, settings, own, keys)?;
        self.write(&own.to_pingpong())
    }

    fn on_keys(
        &mut self,
        host: &mut Host,
        settings: &ServerSettings,
        message: &[u8],
    ) -> Result<(), PeerError> {
        let keys = Keys::parse(message).ok_or(self.unexpected("keys of perftest"))?;
        let known = self.pairs.iter().find(|(number, ..)| *number == keys.pair);
        let own = if let Some((_, _, own)) = known {
            *own
        } else {
            let own = self.offer(host)?;
            self.connect(host, settings, own, keys)?;
            own
        };
        self.write(&own.to_bytes())?;
        self.key_rounds += 1;
        Ok(())
    }

    /// The parameters of the next queue pair.
    fn offer(&self, host: &Host) -> Result<Keys, PeerError> {
        let id = host.endpoint.next_pair().ok_or_else(too_many)?;
        let (address, rkey) = host.endpoint.address_and_key(self.region);
        let out_reads = super::READS_MAX as u16;
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
    fn connect(
        &mut self,
        host: &mut Host,
        settings: &ServerSettings,
        own: Keys,
        peer: Keys,
    ) -> Result<(), PeerError> {
        let path = host.path_to(peer.ip, own.pair)?;
        let first_psn = own.psn;
        let denies_writes = self.is_pingpong;
        let config = settings.connection.config(self.mtu, super::READS_MAX as u16, denies_writes);
        let remote = Remote { path, pair: peer.pair, first_psn: peer.psn };
        let merges_acks = settings.connection.merges_acks;
        let pair_settings = PairSettings { config, merges_acks, first_psn, access: Access::ALL };
        let id = host.endpoint.connect(pair_settings, remote).ok_or_else(too_many)?;
        for number in 0..RECEIVES {
            let posted = host.endpoint.post_receive(id, number, self.inbound());
            posted.expect("the region is at least as large, and the queue takes this many");
        }
        self.pairs.push((peer.pair, id, own));
        self.target = (peer.address, peer.rkey);
        Ok(())
    }

    /// Receive buffer of every message.
    fn inbound(&self) -> Slice {
        Slice { region: self.region, offset: 0, len: self.size.max(CYCLE_BUFFER) }
    }

    /// Where answers come from.
    fn outbound(&self, len: u32) -> Slice {
        Slice { region: self.region, offset: u64::from(self.size.max(CYCLE_BUFFER)), len }
    }

    /// `ib_write_lat` looks at the last byte of its buffer: the number of the message modulo 256, from 1.
    fn answer_write(&mut self, host: &mut Host, settings: &ServerSettings) {
        let is_ready = settings.role == Role::AnswerWrites && self.key_rounds >= WRITE_LAT_ROUNDS;
        let Some((_, pair, _)) = self.pairs.first().copied().filter(|_| is_ready) else { return };
        if self.written >= settings.iterations {
            return;
        }
        let last = self.size.max(1) as usize - 1;
        if self.written == 0 || host.endpoint.memory(self.region)[last] == self.written as u8 {
            self.written += 1;
            let slice = self.outbound(self.size);
            let at = slice.offset as usize + last;
            host.endpoint.memory_mut(self.region)[at] = self.written as u8;
            let (address, key) = self.target;
            let post = Post { id: 0, op: Op::Write, local: slice, address, key, imm: None, operands: [0; 2] };
            // A failed connection shows in its events.
            let _ = host.endpoint.post(host.now(), pair, post);
        }
    }
}

fn too_many() -> PeerError {
    let source = std::io::Error::other("there are too many");
    PeerError::Io { what: "add a queue pair".to_owned(), source }
}

fn on_event(
    host: &mut Host,
    settings: &ServerSettings,
    clients: &mut BTreeMap<u64, Client>,
    status: &mut ServerStatus,
    event: &Event,
) {
    match *event {
        Event::Received { pair, id, op: Op::Send, len, .. } => {
            status.received += 1;
            let has_pair = |client: &&mut Client| client.pairs.iter().any(|(_, own, _)| *own == pair);
            let Some(client) = clients.values_mut().find(has_pair) else { return };
            client.received += 1;
            client.heard_at = Some(host.now());
            // Both fail only if the queue pair is gone.
            let _ = host.endpoint.post_receive(pair, id, client.inbound());
            if client.is_pingpong || settings.role == Role::AnswerSends {
                let local = client.outbound(len.min(client.size.max(CYCLE_BUFFER)));
                let post = Post { id, op: Op::Send, local, address: 0, key: 0, imm: None, operands: [0; 2] };
                let _ = host.endpoint.post(host.now(), pair, post);
            }
        }
        Event::Received { .. } => status.received += 1,
        Event::Refused { .. } => status.failed += 1,
        Event::Completed { .. } | Event::Expired { .. } => {}
    }
}
