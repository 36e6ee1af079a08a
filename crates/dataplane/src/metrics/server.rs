//! A minimal HTTP server for Prometheus and health checks.
//!
//! Its threads drop all capabilities. It limits the number of connections and the time of each.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::event_loop::Clock;
use crate::sys::capability;

/// What a server serves; called for every request, by several threads.
pub trait Pages: Send + Sync + 'static {
    /// The metrics, at `/metrics`.
    fn metrics(&self) -> String;

    /// Whether the program works, at `/healthz`; `Err` with what does not, which a restart may mend.
    fn health(&self) -> Result<(), String>;

    /// Whether the program does its task now, at `/readyz`; `Err` with what it waits for.
    fn readiness(&self) -> Result<(), String>;
}

/// Serves metrics until it is dropped.
pub struct MetricsServer {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

struct Listener<P> {
    pages: Arc<P>,
    open: AtomicUsize,
    stopped: Arc<AtomicBool>,
}

/// Maximum number of connections; others get an error.
const CONNECTIONS_MAX: usize = 4;
const REQUEST_BYTES_MAX: usize = 8192;
const IO_TIMEOUT: Duration = Duration::from_secs(2);

impl MetricsServer {
    /// Serves these pages.
    pub fn serve<P: Pages>(address: SocketAddr, pages: Arc<P>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Listener { pages, open: AtomicUsize::new(0), stopped: Arc::clone(&stopped) });
        thread::Builder::new().name("metrics".into()).spawn(move || state.serve(&listener))?;
        Ok(Self { address, stopped })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        // A connection wakes the thread up. If none is possible, the thread ends with the process.
        let _ = TcpStream::connect_timeout(&self.address, IO_TIMEOUT);
    }
}

impl<P: Pages> Listener<P> {
    fn serve(self: Arc<Self>, listener: &TcpListener) {
        if capability::keep_only(&[]).is_err() {
            return;
        }
        for stream in listener.incoming() {
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            let Ok(mut stream) = stream else { continue };
            if self.open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
                self.open.fetch_sub(1, Ordering::AcqRel);
                // The client may not read this.
                let _ = stream
                    .write_all(response("503 Service Unavailable", "too many connections\n").as_bytes());
                continue;
            }
            let state = Arc::clone(&self);
            let spawned = thread::Builder::new().name("metrics".into()).spawn(move || {
                // A broken connection needs no action.
                let _ = state.serve_connection(&mut stream);
                state.open.fetch_sub(1, Ordering::AcqRel);
            });
            if spawned.is_err() {
                self.open.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    fn serve_connection(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        let text = match read_head(stream)? {
            Some(head) => self.respond(&head),
            None => response("431 Request Header Fields Too Large", "the request is too long\n"),
        };
        stream.write_all(text.as_bytes())?;
        stream.shutdown(std::net::Shutdown::Write)
    }

    fn respond(&self, head: &str) -> String {
        let mut fields = head.lines().next().unwrap_or_default().split(' ');
        let (method, target, protocol) = (fields.next(), fields.next(), fields.next());
        if !protocol.is_some_and(|protocol| protocol.starts_with("HTTP/1.")) || fields.next().is_some() {
            return response("400 Bad Request", "not an HTTP/1 request\n");
        }
        let path = target.unwrap_or_default().split('?').next().unwrap_or_default();
        match (method, path) {
            (Some("GET"), "/metrics") => response("200 OK", &self.pages.metrics()),
            (Some("GET"), "/healthz") => verdict(self.pages.health()),
            (Some("GET"), "/readyz") => verdict(self.pages.readiness()),
            (Some("GET"), _) => response("404 Not Found", "pages: /metrics, /healthz, /readyz\n"),
            _ => response("405 Method Not Allowed", "use GET\n"),
        }
    }
}

/// Reads the request up to the empty line. Returns `None` if it is too long.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let clock = Clock::start();
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while bytes.len() < REQUEST_BYTES_MAX {
        let got = stream.read(&mut piece)?;
        if got == 0 || clock.now().as_ns() > IO_TIMEOUT.as_nanos() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..got]);
        if bytes.windows(4).any(|four| four == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    Ok(None)
}

fn verdict(verdict: Result<(), String>) -> String {
    match verdict {
        Ok(()) => response("200 OK", "ok\n"),
        Err(why) => response("503 Service Unavailable", &format!("{why}\n")),
    }
}

fn response(status: &str, body: &str) -> String {
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n{allow}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}
