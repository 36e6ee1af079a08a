//! Parameters of a connection.

use wiremend_units::Span;
use wiremend_wire::RnrTimer;

use super::acceleration::Acceleration;
use super::profile::Profile;
use super::recovery_policy::Recovery;
use crate::engine::BadConfig;
use crate::mend::MendConfig;

/// Parameters of a connection, shared by many queue pairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// Retransmission timeout; `None`: a requester never times out.
    pub timeout: Option<Span>,
    /// Expiries without progress that cause a retransmission; the next expiry is fatal. 0 to 7, all finite, or
    /// [`Config::RETRY_INFINITE`].
    pub retry_count: u8,
    /// "Receiver not ready" NAKs after which the requester retries; 7: without limit.
    pub rnr_retry: u8,
    /// Wait time in RNR NAKs of a responder.
    pub rnr_timer: RnrTimer,
    /// Delay from the detection of a loss to the first retransmission: the NIC fetches the packet from host
    /// memory.
    pub resend_delay: Span,
    /// Limit of outstanding sequence numbers; [`Config::WINDOW_MAX`] means unlimited.
    pub window: u32,
    /// The last packet of a message and every `ack_every`-th packet request an acknowledgement.
    pub ack_every: u32,
    /// Limit of READs and atomic operations in flight, and of those that a responder can answer again.
    pub reads_max: u32,
    /// Whether receive buffers are told as credits, and credits are obeyed (IBA 9.7.7.2).
    pub flow_control: bool,
    /// Loss recovery policy.
    pub recovery: Recovery,
    /// Measures that avoid timeouts.
    pub mend: MendConfig,
    /// NIC features beyond the specification.
    pub acceleration: Acceleration,
    /// What the NIC does otherwise than most.
    pub profile: Profile,
}

impl Config {
    /// With more outstanding numbers, a duplicate would be ambiguous (IBA 9.7.2).
    pub const WINDOW_MAX: u32 = (1 << 23) - 1;
    /// The largest message: with the smallest MTU it spans half of the sequence space.
    pub const MESSAGE_LEN_MAX: u32 = 1 << 31;
    /// Value of `rnr_retry` that retries without limit.
    pub const RNR_RETRY_INFINITE: u8 = 7;
    /// Value of `retry_count` that retries without limit. The specification has none; Linux treats 7 so.
    pub const RETRY_INFINITE: u8 = u8::MAX;

    /// Checks the values.
    pub fn check(&self) -> Result<(), BadConfig> {
        let rules = [
            (matches!(self.mtu, 256 | 512 | 1024 | 2048 | 4096), "mtu must be 256, 512, 1024, 2048 or 4096"),
            (self.timeout != Some(Span::ZERO), "timeout must be above zero"),
            (
                self.retry_count <= 7 || self.retry_count == Self::RETRY_INFINITE,
                "retry count must be 0 to 7, or 255 (for ever)",
            ),
            (self.rnr_retry <= 7, "receiver-not-ready retry count must be 0 to 7 (7: for ever)"),
            ((1..=Self::WINDOW_MAX).contains(&self.window), "window must be 1 to 8388607 packets"),
            (self.ack_every > 0, "packets per requested acknowledgement must be at least 1"),
            ((1..=255).contains(&self.reads_max), "reads in flight must be 1 to 255"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(BadConfig::new(why)))
    }

    /// Returns whether an expiry after `retries` retries is fatal.
    #[inline]
    pub(crate) const fn is_last_retry(&self, retries: u8) -> bool {
        self.retry_count != Self::RETRY_INFINITE && retries >= self.retry_count
    }

    /// Sequence numbers of a message of `len` bytes; an empty message takes one.
    pub(crate) const fn packet_count(&self, len: u32) -> u32 {
        if len == 0 { 1 } else { len.div_ceil(self.mtu as u32) }
    }
}

/// A common NIC configuration: MTU 1024, timeout code 14, seven retries, no window limit, an acknowledgement
/// for each packet.
impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 1024,
            timeout: Span::from_timeout_code(14),
            retry_count: 7,
            rnr_retry: Self::RNR_RETRY_INFINITE,
            rnr_timer: RnrTimer::from_code(12),
            resend_delay: Span::ZERO,
            window: Self::WINDOW_MAX,
            ack_every: 1,
            reads_max: 16,
            flow_control: false,
            recovery: Recovery::GoBackN,
            mend: MendConfig::default(),
            acceleration: Acceleration::default(),
            profile: Profile::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_refused_with_the_valid_range() {
        let usual = Config::default();
        assert_eq!(usual.check(), Ok(()));
        let bad = [
            Config { mtu: 1000, ..usual.clone() },
            Config { timeout: Some(Span::ZERO), ..usual.clone() },
            Config { retry_count: 8, ..usual.clone() },
            Config { rnr_retry: 8, ..usual.clone() },
            Config { window: 0, ..usual.clone() },
            Config { window: 1 << 23, ..usual.clone() },
            Config { ack_every: 0, ..usual.clone() },
            Config { reads_max: 0, ..usual.clone() },
        ];
        for config in bad {
            assert!(config.check().unwrap_err().to_string().contains("must be"), "{config:?}");
        }
    }

    #[test]
    fn an_empty_message_takes_a_sequence_number() {
        let config = Config::default();
        assert_eq!([0, 1, 1024, 1025].map(|len| config.packet_count(len)), [1, 1, 1, 2]);
    }
}
