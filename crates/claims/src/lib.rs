//! Claims of papers about corrupting links, measured and judged.
//!
//! [`papers`] has a folder for each paper and a file for each claim: the statement of the paper, the runs,
//! and the criteria for *reproduced*. The [`ledger`] collects the runs of the chosen claims, each once even
//! if several claims share it, distributes them over the cores by a [runner](wiremend_runner::Runner), and
//! judges the outcomes. Every claim can fail: a change of a scenario shows it.
//!
//! ```no_run
//! use wiremend_claims::ledger::{Effort, Schedule};
//! use wiremend_claims::{origin, papers};
//! use wiremend_runner::Runner;
//!
//! let claim = papers::find("J1")?;
//! let results = Schedule::new(&[claim], Effort::Quick, &[])?.run(&Runner::new(), None)?;
//! let result = claim.judge(&results, origin("wiremend repro J1 --quick".to_owned(), Effort::Quick, "0.1.0"));
//! println!("{}: {}", result.id, result.verdict().name());
//! # Ok::<(), wiremend_claims::Error>(())
//! ```
//!
//! Two more measurements serve other commands: loss and speed of a protected link ([`protection`]), and tests
//! of the model's predictions by simulation ([`verify`]).

mod cause;
mod completion;
mod criteria;
mod error;
pub mod ledger;
mod origin;
pub mod papers;
mod prelude;
pub mod protection;
mod stress;
pub mod verify;

pub use error::Error;
pub use origin::origin;
