//! The two ends of a protected link, whichever protocol they speak.

mod conveyor;
mod end;
mod pair;
mod prototype;
mod violation;

pub use conveyor::LinkConveyor;
pub use end::{FrameNo, Kind, Leaving, LinkEnd, LinkSignal};
pub use pair::{Departure, Frame, LinkPair, Linked, Order, Passing, PrototypePair};
pub use prototype::{PrototypeConfig, PrototypeEnd, PrototypeSignal};
pub use violation::Course;
