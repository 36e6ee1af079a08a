//! Numbers for Prometheus: the [page](Exposition), and the [server](Scrape) that answers those who collect it.

mod exposition;
mod scrape;

pub use exposition::{Exposition, Kind};
pub use scrape::Scrape;
