//! What corruption costs RDMA, in closed form.
//!
//! The corruption paper (Gao et al., JCST 2022) asks how often a link that flips bits makes a requester wait for its
//! timer, and what dummy headers and repeats do about it. Its answers are first-order forms for one packet. Here they
//! are exact, for a flow, and the paper's stand beside them:
//!
//! | module | question |
//! |---|---|
//! | [`frame`] | how long is a frame really |
//! | [`bits`] | bit errors → lost frames, for frames of any size |
//! | [`path`] | how many links of the path corrupt: K ~ Bin(L, ω) in each direction |
//! | [`flow`] | sizes of flows, E(1/S) and 1/E(S) |
//! | [`mend`] | how many dummies and copies |
//! | [`setting`] | what follows a flow, and how the NIC turns around |
//! | [`timeout`] | timeouts of a flow, by cause |
//! | [`mod@cost`] | bytes that the mechanisms add |
//! | [`penalty`] | time that losses add, and the slowest flows |
//! | [`mod@tune`] | the cheapest mechanisms that reach a target |
//! | [`printed`] | the paper's own formulas |
//! | [`recovery`] | what go-back-N and go-back-0 waste |
//! | [`phy`], [`counters`] | light or counters → lost frames |
//!
//! Everything is a plain function of plain numbers; sizes of flows come in as slices.
//!
//! ```
//! use wiremend_model::{FlowSize, Mend, Operation, Path, Setting, Sizes, expected};
//!
//! // One packet each way over one corrupting link: nearly every loss is a timeout.
//! let sizes = Sizes::real(1024, Operation::Write);
//! let flows = [FlowSize::only(1024, 1024)];
//! let path = Path::between_switches(1, 1.0);
//! let bare = expected(&Setting::new(sizes, 1.0 / 128.0, Mend::NONE), &path, &flows);
//! assert!((bare.total() * 128.0 - 1.07).abs() < 0.01);
//! // Two dummies, a copy of each NAK and of each retransmission.
//! let mended = expected(&Setting::new(sizes, 1.0 / 128.0, Mend::TESTBED), &path, &flows);
//! assert!(mended.total() < 1e-7);
//! ```

pub mod bits;
pub mod cost;
pub mod counters;
pub mod flow;
pub mod frame;
pub mod mend;
pub mod path;
pub mod penalty;
pub mod phy;
pub mod printed;
pub mod recovery;
pub mod setting;
mod special;
pub mod timeout;
pub mod tune;

pub use bits::Corruption;
pub use cost::{Cost, cost};
pub use flow::FlowSize;
pub use frame::{Operation, Sizes};
pub use mend::Mend;
pub use path::{Path, Way, Ways};
pub use penalty::{Penalty, Times};
pub use printed::Printed;
pub use setting::{Next, Nic, Rewind, Setting};
pub use timeout::{Cause, Expected, expected, on_ways};
pub use tune::{Target, tune};
