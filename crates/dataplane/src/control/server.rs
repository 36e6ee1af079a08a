//! The server side. Threads read requests; the event loop of the data plane answers them.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use serde::Serialize;

use super::{IO_TIMEOUT, LINE_BYTES_MAX, Request, Response, read_line};
use crate::socket_file::SocketFile;
use crate::sys::credentials;
use crate::sys::wait::Waker;

/// A listening control socket. Dropping it removes the socket.
#[derive(Debug)]
pub struct Server {
    _file: SocketFile,
}

/// Queue of requests that wait for a response.
pub struct Inbox<Q> {
    requests: mpsc::Receiver<PendingRequest<Q>>,
    waker: Arc<Waker>,
}

/// A request and the channel for its response.
pub struct PendingRequest<Q> {
    /// The request.
    pub request: Q,
    answer: mpsc::SyncSender<String>,
}

/// Maximum number of open connections; others wait.
const CONNECTIONS_MAX: usize = 8;

impl Server {
    /// Listens at `path` and replaces a stale socket. Root, the own user and `user` may change settings.
    pub fn listen<Q: Request>(path: &Path, user: Option<u32>) -> io::Result<(Self, Inbox<Q>)> {
        let (listener, file) = SocketFile::listen(path)?;
        let (sender, requests) = mpsc::channel();
        let waker = Arc::new(Waker::new()?);
        let state = Arc::new(Listener {
            sender,
            waker: Arc::clone(&waker),
            user,
            connections: ConnectionLimit::default(),
        });
        thread::Builder::new().name("control".into()).spawn(move || state.serve(&listener))?;
        Ok((Self { _file: file }, Inbox { requests, waker }))
    }
}

impl<Q> Inbox<Q> {
    /// Returns the next request.
    pub fn take(&self) -> Option<PendingRequest<Q>> {
        self.waker.was_woken();
        self.requests.try_recv().ok()
    }

    /// Wakes the thread that waits for requests.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }
}

impl<Q> AsFd for Inbox<Q> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

impl<Q> PendingRequest<Q> {
    /// Sends the response.
    pub fn answer<A: Serialize>(self, answer: &Response<A>) {
        let line = serde_json::to_string(answer).expect("responses are plain values");
        // The client may be gone.
        let _ = self.answer.send(line);
    }
}

struct Listener<Q> {
    sender: mpsc::Sender<PendingRequest<Q>>,
    waker: Arc<Waker>,
    user: Option<u32>,
    connections: ConnectionLimit,
}

#[derive(Default)]
struct ConnectionLimit {
    open: Mutex<usize>,
    closed: Condvar,
}

impl ConnectionLimit {
    /// Waits until there is room for a connection. Later clients wait in the backlog of the socket.
    fn open(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |open: &mut usize| *open >= CONNECTIONS_MAX;
        *self.closed.wait_while(open, full).unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn close(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.closed.notify_one();
    }
}

impl<Q: Request> Listener<Q> {
    fn serve(self: Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            self.connections.open();
            let state = Arc::clone(&self);
            let spawned = thread::Builder::new().name("control".into()).spawn(move || {
                // A broken connection needs no action.
                let _ = state.serve_connection(stream);
                state.connections.close();
            });
            if spawned.is_err() {
                self.connections.close();
            }
        }
    }

    fn serve_connection(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        let uid = credentials::peer_uid(stream.as_fd())?;
        loop {
            let line = read_line(&mut stream)?;
            debug_assert!(line.len() as u64 <= LINE_BYTES_MAX);
            let mut answer = self.respond(uid, &line);
            answer.push('\n');
            stream.write_all(answer.as_bytes())?;
        }
    }

    fn respond(&self, uid: u32, line: &str) -> String {
        let request: Q = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(error) => return refusal(format!("invalid request: {error}")),
        };
        let may_change = [0, credentials::own_uid()].contains(&uid) || self.user == Some(uid);
        if request.is_change() && !may_change {
            return refusal(format!("user {uid} may read the status but not change settings"));
        }
        let (answer, answered) = mpsc::sync_channel(1);
        if self.sender.send(PendingRequest { request, answer }).is_err() {
            return refusal("the program is about to exit".into());
        }
        self.waker.wake();
        answered.recv_timeout(IO_TIMEOUT).unwrap_or_else(|_| refusal("the program does not respond".into()))
    }
}

fn refusal(why: String) -> String {
    serde_json::to_string(&Response::<()>::Refused(why)).expect("a string")
}
