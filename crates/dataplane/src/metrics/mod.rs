//! Prometheus metrics: the [page format](Exposition) and the [HTTP server](MetricsServer).

mod exposition;
mod server;

pub use exposition::Exposition;
pub use server::{MetricsServer, Pages};
