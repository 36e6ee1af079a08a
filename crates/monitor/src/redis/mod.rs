//! Exchange of state between daemons and planners through Redis.
//!
//! State is in hashes, one per port and kind of record. A message on a channel only means "read again"; it
//! may be lost, repeated or forged without harm. A stream of bounded length per node keeps the written
//! records, and one per link that needs attention its counters. Each node writes only its own keys, enforced by the server's ACL ([`acl_rules`]), and only while
//! it holds the newest lease of its node. Nodes run no scripts on the server: writes are optimistic
//! transactions of plain commands.

mod acl;
mod audit;
mod change_notifier;
mod connection;
mod counter_stream;
mod key;
mod lease;
mod planner_store;
mod record;
pub mod resp;
mod store;
mod tls;
mod transaction;

pub use acl::{acl_rules, password_rule, planner_acl_rules, viewer_acl_rules};
pub use audit::AuditEntry;
pub use change_notifier::ChangeNotifier;
pub use connection::{RedisConnection, RedisError, RedisServer, ServerAddress};
pub use counter_stream::{CounterRecord, RelayRecord};
pub use lease::Lease;
pub use planner_store::PlannerStore;
pub use record::{
    ActionRecord, Advice, AdvisedAction, HaltRecord, HoldRecord, LinkAction, Observation, Record,
    RepairRecord,
};
pub use store::{Records, Store, UnusableServer, Versioned};
pub use tls::{TlsClient, TlsConfig, TlsFileError};
pub use transaction::PutOutcome;
