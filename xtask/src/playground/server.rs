//! A file server for one folder, on this machine only.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};

/// Most bytes of a request.
const REQUEST_BYTES_MAX: u64 = 16 << 10;
/// A client that sends or takes nothing for this long is disconnected.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Serves the files of a folder until the program ends.
pub(crate) struct Server {
    port: u16,
    thread: JoinHandle<()>,
}

impl Server {
    /// Starts on a port; 0 is any free one.
    pub(crate) fn start(folder: PathBuf, port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("cannot listen on port {port}"))?;
        let port = listener.local_addr()?.port();
        let thread = thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let folder = folder.clone();
                // A client that disconnects is no error of the server.
                thread::spawn(move || answer(&client, &folder));
            }
        });
        Ok(Self { port, thread })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Serves until the program is stopped.
    pub(crate) fn join(self) {
        self.thread.join().expect("the server does not panic");
    }
}

fn answer(client: &TcpStream, folder: &Path) -> Option<()> {
    client.set_read_timeout(Some(SILENCE_MAX)).ok()?;
    client.set_write_timeout(Some(SILENCE_MAX)).ok()?;
    let mut lines = BufReader::new(client.take(REQUEST_BYTES_MAX)).lines().map_while(Result::ok);
    let request = lines.next()?;
    // A client that is refused before it has sent its request may not read the answer.
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let (status, kind, body) = match file(&request, folder) {
        Some((kind, body)) => ("200 OK", kind, body),
        None => ("404 Not Found", "text/plain", b"no such file\n".to_vec()),
    };
    let mut client = client;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-cache\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes()).and_then(|()| client.write_all(&body)).ok()
}

/// The file that a request asks for: one that the folder lists, so no path leaves it.
fn file(request: &str, folder: &Path) -> Option<(&'static str, Vec<u8>)> {
    let path = request.strip_prefix("GET /")?.split([' ', '?']).next()?;
    let name = if path.is_empty() { "index.html" } else { path };
    let entry = fs::read_dir(folder).ok()?.flatten().find(|entry| entry.file_name() == name)?;
    let kind = match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" => "text/javascript",
        _ => "application/octet-stream",
    };
    Some((kind, fs::read(entry.path()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_are_served() {
        let folder = crate::playground::folder();
        let found = |request: &str| file(request, &folder).map(|(kind, _)| kind);
        assert_eq!(found("GET / HTTP/1.1"), Some("text/html; charset=utf-8"));
        assert_eq!(found("GET /main.js?x HTTP/1.1"), Some("text/javascript"));
        for request in ["GET /../README.md HTTP/1.1", "GET /.. HTTP/1.1", "POST / HTTP/1.1", "GET", ""] {
            assert_eq!(found(request), None, "{request}");
        }
    }
}
