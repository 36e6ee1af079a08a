//! Requests of other sites and hostile clients. The page runs without Redis: it must answer all the same.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use wiremend_dashboard::{Operators, PageService, PageSockets, PageSource};
use wiremend_monitor::planner::{FabricSource, NamedFabric, PlannerConfig};
use wiremend_monitor::redis::{RedisServer, ServerAddress};

const TOKEN: &str = "0123456789abcdef";

pub(crate) fn fabric() -> NamedFabric {
    let text = "[redis]\naddress = \"/none\"\n[[switch]]\nname = \"leaf-1\"\nlevel = 0\n\
                [[switch]]\nname = \"spine-1\"\nlevel = 1\n[[link]]\na = \"leaf-1:eth0\"\nb = \"spine-1:eth0\"\n";
    let FabricSource::Inline(tiers) = PlannerConfig::parse(text).unwrap().fabric else { unreachable!() };
    NamedFabric::new(*tiers, &[]).unwrap()
}

/// Runs a page while `test` asks it.
fn with_page(operators: &str, test: impl FnOnce(SocketAddr, &PathBuf)) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("page.sock");
    let fabric = fabric();
    let service = PageService {
        fabric: &fabric,
        limits: wiremend_monitor::planner::PlannerLimits::default(),
        source: PageSource::Redis(RedisServer {
            address: ServerAddress::Unix(folder.path().join("no-redis")),
            tls: None,
            login: None,
            timeout: Duration::from_secs(2),
        }),
        sockets: PageSockets {
            listen: Some("127.0.0.1:0".parse().unwrap()),
            socket: Some(socket.clone()),
            hosts: vec!["fabric.example".to_owned()],
        },
        operators: if operators.is_empty() {
            Operators::default()
        } else {
            Operators::parse(operators).unwrap()
        },
        version: "test",
    };
    let stop = AtomicBool::new(false);
    let (started, address) = mpsc::channel();
    std::thread::scope(|scope| {
        let (service, stop) = (&service, &stop);
        scope.spawn(move || service.run(stop, |address| started.send(address.unwrap()).unwrap()).unwrap());
        let address = address.recv().unwrap();
        // Also when the test fails, the thread must end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(address, &socket)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    assert!(!socket.exists(), "the socket is removed");
}

fn read(mut stream: impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    // A refused client may see a reset after the answer.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The answer to a request with these header fields.
pub(crate) fn ask(address: SocketAddr, line: &str, fields: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "{line} HTTP/1.1\r\n{fields}Content-Length: {length}\r\n\r\n{body}").unwrap();
    read(stream)
}

pub(crate) fn host(address: SocketAddr) -> String {
    format!("Host: {address}\r\n")
}

#[test]
fn only_requests_for_this_host_and_from_this_site_are_answered() {
    with_page("", |address, _| {
        let port = address.port();
        for (fields, status) in [
            (host(address), "200"),
            (format!("Host: localhost:{port}\r\n"), "200"),
            ("Host: fabric.example\r\n".to_owned(), "200"),
            (format!("{}Origin: http://{address}\r\n", host(address)), "200"),
            ("Host: fabric.example\r\nOrigin: https://fabric.example\r\n".to_owned(), "200"),
            (String::new(), "421"),
            ("Host: evil.example\r\n".to_owned(), "421"),
            (format!("Host: evil.example:{port}\r\n"), "421"),
            (format!("Host: localhost:{port}.evil.example\r\n"), "421"),
            (format!("{}Origin: http://evil.example\r\n", host(address)), "403"),
            (format!("{}Origin: null\r\n", host(address)), "403"),
            (format!("{}Sec-Fetch-Site: cross-site\r\n", host(address)), "403"),
        ] {
            let answer = ask(address, "GET /api/me", &fields, "");
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{fields}: {answer}");
            assert!(answer.contains("frame-ancestors 'none'"), "{answer}");
            assert!(!answer.contains("Access-Control-Allow"), "{answer}");
        }
    });
}

#[test]
fn an_act_needs_an_operator_and_cannot_come_from_another_site() {
    let body = "{\"port\":\"leaf-1:eth0\",\"seconds\":60,\"why\":\"x\"}";
    let json = "Content-Type: application/json\r\n";
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    with_page("", |address, _| {
        let answer = ask(address, "POST /api/hold", &(host(address) + json), body);
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("only shows"), "{answer}");
    });
    with_page(&format!("alice {TOKEN}"), |address, socket| {
        let own = host(address) + json;
        let foreign = "Origin: http://evil.example\r\n";
        for (fields, body, status) in [
            (own.clone(), body, "401"),
            (own.clone() + &bearer("wrong"), body, "403"),
            (own.clone() + &bearer(TOKEN) + foreign, body, "403"),
            // A form of another site, which a browser sends without asking.
            (host(address) + "Content-Type: text/plain\r\n" + &bearer(TOKEN), body, "415"),
            (own.clone() + &bearer(TOKEN), "{}", "400"),
            (
                own.clone() + &bearer(TOKEN),
                "{\"port\":\"leaf-1:eth0\",\"seconds\":1e99,\"why\":\"x\"}",
                "400",
            ),
            (
                own.clone() + &bearer(TOKEN),
                "{\"port\":\"leaf-1:eth0\",\"seconds\":60,\"why\":\"\\u001b\"}",
                "400",
            ),
            (own.clone() + &bearer(TOKEN), "{\"port\":\"leaf-9:eth0\",\"seconds\":60,\"why\":\"x\"}", "404"),
            // An operator, but no Redis.
            (own.clone() + &bearer(TOKEN), body, "503"),
        ] {
            let answer = ask(address, "POST /api/hold", &fields, body);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{fields}{body}: {answer}");
        }
        let mut local = UnixStream::connect(socket).unwrap();
        let request = |fields: &str| {
            format!(
                "POST /api/release HTTP/1.1\r\n{fields}{json}Content-Length: 22\r\n\r\n{{\"port\":\"leaf-1:eth0\"}}"
            )
        };
        local.write_all(request("Host: localhost:9999\r\n").as_bytes()).unwrap();
        assert!(read(local).starts_with("HTTP/1.1 503 "), "a user of the socket is an operator");
        let mut forwarded = UnixStream::connect(socket).unwrap();
        let fields = "Host: localhost:9999\r\nOrigin: http://evil.example\r\n";
        forwarded.write_all(request(fields).as_bytes()).unwrap();
        assert!(read(forwarded).starts_with("HTTP/1.1 403 "), "a page of another site is none");
    });
}

#[test]
fn paths_lead_to_no_file_and_questions_to_answers() {
    with_page("", |address, _| {
        for (path, status) in [
            ("/../../etc/passwd", "404"),
            ("/%2e%2e/%2e%2e/etc/passwd", "404"),
            ("//etc/passwd", "404"),
            ("/page.js/../../etc/passwd", "404"),
            ("/page.js%00", "404"),
            ("/", "200"),
            ("/page.js", "200"),
            ("/page.css", "200"),
            ("/icon.svg", "200"),
            ("/healthz", "200"),
            ("/api/view", "200"),
            ("/api/events", "200"),
            ("/api/map", "200"),
            ("/api/map?pod=%3Cscript%3E", "200"),
            ("/api/link?port=leaf-1:eth0", "200"),
            ("/api/drain?port=spine-1:eth0", "200"),
            ("/api/link?port=%3Cscript%3E", "404"),
            ("/api/link?port=%zz", "400"),
            ("/api/at?ms=99999999999999999999", "400"),
            ("/api/at?ms=18446744073709551615", "200"),
        ] {
            let answer = ask(address, &format!("GET {path}"), &host(address), "");
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
            assert!(!answer.contains("root:"), "{path}");
        }
        let answer = ask(address, "DELETE /", &host(address), "");
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    });
}

/// The parts of the page name nothing that a reader's browser would load from elsewhere or run inline.
#[test]
fn the_page_is_complete_and_strict() {
    with_page("", |address, _| {
        for path in ["/", "/page.js", "/page.css", "/icon.svg"] {
            let part = ask(address, &format!("GET {path}"), &host(address), "");
            let (head, body) = part.split_once("\r\n\r\n").unwrap();
            assert!(head.contains("default-src 'none'") && !head.contains("unsafe"), "{head}");
            for outside in ["https://", "src=\"//", "style=\"", "onclick", "innerHTML", "<script>"] {
                assert!(!body.contains(outside), "{path} has `{outside}`");
            }
        }
    });
}
