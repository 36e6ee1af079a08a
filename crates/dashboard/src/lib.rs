//! The state of a fabric for its operators: which links corrupt, what is done about them and by whom.
//!
//! A [`Collector`] reads what daemons, planners and operators stored in Redis. It makes a [`FabricView`] of it, now
//! or at a time of the last day, by the audit streams ([`History`]). The view is the table of a terminal
//! ([`FabricView::text`]) and of a page, which a `PageService` serves with the links' history, the capacity of the
//! fabric, and holds by operators who may set them.
//!
//! A `ResultsService` serves stored runs and sweeps.

mod capacity;
mod collector;
mod fabric_view;
mod history;
#[cfg(target_os = "linux")]
mod link_counters;
mod link_row;
#[cfg(target_os = "linux")]
mod local_records;
mod operator;
#[cfg(target_os = "linux")]
mod page_service;
#[cfg(target_os = "linux")]
mod results;
#[cfg(target_os = "linux")]
mod site;

pub use collector::Collector;
pub use fabric_view::{FabricView, Summary};
pub use history::{Change, Event, History};
pub use link_row::{EndRecords, EndRow, LinkRow};
pub use operator::{Operators, user_name};
#[cfg(target_os = "linux")]
pub use page_service::{PageService, PageSource};
#[cfg(target_os = "linux")]
pub use results::ResultsService;
#[cfg(target_os = "linux")]
pub use site::{PageError, PageSockets};
