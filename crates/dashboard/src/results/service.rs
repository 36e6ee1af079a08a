//! Serves the page of a folder: one thread reads and draws, the thread of the server does the rest.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use wiremend_dataplane::http::{Answer, Later, Request, Response, Server, Site};
use wiremend_report::page_style;

use super::flow_page::{FlowChoice, FlowPages};
use super::folder::ResultsFolder;
use super::results_page::{Selection, results_page};
use crate::operator::Operators;
use crate::site::{Guard, ICON, JOBS_MAX, PageError, PageSockets, guarded};

/// A page of stored results.
pub struct ResultsService {
    /// The folder.
    pub folder: PathBuf,
    /// Where the page listens.
    pub sockets: PageSockets,
    /// Version of the program.
    pub version: &'static str,
}

/// What is asked.
enum Question {
    Results(Selection),
    /// A flow of the variant `RUN#NUMBER`.
    Flow {
        of: String,
        seed: Option<u64>,
        flow: u64,
    },
}

struct ResultsSite {
    guard: Guard,
    jobs: mpsc::SyncSender<(Question, Later)>,
    style: Arc<[u8]>,
}

/// Longest wait for questions.
const TURN: Duration = Duration::from_millis(200);

/// No script at all, and forms that stay here. Drawings have styles of their own.
const POLICY: &str = "default-src 'none'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Styles beside those of reports.
const STYLE: &str = "\
fieldset{border:1px solid var(--grid);border-radius:6px;margin:.5rem 0;padding:.3rem .7rem}\
fieldset label{display:inline-block;margin:.15rem 1.2rem .15rem 0}legend{font-weight:600}legend .faint{font-weight:400}\
a{color:var(--c0)}button,input,select{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--faint);\
border-radius:4px;padding:.15rem .5rem}select{max-width:100%}\
:focus-visible{outline:2px solid var(--c0);outline-offset:1px}figure.ladder svg{max-width:none;width:auto}\
p,td,legend,label{overflow-wrap:anywhere}.wide td{overflow-wrap:normal}";

impl ResultsService {
    /// Serves until `stop` is set. Calls `started` with the address when the page can be opened.
    pub fn run(&self, stop: &AtomicBool, started: impl FnOnce(Option<SocketAddr>)) -> Result<(), PageError> {
        let open = self.sockets.open()?;
        let (jobs, questions) = mpsc::sync_channel(JOBS_MAX);
        let site = Arc::new(ResultsSite {
            guard: Guard::new(open.address, &self.sockets.hosts, Operators::default()),
            jobs,
            style: (page_style() + STYLE).into_bytes().into(),
        });
        let _server =
            Server::serve(open.listeners, "page", site).map_err(|error| PageError::unserved(&error))?;
        started(open.address);
        let (mut folder, mut flows) = (ResultsFolder::new(self.folder.clone()), FlowPages::default());
        while !stop.load(Ordering::Relaxed) {
            flows.stop_abandoned();
            let Ok((question, later)) = questions.recv_timeout(TURN) else { continue };
            let page = match question {
                Question::Results(selection) => Ok(results_page(&mut folder, &selection, self.version)),
                Question::Flow { of, seed, flow } => match named(&mut folder, &of) {
                    Some((folder, variant)) => Ok(flows.page(&FlowChoice { folder, variant, seed, flow })),
                    None => Err(Response::text("404 Not Found", "the folder has no such run or variant")),
                },
            };
            later.send(page.map_or_else(guard, html));
        }
        Ok(())
    }
}

/// The directory of a run and the name of a variant.
fn named(folder: &mut ResultsFolder, of: &str) -> Option<(PathBuf, String)> {
    let (run, number) = of.rsplit_once('#')?;
    let contents = folder.contents();
    let variant = contents.runs.get(run)?.variants.get(number.parse::<usize>().ok()?)?;
    Some((folder.path(run), variant.name.clone()))
}

fn html(page: String) -> Response {
    guard(Response::new("200 OK", "text/html; charset=utf-8", page.into_bytes()))
}

fn guard(response: Response) -> Response {
    guarded(response, POLICY)
}

impl Site for ResultsSite {
    fn answer(&self, request: &Request, later: Later) -> Answer {
        if request.path == "/healthz" {
            return Answer::Now(Response::text("200 OK", "ok"));
        }
        let question = self.guard.check(request).and_then(|()| self.question(request));
        match question {
            Ok(question) => match self.jobs.try_send((question, later)) {
                Ok(()) => Answer::Later,
                Err(_) => Answer::Now(guard(Response::text("503 Service Unavailable", "busy; try again"))),
            },
            Err(response) => Answer::Now(guard(response)),
        }
    }
}

impl ResultsSite {
    /// What is asked, or the answer if nothing has to be read for it.
    fn question(&self, request: &Request) -> Result<Question, Response> {
        if request.method != "GET" {
            return Err(Response::text("405 Method Not Allowed", "use GET").with("Allow", "GET"));
        }
        match request.path.as_str() {
            "/" => Ok(Question::Results(Selection::new(request))),
            "/flow" => flow_question(request).ok_or_else(|| {
                let why = "expected the variant `of` and the number `flow`, perhaps the number `seed`";
                Response::text("400 Bad Request", why)
            }),
            "/results.css" => {
                Err(Response::new("200 OK", "text/css; charset=utf-8", Arc::clone(&self.style)))
            }
            "/icon.svg" => Err(Response::new("200 OK", "image/svg+xml", ICON)),
            _ => Err(Response::text("404 Not Found", "no such page")),
        }
    }
}

fn flow_question(request: &Request) -> Option<Question> {
    let flow = request.parameter("flow")?.parse().ok()?;
    let seed = match request.parameter("seed").filter(|seed| !seed.is_empty()) {
        Some(seed) => Some(seed.parse().ok()?),
        None => None,
    };
    Some(Question::Flow { of: request.parameter("of")?, seed, flow })
}
