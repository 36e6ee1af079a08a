//! Stored results on a page: runs and sweeps of a folder side by side, and the packets of their flows.
//!
//! A [`ResultsService`] reads the folder when it is asked, so that new results appear when the page is loaded again.
//! What it cannot read becomes a line of the page.

mod flow_page;
mod folder;
mod results_page;
mod service;

pub use service::ResultsService;
