//! The HTTP server against clients that are slow, many, or never ask.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use wiremend_dataplane::http::{Answer, Later, Listener, Request, Response, Server, Site};
use wiremend_dataplane::metrics::{MetricsServer, Pages};

/// A site with a page, a stream, and an answer that comes from elsewhere.
#[derive(Default)]
struct Tested {
    later: Mutex<Option<Later>>,
}

impl Site for Tested {
    fn answer(&self, request: &Request, later: Later) -> Answer {
        match request.path.as_str() {
            "/stream" => Answer::Stream(Response::new("200 OK", "text/event-stream", &b"data: 0\n\n"[..])),
            "/later" => {
                *self.later.lock().unwrap() = Some(later);
                Answer::Later
            }
            "/big" => Answer::Now(Response::new("200 OK", "text/plain", vec![b'x'; 8 << 20])),
            _ => Answer::Now(Response::text("200 OK", "page")),
        }
    }
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

fn server(site: &Arc<Tested>) -> (Server, SocketAddr) {
    let server = Server::serve(vec![Listener::Tcp(listener())], "http", Arc::clone(site)).unwrap();
    let address = server.address().unwrap();
    (server, address)
}

fn asked(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    stream
}

fn read(mut stream: TcpStream) -> String {
    let mut text = String::new();
    // A refused client may see a reset after the answer.
    let _ = stream.read_to_string(&mut text);
    text
}

/// The oldest idle connections make room.
#[test]
fn health_is_answered_beside_more_idle_connections_than_the_server_keeps() {
    struct Healthy;
    impl Pages for Healthy {
        fn metrics(&self) -> String {
            "up 1\n".to_owned()
        }
        fn health(&self) -> Result<(), String> {
            Ok(())
        }
        fn readiness(&self) -> Result<(), String> {
            Err("waits".to_owned())
        }
    }
    let address = listener().local_addr().unwrap();
    let _server = MetricsServer::serve(address, Arc::new(Healthy)).unwrap();
    let idle: Vec<TcpStream> = (0..450).map(|_| TcpStream::connect(address).unwrap()).collect();
    for _ in 0..10 {
        let healthy = read(asked(address, "/healthz"));
        assert!(healthy.starts_with("HTTP/1.1 200 OK") && healthy.ends_with("\r\n\r\nok\n"), "{healthy}");
    }
    assert!(read(asked(address, "/readyz")).ends_with("\r\n\r\nwaits\n"));
    assert!(read(asked(address, "/metrics")).ends_with("\r\n\r\nup 1\n"));
    drop(idle);
}

/// A request that never ends is closed without an answer, and none waits for it.
#[test]
fn an_endless_request_is_closed_and_delays_nobody() {
    let (_server, address) = server(&Arc::default());
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
    assert!(read(asked(address, "/")).ends_with("page\n"));
    assert_eq!(read(slow), "", "closed");
}

#[test]
fn a_giant_header_is_refused() {
    let (_server, address) = server(&Arc::default());
    let mut client = TcpStream::connect(address).unwrap();
    let _ = write!(client, "GET / HTTP/1.1\r\nX: {}", "x".repeat(100_000));
    assert!(read(client).starts_with("HTTP/1.1 431 "));
    assert!(read(asked(address, "/")).ends_with("page\n"));
}

#[test]
fn every_viewer_gets_every_event_in_order() {
    let (server, address) = server(&Arc::default());
    let mut viewers: Vec<_> =
        (0..50).map(|_| BufReader::new(asked(address, "/stream")).lines().map(Result::unwrap)).collect();
    // The first event is there when the stream is.
    for viewer in &mut viewers {
        assert_eq!(viewer.find(|line| line.starts_with("data")).unwrap(), "data: 0");
    }
    for number in 1..=100 {
        server.publisher().publish(format!("data: {number}\n\n").into_bytes());
    }
    for viewer in &mut viewers {
        let data: Vec<String> = viewer.filter(|line| line.starts_with("data")).take(100).collect();
        let expected: Vec<String> = (1..=100).map(|number| format!("data: {number}")).collect();
        assert_eq!(data, expected);
    }
}

/// Its memory is bounded: the stream ends when too much waits for its reader.
#[test]
fn a_viewer_that_does_not_read_is_dropped() {
    let (server, address) = server(&Arc::default());
    let mut lazy = BufReader::new(asked(address, "/stream"));
    let mut eager = BufReader::new(asked(address, "/stream"));
    for viewer in [&mut lazy, &mut eager] {
        while { viewer.read_line(&mut String::new()).unwrap() } > 2 {}
    }
    let event: Arc<[u8]> = vec![b'x'; 1 << 20].into();
    let mut piece = vec![0; 1 << 20];
    let mut dropped = false;
    for _ in 0..200 {
        server.publisher().publish(Arc::clone(&event));
        eager.read_exact(&mut piece).unwrap();
        dropped |= server.publisher().streams() == 1;
    }
    assert!(dropped, "one viewer is left");
    // What was sent before the end is at most what the sockets and the queue hold.
    let mut rest = Vec::new();
    let _ = lazy.read_to_end(&mut rest);
    assert!(rest.len() < 200 << 20, "{}", rest.len());
}

#[test]
fn an_answer_may_come_from_elsewhere_and_be_long() {
    let site = Arc::new(Tested::default());
    let (_server, address) = server(&site);
    let waiting = asked(address, "/later");
    let later = loop {
        if let Some(later) = site.later.lock().unwrap().take() {
            break later;
        }
        std::thread::yield_now();
    };
    later.send(Response::text("200 OK", "late"));
    assert!(read(waiting).ends_with("late\n"));
    assert!(read(asked(address, "/big")).len() > 8 << 20);
}
