//! Management datagrams and the messages of connection managers, which they carry.

mod addresses;
mod cm_message;
mod mad;

pub use addresses::CmAddresses;
pub use cm_message::{CmIds, CmMessage, CmReject, CmReply, CmRequest, gid_of, ip_of};
pub use mad::Mad;
