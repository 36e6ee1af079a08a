//! Loss recovery features of NICs beyond the InfiniBand specification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::pattern::CheckError;
use crate::quantity::Within;
use crate::recovery::RecoveryFamily;
use crate::transport::Transport;
use crate::value::{self, SchemaOf};

/// Loss recovery features that `RoCE` NICs offer for lossy fabrics, in addition to `go-back-n` or
/// `go-back-0`. Their third part, a limited send window, is `transport.window`.
///
/// With adaptive retransmission the timer starts short. It doubles after `tries` expiries without progress,
/// up to `transport.timeout`. Progress resets it, and all short timeouts together count as one retry. With
/// slow restart the window is one packet after a NAK or a timeout, and grows by one packet per acknowledged
/// packet.
///
/// ```toml
/// [transport.acceleration]
/// adaptive_retransmission = true
/// first_timeout = "1ms"
/// slow_restart = true
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Acceleration {
    /// Whether the timer starts short.
    pub adaptive_retransmission: bool,
    /// Shortest timeout. Default: 1/16 of `transport.timeout`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub first_timeout: Option<Span>,
    /// Number of expiries before a timeout doubles.
    pub tries: Within<u8, 1, 16>,
    /// Whether a loss reduces the window to one packet.
    pub slow_restart: bool,
}

impl Default for Acceleration {
    fn default() -> Self {
        Self {
            adaptive_retransmission: false,
            first_timeout: None,
            tries: Within::fixed(1),
            slow_restart: false,
        }
    }
}

/// Checks that the transport has the timers that this table changes.
pub(crate) fn check(transport: &Transport) -> Result<(), CheckError> {
    let Some(table) = &transport.acceleration else { return Ok(()) };
    let inconsistent = |why: String| Err((table.place, why));
    if transport.recovery.family() != RecoveryFamily::GoBack {
        return inconsistent(format!(
            "[transport.acceleration] needs go-back-n or go-back-0, and \"{}\" has its own timers; remove the table",
            transport.recovery.name()
        ));
    }
    if !table.adaptive_retransmission {
        return match table.first_timeout {
            Some(_) => inconsistent(
                "`first_timeout` has no effect without `adaptive_retransmission`; set both or neither"
                    .to_owned(),
            ),
            None => Ok(()),
        };
    }
    match (transport.timeout(), table.first_timeout) {
        (None, _) => inconsistent("adaptive retransmission needs a timer; set `timeout` above 0".to_owned()),
        (Some(timeout), Some(first)) if first > timeout => inconsistent(format!(
            "`first_timeout` of {first} is above the timeout of {timeout}; give at most that"
        )),
        _ => Ok(()),
    }
}
