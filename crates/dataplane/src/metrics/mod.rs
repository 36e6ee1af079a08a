//! Numbers for Prometheus: the [page](Exposition), and the [server](Scrape) that answers those who collect it.

mod exposition;
mod scrape;

pub use exposition::Exposition;
pub use scrape::Scrape;
