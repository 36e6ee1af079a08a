//! What NICs do beyond the specification after a loss.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::pattern::Misfit;
use crate::quantity::Within;
use crate::recovery::Family;
use crate::transport::Transport;
use crate::value::{self, Shown};

/// Accelerations that `RoCE` NICs offer for fabrics which lose packets, beside `go-back-n` and `go-back-0`. A limited send window, which
/// belongs to them, is `transport.window`.
///
/// With adaptive retransmission the timer starts short and doubles after `tries` expiries without progress, until it has
/// reached `transport.timeout`; progress makes it short again, and all short ones together cost one retry. With slow restart one
/// packet may be outstanding after a NAK or an expiry, and one more for each that is acknowledged.
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
    /// The shortest timeout. If left out: a sixteenth of `transport.timeout`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub first_timeout: Option<Span>,
    /// How often a timeout is used before it doubles.
    pub tries: Within<u8, 1, 16>,
    /// Whether a loss makes the window small.
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

/// Whether there is what it accelerates.
pub(crate) fn check(transport: &Transport) -> Result<(), Misfit> {
    let Some(table) = &transport.acceleration else { return Ok(()) };
    let misfit = |why: String| Err((table.place, why));
    if transport.recovery.family() != Family::GoBack {
        return misfit(format!(
            "accelerations are those of go-back-n, and \"{}\" has timers of its own; leave out [transport.acceleration]",
            transport.recovery.name()
        ));
    }
    if !table.adaptive_retransmission {
        return match table.first_timeout {
            Some(_) => misfit(
                "`first_timeout` means nothing without `adaptive_retransmission`; give both, or none"
                    .to_owned(),
            ),
            None => Ok(()),
        };
    }
    match (transport.timeout(), table.first_timeout) {
        (None, _) => misfit("there is no timer that could adapt; give a `timeout` above 0".to_owned()),
        (Some(timeout), Some(first)) if first > timeout => {
            misfit(format!("`first_timeout` of {first} is above the timeout of {timeout}; give at most that"))
        }
        _ => Ok(()),
    }
}
