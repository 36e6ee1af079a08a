//! Runs scenarios and returns rows, summaries and files.
//!
//! An [`Input`] is a scenario from the library, a file, stdin or a text, with overrides. A [`Request`]
//! selects its variants, seeds and output files. A [`Runner`] runs it on all cores and returns a [`Batch`]:
//! the results of each variant, and sentences that summarise them.
//!
//! ```
//! use wiremend_runner::{Input, Request, Runner};
//!
//! let input = Input::load("nak", &["transport.mtu=1024".parse()?])?;
//! let batch = Runner::new().run(&Request::new(&input).seeds(3))?;
//! for variant in &batch.summary.variants {
//!     println!("{}: {} flows, digest {}", variant.name, variant.flows, variant.digest);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The summary says [how](wiremend_measure::Origin) the results were made. A [`RecordedRun`] repeats a run from the
//! files of its output directory and compares the digests.
//!
//! # Rows
//!
//! A summary aggregates flows. To get the rows of the flows, pass a [`RowSink`] to [`Runner::run_with`], or
//! set a [`Request::out_dir`] for a Parquet file. The order of rows does not depend on the number of threads:
//! by variant, by seed, then by the simulated time at which flows ended. The run that is next in order writes
//! directly. Rows of later runs are buffered up to a limit; then these runs wait. So memory is bounded, and a
//! file has the same bytes on any machine.
//!
//! # Thread pool
//!
//! [`Runner::for_each`] is the only thread pool. It runs the variants and seeds of a request, the runs of a
//! ledger of claims, and the [years](years::Years) of a fabric. It starts work in the given order, shares
//! threads and memory between concurrent items, reports to a [`Progress`], and returns results in order. If
//! one item fails, the others are stopped. The flag of [`Runner::stop`] stops all; incomplete files are
//! removed.
//!
//! # Registered algorithms
//!
//! [`Runner::build`] builds every simulation. The runner sets threads, memory, progress and the stop flag,
//! and the [`Registry`] of algorithms that a program adds to scenarios: congestion controls, recovery
//! policies, workloads and impairments. [`Runner::load`] reads a scenario that names them.
//!
//! ```
//! use wiremend_impair::{CorruptionModel, FrameFacts};
//! use wiremend_runner::{Registry, Request, Runner};
//!
//! /// Corrupts frames that are longer than a limit.
//! #[derive(Debug)]
//! struct LongFrames(u64);
//!
//! impl CorruptionModel for LongFrames {
//!     fn corrupts(&mut self, frame: &FrameFacts) -> bool {
//!         u64::from(frame.frame_bytes) > self.0
//!     }
//! }
//!
//! let mut registry = Registry::default();
//! registry.impairment("long-frames", |settings, _seed| Ok(LongFrames(settings.require("bytes")?)));
//! let runner = Runner::new().registry(&registry);
//! let change = r#"impair.0={ kind = "long-frames", links = "all", bytes = 9000 }"#.parse()?;
//! let input = runner.load("tour", &[change, "workload.0.flows=100".parse()?])?;
//! let batch = runner.run(&Request::new(&input))?;
//! assert!(batch.summary.variants.iter().all(|variant| variant.timeouts.total() == 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//!
//! An [`Error`] is one line: where, what is wrong, what is valid. Its [`ErrorKind`] says who can resolve it;
//! a command maps it to an exit status.

mod batch;
mod contents;
mod error;
mod estimate;
mod flow_recorder;
mod input;
mod input_files;
pub mod machine;
mod ordered_rows;
mod output;
mod output_dir;
mod pause_timeline;
mod pool;
mod progress;
mod request;
mod rerun;
mod row_sink;
mod single_run;
mod traced_flow;
pub mod years;

pub use batch::{Batch, FailedFlows, VariantResults};
pub use error::{Error, ErrorKind};
pub use estimate::Estimate;
pub use input::Input;
pub use input_files::sha256;
pub use pool::{Runner, WorkItem};
pub use progress::Progress;
pub use request::Request;
pub use rerun::{RecordedRun, Repeated};
pub use row_sink::RowSink;
pub use single_run::SingleRun;
pub use traced_flow::TracedFlow;
pub use wiremend_sim::Registry;
