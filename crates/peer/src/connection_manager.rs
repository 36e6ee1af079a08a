//! The connection manager: sets up and ends connections by datagrams to queue pair 1 (IBA 12), without clock or socket.
//!
//! ```text
//!  client                                server
//!  connect            ── REQ ─►          Requested
//!  Replied            ◄─ REP ──          accept (or reject: ◄─ REJ ──)
//!  ready              ── RTU ─►          Ready
//!  disconnect         ── DREQ ─►         Ended
//!  Ended              ◄─ DREP ──
//! ```
//!
//! Either end may disconnect. Messages that are not answered are repeated. Everything is bounded: connections, those
//! that are not complete, and datagrams that wait to be sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use wiremend_units::{QpNum, Span, Time};
use wiremend_wire::{CmIds, CmMessage, CmReject, CmReply, CmRequest, Mad};

use crate::path::Path;

/// A connection at this end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(u32);

/// What happened to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CmEvent {
    /// A peer asks for one: accept or reject it.
    Requested {
        /// The connection.
        id: ConnectionId,
        /// What the peer asks for.
        request: CmRequest,
        /// The way back to it.
        path: Path,
    },
    /// The peer has accepted.
    Replied {
        /// The connection.
        id: ConnectionId,
        /// Its queue pair.
        reply: CmReply,
    },
    /// The peer is ready: it knows that this end has accepted.
    Ready {
        /// The connection.
        id: ConnectionId,
    },
    /// The peer refuses, or ends an attempt. The connection does not exist any more.
    Rejected {
        /// The connection.
        id: ConnectionId,
        /// Why.
        reason: u16,
    },
    /// The peer does not answer. The connection does not exist any more.
    Unreachable {
        /// The connection.
        id: ConnectionId,
    },
    /// One end has ended it. The connection does not exist any more.
    Ended {
        /// The connection.
        id: ConnectionId,
    },
}

impl CmEvent {
    /// The connection.
    pub const fn id(&self) -> ConnectionId {
        match *self {
            Self::Requested { id, .. }
            | Self::Replied { id, .. }
            | Self::Ready { id }
            | Self::Rejected { id, .. }
            | Self::Unreachable { id }
            | Self::Ended { id } => id,
        }
    }
}

/// Counters of a connection manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CmCounters {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams that are no message of a connection manager.
    pub malformed: u64,
    /// Messages that fit no connection, or not its state.
    pub unexpected: u64,
    /// Requests refused because there are too many connections.
    pub too_many: u64,
    /// Datagrams not sent because too many wait.
    pub not_sent: u64,
    /// Messages sent again.
    pub repeated: u64,
}

/// Connections of one endpoint.
pub const CONNECTIONS_MAX: usize = 1024;
/// Connections that are not complete. More requests are refused, so that a flood of them binds little memory.
pub const HALF_OPEN_MAX: usize = 128;
/// Datagrams that wait to be sent.
const OUTBOX_MAX: usize = 256;
/// Time after which a message is repeated.
const REPEAT_AFTER: Span = Span::from_ms(1_000);
/// Repetitions of a request or reply.
const TRIES_MAX: u32 = 30;
/// Repetitions of the end: the peer may be gone.
const END_TRIES_MAX: u32 = 5;
/// Longest time for which a peer may ask.
const WAIT_MAX: Span = Span::from_ms(60_000);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// REQ was sent.
    Requesting,
    /// REP has come; RTU follows when the queue pair exists.
    Answered,
    /// REQ has come.
    Asked,
    /// REP was sent.
    Replying,
    Established,
    /// DREQ was sent.
    Ending,
}

#[derive(Debug)]
struct Connection {
    path: Path,
    state: State,
    ids: CmIds,
    transaction: u64,
    /// Queue pairs here and there.
    pairs: [QpNum; 2],
    /// The message that is repeated until it is answered.
    message: Option<CmMessage>,
    repeat_at: Time,
    tries: u32,
}

/// A connection manager.
#[derive(Debug, Default)]
pub struct ConnectionManager {
    connections: BTreeMap<u32, Connection>,
    /// Connections by address and identifier of the peer.
    by_peer: BTreeMap<(IpAddr, u32), u32>,
    timers: BTreeSet<(Time, u32)>,
    outbox: VecDeque<(Path, [u8; Mad::BYTES])>,
    events: VecDeque<CmEvent>,
    counters: CmCounters,
    last_id: u32,
    /// The address of this end, once it has one: datagrams to others are ignored.
    address: Option<IpAddr>,
    is_listening: bool,
}

impl ConnectionManager {
    /// Creates a manager. Its identifiers begin behind `seed`, so that they differ from those of its predecessor.
    pub fn new(seed: u32) -> Self {
        Self { last_id: wiremend_units::mix(u64::from(seed)) as u32, ..Self::default() }
    }

    /// Takes requests to this address from now on. Without it they are refused: nobody serves them.
    pub fn listen(&mut self, at: IpAddr) {
        (self.address, self.is_listening) = (Some(at), true);
    }

    /// Sends a request, with an identifier of this manager in it.
    pub fn connect(&mut self, now: Time, path: Path, request: CmRequest) -> Option<ConnectionId> {
        if self.connections.len() >= CONNECTIONS_MAX {
            return None;
        }
        self.address = Some(path.local_ip);
        let local = self.new_id();
        let message = CmMessage::Request(CmRequest { local_id: local, ..request });
        self.connections.insert(
            local,
            Connection {
                path,
                state: State::Requesting,
                ids: CmIds { local, remote: 0 },
                transaction: u64::from(local),
                pairs: [request.pair, QpNum::new(0)],
                message: None,
                repeat_at: Time::MAX,
                tries: 0,
            },
        );
        self.send_until_answered(now, local, message);
        Some(ConnectionId(local))
    }

    /// Accepts a request, with this queue pair.
    pub fn accept(&mut self, now: Time, id: ConnectionId, reply: CmReply) {
        let Some(connection) = self.connections.get_mut(&id.0) else { return };
        connection.state = State::Replying;
        connection.pairs[0] = reply.pair;
        let message = CmMessage::Reply(CmReply { ids: connection.ids, ..reply });
        self.send_until_answered(now, id.0, message);
    }

    /// Refuses a request.
    pub fn reject(&mut self, id: ConnectionId, reason: u16) {
        let Some(connection) = self.remove(id.0) else { return };
        self.send_reject(&connection, reason);
    }

    /// Tells the peer that its reply has come and that the queue pair exists.
    pub fn ready(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id.0) else { return };
        connection.state = State::Established;
        let (path, ids, transaction) = (connection.path, connection.ids, connection.transaction);
        self.send(path, &CmMessage::Ready(ids), transaction);
    }

    /// Ends a connection. [`CmEvent::Ended`] follows when the peer knows it, or does not answer. Returns false if it
    /// does not exist any more.
    pub fn disconnect(&mut self, now: Time, id: ConnectionId) -> bool {
        let Some(connection) = self.connections.get_mut(&id.0) else { return false };
        connection.state = State::Ending;
        connection.transaction = u64::from(id.0) | 1 << 32;
        let message = CmMessage::Disconnect(connection.ids, connection.pairs[1]);
        self.send_until_answered(now, id.0, message);
        true
    }

    /// Takes a datagram to queue pair 1; `path` is the way back.
    pub fn on_datagram(&mut self, now: Time, path: Path, payload: &[u8]) {
        self.counters.received += 1;
        if self.address != Some(path.local_ip) {
            self.counters.unexpected += 1;
            return;
        }
        let mad = Mad::parse(payload).filter(|mad| payload.len() == Mad::BYTES && mad.method == Mad::SEND);
        let Some((mad, message)) = mad.and_then(|mad| Some((mad, CmMessage::parse(&mad)?))) else {
            self.counters.malformed += 1;
            return;
        };
        match message {
            CmMessage::Request(request) => self.on_request(path, request, mad.transaction),
            CmMessage::Reply(reply) => self.on_reply(path, reply),
            CmMessage::Reject(ids, reject) => self.on_reject(path, ids, reject),
            CmMessage::Wait(ids, exponent) => self.on_wait(now, path, ids, exponent),
            CmMessage::Ready(ids) => self.on_ready(path, ids),
            CmMessage::Disconnect(ids, pair) => self.on_disconnect(path, ids, pair, mad.transaction),
            CmMessage::Disconnected(ids) => match self.find(path, ids) {
                Some(id) if self.connections[&id].state == State::Ending => self.end(id),
                _ => self.counters.unexpected += 1,
            },
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<CmEvent> {
        self.events.pop_front()
    }

    /// Returns the next datagram and its way.
    pub fn poll_transmit(&mut self) -> Option<(Path, [u8; Mad::BYTES])> {
        self.outbox.pop_front()
    }

    /// Time of the next call to [`Self::on_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Repeats messages that were not answered.
    pub fn on_timeout(&mut self, now: Time) {
        while let Some(&(at, id)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, id));
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            connection.tries += 1;
            connection.repeat_at = Time::MAX;
            let is_ending = connection.state == State::Ending;
            if connection.tries < if is_ending { END_TRIES_MAX } else { TRIES_MAX } {
                let (path, transaction) = (connection.path, connection.transaction);
                if let Some(message) = connection.message {
                    self.counters.repeated += 1;
                    self.send(path, &message, transaction);
                    self.repeat_at(now.saturating_add(REPEAT_AFTER), id);
                }
            } else if is_ending {
                self.end(id);
            } else if let Some(connection) = self.remove(id) {
                self.send_reject(&connection, CmReject::TIMEOUT);
                self.events.push_back(CmEvent::Unreachable { id: ConnectionId(id) });
            }
        }
    }

    /// Number of connections, incomplete and ending ones included.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Returns whether the end of a connection is not answered yet.
    pub fn is_ending(&self) -> bool {
        self.connections.values().any(|connection| connection.state == State::Ending)
    }

    /// Returns whether a datagram waits to be sent.
    pub fn has_output(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Counters.
    pub fn counters(&self) -> CmCounters {
        self.counters
    }

    fn on_request(&mut self, path: Path, request: CmRequest, transaction: u64) {
        let key = (path.remote_ip, request.local_id);
        if let Some(&id) = self.by_peer.get(&key) {
            let known = &self.connections[&id];
            let is_same = known.pairs[1] == request.pair;
            if is_same && known.state == State::Replying {
                // The reply was lost.
                let (path, transaction, message) = (known.path, known.transaction, known.message);
                if let Some(message) = message {
                    self.counters.repeated += 1;
                    self.send(path, &message, transaction);
                }
            }
            if is_same {
                return;
            }
            // The peer has restarted and uses the identifier again.
            self.end(id);
        }
        let connection = |local| Connection {
            path,
            state: State::Asked,
            ids: CmIds { local, remote: request.local_id },
            transaction,
            pairs: [QpNum::new(0), request.pair],
            message: None,
            repeat_at: Time::MAX,
            tries: 0,
        };
        if !self.is_listening {
            return self.send_reject(&connection(0), CmReject::INVALID_SERVICE);
        }
        let half_open = self.timers.len() + self.events.len();
        if self.connections.len() >= CONNECTIONS_MAX || half_open >= HALF_OPEN_MAX {
            self.counters.too_many += 1;
            return self.send_reject(&connection(0), CmReject::NO_RESOURCES);
        }
        let local = self.new_id();
        self.by_peer.insert(key, local);
        self.connections.insert(local, connection(local));
        self.events.push_back(CmEvent::Requested { id: ConnectionId(local), request, path });
    }

    fn on_reply(&mut self, path: Path, reply: CmReply) {
        let ids = reply.ids;
        let known = self.connections.get_mut(&ids.remote);
        let Some(connection) = known.filter(|one| one.path.remote_ip == path.remote_ip) else {
            self.counters.unexpected += 1;
            return;
        };
        match connection.state {
            State::Requesting => {
                connection.state = State::Answered;
                connection.ids.remote = ids.local;
                connection.pairs[1] = reply.pair;
                connection.message = None;
                let (id, repeat_at) = (connection.ids.local, connection.repeat_at);
                connection.repeat_at = Time::MAX;
                self.timers.remove(&(repeat_at, id));
                self.by_peer.insert((path.remote_ip, ids.local), id);
                self.events.push_back(CmEvent::Replied { id: ConnectionId(id), reply });
            }
            // The peer has not got RTU.
            State::Established if connection.ids.remote == ids.local => {
                self.counters.repeated += 1;
                self.ready(ConnectionId(ids.remote));
            }
            _ => self.counters.unexpected += 1,
        }
    }

    fn on_ready(&mut self, path: Path, ids: CmIds) {
        match self.find(path, ids) {
            Some(id) if self.connections[&id].state == State::Replying => {
                self.stop_repeating(id);
                self.connections.get_mut(&id).expect("it was found").state = State::Established;
                self.events.push_back(CmEvent::Ready { id: ConnectionId(id) });
            }
            // A repeated one.
            Some(id) if self.connections[&id].state == State::Established => {}
            _ => self.counters.unexpected += 1,
        }
    }

    fn on_reject(&mut self, path: Path, ids: CmIds, reject: CmReject) {
        let known = self.connections.get(&ids.remote);
        let Some(connection) = known.filter(|one| one.path.remote_ip == path.remote_ip) else {
            self.counters.unexpected += 1;
            return;
        };
        // Whoever rejects a request may have no identifier yet.
        let is_known = connection.state == State::Requesting || connection.ids.remote == ids.local;
        match connection.state {
            State::Requesting | State::Replying | State::Established if is_known => {
                self.remove(ids.remote);
                let id = ConnectionId(ids.remote);
                self.events.push_back(CmEvent::Rejected { id, reason: reject.reason });
            }
            _ => self.counters.unexpected += 1,
        }
    }

    fn on_wait(&mut self, now: Time, path: Path, ids: CmIds, exponent: u8) {
        let known = self.connections.get(&ids.remote);
        let id = known.filter(|one| one.path.remote_ip == path.remote_ip).map(|one| one.ids.local);
        match id {
            Some(id) if matches!(self.connections[&id].state, State::Requesting | State::Replying) => {
                let asked = Span::from_ns(4096_u64 << exponent).min(WAIT_MAX);
                self.repeat_at(now.saturating_add(asked.max(REPEAT_AFTER)), id);
            }
            _ => self.counters.unexpected += 1,
        }
    }

    fn on_disconnect(&mut self, path: Path, ids: CmIds, pair: QpNum, transaction: u64) {
        let found = self.find(path, ids).filter(|id| self.connections[id].pairs[0] == pair);
        // The peer waits for the answer even if the connection has ended here.
        let answer = CmMessage::Disconnected(CmIds { local: ids.remote, remote: ids.local });
        self.send(path, &answer, transaction);
        match found {
            Some(id) => self.end(id),
            None => self.counters.unexpected += 1,
        }
    }

    /// The connection of a message whose sender has these identifiers.
    fn find(&self, path: Path, ids: CmIds) -> Option<u32> {
        let id = *self.by_peer.get(&(path.remote_ip, ids.local))?;
        (id == ids.remote).then_some(id)
    }

    fn end(&mut self, id: u32) {
        if self.remove(id).is_some() {
            self.events.push_back(CmEvent::Ended { id: ConnectionId(id) });
        }
    }

    fn remove(&mut self, id: u32) -> Option<Connection> {
        self.stop_repeating(id);
        let connection = self.connections.remove(&id)?;
        self.by_peer.remove(&(connection.path.remote_ip, connection.ids.remote));
        Some(connection)
    }

    fn new_id(&mut self) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            // Zero means that there is no identifier yet.
            if self.last_id != 0 && !self.connections.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }

    fn send_until_answered(&mut self, now: Time, id: u32, message: CmMessage) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        (connection.message, connection.tries) = (Some(message), 0);
        let (path, transaction) = (connection.path, connection.transaction);
        self.send(path, &message, transaction);
        self.repeat_at(now.saturating_add(REPEAT_AFTER), id);
    }

    fn repeat_at(&mut self, at: Time, id: u32) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        self.timers.remove(&(connection.repeat_at, id));
        connection.repeat_at = at;
        self.timers.insert((at, id));
    }

    fn stop_repeating(&mut self, id: u32) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        self.timers.remove(&(connection.repeat_at, id));
        (connection.message, connection.repeat_at) = (None, Time::MAX);
    }

    fn send_reject(&mut self, connection: &Connection, reason: u16) {
        // The message that is rejected: the request, or no particular one.
        let message = if connection.state == State::Asked { 0 } else { 2 };
        let reject = CmMessage::Reject(connection.ids, CmReject { message, reason });
        self.send(connection.path, &reject, connection.transaction);
    }

    fn send(&mut self, path: Path, message: &CmMessage, transaction: u64) {
        if self.outbox.len() >= OUTBOX_MAX {
            self.counters.not_sent += 1;
            return;
        }
        self.outbox.push_back((path, message.to_bytes(transaction)));
    }
}
