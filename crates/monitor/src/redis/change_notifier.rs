//! Notifications that records changed.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::name::Name;
use crate::redis::connection::{RedisConnection, RedisError, RedisServer};
use crate::redis::key;
use crate::redis::transaction::checked;

/// Maximum number of notifications that one wait drains.
const NOTIFICATIONS_MAX: u32 = 1000;

/// Subscription to the change notifications of a node.
pub struct ChangeNotifier {
    connection: RedisConnection,
}

impl ChangeNotifier {
    /// Subscribes `node` to the changes of its peers, of planners, and of its own operators. Nodes that
    /// are no peers cannot wake it.
    pub fn open<'a>(
        server: &RedisServer,
        node: &Name,
        peers: impl IntoIterator<Item = &'a Name>,
    ) -> Result<Self, RedisError> {
        let mut channels: BTreeSet<String> = peers.into_iter().map(|peer| key::changes(peer, node)).collect();
        channels.extend([key::changes(node, node), key::advised(node)]);
        let commands: Vec<[&[u8]; 2]> =
            channels.iter().map(|channel| [&b"SUBSCRIBE"[..], channel.as_bytes()]).collect();
        let commands: Vec<&[&[u8]]> = commands.iter().map(|args| &args[..]).collect();
        let mut connection = RedisConnection::open(server)?;
        checked(connection.call_all(&commands)?)?;
        Ok(Self { connection })
    }

    /// Waits up to `within` for a notification. Its content is ignored, because it may be forged.
    pub fn wait(&mut self, within: Duration) -> Result<bool, RedisError> {
        let notified = self.connection.next_reply(within)?.is_some();
        // Several notifications count as one. The bound keeps a flood from blocking the caller.
        let mut drained = 0;
        while notified
            && drained < NOTIFICATIONS_MAX
            && self.connection.next_reply(Duration::from_millis(1))?.is_some()
        {
            drained += 1;
        }
        Ok(notified)
    }
}
