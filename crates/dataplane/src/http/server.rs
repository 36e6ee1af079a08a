//! The server: accepts connections, passes requests to the site, sends what it answers.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use wiremend_units::{Span, Time};

use super::connection::{Connection, Socket};
use super::request::Request;
use super::response::Response;
use crate::event_loop::Clock;
use crate::sys::capability;
use crate::sys::wait::{Ready, Waker, wait_all};

/// What a server serves; called by its thread for every request.
pub trait Site: Send + Sync + 'static {
    /// Answers a request without waiting for anything. What takes longer is sent by `later`.
    fn answer(&self, request: &Request, later: Later) -> Answer;
}

/// Answer to a request.
pub enum Answer {
    /// This response.
    Now(Response),
    /// The response comes from [`Later::send`].
    Later,
    /// A stream with this head and first events; what is [published](Publisher::publish) follows.
    Stream(Response),
}

/// A socket on which a server listens.
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener),
}

/// Serves until it is dropped.
pub struct Server {
    address: Option<SocketAddr>,
    publisher: Publisher,
}

/// Sends events to all streams of a server.
#[derive(Clone)]
pub struct Publisher(Arc<Shared>);

/// The place of an answer that is computed elsewhere.
pub struct Later {
    connection: u64,
    shared: Arc<Shared>,
}

struct Shared {
    waker: Waker,
    messages: Mutex<Vec<Message>>,
    streams: AtomicUsize,
    stopped: AtomicBool,
}

enum Message {
    Answer(u64, Response),
    Event(Arc<[u8]>),
}

struct EventLoop<S> {
    site: Arc<S>,
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    connections: Vec<Connection>,
    clock: Clock,
    next_id: u64,
    /// No connection is accepted before, because descriptors ran out.
    accept_at: Time,
}

/// Maximum number of connections; beyond it the oldest idle one is closed. A process may have 1024 descriptors.
const CONNECTIONS_MAX: usize = 400;
/// Maximum number of streams.
const STREAMS_MAX: usize = 200;
/// Maximum number of connections that one turn accepts, so that a flood does not delay answers.
const ACCEPTED_MAX: usize = 64;
/// Longest time between two checks of deadlines.
const TURN_MAX: Duration = Duration::from_millis(100);

impl Server {
    /// Serves a site on these sockets. `name` is the name of the thread, which drops all capabilities.
    pub fn serve<S: Site>(listeners: Vec<Listener>, name: &str, site: Arc<S>) -> io::Result<Self> {
        let mut address = None;
        for listener in &listeners {
            match listener {
                Listener::Tcp(listener) => {
                    listener.set_nonblocking(true)?;
                    address = Some(listener.local_addr()?);
                }
                Listener::Unix(listener) => listener.set_nonblocking(true)?,
            }
        }
        let shared = Arc::new(Shared {
            waker: Waker::new()?,
            messages: Mutex::default(),
            streams: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let mut event_loop = EventLoop {
            site,
            shared: Arc::clone(&shared),
            listeners,
            connections: Vec::new(),
            clock: Clock::start(),
            next_id: 0,
            accept_at: Time::ZERO,
        };
        thread::Builder::new().name(name.into()).spawn(move || event_loop.run())?;
        Ok(Self { address, publisher: Publisher(shared) })
    }

    /// The TCP address that it listens on.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Sends events to its streams.
    pub fn publisher(&self) -> Publisher {
        self.publisher.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let shared = &self.publisher.0;
        shared.stopped.store(true, Ordering::Release);
        shared.waker.wake();
    }
}

impl Publisher {
    /// Sends an event to all streams.
    pub fn publish(&self, event: impl Into<Arc<[u8]>>) {
        self.0.send(Message::Event(event.into()));
    }

    /// The number of open streams.
    pub fn streams(&self) -> usize {
        self.0.streams.load(Ordering::Relaxed)
    }
}

impl Later {
    /// Sends the answer. The client may be gone.
    pub fn send(self, response: Response) {
        self.shared.send(Message::Answer(self.connection, response));
    }
}

impl Shared {
    fn send(&self, message: Message) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        self.waker.wake();
    }

    fn take(&self) -> Vec<Message> {
        self.waker.was_woken();
        std::mem::take(&mut self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: Site> EventLoop<S> {
    fn run(&mut self) {
        if capability::keep_only(&[]).is_err() {
            return;
        }
        while !self.shared.stopped.load(Ordering::Acquire) {
            let Ok(ready) = self.wait() else { return };
            if self.clock.is_expired() {
                // Deadlines are of the old clock. This happens twice a year.
                self.connections.clear();
                (self.clock, self.accept_at) = (Clock::start(), Time::ZERO);
                continue;
            }
            let now = self.clock.now();
            for message in self.shared.take() {
                self.on_message(now, message);
            }
            let of_connections = &ready[1 + self.listeners.len()..];
            for (at, ready) in of_connections.iter().enumerate() {
                self.on_ready(now, at, *ready);
            }
            for at in 0..self.listeners.len() {
                if ready[1 + at].read && now >= self.accept_at {
                    self.accept(now, at);
                }
            }
            self.connections.iter_mut().for_each(|connection| connection.on_time(now));
            self.connections.retain(|connection| !connection.is_closed());
            let streams = self.connections.iter().filter(|one| one.is_streaming()).count();
            self.shared.streams.store(streams, Ordering::Relaxed);
        }
    }

    fn wait(&self) -> io::Result<Vec<Ready>> {
        let mut fds: Vec<(BorrowedFd<'_>, bool)> = vec![(self.shared.waker.as_fd(), false)];
        fds.extend(self.listeners.iter().map(|listener| (listener.as_fd(), false)));
        fds.extend(self.connections.iter().map(|one| (one.as_fd(), one.wants_write())));
        wait_all(&fds, Some(TURN_MAX))
    }

    fn on_message(&mut self, now: Time, message: Message) {
        match message {
            Message::Answer(id, response) => {
                let waiting = self.connections.iter_mut().find(|one| one.id == id && one.is_waiting());
                if let Some(connection) = waiting {
                    connection.answer(now, &response);
                }
            }
            Message::Event(event) => {
                let streams = self.connections.iter_mut().filter(|one| one.is_streaming());
                streams.for_each(|one| one.publish(now, &event));
            }
        }
    }

    fn on_ready(&mut self, now: Time, at: usize, ready: Ready) {
        let streams = self.connections.iter().filter(|one| one.is_streaming()).count();
        let connection = &mut self.connections[at];
        if connection.is_closed() {
            return;
        }
        if ready.write {
            connection.send(now);
        }
        if !(ready.read || ready.error) {
            return;
        }
        let Some(request) = connection.receive(now) else { return };
        let later = Later { connection: connection.id, shared: Arc::clone(&self.shared) };
        match self.site.answer(&request, later) {
            Answer::Now(response) => connection.answer(now, &response),
            Answer::Later => {}
            Answer::Stream(_) if streams >= STREAMS_MAX => {
                let full = Response::text("503 Service Unavailable", "too many viewers; try again later");
                connection.answer(now, &full.with("Retry-After", "30"));
            }
            Answer::Stream(head) => connection.stream(now, &head),
        }
    }

    fn accept(&mut self, now: Time, listener: usize) {
        for _ in 0..ACCEPTED_MAX {
            let accepted = match &self.listeners[listener] {
                Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Socket::Tcp(stream)),
                Listener::Unix(listener) => listener.accept().map(|(stream, _)| Socket::Unix(stream)),
            };
            let socket = match accepted {
                Ok(socket) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // The process has no descriptor left, or the client is gone already.
                    self.accept_at = now.saturating_add(Span::from_ms(50));
                    self.make_room();
                    return;
                }
            };
            if self.connections.len() >= CONNECTIONS_MAX && !self.make_room() {
                continue;
            }
            if let Ok(connection) = Connection::new(self.next_id, socket, now) {
                self.next_id += 1;
                self.connections.push(connection);
            }
        }
    }

    /// Closes the oldest idle connection. Returns whether there was one.
    fn make_room(&mut self) -> bool {
        // Connections are in the order of their arrival.
        let oldest = self.connections.iter().position(Connection::is_idle);
        if let Some(oldest) = oldest {
            self.connections.remove(oldest);
        }
        oldest.is_some()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}
