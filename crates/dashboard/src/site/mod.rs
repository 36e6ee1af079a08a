//! The page and its interface for programs, over HTTP.

mod guard;
mod sockets;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use serde::Deserialize;
use serde_json::json;
use wiremend_dataplane::http::{Answer, Later, Request, Response, Site};
use wiremend_monitor::redis::HoldRecord;

pub(crate) use guard::Guard;
pub use sockets::PageSockets;

/// Why a page cannot be served.
#[derive(Debug)]
pub struct PageError(pub(crate) String);

impl PageError {
    pub(crate) fn unserved(error: &io::Error) -> Self {
        Self(format!("the page cannot be served: {error}"))
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PageError {}

/// The site. Pages are constant; what depends on records comes from the thread that reads them.
pub(crate) struct FabricSite {
    pub(crate) guard: Guard,
    /// The first event of a stream: the whole view.
    pub(crate) first: Mutex<Arc<[u8]>>,
    pub(crate) jobs: mpsc::SyncSender<Job>,
    pub(crate) version: &'static str,
    /// Whether there is a fabric whose capacity can be shown.
    pub(crate) has_plan: bool,
}

/// A question to the thread that reads records.
pub(crate) struct Job {
    pub(crate) question: Question,
    pub(crate) later: Later,
}

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// The view as it is.
    View,
    /// The view at a time, in milliseconds since 1970.
    ViewAt(u64),
    /// A link by the name of one of its ends, with its history.
    Link(String),
    /// The newest events of all links.
    Events,
    /// The pods, or the ToRs of a pod.
    Map(Option<String>),
    /// What a drain of a link would do.
    Drain(String),
    /// Hold a link, or end its hold.
    Hold {
        /// Name of one of its ends.
        port: String,
        /// Length in seconds; `None` ends the hold.
        seconds: Option<u64>,
        /// Why.
        why: String,
        /// Whether the link is under maintenance.
        maintenance: bool,
        /// The operator.
        by: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HoldBody {
    port: String,
    seconds: u64,
    why: String,
    #[serde(default)]
    maintenance: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleaseBody {
    port: String,
}

/// Maximum number of questions that wait.
pub(crate) const JOBS_MAX: usize = 128;

const HTML: &[u8] = include_bytes!("../../assets/page.html");
const SCRIPT: &[u8] = include_bytes!("../../assets/page.js");
const STYLE: &[u8] = include_bytes!("../../assets/page.css");
pub(crate) const ICON: &[u8] = include_bytes!("../../assets/icon.svg");

/// Nothing from elsewhere, nothing inline, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Site for FabricSite {
    fn answer(&self, request: &Request, later: Later) -> Answer {
        if request.path == "/healthz" {
            return Answer::Now(Response::text("200 OK", "ok"));
        }
        if let Err(refused) = self.guard.check(request) {
            return Answer::Now(guarded(refused, POLICY));
        }
        let answer = match request.method.as_str() {
            "GET" => self.get(request),
            "POST" => self.post(request),
            _ => Err(Response::text("405 Method Not Allowed", "use GET or POST").with("Allow", "GET, POST")),
        };
        match answer {
            Ok(Found::Response(response)) | Err(response) => Answer::Now(guarded(response, POLICY)),
            Ok(Found::Stream(head)) => Answer::Stream(guarded(head, POLICY)),
            Ok(Found::Question(question)) => match self.jobs.try_send(Job { question, later }) {
                Ok(()) => Answer::Later,
                Err(_) => {
                    Answer::Now(guarded(Response::text("503 Service Unavailable", "busy; try again"), POLICY))
                }
            },
        }
    }
}

enum Found {
    Response(Response),
    Stream(Response),
    Question(Question),
}

impl FabricSite {
    fn get(&self, request: &Request) -> Result<Found, Response> {
        let asset = |kind, bytes: &'static [u8]| Ok(Found::Response(Response::new("200 OK", kind, bytes)));
        let parameter = |name: &str| {
            let refused = || Response::text("400 Bad Request", &format!("the parameter `{name}` is missing"));
            request.parameter(name).ok_or_else(refused)
        };
        let ask = |question| Ok(Found::Question(question));
        match request.path.as_str() {
            "/" => asset("text/html; charset=utf-8", HTML),
            "/page.js" => asset("text/javascript; charset=utf-8", SCRIPT),
            "/page.css" => asset("text/css; charset=utf-8", STYLE),
            "/icon.svg" => asset("image/svg+xml", ICON),
            "/api/stream" => {
                let first = Arc::clone(&self.first.lock().unwrap_or_else(PoisonError::into_inner));
                Ok(Found::Stream(Response::new("200 OK", "text/event-stream", first)))
            }
            "/api/view" => ask(Question::View),
            "/api/at" => {
                let at = parameter("ms")?.parse();
                let refused = |_| Response::text("400 Bad Request", "`ms` is not a time in milliseconds");
                ask(Question::ViewAt(at.map_err(refused)?))
            }
            "/api/link" => ask(Question::Link(parameter("port")?)),
            "/api/drain" => ask(Question::Drain(parameter("port")?)),
            "/api/events" => ask(Question::Events),
            "/api/map" => ask(Question::Map(request.parameter("pod"))),
            "/api/me" => {
                let operator = self.guard.operator(request).ok();
                let me = json!({
                    "operator": operator,
                    "tokens": self.guard.has_tokens(),
                    "version": self.version,
                    "plan": self.has_plan,
                });
                Ok(Found::Response(json_response("200 OK", &me)))
            }
            _ => Err(Response::text("404 Not Found", "no such page")),
        }
    }

    fn post(&self, request: &Request) -> Result<Found, Response> {
        let kind = request.field("content-type").unwrap_or_default();
        // Forms of other sites cannot send this type without asking first.
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(Response::text("415 Unsupported Media Type", "send application/json"));
        }
        let by = self.guard.operator(request)?;
        let refused = |why: &str| Response::text("400 Bad Request", why);
        match request.path.as_str() {
            "/api/hold" => {
                let body: HoldBody =
                    serde_json::from_slice(&request.body).map_err(|error| refused(&error.to_string()))?;
                let HoldBody { port, seconds, why, maintenance } = body;
                if why.trim().is_empty()
                    || why.len() > HoldRecord::WHY_MAX
                    || why.chars().any(char::is_control)
                {
                    return Err(refused("`why` has 1 to 200 bytes without control characters"));
                }
                if seconds == 0 || seconds > HoldRecord::LENGTH_MAX_MS / 1_000 {
                    return Err(refused("`seconds` is between 1 and 30 days"));
                }
                Ok(Found::Question(Question::Hold { port, seconds: Some(seconds), why, maintenance, by }))
            }
            "/api/release" => {
                let ReleaseBody { port } =
                    serde_json::from_slice(&request.body).map_err(|error| refused(&error.to_string()))?;
                let (why, maintenance) = (String::new(), false);
                Ok(Found::Question(Question::Hold { port, seconds: None, why, maintenance, by }))
            }
            _ => Err(Response::text("404 Not Found", "acts: /api/hold, /api/release")),
        }
    }
}

/// A JSON response.
pub(crate) fn json_response(status: &'static str, value: &impl serde::Serialize) -> Response {
    let body = serde_json::to_vec(value).expect("plain values");
    guarded(Response::new(status, "application/json", body), POLICY)
}

/// Adds the fields that keep other sites out.
pub(crate) fn guarded(response: Response, policy: &'static str) -> Response {
    if response.has("Content-Security-Policy") {
        return response;
    }
    response
        .with("Content-Security-Policy", policy)
        .with("X-Content-Type-Options", "nosniff")
        .with("Referrer-Policy", "no-referrer")
        .with("Cross-Origin-Resource-Policy", "same-origin")
        .with("Cross-Origin-Opener-Policy", "same-origin")
        .with("Cache-Control", "no-store")
}
