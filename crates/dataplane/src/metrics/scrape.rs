//! Answering those who collect metrics: as much HTTP as that takes.
//!
//! Its threads have no privileges, few are heard at once, and each for a short time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::drive::Clock;
use crate::sys::capability;

/// Answers as long as it lives.
pub struct Scrape {
    address: SocketAddr,
    over: Arc<AtomicBool>,
}

struct Desk<P> {
    page: P,
    open: AtomicUsize,
    over: Arc<AtomicBool>,
}

/// So many are heard at once; others are sent away.
const CONNECTIONS_MAX: usize = 4;
const REQUEST_BYTES_MAX: usize = 8192;
/// A request is there within this, and its answer taken.
const PATIENCE: Duration = Duration::from_secs(2);

impl Scrape {
    /// Answers at this address with what `page` gives, asked anew each time.
    pub fn serve<P: Fn() -> String + Send + Sync + 'static>(
        address: SocketAddr,
        page: P,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let desk = Arc::new(Desk { page, open: AtomicUsize::new(0), over: Arc::clone(&over) });
        thread::Builder::new().name("metrics".into()).spawn(move || desk.serve(&listener))?;
        Ok(Self { address, over })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Scrape {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // It looks up when somebody comes; if nobody can, it ends with the process.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
    }
}

impl<P: Fn() -> String + Send + Sync + 'static> Desk<P> {
    fn serve(self: Arc<Self>, listener: &TcpListener) {
        if capability::keep_only(&[]).is_err() {
            return;
        }
        for stream in listener.incoming() {
            if self.over.load(Ordering::Acquire) {
                return;
            }
            let Ok(mut stream) = stream else { continue };
            if self.open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
                self.open.fetch_sub(1, Ordering::AcqRel);
                // Whoever is too many may not even read this.
                let _ = stream.write_all(answer("503 Service Unavailable", "too many at once\n").as_bytes());
                continue;
            }
            let desk = Arc::clone(&self);
            let heard = thread::Builder::new().name("metrics".into()).spawn(move || {
                // One that breaks off is its own loss.
                let _ = desk.hear(&mut stream);
                desk.open.fetch_sub(1, Ordering::AcqRel);
            });
            if heard.is_err() {
                self.open.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    fn hear(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let text = match read_head(stream)? {
            Some(head) => self.judge(&head),
            None => answer("431 Request Header Fields Too Large", "too long\n"),
        };
        stream.write_all(text.as_bytes())?;
        stream.shutdown(std::net::Shutdown::Write)
    }

    fn judge(&self, head: &str) -> String {
        let mut words = head.lines().next().unwrap_or_default().split(' ');
        let (method, target, protocol) = (words.next(), words.next(), words.next());
        if !protocol.is_some_and(|protocol| protocol.starts_with("HTTP/1.")) || words.next().is_some() {
            return answer("400 Bad Request", "this is no HTTP/1\n");
        }
        let path = target.unwrap_or_default().split('?').next().unwrap_or_default();
        match (method, path) {
            (Some("GET"), "/metrics") => answer("200 OK", &(self.page)()),
            (Some("GET"), _) => answer("404 Not Found", "only /metrics is here\n"),
            _ => answer("405 Method Not Allowed", "only GET is answered\n"),
        }
    }
}

/// Everything up to the empty line; none, if that is too much.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let clock = Clock::start();
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while bytes.len() < REQUEST_BYTES_MAX {
        let got = stream.read(&mut piece)?;
        if got == 0 || clock.now().as_ns() > PATIENCE.as_nanos() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..got]);
        if bytes.windows(4).any(|four| four == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    Ok(None)
}

fn answer(status: &str, body: &str) -> String {
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n{allow}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}
