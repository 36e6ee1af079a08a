//! How a daemon or a planner shows its numbers: to those who scrape, and in a file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use wiremend_dataplane::scrape::Scrape;
use wiremend_report::write_whole;
use wiremend_units::{Span, Time};

use crate::args::monitor::Shown as Asked;
use crate::failure::Failure;
use crate::terminal;

/// Time between two writings of the file.
const WRITTEN: Span = Span::from_ms(15_000);

/// What makes text of numbers.
type Page<R> = Arc<dyn Fn(&R) -> String + Send + Sync>;

/// Numbers of a kind, for whoever asks.
pub(super) struct Shown<R> {
    readout: Arc<Mutex<R>>,
    page: Page<R>,
    textfile: Option<PathBuf>,
    write_at: Time,
    /// It was said that the file cannot be written.
    said: bool,
    _scrape: Option<Scrape>,
}

impl<R: Default + Send + 'static> Shown<R> {
    /// As asked for.
    pub(super) fn open(
        asked: &Asked,
        page: impl Fn(&R) -> String + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let page: Page<R> = Arc::new(page);
        let readout = Arc::new(Mutex::new(R::default()));
        let scrape = asked.metrics_listen.map(|address| {
            if !address.ip().is_loopback() && !asked.metrics_public {
                return Err(Failure::Input(format!(
                    "metrics at {address} would be open to other machines; if that is meant, say --metrics-public"
                )));
            }
            let (readout, page) = (Arc::clone(&readout), Arc::clone(&page));
            let text = move || page(&readout.lock().unwrap_or_else(PoisonError::into_inner));
            Scrape::serve(address, text)
                .map_err(|error| Failure::Environment(format!("metrics at {address}: {error}; name another port")))
        });
        let textfile = asked.textfile.clone();
        Ok(Self { readout, page, textfile, write_at: Time::ZERO, said: false, _scrape: scrape.transpose()? })
    }

    /// Shows these numbers from here on.
    pub(super) fn show(&mut self, now: Time, numbers: R) {
        if let Some(file) = self.textfile.as_ref().filter(|_| now >= self.write_at) {
            self.write_at = now.saturating_add(WRITTEN);
            match write_whole(file, &(self.page)(&numbers)) {
                Ok(()) => self.said = false,
                Err(error) if !self.said => {
                    self.said = true;
                    terminal::say(&format!("{error}; numbers are not in that file"));
                }
                Err(_) => {}
            }
        }
        *self.readout.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
    }
}
