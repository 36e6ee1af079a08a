//! How daemons tell each other: Redis.
//!
//! What is true is in hashes, one for each end of each link and each thing that is said of it; whoever was away reads them. A message
//! on a channel is only a bell: it says that there is something to read, and may be lost, come twice, or lie. A stream of
//! bounded length keeps who said what. Each switch writes under its own name alone, which the server's access control list can
//! enforce ([`acl_rules`]), and only while it holds the newest lease for that name.

mod acl;
mod board;
mod connection;
pub mod resp;
mod store;
mod tls;
mod word;

pub use acl::{acl_rules, planner_acl_rules};
pub use board::Board;
pub use connection::{Connection, Fault, Place, Server};
pub use store::{Bell, Lease, Put, Standing, Store, Stored, Unfit};
pub use tls::{Tls, TlsConfig, Uncertified};
pub use word::{Action, Advice, Deed, Doing, Halt, Repair, Sighting, Word};
