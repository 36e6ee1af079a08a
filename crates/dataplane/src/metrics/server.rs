//! Metrics for Prometheus and health checks, over HTTP.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use crate::http::{Answer, Later, Listener, Request, Response, Server, Site};

/// What a server serves; called for every request.
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
    _server: Server,
}

struct MetricsSite<P>(Arc<P>);

impl MetricsServer {
    /// Serves these pages.
    pub fn serve<P: Pages>(address: SocketAddr, pages: Arc<P>) -> io::Result<Self> {
        let listener = Listener::Tcp(TcpListener::bind(address)?);
        Ok(Self { _server: Server::serve(vec![listener], "metrics", Arc::new(MetricsSite(pages)))? })
    }
}

impl<P: Pages> Site for MetricsSite<P> {
    fn answer(&self, request: &Request, _: Later) -> Answer {
        Answer::Now(match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/metrics") => Response::new(
                "200 OK",
                "text/plain; version=0.0.4; charset=utf-8",
                self.0.metrics().into_bytes(),
            ),
            ("GET", "/healthz") => verdict(self.0.health()),
            ("GET", "/readyz") => verdict(self.0.readiness()),
            ("GET", _) => Response::text("404 Not Found", "pages: /metrics, /healthz, /readyz"),
            _ => Response::text("405 Method Not Allowed", "use GET").with("Allow", "GET"),
        })
    }
}

fn verdict(verdict: Result<(), String>) -> Response {
    match verdict {
        Ok(()) => Response::text("200 OK", "ok"),
        Err(why) => Response::text("503 Service Unavailable", &why),
    }
}
