//! Exchange of state between daemons and planners through Redis.
//!
//! State is in hashes, one per port and kind of record. A message on a channel only means "read again"; it
//! may be lost, repeated or forged without harm. A stream of bounded length keeps the written records. Each
//! node writes only its own keys, enforced by the server's ACL ([`acl_rules`]), and only while it holds the
//! newest lease of its node.

mod acl;
mod connection;
mod planner_store;
mod record;
pub mod resp;
mod store;
mod tls;

pub use acl::{acl_rules, planner_acl_rules};
pub use connection::{RedisConnection, RedisError, RedisServer, ServerAddress};
pub use planner_store::PlannerStore;
pub use record::{
    ActionRecord, Advice, AdvisedAction, HaltRecord, LinkAction, Observation, Record, RepairRecord,
};
pub use store::{ChangeNotifier, Lease, PutOutcome, Records, Store, UnusableServer, Versioned};
pub use tls::{TlsClient, TlsConfig, TlsFileError};
