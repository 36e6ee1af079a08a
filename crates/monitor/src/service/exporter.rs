//! How a service shows its numbers: to those who scrape, and to whoever keeps a file.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use wiremend_dataplane::metrics::Scrape;
use wiremend_units::{Span, Time};

use super::Error;

/// Who is shown the numbers of a service, as Prometheus reads them.
#[derive(Default)]
pub struct Metrics {
    /// Those who ask at this address.
    pub listen: Option<SocketAddr>,
    /// Other machines may ask too.
    pub public: bool,
    /// Somebody who takes the page every 15 seconds.
    pub page: Option<TakePage>,
}

/// Somebody who takes a page.
pub type TakePage = Box<dyn Fn(&str)>;

/// Time between two pages for whoever takes them.
const PAGE_INTERVAL: Span = Span::from_ms(15_000);

/// What makes text of numbers.
type Page<R> = Arc<dyn Fn(&R) -> String + Send + Sync>;

/// Numbers of a kind, for whoever asks.
pub(super) struct Exporter<'a, R> {
    readout: Arc<Mutex<R>>,
    page: Page<R>,
    take: Option<&'a dyn Fn(&str)>,
    page_at: Time,
    _scrape: Option<Scrape>,
}

impl<'a, R: Default + Send + 'static> Exporter<'a, R> {
    pub(super) fn open(
        metrics: &'a Metrics,
        page: impl Fn(&R) -> String + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let page: Page<R> = Arc::new(page);
        let readout = Arc::new(Mutex::new(R::default()));
        let scrape = metrics.listen.map(|address| {
            if !address.ip().is_loopback() && !metrics.public {
                return Err(Error::Input(format!(
                    "metrics at {address} would be open to other machines; if that is meant, say --metrics-public"
                )));
            }
            let (readout, page) = (Arc::clone(&readout), Arc::clone(&page));
            let text = move || page(&readout.lock().unwrap_or_else(PoisonError::into_inner));
            Scrape::serve(address, text)
                .map_err(|error| Error::Environment(format!("metrics at {address}: {error}; name another port")))
        });
        let take = metrics.page.as_deref();
        Ok(Self { readout, page, take, page_at: Time::ZERO, _scrape: scrape.transpose()? })
    }

    /// Shows these numbers from here on.
    pub(super) fn show(&mut self, now: Time, numbers: R) {
        if let Some(take) = self.take.filter(|_| now >= self.page_at) {
            self.page_at = now.saturating_add(PAGE_INTERVAL);
            take(&(self.page)(&numbers));
        }
        *self.readout.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
    }
}
