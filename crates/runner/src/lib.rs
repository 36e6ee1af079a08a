//! From a scenario to rows, summaries and files.
//!
//! A scenario is read into an [`Input`]: from the library, a file, stdin or a text of one's own, with some of its values changed. A
//! [`Request`] says which of its variants are to be run, from which seeds, and which files are wanted. A [`Runner`] runs it on all
//! cores and returns a [`Batch`]: the numbers of each variant, and what they say.
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
//! # Rows
//!
//! A summary is what is left of flows when they are forgotten. Who wants the flows themselves hands [`Runner::run_with`] somebody who
//! takes [`Rows`], or asks for a [`Request::folder`], in which they are a Parquet file. Either way they come in the same order whatever the
//! number of threads: variant by variant, seed by seed, as flows ended in simulated time. The run whose turn it is writes through; the rows of those ahead of it are held, up to a
//! bound, and then they wait. So memory stays bounded, and a file has the same bytes on any machine.
//!
//! # One pool
//!
//! [`Runner::each`] is the only pool of threads: it runs the variants and seeds of a request, the runs of a ledger of claims, and the
//! [years](years::Years) of a fabric. It starts work in order, longest first if the caller sorts it so, shares threads and memory between
//! what goes on at once, tells a [`Progress`] how far it is, and returns results in order. If one fails, the others are ended; a flag
//! that [`Runner::stop`] was given ends all, and whatever was half written goes with it.
//!
//! # What runs are given
//!
//! Every simulation is built by [`Runner::build`]. Threads, memory, progress and the flag are the runner's own, and so is the [`Registry`]
//! of what a program adds to what scenarios can name: congestion controls, recovery policies, workloads and impairments. A scenario that
//! names such things is read by [`Runner::load`].
//!
//! ```
//! use wiremend_impair::{CorruptionModel, FrameFacts};
//! use wiremend_runner::{Registry, Request, Runner};
//!
//! /// Hits frames that are longer than some bytes.
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
//! An [`Error`] is one line: where, what is wrong, what would be right. Its [`Kind`] says who can do something about it, which a
//! command turns into an exit status.

mod batch;
mod error;
mod folder;
mod input;
pub mod machine;
mod order;
mod pauses;
mod pool;
mod progress;
mod request;
mod rows;
pub mod years;

pub use batch::{Batch, FailedFlows, VariantResults};
pub use error::{Error, Kind};
pub use input::Input;
pub use pool::{Runner, Slot};
pub use progress::Progress;
pub use request::Request;
pub use rows::Rows;
pub use wiremend_sim::Registry;
