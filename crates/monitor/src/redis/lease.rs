//! Leases with fencing numbers, by the server's clock.

use std::time::Duration;

use crate::redis::connection::{RedisConnection, RedisError};
use crate::redis::resp::Reply;
use crate::redis::transaction::{self, ATTEMPTS_MAX, number_in};

/// Longest lease that counts as a sign of life.
const LENGTH_MAX_MS: u64 = 3_600_000;

/// A lease for writing records. Writes with an older fencing number are rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    pub(super) fence: u64,
}

/// Takes a lease that is free, expired or already held by the caller; `None` if another holder has it.
///
/// The server's clock decides, so clocks of daemons may differ. The fencing number survives the lease, so
/// that the next one is larger. A lease that would last longer than any daemon requests is ignored: the
/// server's clock was set back.
pub(super) fn lease(
    connection: &mut RedisConnection,
    key: &str,
    holder: &str,
    length: Duration,
) -> Result<Option<Lease>, RedisError> {
    let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX / 4);
    for _ in 0..ATTEMPTS_MAX {
        let replies = connection.call_all(&[
            &[b"UNWATCH"],
            &[b"WATCH", key.as_bytes()],
            &[b"TIME"],
            &[b"HMGET", key.as_bytes(), b"holder", b"until", b"fence"],
        ])?;
        let [_, _, time, held] = &transaction::checked(replies)?[..] else {
            unreachable!("every command has a reply")
        };
        let now = milliseconds(time)?;
        let Reply::Array(Some(held)) = held else { return Err(RedisError::Unexpected(held.clone())) };
        let left = number_in(held.get(1)).unwrap_or(0).saturating_sub(now);
        let runs = left > 0 && left <= 2 * length;
        let is_ours = matches!(held.first(), Some(Reply::Bulk(Some(name))) if name == holder.as_bytes());
        if runs && !is_ours {
            return Ok(None);
        }
        let mut fence = number_in(held.get(2)).unwrap_or(0);
        if fence == 0 || !runs || !is_ours {
            fence += 1;
        }
        let (number, until) = (fence.to_string(), (now + length).to_string());
        let taken = transaction::execute(
            connection,
            &[&[
                b"HSET",
                key.as_bytes(),
                b"fence",
                number.as_bytes(),
                b"holder",
                holder.as_bytes(),
                b"until",
                until.as_bytes(),
            ]],
        )?;
        if let Some(replies) = taken {
            transaction::checked(replies)?;
            return Ok(Some(Lease { fence }));
        }
    }
    // Another daemon changes it at the same time.
    Ok(None)
}

/// Reads whether the holders of these leases have renewed them, at most `silence` after their end. `None`
/// for leases that nobody ever took.
pub(super) fn are_live(
    connection: &mut RedisConnection,
    keys: &[String],
    silence: Duration,
) -> Result<Vec<Option<bool>>, RedisError> {
    let silence = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX / 4);
    let (now, ends) = ends(connection, keys)?;
    // An end far in the future is forged, or the clock was set back: nobody renews it.
    let live = |until: u64| until.saturating_add(silence) > now && until < now.saturating_add(LENGTH_MAX_MS);
    Ok(ends.into_iter().map(|end| end.map(live)).collect())
}

/// Reads when these leases end, and the server's time, in milliseconds; `None` for leases that nobody ever
/// took.
pub(super) fn ends(
    connection: &mut RedisConnection,
    keys: &[String],
) -> Result<(u64, Vec<Option<u64>>), RedisError> {
    let commands: Vec<[&[u8]; 3]> =
        keys.iter().map(|key| [&b"HMGET"[..], key.as_bytes(), b"until"]).collect();
    let mut all: Vec<&[&[u8]]> = vec![&[b"TIME"]];
    all.extend(commands.iter().map(|args| &args[..]));
    let mut replies = connection.call_all(&all)?.into_iter();
    let now = milliseconds(&replies.next().unwrap_or(Reply::Array(None)))?;
    let ends = replies
        .map(|reply| match reply {
            Reply::Array(Some(fields)) => Ok(number_in(fields.first())),
            // The holder has replaced the key by another type.
            Reply::Error(reason) if reason.starts_with("WRONGTYPE") => Ok(Some(0)),
            Reply::Error(reason) => Err(RedisError::Refused(reason)),
            other => Err(RedisError::Unexpected(other)),
        })
        .collect::<Result<_, _>>()?;
    Ok((now, ends))
}

/// Returns the server's time in milliseconds since 1970, from the reply of `TIME`.
pub(super) fn milliseconds(time: &Reply) -> Result<u64, RedisError> {
    let Reply::Array(Some(parts)) = time else { return Err(RedisError::Unexpected(time.clone())) };
    match (number_in(parts.first()), number_in(parts.get(1))) {
        (Some(seconds), Some(us)) => Ok(seconds.saturating_mul(1_000) + us / 1_000),
        _ => Err(RedisError::Unexpected(time.clone())),
    }
}
