//! The side that answers. A thread reads questions; whoever drives the data plane answers them between two turns.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use serde::Serialize;

use super::{Answer, LINE_BYTES_MAX, PATIENCE, Request, read_line};
use crate::sys::credentials;
use crate::sys::wait::Waker;

/// A socket that is listened to. It goes away with this value.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
}

/// Questions that wait for an answer.
pub struct Inbox<Q> {
    questions: mpsc::Receiver<Pending<Q>>,
    waker: Arc<Waker>,
}

/// A question and whom to tell the answer.
pub struct Pending<Q> {
    /// What is asked.
    pub request: Q,
    answer: mpsc::SyncSender<String>,
}

/// So many are heard at once; others wait.
const CONNECTIONS_MAX: usize = 8;

impl Server {
    /// Listens at `path`, which replaces a socket that nobody listens to any more. Beside root and the user that runs this, `user` may
    /// change things.
    pub fn listen<Q: Request>(path: &Path, user: Option<u32>) -> io::Result<(Self, Inbox<Q>)> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        if path.exists() {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o660))?;
        let (sender, questions) = mpsc::channel();
        let waker = Arc::new(Waker::new()?);
        let desk = Arc::new(Desk { sender, waker: Arc::clone(&waker), user, lines: Lines::default() });
        thread::Builder::new().name("control".into()).spawn(move || desk.serve(&listener))?;
        Ok((Self { path: path.to_owned() }, Inbox { questions, waker }))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // If it is gone already, all is well.
        let _ = fs::remove_file(&self.path);
    }
}

impl<Q> Inbox<Q> {
    /// The next question.
    pub fn take(&self) -> Option<Pending<Q>> {
        self.waker.was_woken();
        self.questions.try_recv().ok()
    }

    /// Wakes whoever waits for questions: when something else has happened.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }
}

impl<Q> AsFd for Inbox<Q> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

impl<Q> Pending<Q> {
    /// Answers.
    pub fn answer<A: Serialize>(self, answer: &Answer<A>) {
        let line = serde_json::to_string(answer).expect("answers are plain values");
        // Whoever asked may be gone.
        let _ = self.answer.send(line);
    }
}

struct Desk<Q> {
    sender: mpsc::Sender<Pending<Q>>,
    waker: Arc<Waker>,
    user: Option<u32>,
    lines: Lines,
}

/// Connections that are heard.
#[derive(Default)]
struct Lines {
    open: Mutex<usize>,
    closed: Condvar,
}

impl Lines {
    /// Waits for room: whoever connects meanwhile waits too, rather than being turned away.
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

impl<Q: Request> Desk<Q> {
    fn serve(self: Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            self.lines.open();
            let desk = Arc::clone(&self);
            let heard = thread::Builder::new().name("control".into()).spawn(move || {
                // A client that breaks off is its own loss.
                let _ = desk.hear(stream);
                desk.lines.close();
            });
            if heard.is_err() {
                self.lines.close();
            }
        }
    }

    /// Answers the questions of one connection, until it ends.
    fn hear(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let uid = credentials::peer_uid(stream.as_fd())?;
        loop {
            let line = read_line(&mut stream)?;
            debug_assert!(line.len() as u64 <= LINE_BYTES_MAX);
            let mut answer = self.judge(uid, &line);
            answer.push('\n');
            stream.write_all(answer.as_bytes())?;
        }
    }

    fn judge(&self, uid: u32, line: &str) -> String {
        let request: Q = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(error) => return refusal(format!("not understood: {error}")),
        };
        let may_change = [0, credentials::own_uid()].contains(&uid) || self.user == Some(uid);
        if request.changes() && !may_change {
            return refusal(format!("user {uid} may look but not change anything"));
        }
        let (answer, answered) = mpsc::sync_channel(1);
        if self.sender.send(Pending { request, answer }).is_err() {
            return refusal("it is about to end".into());
        }
        self.waker.wake();
        answered.recv_timeout(PATIENCE).unwrap_or_else(|_| refusal("it does not answer".into()))
    }
}

fn refusal(why: String) -> String {
    serde_json::to_string(&Answer::<()>::Refused(why)).expect("a string")
}
