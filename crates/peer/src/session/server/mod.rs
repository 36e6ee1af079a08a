//! A server for the clients of perftest and `ibv_rc_pingpong`.

mod client;
mod managed;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};

use wiremend_proto::engine::{Op, Status};
use wiremend_units::{Span, Time};

use self::client::{Client, WRITE_LAT_ROUNDS};
use super::ConnectionSettings;
use super::exchange::Exchange;
use super::live::Live;
use crate::drops::StallCause;
use crate::event::Event;
use crate::host::{Host, HostSettings, LocalInterface, PeerError};
use crate::perftest::{Keys, Tool};
use crate::queue_pair::Post;

/// What the server does besides answering requests. Clients do not say which test they run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Only takes what comes: `ib_write_bw`, `ib_send_bw`, `ib_read_bw`, `ib_read_lat`, `ib_atomic_bw`.
    Receive,
    /// Answers each SEND by a SEND: `ib_send_lat`.
    AnswerSends,
    /// Writes first, and again after each WRITE of the client: `ib_write_lat`.
    AnswerWrites,
    /// Sends as many messages as the client, by this operation: `ib_write_bw`, `ib_send_bw` and `ib_read_bw` with `-b`.
    BothWays(Op),
    /// Reads what the client names, and writes it back: `rping`. The connection manager sets it up.
    Rping,
    /// Sends all messages, then takes as many: `ucmatose`. The connection manager sets it up.
    Ucmatose,
}

/// Settings of a server.
#[derive(Debug)]
pub struct ServerSettings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The interface; `None`: the one through which the first client comes.
    pub interface: Option<LocalInterface>,
    /// What it does.
    pub role: Role,
    /// Message length: the least size of a buffer. `None`: that of the client's program.
    pub size: Option<u32>,
    /// Messages of `ib_write_lat`, `ibv_rc_pingpong` and `ucmatose`. `None`: as many as the program by default.
    pub iterations: Option<u64>,
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
    /// Datagrams of connection managers that fit nothing, or were too many.
    pub ignored: u64,
}

impl ServerSettings {
    fn size_for(&self, role: Role) -> u32 {
        let default = match role {
            Role::Ucmatose => Tool::Ucmatose.default_size(),
            _ => Tool::WriteBw.default_size(),
        };
        self.size.unwrap_or(default)
    }

    fn iterations_for(&self, role: Role) -> u64 {
        let default = match role {
            Role::Ucmatose => Tool::Ucmatose.default_iterations(),
            Role::BothWays(Op::Write) => Tool::WriteBw.default_iterations(),
            _ => Tool::WriteLat.default_iterations(),
        };
        self.iterations.unwrap_or(default)
    }

    /// The role for clients that come by TCP.
    fn tcp_role(&self) -> Role {
        match self.role {
            Role::Rping | Role::Ucmatose => Role::Receive,
            role => role,
        }
    }
}

/// Receive buffers of a queue pair, as perftest has them.
const RECEIVES: u64 = 512;
/// Interval between looks for silent clients.
const LOOK_INTERVAL: Span = Span::from_ms(100);
/// Interval between looks at sockets of TCP while frames pass: each costs as much as several frames.
const TCP_INTERVAL: Span = Span::from_ms(1);
/// Clients at a time.
const CLIENTS_MAX: usize = 1024;

/// A server.
pub struct Server {
    settings: ServerSettings,
    listener: TcpListener,
    host: Option<Host>,
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    /// When silent clients are looked for again, and when sockets of TCP are.
    look_at: Time,
    tcp_at: Time,
    status: ServerStatus,
    /// Timeouts of this end by cause.
    causes: BTreeMap<StallCause, u64>,
}

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
            look_at: Time::ZERO,
            tcp_at: Time::ZERO,
            status: ServerStatus::default(),
            causes: BTreeMap::new(),
        };
        if let Some(interface) = server.settings.interface.clone() {
            server.open(interface)?;
        }
        Ok(server)
    }

    fn open(&mut self, interface: LocalInterface) -> Result<(), PeerError> {
        let at = interface.ip;
        let mut host = Host::open(std::mem::take(&mut self.settings.host), interface)?;
        host.endpoint.manager_mut().listen(at);
        self.host = Some(host);
        Ok(())
    }

    /// What it has done so far.
    pub fn status(&self) -> ServerStatus {
        let counters = self.host.as_ref().map_or_else(Default::default, |host| host.endpoint.counters());
        let manager =
            self.host.as_ref().map_or_else(Default::default, |host| host.endpoint.manager().counters());
        ServerStatus {
            clients: self.clients.len() as u64,
            frames_in: counters.frames,
            frames_out: counters.sent,
            dropped: self.host.as_ref().map_or(0, |host| host.drops().count()),
            ignored: manager.malformed + manager.unexpected + manager.too_many + manager.not_sent,
            ..self.status
        }
    }

    /// What it is doing now; `None`: no client has come.
    pub fn live(&self) -> Option<Live<'_>> {
        let host = self.host.as_ref()?;
        Some(Live { done: self.status.received, causes: &self.causes, endpoint: &host.endpoint })
    }

    /// Timeouts of this end, by cause.
    pub fn causes(&self) -> &BTreeMap<StallCause, u64> {
        &self.causes
    }

    /// Returns whether it has served as many clients as it should.
    pub fn is_finished(&self) -> bool {
        let is_ending = self.host.as_ref().is_some_and(|host| host.endpoint.manager().is_ending());
        let has_enough = self.settings.clients_max.is_some_and(|max| self.status.served >= max);
        has_enough && self.clients.is_empty() && !is_ending
    }

    /// Works for a few milliseconds at most.
    pub fn turn(&mut self) -> Result<(), PeerError> {
        let is_tcp_due = self.host.as_ref().is_none_or(|host| host.now() >= self.tcp_at);
        if is_tcp_due {
            self.accept()?;
        }
        let Some(host) = &mut self.host else {
            if self.settings.host.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(PeerError::Stopped);
            }
            std::thread::park_timeout(std::time::Duration::from_millis(5));
            return Ok(());
        };
        if is_tcp_due {
            self.tcp_at = host.now().saturating_add(TCP_INTERVAL);
        }
        host.turn()?;
        let mut ended = Vec::new();
        while let Some(event) = host.endpoint.poll_event() {
            if let Event::Expired { expiry, .. } = &event {
                *self.causes.entry(host.drops().cause(expiry)).or_default() += 1;
            }
            ended.extend(on_event(host, &mut self.clients, &mut self.status, &event));
        }
        for (number, is_failure) in ended {
            self.end(number, is_failure);
        }
        self.on_manager();
        let Some(host) = &mut self.host else { return Ok(()) };
        let mut ended = Vec::new();
        for (number, client) in &mut self.clients {
            let stepped = client.step(host, &self.settings, is_tcp_due);
            client.pump(host);
            if client.is_over_by_manager(host) {
                // The exchange ends when the client disconnects.
                client.said_done = true;
                let now = host.now();
                for id in client.managed.drain(..) {
                    host.endpoint.manager_mut().disconnect(now, id);
                }
            }
            match stepped {
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
        if host.now() >= self.look_at {
            self.look_at = host.now().saturating_add(LOOK_INTERVAL);
            let limit = self.settings.connection.silence_max;
            let silent = self
                .clients
                .iter_mut()
                .filter_map(|(number, client)| client.is_silent(host, limit).then_some((*number, true)));
            ended.extend(silent);
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
        let (Some(mut client), Some(host)) = (self.clients.remove(&number), &mut self.host) else { return };
        for pair in &client.pairs {
            host.endpoint.remove(pair.id);
        }
        let now = host.now();
        if let Some(control) = client.exchange.as_mut().and_then(Exchange::control) {
            control.remove(host);
            client.managed.push(control.id);
        }
        for id in &client.managed {
            host.endpoint.manager_mut().disconnect(now, *id);
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
        let path = host.path_to(peer.ip, own.pair)?;
        client.connect(host, &self.settings, own, peer, path)
    }

    fn add(&mut self, exchange: Option<Exchange>) -> Option<u64> {
        let host = self.host.as_mut()?;
        let client = Client::new(host, &self.settings, self.settings.tcp_role(), exchange);
        let number = self.next_client;
        self.clients.insert(number, client);
        self.next_client += 1;
        Some(number)
    }
}

/// Handles an event of the endpoint. Returns the client that has ended by it, and whether that is a failure.
fn on_event(
    host: &mut Host,
    clients: &mut BTreeMap<u64, Client>,
    status: &mut ServerStatus,
    event: &Event,
) -> Option<(u64, bool)> {
    let pair = event.pair();
    for client in clients.values_mut() {
        let control = client.exchange.as_mut().and_then(Exchange::control);
        if control.is_some_and(|control| control.on_event(host, event)) {
            return None;
        }
    }
    status.received += u64::from(matches!(event, Event::Received { .. }));
    let has_pair = |client: &Client| client.pairs.iter().any(|own| own.id == pair);
    let (number, client) = clients.iter_mut().find(|(_, client)| has_pair(client))?;
    match *event {
        Event::Received { id, op: Op::Send, len, .. } => {
            client.received += 1;
            client.heard_at = Some(host.now());
            // Both fail only if the queue pair is gone.
            let _ = host.endpoint.post_receive(pair, id, client.inbound());
            match client.role {
                Role::Rping => {
                    let makes_sense = client.rping_received(host, pair, len);
                    return (!makes_sense).then_some((*number, true));
                }
                Role::Ucmatose => return client.has_all().then_some((*number, false)),
                Role::BothWays(_) => return None,
                Role::Receive | Role::AnswerWrites if !client.is_pingpong() => return None,
                Role::Receive | Role::AnswerWrites | Role::AnswerSends => {}
            }
            let local = client.outbound(len.min(client.inbound().len));
            let post = Post { id, op: Op::Send, local, address: 0, key: 0, imm: None, operands: [0; 2] };
            let _ = host.endpoint.post(host.now(), pair, post);
        }
        Event::Completed { status: Status::Success, op, .. } => {
            client.on_completed(pair);
            match client.role {
                Role::Rping => client.rping_completed(host, pair, op),
                Role::Ucmatose => return client.has_all().then_some((*number, false)),
                _ => {}
            }
        }
        // The client waits for the other messages.
        Event::Completed { .. } if matches!(client.role, Role::BothWays(_)) => return Some((*number, true)),
        // Only the connection manager would tell the peer that the connection has failed.
        Event::Completed { .. } if client.exchange.is_none() && !client.managed.is_empty() => {
            return Some((*number, true));
        }
        Event::Refused { .. } => status.failed += 1,
        Event::Received { .. } | Event::Completed { .. } | Event::Expired { .. } => {}
    }
    None
}
