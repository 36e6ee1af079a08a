//! Integers that carry their unit: time in picoseconds, rates in bit/s, sizes in bytes, identifiers that cannot
//! be mixed up, shares of lost frames, and the 24-bit sequence numbers of `RoCE`. Beside them stand [`Settings`], values of a scenario for what is
//! registered by name, and the [nearest](or_nearest) of some names, for messages about one that is not known.
//!
//! Everything below the statistics computes with these types and never with floating point, so that the same
//! seed gives the same bytes on every machine.

mod bytes;
mod id;
mod loss;
mod mix;
mod psn;
mod quantity;
mod rate;
mod settings;
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
pub use suggest::{nearest, or_nearest};
pub use time::{Span, Time};
