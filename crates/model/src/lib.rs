//! Analytical model of the cost of corruption for RDMA.
//!
//! The corruption paper (Gao et al., JCST 2022) computes how often bit errors make a requester wait for its
//! timer, and what dummies and copies change. Its results are first-order formulas for one packet. This crate
//! has exact results for a flow, and the paper's formulas for comparison:
//!
//! | module | question |
//! |---|---|
//! | [`frame`] | frame lengths on the wire |
//! | [`bits`] | frame loss from bit errors, for frames of any size |
//! | [`path`] | number of corrupting links of a path: K ~ Bin(L, ω) in each direction |
//! | [`flow`] | flow sizes, E(1/S) and 1/E(S) |
//! | [`mend_counts`] | number of dummies and copies |
//! | [`setting`] | the next flow on the queue pair, and the NIC's reaction to NAKs |
//! | [`timeout`] | timeouts of a flow, by cause |
//! | [`mod@cost`] | bytes that the mechanisms add |
//! | [`penalty`] | time that losses add, and the slowest flows |
//! | [`mod@tune`] | the cheapest mechanisms for a target |
//! | [`paper`] | the paper's own formulas |
//! | [`recovery`] | waste of go-back-N and go-back-0 |
//! | [`phy`], [`counters`] | frame loss from optical power or counters |
//!
//! All functions are pure; flow sizes are slices.
//!
//! ```
//! use wiremend_model::{FlowSize, MendCounts, Operation, Path, ModelSetting, FrameSizes, expected};
//!
//! // One packet each way over one corrupting link: almost every loss is a timeout.
//! let sizes = FrameSizes::on_wire(1024, Operation::Write);
//! let flows = [FlowSize::fixed(1024, 1024)];
//! let path = Path::between_switches(1, 1.0);
//! let bare = expected(&ModelSetting::new(sizes, 1.0 / 128.0, MendCounts::NONE), &path, &flows);
//! assert!((bare.total() * 128.0 - 1.07).abs() < 0.01);
//! // Two dummies, one copy of each NAK and of each retransmission.
//! let mended = expected(&ModelSetting::new(sizes, 1.0 / 128.0, MendCounts::TESTBED), &path, &flows);
//! assert!(mended.total() < 1e-7);
//! ```

pub mod bits;
pub mod cost;
pub mod counters;
pub mod flow;
pub mod frame;
pub mod mend_counts;
pub mod paper;
pub mod path;
pub mod penalty;
pub mod phy;
pub mod recovery;
pub mod setting;
mod special;
pub mod timeout;
pub mod tune;

pub use bits::Corruption;
pub use cost::{Cost, cost};
pub use flow::FlowSize;
pub use frame::{FrameSizes, Operation};
pub use mend_counts::MendCounts;
pub use paper::PaperModel;
pub use path::{CorruptingLinks, CorruptingPath, Path};
pub use penalty::{ConnectionTimes, Penalty};
pub use setting::{ModelSetting, NakReaction, NextFlow, Nic};
pub use timeout::{Cause, Expected, expected, expected_on_path};
pub use tune::{Target, tune};
