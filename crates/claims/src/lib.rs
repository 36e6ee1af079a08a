//! What papers say about links that corrupt, measured and judged.
//!
//! [`papers`] has a folder for each paper and a file for each claim: what the paper says, which simulations tell, and what counts as
//! reproduced. The [`ledger`] takes the runs of all claims that are asked for, each once however many claims want it, spreads them over the
//! cores by a [runner](wiremend_runner::Runner), and judges them. Every claim can fail, and changing a scenario is how to see it fail.
//!
//! ```no_run
//! use wiremend_claims::ledger::{Effort, Schedule};
//! use wiremend_claims::{origin, papers};
//! use wiremend_runner::Runner;
//!
//! let claim = papers::find("J1")?;
//! let results = Schedule::new(&[claim], Effort::Quick, &[])?.run(&Runner::new(), None)?;
//! let entry = claim.entry(&results, origin("wiremend repro J1 --quick".to_owned(), "0.1.0"));
//! println!("{}: {}", entry.id, entry.verdict.name());
//! # Ok::<(), wiremend_claims::Error>(())
//! ```
//!
//! Beside the papers stand two measurements that commands need as well: what protection leaves of a link's loss and speed
//! ([`protection`]), and whether the simulator keeps what the model promises ([`verify`]).

mod cause;
mod error;
pub mod ledger;
mod origin;
pub mod papers;
pub mod protection;
mod stress;
pub mod verify;

pub use error::Error;
pub use origin::origin;
