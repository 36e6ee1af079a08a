//! Export of a service's metrics and health over HTTP, and of metrics to a file.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wiremend_dataplane::event_loop::Heartbeat;
use wiremend_dataplane::metrics::{MetricsServer, Pages};

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
const PAGE_INTERVAL: Duration = Duration::from_secs(15);

/// Longest time between two turns of a working loop, besides the poll interval. A planner of a large fabric
/// reads all its records when it becomes the leader.
const TURN_MAX: Duration = Duration::from_mins(1);

/// Metrics of a service.
pub(super) trait Metrics: Send + 'static {
    /// The page for Prometheus.
    fn page(&self) -> String;

    /// What the service waits for before it does its task.
    fn waits_for(&self) -> Option<&'static str>;
}

/// The last published metrics, for the threads of the server.
struct Published<R> {
    /// `None` before the first publication.
    metrics: Mutex<Option<R>>,
    heartbeat: Heartbeat,
    /// Longest time between two publications of a working service.
    turn_max: Mutex<Duration>,
}

/// Publishes metrics of type `R`.
pub(super) struct Exporter<'a, R> {
    published: Arc<Published<R>>,
    sink: Option<&'a dyn Fn(&str)>,
    /// When the sink received a page.
    page: Heartbeat,
    has_page: bool,
    _scrape: Option<MetricsServer>,
}

impl<R: Metrics> Pages for Published<R> {
    fn metrics(&self) -> String {
        let metrics = &*self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.as_ref().map_or(String::new(), R::page)
    }

    fn health(&self) -> Result<(), String> {
        let turn_max = *self.turn_max.lock().unwrap_or_else(PoisonError::into_inner);
        let is_alive = self.heartbeat.age() < turn_max;
        is_alive.then_some(()).ok_or_else(|| format!("the main loop hangs for more than {turn_max:?}"))
    }

    fn readiness(&self) -> Result<(), String> {
        let metrics = &*self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        let waits_for = metrics.as_ref().map_or(Some("the first reading"), R::waits_for);
        waits_for.map_or(Ok(()), |what| Err(format!("waits for {what}")))
    }
}

impl<'a, R: Metrics> Exporter<'a, R> {
    pub(super) fn open(output: &'a MetricsOutput) -> Result<Self, Error> {
        let (metrics, turn_max) = (Mutex::new(None), Mutex::new(TURN_MAX));
        let published = Arc::new(Published { metrics, heartbeat: Heartbeat::start(), turn_max });
        let scrape = output.listen.map(|address| {
            if !address.ip().is_loopback() && !output.public {
                return Err(Error::Input(format!(
                    "metrics at {address} would be readable by other machines; add --metrics-public to allow that"
                )));
            }
            MetricsServer::serve(address, Arc::clone(&published))
                .map_err(|error| Error::Environment(format!("metrics at {address}: {error}; use another port")))
        });
        let sink = output.page.as_deref();
        Ok(Self { published, sink, page: Heartbeat::start(), has_page: false, _scrape: scrape.transpose()? })
    }

    /// Expects a publication each time that `poll` has passed.
    pub(super) fn expect_every(&self, poll: Duration) {
        *self.published.turn_max.lock().unwrap_or_else(PoisonError::into_inner) = TURN_MAX + poll * 2;
    }

    /// Publishes these metrics.
    pub(super) fn publish(&mut self, metrics: R) {
        if let Some(sink) = self.sink.filter(|_| !self.has_page || self.page.age() >= PAGE_INTERVAL) {
            self.has_page = true;
            self.page.beat();
            sink(&metrics.page());
        }
        *self.published.metrics.lock().unwrap_or_else(PoisonError::into_inner) = Some(metrics);
        self.published.heartbeat.beat();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Option<&'static str>);

    impl Metrics for Fixed {
        fn page(&self) -> String {
            String::new()
        }

        fn waits_for(&self) -> Option<&'static str> {
            self.0
        }
    }

    #[test]
    fn a_service_is_healthy_while_its_loop_turns_and_ready_while_it_waits_for_nothing() {
        let published = |turn_max| {
            let (metrics, turn_max) = (Mutex::new(None), Mutex::new(turn_max));
            Published { metrics, heartbeat: Heartbeat::start(), turn_max }
        };
        let hangs = published(Duration::ZERO);
        assert!(hangs.health().unwrap_err().contains("hangs"));
        let turns = published(Duration::from_hours(1));
        assert_eq!(turns.health(), Ok(()));
        assert_eq!(turns.readiness(), Err("waits for the first reading".to_owned()));
        for (waits_for, ready) in [(Some("Redis"), Err("waits for Redis".to_owned())), (None, Ok(()))] {
            *turns.metrics.lock().unwrap() = Some(Fixed(waits_for));
            assert_eq!(turns.readiness(), ready);
        }
    }
}
