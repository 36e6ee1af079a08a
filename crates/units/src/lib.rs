//! Integers with units: time in picoseconds, rates in bit/s, sizes in bytes, identifiers of distinct types,
//! loss rates, and the 24-bit sequence numbers of `RoCE`. Also [`Settings`], the scenario values of
//! registered algorithms, [`unknown_name`], the error message for a name with a suggestion, and [`Sha256`].
//!
//! All code below the statistics computes with these integers and without floating point, so that the same
//! seed gives the same bytes on every machine.

mod bytes;
mod id;
mod loss;
mod mix;
mod psn;
mod quantity;
mod rate;
mod settings;
mod sha256;
mod suggest;
mod time;

pub use bytes::Bytes;
pub use id::{FlowId, HostId, LaneId, LinkId, NodeId, QpNum, SwitchId};
pub use loss::{CopyCount, LossRate};
pub use mix::{mix, stream_seed};
pub use psn::Psn;
pub use quantity::{BadQuantity, parse_probability};
pub use rate::Rate;
pub use settings::{BadSetting, FromSetting, Setting, Settings};
pub use sha256::Sha256;
pub use suggest::{canonical_name, nearest_name, nearest_names, unknown_name};
pub use time::{Span, Time};
