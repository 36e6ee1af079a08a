//! Two ends of a protected link, for either protocol.

mod end;
mod line_rate;
mod pair;
mod prototype;
mod violation;

pub use end::{FrameKind, FrameNo, LinkEnd, LinkSignal, LinkTransmit};
pub use line_rate::LineRateLink;
pub use pair::{Departure, EndpointPair, Frame, LinkCommand, LinkPair, PrototypePair, WireFrame};
pub use prototype::{PrototypeConfig, PrototypeEnd, PrototypeSignal};
pub use violation::RunHistory;
