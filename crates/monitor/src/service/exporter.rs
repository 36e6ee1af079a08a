//! Export of a service's metrics over HTTP and to a file.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use wiremend_dataplane::metrics::MetricsServer;
use wiremend_units::{Span, Time};

use super::Error;

/// Outputs of a service's metrics in the Prometheus text format.
#[derive(Default)]
pub struct MetricsOutput {
    /// Address of the HTTP server.
    pub listen: Option<SocketAddr>,
    /// Whether other machines may connect.
    pub public: bool,
    /// Receives the page every 15 seconds.
    pub page: Option<PageSink>,
}

/// A receiver of metrics pages.
pub type PageSink = Box<dyn Fn(&str)>;

/// Time between two pages for the sink.
const PAGE_INTERVAL: Span = Span::from_ms(15_000);

/// Renders metrics as text.
type RenderPage<R> = Arc<dyn Fn(&R) -> String + Send + Sync>;

/// Publishes metrics of type `R`.
pub(super) struct Exporter<'a, R> {
    metrics: Arc<Mutex<R>>,
    render: RenderPage<R>,
    sink: Option<&'a dyn Fn(&str)>,
    page_at: Time,
    _scrape: Option<MetricsServer>,
}

impl<'a, R: Default + Send + 'static> Exporter<'a, R> {
    pub(super) fn open(
        output: &'a MetricsOutput,
        render: impl Fn(&R) -> String + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let render: RenderPage<R> = Arc::new(render);
        let metrics = Arc::new(Mutex::new(R::default()));
        let scrape = output.listen.map(|address| {
            if !address.ip().is_loopback() && !output.public {
                return Err(Error::Input(format!(
                    "metrics at {address} would be readable by other machines; add --metrics-public to allow that"
                )));
            }
            let (metrics, render) = (Arc::clone(&metrics), Arc::clone(&render));
            let text = move || render(&metrics.lock().unwrap_or_else(PoisonError::into_inner));
            MetricsServer::serve(address, text)
                .map_err(|error| Error::Environment(format!("metrics at {address}: {error}; use another port")))
        });
        let sink = output.page.as_deref();
        Ok(Self { metrics, render, sink, page_at: Time::ZERO, _scrape: scrape.transpose()? })
    }

    /// Publishes these metrics.
    pub(super) fn publish(&mut self, now: Time, numbers: R) {
        if let Some(sink) = self.sink.filter(|_| now >= self.page_at) {
            self.page_at = now.saturating_add(PAGE_INTERVAL);
            sink(&(self.render)(&numbers));
        }
        *self.metrics.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
    }
}
